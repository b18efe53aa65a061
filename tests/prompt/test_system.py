from __future__ import annotations

from string import Template
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bumble.chat import tool_list
from bumble.entity.config import Identity, Owner, Persona
from bumble.llm import prompts
from bumble.llm.protocol import Block, Tool
from bumble.prompt import system
from bumble.prompt.system import BootstrapFile
from bumble.records import knowledge, skills

ADA = Identity(1, "Ada", "Europe/Lisbon", Owner("Sam"), Persona("curious", "I am Ada.", "Plain."))
BOOK = knowledge.parse("## [locked] Rules\n\nBe kind.\n\n## Sam\n\nHas a dog.\n")
BREAD = skills.SKILL.parse(
    "---\nname: Bake bread\ndescription: a plain loaf\n---\n\nKnead.\n", "bread"
)


def stable(
    identity: Identity = ADA,
    declared: tuple[Tool, ...] = tool_list.DECLARED,
    book: knowledge.Knowledge = BOOK,
    story: str = "",
    skill: skills.Skill = BREAD,
    **more: Any,
) -> system.Stable:
    return system.stable(identity, declared, [skill], book, story, **more)


@pytest.mark.parametrize(
    "changed",
    [
        stable(replace(ADA, name="Bea")),
        stable(replace(ADA, timezone="Asia/Tokyo")),
        stable(replace(ADA, owner=Owner("Kim"))),
        stable(replace(ADA, identity=replace(ADA.identity, monologue="I am somebody else."))),
        stable(replace(ADA, identity=replace(ADA.identity, voice="Loud."))),
        stable(declared=tool_list.DECLARED[:-1]),
        stable(book=knowledge.parse("## [locked] Rules\n\nBe kinder.\n")),
        stable(story="It was a long year."),
        stable(skill=skills.SKILL.parse("---\nname: Bake bread\n---\n\nKnead.\n", "bread")),
        stable(own_files=(BootstrapFile("GENOME.md", "OK", 4, "Tea."),)),
        stable(mood="curious"),
    ],
)
def test_a_change_of_anything_it_renders_gives_a_new_fingerprint(changed: system.Stable) -> None:
    assert changed.sha256 != stable().sha256


def test_unlocked_knowledge_and_bodies_of_skills_are_not_in_the_stable_part() -> None:
    text = stable().text
    assert "Be kind." in text
    assert "Has a dog." not in text
    assert "- Bake bread (skills/bread.md): a plain loaf" in text
    assert "Knead." not in text


@given(st.lists(st.integers(0, 2000), max_size=6), st.integers(1, 800))
def test_the_preamble_keeps_its_budget_except_for_its_first_block(
    sizes: list[int], budget: int
) -> None:
    blocks = [Block("now", "Now: Tuesday.")]
    blocks += [
        Block(str(n), "\n".join(["head", *["x" * 40] * (s // 40)])) for n, s in enumerate(sizes)
    ]
    kept = system.fitting(blocks, budget, keeps_first=True)
    assert kept[0] == blocks[0]
    assert sum(block.tokens for block in kept[1:]) <= budget


@pytest.mark.parametrize(
    ("left", "lines"),
    [
        (40, ["<memory>", "Your notes:", "## About", "We spoke of bread.", "", "## Open", "x"]),
        (14, ["<memory>", "Your notes:", "## About", "We spoke of bread."]),
        (8, []),
    ],
)
def test_a_block_that_is_cut_ends_with_no_heading_that_has_nothing_below(
    left: int, lines: list[str]
) -> None:
    text = "<memory>\nYour notes:\n## About\nWe spoke of bread.\n\n## Open\nx\n</memory>"
    cut = system.cut_block(Block("handover", text), left)
    assert (cut.text.split("\n")[:-1] if cut else []) == lines


@pytest.mark.parametrize("name", sorted(path.stem for path in prompts.FOLDER.glob("*.md")))
def test_every_prompt_names_its_slots(name: str) -> None:
    loaded = prompts.load(name)
    assert {*Template(loaded.text).get_identifiers()} == {*loaded.slots}
    with pytest.raises(ValueError, match="takes"):
        loaded.fill(unknown="x")
    filled = loaded.fill(**{slot: f"<{slot}>" for slot in loaded.slots})
    assert all(f"<{slot}>" in filled for slot in loaded.slots)
