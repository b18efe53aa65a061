"""Every call of git: which commands, settings, time limit; never rewrites history.

An entity's folder may come from anywhere, and its repository with it. So git is told where the
repository lies, which keeps it from taking the folder itself for one; it must belong to this user,
or the user must have told git that it may be used; and no program runs that only the repository's
own config names, unless the folder is trusted. Works, by doing nothing, where git is not installed.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import takewhile
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.errors import FULL, HistoryUnreadableError
from bumble.files import gitdir

TIMEOUT_SECONDS = 30
NETWORK_TIMEOUT_SECONDS = 300
SILENCE_SECONDS = 30  # of another machine
GRACE_SECONDS = 2  # to end in
LOOK_SECONDS = 0.2  # whether it has said something
PROTOCOLS = "file:git:http:https:ssh"  # of addresses; `ext::` would be a program
NOT_INSTALLED = 127  # as a shell says it
REFUSED = 128  # as git ends where it will not begin
_PROGRESS = patterns.compile(  # what git tells of how far it is
    r"remote: \w+ing objects:|remote: Total |\w+ing (objects|deltas): |(From|To) | [*+!=-] |   \w"
)
MAX_NAMES = 500  # of files, on one command line
NOWHERE = "0" * 40  # the name of no object
# Set where git runs us, as it does in a hook: they would point our own calls elsewhere.
FOREIGN = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_CONFIG",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INTERNAL_SUPER_PREFIX",
)
# What comes is looked at: no tree that names `..` or `.git`; and what drips is no answer.
REMOTE = (
    *("-c", "fetch.fsckObjects=true", "-c", "http.lowSpeedLimit=1"),
    *("-c", f"http.lowSpeedTime={SILENCE_SECONDS}"),
)
# Programs that a repository's config may name for any command of ours, none of which is needed.
OFF = {
    "core.quotePath": "false",
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "safe.bareRepository": "explicit",
    "log.showSignature": "false",
    "tag.gpgSign": "false",  # by its program, and with a message, by its editor
    # what users never want kept is meant for their own work, not for what an entity remembers
    "core.excludesFile": os.devnull,
}
# The same, where it takes an option of the command.
SHUT = {
    "diff": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
    "log": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
    "status": ("--ignore-submodules=all",),  # git would look into them by their own config
}
READS_FILES = frozenset(
    ("add", "commit", "diff", "status", "merge", "reset", "checkout-index", "hash-object")
)  # by filters, where there are some
MOVES_BRANCHES = frozenset(("fast-import", "branch"))  # which a hook may be told of
NO_FILTER = ("unspecified", "unset", "set")
NAMING = (b"filter", b"include", b"hook", b"lfs")  # in what else names programs for these
OWNERS_OWN = ("system", "global", "command")  # the scopes of settings that came with no folder
# Ends of settings that name a program, a file to write, or send git elsewhere, where it reaches out
# or merges.
REACHING = (
    *(".uploadpack", ".receivepack", ".vcs", ".proxy", ".helper", ".insteadof", ".pushinsteadof"),
    *("core.sshcommand", "core.gitproxy", "core.askpass", "ssh.variant", ".driver", ".path"),
    *("core.alternaterefscommand", ".savecookies", ".bundleuri"),
)
LFS_PROGRAMS = ("lfs.extension.", "lfs.customtransfer.", "lfs.standalonetransferagent")


class GitResult(Struct, frozen=True):
    """What a git command left behind."""

    code: int
    out: bytes
    err: str
    killed: bool = False  # it took too long, or somebody killed it

    @property
    def text(self) -> str:
        """What it printed."""
        return self.out.decode(errors="surrogateescape")

    @property
    def why(self) -> str:
        """The first line of what it complained of, that is no mere warning if it can be."""
        lines = self.err.strip().splitlines() or [f"git ended with {_told(self.code)}"]
        errors = (line for line in lines if not line.startswith("warning: "))
        why = next(errors, lines[0]).removeprefix("fatal: ").removeprefix("error: ")
        return FULL if why.startswith(_NO_MESSAGE) else why


# Each commit has a message: where git finds none, it had no room to write it.
_NO_MESSAGE = "Aborting commit due to empty commit message"


def _told(code: int) -> str:
    """Name an exit code, and the signal that ended a process."""
    try:
        return f"code {code}" if code >= 0 else signal.Signals(-code).name
    except ValueError:  # a signal without a name
        return f"code {code}"


class Holding(Struct):
    """What the gits that are started hold open as long as they live."""

    descriptor: int | None = None
    killed: bool = False  # one of them took too long, or somebody killed it


_holding: ContextVar[Holding | None] = ContextVar("holding", default=None)


@contextmanager
def holding(descriptor: int) -> Iterator[Holding]:
    """Have every git that is started meanwhile, and all that it starts, hold a file open."""
    held = Holding(descriptor)
    token = _holding.set(held)
    try:
        yield held
    finally:
        _holding.reset(token)


class Programs(Struct, frozen=True):
    """The programs that git's settings name, as far as a command of ours could run them."""

    owners: frozenset[str] = frozenset()  # filters that the system or the user has set up
    aside: frozenset[str] = frozenset()  # filters that only this repository names
    hooks: frozenset[str] = frozenset()  # likewise, by git's newer way to name them
    collects: bool = False  # whether tidying up would run one

    @property
    def options(self) -> tuple[str, ...]:
        """What sets aside those that came with the repository."""
        off: dict[str, str] = {}
        for name in sorted(self.aside):
            off |= {f"filter.{name}.{key}": "" for key in ("clean", "smudge", "process")}
            off[f"filter.{name}.required"] = "false"
        for name in sorted(self.hooks):
            off |= {f"hook.{name}.enabled": "false", f"hook.{name}.command": "true"}
        if self.collects:
            off |= {"gc.auto": "0", "maintenance.auto": "false"}
        return _settings(off)


