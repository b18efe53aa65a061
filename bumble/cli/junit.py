"""JUnit XML, the form in which CI shows which checks failed."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from msgspec import Struct


class TestCase(Struct, frozen=True):
    """One check in one place."""

    group: str
    name: str
    failure: str  # why it failed; empty: it passed


def render(suite: str, cases: Sequence[TestCase]) -> bytes:
    """Write a report of some cases."""
    failures = sum(bool(case.failure) for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0"}
    root = ElementTree.Element("testsuites", counts)
    inner = ElementTree.SubElement(root, "testsuite", {"name": suite, **counts})
    for case in cases:
        where = {"classname": case.group, "name": case.name}
        element = ElementTree.SubElement(inner, "testcase", where)
        if case.failure:
            ElementTree.SubElement(element, "failure", {"message": _allowed(case.failure)})
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _allowed(text: str) -> str:
    """Leave out what XML 1.0 can't hold."""
    return "".join(letter for letter in text if letter in "\t\n" or letter.isprintable())
