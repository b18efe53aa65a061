"""Every error a user can act on: its sentence and its exit code.

The class owns the wording, the raise site passes the facts. Anything that is not a `UserError` is a
bug and keeps its traceback. The exit codes are the table in `docs/commands.md`.
"""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Sequence
from pathlib import Path


class UserError(Exception):
    """Something the user can act on: what is wrong, where, and what to do next."""

    exit_code = 1


class UsageError(UserError):
    """The command was called in a way it does not take."""

    exit_code = 2


class McpMissingError(UserError):
    """The library for the Model Context Protocol is an extra, and not there."""

    def __init__(self) -> None:
        super().__init__(
            "The library for the Model Context Protocol is not installed.\n"
            "Add it: pip install 'bumble-entity[mcp]'"
        )


class NotAnEntityError(UserError):
    """There is no entity where one was looked for."""

    exit_code = 10

    def __init__(self, place: Path, why: str = "it has no entity.yaml") -> None:
        super().__init__(
            f"{place} is not an entity folder: {why}\n"
            "Make one with `bumble new DIR`, or name one with --entity DIR or BUMBLE_ENTITY."
        )


class LockedError(UserError):
    """Another process is writing to the entity."""

    exit_code = 11

    def __init__(self, place: Path, waited_seconds: float) -> None:
        super().__init__(
            f"{place}: another process is writing to this entity (waited {waited_seconds:g} s)\n"
            "Try again, or wait longer with --lock-timeout SECONDS."
        )


class RecordInvalidError(UserError):
    """A file cannot be read as the record it should hold."""

    exit_code = 12
    advice = "Mend the file by hand; nothing has been written to it."

    def __init__(self, path: Path, problem: str, line: int | None = None) -> None:
        self.path, self.problem, self.line = path, problem, line
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {problem}\n{self.advice}")


class HalfMergedError(RecordInvalidError):
    """A file holds the two sides of a merge; nothing is taken from it until they are settled."""

    advice = (
        "`bumble doctor --fix`, or the next command that writes, settles what has one meaning. "
        "Settle the rest in an editor, and `git add` the file."
    )

    def __init__(self, path: Path, line: int) -> None:
        super().__init__(path, "the two sides of a merge stand here: keep one", line)


class DraftInvalidError(UserError):
    """What was written for a record cannot be read as one."""

    exit_code = 12

    def __init__(self, draft: str, problem: str, line: int | None, record: str) -> None:
        where = f"{draft}:{line}" if line is not None else draft
        super().__init__(
            f"{where}: {problem}\n"
            f"{record} was left as it is. Mend what you wrote, and give it back with --from FILE."
        )


class ImportInvalidError(UserError):
    """What is to be imported can't be read as any format that bumble knows."""

    exit_code = 12

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"{path}: {problem}\nNothing was imported. docs/imports.md says what can be."
        )


class BundleInvalidError(UserError):
    """An archive of an entity can't be opened with what was given, or is none."""

    exit_code = 12

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"{path}: {problem}\n`--from` takes what `bumble export --to bundle` made."
        )


class SettingInvalidError(UserError):
    """A setting has a name or a value that bumble does not take."""

    exit_code = 12

    def __init__(
        self, place: str, problem: str, advice: str = "See every setting with `bumble config show`."
    ) -> None:
        super().__init__(f"{place}: {problem}\n{advice}")


class FolderNewerError(SettingInvalidError):
    """A folder was made by a newer bumble, whose settings this one doesn't know."""

    def __init__(self, place: str, version: int, wanted: int) -> None:
        told = f"{place}: was made by a newer bumble (format {version}); this one reads {wanted}"
        UserError.__init__(self, f"{told}\nInstall that one on this machine.")


class FolderOutdatedError(SettingInvalidError):
    """A folder was made by an older bumble, and is not migrated yet."""

    def __init__(self, folder: Path, version: int, wanted: int) -> None:
        named = shlex.quote(str(folder))
        UserError.__init__(
            self,
            f"{folder}: is of format {version}; this bumble reads format {wanted}\n"
            f"`bumble migrate -e {named} --check` says what is to change, and without --check it "
            "is changed. What the folder was is kept.",
        )


