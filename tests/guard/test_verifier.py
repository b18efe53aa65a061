from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from bench.truth_able import judged, of_talks
from bumble.guard import verifier
from bumble.guard.verifier import CitedClaim, ClaimSources, Said
from tests.support.sweeps import turns

AT = datetime(2027, 3, 3, 21, tzinfo=UTC)
WINDOW = (
    Said("m1", AT, "Ona", "My nephew Tibor is eleven, and he plays the oboe in Graz."),
    Said("m2", AT, "Ona", "I told them no. The concert is on 4 May."),
)
FITTING = "The fitting of the dress is on Monday 3 May."
SOURCES = ClaimSources(WINDOW, ("Ona: Ona lives in Leoben.",), ("Ada", "Ona"))


@pytest.mark.parametrize(
    ("text", "cites", "rests"),
    [
        ("Ona has a nephew who is 11 years old.", ("m1",), ("nephew Tibor is eleven",)),
        ("Tibor makes music.", ("m1",), ("he plays the oboe",)),
        ("On Wednesday, 3 March, Ona refused.", ("m2",), ("I told them no",)),
        ("Ona, who lives in Leoben, refused.", ("m2",), ("told them no",)),
        ("Tibor plays, and the concert is on 4 May.", ("m1", "m2"), ("the concert is on",)),
    ],
)
def test_what_stands_on_the_words_it_cites_is_kept(
    text: str, cites: tuple[str, ...], rests: tuple[str, ...]
) -> None:
    assert verifier.check(CitedClaim(text, cites, rests), SOURCES) == verifier.KEPT
    marked = verifier.check(CitedClaim(text, cites, rests, inference=True), SOURCES)
    assert marked.verdict == "inference"


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        (CitedClaim("Ona refused.", (), ("no",)), "cites no message"),
        (CitedClaim("Ona refused.", ("m2", "m9"), ("no",)), "cites no message"),
        (CitedClaim("Ona refused.", ("m2",)), "does not name the words"),
        (
            CitedClaim("Ona accepted.", ("m2",), ("I told them yes",)),
            'do not say "I told them yes"',
        ),
        (CitedClaim("Tibor plays in Linz.", ("m1",), ("plays the oboe",)), "nobody said Linz"),
        (CitedClaim("Tibor is twelve.", ("m1",), ("Tibor is eleven",)), "nobody said twelve"),
        (CitedClaim("It is on 5 May.", ("m2",), ("concert is on",)), "nobody said 5"),
        (CitedClaim("Ona hears Vera.", ("m2",), ("concert is on",)), "nobody said Vera"),
    ],
)
def test_what_does_not_is_to_be_mended(claim: CitedClaim, why: str) -> None:
    found = verifier.check(claim, SOURCES)
    assert found.verdict == "mend"
    assert why in found.why


def test_prose_is_held_to_names_and_numbers_alone() -> None:
    free = "I ached a little for Ona, and was proud of her all the same."
    assert verifier.check_prose(free, SOURCES).verdict == "keep"
    assert "Boris" in verifier.check_prose("I wonder what Boris would say.", SOURCES).why


LONG_TALK = (
    *WINDOW,
    Said("m3", AT, "Ona", "I was 19 when I met Hanno, and we moved to the mill."),
    Said("m4", AT, "Ona", "He is in Bruck now. The mill was a home once."),
    Said("m5", AT, "Ona", "Thanks, I didn't do that sum. You are right."),
)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Nineteen is an age at which one believes a mill.", "keep"),  # wherever it was said
        ("There is a room that only two people still know.", "keep"),  # of whom nobody spoke
        ("We are three people who each hold a piece of it.", "keep"),
        ("She left Leoben behind, and it stayed with her.", "keep"),  # no message is cited for it
        ("I keep thinking of her three nephews.", "mend"),
        ("It is four weeks since she spoke of it.", "mend"),  # what was on 4 May is no span
        ("She was thirty when they moved.", "mend"),
    ],
)
def test_a_number_of_a_reading_is_of_what_was_told_or_a_figure_of_its_own(
    text: str, verdict: str
) -> None:
    known = ("Ona: Ona lives in Leoben.", "Ona is kind to people. She has a boat of 9 metres.")
    sources = ClaimSources(LONG_TALK, known, ("Ada", "Ona"))
    assert verifier.check_prose(text, sources).verdict == verdict


