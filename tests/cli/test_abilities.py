from __future__ import annotations

from pathlib import Path

import pytest

from bumble.cli import run_job
from bumble.cli.models import abilities, chat_model
from bumble.cli.opening import Opened
from bumble.cli.process import Shell
from bumble.entity import settings
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.models.weights import catalog
from bumble.models.weights.choice import Backend, Choice
from bumble.runtime import spoken
from tests.support.running import Run

SAYS_HELLO = '- {json: {actions: [{tool: say, arguments: {text: "Hello."}}]}, always: true}\n'


def opened(entity: Entity, text: str = "", user: str = "", **environ: str) -> Opened:
    with entity.file.open("a", encoding="utf-8") as file:
        file.write(text)
    user_file = entity.root.parent / "config.yaml"
    user_file.write_text(user, "utf-8")
    loaded = settings.load(entity.file, user_file, environ)
    assert loaded.identity is not None
    shell = Shell(environ=environ, cwd=entity.root)
    return Opened(shell, entity, "", loaded, loaded.identity)


def embedded(name: str) -> Choice:
    return Choice("embedded", name, "", entry=catalog.load().entry(name))


@pytest.mark.parametrize(("name", "tier"), [("qwen3-4b", "write"), ("qwen3-1.7b", "choose")])
def test_weights_that_nobody_probed_are_trusted_by_their_size(
    ada: Entity, name: str, tier: str
) -> None:
    seen = abilities.of(opened(ada), embedded(name))()
    assert {seen.tier(purpose, "de") for purpose in ("talk", "memory")} == {tier}


def test_a_folder_that_is_not_trusted_lowers_only(
    ada: Entity, capsys: pytest.CaptureFixture[str]
) -> None:
    own = "llm: {abilities: {talk: {en: write, de: none}, memory: {de: choose}}}\n"
    seen = abilities.of(opened(ada, own), embedded("qwen3-1.7b"))()
    assert (seen.tier("talk", "en"), seen.tier("talk", "de")) == ("choose", "none")
    heard = capsys.readouterr().err
    assert "`llm.abilities.talk.en` is ignored" in heard
    assert "entity.yaml:" in heard
    assert "bumble config trust" in heard
    assert "talk.de" not in heard
    assert "memory" not in heard


def scripted(ada: Entity, text: str) -> tuple[Opened, Choice]:
    script = ada.root / "script.yaml"
    script.write_text(text, "utf-8")
    return opened(ada), Choice("script", "script:script.yaml", "", script=Path("script.yaml"))


def test_a_scripted_model_writes_unless_its_script_says_otherwise(ada: Entity) -> None:
    assert abilities.of(*scripted(ada, "- Hello.\n"))().tier("talk", "de") == "write"
    said = "- {abilities: {talk: {de: choose}, memory: {any: none}}}\n- Hello.\n"
    seen = abilities.of(*scripted(ada, said))()
    assert [seen.tier("talk", code) for code in ("de", "en")] == ["choose", "write"]
    assert seen.tier("memory", "fr") == "none"
    assert chat_model.script_of(*scripted(ada, said)).name == "script.yaml"


def test_abilities_are_looked_up_once_and_only_when_asked_for(ada: Entity) -> None:
    folder, chosen = scripted(ada, "- Hello.\n")
    able = abilities.of(folder, chosen)
    script = ada.root / "script.yaml"
    script.write_text("- {abilities: {talk: {any: none}}}\n- Hello.\n", "utf-8")
    assert able().tier("talk", "de") == "none"
    script.write_text("- Hello.\n", "utf-8")
    assert able().tier("talk", "de") == "none"


def test_a_script_that_trusts_in_something_unknown_is_an_error(ada: Entity) -> None:
    with pytest.raises(RecordInvalidError, match="abilities"):
        abilities.measured_of(*scripted(ada, "- {abilities: {talk: {de: able}}}\n"))


@pytest.mark.parametrize(
    ("backend", "model", "url", "key", "free"),
    [
        ("embedded", "qwen3-4b", "", "sk-1", True),
        ("endpoint", "m", "http://127.0.0.1:8080/v1", "", True),
        ("endpoint", "m", "http://localhost:8080/v1", "sk-1", False),
        ("endpoint", "m", "https://api.example.com/v1", "", False),
        ("endpoint", "m", "http://192.168.0.7:8080/v1", "", False),
        ("ollama", "qwen3:4b", "http://127.0.0.1:11434", "sk-1", True),
        ("ollama", "gpt-oss:120b-cloud", "http://127.0.0.1:11434", "", False),
        ("ollama", "qwen3:4b", "http://ollama.example.com", "", False),
    ],
)
def test_only_what_runs_on_this_machine_without_a_key_is_free(
    ada: Entity, backend: Backend, model: str, url: str, key: str, free: bool
) -> None:
    keyed = {"OPENAI_API_KEY": key} if key else {}
    chosen = Choice(backend, model, "", url=url, key="OPENAI_API_KEY")
    assert abilities.is_free(opened(ada, **keyed), chosen) == free


def test_the_languages_spoken_are_those_of_people_in_the_latest_conversations(run: Run) -> None:
    run.environ["BUMBLE_LLM_MODEL"] = f"script:{run.write('s.yaml', SAYS_HELLO)}"
    run.ok("chat", "Ich habe heute mit meiner Schwester einen Kuchen gebacken.")
    run.ok("chat", "--as", "Ana", "--new-session", "Ayer estuve en la playa con mis hermanos.")
    with run_job.open_runtime(opened(run.entity), "status", needs_model=False) as life:
        assert spoken.latest(life.entity, life.config.language, life.now()) == ["es", "de"]