class Git(Struct, frozen=True, dict=True):
    """git in one repository, for the time of one change or question."""

    repository: gitdir.Repository
    trusted: bool = False  # whether programs that its own config names may run

    def call(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        environ: Mapping[str, str] | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        silence_seconds: float | None = None,
    ) -> GitResult:
        """Run git in the entity's folder.

        No hooks run, nothing is signed, fetched or asked: bumble may be called by cron.

        Args:
            arguments: The command and its options.
            stdin: Its standard input.
            environ: Variables to add to those of this process.
            timeout_seconds: After which git is killed.
            silence_seconds: After which git is ended, if it says nothing.
        """
        if self.closed:
            return GitResult(REFUSED, b"", self.closed)
        options = self._named
        if not (READS_FILES | MOVES_BRANCHES).isdisjoint(arguments):
            if self.programs is None:
                why = "the repository's own config can't be read, or names a program oddly"
                return GitResult(REFUSED, b"", why)
            options += self.programs.options
        return _start(
            self.repository.folder,
            (*options, *_shut(arguments)),
            stdin=stdin,
            environ=environ,
            timeout_seconds=timeout_seconds,
            silence_seconds=silence_seconds,
        )

    def reach(self, *arguments: str) -> GitResult:
        """Run a git command that reaches another machine; git asks for no password.

        Where nothing comes from there for `SILENCE_SECONDS`, it is ended and says so.
        """
        command, *rest = arguments
        told = () if command == "ls-remote" else ("--progress",)  # so that all that comes shows
        result = self.call(
            *REMOTE,
            *(command, *told, *rest),
            environ={"GIT_ALLOW_PROTOCOL": PROTOCOLS},
            timeout_seconds=NETWORK_TIMEOUT_SECONDS,
            silence_seconds=SILENCE_SECONDS,
        )
        lines = [line for line in result.err.splitlines() if line and not _PROGRESS.match(line)]
        return replace(result, err="\n".join(lines))

    def reaching_programs(self, *, but: str = "") -> list[str]:
        """Return the settings of the repository's own that git would obey when it reaches out.

        Args:
            but: One that is ours.
        """
        code, pairs = self._settings()
        its = {key for scope, key in pairs if scope not in OWNERS_OWN and key != but}
        unread = [] if code == 0 else ["its config, which can't be read"]
        return unread + sorted(
            key for key in its if key.endswith(REACHING) or key.startswith("include")
        )

    def _settings(self) -> tuple[int, list[tuple[str, str]]]:
        """Return how listing its settings ended, and the scope and name of each."""
        listing = ("config", "--list", "--show-scope", "--name-only", "-z")
        result = _start(self.repository.folder, (*self._named, *listing))
        rows = result.text.split("\0")
        return result.code, list(zip(rows[::2], rows[1::2], strict=False))

    @property
    def _named(self) -> tuple[str, ...]:
        """Tell git where the repository lies.

        Where files have no owner that we could see, git has to find it, to look at that itself.
        """
        if os.name != "posix":
            return ()
        return f"--git-dir={self.repository.private}", f"--work-tree={self.repository.top}"

    @functools.cached_property
    def foreign(self) -> Path | None:
        """What belongs to somebody else, so that nothing may be read; None if nothing does.

        git looks at this as well, but not where it is told where the repository lies.
        """
        if os.name != "posix":
            return None
        place = self.repository.foreign(os.environ)
        return None if place is None or _is_safe(self.repository.top) else place

    @functools.cached_property
    def trap(self) -> Path | None:
        """A pipe or a device where git reads a file, so that it would not come back."""
        return self.repository.trap()

    @property
    def closed(self) -> str:
        """Why nothing of it may be read; empty if it may."""
        if self.foreign:
            return f"{self.foreign} belongs to somebody else; if you trust it: {self.advice}"
        return f"{self.trap} is no plain file; git would wait for it" if self.trap else ""

    @property
    def unsafe(self) -> str:
        """Why bumble writes nothing to it; empty if it does."""
        return self.closed or ("" if self.trusted else self.outside_repository)

    @property
    def advice(self) -> str:
        """The command that tells git that somebody else's repository may be used."""
        top = shlex.quote(str(self.repository.top))
        return f"`git config --global --add safe.directory {top}`"

    @functools.cached_property
    def programs(self) -> Programs | None:
        """The programs that its settings name; None if they can't be told or be set aside."""
        if self.trusted or not self.repository.settings_mention(NAMING):
            return Programs()
        return self._listed()

    def _listed(self) -> Programs | None:
        code, pairs = self._settings()
        its = [key for scope, key in pairs if scope not in OWNERS_OWN]
        aside = _filters(its)
        if any(key.startswith(LFS_PROGRAMS) for key in its):
            aside |= {"lfs"}  # the owner's git-lfs would run them
        hooks = {key.split(".", 1)[1].rpartition(".")[0] for key in its if key.startswith("hook.")}
        if code != 0 or any("=" in name for name in (*aside, *hooks)):
            return None  # git takes a name with that sign from no command line
        owners = _filters([key for scope, key in pairs if scope in OWNERS_OWN])
        return Programs(owners - aside, aside, frozenset(hooks), "gc.recentobjectshook" in its)

    def unfiltered(self, paths: Sequence[str]) -> tuple[str, str] | None:
        """Return a path that needs a filter which may not run or is not there, and its name.

        Raises:
            ValueError: If git can't tell.
        """
        if self.programs is None or not paths:
            return None
        named = self.repository.attributes_mention(paths, (b"filter",))
        if not named and not self.programs.aside:
            return None
        needs = self.filtered(paths)
        if not needs:
            return None
        listed = self._listed() or Programs()
        usable = listed.owners | listed.aside if self.trusted else listed.owners
        return next(((path, name) for path, name in needs if name not in usable), None)

    def filtered(self, paths: Sequence[str]) -> list[tuple[str, str]]:
        """Return those of some paths that git stores by a filter, each with its name.

        Raises:
            ValueError: If git can't tell.
        """
        result = self.call("check-attr", "-z", "--stdin", "filter", stdin=listed(paths))
        if result.code != 0:
            raise ValueError(f"git can't tell which filters its files go through: {result.why}")
        rows = result.text.split("\0")
        pairs = zip(rows[::3], rows[2::3], strict=False)
        return [(path, name) for path, name in pairs if name not in NO_FILTER]

    @property
    def strays(self) -> Path | None:
        """Where `.git` leads to something of somebody's that does not know of this folder.

        A worktree and a submodule lead elsewhere, too, and what is there names them.
        """
        place = self.repository
        if self.trap:
            return None
        if not (place.private.is_relative_to(place.top) or place.is_worktree):
            file = str(place.private / "config")
            asked = ("config", "--file", file, "--no-includes", "core.worktree")
            result = _start(place.top, asked, alone=True)
            back = os.path.realpath(place.private / result.text.rstrip("\n"))
            if result.code != 0 or back != str(place.top):
                return place.private
        return place.way_out

    @property
    def outside_repository(self) -> str:
        """Say where a commit would write, were that not this folder's own; empty if nowhere."""
        place = self.strays
        if place is None:
            return ""
        if place != self.repository.private and place.is_relative_to(self.repository.private):
            return f"git would write to {place}, which has another name elsewhere"
        return f"`.git` leads to {place}, which does not know of this folder"