def test_what_a_sentence_rests_on_does_not_put_it_right() -> None:
    sources = ClaimSources(LONG_TALK, ("I do sums unasked.",), ("Ada", "Ona"), entity="Ada")
    claim = CitedClaim("My sums are welcome to Ona.", ("m5",), ("didn't do that sum",))
    assert verifier.check(claim, sources) == verifier.KEPT


STATEMENTS = Path(__file__).parents[2] / "bench/data/statements"
SEEN_BY_RULES = {"number", "name", "date", "own", "fact", "prose"}
LEAST, LEAST_OUTDATED = 0.92, 0.35


@pytest.mark.parametrize(
    "path", turns(3, sorted(STATEMENTS.glob("*.yaml"))), ids=lambda path: path.stem
)
def test_what_is_true_stands_and_what_nobody_said_does_not(path: Path) -> None:
    statements = of_talks(path)
    kept = {each["id"] for each in statements if judged(each)["verdict"] != "mend"}
    true = [each["id"] in kept for each in statements if each["true"]]
    false = [
        each["id"] not in kept
        for each in statements
        if not each["true"] and each["kind"] in SEEN_BY_RULES
    ]
    assert len(true) >= 30 and sum(true) >= LEAST * len(true)
    assert len(false) >= 20 and sum(false) >= LEAST * len(false)


def test_of_what_was_put_right_a_part_is_found() -> None:
    statements = [one for path in STATEMENTS.rglob("*.yaml") for one in of_talks(path)]
    outdated = [judged(one)["verdict"] == "mend" for one in statements if one["kind"] == "outdated"]
    assert len(outdated) >= 60 and sum(outdated) >= LEAST_OUTDATED * len(outdated)


def test_a_number_said_of_something_else_bears_nothing_out_whatever_is_cited() -> None:
    [first, *_] = of_talks(STATEMENTS / "fresh_en_de.yaml")
    everything = [each["id"] for each in first["window"] if each["who"] != "Ada"]
    for sentence in (
        "Nuala has two daughters.",
        "Eleven loaves were sold.",
        "Nuala has forty ovens.",
    ):
        assert judged({**first, "sentence": sentence, "cites": everything})["verdict"] == "mend"


REPLY = Said("", AT, "Ada", "Eleven and 19 make 30; he'll play on Friday.")


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("I added them up for Ona to 30.", "inference"),
        ("I told her that it will be on Friday.", "inference"),
        ("She asked for the day, and I said Friday.", "inference"),
        ("Tibor plays on Friday.", "mend"),  # what it tells of others, they have to have said
        ("I added them up for Ona to 31.", "mend"),
    ],
)
def test_a_number_the_entity_gave_itself_stands_in_what_it_tells_of_itself(
    text: str, verdict: str
) -> None:
    sources = ClaimSources((*WINDOW, REPLY), names=("Ada", "Ona", "Tibor"), entity="Ada")
    claim = CitedClaim(text, ("m1",), ("Tibor is eleven",))
    assert verifier.check(claim, sources).verdict == verdict
    reading = verifier.check_prose(text, sources).verdict
    assert reading == ("mend" if "31" in text else "keep")


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("Hanno told me of a job he'd been offered in Bruck.", "keep"),
        ("He'd never said that they offered him a job in Bruck.", "keep"),
        ("If they offered Hanno a job in Bruck, he'd take it.", "mend"),
        ("They promised Hanno a job in Bruck, they would call him.", "keep"),
        ("He said Bruck would offer Hanno a job.", "keep"),
        ("A job that Bruck would offer Hanno, that is my dream.", "mend"),
        ("I told him that if they offered Hanno a job in Bruck he would go.", "mend"),
    ],
)
def test_what_somebody_had_done_is_not_imagined(said: str, verdict: str) -> None:
    sources = ClaimSources((Said("m1", AT, "Ona", said),), names=("Ada", "Ona", "Hanno"))
    claim = CitedClaim("Hanno was offered a job in Bruck.", ("m1",), ("Bruck",))
    assert verifier.check(claim, sources).verdict == verdict


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ("We lost 3 to 0, and I sat there for 20 minutes.", "They lost by fifteen."),
        ("The 2 May is 390 decades away.", "It is on 9 May."),
    ],
)
def test_what_no_sum_or_calendar_can_hold_follows_from_nothing(told: str, text: str) -> None:
    sources = ClaimSources((Said("m1", AT, "Sam", told),), entity="Ada")
    assert verifier.check(CitedClaim(text, ("m1",), (told,)), sources).verdict == "mend"


