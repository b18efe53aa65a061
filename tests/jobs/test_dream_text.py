from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.body import noise
from bumble.jobs import dream
from bumble.jobs.dream import FRAGMENT_MAX_CHARS, MAX_FRAGMENTS, THREAD_MAX_CHARS

LINES = ("the stairs breathe", "i carry a lake in my coat", "somebody counts the moons")
THREAD = "what is carried becomes the carrier"
STYLES = {
    "plain": "FRAGMENTS\n{0}\n{1}\n{2}\n\nTHREAD\n{t}",
    "colons": "FRAGMENTS:\n- {0}\n- {1}\n- {2}\n\nTHREAD: {t}",
    "markdown": "## Fragments\n\n* {0}\n* {1}\n* {2}\n\n## Thread\n\n{t}\n",
    "bold": "**FRAGMENTS**\n1. {0}\n2. {1}\n3. {2}\n\n**THREAD:** {t}",
    "bold inside": "**Fragments:**\n- **{0}**\n- *{1}*\n- _{2}_\n\n**Thread**\n*{t}*",
    "brackets": "[FRAGMENTS]\n• {0}\n• {1}\n• {2}\n[THREAD]\n{t}",
    "counted": "FRAGMENTS (3-6):\n1) {0}\n2) {1}\n3) {2}\nTHREAD - {t}",
    "quotes": 'Fragments:\n"{0}"\n“{1}”\n«{2}»\nThread:\n"{t}"',
    "numbered parts": "1. FRAGMENTS\n- {0}\n- {1}\n- {2}\n2. THREAD\n{t}",
    "named": "FRAGMENTS\nFragment 1: {0}\nFragment 2: {1}\nFragment 3: {2}\nTHE THREAD: {t}",
    "thinking": "<think>\nFRAGMENTS\n- no\nTHREAD\nno</think>\nFRAGMENTS\n- {0}\n- {1}\n- {2}\n"
    "THREAD\n{t}",
    "chatter": "Sure, here is the dream:\n\nFRAGMENTS\n- {0}\n- {1}\n- {2}\n\nTHREAD\n{t}\n\n"
    "Let me know if you want another one!",
    "no first heading": "- {0}\n- {1}\n- {2}\n\nThread: {t}",
    "seed": "FRAGMENTS\n\n  {0}\n  {1}\n  {2}\n\n*thread: {t}*",
    "fence": "```\nFRAGMENTS\n- {0}\n- {1}\n- {2}\nTHREAD\n{t}\n```",
    "windows": "FRAGMENTS\r\n- {0}\r\n- {1}\r\n- {2}\r\n\r\nTHREAD\r\n{t}\r\n",
    "marks": "FRAGMENTS\n- [dream] {0}\n- [dream] {1}\n> {2}\nTHREAD\n{t}",
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_both_parts_are_found_in_every_style(style: str) -> None:
    found = dream.parse(style.format(*LINES, t=THREAD))
    assert found.fragments == LINES
    assert found.thread == THREAD
    assert found.whole


@pytest.mark.parametrize(
    ("text", "fragments", "thread"),
    [
        ("FRAGMENTS\n- a lake\n- a coat\n- a moon", 3, ""),
        ("THREAD\nall is one", 0, "all is one"),
        ("I am sorry, I can't dream.", 0, ""),
        ("", 0, ""),
        ("<think>I should dream of", 0, ""),
        ("FRAGMENTS\n- a lake\nTHREAD\nall is one", 1, "all is one"),
        ("FRAGMENTS\n---\n***\nTHREAD\n...", 0, ""),
        ("FRAGMENTS\n- a thread of light\n- 3.5 moons\n- 12:30, no hands\nTHREAD: so", 3, "so"),
    ],
)
def test_a_part_that_is_not_there_is_empty(text: str, fragments: int, thread: str) -> None:
    found = dream.parse(text)
    assert (len(found.fragments), found.thread) == (fragments, thread)
    assert found.empty == (not fragments and not thread)


def test_too_many_and_too_long_is_cut() -> None:
    rows = "\n".join(f"- image {n} {'of water ' * 60}" for n in range(9))
    found = dream.parse(f"FRAGMENTS\n{rows}\nTHREAD\n{'and on ' * 200}")
    assert len(found.fragments) == MAX_FRAGMENTS
    assert max(map(len, found.fragments)) <= FRAGMENT_MAX_CHARS
    assert len(found.thread) <= THREAD_MAX_CHARS
    assert found.thread.endswith("on…")


pieces = st.lists(
    st.one_of(
        st.sampled_from(
            ["FRAGMENTS", "THREAD:", "\n", "- ", "**", "<think>", "</think>", "[dream]"]
        ),
        st.sampled_from(["1. ", "#", "`", "_", "a wave", "THREAD", "=", "fragment 2", "[dream]"]),
        st.text(max_size=12),
    ),
    max_size=30,
)


@given(pieces)
def test_any_answer_can_be_read_and_what_is_found_can_be_kept(parts: list[str]) -> None:
    found = dream.parse("".join(parts))
    assert len(found.fragments) <= MAX_FRAGMENTS
    for line in (*found.fragments, found.thread):
        assert "\n" not in line
        assert line == line.strip()
    for line in found.fragments:
        assert noise.fragment(line, noise.DREAM, 0.5, datetime.now(UTC)).text
