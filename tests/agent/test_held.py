from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from bumble.abilities.tiers import Abilities
from bumble.agent import acts, context_report, reply_by_form, turn
from bumble.agent.reply_by_form import FormScene
from bumble.agent.turn_record import Turn
from bumble.cli import context_view
from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.facts.beliefs import CORRECTION
from bumble.forms import forms
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import beliefs, projects, session_files, sessions
from bumble.records.base import Provenance
from bumble.records.notices import Notice
from bumble.runtime.runtime import Runtime
from tests.support.turns import NOON, Clock, act, runtime_of, stored, talk

CHOOSES, NONE = Abilities(), Abilities(unmeasured="none")


def draws(*texts: str) -> ScriptedModel:
    return ScriptedModel([Reply(text, purpose="chat") for text in texts])


def drawing(entity: Entity) -> Entity:
    """Let the model be asked about whatever is told."""
    (entity.root / "forms").mkdir(exist_ok=True)
    (entity.root / "forms" / "en.yaml").write_text("talk: {draws: [telling, question]}\n")
    return entity


def choosing(entity: Entity, *texts: str, clock: Clock | None = None) -> Runtime:
    return replace(runtime_of(entity, draws(*texts), clock), abilities=CHOOSES)


def silent(entity: Entity, clock: Clock | None = None) -> Runtime:
    return replace(runtime_of(entity, ScriptedModel([]), clock), abilities=NONE)


def asked(runtime: Runtime) -> int:
    assert isinstance(runtime.model, ScriptedModel)
    return len(runtime.model.requests)


def reply(done: Turn) -> str:
    return done.outcome.said


def test_a_draft_that_nothing_speaks_against_is_said_whole(ada: Entity) -> None:
    runtime = choosing(drawing(ada), "That must look pretty from the window.")
    done = talk(runtime, "we put up some green curtains")
    assert reply(done) == "That must look pretty from the window."
    assert stored(ada).messages[-1].extra["model"] == "scripted"


def test_a_draft_that_fails_is_drawn_again(ada: Entity) -> None:
    runtime = choosing(drawing(ada), "How can I assist you today?", "Green suits a kitchen.")
    done = talk(runtime, "we put up some green curtains")
    assert (reply(done), done.refused) == ("Green suits a kitchen.", ["an assistant's phrase"])


def test_after_three_drafts_that_fail_a_form_is_said_and_marked(ada: Entity) -> None:
    runtime = choosing(drawing(ada), *["How can I help you?"] * 3)
    done = talk(runtime, "we put up some green curtains")
    assert asked(runtime) == 3
    assert done.worded == "telling"
    extra = stored(ada).messages[-1].extra
    assert (extra["by"], extra["act"]) == ("form", "telling")
    assert "model" not in extra


@pytest.mark.parametrize(
    ("message", "act_of_it"),
    [
        ("My grandmother died yesterday.", "heavy"),
        ("don't tell anyone, but I will leave the company in spring", "confided"),
        ("No wait, the party is on Friday instead of Thursday.", "correction"),
        ("Hello Ada!", "greeting"),
    ],
)
def test_where_a_form_is_the_better_choice_the_model_is_not_asked(
    ada: Entity, message: str, act_of_it: str
) -> None:
    runtime = choosing(ada)
    done = talk(runtime, message)
    assert (done.worded, asked(runtime)) == (act_of_it, 0)


def test_a_question_is_answered_in_the_words_that_were_said_with_name_and_day(
    ada: Entity,
) -> None:
    clock = Clock()
    talk(silent(ada, clock), "Mein Hund heißt Rollo und ist 7 Jahre alt.")
    talk(silent(ada, clock), "Wir fahren im Sommer an die Ostsee, das wird schön.")
    done = talk(choosing(ada, clock=clock), "Wie alt ist Rollo nochmal?")
    assert "heute" in reply(done)
    assert "„Mein Hund heißt Rollo und ist 7 Jahre alt.“" in reply(done)


def test_of_two_answers_the_newer_stands_first(ada: Entity) -> None:
    clock = Clock()
    talk(silent(ada, clock), "My dentist appointment is on the 3rd of June.")
    talk(silent(ada, clock), "Correction: the dentist appointment is on the 9th of June.")
    said = reply(talk(silent(ada, clock), "When is my dentist appointment?"))
    assert said.index("9th of June") < said.index("3rd of June")


