"""The knowledge file: durable facts, a `##` section each, some locked against the entity.

One file, `knowledge.md`. A title that starts with `[locked]` marks a section only the owner may
change; titles are compared after the marker, without case, spaces, hyphens or Markdown marks, so
that no other spelling can shadow a locked one. Where a text comes from stands in an HTML comment
under its heading, in the whole of the file. Knows nothing of models or search.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from functools import partial
from pathlib import Path

from msgspec import Struct, structs

from bumble import patterns
from bumble.entity import changes, companions
from bumble.errors import (
    HalfMergedError,
    RecordInvalidError,
    RecordMissingError,
    RefusedError,
    SectionLockedError,
    UsageError,
)
from bumble.files import disk
from bumble.records import base, fields, kind
from bumble.records.provenance import (
    harmless,
    is_untrusted,
    lines_in,
    origin_comment,
    split_origin,
    within,
)
from bumble.text import markdown, merge_marks, stop_words, tokens, words

WHOLE_TOKENS = 400  # of what is known, that stands in a prompt however far it is
RECALLED_SECTIONS = 3  # for one message
EVERYDAY = (1000, 200)  # commonest words of a language: of a title's, and where it has no other
PATH = "knowledge.md"
MARKER = "[locked]"
NARROWED = f"of {PATH} was for everybody, and is only for some now"
_UNSURE = "\N{OBJECT REPLACEMENT CHARACTER}"  # in the place of what is half merged
_BEGINS = patterns.compile(
    r"(?m)^ {0,3}(?:#|<!--|```|~~~|---|={1,6}\s*$|={8})"
)  # a section, or what may hide one
_MARK = patterns.compile(r"\s*\\?\[\s*locked\s*\\?\]\s*", re.IGNORECASE)


class KnowledgeSection(markdown.Section, frozen=True, kw_only=True):
    """One fact, or a few that belong together; its title is without the marker."""

    locked: bool
    text: str  # Markdown, without the heading, the comment and surrounding blank lines
    provenance: base.Provenance


class Knowledge(Struct, frozen=True):
    """The file as it stands."""

    preamble: str  # what stands before the first section, front matter included
    sections: tuple[KnowledgeSection, ...]
    source: str | None  # the text of the file; None: there was none


def parse(source: str, stem: str = "") -> Knowledge:
    """Read the sections of the file; preamble and sections joined give the same bytes back.

    Raises:
        SourceError: If front matter or a provenance comment can't be read.
    """
    document = markdown.parse_parts(source)
    preamble, found = markdown.sections(source[document.body_start :])
    above, sections = document.body_line - 1, list[KnowledgeSection]()
    for one in found:
        title, locked = unmarked(one.title)
        origin, text = split_origin(one.own)
        sections.append(
            KnowledgeSection(
                title=title,
                locked=locked,
                text=markdown.trimmed(text),
                provenance=origin,
                line=one.line + above,
                source=one.source,
                heading=one.heading,
                tail=one.tail,
            )
        )
        above -= lines_in(one.source)
    return Knowledge(source[: document.body_start] + preamble, tuple(sections), source)


def changed_locked(before: Knowledge, after: Knowledge) -> tuple[str, ...]:
    """Return the titles of locked sections that don't read as they did, or are gone."""
    was, now = (
        {section.title: _plain(section.text) for section in book.sections if section.locked}
        for book in (before, after)
    )
    return tuple(title for title, lines in was.items() if now.get(title) != lines)


def narrowed(before: Knowledge, after: Knowledge) -> tuple[str, ...]:
    """Return the titles of sections that were for everybody, and are for some people alone."""
    was = {section.title for section in before.sections if not section.provenance.audience}
    return tuple(
        section.title
        for section in after.sections
        if section.provenance.audience and section.title in was
    )