class RefusedError(UserError):
    """The change would lose data or break a lock."""

    exit_code = 13


class FileChangedError(RefusedError):
    """A file has moved on since it was read for this change."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path}: somebody changed this file in the meantime; it was left as it is\n"
            "Nothing has been written. Run the command again."
        )


class MergeUnfinishedError(RefusedError):
    """git has left the two sides of a merge in some files, which are their owner's to settle."""

    def __init__(self, root: Path, paths: Sequence[str], back: str) -> None:
        git = f"git -C {shlex.quote(str(root))}"
        way_back = f"; `{git} {back}` takes it back" if back else ""
        super().__init__(
            f"{root}: a merge is open: both sides of it stand in {', '.join(paths)}\n"
            f"Keep one, `git add` the files, and run this again{way_back}."
        )


class SyncError(RefusedError):
    """The folder could not be brought together with its other clones."""

    def __init__(self, root: Path, why: str, advice: str) -> None:
        if is_full(why):
            why, advice = FULL, "Nothing was changed. Free some space, then run it again."
        super().__init__(f"{root} is not in step with its other clones: {why}\n{advice}")


class ReviewError(UserError):
    """What waits for its owner's word can't be put anywhere."""

    def __init__(self, root: Path, cycle: str, why: str, advice: str) -> None:
        super().__init__(
            f"{root}: {cycle} is to wait for review (git.review), and can't: {why}\n"
            f"Nothing was written. {advice}; or `bumble config set git.review '[]'`."
        )


class HistoryMissingError(UserError):
    """There is no history to look into."""

    def __init__(
        self,
        root: Path,
        why: str = "it is in no git repository",
        advice: str = "`git init` there begins one; bumble then commits what it writes.",
    ) -> None:
        super().__init__(f"{root} has no history: {why}\n{advice}")


class PastMissingError(UserError):
    """Nothing can be told of an earlier time."""

    def __init__(self, root: Path, why: str) -> None:
        super().__init__(f"{root}: nothing is there of that time: {why}")


class HistoryClosedError(UserError):
    """The history belongs to somebody else, and git has not been told that it may be used."""

    def __init__(self, root: Path, place: Path, advice: str) -> None:
        super().__init__(
            f"{root}: its history is not read, because {place} belongs to somebody else\n"
            f"If you trust who that is: {advice}"
        )


class HistoryUnreadableError(UserError):
    """git could not give what the history names."""

    exit_code = 12

    def __init__(self, root: Path, why: str) -> None:
        super().__init__(
            f"{root}: git can't read all of its history: {why}\n"
            "Nothing has been written. `git fsck` there says what is damaged or missing; bumble\n"
            "fetches nothing by itself."
        )


class RecordExistsError(RefusedError):
    """A new record would overwrite one that is there."""

    def __init__(
        self, path: Path, advice: str = "Choose another name, or edit the one that is there."
    ) -> None:
        super().__init__(f"{path}: already exists\n{advice}")


class RecordMissingError(UserError):
    """No record has the id or name that was asked for."""

    def __init__(self, what: str, name: str, nearest: str | None = None) -> None:
        self.what, self.nearest = what, nearest
        hint = f'\nDid you mean "{nearest}"?' if nearest else ""
        super().__init__(f'There is no {what} "{" ".join(name.split())}".{hint}')


class RecordUnclearError(UserError):
    """What was asked for may be any of several records."""

    def __init__(
        self, wanted: str, records: Sequence[str], advice: str = "Give more of it."
    ) -> None:
        shown = ", ".join([*records[:4], "…"][: len(records)])
        super().__init__(f'"{wanted}" could be {len(records)} records: {shown}\n{advice}')


class NameUnclearError(RefusedError):
    """A name is that of somebody known but for its marks: a guess could tell one the other's."""

    def __init__(self, name: str, known: str) -> None:
        self.name, self.known = name, known
        super().__init__(
            f"It is unclear who {name} is: {known}, or somebody else?\n"
            f"Say {known} if they are one; else introduce the other first: "
            f"`bumble person add {shlex.quote(name)} --yes`."
        )