def _filters(keys: Sequence[str]) -> frozenset[str]:
    """Return the names of the filters that some settings name a program for."""
    inner = (key.removeprefix("filter.") for key in keys if key.startswith("filter."))
    split = (key.rpartition(".") for key in inner)
    return frozenset(name for name, _, key in split if key in ("clean", "smudge", "process"))


def _is_safe(top: Path) -> bool:
    """Whether the user has told git that a repository of somebody else's may be used."""
    asked = ("config", "--type=path", "-z", "--get-all", "safe.directory")
    result = _start(top, asked, alone=True)  # what the repository says of itself does not count
    # an empty value takes back all before
    return any(
        value == "*"
        or (value.endswith("/*") and top.is_relative_to(value[:-2]))
        or os.path.realpath(value) == str(top)
        for value in takewhile(bool, reversed(result.text.split("\0")[:-1]))
    )


def _shut(arguments: Sequence[str]) -> tuple[str, ...]:
    """Give a command the options that keep it from running programs."""
    command = next((word for word in arguments if not word.startswith("-")), "")
    at = arguments.index(command) + 1 if command else 0
    return (*arguments[:at], *SHUT.get(command, ()), *arguments[at:])


def _settings(values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word for key, value in values.items() for word in ("-c", f"{key}={value}"))


