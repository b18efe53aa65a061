"""Markdown files with front matter: parts, sections, edits that leave other bytes alone.

A `Document` keeps its source; meta and body are views on it. Knows nothing of records or folders.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.text import yaml_edit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LEVEL = 2  # of the headings of sections
MAX_BYTES = 4_000_000  # a note that is larger is no note; reading it would take minutes
FENCE = "---"
BREAK = "---"  # between two parts of a text, whatever its language
# In the whole of a record: the fields below stand in a file of their own, beside the record.
BESIDE = "# beside it, in sources/"
HTML_CLOSERS = ("-->", "?>", "]]>", ">", "</script>", "</style>", "</pre>", "</textarea>")
ATX = patterns.compile(r"(#{1,6})((?:[ \t].*?)?)(?:[ \t]+#+)?[ \t]*[\r\n]*", re.DOTALL)
FENCE_START = patterns.compile(r"(`{3,}(?=[^`]*$)|~{3,})", re.DOTALL)
FENCE_END = patterns.compile(r" {0,3}(`{3,}|~{3,})[ \t]*[\r\n]*")
# what may hide a heading, or be one of another form: a fence or a heading that is indented (a list
# may hold it), HTML
UNSURE = patterns.compile(r" {1,3}(?:#|```|~~~)| {0,3}<")
UNDERLINE = patterns.compile(r" {0,3}(?:=+|-+)[ \t]*[\r\n]*")  # of a setext heading
ONE_LINE_COMMENT = patterns.compile(r"<!--.*-->[ \t]*[\r\n]*")
LINE = patterns.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def lines(text: str) -> list[str]:
    """Split into lines with their ends, at the line ends that Markdown knows and no others."""
    return LINE.findall(text)


def newline_of(text: str) -> str:
    """Return the line end a text uses, LF where it has none."""
    return "\r\n" if "\r\n" in text else "\n"


class Document(Struct, frozen=True, dict=True):
    """A Markdown file: YAML front matter, if it has any, and a body."""

    source: str  # the whole file
    meta_start: int  # where the YAML between the fences starts; 0 without front matter
    meta_end: int  # where it ends
    body_start: int
    lines_above: int = 1  # of the YAML: the fence; none in a file that is YAML alone

    @property
    def text(self) -> str:
        """The file, byte for byte as it was read or edited."""
        return self.source

    @property
    def front(self) -> str:
        """The front matter, byte for byte, without its fences."""
        return self.source[self.meta_start : self.meta_end]

    @cached_property
    def meta(self) -> Mapping[str, Any]:
        """The front matter as plain values.

        Raises:
            SourceError: If it is not a YAML mapping.
        """
        try:
            return yaml_edit.parse_mapping(self.front)
        except yaml_edit.SourceError as error:
            line = None if error.line is None else error.line + self.lines_above
            raise yaml_edit.SourceError(error.problem, line) from error

    @property
    def body(self) -> str:
        """What follows the front matter, without surrounding blank lines."""
        return trimmed(self.source[self.body_start :])

    @property
    def body_line(self) -> int:
        """The line of the file, from 1, on which the text behind the front matter starts."""
        return len(lines(self.source[: self.body_start])) + 1 - self.beside

    @cached_property
    def beside(self) -> int:
        """How many lines in front of the body do not stand in the record's own file."""
        own, mark, beside = self.front.partition(BESIDE)
        return len(lines(mark + beside)) + 2 * (mark != "" and not own.strip())  # with its fences

    def line_of(self, key: str) -> int | None:
        """Return the line of the file on which a key of the front matter stands."""
        line = yaml_edit.line_of(self.front.partition(BESIDE)[0], (key,))
        return None if line is None else line + self.lines_above

    def with_meta(self, *keys: str, value: Any) -> Document:
        """Return the document with one value of its front matter changed or added."""
        if not self.meta_start and self.lines_above:
            newline, mark = newline_of(self.source), self.source[: self.body_start]
            block = yaml_edit.set_value("", keys, value).replace("\n", newline)
            head = f"{mark}{FENCE}{newline}{block}{FENCE}{newline}"
            return parse(f"{head}{newline}{self.source[self.body_start :]}")
        return self._with_yaml(yaml_edit.set_value(self.front, keys, value))

    def without_meta(self, *keys: str) -> Document:
        """Return the document without a key of its front matter."""
        return self._with_yaml(yaml_edit.remove(self.front, keys))

    def _with_yaml(self, edited: str) -> Document:
        text = self.source[: self.meta_start] + edited + self.source[self.meta_end :]
        return parse(text) if self.lines_above else of_yaml(text)

    def with_body(self, body: str) -> Document:
        """Return the document with another body; blank lines around it, and the same body, stay."""
        # a byte order mark belongs to a file, not to a text
        wanted, old = trimmed(body.lstrip("\ufeff\r\n")), self.source[self.body_start :]
        if self.body in (wanted, trimmed(body)):
            return self
        newline = newline_of(self.source)
        head = self.source[: self.body_start]
        if head and not head.endswith(("\n", "\r", "\ufeff")):  # the closing fence ends the file
            head += newline
        text = newline.join(part.rstrip("\r\n") for part in lines(wanted))
        before, after = "", newline
        if self.body:
            start = old.index(self.body)
            before, after = old[:start], old[start + len(self.body) :] or newline
        elif self.meta_start:
            before = newline
        if not self.meta_start and not before and text.split("\n")[0].rstrip() == FENCE:
            before = newline  # a rule, not the start of front matter
        return parse(
            f"{head}{before}{text}{after}" if text else head + before + after.lstrip("\r\n")
        )


