import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
WINDOW = [
    {
        "id": "m1",
        "at": "2027-03-05T20:15:00+01:00",
        "who": "Lena",
        "text": "We have six hens now, and the vet comes next Monday.",
    },
    {"id": "m2", "at": "2027-03-05T20:16:00+01:00", "who": "Ada", "text": "Seven would be nice."},
]
RENAMED = [
    {**one, "who": one["who"].replace("Ada", "Juna")} for one in WINDOW * 4
]  # who answers is the entity


def stated(name: str, sentence: str, cites: list[str], **more: Any) -> dict[str, Any]:
    shape = {"id": name, "sentence": sentence, "cites": cites, "window": WINDOW, "known": []}
    return {**shape, **more}


def test_statements_are_held_to_their_sources_by_a_command(tmp_path: Path) -> None:
    asked = tmp_path / "statements.json"
    asked.write_text(
        json.dumps(
            [
                stated("kept", "Lena keeps half a dozen hens.", ["m1"], true=True, kind="number"),
                stated("dated", "The vet comes on 8 March.", ["m1"]),
                stated("invented", "Lena has nine hens.", ["m1"], true=False, kind="number"),
                stated("own", "Lena has seven hens.", ["m2"]),
                stated("answered", "Lena has seven hens.", ["m2"], window=RENAMED),
                stated("nowhere", "Lena has hens.", ["m9"]),
                stated("uncited", "Lena has hens.", []),
                stated("known", "Her brother Ole is 40.", ["m1"], known=["Ole is 40 years old."]),
            ]
        )
    )
    script = ROOT / "bench" / "truth_able.py"
    command = [sys.executable, str(script), "--statements", str(asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    results = {row["id"]: row for row in json.loads(done.stdout)}
    assert {name: row["verdict"] for name, row in results.items()} == {
        "kept": "keep",
        "dated": "keep",
        "invented": "mend",
        "own": "mend",
        "answered": "mend",
        "nowhere": "mend",
        "uncited": "mend",
        "known": "keep",
    }
    assert all(bool(row["why"]) == (row["verdict"] != "keep") for row in results.values())
    assert "true: number: 1 of 1 right\n" in done.stderr