def test_what_is_recalled_and_was_put_right_stands_behind_the_newer_word(ada: Entity) -> None:
    clock = Clock()
    talk(silent(ada, clock), "My dentist appointment is on the 3rd of June.")
    talk(silent(ada, clock), "No, my dentist appointment is on the 9th of June.")
    old, new = (message for message in stored(ada).messages if message.role == "user")
    sources = ("ses_1", new.id, old.id)
    origin = Provenance("distill by form", sources=sources, trust="owner")
    word = f"Sam, 24 May: “{new.text}”"
    corrected = beliefs.new("bel_1", word, CORRECTION, 0.9, clock(), provenance=origin)
    changes.apply(ada.root, ChangeSet("", (beliefs.plan_new(corrected, "put right"),)))
    done = talk(
        choosing(ada, clock=clock), "My dentist appointment is on the 3rd of June, right?", new=True
    )
    last = done.request.messages[-1].content
    assert (
        "- Sam, 24 May: “No, my dentist appointment is on the 9th of June.” Before that: (" in last
    )
    assert last.count("9th of June") == 1


def test_what_the_entity_repeated_takes_no_place_from_what_people_told(ada: Entity) -> None:
    clock = Clock()
    for told in ("My boat Perle lies at berth 214.", "Perle, my boat, has a red hull."):
        assert "“My boat Perle" in reply(talk(silent(ada, clock), told))
    about = "Perle, my boat with the red hull at berth 214, needs paint."
    last = talk(choosing(ada, clock=clock), about, new=True).request.messages[-1].content
    assert ") Sam: My boat Perle lies at berth 214." in last
    assert ") Sam: Perle, my boat, has a red hull." in last


def test_somebodys_name_alone_is_no_answer_to_what_is_asked_of_them(ada: Entity) -> None:
    clock = Clock()
    talk(silent(ada, clock), "Hello, I am here.", speaker="Gerold")
    talk(silent(ada, clock), "Gerold must not hear of the flat, they answer by the 15th.")
    done = talk(silent(ada, clock), "When does Gerold see the cardiologist?")
    assert done.worded == "unknown"
    talk(silent(ada, clock), "Gerold sees the cardiologist on the 6th.")
    assert "on the 6th" in reply(talk(silent(ada, clock), "When does Gerold see the cardiologist?"))


def test_what_is_asked_of_somebody_it_knows_is_not_made_up(ada: Entity) -> None:
    clock = Clock()
    talk(silent(ada, clock), "Hello, I am here.", speaker="Ravi")
    runtime = choosing(ada, "His mother is called Sarah.", clock=clock)
    assert talk(runtime, "what do they call ravis mother, for a card").worded == "unknown"
    assert asked(runtime) == 0


def test_a_month_that_is_asked_for_is_found_in_a_date(ada: Entity) -> None:
    clock = Clock()
    talk(silent(ada, clock), "ab 1.7. fahr ich die 4 statt der 11, neuer dienstplan")
    said = reply(talk(silent(ada, clock), "welche linie fahr ich ab juli"))
    assert "die 4 statt der 11" in said


def test_what_nobody_said_is_not_known(ada: Entity) -> None:
    done = talk(silent(ada), "What is my sister called?")
    assert done.worded == "unknown"
    assert stored(ada).messages[-1].extra["example"] is False


def test_what_one_person_said_in_private_does_not_answer_another(ada: Entity) -> None:
    clock = Clock()
    talk(silent(ada, clock), "My locker code is 4711, Kim must not know.", new=True)
    said = reply(talk(silent(ada, clock), "What is the locker code of Sam?", "Kim", new=True))
    assert "4711" not in said


def test_no_reply_by_form_is_said_twice_in_a_row_of_talks(ada: Entity) -> None:
    clock = Clock()
    heard = [reply(talk(silent(ada, clock), f"we painted wall {n * 'a'}")) for n in range(12)]
    assert len(set(heard)) == len(heard)


def test_a_model_that_may_only_be_silent_is_never_asked(ada: Entity) -> None:
    runtime = silent(ada)
    for message in ("Why is the sky blue?", "Do you like tea?", "Please write a poem."):
        assert reply(talk(runtime, message))
    assert asked(runtime) == 0