def trimmed(text: str) -> str:
    """Strip the blank lines around a text and what is white at its end."""
    return text.strip("\r\n").rstrip()


def prose(text: str) -> str:
    """Return the lines of a text that are neither a heading nor a break."""
    told = (line for line in text.splitlines() if not line.startswith("#") and line != BREAK)
    return "\n".join(told)


def parse(source: str) -> Document:
    """Split a file into front matter and body.

    Raises:
        SourceError: If front matter is opened and never closed, or the file is too large.
    """
    if len(source) > MAX_BYTES:
        raise yaml_edit.SourceError(
            f"{len(source):,} characters; bumble reads notes up to {MAX_BYTES:,}"
        )
    start = len(source) - len(source.lstrip("\ufeff"))  # byte order marks of editors
    all_lines = lines(source[start:])
    if not all_lines or all_lines[0].rstrip() != FENCE:
        return Document(source, 0, 0, start)
    at = start + len(all_lines[0])
    meta_start = at
    for line in all_lines[1:]:
        if line.rstrip() == FENCE:
            return Document(source, meta_start, at, at + len(line))
        at += len(line)
    raise yaml_edit.SourceError("front matter opens with `---` here and is never closed", 1)


def parse_parts(source: str) -> Document:
    """Split a file of parts: where each comes from is read by way of its front matter.

    Raises:
        SourceError: As `parse` does, and if the front matter can't be read.
    """
    document = parse(source)
    _ = document.meta
    return document


def render(meta: Mapping[str, Any], body: str) -> Document:
    """Make a new document."""
    text = "\n".join(part.rstrip("\r\n") for part in lines(trimmed(body)))
    return parse(f"{FENCE}\n{yaml_edit.dump(meta)}{FENCE}\n" + (f"\n{text}\n" if text else ""))


class Section(Struct, frozen=True):
    """A heading of `##` and what stands under it, up to the next heading of that level."""

    title: str  # as written, without marks of the heading
    line: int  # of the heading, from 1, in the text that was split
    source: str  # heading line(s), body and tail, byte for byte
    heading: str  # the heading line(s) alone, line end included
    tail: str = ""  # from a heading above the level on: not its own

    @property
    def own(self) -> str:
        """What stands between the heading and the tail, byte for byte."""
        return self.source[len(self.heading) : len(self.source) - len(self.tail)]

    @property
    def body(self) -> str:
        """The text under the heading, without surrounding blank lines."""
        return trimmed(self.own)


