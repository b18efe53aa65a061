"""Prompts: one Markdown file each, in this folder, and `load`.

A file's front matter says what the prompt is for, who uses it, its slots and the shape of the
answer. There is no logic in a prompt: loops and choices are Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template

from bumble import markdown


@dataclass(frozen=True)
class Prompt:
    """A prompt with slots to fill."""

    name: str
    slots: tuple[str, ...]
    text: str

    def fill(self, **values: str) -> str:
        """Return the text with every slot filled.

        Raises:
            ValueError: If a slot is not given, or a value has no slot.
        """
        if set(values) != set(self.slots):
            raise ValueError(f"prompt {self.name}: takes {self.slots}, was given {tuple(values)}")
        return Template(self.text).substitute(values)


def tagged(tag: str, text: str) -> str:
    """Wrap outside text so that it is data: its own closing tags can't end the wrapping."""
    inside = text.replace(f"</{tag}", f"< /{tag}")
    return f"<{tag}>\n{inside}\n</{tag}>"


@cache
def load(name: str) -> Prompt:
    """Read a prompt of this package.

    Raises:
        ValueError: If the slots its front matter names are not those in its text.
    """
    source = resources.files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    document = markdown.parse(source)
    slots = tuple(document.meta["slots"])
    if set(Template(document.body).get_identifiers()) != set(slots):
        raise ValueError(f"prompt {name}: the slots named are not those in the text")
    return Prompt(name, slots, document.body)