class SectionLockedError(RefusedError):
    """A locked section of knowledge can't be changed this way."""

    def __init__(self, path: Path, title: str, line: int) -> None:
        super().__init__(
            f'{path}:{line}: the section "{title}" is locked\n'
            "It was left as it is. Its owner can change it with --force-locked."
        )


class UnsafePathError(RefusedError):
    """A name or path would lead out of the entity folder."""

    def __init__(self, path: str, why: str = "it leads out of the entity folder") -> None:
        super().__init__(f"{path!r}: {why}\nNothing has been read or written there.")


FULL = "the disk is full"
_FULL = (os.strerror(errno.ENOSPC), "disk is full", "Out of diskspace")  # also SQLite's, git's


def is_full(reason: str) -> bool:
    """Say whether a refusal, in whoever's words, is for want of space."""
    return any(words in reason for words in _FULL)


class FolderUnwritableError(UserError):
    """The operating system refused a write."""

    def __init__(self, path: Path, reason: str) -> None:
        told = FULL if is_full(reason) else reason
        super().__init__(
            f"{path}: could not be written: {told}\n"
            "What was there before is untouched. Check free space and permissions; run it again."
        )


class FileClosedError(UserError):
    """The operating system opened no file or folder there, or something else lies in its place."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{path}: can't be opened: {reason}\n"
            "Nothing has been written there. Check whose it is and its permissions; run it again."
        )


class ChangeUnfinishedError(FolderUnwritableError):
    """The operating system refused a write when part of a change was in place already."""

    def __init__(self, root: Path, reason: str) -> None:
        UserError.__init__(
            self,
            f"{reason.splitlines()[0]}\n"
            "Part of the change may be in place; the rest is kept in .bumble/intents, and the "
            f"next command finishes it.\nCheck free space and permissions in {root}.",
        )


class ModelUnreachableError(UserError):
    """No model answered."""

    exit_code = 20


class AnswerInvalidError(UserError):
    """A model answered with something that cannot be used; `answer` keeps it as it came."""

    exit_code = 21

    def __init__(self, problem: str, answer: str = "") -> None:
        self.answer = answer
        super().__init__(problem)


class BudgetSpentError(UserError):
    """What may be spent has been: calls, tokens, the account's credit, or a model's window."""

    exit_code = 22


class LimitReachedError(BudgetSpentError):
    """A limit that the owner has set has been reached: what waits goes on when it is over."""


class CredentialsError(UserError):
    """A service wants a key that is missing or wrong."""

    exit_code = 23


class IndexUnusableError(UserError):
    """The search index can't be used as it is."""

    exit_code = 30

    def __init__(self, path: Path | str, problem: str) -> None:
        super().__init__(
            f"{path}: {problem}\n"
            "The index is derived from the files: `bumble index --rebuild` makes it anew."
        )


class IndexDamagedError(IndexUnusableError):
    """The search index holds what nobody wrote; made anew it can be used."""


class IndexServerError(UserError):
    """The server that the index stands on does not answer, or does not do what it is asked."""

    exit_code = 31

    def __init__(self, address: str, problem: str, advice: str = "") -> None:
        super().__init__(
            f"{address}: {problem}\n"
            + (
                advice
                or "The files are whole, and nothing is lost. Try again when the server is back, or"
                " set `index.fallback: local` in your own config: the folder's own index then"
                " stands in."
            )
        )


class PostgresMissingError(IndexServerError):
    """What talks to Postgres is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "index.url",
            "the index is to stand in Postgres, and nothing here can talk to it",
            "Add it: pip install 'bumble-entity[postgres]'",
        )


class WeightsMissingError(UserError):
    """The weights of a model are not on this machine, or are not what they should be."""

    exit_code = 20


class EngineMissingError(WeightsMissingError):
    """The engine that runs models in this process can't be opened, so weights are of no use."""
