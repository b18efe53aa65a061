"""`bumble export`, `import`: the entity taken elsewhere, and other programs' files brought in."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from bumble.bridges.exports import agents, bundle, card, destination, memories
from bumble.bridges.imports import foreign, formats, items, source, writer
from bumble.cli import command, listing, opening, output, people, writing
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import ImportInvalidError, RefusedError, UsageError
from bumble.files import disk
from bumble.records import base, relationships
from bumble.records.provenance import EVERYTHING, STRANGER, Reader
from bumble.text import words, yaml_edit

# What became of an export, as JSON and as lines; where it goes, for whom, and a card's picture.
Told = tuple[dict[str, Any], list[str]]
Writer = Callable[[opening.Opened, Path, Reader, Path | None], Told]


@command.reads
def export(
    opened: opening.Opened,
    dest: Annotated[Path, typer.Argument(metavar="DEST", help="The file or folder to make.")],
    *,
    form: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORM",
            help="card, markdown, bundle, openclaw or letta.",
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
) -> None:
    """Take the entity elsewhere: a card, a bundle to read or to keep.

    card: who it is, and what everybody may know, as a PNG or JSON that other programs take.
    markdown: a copy to read, with links, for Obsidian. bundle: everything as one archive, of which
    `bumble new DIR --from FILE` makes the same entity.
    openclaw, letta: a memory folder for that agent, as its owner may know it.
    """
    listing.choice("form", form, WRITERS)
    if form == "bundle" and person is not None:
        raise UsageError("A bundle is everything: --for PERSON goes with another form.")
    if form != "card" and picture is not None:
        raise UsageError("Only a card has a picture: --to card.")
    target = Path(os.path.abspath(opened.shell.path(dest)))  # noqa: PTH100  (no link)
    destination.check(target, opened.root, force=force)
    reader = Reader(people.find(opened, person).id) if person is not None else EVERYTHING
    data, lines = WRITERS[form](opened, target, reader, picture)
    data = {"form": form, "to": str(target), "for": reader.id or None, **data}
    output.result(opened.shell, "export", data, [f"Wrote {target}", *lines])


def _pages(opened: opening.Opened, reader: Reader) -> memories.Pages:
    pages = memories.collect(opened.entity, opened.zone, opened.identity.name, reader)
    for path in pages.unread:
        output.warn(opened.shell, f"{path} can't be read and was left out: `bumble doctor`.")
    return pages


def _told(pages: memories.Pages, written: Sequence[memories.Page]) -> Told:
    counts = Counter(page.kind.key for page in written)
    lines = [f"  {words.counted(len(written), 'memory', 'memories')}"]
    if pages.withheld:
        lines.append(f"  {pages.withheld} that they may not know were left out")
    return {"counts": counts, "withheld": pages.withheld, "unread": pages.unread}, lines


def _markdown(opened: opening.Opened, dest: Path, reader: Reader, picture: Path | None) -> Told:
    pages = _pages(opened, reader)
    destination.put_folder(dest, memories.copy(pages, opened.identity.name))
    return _told(pages, pages.pages)


def _agent(
    form: str, opened: opening.Opened, dest: Path, reader: Reader, picture: Path | None
) -> Told:
    """Write an agent's files: they know no audiences, so nothing of others goes in unasked."""
    owner = opened.owner_id
    pages = _pages(opened, reader if reader.id else Reader(owner, is_owner=True))
    made = agents.AgentFiles(opened.identity, owner, pages)
    agents.WRITERS[form](made)
    destination.put_folder(dest, made.texts)
    data, lines = _told(pages, [page for page in pages.pages if page.path in made.taken])
    rest = (page for page in pages.pages if page.text.strip() and page.path not in made.taken)
    if no_place := Counter(page.kind.plural for page in rest):
        told = ", ".join(f"{what} ({count:,})" for what, count in no_place.items())
        lines.append(f"  This form has no place for {told}")
    return {**data, "no_place": no_place}, lines


def _card(opened: opening.Opened, dest: Path, reader: Reader, picture: Path | None) -> Told:
    ending = dest.suffix.casefold()
    if ending not in (".png", ".json"):
        raise UsageError("A card is a .png or a .json: name DEST so.")
    pages = _pages(opened, reader if reader.id else STRANGER)
    values = yaml_edit.parse_mapping(disk.read(opened.root / ENTITY_FILE).decode("utf-8-sig"))
    origin = foreign.mapping(foreign.mapping(values.get("x")).get("card"))
    fields = card.data(opened.identity, origin, pages, opened.shell.now())
    whole = card.as_json(fields) if ending == ".json" else _drawn(opened, picture, fields)
    destination.put_file(dest, whole)
    count = len(fields["character_book"]["entries"])
    lines = [f"  {opened.identity.name}, with {count} entries of a lorebook"]
    if not reader.id:
        lines.append("  Only what is for everybody: --for PERSON adds what that person may know.")
    return {"entries": count}, lines


