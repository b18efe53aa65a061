from __future__ import annotations

import pytest

from tests.support.running import Run

BROKEN = "---\nat: [unclosed\n---\n\nbroken\n"


@pytest.mark.parametrize(
    "path",
    [
        "relationships/sam.md",
        "relationships/bo.md",
        "skills/tea.md",
        "beliefs/bel_1.md",
        "episodes/2026/05/ep_1.md",
        "narrative.md",
        "knowledge.md",
        "soma.yaml",
        "state.yaml",
        "reminders/rem_1.md",
    ],
)
def test_a_file_that_a_hand_has_broken_stops_no_talk_and_stays_untouched(
    run: Run, path: str
) -> None:
    run.write("script.yaml", "- text: Fine.\n  always: true\n")
    run.ok("config", "set", "llm.model", f"script:{run.file('script.yaml')}")
    run.ok("chat", "I am Sam, and I like tea.")
    broken = BROKEN.encode() if path != "knowledge.md" else b"\xff\xfe## Pets\n"
    file = run.write(path, "")
    file.write_bytes(broken)
    said = ""
    for text in ("Do you remember me, and Bo, and the tea?", "And again?"):
        ran = run.ok("chat", text)
        assert ran.out == "Fine.\n"
        said += ran.err
    assert file.read_bytes() == broken
    if not path.startswith(("relationships/bo", "skills/", "reminders/")):  # `doctor` names those
        assert file.name in said
    assert run("doctor").code == 12