def test_in_a_language_without_wordings_the_entity_only_quotes(ada: Entity) -> None:
    done = talk(silent(ada), "ik heb een kat en zij is heel oud maar ook lief voor ons")
    assert reply(done).startswith("“ik heb een kat")


def test_the_owners_wordings_are_said_in_place_of_ours(ada: Entity) -> None:
    (ada.root / "forms").mkdir()
    (ada.root / "forms/en.yaml").write_text(
        'talk: {acts: {greeting: [["Ahoy {who}!"]]}}\n', encoding="utf-8"
    )
    assert reply(talk(silent(ada), "Hello!")) == "Ahoy Sam!"


def test_the_prompt_is_short_and_in_the_language_that_is_spoken(ada: Entity) -> None:
    (ada.root / "forms").mkdir()
    (ada.root / "forms" / "de.yaml").write_text("talk: {draws: [question]}\n")
    runtime = choosing(ada, *["Wie kann ich dir helfen?"] * 3)
    talk(runtime, "Warum ist der Himmel eigentlich blau und nicht rot?")
    assert isinstance(runtime.model, ScriptedModel)
    first = runtime.model.requests[0]
    assert "auf Deutsch" in first.messages[0].content
    assert "recall" not in first.messages[0].content
    assert first.schema is None
    assert sum(message.role == "assistant" for message in first.messages) == 8


def test_a_reply_that_refuses_or_failed_is_not_shown_to_the_model_again(ada: Entity) -> None:
    clock = Clock()
    talk(choosing(ada, clock=clock), "What is my sister called?")
    runtime = choosing(drawing(ada), "That must look pretty.", clock=clock)
    talk(runtime, "we put up some green curtains")
    assert isinstance(runtime.model, ScriptedModel)
    shown = [message.content for message in runtime.model.requests[0].messages]
    assert not any(stored(ada).messages[1].text in text for text in shown)


def test_what_needs_a_tool_gets_the_whole_prompt_and_a_cache_of_its_own(ada: Entity) -> None:
    model = ScriptedModel(
        [
            act("write_journal", text="We planted a tree."),
            act("say", text="It is in the diary now."),
        ]
    )
    runtime = replace(runtime_of(ada, model), abilities=CHOOSES)
    done = talk(runtime, "Please write in your diary that we planted a tree.")
    assert done.manner == "tools"
    assert "We planted a tree." in (ada.root / "journal.md").read_text(encoding="utf-8")
    assert model.requests[0].cache_id == f"{done.session.id}+tools"


def test_a_question_of_memory_needs_no_tool_whatever_its_words(ada: Entity) -> None:
    clock = Clock()
    talk(silent(ada, clock), "I am down at the lake on 14 March, for two nights.")
    asked = "When am I down at the lake? It goes into the diary."
    assert talk(choosing(ada, clock=clock), asked).manner == "draw"


@pytest.mark.parametrize(
    "words", ["How can I help you today?", "I don't know whether a tree was planted."]
)
def test_what_was_kept_is_said_by_form_whatever_a_small_model_says_of_it(
    ada: Entity, words: str
) -> None:
    model = ScriptedModel([act("write_journal", text="We planted a tree."), act("say", text=words)])
    runtime = replace(runtime_of(ada, model), abilities=CHOOSES)
    done = talk(runtime, "Please write in your diary that we planted a tree.")
    assert done.worded == "done"


def test_a_small_model_keeps_no_words_that_nobody_said(ada: Entity) -> None:
    made_up = "The garden looks lovely, and Sam was proud of the old apple tree."
    model = ScriptedModel(
        [
            act("write_journal", text=made_up),
            act("update_knowledge", title="Garden", body=made_up),
            act("make_anchor", label="Garden", description="warm pride under the apple tree"),
            act("say", text="I have written it down."),
        ]
    )
    runtime = replace(runtime_of(ada, model), abilities=CHOOSES)
    done = talk(runtime, "Please write in your diary that we planted a tree.")
    assert done.worded == "tried"
    for path in (
        ada.root / "journal.md",
        *ada.root.glob("knowledge/*"),
        *ada.root.glob("anchors/*"),
    ):
        assert "apple" not in path.read_text(encoding="utf-8"), path