def _start(
    folder: Path,
    arguments: Sequence[str],
    *,
    stdin: bytes | None = None,
    environ: Mapping[str, str] | None = None,
    alone: bool = False,
    timeout_seconds: float = TIMEOUT_SECONDS,
    silence_seconds: float | None = None,
) -> GitResult:
    """Run git in a folder; alone, it takes no notice of the repository that lies in.

    Args:
        folder: Where.
        arguments: The command and its options.
        stdin: Its standard input.
        environ: Variables to add to those of this process.
        alone: Whether no repository counts.
        timeout_seconds: After which git is killed.
        silence_seconds: After which git is ended, if it says nothing; it is to tell how far it is.
    """
    around = {key: value for key, value in os.environ.items() if key not in FOREIGN}
    # unless a caller reaches out, no address and no program of a remote counts
    around |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": ""}
    if alone:
        around["GIT_DIR"] = os.devnull
    command = ["git", "-C", str(folder), "--no-pager", *_settings(OFF), *arguments]
    held = _holding.get() or Holding()
    kept = () if held.descriptor is None else (held.descriptor,)
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=around | dict(environ or {}),
            pass_fds=kept if os.name == "posix" else (),
            start_new_session=silence_seconds is not None,
        ) as process:
            try:
                if silence_seconds is None:
                    out, err = process.communicate(stdin, timeout=timeout_seconds)
                else:
                    out, err = _watched(process, timeout_seconds, silence_seconds)
            except BaseException:
                _end(process)
                raise
    except FileNotFoundError as error:
        return GitResult(NOT_INSTALLED, b"", str(error))
    except subprocess.TimeoutExpired as error:
        held.killed = True
        what = "nothing came for" if error.timeout == silence_seconds else "git took longer than"
        return GitResult(1, b"", f"{what} {error.timeout:g} s", killed=True)
    except OSError as error:
        return GitResult(1, b"", str(error))
    killed = process.returncode < 0  # by somebody
    held.killed = held.killed or killed
    return GitResult(process.returncode, out, err.decode(errors="replace"), killed)


