"""Models that the user brought: of a repository on the hub, or a file that lies on this machine.

Each becomes an entry of the user's own catalog (`models.yaml`), with the hash that it had when it
came first. From then on it is a model as any other, and another hash is an error. A file on this
machine is linked to, not copied.
"""

from __future__ import annotations

import io
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from bumble import patterns
from bumble.errors import UsageError, WeightsMissingError
from bumble.files import disk
from bumble.llm import gguf
from bumble.models.weights import catalog as catalogs
from bumble.models.weights import store

if TYPE_CHECKING:
    from bumble.models.weights.hub import HubFile, HubRepository

HUB = "hf:"  # `hf:OWNER/REPO[:FILE]`: a place on the hub
_FILE = "model.gguf"
_TEMPERATURE = 0.7  # where nobody said at which the model talks well
_UNKNOWN_CONTEXT = 4096  # until its file is here and says
_LOCK_SECONDS = 10.0
_PART_OF_MANY = patterns.compile(r"-\d{5}-of-\d{5}$")


def is_file_name(name: str) -> bool:
    """Tell whether a model's name is a path: it ends in .gguf, or begins as only paths do."""
    return name.lower().endswith(".gguf") or name.startswith(("/", "~", "./", "../", ".\\"))


def of_file(catalog: catalogs.Catalog, path: Path) -> catalogs.CatalogEntry | None:
    """Return the model that a file on this machine became."""
    return next((one for one in catalog if one.sources[0] == catalogs.Local(path)), None)


def from_hub(
    catalog: catalogs.Catalog, repository: HubRepository, file: HubFile
) -> catalogs.CatalogEntry:
    """Return the entry of a file on the hub.

    Raises:
        WeightsMissingError: If it is known and had another hash.
    """
    named = (
        entry
        for entry in catalog
        for source in entry.sources
        if isinstance(source, catalogs.Hub)
        and (source.repo, source.path) == (repository.name, file.path)
    )
    known = next(named, None)
    if known is not None:
        if known.files[0].sha256 != file.sha256:
            raise WeightsMissingError(
                f"hf:{repository.name}:{file.path} is another file than the one first pulled: "
                f"its SHA-256 was {known.files[0].sha256} and is now {file.sha256}.\n"
                f"Nothing was fetched. `bumble model pull {known.name}` gets the one you had; to "
                f"take the new one, delete {known.name} from models.yaml and pull it again."
            )
        return known
    source = catalogs.Hub(repository.name, repository.revision, file.path)
    stem, owner = Path(file.path).stem, repository.name.partition("/")[0]
    return _entry(
        name=_free_name(catalog, stem, f"{owner}-{stem}", f"{stem}-{file.sha256[:12]}"),
        summary=f"Your own, of {repository.name}",
        licence=repository.licence,
        file=catalogs.WeightsFile(_FILE, file.bytes, file.sha256, (source,)),
        context_tokens=repository.context_tokens or _UNKNOWN_CONTEXT,
    )


def as_its_file_says(entry: catalogs.CatalogEntry, path: Path) -> catalogs.CatalogEntry:
    """Return an entry with window and thinking as the weights themselves have them.

    Raises:
        WeightsMissingError: If they are no model that talks.
    """
    head = _head(path)
    run = catalogs.ChatRun(
        _thinking(head.template), entry.chat.temperature if entry.chat else _TEMPERATURE
    )
    return replace(entry, context_tokens=head.context_tokens or entry.context_tokens, chat=run)


def adopt(
    path: Path, catalog: catalogs.Catalog, folder: Path, own: Path, *, anew: bool = False
) -> catalogs.CatalogEntry:
    """Make a model of a file on this machine; it stays where it is.

    Args:
        path: The file.
        catalog: What is known.
        folder: Where weights lie.
        own: The user's own catalog.
        anew: Whether another file than before may lie there.

    Raises:
        UsageError: If there is no such file.
        WeightsMissingError: If it is no model that talks, or another than it was.
    """
    if not path.is_file():
        kind = "is a folder: name the file in it" if path.is_dir() else "there is no such file"
        raise UsageError(f"{path}: {kind}.")
    known = of_file(catalog, path)
    if known is not None and not anew:
        with suppress(WeightsMissingError):  # what differs is told by its hash
            if store.find(folder, known) is not None:
                return known
    sha256 = store.sha256(path)
    if known is not None and not anew and known.files[0].sha256 != sha256:
        raise WeightsMissingError(
            f"{path} is another file than it was: its SHA-256 differs.\n"
            f"If you put it there: `bumble model pull {path}` takes it as it is now."
        )
    entry = as_its_file_says(_of_file(path, sha256, catalog, known), path)
    keep(own, entry)
    _link(path, folder, entry)
    return entry


