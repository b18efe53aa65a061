"""Every block of README.md, pasted in order into one shell, works.

What a shell would fetch or change outside of a home is replaced by the environment alone: programs
of the same names on the PATH, a home of its own, a model that follows a script.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support import exports

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DONE = "all blocks are done"
CHECK = "[ $? = 0 ] || exit 1"  # behind each line: -e lets `a && b` pass where a fails
SAY = {"tool": "say", "arguments": {"text": "I am Ada. Hello."}}
SCRIPT = (
    {"abilities": {"talk": {"any": "write"}, "memory": {"any": "none"}}},
    {"purpose": "chat", "text": json.dumps({"actions": [SAY]}), "always": True},
    {"text": "{}", "always": True},
)
# What comes after the options of `uv run` is run; all else that would install something is not.
UV = """#!/bin/bash
[ "$1" = run ] || exit 0
shift
while [ "${1#-}" != "$1" ]; do shift; done
[ "$1" = bumble ] && exec "$@"
exit 0
"""
PYTHON = '#!/bin/bash\n[ "$2" = uv ] && shift 2 && exec uv "$@"\nmkdir -p ~/.uv/bin\n' + (
    'ln -sf "$(type -P uv)" ~/.uv/bin/uv\nln -sf "$(type -P true)" ~/.uv/bin/pip\n'
)
PROGRAMS = {
    "uv": UV,
    "python3": PYTHON,
    "sudo": "#!/bin/bash\nexit 0\n",
    "brew": "#!/bin/bash\nexit 0\n",
    "crontab": '#!/bin/bash\n[ "$1" = -l ] && { cat ~/crontab 2>/dev/null || '
    "{ echo no crontab >&2; exit 1; }; } || cat > ~/crontab\n",
    "bumble": f'#!/bin/bash\nexec {sys.executable} -P -m bumble "$@"\n',
}


@pytest.mark.skipif(not (shutil.which("bash") and shutil.which("git")), reason="no bash or no git")
@pytest.mark.slow
def test_every_block_works_when_pasted_in_order(tmp_path: Path, environ: dict[str, str]) -> None:
    home, bin_folder = Path(environ["HOME"]), tmp_path / "bin"
    (home / "Downloads").mkdir(parents=True)
    bin_folder.mkdir()
    for name, source in PROGRAMS.items():
        (bin_folder / name).write_text(source)
        (bin_folder / name).chmod(0o755)
    with zipfile.ZipFile(home / "Downloads" / "chatgpt-export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps([exports.gpt_moving()]))
    script = tmp_path / "script.jsonl"
    script.write_text("".join(json.dumps(rule) + "\n" for rule in SCRIPT))
    (home / ".gitconfig").write_text("[user]\n\tname = Jo Miller\n\temail = jo@example.com\n")
    blocks = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(blocks) > 7
    lines = [line for block in blocks for line in block.splitlines() if line.strip()]
    ran = subprocess.run(
        ["bash", "-o", "pipefail"],
        input="\n".join([*(f"{line}\n{CHECK}" for line in lines), f"echo {DONE}"]),
        cwd=ROOT,
        env={
            **os.environ,
            **environ,
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "BUMBLE_LLM_MODEL": f"script:{script}",
            "BUMBLE_EMBEDDING_MODEL": "none",
            "BUMBLE_LIMITS_SETTLE": "later",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[-4000:]}"
    assert ran.stdout.endswith(f"{DONE}\n")
    assert "\n# Sam\n" in ran.stdout
    assert "bumble begins:" in (home / "crontab").read_text()
