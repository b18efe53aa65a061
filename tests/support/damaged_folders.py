"""Real commands on damaged copies of a folder that holds every kind of record, counted.

Run as `python -m tests.support.damaged_folders COUNT SEED`; prints one line of JSON. Each folder is
a forked process of its own, so that one that hangs or takes all memory ends by itself.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bumble.cli.app import main
from bumble.cli.process import Shell
from bumble.entity import approvals, settings
from bumble.entity.folder import Entity
from bumble.errors import UserError
from bumble.records import forgotten, kinds
from tests.support import damage, newborns
from tests.support.kind_samples import record
from tests.support.parsers import FORGOTTEN, MORE
from tests.support.repository import git
from tests.support.running import ABLE, NOON

ZONE = ZoneInfo("Europe/Lisbon")
MOST_SECONDS, MOST_BYTES = 20, 4 << 30  # of work, a command; of addresses: more than of memory
HANGS_SECONDS = 120  # of waiting, on a machine that has much else to do
BUG = 70
COMMANDS = (
    *("status", "doctor", "doctor --fix", "recall rain", "recall marzipan --json", "tick"),
    *(
        "context show",
        "person list",
        "person show sam",
        "log",
        "diff",
        "session list",
        "session show 1",
    ),
    *("knowledge list", "journal show", "belief list", "episode list", "skill list", "config show"),
    *("why ep_1", "why msg_1", "soma", "remind list", "index --rebuild", "project list"),
    *("export OUT/a --to markdown", "export OUT/b --to letta", "export OUT/c --to bundle"),
    *("person forget Bo --yes", "undo", "compact", "narrate", "model list", "cron show"),
    *("knowledge set Home By_the_sea", "remind add Tea --in 1h", "anchor list", "eval"),
)
CHAT = ["chat", "--as", "Sam", "It rains by the sea, and I think of marzipan."]
SCRIPT = '{"purpose": "chat", "text": "It rains here too.", "always": true}\n'


def lived(root: Path, *, under_git: bool) -> Entity:
    """Make a folder with a record of every kind, an index, ledgers, and wordings of its own."""
    entity = newborns.ada(root)
    for kind in kinds.KINDS:
        path, text = record(kind.name, "I hide marzipan by the sea, in the rain.")
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(MORE.get(kind.name, text))
    (root / forgotten.PATH).write_text(FORGOTTEN)
    if under_git:
        git(root, "init", "-q", "-b", "main")
        git(root, "add", "-A")
        git(root, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "a past")
    for words in ("index", "tick", "doctor --fix"):
        _call(root, words.split(), random.Random(1))
    _call(root, CHAT, random.Random(1))
    return entity


def _call(root: Path, words: list[str], rng: random.Random) -> tuple[int, str]:
    """Run a command in this process; returns its code and what it said of what went wrong."""
    home = root.parent
    environ = {
        **ABLE,
        "HOME": str(home / "home"),
        "XDG_STATE_HOME": str(home / "state"),
        "PATH": os.environ["PATH"],
        "BUMBLE_LLM_MODEL": f"script:{home / 'script.jsonl'}",
        "BUMBLE_EMBEDDING_MODEL": "none",
        "BUMBLE_LIMITS_SETTLE": "wait",
        "BUMBLE_LIMITS_LOCK_TIMEOUT_SECONDS": "2",
    }
    shell = Shell(environ, root, root, now_given=NOON, rng=rng)
    out, err = io.StringIO(), io.StringIO()
    stdin = sys.stdin
    sys.stdin = io.StringIO("")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([word.replace("OUT", str(home / "out")) for word in words], shell)
        finally:
            sys.stdin = stdin
    return code, err.getvalue()


def unreadable(entity: Entity) -> dict[Path, bytes]:
    """Return the bytes of the files that can't be read as what they should be."""
    bad: dict[Path, bytes] = {}
    for kind in kinds.KINDS:
        with contextlib.suppress(OSError, UserError):
            for path in kind.paths(entity):
                with _keeping(path, bad):
                    kind.read(path, ZONE)
    with _keeping(entity.file, bad):
        settings.load(entity.file)
    with _keeping(entity.root / forgotten.PATH, bad):
        forgotten.read(entity.root)
    return {path: data for path, data in bad.items() if not _may_be_mended(data)}