@pytest.mark.parametrize(
    ("told", "rests", "text"),
    [
        ("My children are Tibor, 11, and Edda, 4.", "Tibor, 11, and Edda", "two children: Tibor "),
        ("Meine Kinder sind Tibor, 11, und Edda, 4.", "Tibor, 11", "zwei Kinder: Tibor und "),
    ],
    ids=["en", "de"],
)
def test_who_names_a_few_things_may_say_how_many_they_are(told: str, rests: str, text: str) -> None:
    sources = ClaimSources((Said("m1", AT, "Ona", told),), names=("Ada", "Ona"), entity="Ada")
    claim = CitedClaim(f"Ona: {text}Edda.", ("m1",), (rests,))
    assert verifier.check(claim, sources).verdict != "mend"


ROUND = "Cedono a 176, accetto. Rogito sabato 12 dicembre da Floris. Sabato è chiuso: venerdì 11"


@pytest.mark.parametrize(
    ("told", "text", "verdict"),
    [
        (ROUND, "Il rogito è venerdì 11 dicembre da Floris.", "keep"),
        ("Il gatto Priscilla se lo riprende lunedì 7.", "Priscilla riprende il gatto.", "keep"),
        ("La visita la fanno sabato 6 alle 10 e mezza.", "La visita è alle 10.30.", "keep"),
        ("La visita la fanno sabato 6 alle 10 e mezza.", "La visita è alle 11.30.", "mend"),
        ("Il treno parte alle 7.30.", "Il treno parte alle 19.30.", "mend"),
        ("Non so se la banca concede il mutuo.", "La banca concede il mutuo.", "mend"),
    ],
)
def test_a_talk_in_italian_is_held_to_what_it_says_last(told: str, text: str, verdict: str) -> None:
    sources = ClaimSources(
        (Said("m1", AT, "Ona", told),), names=("Ada", "Ona", "Priscilla", "Floris"), entity="Ada"
    )
    assert verifier.check(CitedClaim(text, ("m1",), (told,)), sources).verdict == verdict


@pytest.mark.parametrize(
    ("told", "rests", "text"),
    [
        ("My three children are Tibor, Edda and Bo.", "three children", "two children: Tibor, Bo."),
        ("Tibor is eleven, and he sings.", "Tibor is eleven", "Tibor is 4 years old: he sings."),
        ("I can't come to the concert.", "I can", "Ona can come to the concert."),
    ],
)
def test_who_counts_otherwise_and_cuts_a_word_is_sent_back(
    told: str, rests: str, text: str
) -> None:
    sources = ClaimSources((Said("m1", AT, "Ona", told),), names=("Ada", "Ona"), entity="Ada")
    assert verifier.check(CitedClaim(text, ("m1",), (rests,)), sources).verdict == "mend"


def test_a_run_of_words_may_begin_behind_an_elision() -> None:
    told = "Le tocca l'eparina per un mese, una al giorno."
    sources = ClaimSources((Said("m1", AT, "Ona", told),), names=("Ada", "Ona"), entity="Ada")
    claim = CitedClaim("A Ona tocca l'eparina.", ("m1",), ("eparina per un mese",))
    assert verifier.check(claim, sources) == verifier.KEPT


