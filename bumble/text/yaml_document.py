"""A file that is one YAML mapping, as a document: the whole of it is what others have in front."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from bumble.text import yaml_edit
from bumble.text.markdown import Document


class YamlDocument(Document, frozen=True, dict=True):
    """A YAML file in the form in which records are read and edited; it has no body."""

    @classmethod
    def of(cls, source: str) -> YamlDocument:
        """Make the document of a file's text."""
        return cls(source, 0, len(source), len(source))

    @cached_property
    def meta(self) -> Mapping[str, Any]:
        """The mapping as plain values.

        Raises:
            SourceError: If it is none.
        """
        return yaml_edit.parse_mapping(self.source)

    def line_of(self, key: str) -> int | None:
        """Return the line of the file on which a key stands."""
        return yaml_edit.line_of(self.source, (key,))

    def with_meta(self, *keys: str, value: Any) -> YamlDocument:
        """Return the document with one value changed or added."""
        return self.of(yaml_edit.set_value(self.source, keys, value))

    def without_meta(self, *keys: str) -> YamlDocument:
        """Return the document without a key."""
        return self.of(yaml_edit.remove(self.source, keys))