def keep(own: Path, entry: catalogs.CatalogEntry) -> None:
    """Write an entry into the user's catalog, in place of one of the same name.

    Raises:
        RecordInvalidError: If what is there can't be read as a catalog; it is left as it is.
    """
    from ruamel.yaml import YAML

    with disk.lock(own.with_name(".models.lock"), place=own, timeout_seconds=_LOCK_SECONDS):
        if own.exists():
            catalogs.load(own)  # says what is wrong with it, and where
        yaml = YAML(typ="rt")
        yaml.width = 200
        yaml.indent(mapping=2, sequence=4, offset=2)
        new = "schema: 1\nmodels: []\n"
        data = yaml.load(own.read_text(encoding="utf-8") if own.exists() else new)
        models = data["models"]
        places = [place for place, one in enumerate(models) if one["name"] == entry.name]
        if places:
            models[places[0]] = _node(entry)
        else:
            models.append(_node(entry))
        stream = io.StringIO()
        yaml.dump(data, stream)
        disk.write_atomic(own, stream.getvalue().encode())


def _entry(
    *, name: str, summary: str, licence: str, file: catalogs.WeightsFile, context_tokens: int
) -> catalogs.CatalogEntry:
    return catalogs.CatalogEntry(
        name=name,
        kind="chat",
        summary=summary,
        licence=licence,
        context_tokens=context_tokens,
        memory_mb=catalogs.needed_mb(file.bytes),
        files=(file,),
        chat=catalogs.ChatRun("none", _TEMPERATURE),
    )


def _of_file(
    path: Path, sha256: str, catalog: catalogs.Catalog, known: catalogs.CatalogEntry | None
) -> catalogs.CatalogEntry:
    head = _head(path)
    if _PART_OF_MANY.search(path.stem):
        raise UsageError(
            f"{path}: this is one part of several.\n"
            "Put them together first: llama-gguf-split --merge FIRST-PART WHOLE.gguf"
        )
    # Ollama names its files by their hashes: the model's own name tells a person more.
    is_blob = path.stem.startswith("sha256-")
    stem = (head.name or path.stem[:19]) if is_blob else path.stem
    return _entry(
        name=known.name if known else _free_name(catalog, stem, f"{stem}-{sha256[:12]}"),
        summary=f"Your own, {path.name if len(path.name) <= 60 else path.parent}",
        licence=head.licence or "not stated",
        file=catalogs.WeightsFile(_FILE, path.stat().st_size, sha256, (catalogs.Local(path),)),
        context_tokens=_UNKNOWN_CONTEXT,
    )


def _head(path: Path) -> gguf.Head:
    try:
        head = gguf.head(path)
    except (OSError, ValueError) as error:
        raise WeightsMissingError(
            f"{path}: can't be read as weights: {error}\n"
            "A model that bumble runs itself is a whole GGUF file."
        ) from error
    if head.architecture == "clip":
        raise WeightsMissingError(
            f"{path}: this reads pictures for another model, and can't talk.\n"
            "Name the model's own file; it lies beside it."
        )
    return head


def _thinking(template: str) -> catalogs.Thinking:
    if "enable_thinking" in template:
        return "switch"
    return "always" if "<think>" in template else "none"


def _free_name(catalog: catalogs.Catalog, *wanted: str) -> str:
    """Return the first of some names that no model has; the last is taken as it is."""
    taken = {entry.name for entry in catalog}
    names = [re.sub(r"[^a-z0-9._-]+", "-", one.lower()).strip("._-")[:64] for one in wanted]
    return next((name for name in names if name and name not in taken), names[-1])


def _link(path: Path, folder: Path, entry: catalogs.CatalogEntry) -> None:
    place, parts = folder / entry.name, folder / f"{entry.name}{store.PART}"
    disk.make_folder(folder)
    with disk.translate_os_errors(place):
        for old in (parts, place):
            if old.exists():
                shutil.rmtree(old)
        parts.mkdir()
        try:
            (parts / _FILE).symlink_to(path)
        except OSError:  # Windows lets only some people make links
            shutil.copyfile(path, parts / _FILE)
        store.seal(parts, entry, str(path), {})
        parts.rename(place)


def _node(entry: catalogs.CatalogEntry) -> dict[str, Any]:
    """Write an entry as the catalog's YAML has it."""
    return {
        "name": entry.name,
        "kind": entry.kind,
        "summary": entry.summary,
        "licence": entry.licence,
        "context_tokens": entry.context_tokens,
        "memory_mb": entry.memory_mb,
        "files": [
            {
                "name": file.name,
                "bytes": file.bytes,
                "sha256": file.sha256,
                "sources": [
                    {"hub": asdict(one)} if isinstance(one, catalogs.Hub) else {"file": str(one)}
                    for one in file.sources
                ],
            }
            for file in entry.files
        ],
        "chat": {
            "thinking": entry.chat.thinking if entry.chat else "none",
            "temperature": entry.chat.temperature if entry.chat else _TEMPERATURE,
        },
    }