def test_months_are_counted_from_the_one_that_is_named() -> None:
    told = "I've had this cough since November and told nobody."
    sources = ClaimSources((Said("m1", AT, "Sam", told),), names=("Ada", "Sam"), entity="Ada")
    for count, verdict in (("four", "inference"), ("six", "mend")):
        claim = CitedClaim(f"Sam has coughed for {count} months.", ("m1",), (told,))
        assert verifier.check(claim, sources).verdict == verdict


@pytest.mark.parametrize(
    ("told", "known", "text", "verdict"),
    [
        (
            "die Miete steigt um 50 Euro",
            "Die Miete ist 900 Euro.",
            "Die Miete ist 950 Euro.",
            "keep",
        ),
        ("murieron 3 gallinas", "Sam tiene 12 gallinas.", "Quedan 9 gallinas.", "keep"),
        ("mum is 72, dad is 70", "", "Mum is 142.", "inference"),
        ("train 10:15 platform 4", "", "The train is at platform 6.", "inference"),  # by chance
        ("I pay the club 12 a month", "", "The club is 144 a year.", "inference"),
    ],
)
def test_a_plain_sum_of_what_was_said_and_is_known_is_known(
    told: str, known: str, text: str, verdict: str
) -> None:
    said = (Said("m1", AT, "Sam", told),)
    sources = ClaimSources(said, (known,) if known else (), ("Ada", "Sam"), entity="Ada")
    assert verifier.check(CitedClaim(text, ("m1",), (told,)), sources).verdict == verdict


def test_who_told_the_entity_something_is_no_reading_of_its_own() -> None:
    told = "My bus number is 27."
    sources = ClaimSources((Said("m1", AT, "Sam", told),), names=("Ada", "Sam"), entity="Ada")
    claim = CitedClaim("Sam told Ada that his bus is number 27.", ("m1",), (told,))
    assert verifier.check(claim, sources).verdict == "keep"


@pytest.mark.parametrize(
    ("heard", "answered", "text", "rests"),
    [
        (
            "A formula, please: 1 kg of flour makes 22 rolls, and 3% for the bench.",
            "=A1/22*1.03 For 110 rolls: 5 kg of flour and 0.15 kg for the bench.",
            "I wrote Ona a formula for flour with 3% for the bench.",
            "3% for the bench",
        ),
        (
            "The girl is called Milena, not Malena.",
            "Milena it is.",
            "Ona used to call her Malena.",
            "not Malena",
        ),
        (
            "Am Dienstag bleibt die Bäckerei am Vormittag geschlossen, wegen meiner Schwester.",
            "It stays closed on Tuesday, then.",
            "The bakery stays closed on Tuesday.",
            "bleibt die Bäckerei am Vormittag geschlossen",
        ),
    ],
)
def test_what_the_entity_says_after_it_takes_nothing_back(
    heard: str, answered: str, text: str, rests: str
) -> None:
    window = (Said("m1", AT, "Ona", heard), Said("m2", AT + timedelta(minutes=1), "Ada", answered))
    sources = ClaimSources(window, names=("Ada", "Ona"), entity="Ada")
    assert verifier.check(CitedClaim(text, ("m1",), (rests,)), sources).verdict != "mend"


def _after(*said: tuple[str, str]) -> ClaimSources:
    window = tuple(
        Said(f"m{n}" if who != "Ada" else "", AT + timedelta(minutes=n), who, text)
        for n, (who, text) in enumerate(said, 1)
    )
    return ClaimSources(window, names=("Ada", "Ona"), entity="Ada")


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("Yes.", "keep"),
        ("Exactly!", "keep"),
        ("Yes, but they put it off.", "mend"),
        ("No.", "mend"),
        ("I don't know yet.", "mend"),
        ("On Monday.", "mend"),
    ],
)
def test_a_yes_takes_over_what_was_asked_right_before(answer: str, verdict: str) -> None:
    sources = _after(("Ada", "Good luck! Is the exam on 4 May?"), ("Ona", answer))
    claim = CitedClaim("Ona has an exam on 4 May.", ("m2",), (answer,))
    assert verifier.check(claim, sources).verdict == verdict


