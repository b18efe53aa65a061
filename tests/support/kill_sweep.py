"""Commands that are killed from outside, at calls that change a file; what each left, counted.

Run as `python -m tests.support.kill_sweep MOST [COMMAND]...`; prints one line of JSON. It loads
`killer.c` into itself and into all that it starts: a command is a forked process, and it dies with
every git that it has started, before a call of its choice, or half through a write.

What is held against the folder after the next two commands: nothing that was there is gone (lost),
every file is as it was before or as it is after the whole command, and can be read (half), and no
file lies there that neither knows, no lock and no change that waits (left lying). A command of
`AGAIN` is told again first: what it was killed at goes on with that.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import io
import json
import mmap
import os
import pkgutil
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct, field

import bumble
from bumble.cli.app import main
from bumble.cli.process import Shell
from bumble.entity import uncommitted, write_ahead
from bumble.files.disk import TEMPORARY_SUFFIX
from bumble.models.weights import store
from bumble.records import forgotten
from tests.support import damaged_folders, mind, serving
from tests.support.repository import git
from tests.support.running import NOON

SOURCE = Path(__file__).with_name("killer.c")
FORMATS = Path(__file__).parents[1] / "data" / "formats"
FIRST = ("write", "rename", "unlink", "link", "truncate", "rmdir")  # they write, name or remove
COMMANDS = (
    *("chat --as Sam It_rains_today", "tick --limit 1", "remind add Tea --in 1h"),
    *("knowledge set Home By_the_sea", "knowledge remove Tea --yes"),
    *("journal add It_rained", "person add Zoe She_sails", "person forget Kim --yes"),
    *("person forget Sam --yes", "belief add Rain_is_wet", "belief confirm bel_1"),
    *("belief contradict bel_1", "belief remove bel_1 --yes", "episode add It_rained"),
    *("episode remove ep_1 --yes", "skill set Bake Bread_it_is --description Bread"),
    *("skill remove Tea --yes", "project add boat", "project done Tea", "anchor add sea"),
    *("anchor recall Tea", "anchor remove Tea --yes", "soma tick", "noise tick", "session end"),
    *("compact --force", "narrate", "reflect Sam", "distill --force", "consolidate --force"),
    *(
        "dream --force",
        "evolve --force",
        "config set memory.max_recall_results 5",
        "index --rebuild",
        "doctor --fix",
        "undo --last",
    ),
    *(
        "import OUT/notes --format openclaw",
        "export --to bundle OUT/whole",
        "new OUT/bo --name Bo --owner Sam",
    ),
    *("catalysts", "eval draft", "deep-recall rain", "sync", "recall rain"),
    *("mcp --write", "cron add 0_8_*_*_* How_is_it", "remind run", "remind remove rem_1 --yes"),
    *("BUMBLE_WAKE_ENABLED=true wake -v", "completion bash", "catalyze rain"),
    *("model pull hubbed --yes", "model remove tiny --yes", "report OUT/page.html"),
    *("BUMBLE_GIT_REVIEW=[narrate] narrate --force", "review accept --all", "review reject --all"),
    *("migrate -e OUT/old", "evolve --apply evo_1", "evolve --reject evo_1"),
    *("export --to markdown OUT/copy --force", "export --to card OUT/ada.png"),
    *("new OUT/again --from OUT/kept.zip", "config set --user memory.max_recall_results 5"),
)
AGAIN = ("model pull", "migrate", "sync")
BY_CHANCE = (forgotten.PATH, store.MANIFEST)  # a key of chance in the one, times in the other
TOLD = {"change-unfinished", "git-cut-off", "git-uncommitted", "git-locked", "git-under-way"}
_DERIVED = re.compile(r"(?:^|/)(?:\.bumble(?:/|$)|memory\.db|\.git/)")
_PROPOSED = re.compile(rb"\b([a-z]+)-[0-9a-f]{8}\b")  # the end of a proposal's name is of chance
_NOT_WORDS = ("ep_", "bel_", "evo_", "rem_", "memory.", "max_", "BUMBLE_")  # `_` is no space there


class Sweep(Struct):
    """The place of a sweep, and what tells the loaded library what to do."""

    place: Path
    environ: dict[str, str]
    memory: mmap.mmap
    reports: dict[str, Counter[str]] = field(default_factory=dict)
    examples: list[dict[str, Any]] = field(default_factory=list)

    @property
    def now(self) -> Path:
        """The folder that a command works in."""
        return self.place / "now"

    @property
    def root(self) -> Path:
        """The entity's folder in it."""
        return self.now / "ada"

    def set_up(self) -> None:
        """Put everything back as it was."""
        shutil.rmtree(self.now, ignore_errors=True)
        shutil.copytree(self.place / "template", self.now, symlinks=True)

    def arm(self, at: int, *, half: bool = False, counts: bool = True) -> None:
        """Say before which call all ends; 0: none."""
        root = os.fsencode(self.now) if counts else b""
        self.memory[:] = struct.pack("lll4096s", at, 0, half, root)

    def call(self, words: str, *, minutes: int = 0) -> int:
        """Run a command in a process of its own; its code, or minus the signal that ended it."""
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.setsid()
            os.environ["KILLER_LEADER"] = str(os.getpid())
            os._exit(self._command(words, minutes))
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)

    def _command(self, words: str, minutes: int) -> int:
        argv = [
            (word if word.startswith(_NOT_WORDS) else word.replace("_", " ")).replace(
                "OUT", str(self.now / "out")
            )
            for word in words.split()
        ]
        settings = dict(word.split("=", 1) for word in argv if word.startswith("BUMBLE_"))
        argv = argv[len(settings) :]
        at = NOON + timedelta(minutes=minutes)
        environ = {**self.environ, **settings}
        shell = Shell(environ, self.root, now_given=at, rng=random.Random(5))
        if argv[0] == "mcp":
            return _served(argv, shell)
        with (
            (self.place / "said").open("w") as said,
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            return main(argv, shell)

    def truth(self) -> dict[str, bytes]:
        """Return every file that is no derived one."""
        return {
            name: _PROPOSED.sub(rb"\1", path.read_bytes()) if path.is_file() else b"->"
            for path in sorted(self.now.rglob("*"))
            if not path.is_dir() and not self._is_private(name := str(path.relative_to(self.now)))
        }

    def _is_private(self, name: str) -> bool:
        first, _, rest = name.partition("/")
        if first != "ada" and TEMPORARY_SUFFIX in name:  # it goes a day later
            return True
        if first in ("home", "state", "tmp"):
            return not rest.startswith((".config/", ".cache/bumble/w"))
        return (
            first == "script.jsonl" or name.endswith(".lock") or _DERIVED.search(rest) is not None
        )

    def lying(self) -> list[str]:
        """Return what a dead command has left that nothing will take away."""
        locks = [path for path in self.now.rglob("*.lock") if ".git" in path.parts]
        left = [str(path) for path in locks if TEMPORARY_SUFFIX not in str(path)]
        left += ["intent"] * bool(write_ahead.leftovers(self.root).own)
        left += ["note"] * bool(uncommitted.notes(self.root))
        return left


def run(most: int, chosen: Sequence[str]) -> dict[str, Any]:
    """Kill every command at its calls, or those that begin so, `most` times in all."""
    commands = [words for words in COMMANDS if not chosen or words.startswith(tuple(chosen))]
    with (
        tempfile.TemporaryDirectory() as folder,
        mind.serving() as server,
        serving.hub({"/me/model/resolve/abc/model.gguf": serving.CONTENT}) as hub,
    ):
        place = Path(folder).resolve()
        sweep = Sweep(place, _environ(place, mind.environ(server)), _memory(place))
        os.environ["HF_ENDPOINT"] = hub.endpoint
        _make_template(sweep)
        _load_all()
        per_command = most // len(commands)
        spare = 0
        for words in commands:
            spare += per_command - _sweep_command(sweep, words, per_command + spare)
            print(words, dict(sweep.reports[words]), file=sys.stderr, flush=True)  # noqa: T201
        reports = {name: dict(counter) for name, counter in sweep.reports.items()}
        total = sum(sweep.reports.values(), Counter[str]())
        return {"commands": reports, "total": dict(total), "examples": sweep.examples}


def _served(argv: list[str], shell: Shell) -> int:
    """Have a client call a tool of `bumble mcp`, and leave when it has the answer."""
    (reads, tells), (hears, says) = os.pipe(), os.pipe()
    os.dup2(reads, 0)  # the server reads and writes there, whatever Python's streams are
    os.dup2(says, 1)
    sys.stderr = io.StringIO()
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
    hello["clientInfo"] = {"name": "by hand", "version": "1"}
    call = {"name": "remember", "arguments": {"text": "It rained by the sea."}}

    def speak() -> None:
        with os.fdopen(tells, "w") as client, os.fdopen(hears) as answers:
            for number, (method, params) in enumerate(
                (("initialize", hello), ("notifications/initialized", {}), ("tools/call", call))
            ):
                given = {} if "/init" in method else {"id": number}
                told = {"jsonrpc": "2.0", **given, "method": method, "params": params}
                client.write(json.dumps(told) + "\n")
                client.flush()
                if given:
                    answers.readline()

    threading.Thread(target=speak, daemon=True).start()
    return main(argv, shell)


def _environ(place: Path, served: dict[str, str]) -> dict[str, str]:
    home = place / "now" / "home"
    environ = {
        **served,
        "HOME": str(home),
        "XDG_STATE_HOME": str(place / "now" / "state"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "PATH": os.environ["PATH"],
        "BUMBLE_EMBEDDING_MODEL": "none",
        "BUMBLE_LIMITS_SETTLE": "later",
        "TMPDIR": str(place / "now" / "tmp"),
    }
    for who in ("AUTHOR", "COMMITTER"):
        os.environ[f"GIT_{who}_NAME"], os.environ[f"GIT_{who}_EMAIL"] = "Sam", "sam@example.org"
    os.environ.update({name: environ[name] for name in environ if name.startswith(("HOME", "XDG"))})
    tempfile.tempdir = environ["TMPDIR"]
    return environ


def _load_all() -> None:
    """Load what commands load when they need it: once, and not in each process that is forked."""
    for module in pkgutil.walk_packages(bumble.__path__, "bumble."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in ("apsw", "tantivy"):
        importlib.import_module(name)
    gc.freeze()


def _memory(place: Path) -> mmap.mmap:
    """Map what is shared with the library; it is named by KILLER when this process starts."""
    with Path(os.environ["KILLER"]).open("r+b") as file:
        return mmap.mmap(file.fileno(), struct.calcsize("lll4096s"))


def _make_template(sweep: Sweep) -> None:
    sweep.arm(0, counts=False)
    place = sweep.now
    place.mkdir(parents=True)
    (place / "tmp").mkdir()
    (place / "script.jsonl").write_text(damaged_folders.SCRIPT)
    damaged_folders.lived(place / "ada", under_git=True)
    (place / "out" / "notes").mkdir(parents=True)
    (place / "out" / "notes" / "MEMORY.md").write_text("# MEMORY\n\n## Home\n\nSam is home.\n")
    (place / "out" / "notes" / "SOUL.md").write_text("# Soul\n\nI am warm.\n")
    for minutes, words in enumerate(("knowledge set Sea Wide", "chat --as Sam I_sail", "index")):
        assert sweep.call(words, minutes=minutes - 30) == 0, words
    git(place / "ada", "clone", "-q", "--bare", str(place / "ada"), str(place / "home" / "server"))
    git(place / "ada", "remote", "add", "origin", str(place / "home" / "server"))
    git(place / "ada", "fetch", "-q")
    git(place / "ada", "branch", "-q", "--set-upstream-to", "origin/main")
    _go_on_elsewhere(place)
    with zipfile.ZipFile(FORMATS / "1.zip") as archive:
        archive.extractall(place / "out" / "old")
    for step in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "of old")):
        git(place / "out" / "old", *step)
    _have_models(place / "home" / ".config" / "bumble")
    for words in (
        "model pull tiny --yes",
        "export --to bundle OUT/kept.zip",
        "export --to markdown OUT/copy",
        "BUMBLE_GIT_REVIEW=[narrate] narrate --force",
    ):
        assert sweep.call(words, minutes=-20) == 0, words
    (place / "out" / "copy" / ".obsidian").mkdir()
    (place / "out" / "copy" / ".obsidian" / "app.json").write_text("{}")
    place.rename(sweep.place / "template")


def _go_on_elsewhere(place: Path) -> None:
    """Push from another clone what a sync merges: lines of both in one file, and new ones."""
    root, away = place / "ada", place / "home" / "away"
    git(place, "clone", "-q", str(place / "home" / "server"), str(away))
    for folder, word in ((away, "there"), (root, "here")):
        with (folder / "journal.md").open("a") as diary:
            diary.write(f"\n## 2026-05-23 10:00:00\n\nIt rained {word}.\n")
        (folder / "notes").mkdir(exist_ok=True)
        (folder / "notes" / f"{word}.md").write_text(f"Written {word}.\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", f"a day {word}")
    git(away, "push", "-q")
    shutil.rmtree(away)


def _have_models(config: Path) -> None:
    """Give the user two small models: one that is here, one that a hub serves."""
    config.mkdir(parents=True, exist_ok=True)
    (config / "weights.bin").write_bytes(serving.CONTENT)
    models = [
        {
            "name": name,
            "kind": "chat",
            "summary": "A model",
            "licence": "MIT",
            "context_tokens": 4096,
            "memory_mb": 100,
            "files": [
                {
                    "name": "model.gguf",
                    "bytes": len(serving.CONTENT),
                    "sha256": hashlib.sha256(serving.CONTENT).hexdigest(),
                    "sources": [source],
                }
            ],
            "chat": {"thinking": "none", "temperature": 0.4},
        }
        for name, source in (
            ("tiny", {"file": "weights.bin"}),
            ("hubbed", {"hub": {"repo": "me/model", "revision": "abc", "path": "model.gguf"}}),
        )
    ]
    (config / "models.yaml").write_text(json.dumps({"schema": 1, "models": models}))


def _sweep_command(sweep: Sweep, words: str, most: int) -> int:
    """Kill one command at its calls; returns how often."""
    sweep.set_up()
    before = sweep.truth()
    log = Path(os.environ["KILLER_LOG"])
    log.write_bytes(b"")
    sweep.arm(0)
    code = sweep.call(words)
    sweep.arm(0, counts=False)
    after = sweep.truth()
    calls = [line.split(" ", 2) for line in log.read_text(errors="replace").splitlines()]
    counter = sweep.reports.setdefault(words, Counter(calls=len(calls), kills=0))
    counter[f"code {code}"] += 1
    if code != 0 or not calls:  # nothing of it was tried
        sweep.examples.append({"command": words, "what": "not swept", "places": [f"code {code}"]})
    for number, half in _chosen(calls, most):
        sweep.set_up()
        sweep.arm(number, half=half)
        killed = sweep.call(words) == -9
        sweep.arm(0, counts=False)
        counter["kills"] += 1
        counter["outlived"] += not killed  # chance has it that there were fewer calls
        name = calls[number - 1]
        _judge(sweep, words, before, after, f"{number} {name[1]} {name[2]}")
    return counter["kills"]


def _chosen(calls: list[list[str]], most: int) -> list[tuple[int, bool]]:
    """Choose calls: all that write, name or remove something, or as many as may be, evenly."""
    rng = random.Random(7)
    first = [n for n, call in enumerate(calls, 1) if call[1] in FIRST]
    others = [n for n, call in enumerate(calls, 1) if call[1] not in FIRST]
    chosen = first if len(first) <= most else sorted(rng.sample(first, most))
    chosen += sorted(rng.sample(others, min(len(others), most - len(chosen))))
    return [(n, calls[n - 1][1] == "write" and rng.random() < 0.5) for n in chosen]


def _judge(
    sweep: Sweep, words: str, before: dict[str, bytes], after: dict[str, bytes], call: str
) -> None:
    """Run the next commands and hold the folder against what it was and would have been."""
    counter = sweep.reports[words]
    untold = _untold(sweep, words)
    if words.startswith(AGAIN):
        sweep.call(words)
    codes = [sweep.call("status", minutes=1)]
    truth = sweep.truth()
    wrong = {
        "lost": [name for name in before if name not in truth and name in after],
        "half": [
            name
            for name, data in truth.items()
            if name in {**before, **after}
            and not name.endswith(BY_CHANCE)
            and data not in (before.get(name), after.get(name))
            and not _is_between(data, before.get(name, b""), after.get(name, b""))
        ],
        "lying": [name for name in truth if name not in before and name not in after],
    }
    codes.append(sweep.call("remind add later --in 5d", minutes=2))
    codes.append(sweep.call("doctor", minutes=3))
    wrong["lying"] += sweep.lying() + git(sweep.root, "status", "--porcelain").splitlines()
    wrong["half"] += [f"codes {codes}"] if codes[0] or codes[1] or codes[2] == 70 else []
    wrong["doctor"] = untold + ([f"{codes[2]}"] if codes[2] not in (0, 12) else [])
    for name, places in wrong.items():
        counter[name] += bool(places)
        if places:
            sweep.examples.append(
                {"command": words, "call": call, "what": name, "places": places[:5]}
            )


def _untold(sweep: Sweep, words: str) -> list[str]:
    """Return what a dead command has left, where `doctor` says nothing of it or changes it."""
    found = sweep.truth()
    left = sweep.lying()
    _, option, elsewhere = words.partition(" -e ")  # it worked in another folder
    root = Path(elsewhere.replace("OUT", str(sweep.now / "out"))) if option else sweep.root
    left += git(root, "status", "--porcelain").splitlines()
    sweep.call(f"doctor --json{option}{elsewhere}")
    said = json.loads((sweep.place / "said").read_text())
    told = {one["code"] for one in said["data"]["findings"]} & TOLD
    now = sweep.truth()
    own = f"{root.relative_to(sweep.now)}/"
    changed = any(now.get(name) != found[name] for name in found if name.startswith(own))
    untold = left if left not in ([], ["note"]) and not told else []  # a note of what is committed
    return untold + ["doctor changed the folder"] * changed


def _is_between(data: bytes, before: bytes, after: bytes) -> bool:
    """Whether a file stands between two states of it: all lines of the one, some of the other."""
    lines, known = data.splitlines(), {*before.splitlines(), *after.splitlines()}
    return set(lines) <= known and set(before.splitlines()) & set(after.splitlines()) <= set(lines)


def main_with_library(
    most: int, place: Path, chosen: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Compile the library and run a sweep with it loaded; how far it is goes to standard error.

    Raises:
        CalledProcessError: If it can't be compiled.
    """
    library, shared = place / "killer.so", place / "shared"
    cc = shutil.which("cc")
    assert cc is not None
    command = [cc, "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    shared.write_bytes(bytes(struct.calcsize("lll4096s")))
    environ = {
        **os.environ,
        "LD_PRELOAD": str(library),
        "KILLER": str(shared),
        "KILLER_LOG": str(place / "calls"),
        "TMPDIR": str(place),
    }
    return subprocess.run(
        [sys.executable, "-m", "tests.support.kill_sweep", str(most), *chosen],
        cwd=Path(__file__).parents[2],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    if "KILLER" in os.environ:
        print(json.dumps(run(int(sys.argv[1]), sys.argv[2:])))  # noqa: T201
    else:
        with tempfile.TemporaryDirectory() as folder:
            done = main_with_library(int(sys.argv[1]), Path(folder), sys.argv[2:])
            print(done.stdout)  # noqa: T201
