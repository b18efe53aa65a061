"""The documentation as a small site, from the same Markdown: `just site`.

Gathers README, the pages of docs/ and those at the top in one folder, with links that fit there,
and has zensical build them; a link that leads nowhere ends it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from release.contents import ROOT

OUT = ROOT / "dist" / "site"
TOP = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LINK = re.compile(r"(\[[^\]]*\])\(([^)\s]+)\)")
HEAD = re.compile(r"^#+ (.+?)\s*$", re.MULTILINE)
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CONFIG = """\
[project]
site_name = "bumble"
site_description = "A life in a folder"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
[project.theme]
font = false  # nothing is fetched from elsewhere by who reads
"""


def pages() -> dict[str, Path]:
    """Return the Markdown of the site, by its name there."""
    docs = {path.name: path for path in sorted((ROOT / "docs").glob("*.md"))}
    return {"index.md": ROOT / "README.md", **docs, **{name: ROOT / name for name in TOP}}


def pictures() -> list[Path]:
    """Return the pictures that pages show."""
    return sorted((ROOT / "docs").glob("*.png"))


def broken(text: str, file: Path) -> list[str]:
    """Name the links of a page that lead to no file, or to no heading in it."""
    found = []
    for _, link in LINK.findall(FENCE.sub("", text)):
        path, _, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        there = (file.parent / path).resolve() if path else file
        is_page = there.suffix == ".md" and there.is_file()
        if not there.exists() or (anchor and is_page and anchor not in anchors(there)):
            found.append(f"{file.relative_to(ROOT)}: {link}")
    return found


def anchors(file: Path) -> set[str]:
    """Return the names of a page's headings, as links say them."""
    heads = HEAD.findall(FENCE.sub("", file.read_text("utf-8")))
    plain = (re.sub(r"[^\w\- ]", "", head.replace("`", "")).strip().lower() for head in heads)
    return {head.replace(" ", "-") for head in plain}


def for_site(text: str, file: Path) -> str:
    """Rewrite the links of a page for the folder in which all pages lie side by side."""
    there = {path.resolve(): name for name, path in pages().items()}

    def moved(match: re.Match[str]) -> str:
        path, hash_sign, anchor = match[2].partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return match[0]
        target = (file.parent / path).resolve()
        if target in pictures():
            return match[0]
        if target not in there:  # a file of the code, which the site does not have
            return match[1][1:-1]
        return f"{match[1]}({there[target]}{hash_sign}{anchor})"

    return LINK.sub(moved, text)


def main() -> int:
    """Gather the pages, and build."""
    listed = pages()
    if found := [
        link for file in listed.values() for link in broken(file.read_text("utf-8"), file)
    ]:
        print("links that lead nowhere:", *found, sep="\n  ")
        return 1
    shutil.rmtree(OUT, ignore_errors=True)
    (OUT / "pages").mkdir(parents=True)
    for name, file in listed.items():
        (OUT / "pages" / name).write_text(for_site(file.read_text("utf-8"), file), "utf-8")
    for picture in pictures():
        shutil.copy(picture, OUT / "pages" / picture.name)
    (OUT / "zensical.toml").write_text(CONFIG, "utf-8")
    command = ["zensical", "build", "--clean", "--strict"]
    return subprocess.run(command, cwd=OUT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