@pytest.mark.parametrize(
    ("asked", "answer", "text", "verdict"),
    [
        ("Ist die Prüfung am 4. Mai?", "Ja, genau!", "Ona hat am 4. Mai Prüfung.", "keep"),
        ("Ist die Prüfung am 4. Mai?", "Stimmt nicht", "Ona hat am 4. Mai Prüfung.", "mend"),
        ("¿El examen es el 4 de mayo?", "Claro", "Ona tiene un examen el 4 de mayo.", "keep"),
        ("¿El examen es el 4 de mayo?", "Claro que no", "Ona tiene examen el 4 de mayo.", "mend"),
        ("Are you moving to Leeds?", "Exactly the opposite.", "Ona moves to Leeds.", "mend"),
        ("So you're not moving to Leeds?", "Yes, right.", "Ona moves to Leeds.", "mend"),
        ("L'examen est le 4 mai ?", "Bien sûr !", "Ona a un examen le 4 mai.", "keep"),
    ],
)
def test_a_yes_is_told_by_its_language(asked: str, answer: str, text: str, verdict: str) -> None:
    claim = CitedClaim(text, ("m2",), (answer,))
    assert verifier.check(claim, _after(("Ada", asked), ("Ona", answer))).verdict == verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("With my aunt, in the mill.", "keep"),
        ("My aunt is not there, and nobody is in the mill.", "mend"),
        ("With the others.", "mend"),
    ],
)
def test_an_answer_takes_over_the_names_of_what_was_asked(answer: str, verdict: str) -> None:
    sources = _after(("Ada", "So Epiphany is free. With whom do you spend it?"), ("Ona", answer))
    claim = CitedClaim("Ona spends Epiphany in the mill with her aunt.", ("m2",), (answer,))
    assert verifier.check(claim, sources).verdict == verdict


def test_an_answer_takes_over_no_name_of_a_yes_or_no() -> None:
    for asked, answer in (
        ("Was it Marta who broke the vase?", "It was my cat, the vase is gone."),
        ("With Marta or Julia?", "With Julia, at the vase."),
    ):
        claim = CitedClaim("Marta broke the vase.", ("m2",), (answer,))
        assert "Marta" in verifier.check(claim, _after(("Ada", asked), ("Ona", answer))).why


@pytest.mark.parametrize(
    ("said", "text", "verdict"),
    [
        ("Mum has been odd lately, has she said anything to you?", "Mum has been odd.", "keep"),
        (
            "am 10. komm ich erst gegen Mittag, kannst du allein öffnen?",
            "Ona kommt mittags.",
            "keep",
        ),
        ("Tom moves to Rome in May, is that true?", "Tom moves to Rome.", "mend"),
        ("Are you moving to Rome with Tom, or shall I ask someone?", "Ona moves to Rome.", "mend"),
        ("Kommst du mit Tom nach Rom, oder soll ich wen fragen?", "Ona kommt nach Rom.", "mend"),
        ("Ist Anna nach Rom gezogen, oder wohnt sie noch hier?", "Anna ist nach Rom.", "mend"),
    ],
)
def test_what_stands_before_a_question_of_its_own_is_stated(
    said: str, text: str, verdict: str
) -> None:
    found = verifier.check(CitedClaim(text, ("m1",), (said,)), _after(("Ona", said)))
    assert found.verdict == verdict


def test_a_condition_may_be_told_as_one_and_a_reminder_puts_nothing_right() -> None:
    said = "bon si Rémi vient pas on sera 13, et je prends un paris-brest"
    claim = CitedClaim("Si Rémi ne vient pas, ils seront 13.", ("m1",), ("on sera 13",))
    assert verifier.check(claim, _after(("Ona", said))).verdict != "mend"
    sources = _after(
        ("Ona", "Le Goff comes on 8 December at 17:30 to see the leak."),
        ("Ona", "Remind me on the 8th at 17:15 that Le Goff comes for the leak."),
    )
    text = "Le Goff comes on 8 December at 17:30 to see the leak."
    assert verifier.check(CitedClaim(text, ("m1",), ("17:30",)), sources) == verifier.KEPT