def unmarked(title: str) -> tuple[str, bool]:
    """Split a title into what it says and whether it carries the marker of a locked section."""
    said, mark = title, _MARK.match(title)
    if not mark:  # typographic brackets, or characters that can't be seen
        plain = unicodedata.normalize("NFKC", title)
        said = "".join(c for c in plain if unicodedata.category(c) != "Cf")
        mark = _MARK.match(said)
    return (unmarked(said[mark.end() :])[0], True) if mark else (title, False)


def said(title: str) -> str:
    """Return what a title says as plain words: as a heading nothing of it is a mark of any kind."""
    return _read(title)[0]


def _read(title: str) -> tuple[str, bool]:
    """Split a title that somebody gave into what it says, and whether it asks for a lock."""
    seen = "".join(c for c in title if unicodedata.category(c) != "Cc" or c.isspace())
    told, before, locked = words.one_line(seen), "", False
    while told != before:  # one mark may stand behind another
        before = told
        told, marked = unmarked(_bare(companions.only_for(told)[0]).strip())
        told, locked = told.strip(), locked or marked
    return told, locked


def always(section: KnowledgeSection) -> bool:
    """Whether a section stands in every prompt, whoever speaks, and not as a quotation."""
    return section.locked and within(section.provenance, ())


def key(title: str) -> str:
    """Return what all spellings of a section's title have in common."""
    plain = re.sub(r"[*`~\\]", "", html.unescape(unmarked(title)[0]))
    return disk.same_name(_bare(plain))


def _bare(title: str) -> str:
    """Strip the marks of a heading."""
    return re.sub(r"^\s*#+(?:\s+|$)|\s+#+\s*$", "", title)


EMPTY = Knowledge("", (), None)


def _views(path: Path, _: tzinfo) -> Sequence[kind.RecordView]:
    return [
        kind.RecordView(
            id=section.title,
            text=section.text,
            origin=section.provenance,
            sources=section.provenance.sources,
            line=section.line,
            source=section.source[: len(section.source) - len(section.tail)],
        )
        for section in read(path).sections
    ]


def _told(before: str | None, after: str | None) -> kind.Told:
    books = [parse(text or "") for text in (before, after)]
    old, new = ({key(section.title): section for section in book.sections} for book in books)
    alike = [sorted((one.title, one.text) for one in book.sections) for book in books]
    if told := list(_told_of_sections(old, new)):
        yield from told
    elif books[0].preamble == books[1].preamble and alike[0] == alike[1]:
        yield "knowledge: the same sections, in another place or with other space"


def _told_of_sections(
    old: Mapping[str, KnowledgeSection], new: Mapping[str, KnowledgeSection]
) -> kind.Told:
    for each in dict.fromkeys((*old, *new)):
        was, now = old.get(each), new.get(each)
        if was and now:
            if (was.title, was.locked) != (now.title, now.locked):
                yield f'knowledge "{was.title}" is now "{now.title}"{" [locked]" * now.locked}'
            yield from kind.told_anew(f'knowledge "{now.title}"', was.text, now.text)
            if was.provenance.audience != now.provenance.audience:
                for_whom = ", ".join(now.provenance.audience)
                told = f"only for {for_whom}" if for_whom else "for everybody"
                yield f'knowledge "{now.title}" is {told}'
            elif was.provenance != now.provenance and was.text == now.text:
                yield f'knowledge "{now.title}" rests on other words'
        elif one := now or was:
            yield f'{"new" if now else "gone:"} knowledge "{one.title}"'
            yield from kind.quoted(one.text)


KNOWLEDGE = kind.Kind(
    name="knowledge",
    singular="section of knowledge",
    plural="sections of knowledge",
    key="knowledge",
    patterns=(PATH,),
    parser=parse,
    viewer=_views,
    teller=_told,
    joiner=fields.parts,
    forgetting="parts",
    merging="bumble",
    file_name="knowledge",
    passages="knowledge",
    claims=True,
    explained=True,
    counted=True,
    page=True,
    edit="bumble knowledge edit",
)


read = partial(base.load_or, parse=parse, empty=EMPTY)


