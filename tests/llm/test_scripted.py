from __future__ import annotations

from pathlib import Path

import pytest

from bumble.errors import AnswerInvalidError, RecordInvalidError
from bumble.llm import scripted
from bumble.llm.protocol import Model, PromptMessage, Request
from bumble.llm.scripted import ScriptedModel

SCRIPT = """\
- Hello, I am Ada.
- {purpose: distill, json: {beliefs: []}}
- I said so before.
- {contains: weather, text: It rains., always: true}
- {purpose: look, finish_reason: length, json: {actions: []}}
"""


def ask(text: str, *, before: int = 0, purpose: str = "chat") -> Request:
    history = [PromptMessage("user", "?"), PromptMessage("assistant", "!")] * before
    return Request([*history, PromptMessage("user", text)], purpose=purpose)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "script.yaml"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def test_a_conversation_goes_on_in_another_process(path: Path) -> None:
    model: Model = ScriptedModel(scripted.read(path))
    assert model.complete(ask("Hi")).text == "Hello, I am Ada."
    another = ScriptedModel(scripted.read(path))
    assert another.complete(ask("And?", before=1)).text == "I said so before."


def test_rules_answer_by_purpose_and_by_what_is_asked(path: Path) -> None:
    model = ScriptedModel(scripted.read(path))
    assert model.complete(ask("x", purpose="distill")).text == '{"beliefs": []}'
    assert model.complete(ask("The weather?", before=5)).text == "It rains."
    assert model.complete(ask("The weather?", before=6)).text == "It rains."
    looked = model.complete(ask("x", purpose="look"))
    assert (looked.finish_reason, looked.text) == ("length", '{"actions": []}')


def test_a_spent_script_says_what_it_was_asked(path: Path) -> None:
    model = ScriptedModel(scripted.read(path))
    model.complete(ask("x", purpose="distill"))
    with pytest.raises(AnswerInvalidError, match="no answer left for distill: 'again'"):
        model.complete(ask("again", purpose="distill"))


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("text: x", "list of replies"),
        ("- 3", "neither a text nor a rule"),
        ("- {txt: x}", "reply 1: .*unknown field `txt`"),
        ("- {text: x, finish_reason: done}", "reply 1: .*finish_reason"),
        ("- a\n- {b: [", "script.yaml:2: "),
    ],
)
def test_a_bad_script_is_an_error_that_names_the_file(
    tmp_path: Path, source: str, says: str
) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(source, encoding="utf-8")
    with pytest.raises(RecordInvalidError, match=says) as caught:
        scripted.read(path)
    assert str(path) in str(caught.value)