@contextlib.contextmanager
def _keeping(path: Path, bad: dict[Path, bytes]) -> Iterator[None]:
    try:
        yield
    except (UserError, OSError):
        if path.is_file() and not path.is_symlink():
            bad[path] = path.read_bytes()


def _may_be_mended(data: bytes) -> bool:
    """Whether the next command merges a file: its markers are taken out where they can be."""
    return approvals.MARK in data


def one_folder(template: Path, place: Path, seed: str) -> dict[str, Any]:
    """Damage a copy of a folder, run some commands on it, and tell what came of each."""
    rng = random.Random(seed)
    root = place / "ada"
    shutil.copytree(template, place, symlinks=True, dirs_exist_ok=True)
    paths = [path for path in sorted(root.rglob("*")) if path.is_file() and _may_break(path, root)]
    done = damage.damage_folder(root, paths, rng)
    kept = unreadable(Entity(root))
    outcomes: list[tuple[str, int]] = []
    failures: list[str] = []
    chosen = [*rng.sample(COMMANDS, 5), ""]
    for words in rng.sample(chosen, len(chosen)):
        name = " ".join(words.split()[:2]) if words else "chat"
        faulthandler.dump_traceback_later(HANGS_SECONDS, exit=True, file=2)
        begun = time.process_time()
        code, err = _call(root, words.split() or CHAT, rng)
        seconds = time.process_time() - begun
        outcomes.append((name, code))
        if code == BUG:
            failures.append(f"{name}: {err} {_traceback(place)}")
        if seconds > MOST_SECONDS:
            failures.append(f"{name}: took {seconds:.0f} s")
        for path, data in kept.items():
            if not path.is_file() or path.read_bytes() != data:
                forgets = "forget" in words and not path.exists()
                failures += [] if forgets else [f"{name}: wrote over {path.relative_to(root)}"]
                kept = {}
                break
    return {"damage": done, "outcomes": outcomes, "failures": failures}


def _may_break(path: Path, root: Path) -> bool:
    inner = path.relative_to(root).parts
    return inner[0] != ".git" or (len(inner) == 2 and inner[1] in ("HEAD", "config", "index"))


def _traceback(place: Path) -> str:
    logs = sorted(place.rglob("*.log"))
    return logs[-1].read_text()[-1_500:] if logs else ""


def run(count: int, seed: int) -> dict[str, Any]:
    """Run commands on damaged folders; returns outcomes by command, and what went wrong."""
    outcomes: dict[str, Counter[str]] = {}
    failures: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        templates = [Path(place) / "plain", Path(place) / "git"]
        for template in templates:
            template.mkdir()
            (template / "script.jsonl").write_text(SCRIPT)
            lived(template / "ada", under_git=template.name == "git")
        for number in range(count):
            name = f"{seed} {number}"
            report = _forked(templates[number % 4 == 0], Path(place) / "now", name)
            for command, code in report["outcomes"]:
                outcomes.setdefault(command, Counter())[str(code)] += 1
            if report["failures"]:
                failures.append({"seed": name, **report})
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    counted = {name: dict(counter) for name, counter in sorted(outcomes.items())}
    return {"folders": count, "outcomes": counted, "failures": failures, "most_mb": most}


def _forked(template: Path, place: Path, seed: str) -> dict[str, Any]:
    """Do one folder in a process of its own."""
    shutil.rmtree(place, ignore_errors=True)
    result = place.parent / "result.json"
    result.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        result.write_text(json.dumps(one_folder(template, place, seed)))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not result.exists():
        ended = f"the process ended with {os.waitstatus_to_exitcode(status)}"
        return {"outcomes": [("ended", status)], "failures": [ended], "damage": []}
    report: dict[str, Any] = json.loads(result.read_text())
    return report


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]))))  # noqa: T201
