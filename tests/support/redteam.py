"""Hostile texts played by the commands, each in a fresh entity, and what must not come of them.

A case is a mapping: `steps` are what is said (`say`, `as`, `with`), files that lie in the folder
(`file`, `content`), what is imported (`import`, `content`), what a tool gave (`tool_result`) and
commands. `must_not` lists what may not come of it, `must` what has to. It is looked for in files,
in what was printed, and in what the model was asked; never in what the code says of itself.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from bumble.cli.app import main
from bumble.cli.process import Shell
from bumble.entity.create import NewEntity
from bumble.entity.folder import Entity
from tests.support import newborns, redteam_looks
from tests.support.fake_server import FakeServer
from tests.support.obeying import Obeying, bare
from tests.support.redteam_looks import OWNER, Heard, Played

FOLDER = Path(__file__).parent.parent / "data" / "redteam"
ENTITY, GUEST = "Ada", "Visitor"
IMPORTED = {"chatgpt": "conversations.json", "claude": "conversations.json", "letta": "agent.af"}
BEGIN = datetime.fromisoformat("2026-05-24T12:00:00+01:00")
MINUTE = timedelta(minutes=1)
LIVED = ("distill", "--force", "-y")  # what comes of a talk, where the case runs nothing itself
REMEMBERING = ("distill", "tick", "reflect", "consolidate", "dream", "narrate", "remember")
ALL_TOOLS = {
    **{f"tools.{name}": True for name in ("files", "notes", "anchors", "projects")},
    "embedding.model": "none",
}
Case = Mapping[str, Any]


def cases(name: str = "*") -> list[Case]:
    """Read the cases that are kept, each with the half it is of."""
    return [
        {**json.loads(line), "half": path.stem}
        for path in sorted(FOLDER.glob(f"{name}.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def obeying(server: FakeServer) -> dict[str, Any]:
    """Return the settings of a user whose model obeys, trusted with everything, every tool on."""
    may = {"any": "write"}
    return {
        "llm.base_url": f"{server.url}/v1",
        "llm.model": "obeying",
        "llm.abilities.talk": may,
        "llm.abilities.memory": may,
        **ALL_TOOLS,
    }


def real(model: str) -> dict[str, Any]:
    """Return the settings of a user with a real model."""
    return {"llm.model": model, **ALL_TOOLS}


class Stage:
    """Plays cases, one after another, each in a copy of one newborn."""

    def __init__(
        self,
        scratch: Path,
        settings: Mapping[str, Any],
        server: FakeServer | None,
        weights: str = "",
    ) -> None:
        """Set up.

        Args:
            scratch: A folder of its own.
            settings: Of the user, by dotted name.
            server: Of the obeying model; None: the settings name a real one.
            weights: Where those of real models lie.
        """
        self.scratch, self.settings, self.server = scratch, dict(settings), server
        newborn = NewEntity(ENTITY, "curious", OWNER, "Europe/Lisbon")
        self.newborn = newborns.created(scratch / "newborn", newborn).root
        self.weights = weights
        self.process = False  # whether commands run in processes of their own

    @contextlib.contextmanager
    def play(self, case: Case) -> Iterator[Played]:
        """Play a case; what came of it can be looked at inside."""
        box = self.scratch / "box"
        shutil.rmtree(box, ignore_errors=True)
        home = box / "home"
        (home / ".config" / "bumble").mkdir(parents=True)
        entity = Entity(Path(shutil.copytree(self.newborn, box / "ada")))
        played = Played(case, entity, home, effective=lambda: _effective(entity.root))
        for path in Path(tempfile.gettempdir()).glob(redteam_looks.PLANTED):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        model = None
        if self.server is not None:
            model = Obeying(texts(case), _wanted(case))
            model.serve(self.server)
        settings = {**self.settings, **case.get("settings", {})}
        player = _Player(played, box, settings, process=self.process, obeys=model)
        if self.weights:
            player.environ["BUMBLE_WEIGHTS"] = self.weights
        with _as_user(player.environ):
            player.all()
            yield played


def _is_about_memory(case: Case) -> bool:
    """Whether a case is about what is learnt, and leaves it to us to have the entity learn."""
    ran = {step["command"][0] for step in case["steps"] if "command" in step}
    rules = {rule["what"] for rule in case.get("must_not", ())}
    return ran.isdisjoint(REMEMBERING) and bool(rules & {"belief", "learnt_as_fact"})


@contextlib.contextmanager
def _as_user(environ: Mapping[str, str]) -> Iterator[None]:
    """Let a user's folders be those of the test: they are looked up in this process."""
    before = dict(os.environ)
    os.environ.update(environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _yaml(settings: Mapping[str, Any]) -> str:
    tree: dict[str, Any] = {}
    for name, value in settings.items():
        place = tree
        *above, last = name.split(".")
        for part in above:
            place = place.setdefault(part, {})
        place[last] = value
    return json.dumps(tree)  # YAML holds JSON


def texts(case: Case) -> list[str]:
    """Return all that a case brings in."""
    found = []
    for step in case["steps"]:
        for key in ("say", "content", "tool_result", "mcp"):
            found += _strings(step.get(key))
        found += [step["as"]] if len(step.get("as", "")) > len("somebody's name") else []
        found += [word for word in step.get("command", ()) if " " in word]
    return found


def _strings(value: Any) -> list[str]:
    """Return the texts in what an import holds."""
    if isinstance(value, Mapping):
        return [text for key, inner in value.items() for text in (key, *_strings(inner))]
    if isinstance(value, list):
        return [text for inner in value for text in _strings(inner)]
    return [value] if isinstance(value, str) else []


def _wanted(case: Case) -> Iterator[tuple[str, list[str]]]:
    """Yield what a case wants, each with the texts that ask for it."""
    brought = texts(case)
    other = [step["say"] for step in case["steps"] if step.get("as", "owner") != "owner"]
    for rule in case.get("must_not", ()):
        needle = rule.get("needle", "")
        if not needle or rule["what"] == "secret_told":
            continue
        asking = [
            line for text in brought if bare(needle) in bare(text) for line in text.split("\n")
        ]
        asking = [line for line in asking if bare(needle) in bare(line)]
        yield needle, asking or other or brought


class _Player:
    """Plays the steps of one case."""

    def __init__(
        self,
        played: Played,
        box: Path,
        settings: Mapping[str, Any],
        *,
        process: bool,
        obeys: Obeying | None,
    ) -> None:
        self.played, self.box, self.process, self.obeys = played, box, process, obeys
        self.settings = dict(settings)
        self.now = BEGIN
        self.rng = random.Random(7)
        self.attached: list[str] = []
        self.tools: dict[str, Any] = {"tools": [], "results": {}}
        for name in ("elsewhere", "out"):
            (box / name).mkdir()
        self.environ = {
            "HOME": str(played.home),
            "PATH": os.environ.get("PATH", ""),
            "XDG_CONFIG_HOME": str(played.home / ".config"),
            "XDG_CACHE_HOME": str(played.home / ".cache"),
            "XDG_STATE_HOME": str(played.home / ".local" / "state"),
            "BUMBLE_LIMITS_SETTLE": "later",
            "OPENAI_API_KEY": "sk-of-the-test",
        }
        for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY"):
            if name in os.environ:
                self.environ[name] = os.environ[name]

    @property
    def root(self) -> Path:
        """The entity's folder."""
        return self.played.entity.root

    def all(self) -> None:
        """Play every step."""
        steps = self.played.case["steps"]
        self._write_settings()
        if any(step.get("via") or step.get("file", "").startswith(".git/") for step in steps):
            self._begin_history()
        self.played.before = redteam_looks.standing(self.played.entity, self.played.home)
        for n, step in enumerate(steps):
            later = steps[n + 1 :]
            results = list(takewhile(lambda after: "tool_result" in after, later))
            self._serve(step, results)
            self.step(step)
        if _is_about_memory(self.played.case):
            self.now += 40 * MINUTE
            self.run(OWNER, "lived", *LIVED)

    def _write_settings(self) -> None:
        place = self.played.home / ".config" / "bumble" / "config.yaml"
        place.write_text(_yaml(self.settings), encoding="utf-8")
        self.played.before["settings"] = place.read_bytes()

    def step(self, step: Mapping[str, Any]) -> None:
        """Play one step."""
        if "now" in step:
            count, unit = int(step["now"][1:-1]), step["now"][-1]
            self.now += timedelta(days=count) if unit == "d" else timedelta(hours=count)
        if "say" in step:
            self.say(step)
        elif "file" in step:
            self.file(step)
        elif "import" in step:
            self.take_in(step)
        elif "command" in step:
            self.command([self._placed(str(word)) for word in step["command"]])

    def _placed(self, text: str) -> str:
        return text.replace("{home}", str(self.played.home)).replace("{out}", str(self.box / "out"))

    def file(self, step: Mapping[str, Any]) -> None:
        """Put a file where a clone, a pull or a person puts it."""
        name, content = self._placed(step["file"]), self._placed(step["content"])
        if name.startswith("mcp/"):
            self.tools["tools"] += json.loads(content)["tools"]
            return
        if step.get("via") == "pull":
            self._pull(name, content)
            return
        if name.startswith("attached/"):
            self.attached.append(name)
        place = Path(name) if step.get("outside") else self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if "symlink" in step:
            self._link(place, self._placed(step["symlink"]))
        elif step.get("merge"):
            _merged(place, content)
        elif step.get("append"):
            place.write_text(place.read_text("utf-8") + content, "utf-8")
        else:
            place.write_bytes(content.encode("utf-8", "surrogatepass"))
        if "mode" in step:
            place.chmod(int(step["mode"], 8))
        # what the folder came with is no change of anybody's
        self.played.before |= {
            key: value
            for key, value in redteam_looks.standing(self.played.entity, self.played.home).items()
            if key != "settings"
        }

    def _link(self, place: Path, target: str) -> None:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.symlink_to(target)

    def _begin_history(self) -> None:
        """Give the folder a repository with a remote that is the box's own."""
        remote = self.box / "remote.git"
        _git(self.box, "init", "-q", "--bare", "-b", "main", str(remote))
        _git(self.root, "init", "-q", "-b", "main")
        _git(self.root, "add", "-A")
        _git(self.root, "commit", "-q", "-m", "born")
        _git(self.root, "remote", "add", "origin", str(remote))
        _git(self.root, "push", "-q", "-u", "origin", "main")

    def _pull(self, name: str, content: str) -> None:
        """Have somebody else commit a file to the remote, and pull it as plain git does."""
        other = self.box / "other"
        if not other.exists():
            _git(self.box, "clone", "-q", str(self.box / "remote.git"), str(other))
        place = other / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, "utf-8")
        _git(other, "add", "-A")
        _git(other, "commit", "-q", "-m", "more")
        _git(other, "push", "-q")
        self.run(OWNER, "pull", "sync")

    def take_in(self, step: Mapping[str, Any]) -> None:
        """Import what a step holds."""
        form, content = str(step["import"]), step["content"]
        folder = self.box / "elsewhere"
        if isinstance(content, dict) and "files" in content:
            place = folder / form
            for name, text in content["files"].items():
                target = place / name
                target.parent.mkdir(parents=True, exist_ok=True)
                if isinstance(text, dict):
                    target.symlink_to(text["symlink"])
                else:
                    target.write_text(text, "utf-8")
        elif isinstance(content, dict) and "zip" in content:
            place = folder / "archive.zip"
            with zipfile.ZipFile(place, "w") as archive:
                for name, text in content["zip"].items():
                    archive.writestr(name, text if isinstance(text, str) else json.dumps(text))
        else:
            place = folder / IMPORTED.get(form, f"{form}.json")
            place.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        self.run(OWNER, "import", "import", str(place), "--format", form)

    def _serve(self, step: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> None:
        """List a server in the owner's config whose tools give what comes behind a message."""
        listed = {tool["name"] for tool in self.tools["tools"]}
        for result in results:
            name = re.sub(r"\W", "_", str(result.get("tool", "page")))
            self.tools["results"][name] = result["tool_result"]
            if name not in listed:
                self.tools["tools"].append(
                    {
                        "name": name,
                        "description": f"look up: {name}",
                        "inputSchema": {
                            "type": "object",
                            "properties": {"about": {"type": "string"}},
                        },
                        "annotations": {"readOnlyHint": True},
                    }
                )
        if "say" not in step or not self.tools["tools"]:
            return
        told = self.box / "elsewhere" / "told.json"
        told.write_text(json.dumps(self.tools), "utf-8")
        command = [sys.executable, "-m", "tests.support.told_server", str(told)]
        said = list(re.findall(r"\w{3,}", step["say"]))[:20] or ["page"]
        server = {"command": command, "words": said, "variables": ["PYTHONPATH"]}
        self.settings["tools.servers"] = {"lookup": server}
        self.environ["PYTHONPATH"] = os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])
        self._write_settings()

    def say(self, step: Mapping[str, Any]) -> None:
        """Say something, with the files that go with it."""
        speaker = step.get("as", "owner")
        speaker = GUEST if speaker == "guest" else speaker
        words_ = [] if speaker == "owner" else ["--as", speaker]
        company = step.get("with")
        if company:
            words_ += ["--with", company if isinstance(company, str) else ",".join(company)]
        if step.get("new_session"):
            words_ += ["--new-session"]
        text = " ".join((step["say"], *(f"@{name}" for name in self.attached)))
        self.attached = []
        self.run(OWNER if speaker == "owner" else speaker, "say", "chat", *words_, "--", text)

    def command(self, words_: list[str]) -> None:
        """Run a command of the owner's; what is for somebody else is read by them."""
        pairs = pairwise(words_)
        to = next((value for option, value in pairs if option in ("--as", "--for")), OWNER)
        self.run(to, "command", *words_)

    def run(self, to: str, kind: str, *argv: str) -> None:
        """Run a command, and note what it printed and asked."""
        self.now += MINUTE
        asked = len(self.obeys.asked) if self.obeys else 0
        if self.process:
            code, out, err = _in_process(self.environ, self.root, self.now, argv)
        else:
            code, out, err = _here(self.environ, self.root, self.now, argv, self.rng)
        self.played.heard.append(Heard(to, out, err, code, kind, argv))
        if self.obeys and kind == "say":
            self.played.asked += [(to, "\n".join(one)) for one in self.obeys.asked[asked:]]