def readable(path: Path) -> Knowledge:
    """Read the knowledge file; nothing where a hand has broken it.

    Of one that is half merged, what both sides say.
    """
    try:
        return read(path)
    except HalfMergedError:
        merged = companions.decoded(disk.read_if_there(path))
        # where a heading may be in them, what stands behind marks is of a section that isn't sure
        agreed = merge_marks.replaced(
            merged, lambda marks: f"\n## {_UNSURE}\n" if _BEGINS.search(marks[0]) else ""
        )
        with suppress(RecordInvalidError):
            book = base.of_text(companions.of_file(path, agreed), path, parse)
            sure = (one for one in book.sections if one.text and one.title != _UNSURE)
            return structs.replace(book, sections=tuple(sure))
    except RecordInvalidError:
        pass
    return EMPTY


def find(knowledge: Knowledge, title: str) -> KnowledgeSection | None:
    """Return the section of a title in any spelling; the first, if a person has made two."""
    return next((one for one in knowledge.sections if key(one.title) == key(title)), None)


def named(
    book: Knowledge, text: str, readers: Sequence[str], talkers: Iterable[str]
) -> list[KnowledgeSection]:
    """Return the sections whose titles a text names by a telling word, what it names alone first.

    A word that is said every day names none, but where a title has no other; nor does the name of
    somebody who talks: all that is said may be theirs.

    Args:
        book: The sections; what stands in every prompt is not among those that are returned.
        text: What was said.
        readers: Who has to be allowed to know of them.
        talkers: Names of those who talk.
    """
    language = words.language(text)
    everyday = [words.common(language, count) for count in EVERYDAY]
    said = words.stems(text, language)
    called = {stem for name in talkers for stem in words.stems(name, language)}
    found = list[tuple[KnowledgeSection, set[str]]]()
    for section in book.sections:
        if always(section) or not base.may_read(section.provenance.audience, readers):
            continue
        title = stop_words.telling_words(section.title.partition(" (")[0])
        own = {words.folded(word): words.stem(word, language) for word in title}
        own = {word: stem for word, stem in own.items() if stem not in called} or own
        rare = ({stem for word, stem in own.items() if word not in common} for common in everyday)
        there = said & next(filter(None, rare), set[str]())
        # where no space parts words, one pair of signs tells little
        least = words.NAMING_WORDS if stop_words.is_unspaced(section.title) else 1
        if len(there) >= min(least, max(1, len(own))):
            found.append((section, there))
    spread = Counter(stem for _, there in found for stem in there)
    found.sort(key=lambda one: -sum(1 / spread[stem] for stem in one[1]))
    return [section for section, _ in found]


def newest(book: Knowledge, readers: Sequence[str], times: int = 1) -> list[KnowledgeSection]:
    """Return what some people may know and no prompt has anyway: all of it, where it is little.

    Else what was told last, and by hand, as far as there is room: `times` as much in a large
    window. What was only read has to be near.
    """
    there = [
        section
        for section in book.sections
        if not always(section)
        and base.may_read(section.provenance.audience, readers)
        and not is_untrusted(section.provenance.trust)
    ]
    oldest = datetime.min.replace(tzinfo=UTC)
    there.sort(key=lambda one: (not one.provenance.by, base.told_at(one.provenance) or oldest))
    left, taken = times * WHOLE_TOKENS, list[KnowledgeSection]()
    for section in reversed(there):
        if (size := tokens.estimate(f"{section.title}{section.text}")) <= left:
            taken.append(section)
            left -= size
    return [section for section in book.sections if section in taken]


def says(section: KnowledgeSection, text: str) -> bool:
    """Whether a section says what it would if a text were set as its own."""
    return _plain(section.text) == _plain(markdown.contained(harmless(text)))