def _watched(
    process: subprocess.Popen[bytes], timeout_seconds: float, silence_seconds: float
) -> tuple[bytes, bytes]:
    """Read what git says as long as it says something; on Windows that shows only at its end.

    Raises:
        TimeoutExpired: If it is silent, or goes on, for too long; its timeout says which.
    """
    began = heard = time.monotonic()
    said = 0
    while True:
        try:
            return process.communicate(timeout=LOOK_SECONDS)
        except subprocess.TimeoutExpired as error:
            before, said = said, len(error.output or b"") + len(error.stderr or b"")
            now = time.monotonic()
            heard = now if said > before or os.name != "posix" else heard
            for since, limit in ((heard, silence_seconds), (began, timeout_seconds)):
                if now - since >= limit:
                    raise subprocess.TimeoutExpired(process.args, limit) from None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git, and what it has started where that is a group of its own: politely, then not.

    Asked to end, git takes its locks away. What it started to reach out would hold our pipes open.
    """
    try:
        group = os.getpgid(process.pid) if os.name == "posix" else 0
    except ProcessLookupError:
        return
    is_own = group == process.pid
    for number in (signal.SIGTERM, signal.SIGKILL if os.name == "posix" else signal.SIGTERM):
        with suppress(OSError):
            os.killpg(group, number) if is_own else process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=GRACE_SECONDS)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def at(folder: Path, *, trusted: bool = False) -> Git | None:
    """Return git in the repository that a folder lies in; None where it lies in none."""
    repository = gitdir.find(folder)
    return None if repository is None else Git(repository, trusted)


def call(folder: Path, *arguments: str, stdin: bytes | None = None) -> GitResult:
    """Run git in the repository that a folder lies in; no program that came with it runs."""
    place = at(folder)
    if place is None:
        return GitResult(REFUSED, b"", f"{folder} is in no git repository")
    return place.call(*arguments, stdin=stdin)


def tracked(folder: Path, *below: str) -> dict[str, str]:
    """Return the files at or below some paths that git keeps, each with its hash.

    Runs git only if need be.

    Args:
        folder: Where; paths are relative to it.
        below: The paths, in plain letters.
    """
    place = at(folder)
    if place is None or not _names(place.repository.private / "index", below):
        return {}
    result = place.call("--literal-pathspecs", "ls-files", "--stage", "-z", "--", *below)
    rows = (row.partition("\t") for row in result.text.split("\0") if row and result.code == 0)
    return {path: about.split(" ")[1] for about, _, path in rows}


def unchanged(folder: Path, *below: str) -> list[Path]:
    """Return the files at or below some paths that are as git brought them, byte for byte."""
    return [
        folder / path
        for path, name in tracked(folder, *below).items()
        if name in _object_names(folder / path)
    ]


def _object_names(path: Path) -> tuple[str, ...]:
    """Return what git may call the content of a file, by either of its hashes; no filter runs."""
    data = gitdir.content(path)
    if data is None:
        return ()
    data = b"blob %d\0" % len(data) + data
    ways = ("sha1", "sha256")  # git's own choice
    return tuple(hashlib.new(way, data, usedforsecurity=False).hexdigest() for way in ways)


def _names(index: Path, texts: Iterable[str]) -> bool:
    """Whether the index may name a path that holds a text: one that does not spell names may."""
    data = gitdir.content(index)
    if data is None:
        return False
    is_short = data[4:8] == b"\0\0\0\4" or b"link" in data
    return is_short or any(text.encode() in data for text in texts)


def listed(names: Iterable[str], end: str = "\0") -> bytes:
    """Return names as git reads them from its standard input."""
    return "".join(f"{name}{end}" for name in names).encode(errors="surrogateescape")


def run(folder: Path, *arguments: str) -> str | None:
    """Run git in a folder; None if it is not installed, fails, or takes too long."""
    result = call(folder, *arguments)
    return result.out.decode(errors="replace") if result.code == 0 else None


def answer(folder: Path, *arguments: str) -> str:
    """Run git in a folder, and return what it printed.

    Raises:
        HistoryUnreadableError: If it gives up.
    """
    result = call(folder, *arguments)
    if result.code != 0:
        raise HistoryUnreadableError(folder, result.why)
    return result.text


def ask_as_anybody(address: str) -> GitResult:
    """Ask a repository on the web for its branches, without any key or setting of the user."""
    nowhere = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"), os.devnull)
    asks_nobody = {"GIT_ASKPASS": "true", "GIT_ALLOW_PROTOCOL": "http:https"}
    return _start(
        Path(tempfile.gettempdir()),
        (*REMOTE, "-c", "credential.helper=", "ls-remote", "--quiet", address),
        environ={**nowhere, **asks_nobody, "GIT_CEILING_DIRECTORIES": tempfile.gettempdir()},
        timeout_seconds=SILENCE_SECONDS,
        silence_seconds=SILENCE_SECONDS,
    )


def installed() -> bool:
    """Whether there is a git to run."""
    return _start(Path(os.sep), ("--version",), alone=True).code == 0


def user_name() -> str:
    """Return what the user has told git they are called; empty where they have not."""
    return _start(Path(os.sep), ("config", "--get", "user.name"), alone=True).text.strip()


def init(folder: Path, branch: str = "main", *, bare: bool = False) -> bool:
    """Make a folder a repository of its own, or one to push to; whether that worked."""
    kind = ("--bare",) if bare else ()
    return _start(folder, ("init", "--quiet", *kind, f"--initial-branch={branch}")).code == 0


def merge_file(folder: Path, *arguments: str) -> GitResult:
    """Merge three files of a folder, whatever that lies in; the first becomes the result."""
    return _start(folder, ("merge-file", *arguments), alone=True)


def blobs(folder: Path, names: Sequence[str]) -> list[bytes | None]:
    """Return the bytes of objects, `<commit>:./<path>` say; None for each that is not there.

    Raises:
        HistoryUnreadableError: If git gives up, as it does in a clone that left objects behind.
    """
    asked = (NOWHERE if "\n" in name else name for name in names)  # git reads one a line
    result = call(folder, "cat-file", "--batch", stdin=listed(asked, "\n"))
    if result.code != 0:
        raise HistoryUnreadableError(folder, result.why)
    contents, at = list[bytes | None](), 0
    for _ in names:
        end = result.out.find(b"\n", at)
        head = result.out[at:end].split(b" ")
        at = end + 1
        if len(head) < 3 or not head[-1].isdigit() or head[-2] != b"blob":
            contents.append(None)
            continue
        size = int(head[-1])
        contents.append(result.out[at : at + size])
        at += size + 1
    _check_absent(
        folder, [name for name, data in zip(names, contents, strict=True) if data is None]
    )
    return contents


def _check_absent(folder: Path, names: Sequence[str]) -> None:
    """Make sure that objects are in no tree: what is missing must not count as never written.

    Raises:
        HistoryUnreadableError: If a commit names one, or what it names can't be read.
    """
    paths: dict[str, list[str]] = {}
    for name in names:
        commit, _, path = name.partition(":")
        if commit != NOWHERE and "\n" not in name:
            paths.setdefault(commit, []).append(path)
    for commit, inner in paths.items():
        for start in range(0, len(inner), MAX_NAMES):
            some = inner[start : start + MAX_NAMES]
            result = call(folder, "ls-tree", "-z", commit, "--", *some)
            entries = (row.partition("\t") for row in result.text.split("\0"))
            lost = [path for about, _, path in entries if about.split(" ")[1:2] == ["blob"]]
            if result.code != 0 or lost:
                why = f"{lost[0]} of {commit[:7]} is missing" if lost else result.why
                raise HistoryUnreadableError(folder, why)
