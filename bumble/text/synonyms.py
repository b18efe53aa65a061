"""Words that people say for one thing, by language: who asks for `mother` was told of `mum`.

`synonyms/xx.yaml` has a group a line, of single words. A language without a file has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

from bumble.text import words, yaml_read

FOLDER = resources.files(__package__).joinpath("synonyms")


def stem(word: str, language: str) -> str:
    """Return the stem of a word, or of the first in its group: the same for all that mean it.

    Args:
        word: Case folded.
        language: Its code: `de`.
    """
    own = words.stem(word, language)
    return groups(language).get(own, own)


@cache
def groups(language: str) -> Mapping[str, str]:
    """Return the stem of the first word of a group by that of each of them; the first group counts.

    Raises:
        ValueError: If the file of the language is no list of groups.
    """
    file = FOLDER.joinpath(f"{language}.yaml")
    if not file.is_file():
        return {}
    rows = yaml_read.parse(file.read_text(encoding="utf-8"))
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
        raise ValueError(f"synonyms/{language}.yaml should be a list of words with commas between")
    by_stem: dict[str, str] = {}
    for row in rows:
        stems = [words.stem(word.strip().casefold(), language) for word in row.split(",")]
        for each in stems:
            by_stem.setdefault(each, stems[0])
    return by_stem