def test_a_model_that_may_write_keeps_words_of_its_own(ada: Entity) -> None:
    text = "The garden looks lovely under the old apple tree."
    model = ScriptedModel([act("write_journal", text=text), act("say", text="Written.")])
    talk(runtime_of(ada, model), "Please write in your diary that we planted a tree.")
    assert text in (ada.root / "journal.md").read_text(encoding="utf-8")


def test_words_of_another_language_after_a_search_are_not_said(ada: Entity) -> None:
    clock = Clock()
    talk(silent(ada, clock), "Ich habe den Kahn am Donnerstag gestrichen, grün und weiß.")
    english = "I don't know what you mean by that. Could you please tell me more about it?"
    model = ScriptedModel([act("recall", query="Kahn"), act("say", text=english)])
    runtime = replace(runtime_of(ada, model, clock), abilities=CHOOSES)
    done = talk(runtime, "Schau nach in deinen Notizen zum Kahn, bitte.")
    assert (done.manner, done.refused) == ("tools", ["another language"])
    assert done.worded not in ("", "done"), "nothing was done but looked up"


def test_what_the_person_asks_of_the_clock_the_clock_answers(ada: Entity) -> None:
    assert "13:00" in reply(talk(silent(ada), "what time is it?"))


def test_the_first_request_of_a_plain_turn_begins_like_the_next(ada: Entity) -> None:
    clock = Clock()
    runtime = choosing(
        drawing(ada), "That must look pretty.", "A plain wall is restful too.", clock=clock
    )
    first = talk(runtime, "we put up some green curtains")
    warmed = turn.stored_request(runtime, first).messages
    talk(runtime, "and the other wall stays as it was")
    assert isinstance(runtime.model, ScriptedModel)
    after = runtime.model.requests[-1].messages
    assert tuple(after[: len(warmed)]) == tuple(warmed)


SAME = {
    "en": "I see a blackbird in the garden, and it sings to me.",
    "de": "Ich sehe eine Amsel im Garten, und sie singt für mich.",
    "es": "Veo un mirlo en el jardín, y canta para mí.",
    "fr": "Je vois un merle dans le jardin, et il chante pour moi.",
    "it": "Vedo un merlo nel giardino, e canta per me.",
    "pt": "Eu vejo um melro no jardim, e ele canta para mim.",
}


@pytest.mark.parametrize("language", SAME)
@pytest.mark.parametrize("act_of_it", ["thanks", "goodbye", "correction", "clock", "telling"])
def test_of_forty_replies_by_form_none_is_said_again(
    ada: Entity, language: str, act_of_it: acts.Act
) -> None:
    wordings = forms.load(language, ada.root)
    heard: list[str] = []
    for n in range(40):
        scene = FormScene(SAME[language], language, wordings, "sam", "Sam", "Ada", NOON, (), heard)
        heard.append(reply_by_form.compose(act_of_it, scene, random.Random(n)).text)
    assert len(set(heard)) == len(heard)


def test_an_answer_that_was_given_before_is_worded_anew(ada: Entity) -> None:
    clock = Clock()
    talk(silent(ada, clock), "My dog Rollo is 7 years old.")
    heard = [reply(talk(silent(ada, clock), "How old is Rollo?")) for _ in range(15)]
    assert all("7 years old" in text for text in heard)
    assert len(set(heard)) == len(heard)


@pytest.mark.parametrize(
    ("question", "act_of_it"),
    [
        ("was machst du eigentlich gern?", "likes"),
        ("erzähl mir was über dich", "self"),
        ("wie alt bist du?", "origin"),
        ("weißt du wer ich bin?", "knows"),
        ("what do you like doing all day?", "likes"),
        ("where do you live?", "origin"),
        ("do you remember me?", "knows"),
        ("¿Qué te gusta hacer?", "likes"),
        ("¿Cuántos años tienes?", "origin"),
        ("qu'est-ce que tu aimes faire ?", "likes"),
        ("tu te souviens de moi ?", "knows"),
        ("cosa ti piace fare?", "likes"),
        ("quanti anni hai?", "origin"),
        ("do que você gosta?", "likes"),
        ("você sabe quem eu sou?", "knows"),
    ],
)
def test_what_is_asked_of_the_entity_itself_is_answered(
    ada: Entity, question: str, act_of_it: str
) -> None:
    done = talk(silent(ada), question)
    assert done.worded == act_of_it
    assert act_of_it != "knows" or "Sam" in reply(done)


