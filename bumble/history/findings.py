"""The codes of doctor's findings: stable, with what each means and whether `--fix` mends it.

A finding names the file and the line where there is one, and the command that puts it right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct

from bumble.errors import UserError

Level = Literal["problem", "note"]  # problems make doctor end with exit code 12, notes don't


class Code(Struct, frozen=True):
    """One thing that can be found."""

    level: Level
    meaning: str  # for the docs, one sentence
    mends: bool = False  # whether `bumble doctor --fix` puts it right: derived or left over


CODES: dict[str, Code] = {
    # what people and models wrote
    "settings-invalid": Code(
        "problem", "entity.yaml, the user's config or the environment holds what is no setting."
    ),
    "settings-ignored": Code(
        "note", "entity.yaml makes a setting that counts only in a folder you trust."
    ),
    "record-invalid": Code("problem", "A file can't be read as the record it should hold."),
    "check-stopped": Code("problem", "Something wrong keeps a check from looking at all of it."),
    "record-twice": Code("problem", "Two files hold a record of one id."),
    "section-twice": Code("problem", "Two sections of knowledge.md have the same title."),
    "heading-undated": Code("note", "A heading of the diary names no day that is read."),
    "person-twice": Code("note", "Two portraits answer to the same name."),
    "conflict-marker": Code("problem", "A file still holds the two sides of a merge."),
    "clock-ahead": Code(
        "note", "A record is dated more than a day after the present: a clock was wrong."
    ),
    "schedule-invalid": Code("problem", "A reminder or automation has a schedule that is none."),
    "rule-elsewhere": Code(
        "note",
        "A rule came from elsewhere: it counts for nothing until you trust it.",
    ),
    "line-torn": Code("note", "The last line of a transcript was cut off; it is passed over."),
    "blob-missing": Code("problem", "A message refers to an original that is not there."),
    "blob-damaged": Code("problem", "An original's bytes are not those it is named for."),
    "forgotten-back": Code(
        "problem", "A merge or a copy brought back what was forgotten.", mends=True
    ),
    "secret-kept": Code("note", "A record holds what looks like a password, a key or a card."),
    "source-lost": Code(
        "note", "What said where a record comes from is gone: it is trusted least of all."
    ),
    "source-alone": Code(
        "note", "A file in sources/ belongs to no record: that went, or was renamed."
    ),
    "source-missing": Code("note", "A record rests on something that is not here any more."),
    "person-missing": Code(
        "note", "A record names somebody, or is for them, whom nothing else here knows."
    ),
    "trust-raised": Code("problem", "A record claims more trust than what it rests on."),
    "audience-wider": Code(
        "problem", "Somebody may meet a record who may not meet what it rests on: a privacy leak."
    ),
    "file-unread": Code("note", "A file lies in a store's folder where no store reads it."),
    "file-kept": Code("note", "What a cut-off change was to write lies beside your own edit."),
    # names, links, rights
    "name-clash": Code("problem", "Two names are one on a disk that does not tell case apart."),
    "name-unread": Code("problem", "A name is not UTF-8, so what it names is passed over."),
    "folder-unreadable": Code("problem", "A folder can't be listed."),
    "link-out": Code(
        "problem", "A link leads out of the folder, or nowhere; nothing is read there."
    ),
    # what bumble left, or derived
    "change-unfinished": Code("problem", "A change was cut off half written.", mends=True),
    "change-foreign": Code("problem", "Another installation left a change half done."),
    "change-tracked": Code("problem", "git brought a half-done change, of which nothing is used."),
    "change-unreadable": Code("problem", "The record of a cut-off change can't be read."),
    "file-stray": Code("problem", "A killed writer left a temporary file.", mends=True),
    "cache-stray": Code("note", "A killed writer left a temporary file in a cache.", mends=True),
    "lock-held": Code("note", "Another process is writing to the entity right now."),
    "index-unusable": Code(
        "note",
        "The search index is damaged, half made or of another version; the next search makes it.",
        mends=True,
    ),
    "index-server": Code("problem", "The server that the index is to stand on can't be used."),
    "index-role": Code(
        "note", "The role that reaches the index is one that row security doesn't hold."
    ),
    "index-orphans": Code("problem", "The index has rows that belong to no file.", mends=True),
    "index-missing": Code(
        "note", "There is no search index; the first search makes it.", mends=True
    ),
    "index-stale": Code("note", "Files have changed since the index last saw them.", mends=True),
    "index-vectors": Code(
        "note", "Passages have no vector, or one of another model than is set now.", mends=True
    ),
    # the machine
    "git-missing": Code("note", "git is not installed: the folder has no history."),
    "git-none": Code("note", "The folder is not in a git repository: it has no history."),
    "git-foreign": Code("note", "The git repository belongs to somebody else; it is not read."),
    "git-strays": Code(
        "note", "Its `.git` leads to a repository that does not know of the folder."
    ),
    "git-trap": Code("problem", "A pipe or a device lies where git reads a file."),
    "git-cut-off": Code(
        "problem", "git was cut off in the middle of what bumble began there.", mends=True
    ),
    "git-under-way": Code(
        "problem", "git is in the middle of what its owner began; nothing is committed until then."
    ),
    "git-uncommitted": Code(
        "note", "What bumble wrote is not committed yet: a kill or git kept it back.", mends=True
    ),
    "git-locked": Code("problem", "A lock of another git keeps commits back."),
    "git-ignores": Code("problem", ".gitignore does not name what is derived.", mends=True),
    "git-hides": Code("note", "git is told to ignore what an entity remembers."),
    "git-attributes": Code("note", ".gitattributes lacks lines that let clones merge.", mends=True),
    "git-driver": Code(
        "note", "git has not been told how to merge an entity's files by meaning.", mends=True
    ),
    "git-tracked": Code("problem", "git keeps files that are derived."),
}


class Finding(Struct, frozen=True):
    """One thing that was found."""

    code: str  # a key of CODES
    sentence: str  # what is wrong
    path: str = ""  # relative to the entity's folder; in full for files of the machine; or none
    line: int | None = None
    fix: str = ""  # the command that puts it right; empty: the sentence says what to do

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"`{self.code}` is no code of a finding")

    @property
    def level(self) -> Level:
        """Whether something is wrong, or only worth knowing."""
        return CODES[self.code].level

    @property
    def mends(self) -> bool:
        """Whether `bumble doctor --fix` puts it right."""
        return CODES[self.code].mends

    @property
    def where(self) -> str:
        """File and line, as editors take them."""
        return f"{self.path}:{self.line}" if self.line is not None else self.path


def guarded(check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Collect what a check finds; what keeps it from looking further is a finding itself."""
    found: list[Finding] = []
    try:
        for finding in check():
            found.append(finding)
    except (UserError, OSError) as error:
        found.append(Finding("check-stopped", str(error).splitlines()[0]))
    return found