def own_title(
    knowledge: Knowledge, title: str, name: str, may_write: Callable[[KnowledgeSection], bool]
) -> str:
    """Return the title under which somebody's words go.

    A section that they may not write keeps its own: theirs is named for them, and replaces nothing.

    Args:
        knowledge: As it was read.
        title: As they, or a model, would call it.
        name: What whoever speaks is called.
        may_write: Whether a section is theirs to write.
    """
    there = find(knowledge, title)
    return title if there is None or may_write(there) else f"{title} ({name})"


def is_of(section: KnowledgeSection, people: Iterable[str]) -> bool:
    """Whether a section is for everyone, or for just some people."""
    audience = section.provenance.audience
    return section.locked or not audience or {*audience} == {*people}


def with_origin(section: KnowledgeSection, provenance: base.Provenance) -> str:
    """Return the source of a section with another origin in its comment."""
    _, rest = split_origin(section.own)
    told = origin_comment(provenance).replace("\n", markdown.newline_of(section.source))
    return section.heading + told + rest + section.tail


def plan_set(
    knowledge: Knowledge,
    title: str,
    text: str,
    why: str,
    *,
    by_entity: bool,
    force_locked: bool = False,
    provenance: base.Provenance | None = None,
) -> changes.Change | None:
    """Plan to write the file as `with_section` leaves it.

    Args:
        knowledge: As it was read.
        title: In any spelling.
        text: Markdown.
        why: For the change set.
        by_entity: Whether the entity asks; what it held true before can still be read.
        force_locked: Whether the owner insists on changing a locked section.
        provenance: Where the text comes from; none for the owner's own words.
    """
    after = with_section(
        knowledge,
        title,
        text,
        by_entity=by_entity,
        force_locked=force_locked,
        provenance=provenance,
    )
    is_new = len(after.sections) > len(knowledge.sections)
    return plan(knowledge, after, why, keeps=by_entity and not is_new)


def plan(
    before: Knowledge, after: Knowledge, why: str, *, keeps: bool = False
) -> changes.Change | None:
    """Plan to write the file as it was edited; `keeps`: what it says now can still be read then."""
    if after.source == before.source:
        return None
    change = changes.write(PATH, after.source or "", before.source, why)
    return structs.replace(change, keeps=keeps)


def with_section(
    knowledge: Knowledge,
    title: str,
    text: str,
    *,
    by_entity: bool,
    force_locked: bool = False,
    provenance: base.Provenance | None = None,
) -> Knowledge:
    """Add a section, or correct the text of the one that has this title.

    The same text changes nothing: then it is what was given. Headings in the text become `###`, or
    deeper, so that it stays one section; a fence or an HTML block that it leaves open is closed.

    Args:
        knowledge: As it was read.
        title: In any spelling; the heading of a section that is there stays as it is.
        text: Markdown.
        by_entity: Whether the entity asks, which may not touch what is locked.
        force_locked: Whether the owner insists on changing a locked section.
        provenance: Where the text comes from; none for the owner's own words.

    Raises:
        SectionLockedError: If the section is locked.
        RefusedError: If the entity tries to lock a section.
        UsageError: If the title or the text is empty.
    """
    title = clean(title)
    _guard(knowledge, title, by_entity=by_entity, force_locked=force_locked)
    body = _contained(title, text)
    there = find(knowledge, title)
    if there is None:
        return with_added(knowledge, [new_section(title, text, provenance)])
    if _plain(there.text) == _plain(body):
        return knowledge
    # the owner's own words on what was told to few stay theirs
    written = there.provenance
    is_own = written.trust == "owner" and not written.by
    origin = provenance or (written if is_own else base.Provenance(audience=written.audience))
    origin = _with_said(origin, body)
    # what is to stand under its heading; blank lines behind it stay
    old, newline = there.own, markdown.newline_of(there.source)
    blank = markdown.lines(old[len(old.rstrip()) :])[1:]  # the first ends the text's own line
    new = markdown.lines(f"{origin_comment(origin)}\n{body}\n")
    own = "".join(line.rstrip("\r\n") + newline for line in new) + "".join(blank)
    return _replaced(knowledge, there, there.heading, own)


