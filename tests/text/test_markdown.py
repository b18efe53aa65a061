from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.text import markdown
from bumble.text.yaml_edit import SourceError

# lines that mean something to Markdown, YAML or a line splitter
MARKS = """text|## a|##|## [locked] b ##|# top|### low|#no|   ## c|    ## d|```|~~~~|```py|> ## q
- ## l|1. x|===|---|***|- - -|<!--|-->|<!-- x -->|<script>|</script>|<?php|<![CDATA[|<!A|<div>|a: 1
at: x|...|[x]: y|é🐝|<pre>|</pre>|<textarea>|  > - ```|- ```|\\|`|## x\\|&lt;!--"""
ODD = ["", " ", "     ", "\t## tab", "\x0c", "a\u2028## b", "a\x85b", "\ufeff", "\x00", "| a |"]
LINES = st.sampled_from([*re.split(r"[|\n]", MARKS), *ODD])
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    pieces = draw(st.lists(st.tuples(LINES | st.text(max_size=8), ENDS), max_size=12))
    text = "".join(line + end for line, end in pieces)
    return text if draw(st.booleans()) else text.rstrip("\r\n")


@st.composite
def notes(draw: st.DrawFn) -> str:
    body = draw(texts())
    front = draw(
        st.sampled_from(["", "---\n---\n", "---\na: 1 # c\nb: |\n  ---\n---\n", "--- \na: x\n---"])
    )
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    mark = draw(st.sampled_from(["", "\ufeff"]))
    gap = "\n" if front and not front.endswith("\n") else ""
    return mark + front.replace("\n", newline) + gap + body


def parsed(source: str) -> markdown.Document | None:
    try:
        document = markdown.parse(source)
        dict(document.meta)
    except SourceError:
        return None
    return document


@given(notes())
def test_a_document_gives_its_bytes_back(source: str) -> None:
    document = parsed(source)
    if document:
        assert document.text == source


@given(notes(), texts())
def test_another_body_reads_back_and_leaves_the_front_matter(source: str, body: str) -> None:
    document = parsed(source)
    if document is None:
        return
    after = document.with_body(body)
    text = body.lstrip("\ufeff\r\n").rstrip("\r\n").rstrip()
    if body.strip("\r\n").rstrip() == document.body:
        text = document.body  # the same body stays, whatever it is
    wanted = [line.rstrip("\r\n") for line in markdown.lines(text)]
    assert [line.rstrip("\r\n") for line in markdown.lines(after.body)] == wanted
    assert after.meta == document.meta
    assert after.text.startswith(document.source[: document.body_start])
    assert after.with_body(body).text == after.text


@given(texts())
def test_sections_joined_give_the_text_back(text: str) -> None:
    preamble, sections = markdown.sections(text)
    assert preamble + "".join(section.source for section in sections) == text
    for section in sections:
        assert section.heading + section.own + section.tail == section.source
        places = [match.start() for match in re.finditer(f"(?={re.escape(section.source)})", text)]
        if len(places) == 1:
            assert section.line == len(markdown.lines(text[: places[0]])) + 1


@given(texts())
def test_headings_found_line_by_line_are_those_of_the_parser(text: str) -> None:
    found = markdown._plain_headings(text)
    assert found is None or found == markdown._parsed_headings(text)


@given(texts())
def test_a_contained_text_stays_in_its_section(text: str) -> None:
    body = markdown.contained(text)
    _, sections = markdown.sections(f"## a\n\n{body}\n\n## b\n\nend\n")
    assert [(one.title, one.tail) for one in sections] == [("a", ""), ("b", "")]
    assert sections[1].body == "end"
    assert markdown.contained(body) == body


def test_headings_in_code_quotes_and_lists_are_no_sections() -> None:
    text = (
        "intro\n## one\n```\n## code\n```\n    ## indented\n> ## quote\n- ## list\n"
        "<!--\n## hidden\n-->\ntwo\n---\n# top\nfree\n## three ##\n"
    )
    preamble, sections = markdown.sections(text)
    assert preamble == "intro\n"
    assert [(one.title, one.line) for one in sections] == [("one", 2), ("two", 12), ("three", 16)]
    assert sections[1].heading == "two\n---\n"
    assert sections[1].tail == "# top\nfree\n"


def test_a_fault_in_front_matter_names_the_line_of_the_file() -> None:
    with pytest.raises(SourceError) as caught:
        _ = markdown.parse("---\na: 1\nb: [\n---\nx\n").meta
    assert caught.value.line in (3, 4)


def test_a_large_note_is_split_at_once() -> None:
    text = "## a\n\nsome words in a paragraph\n\n- item\n- item\n\n" * 20_000
    start = time.perf_counter()
    assert len(markdown.sections(text)[1]) == 20_000
    assert time.perf_counter() - start < 20  # in a second; in minutes, were it quadratic
