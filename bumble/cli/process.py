"""The process of a command: environment, folders of the user, clock, chance, children, signals."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count, takewhile
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from bumble.errors import UsageError
from bumble.text import moments

if TYPE_CHECKING:
    from bumble.models.weights.store import PullOptions

_ENDING = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
_SHELLS_BASE = 128  # shells tell of a signal by 128 and its number


class Stops:
    """What told this process to stop, and whether that may take effect right now.

    with stops.held():      # what is under way has to be kept: a signal is noted
        with stops.open():  # here it takes effect, by KeyboardInterrupt, a noted one at once;
            ...             # what comes while that is being kept is noted again
        ...
    stops.obey()            # or here
    """

    def __init__(self) -> None:
        self.received: int | None = None  # the signal, until it has taken effect
        self.ending: int | None = None  # the signal that ends the process, whatever it does yet
        # whether a signal is noted only; whether this is within `held`, in its `open` too
        self._is_held = self._is_within = False

    @property
    def exit_code(self) -> int | None:
        """The exit code of a process that was told to end."""
        return None if self.ending is None else _SHELLS_BASE + self.ending

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take the signals, but for those that the process was started to ignore (`nohup`)."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, *_ENDING)}
        handled = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
        try:
            for number in handled:
                signal.signal(number, self._take)
            yield
        finally:
            for number in handled:
                signal.signal(number, before[number] or signal.SIG_DFL)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if number in _ENDING:
            self.ending = number
        self.received = number
        if not self._is_held:
            self._strike()

    def _strike(self) -> None:
        """Let what was received take effect."""
        self._is_held = self._is_within  # once: what comes now must not break the keeping of it
        self.received = None
        raise KeyboardInterrupt

    @contextmanager
    def held(self) -> Iterator[None]:
        """Only note what comes, but for what `open` encloses; who holds it may hold it again."""
        before, self._is_within, self._is_held = self._is_within, True, True
        try:
            yield
        finally:
            self._is_within = self._is_held = before

    @contextmanager
    def open(self) -> Iterator[None]:
        """Let a signal take effect here, and one that came before."""
        self._is_held = False
        try:
            if self.received is not None:
                self._strike()
            yield
        finally:
            self._is_held = True

    def postpone(self) -> None:
        """Let what has taken effect do so again where it next may."""
        self.received = self.ending or signal.SIGINT

    def obey(self) -> None:
        """Let a signal take effect that came while it could not.

        Raises:
            KeyboardInterrupt: If there is one.
        """
        if self.received is not None or self.ending is not None:
            self.received = None
            raise KeyboardInterrupt


NICENESS = 10  # of what nobody waits for
# Accounts that systems, images and services come with.
ACCOUNTS_OF_NOBODY = frozenset(
    (
        *("root", "user", "users", "me", "admin", "administrator", "guest", "default", "nobody"),
        *("debian", "ubuntu", "centos", "fedora", "pi", "opc", "ec2-user", "azureuser", "vagrant"),
        *("docker", "runner", "runneradmin", "containeradministrator", "codespace", "gitpod"),
        *("vscode", "jovyan", "node", "app", "builder", "build", "ci", "test", "dev", "developer"),
    )
)


def user_folder(kind: str) -> Path:
    """Return the user's folder of a kind; works without HOME, as under cron."""
    from platformdirs import PlatformDirs  # few commands need it

    try:
        return Path(getattr(PlatformDirs("bumble", appauthor=False), f"user_{kind}_dir"))
    except RuntimeError:  # the system knows of no home: nothing is there, and nothing is written
        return Path("/nonexistent/bumble") / kind


class UserPlace:
    """A place in one of the user's folders."""

    def __init__(self, kind: str, name: str) -> None:
        self._kind, self._name = kind, name

    def __get__(self, shell: object, owner: object = None) -> Path:
        return user_folder(self._kind) / self._name