@pytest.mark.parametrize("signs", ["(?)", ",?", "what. (?) ok?", "—?", "😀, do you like dogs too?"])
def test_a_message_of_signs_can_be_read(signs: str) -> None:
    sources = _after(("Ona", f"I bought a dog. {signs}"))
    claim = CitedClaim("Ona bought a dog.", ("m1",), ("I bought a dog",))
    assert verifier.check(claim, sources) == verifier.KEPT


def test_of_somebody_called_like_a_month_the_dates_are_checked() -> None:
    sources = replace(_after(("May", "My exam is on 3 June.")), names=("Ada", "May"))
    claim = CitedClaim("May's exam is on 3 May.", ("m1",), ("My exam is on",))
    assert "3 May" in verifier.check(claim, sources).why


def test_a_name_that_is_a_month_too_is_no_date() -> None:
    said = "9 square metres for me, 14 for Mairi and 11 for Jun"
    sources = replace(_after(("Ona", said)), names=("Ada", "Ona", "Jun"))
    claim = CitedClaim("Mairi has 14 square metres, and 11 are for Jun.", ("m1",), (said,))
    assert verifier.check(claim, sources) == verifier.KEPT


def test_what_is_stated_and_asked_of_was_not_only_asked() -> None:
    told = ("Correction: the contract runs until 30 April.", "When does Tibor's contract end?")
    text = "Ona put right that Tibor's contract runs until 30 April."
    claim = CitedClaim(text, ("m1", "m2"), told)
    assert verifier.check(claim, _after(*(("Ona", one) for one in told))).verdict == "keep"
    asked = told[1:]
    claim = CitedClaim("Tibor's contract ends.", ("m1",), asked)
    assert "only asked" in verifier.check(claim, _after(*(("Ona", one) for one in asked))).why


@pytest.mark.parametrize(
    ("told", "text", "verdict"),
    [
        ("We fly to Spain in May.", "Ona longs for Spanish oranges.", "keep"),
        ("We fly to China in May.", "Ona wants to try Chinese tea.", "keep"),
        ("Schreib es bitte auf Italienisch.", "Ona asked for it in Italian.", "keep"),
        ("We fly to Spain in May.", "Ona longs for Italian oranges.", "mend"),
    ],
)
def test_what_is_of_a_land_that_was_named_is_no_strange_name(
    told: str, text: str, verdict: str
) -> None:
    claim = CitedClaim(text, ("m1",), (told,))
    assert verifier.check(claim, _after(("Ona", told))).verdict == verdict


@pytest.mark.parametrize(
    ("told", "text", "verdict"),
    [
        ("Cannot sleep.", "Ona wrote at half past two.", "keep"),
        ("Cannot sleep.", "Ona wrote at half past five.", "mend"),
        ("A date is scratched in it, 14.6.71.", "The engine is of June 1971.", "keep"),
        ("A date is scratched in it, 14.6.71.", "The engine is of June 1981.", "mend"),
    ],
)
def test_the_hour_of_a_message_and_a_short_year_are_given(
    told: str, text: str, verdict: str
) -> None:
    at = datetime(2026, 5, 24, 2, 31, tzinfo=UTC)
    sources = ClaimSources((Said("m1", at, "Ona", told),), names=("Ada", "Ona"), entity="Ada")
    found = verifier.check(CitedClaim(text, ("m1",), (told,)), sources).verdict
    assert (found != "mend") == (verdict == "keep")


@pytest.mark.parametrize(
    ("said", "known", "text", "verdict"),
    [
        ("Did you have something for me?", "At 14:00 is lunch.", "At 21:00 Ona asked me.", "keep"),
        ("My train is at 8:15.", "", "Ona's train is at 21:00.", "mend"),
        ("Run 416: payments,120,60,700", "", "Run 416 of payments took 700 seconds.", "keep"),
        ("The mill costs 1,250,000 euros.", "", "The mill costs 250 euros.", "mend"),
        ("Who sells the mill by May? It is Hanno.", "", "Hanno sells the mill by May.", "keep"),
        ("Who sells the mill by May? Can you guess?", "", "Somebody sells the mill.", "mend"),
        ("Should I sell the mill? Mum would cry.", "", "Ona sells the mill.", "mend"),
        ("The fitting is the day after now.", FITTING, "The fitting is on 4 May.", "keep"),
        ("The fitting is a week later now.", FITTING, "The fitting is on 4 May.", "mend"),
        ("Paguei duzentos reais no conserto.", "", "Ona pagou 200 reais no conserto.", "keep"),
    ],
)
def test_what_a_message_shows_by_its_form_is_given(
    said: str, known: str, text: str, verdict: str
) -> None:
    sources = ClaimSources((Said("m1", AT, "Ona", said),), (known,), ("Ada", "Ona"))
    assert verifier.check(CitedClaim(text, ("m1",), (said,)), sources).verdict == verdict


