"""`bumble export`: a character card, a bundle of knowledge, a copy to read, an archive."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct

from bumble.bridges.exports import (
    agents,
    bundle,
    card,
    destination,
    memories,
)
from bumble.bridges.exports.memories import Pages
from bumble.bridges.imports import foreign
from bumble.cli import output, passphrases, people
from bumble.cli.entity_command import reads
from bumble.cli.listing import counted
from bumble.cli.opening import Opened
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import UsageError
from bumble.files import disk
from bumble.records import relationships
from bumble.records.provenance import EVERYTHING, STRANGER, Reader
from bumble.runtime.people import owner_id
from bumble.text import yaml_edit

app = typer.Typer(rich_markup_mode=None)
ENCRYPTED = ".age"


class ExportRequest(Struct, frozen=True):
    """What an export is to be."""

    form: str
    dest: Path
    reader: Reader
    picture: Path | None
    recipients: tuple[str, ...]
    encrypt: bool


@app.command()
@reads
def command(
    opened: Opened,
    dest: Annotated[Path, typer.Argument(metavar="DEST", help="The file or folder to make.")],
    *,
    form: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORM",
            help="card, okf, markdown, bundle, claude-code, openclaw, hermes or letta.",
        ),
    ],
    person: Annotated[
        str | None,
        typer.Option("--for", metavar="PERSON", help="Only what this person may know."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export.")] = False,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="card: the PNG that carries it.")
    ] = None,
    encrypt: Annotated[
        bool, typer.Option("--encrypt", help="bundle: with a passphrase, by age.")
    ] = False,
    recipient: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="bundle: for this age or SSH public key; may repeat."),
    ] = None,
) -> None:
    """Take the entity elsewhere: a card, a bundle to read or to keep.

    card: who it is, and what everybody may know, as a PNG or JSON that other programs take.
    okf: each memory a file with its sources. markdown: a copy to read, with links, for Obsidian.
    bundle: everything as one archive, of which `bumble new DIR --from FILE` makes the same entity.
    claude-code, openclaw, hermes, letta: a memory folder for that agent, as its owner may know it.
    """
    if form not in memories.FORMS:
        raise UsageError(
            f"--to {form}: there is no such form\nThere are {', '.join(memories.FORMS)}."
        )
    if form != "bundle" and (encrypt or recipient):
        raise UsageError("Only a bundle is encrypted: --to bundle.")
    if form != "card" and picture is not None:
        raise UsageError("Only a card has a picture: --to card.")
    target = Path(os.path.abspath(opened.shell.path(dest)))  # noqa: PTH100  (no link)
    destination.check(target, opened.root, force=force)
    reader = Reader(people.find(opened, person).id) if person is not None else EVERYTHING
    asked = ExportRequest(form, target, reader, picture, tuple(recipient or ()), encrypt)
    data, lines = WRITERS[form](opened, asked)
    data = {"form": form, "to": str(target), "for": reader.id or None, **data}
    output.result(opened.shell, "export", data, [f"Wrote {target}", *lines])


def _pages(opened: Opened, reader: Reader) -> Pages:
    zone, name = opened.zone, opened.identity.name
    pages = memories.collect(opened.entity, zone, name, reader)
    for path in pages.unread:
        output.warn(opened.shell, f"{path} can't be read and was left out: `bumble doctor`.")
    return pages


def _told(pages: Pages) -> tuple[dict[str, Any], list[str]]:
    counts: dict[str, int] = {}
    for page in pages.pages:
        counts[page.kind.key] = counts.get(page.kind.key, 0) + 1
    lines = [f"  {len(pages.pages)} memor{'y' if len(pages.pages) == 1 else 'ies'}"]
    if pages.withheld:
        lines.append(f"  {pages.withheld} that they may not know were left out")
    return {"counts": counts, "withheld": pages.withheld, "unread": pages.unread}, lines


def _okf(opened: Opened, asked: ExportRequest) -> tuple[dict[str, Any], list[str]]:
    pages = _pages(opened, asked.reader)
    owner = relationships.person_id(opened.identity.owner.name or "you")
    texts = memories.bundle(pages, opened.identity.name, owner, asked.reader, opened.shell.now())
    destination.put_folder(asked.dest, texts)
    return _told(pages)


def _markdown(opened: Opened, asked: ExportRequest) -> tuple[dict[str, Any], list[str]]:
    pages = _pages(opened, asked.reader)
    destination.put_folder(asked.dest, memories.copy(pages, opened.identity.name))
    return _told(pages)


def _agent(opened: Opened, asked: ExportRequest) -> tuple[dict[str, Any], list[str]]:
    """Write an agent's files: they know no audiences, so nothing of others goes in unasked."""
    owner = owner_id(opened.entity, opened.identity)
    pages = _pages(opened, asked.reader if asked.reader.id else Reader(owner, is_owner=True))
    made = agents.WRITERS[asked.form](agents.Self(opened.identity, owner, pages))
    destination.put_folder(asked.dest, made.texts)
    data, lines = _told(pages)
    if made.left_out:
        lines.append(f"  {made.left_out} memories had no room there")
    return {**data, "no_room": made.left_out}, lines


