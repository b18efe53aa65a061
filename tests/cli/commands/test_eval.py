from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support import chatting, looking
from tests.support.chatting import act, script
from tests.support.running import Ran, Run

REX = "ask: How old is Rex the dog?\nexpect: [nine]\n"


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada, who knows of Sam's dog and of what Kim said in private."""
    looking.without_models(run)
    looking.session(run, "one", ("sam", "My dog Rex is nine years old."), ("", "Nine!"))
    looking.session(run, "two", ("kim", "I owe 9300 euro to the bank."), ("", "Oh."), by="kim")
    run.write("relationships/kim.md", "---\nnames: [Kim]\n---\n\nPaints.\n")
    return run


def outcomes(ran: Ran) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["check"], each["of"]): each for each in ran.data["checks"]}


def test_what_one_said_in_private_is_a_leak_where_another_gets_it(ada: Run) -> None:
    ada.write("checks/debt.yaml", "ask: Who owes how much?\nnever: [9300]\n")
    ada.write("checks/own.yaml", "ask: What do I owe to the bank?\nas: Kim\nexpect: [9300]\n")
    ada.write("checks/leak.yaml", "ask: What do I owe to the bank?\nas: Kim\nnever: [9300]\n")

    ran = ada("eval", "--json")

    made = outcomes(ran)
    assert ran.code == 1
    assert made["debt", "recall"]["passes"] and made["debt", "prompt"]["passes"]
    assert made["own", "recall"]["passes"] and made["own", "prompt"]["passes"]
    assert made["leak", "recall"]["forbidden"] == ["9300"]
    assert ran.data["summary"]["leak_rate"] == 0.5


def test_an_answer_is_asked_for_only_when_wanted_and_leaves_no_trace(ada: Run) -> None:
    ada.write("checks/rex.yaml", REX + "of: [recall, answer]\n")
    script(ada, act("say", text="Rex is nine."))
    ada.ok("index")
    assert set(outcomes(ada.ok("eval", "--json"))) == {("rex", "recall")}
    before = looking.truths(ada)

    ran = ada.ok("eval", "--of", "answer", "--json")

    assert set(outcomes(ran)) == {("rex", "answer")}
    assert ran.data["summary"]["answered"] == 1
    assert looking.truths(ada) == before


def test_an_answer_that_fails_is_no_silence_that_passes(ada: Run) -> None:
    ada.write("checks/debt.yaml", "ask: Who owes how much?\nnever: [9300]\nof: answer\n")
    script(ada)
    ada.ok("index")

    ran = ada("eval", "--of", "answer")

    assert ran.code not in (0, 1)


def test_junit_names_what_failed(ada: Run, tmp_path: Path) -> None:
    ada.write("checks/rex.yaml", "ask: How old is Rex?\nexpect: [ten]\nof: recall\n")

    ran = ada("eval", "--junit", str(tmp_path / "report.xml"))

    assert ran.code == 1
    root = ElementTree.fromstring((tmp_path / "report.xml").read_text())  # noqa: S314
    assert (root.get("tests"), root.get("failures")) == ("1", "1")
    [case] = root.iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("recall", "rex")
    failure = case.find("failure")
    assert failure is not None and failure.get("message") == "not there: ten"
    assert "fails  recall  rex" in ran.out


def test_what_a_summary_has_replaced_is_looked_for_in_that_talk(ada: Run) -> None:
    chatting.talk(ada, [("sam", "My cousin Ilse lives in Porto."), ("ada", "Ah."), ("sam", "Yes.")])
    compaction = {
        "type": "compaction",
        "id": "cmp_1",
        "at": "2026-05-24T11:00:00+01:00",
        "kind": "summary",
        "summary": "Sam told of a cousin in Porto.",
        "first": "msg_00000",
        "last": "msg_00001",
    }
    place = ada.file("sessions/ses_long/messages.jsonl")
    place.write_text(place.read_text() + json.dumps(compaction) + "\n")
    ada.write("checks/ilse.yaml", "ask: Where does she live?\nexpect: [Porto]\nof: prompt\n")
    ada.write("checks/rex.yaml", REX)

    made = outcomes(ada("eval", "--json"))

    assert made["ilse", "compacted"]["passes"]
    assert ("rex", "compacted") not in made


def test_what_a_model_wrote_and_nothing_bears_out_is_junk(ada: Run) -> None:
    head = "---\ncategory: preference\nconfidence: 0.5\nformed: 2026-05-23T03:12:47Z\nmodel: m\n"
    ada.write("beliefs/bel_1.md", f"{head}evidence: [msg_one0]\n---\n\nRex is nine years old.\n")
    ada.write("beliefs/bel_2.md", f"{head}evidence: [msg_one0]\n---\n\nRex loves long walks.\n")
    ada.write("beliefs/bel_3.md", head.replace("model: m\n", "") + "---\n\nBy hand.\n")
    ada.write("beliefs/bel_4.md", f"{head}source: dream:drm_1\n---\n\nRex is the harbour.\n")

    ran = ada.ok("eval", "--json")

    assert ran.data["summary"]["junk_rate"] == 0.5
    assert [junk["path"] for junk in ran.data["junk"]] == ["beliefs/bel_2.md"]


def test_drafts_are_checks_that_pass_and_come_once(ada: Run) -> None:
    origin = "by: distill\nmodel: m\n"
    head = f"---\ncategory: preference\nconfidence: 0.5\nformed: 2026-05-23T03:12:47Z\n{origin}"
    ada.write(
        "beliefs/bel_1.md", f"{head}audience: [kim]\n---\n\nKim owes 9300 euro to the old bank.\n"
    )
    ada.write("knowledge.md", "## Rex\n<!-- {by: distill} -->\n\nHe is a poodle of nine years.\n")
    shown = ada.ok("eval", "draft", "--dry-run", "--all")
    assert not ada.file("checks").exists()

    made = ada.ok("eval", "draft", "--json", "--all").data["checks"]

    assert len(made) == 3
    assert all(f"checks/{name}.yaml" in shown.out for name in made)
    texts = {name: ada.text(f"checks/{name}.yaml") for name in made}
    assert sum("never:" in text for text in texts.values()) == 1
    ran = ada.ok("eval", "--json")
    assert ran.data["summary"]["leak_rate"] == 0
    assert ran.data["summary"]["recall_at_k"] == 1
    ada.write(f"checks/{made[0]}.yaml", texts[made[0]] + "enabled: false\n")
    assert "Nothing to draft" in (again := ada.ok("eval", "draft")).out + again.err


def test_who_asks_must_be_somebody(ada: Run) -> None:
    ada.write("checks/kym.yaml", REX + "as: Kym\n")
    ada.write("checks/rex.yaml", REX)

    ran = ada("eval", "--json")

    assert ran.code == 1
    made = outcomes(ran)
    assert made["rex", "recall"]["passes"]
    why = made["kym", "recall"]["why"]
    assert why.startswith('checks/kym.yaml: There is no person "Kym"')
    assert 'Did you mean "Kim"?' in why
    assert not made["kym", "prompt"]["passes"]


def test_where_no_check_is_asked_it_says_so(run: Run) -> None:
    run.write("checks/a.yaml", "ask: Where does Sam live?\nexpect: [Leeds]\n")
    assert "Nothing was asked" in run.ok("eval", "--of", "answer").err