@lru_cache(maxsize=1)
def _block_parser() -> MarkdownIt:
    """A CommonMark parser of blocks only: text inside them is not looked at."""
    from markdown_it import MarkdownIt  # 20 ms, for few texts

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def sections(text: str) -> tuple[str, tuple[Section, ...]]:
    """Split a text at its headings of `##`; headings in code, quotes and lists do not count.

    Returns:
        What stands before the first such heading, and the sections; joined, their sources give the
        text back byte for byte.
    """
    all_lines = lines(text)
    marks = [heading for heading in headings(text) if heading.level <= LEVEL]
    preamble = "".join(all_lines[: marks[0].start] if marks else all_lines)
    found: list[Section] = []
    for n, mark in enumerate(marks):
        end = marks[n + 1].start if n + 1 < len(marks) else len(all_lines)
        source = "".join(all_lines[mark.start : end])
        if mark.level == LEVEL:
            heading = "".join(all_lines[mark.start : mark.end])
            found.append(Section(mark.title, mark.start + 1, source, heading))
        elif found:  # what stands under a heading above is the last one's tail
            last = found.pop()
            found.append(replace(last, source=last.source + source, tail=last.tail + source))
        else:
            preamble += source
    return preamble, tuple(found)


class Heading(Struct, frozen=True):
    """A heading that stands in no code, quote or list."""

    level: int  # from 1
    title: str
    start: int  # its first line, from 0
    end: int  # the line behind it


def headings(text: str) -> list[Heading]:
    """Return the headings of a text, those in code, quotes and lists left out."""
    found = _plain_headings(text)
    return _parsed_headings(text) if found is None else found


def _parsed_headings(text: str) -> list[Heading]:
    tokens = _block_parser().parse(text)
    return [
        Heading(int(token.tag[1]), " ".join(tokens[n + 1].content.split()), *token.map)
        for n, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]


def _plain_headings(text: str) -> list[Heading] | None:
    """Find headings line by line, a hundred times faster; None where only a parser can tell.

    A `#` in the first column ends every quote, list and paragraph, so that it is a heading unless
    a fence or an HTML block is open; fences are followed here, what else could hide one is left to
    the parser.
    """
    found: list[Heading] = []
    fence, above = "", ""
    for number, line in enumerate(lines(text)):
        if fence:
            closer = FENCE_END.fullmatch(line)
            fence = "" if closer and closer[1].startswith(fence) else fence
        elif opener := FENCE_START.match(line):
            fence = opener[1]
        elif heading := ATX.fullmatch(line):
            title = " ".join(heading[2].split())
            found.append(Heading(len(heading[1]), title, number, number + 1))
        elif _is_unsure(line, above):
            return None
        above = line
    return found


def _is_unsure(line: str, above: str) -> bool:
    if UNDERLINE.fullmatch(line):
        return above.strip(" \t\r\n") != ""
    return UNSURE.match(line) is not None and not ONE_LINE_COMMENT.fullmatch(line)


def contained(text: str) -> str:
    """Return a text that can stand under a `##` heading and stay in its own section.

    Headings of that level or above become one level deeper than it; code fences and HTML blocks
    that are left open are closed, so that they do not swallow what follows.
    """
    body = _demoted(trimmed(text))
    fences = [token.markup for token in _block_parser().parse(body) if token.type == "fence"]
    for closer in ("", *fences[-1:], *HTML_CLOSERS):
        closed = f"{body}\n{closer}" if closer else body
        found = sections(f"## a\n\n{closed}\n\n## b\n")[1]
        if [section.title for section in found] == ["a", "b"]:
            return closed
    return "".join(f"    {line}" for line in lines(body))  # shown as it came, as code


def _demoted(text: str) -> str:
    all_lines = lines(text)
    for one in reversed(headings(text)):
        if one.level <= LEVEL:
            tail = "\n" if all_lines[one.end - 1].endswith(("\n", "\r")) else ""
            all_lines[one.start : one.end] = [f"### {one.title}".rstrip(" ") + tail]
    return "".join(all_lines)


def of_yaml(source: str) -> Document:
    """Return a file of YAML alone as what is read and edited; it has no body."""
    return Document(source, 0, len(source), len(source), 0)
