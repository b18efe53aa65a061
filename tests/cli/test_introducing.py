from __future__ import annotations

from pathlib import Path

import pytest

from bumble.cli.models import weights
from bumble.entity import settings
from tests.support.chatting import act, script
from tests.support.reading import with_weights
from tests.support.repository import git
from tests.support.running import Run

HELLO = "Hello Ada, I'm Kim. Who are you?"


@pytest.fixture
def ada(run: Run, weights_folder: Path) -> Run:
    may = {"abilities": {"talk": {"any": "choose"}, "memory": {"any": "choose"}}}
    script(run, may, *(act("say", text="Hello.") for _ in range(5)))
    with_weights(run, weights_folder)  # who introduces themselves says the reader
    return run


def owner(run: Run) -> str:
    identity = settings.load(run.entity.file).identity
    return identity.owner.name if identity else ""


def test_a_name_in_a_first_message_is_offered_once(ada: Run) -> None:
    ran = ada.ok("chat", HELLO)
    assert f"bumble config set -e {ada.entity.root} owner.name Kim" in ran.err
    assert owner(ada) == "Sam"
    assert "owner.name" not in ada.ok("chat", "I'm Kim.").err


@pytest.mark.parametrize(("answer", "name"), [("\n", "Kim"), ("n\n", "Sam")])
def test_at_a_terminal_it_is_asked(ada: Run, answer: str, name: str) -> None:
    ran = ada.ok("chat", HELLO, stdin=answer, terminal=True)
    assert "Are you Kim, whom it belongs to?" in ran.err
    assert owner(ada) == name


def test_the_owners_name_is_no_change_that_undo_takes_back(ada: Run) -> None:
    git(ada.entity.root, "init", "-q", "-b", "main")
    git(ada.entity.root, "add", "-A")
    git(ada.entity.root, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "a past")
    ada.ok("chat", HELLO, stdin="\n", terminal=True)
    assert "no change to undo" in ada("undo", "--last").err
    ada.ok("knowledge", "set", "Home", "By the sea")
    ada.ok("undo", "--last")
    assert "no change to undo" in ada("undo", "--last").err
    assert owner(ada) == "Kim"


@pytest.mark.parametrize(
    "words", [("--as", "bo", HELLO), ("--incognito", "--yes", HELLO), ("Hello, I'm Sam.",)]
)
def test_nobody_is_asked_who_is_somebody_else_or_known(ada: Run, words: tuple[str, ...]) -> None:
    assert "owner.name" not in ada.ok("chat", *words).err
    assert owner(ada) == "Sam"


def test_an_entity_made_on_the_way_belongs_to_who_says_hello(ada: Run, tmp_path: Path) -> None:
    ada.environ["USER"] = "jo"
    ran = ada.ok("chat", "-e", str(tmp_path / "bee"), "--new", "--yes", HELLO, terminal=True)
    assert "?" not in ran.err
    assert ada.ok("person", "show", "-e", str(tmp_path / "bee"), "Kim").out.startswith("# Kim")


def test_who_is_called_as_their_account_may_say_later_who_they_are(ada: Run) -> None:
    ada.environ["USER"] = "sam"
    ada.ok("chat", "hello, does this work?")
    ran = ada.ok("chat", "im dot, i drive the school bus")
    assert "takes you for Sam. If it belongs to Dot" in ran.err


def test_whose_owner_has_no_name_hears_it_in_a_later_message_too(ada: Run) -> None:
    text = ada.entity.file.read_text(encoding="utf-8")
    ada.entity.file.write_text(text.replace("name: Sam", 'name: ""'), encoding="utf-8")
    ada.ok("chat", "hello")
    assert "knows you as Dot" in ada.ok("chat", "im dot, i drive the school bus").err
    assert owner(ada) == "Dot"


def test_aliases_are_names(run: Run) -> None:
    run.write("relationships/bo.md", "---\naliases: [Robert, Bobby]\n---\n\nLikes rain.\n")
    shown = run.ok("person", "show", "bobby", "--json").data
    assert (shown["id"], shown["names"]) == ("bo", ["bo", "Robert", "Bobby"])
    run.write("relationships/bo.md", "---\nnames: [Bo]\naliases: Robert\n---\n\nLikes rain.\n")
    assert run.ok("person", "show", "Robert", "--json").data["names"] == ["Bo", "Robert"]


def test_who_says_a_surname_too_is_the_owner_already(ada: Run) -> None:
    assert "takes you for" not in ada.ok("chat", "--yes", "Hello, I'm Sam Haslinger.").err
    assert owner(ada) == "Sam"


def test_beside_a_model_that_writes_the_first_message_alone_is_read(
    ada: Run, weights_folder: Path
) -> None:
    script(ada, act("say", text="Hello Kim."), act("say", text="Hello Dot."))
    with_weights(ada, weights_folder)
    assert "knows you as Kim" in ada.ok("chat", HELLO, stdin="\n", terminal=True).err
    text = ada.entity.file.read_text(encoding="utf-8")
    ada.entity.file.write_text(text.replace("name: Kim", 'name: ""'), encoding="utf-8")
    assert "Dot" not in ada.ok("chat", "--yes", "im dot, i drive the school bus").err
    assert owner(ada) == ""


def test_at_a_first_run_the_name_is_read_by_what_is_fetched_for_that(
    ada: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "reader_here", lambda _: None)  # it comes while the talk begins
    ada.ok("chat", HELLO, stdin="\n", terminal=True)
    assert owner(ada) == "Kim"


def test_who_has_a_name_is_called_otherwise_by_nobodys_yes_but_their_own(ada: Run) -> None:
    assert "owner.name Kim" in ada.ok("chat", "--yes", HELLO, terminal=True).err
    assert owner(ada) == "Sam"


def test_who_names_a_brother_or_a_cat_is_not_called_so(ada: Run) -> None:
    ada.environ["USER"] = "sam"  # the name of an account alone
    for text in ("Hello Ada, my cat is Tom", "Hi, my brother is Tom", "Hallo, mein Hund ist Rex"):
        ada.ok("chat", "--yes", "--new-session", text)
        assert owner(ada) == "Sam"
