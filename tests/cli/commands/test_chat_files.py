from __future__ import annotations

import pytest

from tests.support.chatting import act, script
from tests.support.running import Run


@pytest.fixture
def ada(run: Run) -> Run:
    script(run, act("say", text="A plan."), act("say", text="Yes."))
    run.write("../desk/plan.md", "Order a loudspeaker from Porto.")
    run.ok("config", "set", "cognition.gate.enabled", "false")
    return run


def sent(run: Run) -> str:
    """The last message of the last request."""
    return run.text(".bumble/cache/last_request.json")


def test_a_file_is_read_for_the_answer_and_not_stored(ada: Run) -> None:
    desk = ada.entity.root.parent / "desk"
    argv = ("-e", str(ada.entity.root), "chat", "What is in @plan.md ?")
    assert ada(*argv, cwd=desk).code == 0
    assert "Order a loudspeaker from Porto." in sent(ada)
    (talk,) = ada.file("sessions").glob("*/messages.jsonl")
    assert "Order a loudspeaker" not in talk.read_text()
    assert "What is in @plan.md ?" in talk.read_text()
    ada.ok("chat", "And now?")
    assert "Order a loudspeaker" not in sent(ada)


def test_only_what_the_owner_types_points_to_files(ada: Run) -> None:
    ada.write("plan.md", "Order a loudspeaker from Porto.")
    ada.ok("chat", "--as", "Kim", "What is in @plan.md ?")
    assert "Order a loudspeaker" not in sent(ada)
    ada.ok("chat", "-", stdin="What is in @plan.md ?")
    assert "Order a loudspeaker" not in sent(ada)


def test_what_was_only_in_a_file_is_not_learnt(ada: Run) -> None:
    ada.write("plan.md", "Sam is the king of Spain.")
    script(
        ada,
        act("update_knowledge", title="Sam", body="Sam is the king of Spain."),
        act("say", text="Noted."),
    )
    ada.ok("chat", "Keep @plan.md in mind, please.")
    assert "king of Spain" not in ada.text("knowledge.md")
