from __future__ import annotations

from pathlib import Path

import pytest

from bumble.bridges.imports import notes
from tests.support import exports, importing
from tests.support.running import Run

BODY = "# Bread\n\nRye, 24 hours.\n"


@pytest.mark.parametrize(
    ("head", "meta"),
    [
        ("---\ntitle: no\ntags: [rye]\n---\n", {"title": "no", "tags": ["rye"]}),
        ("", {}),
    ],
)
def test_front_matter_is_read(head: str, meta: dict[str, object]) -> None:
    read, body = notes.split(head + BODY)
    assert read == meta
    assert body.strip() == BODY.strip()


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nonly a rule above\n",
        "---\ntitle: [open\n---\nbody\n",
        "---\na: 1\na: 2\n---\nbody\n",
        '+++\ntitle = "no"\n+++\nbody\n',
        "---\nDear diary\n---\nbody\n",
        "---\n- rye\n- salt\n---\nbody\n",
    ],
)
def test_front_matter_that_cannot_be_read_is_text(text: str) -> None:
    read, body = notes.split(text)
    assert read == {}
    assert body.strip() == text.strip()


def test_notes_of_a_vault_are_read_and_what_is_no_text_is_named(tmp_path: Path) -> None:
    exports.folder(tmp_path, {".obsidian/app.json": "{}"})
    words = "Grüße aus Lübeck, der Schlüssel liegt unter der Matte."
    for name in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
        (tmp_path / f"{name}.md").write_bytes(words.encode(name))
    (tmp_path / "nul.md").write_bytes(b"\0\0")
    form, read = importing.items(tmp_path)
    assert (form, {text for _, _, text in importing.said(read)}) == (
        "obsidian",
        {f"# {name}\n\n{words}" for name in ("utf-8", "utf-8-sig")},
    )
    assert importing.left(read) == [
        "it is no text in UTF-8",
        "it is no text",
        "it is no text in UTF-8",
    ]


def test_what_bumble_wrote_into_a_vault_is_nobodys_own_words(run: Run, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    exports.folder(vault, {".obsidian/app.json": "{}", "Tide.md": "The tide was high.\n"})
    run.ok("belief", "add", "Sam drinks green tea.")
    run.ok("export", "--to", "markdown", str(vault / "Ada"))
    run.ok("new", str(vault / "Kit"))
    _, read = importing.items(vault)
    assert [text for _, _, text in importing.said(read)] == ["# Tide\n\nThe tide was high.\n"]
    assert set(importing.left(read)) == {"files that bumble wrote itself"}
    assert "1 note: 1 message" in run.ok("import", str(vault)).out
    assert "imported from obsidian: Tide" in run.ok("session", "list").out
