"""Tags of an episode, without a model: those people wrote, and what has a title in the folder."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bumble.index.memory import Memory
from bumble.recall import survey, topic_mining
from bumble.text import stop_words, tags, words

MOST = 8


def of(memory: Memory, texts: Sequence[str], readers: Collection[str]) -> tuple[str, ...]:
    """Return the tags of what was said.

    Args:
        memory: Whose titles of knowledge, skills and projects count.
        texts: What people said.
        readers: Ids of all who may meet the episode: a title that one may not know is no tag.
    """
    written = [tag for text in texts for tag in tags.in_text(text)]
    language = words.language(" ".join(texts))
    stems = [topic_mining.key_of(text, language) for text in texts]
    named = []
    for title in survey.titles(memory, readers):
        own = title.name.rpartition(topic_mining.PARENT)[2]
        key = topic_mining.key_of(own, language)
        tells = stop_words.telling_words(own)
        if key and tells and any(survey.holds(each, key) for each in stems):
            named.append(own)
    return tags.distinct((*written, *named))[:MOST]