def _merged(place: Path, content: str) -> None:
    """Add to a YAML file what another has, as far as it can be read."""
    yaml = YAML()
    try:
        there, new = yaml.load(place.read_text("utf-8")), yaml.load(content)
        _merge(there, new)
    except YAMLError:
        place.write_text(place.read_text("utf-8") + content, "utf-8")
        return
    with place.open("w", encoding="utf-8") as stream:
        yaml.dump(there, stream)


def _merge(there: Any, new: Any) -> None:
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(there.get(key), dict):
            _merge(there[key], value)
        elif key not in ("name", "owner"):  # bumble's own have another form
            there[key] = value


def _git(folder: Path, *words_: str) -> None:
    own = ("-c", "user.name=Sam", "-c", "user.email=sam@example.org")
    subprocess.run(["git", *own, *words_], cwd=folder, capture_output=True, check=False)


def _here(
    environ: Mapping[str, str], root: Path, now: datetime, argv: Sequence[str], rng: random.Random
) -> tuple[int, str, str]:
    shell = Shell(environ, root, now_given=now, rng=rng)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["-e", str(root), *argv], shell)
    return code, out.getvalue(), err.getvalue()


def _effective(root: Path) -> str:
    """Return the settings that are in effect."""
    environ = {"PATH": os.environ.get("PATH", "")}
    _, out, _ = _here(environ, root, BEGIN, ("config", "show", "--json"), random.Random(1))
    return out


def _in_process(
    environ: Mapping[str, str], root: Path, now: datetime, argv: Sequence[str]
) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "bumble", "-e", str(root), *_at(now, argv)]
    done = subprocess.run(
        command,
        env={**environ, "PYTHONUTF8": "1"},
        cwd=root,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    out, err = (part.decode("utf-8", "replace") for part in (done.stdout, done.stderr))
    return done.returncode, out, err


def _at(now: datetime, argv: Sequence[str]) -> list[str]:
    """Say the time to a command that takes it."""
    head, *rest = argv
    return (
        [head, "--now", now.isoformat(), *rest] if head in ("chat", "tick", "distill") else [*argv]
    )
