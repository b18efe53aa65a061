"""Blocks of a page pasted into a shell: what would fetch or install is a program of the same name.

The environment alone makes the difference: programs on the PATH, a home of its own, a model that
follows a script or a server of this machine.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support import exports

ROOT = Path(__file__).resolve().parent.parent.parent
# The pages of docs/ for somebody who wants something done, as README lists them.
TASKS = (
    *("move-a-history-in", "every-night", "two-machines", "several-people", "from-claude-code"),
    *("another-model", "take-back", "forget-somebody", "see-its-life"),
)
BLOCK = re.compile(r"(?:^<!-- (\w+) command -->\n)?^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DONE = "all blocks are done"
CHECK = "[ $? = 0 ] || exit 1"  # behind each line: -e lets `a && b` pass where a fails
KEY = "sk-made-up"  # for the place that a page leaves for one
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
    **dict.fromkeys(("sudo", "brew", "ollama", "claude"), "#!/bin/bash\nexit 0\n"),
    "crontab": '#!/bin/bash\n[ "$1" = -l ] && { cat ~/crontab 2>/dev/null || '
    "{ echo no crontab >&2; exit 1; }; } || cat > ~/crontab\n",
    "bumble": f'#!/bin/bash\nexec {sys.executable} -P -m bumble "$@"\n',
}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the blocks for a shell of a page: the mark above each, or "", and its text."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def prepare(home: Path) -> None:
    """Make a home: programs, an export that was downloaded, and a name for git."""
    (home / "bin").mkdir(parents=True)
    (home / "Downloads").mkdir()
    for name, source in PROGRAMS.items():
        (home / "bin" / name).write_text(source)
        (home / "bin" / name).chmod(0o755)
    with zipfile.ZipFile(home / "Downloads" / "chatgpt-export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps([exports.gpt_moving()]))
    (home / ".gitconfig").write_text("[user]\n\tname = Jo Miller\n\temail = jo@example.com\n")


def scripted(folder: Path) -> dict[str, str]:
    """Return what has a model answer that follows a script."""
    script = folder / "script.jsonl"
    script.write_text("".join(json.dumps(rule) + "\n" for rule in SCRIPT))
    return {"BUMBLE_LLM_MODEL": f"script:{script}"}


def paste(
    texts: Sequence[str], home: Path, environ: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Paste blocks in order into one shell; it ends with the first line that fails."""
    texts = [text.replace("sk-…", KEY) for text in texts]
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    return subprocess.run(
        ["bash", "-o", "pipefail"],
        input="\n".join([*(f"{line}\n{CHECK}" for line in lines), f"echo {DONE}"]),
        cwd=ROOT,
        env={
            **os.environ,
            **environ,
            "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "BUMBLE_EMBEDDING_MODEL": "none",
            "BUMBLE_LIMITS_SETTLE": "later",
        },
        capture_output=True,
        text=True,
        check=False,
    )