def _card(opened: Opened, asked: ExportRequest) -> tuple[dict[str, Any], list[str]]:
    ending = asked.dest.suffix.casefold()
    if ending not in (".png", ".json"):
        raise UsageError("A card is a .png or a .json: name DEST so.")
    pages = _pages(opened, asked.reader if asked.reader.id else STRANGER)
    values = yaml_edit.parse_mapping(disk.read(opened.root / ENTITY_FILE).decode("utf-8-sig"))
    origin = foreign.mapping(foreign.mapping(values.get("x")).get("card"))
    owner = opened.identity.owner.name or "you"
    fields = card.data(opened.identity, origin, pages, owner, opened.shell.now())
    whole = card.as_json(fields) if ending == ".json" else _drawn(opened, asked, fields)
    destination.put_file(asked.dest, whole)
    count = len(fields["character_book"]["entries"])
    lines = [f"  {opened.identity.name}, with {count} entries of a lorebook"]
    if not asked.reader.id:
        lines.append("  Only what is for everybody: --for PERSON adds what that person may know.")
    return {"entries": count}, lines


def _drawn(opened: Opened, asked: ExportRequest, fields: dict[str, Any]) -> bytes:
    if asked.picture is None:
        return card.as_png(fields, card.plain())
    source = opened.shell.path(asked.picture)
    try:
        return card.as_png(fields, disk.read(source))
    except (OSError, ValueError) as error:
        raise UsageError(f"--picture {source}: {error}") from error


def _bundle(opened: Opened, asked: ExportRequest) -> tuple[dict[str, Any], list[str]]:
    encrypted = asked.encrypt or bool(asked.recipients) or asked.dest.suffix == ENCRYPTED
    zone = opened.zone
    gathered = bundle.collect(opened.entity, zone, asked.reader, encrypted=encrypted)
    data = bundle.packed(gathered)
    if encrypted:
        data = _locked(opened, asked, data)
    destination.put_file(asked.dest, data)
    for path, why in gathered.left_out.items():
        output.warn(opened.shell, f"{path} was left out: {why}.")
    for path in gathered.hidden:
        output.warn(
            opened.shell, f"{path}: a secret in it was left out; an encrypted bundle keeps it."
        )
    told = {
        "files": len(gathered.members),
        "encrypted": encrypted,
        "left_out": gathered.left_out,
        "hidden": gathered.hidden,
    }
    return told, [f"  {counted(len(gathered.members), 'file')}, {output.size(len(data))}"]


def _locked(opened: Opened, asked: ExportRequest, data: bytes) -> bytes:
    from bumble.bridges.exports import age  # where nothing is encrypted, no library is loaded

    passphrase = "" if asked.recipients else passphrases.ask(opened.shell, new=True)
    try:
        return age.encrypted(data, asked.recipients, passphrase)
    except ValueError as error:
        raise UsageError(f"--recipient: {error}") from error


WRITERS: dict[str, Callable[[Opened, ExportRequest], tuple[dict[str, Any], list[str]]]] = {
    "card": _card,
    "okf": _okf,
    "markdown": _markdown,
    "bundle": _bundle,
    **dict.fromkeys(memories.AGENTS, _agent),
}