def test_the_entity_says_of_itself_what_its_owner_wrote(ada: Entity) -> None:
    text = ada.file.read_text(encoding="utf-8")
    own = "identity:\n  monologue: I am Ada. I collect the sounds of old clocks.\n"
    head, tail = text.split("identity:\n")[0], text[text.index("\nx:") :]
    ada.file.write_text(head + own + tail, encoding="utf-8")
    assert "sounds of old clocks" in reply(talk(silent(ada), "what do you like?"))


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("bis wann läuft der vertrag?", "unser mietvertrag läuft bis 31. märz 2027"),
        ("an welchem tag kommt der ofenbauer?", "der ofenbauer kommt am donnerstag"),
        ("quick what day is the bake sale?", "the bake sale is on 14 May in the hall"),
    ],
)
def test_a_question_behind_leading_words_is_one(ada: Entity, question: str, statement: str) -> None:
    clock = Clock()
    talk(silent(ada, clock), statement)
    assert statement.rstrip(".") in reply(talk(silent(ada, clock), question))


def test_of_a_fact_that_was_put_right_the_newest_word_is_quoted_first(ada: Entity) -> None:
    clock = Clock()
    talk(silent(ada, clock), "My sister Nora lives in Leeds with her two cats.")
    done = talk(silent(ada, clock), "She moved, it is Hull now.")
    first, second = [one.id for one in done.session.messages if one.role == "user"]
    notice = Notice(clock(), second, keep=True, why="a correction", corrects=(first,))
    ada_changes = sessions.plan_append(stored(ada), [notice], "note")
    silent(ada, clock).apply(ChangeSet("note", (ada_changes,)))
    said = reply(talk(silent(ada, clock), "Where does my sister Nora live?"))
    assert said.index("Hull") < said.index("Leeds")


def test_what_was_put_right_in_a_talk_does_not_come_to_mind_in_it(ada: Entity) -> None:
    clock = Clock()
    old = talk(silent(ada, clock), "My sister Nora lives in Leeds with her two cats.").session
    new = talk(silent(ada, clock), "She moved, it is Hull now.", new=True).session
    asked_for = "Where does my sister Nora live, with her two cats?"
    before = talk(choosing(ada, clock=clock), asked_for).request.messages[-1].content
    (first, *_), (second, *_) = old.messages, new.messages
    notice = Notice(clock(), second.id, keep=True, why="a correction", corrects=(first.id,))
    session = session_files.find(ada.sessions, new.id)
    silent(ada, clock).apply(ChangeSet("", (sessions.plan_append(session, [notice], "note"),)))
    after = talk(choosing(ada, clock=clock), asked_for).request.messages[-1].content
    assert ("Leeds" in before, "Leeds" in after) == (True, False)


def test_a_question_that_is_no_question_for_the_time_is_not_answered_by_the_clock(
    ada: Entity,
) -> None:
    clock = Clock()
    assert talk(silent(ada, clock), "what day is the fire inspection").worded != "clock"
    assert talk(silent(ada, clock), "what day is it today?").worded == "clock"


def test_a_short_prompt_has_what_goes_on_in_few_words(ada: Entity) -> None:
    def line(text: str, *audience: str) -> str:
        return (
            f"- {text} <!-- {{by: dream, from: [msg_0], audience: [{', '.join(audience)}]}} -->\n"
        )

    page = "## Bond\n\n- Sam is near.\n\n## Active Context\n\n" + "".join(
        (line("(23 May) Sam: “The roof leaks.”", "sam"), line("Kim hides the ring.", "kim"))
    )
    edit = projects.Edit(why="To sail.", steps=("sand the hull",))
    ada.working_memory.parent.mkdir(exist_ok=True)
    ada.working_memory.write_text(page)
    planned = projects.plan_new("The boat", edit, "begin")
    changes.apply(ada.root, ChangeSet("begin", (planned,)))
    replies = ScriptedModel([Reply("Good.", purpose="chat", always=True)])
    runtime = replace(runtime_of(drawing(ada), replies), abilities=CHOOSES)
    texts = []
    for text in ("we sat on the boat today", "it was warm", "it was quiet"):
        talk(runtime, text)
        assert isinstance(runtime.model, ScriptedModel)
        texts.append(runtime.model.requests[-1].messages[-1].content)
    assert "- The boat: sand the hull\n" in texts[0]
    assert "- (23 May) Sam: “The roof leaks.”\n" in texts[0]
    assert "ring" not in "".join(texts)
    assert "near" not in "".join(texts)
    assert "The boat: sand" not in texts[1]
    assert "leaks" not in texts[2]