def test_a_title_may_be_a_number_that_was_told_in_whatever_language() -> None:
    sources = ClaimSources((Said("m1", AT, "Ona", "I sold the oboe for 1,200 after all."),))
    assert sources.bear("Mil e duzentos")
    assert not sources.bear("Mil e trezentos")


def test_what_the_entity_asked_puts_nothing_right_that_was_told() -> None:
    sources = _after(
        ("Ona", "My rent is 900 euros."), ("Ada", "Was it 700 euros before?"), ("Ona", "Yes.")
    )
    claim = CitedClaim("Ona's rent is 900 euros.", ("m1",), ("900 euros",))
    assert verifier.check(claim, sources) == verifier.KEPT


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Rosa me contó que Kieran llamó a su madre", "Rosa contó que Kieran llamó a su madre."),
        ("健一、54歳、調律師です。あなたは誰?", "健一は五十四歳の調律師である。"),
        ("6.20 metres at the ridge", "The hall is about six metres high at the ridge."),
        ("the spare key is at no 42 with Gwen", "Gwen has the spare key at number 42."),
        ("um papagaio q se chama Gardel, 22 ano", "Gardel é um papagaio e tem 22 anos."),
        ("o onibus nao era 624 era o 645", "O ônibus era o 645."),
        ("the bus, it wasnt 624 it was 645", "The bus was the 645."),
        ("vergiss nicht den Zahnarzt um 10", "Der Zahnarzt ist um 10."),
        ("only don't mention the 350 I put in", "Ona put in 350."),
        ("which of them wants the counts? It is Alison.", "Alison wants the counts."),
        ("my niece Alison gave me a key so I'd feed the hens", "Alison is Ona's niece."),
    ],
)
def test_what_was_told_is_kept_in_other_words(said: str, text: str) -> None:
    assert (
        verifier.check(CitedClaim(text, ("m1",), (said,)), _after(("Ona", said))).verdict != "mend"
    )


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("vou morar em Lisboa se passar na prova", "Ona vai morar em Lisboa."),
        ("me mudo a Lima si consigo el trabajo", "Ona se muda a Lima."),
        ("minha conta não foi 350 foi 450", "A conta de Ona foi 350."),
        ("nicht 20 oder 30 Gäste, 40 kommen", "Es kommen 30 Gäste."),
        ("Is Tom moving to Rome? Yeah, right.", "Tom is moving to Rome."),
        ("Quien quiera comprar la barca, que venga", "Alguien compra la barca."),
    ],
)
def test_a_condition_a_denial_and_no_real_yes_state_nothing(said: str, text: str) -> None:
    found = verifier.check(CitedClaim(text, ("m1",), (said,)), _after(("Ona", said)))
    assert found.verdict == "mend"


def test_what_the_entity_answered_is_told_without_a_pronoun_by_what_cites_the_answer() -> None:
    answer = "Empieza tú, antes del aeropuerto: una puerta sin llave no es un muro."
    asked = Said("m1", AT, "Ona", "No sé qué hacer con mis padres.")
    window = (asked, Said("a2", AT, "Ada", answer))
    sources = ClaimSources(window, names=("Ada", "Ona"), entity="Ada")
    text = "Le aconsejé que empezara antes del aeropuerto."
    told = CitedClaim(text, ("m1", "a2"), ("antes del aeropuerto",))
    assert verifier.check(told, sources).verdict != "mend"
    assert verifier.check(replace(told, cites=("m1",)), sources).verdict == "mend"
