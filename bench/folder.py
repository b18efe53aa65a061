"""How an entity's folder reads: text against front matter by kind, and what is told how often.

    uv run python -m bench.folder FOLDER [FOLDER…]

Prints for each folder, by kind: files, characters of text and of front matter, their ratio, and the
most lines of front matter that a file has. Below, the comments in `knowledge.md`, and the sentences
that people said which stand in more than two files outside of `sessions/`.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

from bumble.records import kinds, session_files
from bumble.text import markdown, words

LEAST_WORDS = 5  # of a sentence that is looked for
MOST_FILES = 2


def main() -> None:
    """Measure and print."""
    for name in sys.argv[1:]:
        measure(Path(name))


def measure(folder: Path) -> None:
    """Measure one folder."""
    texts = {
        path: path.read_text("utf-8")
        for path in sorted(folder.rglob("*.md"))
        if path.relative_to(folder).parts[0] not in ("sessions", ".history", ".bumble")
    }
    of_kind: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for path, text in texts.items():
        kind = kinds.of_path(path.relative_to(folder).as_posix())
        if kind is not None:
            document = markdown.parse(text)
            front = text[document.meta_start : document.meta_end]
            of_kind[kind.plural].append((len(document.body), len(front), len(front.splitlines())))
    print(f"{folder}")
    for plural, rows in of_kind.items():
        told, above = (sum(row[n] for row in rows) for n in (0, 1))
        ratio = f"{told / above:5.1f}" if above else "  all"
        most = max(row[2] for row in rows)
        print(f"  {plural:24} {len(rows):3} files {told:6} : {above:5} = {ratio}, ≤ {most} lines")
    comments = texts.get(folder / "knowledge.md", "").count("<!--")
    print(f"  comments in knowledge.md: {comments}")
    for sentence, count in sorted(told_often(folder, list(texts.values())).items()):
        print(f"  in {count} files: {sentence}")


def told_often(folder: Path, texts: list[str]) -> dict[str, int]:
    """Return the sentences of people that stand in more files than they should."""
    said = {
        sentence
        for path in session_files.paths(folder / "sessions")
        for message in session_files.load(path).messages
        if message.role == "user"
        for sentence in words.sentences(message.text)
        if len(sentence.split()) >= LEAST_WORDS
    }
    plain = [re.sub(r"\s+", " ", text) for text in texts]
    counts = {sentence: sum(sentence in text for text in plain) for sentence in said}
    return {sentence: count for sentence, count in counts.items() if count > MOST_FILES}


if __name__ == "__main__":
    main()