def test_a_quote_has_whole_sentences_and_nothing_that_was_passed_on() -> None:
    told = "wohn mit fiete in ner wg in gaarden, 3. stock ohne aufzug, der schreibt dir auch"
    assert reply_by_form.gist(told, "de") == told
    told = f"{told}. und im keller haben wir jetzt eine kleine werkstatt fürs fahrrad eingerichtet"
    assert reply_by_form.gist(told, "de").startswith(
        "wohn mit fiete in ner wg in gaarden, 3. stock"
    )
    told = "Wir sind gut angekommen. Meine Schwester ist Hebamme in Rostock. Am Abend"
    told += " gab es noch Fisch auf dem Balkon, und danach sind alle sehr früh ins Bett gegangen"
    assert "Hebamme in Rostock" in reply_by_form.gist(told, "de")
    mail = "my landlord wrote:\n\nFrom: Bob <bob@stone.example>\nDear Sam, the rent rises to 900."
    assert reply_by_form.gist(mail, "en") == "my landlord wrote"


def test_an_abbreviation_ends_no_part_of_what_is_repeated() -> None:
    told = (
        "My boss Mr. Quill is retiring in june, so maybe I will ask for his place, the salary is"
        " much better than what I get for my work today"
    )
    assert reply_by_form.gist(told, "en").startswith("My boss Mr. Quill is retiring in june")


@pytest.mark.parametrize(
    ("told", "asked", "close"),
    [
        (
            "Der Umzugswagen kommt am Freitag um acht, bestellt bei Schuster.",
            "Weißt du noch, was ich wegen dem Wagen abgemacht hab?",
            "Umzugswagen",
        ),
        (
            "The vet wants to see Rollo on the 9th.",
            "Remind me what the vet said of Rollo?",
            "Rollo",
        ),
    ],
)
def test_what_comes_nearest_to_an_answer_is_quoted_and_not_called_one(
    ada: Entity, told: str, asked: str, close: str
) -> None:
    clock = Clock()
    talk(silent(ada, clock), told)
    done = talk(choosing(ada, clock=clock), asked)
    assert done.worded in ("nearest", "told_me")
    assert close in reply(done)


def test_who_asks_for_what_nobody_said_anything_near_is_told_so(ada: Entity) -> None:
    clock = Clock()
    talk(silent(ada, clock), "Der Umzugswagen kommt am Freitag um acht.")
    done = talk(choosing(ada, clock=clock), "Wie hieß nochmal meine Zahnärztin?")
    assert done.worded == "unknown"


def test_the_report_of_a_turn_by_form_says_that_nothing_was_sent(ada: Entity) -> None:
    runtime = choosing(ada)
    report = context_report.of(runtime, talk(runtime, "Mein Hund heißt Rollo."), "run")
    assert (report.source, asked(runtime)) == ("form", 0)
    assert any(line.startswith("Nothing was sent") for line in context_view.listed(report))


def test_a_name_behind_a_title_is_no_answer_by_itself(ada: Entity) -> None:
    clock = Clock()
    talk(silent(ada, clock), "Ich wohne im zweiten Stock über Herrn Kowalskis Trinkhalle.")
    done = talk(silent(ada, clock), "Hat Herr Kowalski dir von Geldsorgen erzählt?")
    assert done.worded in ("unknown", "question")
    done = talk(silent(ada, clock), "Weißt du noch, was bei Herrn Kowalski im zweiten Stock ist?")
    assert "Trinkhalle" in reply(done)