class Shell(Struct):
    """What a command may know of its surroundings."""

    environ: Mapping[str, str]
    cwd: Path
    entity: Path | None = None  # --entity in front of the command
    command: str = "bumble"  # what was called, for JSON
    json: bool = False  # --json somewhere in the arguments: errors are JSON too
    everything: bool = False  # --all: what others told in confidence is shown, too
    now_given: datetime | None = None  # --now; without an offset until an entity is open
    rng: random.Random = field(default_factory=random.Random)  # which the system seeds
    warnings: list[str] = field(default_factory=list)  # said on stderr, repeated in JSON
    entity_name: str | None = None  # known once an entity is open; part of JSON answers
    means: PullOptions | None = (
        None  # of pulls, once there was one: sources are asked once a process
    )
    seed: int | None = None  # --seed
    stops: Stops = field(default_factory=Stops)  # what told the process to stop
    spawn: Callable[[Sequence[str]], None] | None = None  # starts a process that goes on alone

    @classmethod
    def of_process(cls) -> Shell:
        """Read the surroundings of this process."""
        try:
            cwd = Path.cwd()
        except FileNotFoundError:  # the folder was removed under the shell
            cwd = Path(os.environ.get("PWD") or os.sep)
        return cls(environ=dict(os.environ), cwd=cwd, spawn=spawn_detached)

    def now(self) -> datetime:
        """The time, with the offset of this machine, or what --now said."""
        given = self.now_given
        return given if given and given.tzinfo else local(given or datetime.now(UTC))

    def set_now(self, text: str | None) -> None:
        """Take the time from --now."""
        if text is None:
            return
        try:
            at = self.now_given = datetime.fromisoformat(text)
        except ValueError:
            raise UsageError(f"--now {text}: not a time like 2026-05-24T03:12:47+02:00") from None
        if not moments.is_sane(at):
            raise UsageError(f"--now {text}: {moments.YEARS}")

    def set_seed(self, seed: int | None) -> None:
        """Take the random source from --seed."""
        if seed is not None:
            self.rng, self.seed = random.Random(seed), seed

    def path(self, typed: Path) -> Path:
        """Return the path that was typed, as seen from where the command runs."""
        from bumble.files import disk  # `--help` names no file

        return self.cwd / disk.expanded(typed)

    def real_path(self, typed: Path) -> Path:
        """Return where a path that was typed leads, through every link that leads anywhere."""
        return Path(os.path.realpath(self.path(typed)))

    user_file = UserPlace("config", "config.yaml")  # the user's own settings
    models_file = UserPlace("config", "models.yaml")  # the user's own entries of the catalog
    secrets_file = UserPlace("config", "secrets.yaml")  # the user's keys, readable by them only
    habits = UserPlace("cache", "endpoints.json")  # what endpoints of models take
    abilities = UserPlace("state", "abilities")  # what models were measured to be able to
    crash_logs = UserPlace("state", "crashes")  # tracebacks of bugs

    @property
    def weights(self) -> Path:
        """Where weights lie."""
        folder = self.environ.get("BUMBLE_WEIGHTS")
        return Path(folder) if folder else user_folder("cache") / "weights"

    def cache_of(self, what: str, root: Path) -> Path:
        """Return a part of the user's cache that one entity's folder has.

        Args:
            what: `prompts`, as the embedded engine evaluated them; `indexes`, of folders that may
                not be written; `past`, the folder as it was at earlier times.
            root: The entity's folder.
        """
        import hashlib  # `--help` opens no entity

        key = hashlib.sha256(str(root).encode(errors="surrogateescape")).hexdigest()[:16]
        return user_folder("cache") / what / key

    def own_caches(self, root: Path) -> tuple[Path, ...]:
        """Return what the user's cache holds of one entity and of no other."""
        return tuple(self.cache_of(what, root) for what in ("prompts", "indexes", "past"))

    @property
    def account_name(self) -> str:
        """What the account of the user says they are called; empty where it is nobody's own."""
        account = self.environ.get("USER") or self.environ.get("USERNAME") or ""
        if account.casefold() in ACCOUNTS_OF_NOBODY:
            return ""
        return account.capitalize() if account.islower() else account

    @property
    def interactive(self) -> bool:
        """Whether a person sits at both ends, so that a question makes sense."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    @property
    def asks(self) -> bool:
        """Whether a question may be asked: a program that reads --json is asked nothing."""
        return self.interactive and not self.json


def local(at: datetime) -> datetime:
    """Return a time with the offset of this machine; that of UTC where TZ names none there is."""
    try:
        return at.astimezone()
    except ValueError:  # TZ=UTC+25: no offset is a day or more
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def spawn_detached(arguments: Sequence[str]) -> None:
    """Start `bumble ARGUMENTS` as a process that outlives this one and hears nothing of its end.

    Modules are not looked for in the folder it runs in: an entity that came by clone may hold any.
    """
    detached: dict[str, Any] = {}
    if sys.platform == "win32":
        detached["creationflags"] = (
            subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        )
    started = subprocess.Popen(
        [sys.executable, "-P", "-m", "bumble", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **detached,
    )
    if sys.platform != "win32":
        make_nice(started.pid)


def make_nice(pid: int) -> None:
    """Have the leader of a session go behind what others wait for, as far as the system lets it.

    Where Linux groups by session, niceness counts among the processes of one session alone.
    """
    with suppress(OSError):  # it has ended already
        os.setpriority(os.PRIO_PROCESS, pid, NICENESS)
    with suppress(OSError):  # no such groups here, or one was changed within the last 0.1 s
        Path(f"/proc/{pid}/autogroup").write_text(str(NICENESS), "utf-8")


SET_DUMPABLE = 4  # of prctl(2)
LOADERS = b"LD_"  # the loader keeps pointers to these; there are no keys in them


def hide_environment() -> None:
    """Overwrite the environment this process was started with, and close its memory to others.

    Where the system is another, or refuses, everything stays as it is.
    """
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError, ValueError):
        libc = ctypes.CDLL(None)
        # root may still look; all others of the same user may not, nor is there a core dump
        libc.prctl(SET_DUMPABLE, 0, 0, 0, 0)
        entries = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
        before = _addresses(entries)
        texts = {address: ctypes.string_at(address) for address in before}
        for text in texts.values():
            name, _, value = text.partition(b"=")
            if name and not name.startswith(LOADERS):
                os.putenv(name, value)  # a copy elsewhere, which the list points to from now on
        for address in before - _addresses(entries):
            ctypes.memset(address, 0, len(texts[address]))


def _addresses(entries: Any) -> set[int]:
    """Return where the variables lie that a list of pointers names, which ends with none."""
    return set(takewhile(bool, map(entries.__getitem__, count())))