def _drawn(opened: opening.Opened, picture: Path | None, fields: dict[str, Any]) -> bytes:
    source = card.PLAIN if picture is None else opened.shell.path(picture)
    try:
        return card.as_png(fields, disk.read(source))
    except (OSError, ValueError) as error:
        raise UsageError(f"--picture {source}: {error}") from error


def _bundle(opened: opening.Opened, dest: Path, reader: Reader, picture: Path | None) -> Told:
    gathered = bundle.collect(opened.entity)
    data = bundle.packed(gathered)
    destination.put_file(dest, data)
    for path, why in gathered.left_out.items():
        output.warn(opened.shell, f"{path} was left out: {why}.")
    for path in gathered.hidden:
        output.warn(opened.shell, f"{path}: a secret in it was left out.")
    told = {
        "files": len(gathered.members),
        "left_out": gathered.left_out,
        "hidden": gathered.hidden,
    }
    return told, [f"  {words.counted(len(gathered.members), 'file')}, {output.size(len(data))}"]


WRITERS: dict[str, Writer] = {
    "card": _card,
    "markdown": _markdown,
    "bundle": _bundle,
    **{form: partial(_agent, form) for form in agents.WRITERS},
}


@command.writes
def import_(
    opened: opening.Opened,
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A zip, a file, or a folder.")],
    *,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help=f"One of {', '.join(formats.BY_NAME)}; else it shows.",
        ),
    ] = None,
    speaker: Annotated[
        str | None,
        typer.Option("--as", metavar="PERSON", help="Whose files these are. Default: the owner."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="DATE", help="Only conversations that went on after this day or time."
        ),
    ] = None,
    dry_run: command.DryRunOption = False,
) -> None:
    """Bring in your history from ChatGPT, Claude and others.

    Also memories of agents, notes and characters.

    Conversations are kept word for word and found at once. Nothing is learnt of them until
    `bumble distill --session ID` says so, and of the person's own words alone. Run it again as
    often as you like: what is there already stays as it is.
    """
    form = form and listing.choice("format", form.strip().casefold(), formats.BY_NAME)
    who = people.speaking(opened, speaker)
    first = listing.moment(since, opened, "--from") if since else None
    place = opened.shell.real_path(path)
    if not place.exists():
        raise UsageError(f"{place}: there is no such file or folder.")
    root = opened.entity.root.resolve()
    if place == root or root in place.parents:
        raise RefusedError(f"{place}: that is part of this very entity\nNothing was imported.")
    origin = base.Provenance(by=writer.BY, audience=(who.id,))
    somebody = relationships.new(who.name, opened.now, provenance=origin, id=who.id)
    file = relationships.PERSON.plan_new(somebody, f"meet {who.name}")
    # somebody new is known by the first that is written, and no longer where that is taken back
    met = [file] * (who.trust != "owner" and not (root / file.path).exists())

    def write(change_set: ChangeSet) -> None:
        writing.apply(
            opened, replace(change_set, changes=(*change_set.changes, *met)), trusts=False
        )
        met.clear()

    bar = partial(output.progress, "importing", opened.shell.environ, in_bytes=True)
    with source.opened(place, bar) as files:
        wanted = formats.BY_NAME[form] if form else formats.detect(files)
        importer = writer.Importer(
            opened.entity,
            who,
            wanted.name,
            (lambda _: None) if dry_run else write,
            opened.shell.now(),
            first,
        )
        context = items.ImportContext(opened.zone, partial(opened.identity.named, person=who.name))
        report = writer.run(wanted.read(files, context), importer)
        for item in files.left_out:
            report.leave(item)
    if not dry_run:
        opening.forget_again(opened, brought_by="The import")
    if not report.read and report.broken:
        broken = [why for why, items in report.left_out.items() if items[0].broken]
        raise ImportInvalidError(place, f"nothing in it could be read: {broken[0]}")
    _show(opened, wanted, report, dry_run=dry_run)


def _show(
    opened: opening.Opened, wanted: formats.Format, report: items.ImportReport, *, dry_run: bool
) -> None:
    data = {"format": wanted.name, "dry_run": dry_run, "changed": report.changed, **report.data()}
    verb = "Would import" if dry_run else "Imported"
    head = f"{verb} from {wanted.title}:" if report.changed else "Nothing new to import."
    lines = [head, *report.lines(wanted.holds)]
    if report.new and not dry_run:
        lines.append(
            "`bumble recall` finds it; `bumble distill --session ID` learns from one, and"
            " `bumble session list` shows their short names."
        )
    output.result(opened.shell, "import", data, lines)
    if dry_run and report.changed:
        output.say("Nothing was written: --dry-run.")
