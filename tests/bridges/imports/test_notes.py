from __future__ import annotations

import pytest

from bumble.bridges.imports import notes

BODY = "# Bread\n\nRye, 24 hours.\n"


@pytest.mark.parametrize(
    ("head", "meta"),
    [
        ("---\ntitle: no\ntags: [rye]\n---\n", {"title": "no", "tags": ["rye"]}),
        ('+++\ntitle = "no"\ntags = ["rye"]\n+++\n', {"title": "no", "tags": ["rye"]}),
        ('{\n"title": "no",\n"tags": ["rye"]\n}\n', {"title": "no", "tags": ["rye"]}),
        ("", {}),
    ],
)
def test_front_matter_is_read_in_each_of_its_three_forms(
    head: str, meta: dict[str, object]
) -> None:
    read, body = notes.split(head + BODY)
    assert read == meta
    assert body.strip() == BODY.strip()


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nonly a rule above\n",
        "---\ntitle: [open\n---\nbody\n",
        "---\na: 1\na: 2\n---\nbody\n",
        "+++\ntitle = \n+++\nbody\n",
        '{\n"title":\n}\nbody\n',
        "---\nDear diary\n---\nbody\n",
        "---\n- rye\n- salt\n---\nbody\n",
        "+++\na = " + "[" * 100_000 + "\n+++\nbody\n",
        '{\n"a": ' + "[" * 100_000 + "\n}\nbody\n",
    ],
)
def test_front_matter_that_cannot_be_read_is_text(text: str) -> None:
    read, body = notes.split(text)
    assert read == {}
    assert body.strip() == text.strip()
