from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bumble.body import appraisal
from bumble.chat import completion_gate, loop, tool_list
from bumble.entity.config import ToolsConfig
from bumble.jobs import ask, evolve, narrate, portrait, working_memory
from bumble.llm import openai_format
from bumble.models import probe
from bumble.recall import deep_recall, topic_questions
from bumble.text.schema import closed

LABELS = ["m1", "m2"]
PROBED = next(case.request.schema for case in probe.load("en") if case.request.schema)
CLOSED = {
    "stretch": ask.schema(LABELS, LABELS, 80),
    "appraisal": appraisal.form(),
    "evolve": evolve.schema(["warm"], LABELS),
    "narrate": narrate.schema(LABELS),
    "musings": closed({"t1": topic_questions.questions(LABELS)}),
    "working memory": working_memory.schema(),
    "judge": completion_gate.SCHEMA,
    "probe": PROBED,
    "speech": loop.schema(tool_list.DECLARED, speech_only=True),
}
# what may be left out stays as it was, or is not looked for
OPEN = {
    "portrait": portrait.schema(),
    "deep recall": deep_recall.SCHEMA,
    "tools": loop.schema(
        tool_list.declared(ToolsConfig(files=True, run_command=True, deep_recall=True))
    ),
}


@pytest.mark.parametrize("name", CLOSED)
def test_what_openai_enforces_is_what_it_takes(name: str) -> None:
    assert openai_format.is_strict(CLOSED[name] or {})


@pytest.mark.parametrize("name", OPEN)
def test_where_fields_may_be_left_out_the_rest_would_do(name: str) -> None:
    assert not openai_format.is_strict(OPEN[name])
    assert openai_format.is_strict(_filled(OPEN[name]))


def _filled(schema: Any) -> Any:
    """Return a schema whose objects require all that they may have."""
    if isinstance(schema, list):
        return list(map(_filled, schema))
    if not isinstance(schema, Mapping):
        return schema
    whole = {key: _filled(part) for key, part in schema.items()}
    return {**whole, "required": list(whole["properties"])} if "properties" in whole else whole