def _contained(title: str, text: str) -> str:
    body = markdown.contained(harmless(text))
    if not key(title) or not body:
        raise UsageError("A section of knowledge needs a title and a text.")
    return body


def new_section(title: str, text: str, provenance: base.Provenance | None) -> str:
    """Return the source of a section that is to be added, as `with_section` makes it.

    Raises:
        UsageError: If the title or the text is empty.
    """
    title = said(title) if provenance and provenance.by else clean(title)  # only the owner locks
    body = _contained(title, text)
    comment = origin_comment(_with_said(provenance, body) if provenance else None)
    return f"## {title}\n{comment}\n{body}\n"


def _with_said(origin: base.Provenance, body: str) -> base.Provenance:
    """Return where a program's text comes from, sentence by sentence."""
    if not origin.by or not origin.sources:
        return origin
    there = _said(body, origin.sources)
    kept = tuple(pair for pair in origin.said if pair[0] in there)
    if origin.said and not kept:  # what is left is a person's
        return base.Provenance(audience=origin.audience)
    return structs.replace(origin, said=kept or tuple(there.items()))


def _said(text: str, sources: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(
        map(companions.sentence_key, words.sentences(words.unwrapped(text))), sources
    )


def with_added(knowledge: Knowledge, sections: Sequence[str]) -> Knowledge:
    """Add sections whose titles are new, each as `new_section` makes it.

    Raises:
        RefusedError: If the file would be too large, or something is left open in it.
    """
    source = knowledge.source or ""
    newline = markdown.newline_of(source)
    gap = "" if not source else newline if source.endswith(("\n", "\r")) else newline * 2
    new = "\n".join(sections).replace("\n", newline)
    return _edited(source + gap + new, len(knowledge.sections) + len(sections))


def joined(new: base.Provenance, section: KnowledgeSection | None, text: str) -> base.Provenance:
    """Return where a corrected section comes from: each sentence that stays keeps its evidence.

    What was for everyone goes to the circle of what is added: nobody else was told that.

    Args:
        new: Where what is added comes from.
        section: As it is; None: it is new.
        text: What is to stand in it.
    """
    if section is None:
        return new
    old = section.provenance
    before = _said(section.text, old.sources)
    said = {key: ids for key, ids in _said(text, new.sources).items() if key not in before}
    if old.by:
        said |= dict(old.said) or before
    if not old.sources:
        audience = new.audience or old.audience
        return structs.replace(new, said=(*said.items(),), audience=audience)
    sources = tuple(dict.fromkeys((*old.sources, *new.sources)))
    trust = base.lowest_trust((old.trust, new.trust))
    return base.Provenance(
        new.by, new.model, sources, trust, new.audience or old.audience, (*said.items(),)
    )


def corrected(old: str, new: str, replaced: Sequence[str] = ()) -> str:
    """Return a section's text with a correction, where the first stood that gives way to it.

    A sentence stays that neither gives way nor is said again, so that one remark does not wipe out
    all that was known; where none gives way, the new text stands below.

    Args:
        old: The section's text.
        new: What is to stand in it; empty: what gives way only goes.
        replaced: Sentences that give way.
    """
    fresh, rows, is_placed = words.sentences(new), list[str](), False
    for line in old.splitlines():
        row = list[str]()
        for sentence in words.sentences(line):
            if sentence not in replaced and not any(_is_in(sentence, n) for n in fresh):
                row.append(sentence)
            elif not is_placed:
                row += filter(None, [new])
                is_placed = True
        rows += [words.paragraph(row)] if row or not line.strip() else []
    return "\n".join(rows if is_placed or not new else (*rows, new))


def lost(old: str, new: str) -> int:
    """Count the sentences of a text that another one has no longer."""
    there = words.sentences(new)
    return sum(one not in there for one in words.sentences(old))


def _is_in(sentence: str, other: str) -> bool:
    """Whether another sentence says all that one does."""
    language = words.language(sentence, other)
    return words.stems(sentence, language) <= words.stems(other, language)


def retitled(knowledge: Knowledge, title: str, new_title: str, *, by_entity: bool) -> Knowledge:
    """Give a section another title.

    Raises:
        SectionLockedError: If either title is locked.
        RecordMissingError: If there is no such section.
        RefusedError: If another section has the new title.
    """
    new_title = clean(new_title)
    for name in (title, new_title):
        _guard(knowledge, name, by_entity=by_entity, force_locked=False)
    section = _existing(knowledge, title)
    other = find(knowledge, new_title)
    if other is not None and other is not section:
        raise RefusedError(f'{PATH}:{other.line}: there is a section "{other.title}" already')
    if not key(new_title):
        raise UsageError("A section of knowledge needs a title.")
    heading = f"## {new_title}{markdown.newline_of(section.source)}"
    return _replaced(knowledge, section, heading, section.own)


def without(
    knowledge: Knowledge, title: str, *, by_entity: bool, force_locked: bool = False
) -> Knowledge:
    """Take a section out.

    Raises:
        SectionLockedError: If it is locked.
        RecordMissingError: If there is no such section.
    """
    _guard(knowledge, title, by_entity=by_entity, force_locked=force_locked)
    return _replaced(knowledge, _existing(knowledge, title), "", "")


def clean(title: str) -> str:
    """Return a title as one line of heading that reads back; nothing of it says whom it is for."""
    told, locked = _read(title)
    return f"{MARKER} {told}" if locked else told


def _guard(knowledge: Knowledge, title: str, *, by_entity: bool, force_locked: bool) -> None:
    # every section of the title counts: a second one by hand does not unlock the first
    locked = [one for one in knowledge.sections if one.locked and key(one.title) == key(title)]
    if locked and (by_entity or not force_locked):
        raise SectionLockedError(Path(PATH), locked[0].title, locked[0].line)
    if by_entity and unmarked(title)[1]:
        raise RefusedError(f'{PATH}: only the owner can lock a section ("{title}")')


def _existing(knowledge: Knowledge, title: str) -> KnowledgeSection:
    section = find(knowledge, title)
    if section is None:
        known = [one.title for one in knowledge.sections]
        raise RecordMissingError("section", title, base.nearest(title, known))
    return section


def _plain(text: str) -> list[str]:
    """Return the lines of a text, without what is white around it and at their ends."""
    return [line.rstrip() for line in text.strip().splitlines()]


def _replaced(knowledge: Knowledge, old: KnowledgeSection, heading: str, own: str) -> Knowledge:
    """Put a heading and a text in the place of a section; without a heading it is taken out."""
    source = knowledge.source or ""
    before = knowledge.sections[: knowledge.sections.index(old)]
    at = len(knowledge.preamble) + sum(len(one.source) for one in before)
    behind = source[at + len(old.source) - len(old.tail) :]
    if heading and behind and not re.search(r"(\r\n|\r|\n)\1\Z", own):
        own += markdown.newline_of(source)  # a heading of two lines needs a blank one above
    text = source[:at] + heading + own + behind
    if not heading and not behind and text:  # no blank line that a section had above it
        text = text.rstrip("\r\n") + markdown.newline_of(source)
    if text == source:
        return knowledge
    return _edited(text, len(knowledge.sections) - (not heading))


def _edited(text: str, count: int) -> Knowledge:
    """Read what an edit leaves, which has so many sections."""
    if len(text.encode()) > markdown.MAX_BYTES:
        raise RefusedError(
            f"{PATH}: it would grow beyond {markdown.MAX_BYTES:,} bytes, the most bumble reads\n"
            "Nothing was written. Keep the text in a file of its own."
        )
    edited = parse(text)
    if len(edited.sections) != count:  # a hand edit left a fence or a comment open
        raise RefusedError(
            f"{PATH}: a code fence or an HTML block is left open in it; a section added now would "
            "be part of that\nClose it by hand, then run this again."
        )
    return edited
