"""Markdown files with front matter: parts, sections, and edits that leave every other byte alone.

A `Document` keeps its source; meta and body are views on it. Knows nothing of records or folders.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from markdown_it import MarkdownIt

from bumble import yamltext
from bumble.yamltext import SourceError

MAX_BYTES = 4_000_000  # a note that is larger is no note; reading it would take minutes
FENCE = "---"
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def lines(text: str) -> list[str]:
    """Split into lines with their ends, at the line ends that Markdown knows and no others."""
    return LINE.findall(text)


def newline_of(text: str) -> str:
    """Return the line end a text uses, LF where it has none."""
    return "\r\n" if "\r\n" in text else "\n"


@dataclass(frozen=True)
class Document:
    """A Markdown file: YAML front matter, if it has any, and a body."""

    source: str  # the whole file
    meta_start: (
        int  # where the YAML between the fences starts and ends; both 0 without front matter
    )
    meta_end: int
    body_start: int

    @property
    def text(self) -> str:
        """The file, byte for byte as it was read or edited."""
        return self.source

    @cached_property
    def meta(self) -> Mapping[str, Any]:
        """The front matter as plain values.

        Raises:
            SourceError: If it is not a YAML mapping.
        """
        try:
            return yamltext.parse_mapping(self.source[self.meta_start : self.meta_end])
        except SourceError as error:
            line = None if error.line is None else error.line + 1  # the fence stands above
            raise SourceError(error.problem, line) from error

    @property
    def body(self) -> str:
        """What follows the front matter, without surrounding blank lines."""
        return self.source[self.body_start :].strip("\r\n").rstrip()

    @property
    def body_line(self) -> int:
        """The line of the file, from 1, on which the text behind the front matter starts."""
        return len(lines(self.source[: self.body_start])) + 1

    def line_of(self, key: str) -> int | None:
        """Return the line of the file on which a key of the front matter stands."""
        line = yamltext.line_of(self.source[self.meta_start : self.meta_end], (key,))
        return None if line is None else line + 1

    def with_meta(self, *keys: str, value: Any) -> Document:
        """Return the document with one value of its front matter changed or added."""
        if not self.meta_start:
            newline = newline_of(self.source)
            block = yamltext.set_value("", keys, value).replace("\n", newline)
            return parse(f"{FENCE}{newline}{block}{FENCE}{newline}{newline}{self.source}")
        edited = yamltext.set_value(self.source[self.meta_start : self.meta_end], keys, value)
        return parse(self.source[: self.meta_start] + edited + self.source[self.meta_end :])

    def without_meta(self, *keys: str) -> Document:
        """Return the document without a key of its front matter."""
        edited = yamltext.remove(self.source[self.meta_start : self.meta_end], keys)
        return parse(self.source[: self.meta_start] + edited + self.source[self.meta_end :])

    def with_body(self, body: str) -> Document:
        """Return the document with another body; the same body changes no byte."""
        if body.strip("\r\n").rstrip() == self.body:
            return self
        newline = newline_of(self.source)
        head = self.source[: self.body_start]
        text = newline.join(part.rstrip("\r\n") for part in lines(body.strip("\r\n").rstrip()))
        gap = newline if head else ""
        return parse(f"{head}{gap}{text}{newline}")


def parse(source: str) -> Document:
    """Split a file into front matter and body.

    Raises:
        SourceError: If front matter is opened and never closed, or the file is too large.
    """
    if len(source) > MAX_BYTES:
        raise SourceError(f"{len(source):,} characters; bumble reads notes up to {MAX_BYTES:,}")
    start = 1 if source.startswith("\ufeff") else 0  # an editor's byte order mark
    all_lines = lines(source[start:])
    if not all_lines or all_lines[0].rstrip() != FENCE:
        return Document(source, 0, 0, start)
    at = start + len(all_lines[0])
    meta_start = at
    for line in all_lines[1:]:
        if line.rstrip() == FENCE:
            return Document(source, meta_start, at, at + len(line))
        at += len(line)
    raise SourceError("front matter opens with `---` here and is never closed", 1)


def render(meta: Mapping[str, Any], body: str) -> Document:
    """Make a new document."""
    text = body.strip("\r\n").rstrip()
    return parse(f"{FENCE}\n{yamltext.dump(meta)}{FENCE}\n" + (f"\n{text}\n" if text else ""))


@dataclass(frozen=True)
class Section:
    """A heading of some level and what stands under it, up to the next heading of that level or above."""

    title: str  # as written, without marks of the heading
    line: int  # of the heading, from 1, in the text that was split
    source: str = field(repr=False)  # heading line(s) and body, byte for byte
    heading: str = field(repr=False)  # the heading line(s) alone, line end included

    @property
    def body(self) -> str:
        """The text under the heading, without surrounding blank lines."""
        return self.source[len(self.heading) :].strip("\r\n").rstrip()


@lru_cache(maxsize=1)
def _block_parser() -> MarkdownIt:
    """A CommonMark parser of blocks only: text inside them is not looked at."""
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def sections(text: str, level: int = 2) -> tuple[str, tuple[Section, ...]]:
    """Split a text at its headings of one level; headings in code, quotes and lists do not count.

    Returns:
        What stands before the first such heading, and the sections; joined, their sources give the
        text back byte for byte.
    """
    all_lines = lines(text)
    marks: list[tuple[int, int, str]] = []  # first line, line behind the heading, title
    for token, inline in _headings(text):
        if token.tag == f"h{level}":
            marks.append((token.map[0], token.map[1], inline))
        elif int(token.tag[1]) < level:
            marks.append((token.map[0], -1, ""))
    preamble = "".join(all_lines[: marks[0][0]] if marks else all_lines)
    found: list[Section] = []
    for (start, body, title), following in zip(marks, [*marks[1:], None], strict=True):
        end = following[0] if following else len(all_lines)
        source = "".join(all_lines[start:end])
        if body < 0:  # a heading above this level: its text belongs to what stands before it
            preamble, found = _attach(preamble, found, source)
        else:
            found.append(Section(title, start + 1, source, "".join(all_lines[start:body])))
    return preamble, tuple(found)


def _attach(preamble: str, found: list[Section], source: str) -> tuple[str, list[Section]]:
    if not found:
        return preamble + source, found
    last = found[-1]
    return preamble, [
        *found[:-1],
        Section(last.title, last.line, last.source + source, last.heading),
    ]


def _headings(text: str) -> list[tuple[Any, str]]:
    tokens = _block_parser().parse(text)
    return [
        (token, " ".join(tokens[n + 1].content.split()))
        for n, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]


def contained(text: str, level: int = 2) -> str:
    """Return a text that can stand under a heading of `level` and stay in its own section.

    Headings of that level or above become one level deeper than it; code fences and HTML blocks that
    are left open are closed, so that they do not swallow what follows.
    """
    body = text.strip("\r\n").rstrip()
    body = _demoted(body, level)
    for closer in ("", *_closers(body), *HTML_CLOSERS):
        closed = f"{body}\n{closer}" if closer else body
        if _stays(closed, level):
            return closed
    return "".join(f"    {line}" for line in lines(body))  # shown as it came, as code


HTML_CLOSERS = ("-->", "?>", "]]>", ">", "</script>", "</style>", "</pre>", "</textarea>")


def _demoted(text: str, level: int) -> str:
    all_lines = lines(text)
    for token, title in reversed(_headings(text)):
        if int(token.tag[1]) <= level:
            start, end = token.map
            tail = "\n" if all_lines[end - 1].endswith(("\n", "\r")) else ""
            all_lines[start:end] = [f"{'#' * (level + 1)} {title}{tail}"]
    return "".join(all_lines)


def _closers(text: str) -> list[str]:
    return [token.markup for token in _block_parser().parse(text) if token.type == "fence"][-1:]


def _stays(text: str, level: int) -> bool:
    probe = f"{'#' * level} a\n\n{text}\n\n{'#' * level} b\n"
    return [section.title for section in sections(probe, level)[1]] == ["a", "b"]
