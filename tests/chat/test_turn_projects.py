from __future__ import annotations

from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.records import projects, self_model
from bumble.records.base import Provenance
from tests.support import lives
from tests.support.turns import act, say, talk

FLAGS = {"tools.projects": True, "cognition.gate.enabled": False}
BOAT = {"title": "The boat", "status": "active", "why": "To sail.", "next": "sand it\npaint it"}


def put(ada: Entity, title: str, *audience: str) -> None:
    values = {"next": ("sand it",), "tags": ("dinghy",)}
    origin = Provenance("project add", audience=audience)
    change = projects.plan_new(title, values, "To sail.", "begin", provenance=origin)
    file = ada.root / change.path
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(change.data or b"")


def prompt_for(ada: Entity, text: str, clock: lives.Clock | None = None) -> str:
    model = ScriptedModel([say("Yes.")])
    talk(lives.runtime_of(ada, model, clock), text, new=True)
    return model.requests[0].messages[-1].content


def test_a_project_is_in_the_preamble_only_when_the_message_is_about_it(ada: Entity) -> None:
    put(ada, "The wooden boat")
    clock = lives.Clock()
    assert "Next: sand it" in prompt_for(ada, "How does the boat look, the wooden one?", clock)
    assert "Next: sand it" in prompt_for(ada, "Is the dinghy dry?", clock)
    assert "Next: sand it" not in prompt_for(ada, "How was the evening?", clock)


def test_a_project_of_others_stays_with_them(ada: Entity) -> None:
    put(ada, "The wooden boat", "kim")
    assert "sand it" not in prompt_for(ada, "How does the wooden boat look?")


def test_tools_begin_update_and_list_a_project(ada: Entity) -> None:
    replies = [
        *(act("update_project", **BOAT), say("Begun.")),
        *(act("update_project", **{**BOAT, "next": "paint it", "why": ""}), say("Good.")),
        *(act("list_projects", filter=""), say("That is all.")),
    ]
    runtime = lives.runtime_of(ada, ScriptedModel(replies), flags=FLAGS)
    talk(runtime, "The boat: I want to sail it. Sand it, then paint it.")
    talk(runtime, "The boat is sanded; paint it.")
    done = talk(runtime, "What is there to do?")
    assert "The boat (active): To sail." in done.outcome.steps[0].results[0].text
    project = projects.PROJECT.load(ada.root / "projects/the-boat.md")
    assert (project.steps, project.why) == (("paint it",), "To sail.")
    assert (project.people, project.provenance.audience) == (("sam",), ("sam",))


def test_how_tools_served_is_counted_and_said_where_it_helps(ada: Entity) -> None:
    failing = [act("read_skill", name="none"), say("No.")] * 3
    clock = lives.Clock()
    runtime = lives.runtime_of(ada, ScriptedModel(failing), clock, FLAGS)
    for _ in range(3):
        talk(runtime, "Please read the note about how we always cook our soup at home.")
    served = self_model.tools(self_model.read(ada.self_model))
    assert (served["read_skill"].used, served["read_skill"].failed) == (3, 3)
    assert "say" not in served
    asked = f"Explain in detail how the notes on cooking differ from those on {'the ' * 20}baking."
    assert "`read_skill` failed 3 of 3 times" in prompt_for(ada, asked, clock)
    assert "`read_skill` failed" not in prompt_for(ada, "Hi!", clock)
    model = ScriptedModel([say("Hm.")])
    talk(lives.runtime_of(ada, model, clock, FLAGS), asked, "Kim")
    assert "`read_skill` failed" not in str(model.requests[0])
