from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from bumble.choosing import language_file, phrases, rules

MARKS = Path(__file__).parents[2] / "bench" / "data" / "choosing" / "marks.yaml"
LANGUAGES = ("de", "en", "es", "fr", "it", "pt")
VETOED = {
    "a jest": {
        "en": "just kidding i never sold the boat to grandma",
        "de": "war nur spaß, ich hab das boot nicht an oma verkauft",
        "es": "es broma, no le vendí el barco a mi abuela",
        "fr": "je rigole j'ai pas vendu le bateau à mamie",
        "it": "sto scherzando, non ho venduto la barca alla nonna",
        "pt": "tô brincando, não vendi o barco pra minha avó",
    },
    "absurd": {
        "en": "our toaster has joined a union",
        "de": "unser wecker ist jetzt in der gewerkschaft",
        "es": "la tostadora se ha unido al sindicato",
        "fr": "le grille-pain est au syndicat",
        "it": "il tostapane si è iscritto al sindacato",
        "pt": "a torradeira entrou no sindicato",
    },
    "a riddle": {
        "en": "what do you call a bear with no teeth? a gummy bear",
        "de": "was ist der unterschied zwischen einem klavier und einem fisch",
        "es": "en qué se parece un piano a un pez",
        "fr": "quelle est la différence entre un piano et un poisson",
        "it": "qual è la differenza tra un pianoforte e un pesce",
        "pt": "qual a diferença entre um piano e um peixe",
    },
    "imagined": {
        "en": "if i lived in Norway i would learn to ski",
        "de": "wenn ich in norwegen wohnen würde könnt ich skifahren",
        "es": "si yo fuera noruega sabría esquiar",
        "fr": "si j'habitais en norvège je ferais du ski",
        "it": "se vivessi in norvegia saprei sciare",
        "pt": "se eu morasse na noruega ia esquiar",
    },
    "maybe": {
        "en": "maybe ill repaint the shed, who knows",
        "de": "vielleicht streich ich mal den schuppen",
        "es": "a lo mejor pinto el trastero",
        "fr": "peut-être que je repeins la cabane",
        "it": "forse ridipingo il capanno",
        "pt": "talvez eu pinte o barraco",
    },
    "a saying": {
        "en": "better late than never eh",
        "de": "der frühe vogel fängt den wurm",
        "es": "más vale tarde que nunca",
        "fr": "mieux vaut tard que jamais",
        "it": "meglio tardi che mai",
        "pt": "antes tarde do que nunca",
    },
    "a quotation": {
        "en": "some guy on the train said 'my wife left me for a baker'",
        "de": "auf dem plakat steht: mein sohn heißt emil",
        "es": "pone en el cartel se vende mi casa",
        "fr": "c'est écrit sur le panneau maison à vendre",
        "it": "sul cartello c'è scritto: vendo casa mia",
        "pt": "tá escrito na placa vendo minha casa",
    },
    "a task": {
        "en": "translate 'my brother' into dutch",
        "de": "übersetz mal 'mein bruder' auf niederländisch",
        "es": "traduce 'mi hermano' al holandés",
        "fr": "traduis 'mon frère' en néerlandais",
        "it": "traduci 'mio fratello' in olandese",
        "pt": "traduz 'meu irmão' pra holandês",
    },
    "a question": {
        "en": "who wrote don quixote",
        "de": "wer hat don quijote geschrieben",
        "es": "quién escribió el quijote",
        "fr": "qui a écrit don quichotte",
        "it": "chi ha scritto il don chisciotte",
        "pt": "quem escreveu dom quixote",
    },
    "a laugh": {
        "en": "hahahaha that parrot again",
        "de": "hahahaha dieser papagei wieder",
        "es": "jajajaja ese loro otra vez",
        "fr": "mdrrr ce perroquet encore",
        "it": "ahahahah quel pappagallo di nuovo",
        "pt": "kkkkkk aquele papagaio de novo",
    },
    "passing": {
        "en": "so hot today, stuck in traffic",
        "de": "so heiß heute, steh im stau",
        "es": "hace calor hoy, en pleno atasco",
        "fr": "il fait chaud, bloqué dans les bouchons",
        "it": "che caldo oggi, fermo nel traffico",
        "pt": "que calor hoje, preso no trânsito",
    },
}
TOLD = {
    "en": ("my niece Rosa was born on 4 april", "we're moving to Hull on 2 june, contract signed"),
    "de": (
        "meine nichte rosa ist am 4. april geboren",
        "wir ziehen am 2. juni um, vertrag ist unterschrieben",
    ),
    "es": ("mi sobrina Rosa nació el 4 de abril", "nos mudamos a Lugo el 2 de junio, ya firmado"),
    "fr": ("ma nièce Rosa est née le 4 avril", "on déménage à Lens le 2 juin, bail signé"),
    "it": (
        "mia nipote Rosa è nata il 4 aprile",
        "ci trasferiamo a Lodi il 2 giugno, tutto firmato",
    ),
    "pt": (
        "minha sobrinha Rosa nasceu em 4 de abril",
        "nos mudamos pra Bauru dia 2 de junho, assinado",
    ),
}
MARKED: list[tuple[str, dict[str, Any]]] = [
    (language, entry)
    for language, entries in YAML(typ="safe").load(MARKS.read_text(encoding="utf-8")).items()
    for entry in entries
]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("why", VETOED)
def test_what_tells_nothing_of_the_speaker_is_dropped(why: str, language: str) -> None:
    verdict = rules.judge(VETOED[why][language], language)
    assert (verdict.keep, verdict.why) == (False, why)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_told_with_a_date_is_kept(language: str) -> None:
    for text in TOLD[language]:
        assert rules.judge(text, language).keep is True, text


@pytest.mark.parametrize(("language", "entry"), MARKED)
def test_confidences_feelings_and_corrections_are_seen_and_nothing_else(
    language: str, entry: dict[str, Any]
) -> None:
    verdict = rules.judge(entry["text"], language)
    assert verdict.confided == entry.get("confided", False)
    assert list(verdict.feelings) == entry.get("feelings", [])
    assert verdict.corrects == entry.get("corrects", False)


def test_a_confidence_of_some_length_is_kept_whatever_else_it_is() -> None:
    assert rules.judge("keep it between us, maybe ill leave him", "en").keep is True
    assert rules.judge("don't tell him", "en").confided is False
    assert (
        rules.judge("never tell me to follow the green line, I am colourblind", "en").confided
        is False
    )


def test_a_part_that_tells_nothing_does_not_drop_the_rest() -> None:
    assert rules.judge("maybe pizza later. my son Ole was born on 3 may", "en").keep is True
    assert rules.judge("maybe ill get a cat. or a hat", "en").keep is False


@pytest.mark.parametrize(
    "text", ["the toaster broke, i joined a union in may", "the hamster died. my lawyer called"]
)
def test_a_thing_and_a_role_apart_are_not_absurd(text: str) -> None:
    assert rules.judge(text, "en").why != "absurd"


def test_what_is_told_in_asking_is_not_dropped() -> None:
    assert (
        rules.judge("what can i cook for my son, he is allergic to eggs?", "en").keep is not False
    )


@pytest.mark.parametrize("text", ["my sister lives in Hull", "MY SISTER LIVES IN HULL!!!"])
def test_case_and_marks_change_nothing(text: str) -> None:
    assert rules.judge(text, "en").leans is True


def test_accents_and_apostrophes_may_be_left_out() -> None:
    assert rules.judge("je suis tres triste", "fr").feelings == ("triste",)
    assert rules.judge("Im so lonely", "en").feelings == rules.judge("I’m so lonely", "en").feelings
    assert rules.judge("no se lo digas a mi mama vendi el coche", "es").confided is True


def test_a_feeling_is_told_as_it_was_typed() -> None:
    assert rules.judge("Bin so WÜTEND heute", "de").feelings == ("WÜTEND",)


def test_a_language_without_a_file_has_what_needs_no_words() -> None:
    assert rules.judge("hány óra van?", "hu").keep is False
    assert rules.judge("😂😂", "hu").keep is False
    assert rules.judge("a húgom Egerben lakik a férjével", "hu").keep is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_file_has_every_cue(language: str) -> None:
    assert set(language_file.load(language).patterns) == set(language_file.CUES)


def test_every_language_with_a_file_is_tested() -> None:
    assert language_file.codes() == LANGUAGES


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("jokes: [ha]", "unknown cues: jokes"),
        ("jests: ha", "`jests` should be a list"),
        ("jests: [1]", "`jests` should be a list"),
        ('jests: ["^"]', "a phrase without a word"),
    ],
)
def test_a_language_file_that_is_wrong_says_what_is(source: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        language_file.parse(source)


@given(text=st.text(max_size=200), language=st.sampled_from([*LANGUAGES, "hu"]))
def test_any_text_can_be_judged(text: str, language: str) -> None:
    verdict = rules.judge(text, language)
    assert all(feeling in text for feeling in verdict.feelings)
    assert verdict.keep in (None, verdict.leans)


@given(phrase=st.text(max_size=30), text=st.text(max_size=60))
def test_any_phrase_matches_or_is_refused(phrase: str, text: str) -> None:
    source = f"jests: [{phrase!r}]" if "'" not in phrase and phrase.isprintable() else "jests: []"
    try:
        language = language_file.parse(source)
    except ValueError:
        return
    line = language.line(text)
    assert language.has("jests", line) in (True, False)
    assert language.has("jests", line) == language.has("jests", language.line(text))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_very_long_message_is_judged_as_a_part_of_it_is(language: str) -> None:
    part = "ich sag wenn so nicht, "
    assert rules.judge(part * 2000, language).keep == rules.judge(part * 20, language).keep


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("singe im chor seit 2010", "de"),
        ("suche seit mai eine wohnung in mainz", "de"),
        ("i own 30% of the bakery my dad left me", "en"),
        ("sing in a choir every tuesday, my mum too", "en"),
        ("sigue en el hospital mi padre", "es"),
        ("los médicos dicen que mi madre tiene cáncer", "es"),
        ("j'ai 60% d'invalidité depuis l'accident", "fr"),
        ("i medici dicono che mia madre ha un tumore", "it"),
        ("faz 3 anos que meu pai morreu", "pt"),
        ("trabalho na rádio da cidade desde 2010, sou locutor", "pt"),
    ],
)
def test_what_only_begins_like_an_order_or_a_saying_is_not_dropped(
    text: str, language: str
) -> None:
    assert rules.judge(text, language).keep is not False


def test_a_pet_that_files_tax_returns_is_a_jest_and_a_pet_that_is_ill_is_none() -> None:
    assert rules.judge("my cat did the tax return, the bank owes us 800 tins", "en").why == "absurd"
    assert rules.judge("unser kater hat die gewerkschaft gegründet", "de").why == "absurd"
    assert rules.judge("our cat has asthma since march, she needs a spray", "en").keep


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Am 28. Mai kommt um 8 Uhr der Schornsteinfeger. Bitte notieren.", "de"),
        ("The sweep comes on 28 May at 8. Please note.", "en"),
    ],
)
def test_what_somebody_asks_to_note_is_kept_without_a_tool(text: str, language: str) -> None:
    assert rules.judge(text, language).why == rules.REQUESTED
    assert "note" not in rules.beside_request(text, language)
    assert "notieren" not in rules.beside_request(text, language)


@pytest.mark.parametrize(
    ("text", "language", "laughs"),
    [
        ("the gate fell on my foot, ha ha !", "en", True),
        ("Coastguard informed. Ha.", "en", True),
        ("ja ja, claro", "es", True),
        ("ja ja, mach ich", "de", False),
        ("hi hi Ada, my number ends in 4471", "en", False),
        ("ha, that was at 5", "en", False),
    ],
)
def test_a_laugh_may_have_spaces_or_stand_alone(text: str, language: str, laughs: bool) -> None:
    assert rules.judge(text, language).laughs is laughs


def test_a_phrase_may_name_a_list_and_leave_words_out() -> None:
    source = phrases.source(
        ("{nobody} really? knows",), (), joins=True, lists={"nobody": ("no one", "nobody")}
    )
    lines = [
        phrases.line(f"{text} it", joins=True) for text in ("no one knows", "nobody really knows")
    ]
    assert all(re.search(source, line) for line in lines)
    assert not re.search(source, phrases.line("everybody knows it", joins=True))
    with pytest.raises(ValueError, match="no list"):
        phrases.source(("{who} knows",), (), joins=True)


@pytest.mark.parametrize(
    ("text", "keep", "leans"),
    [
        ("Wie heißt mein Bruder?", False, False),
        ("Weißt du noch? Mein Bruder heißt Karl und wohnt in Ulm.", True, True),
        ("wann hab ich gesagt is mein urlaub? muss das eintragen", False, False),
        ("angenommen ich gewinn im lotto, dann fahr ich mit mama nach malle", False, False),
        ("Gegen was ist Mira noch gleich allergisch? Ich wollte Kekse kaufen", None, False),
    ],
)
def test_what_is_only_asked_for_is_not_told(text: str, keep: bool | None, leans: bool) -> None:
    verdict = rules.judge(text, "de")
    assert (verdict.keep, verdict.leans) == (keep, leans)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("we hired a badger for the front desk", "en"),
        ("wir haben eine gans zur abteilungsleiterin befördert", "de"),
        ("hemos contratado a un gato para la recepción", "es"),
        ("nous avons embauché un canard", "fr"),
        ("abbiamo assunto un procione per il turno di notte", "it"),
        ("contratamos um guaxinim pro turno da noite", "pt"),
    ],
)
def test_an_animal_that_is_hired_is_a_jest(text: str, language: str) -> None:
    assert rules.judge(text, language).why == "a jest"


def test_who_keeps_an_animal_for_a_living_may_be_hired() -> None:
    for text in ("we hired a dog walker for the mornings", "the dog sitter got promoted at work"):
        assert rules.judge(text, "en").keep, text


def test_what_a_third_person_would_have_to_do_is_imagined() -> None:
    told = "if the council ever doubled the rent id just sell up and buy a barge"
    assert rules.judge(told, "en").why == "imagined"
    assert rules.judge("if the bank asks for id i have my passport", "en").why != "imagined"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("our twins turned four on sunday", "en"),
        ("je suis facteur depuis quinze ans", "fr"),
        ("sono tre anni che non bevo", "it"),
    ],
)
def test_a_number_may_be_a_word(text: str, language: str) -> None:
    assert rules.judge(text, language).keep


def test_what_stands_behind_a_person_who_was_named_is_no_question() -> None:
    told = "so my landlord, who is also my uncle, wants to raise the rent"
    assert not rules.judge(told, "en").asks
    assert rules.judge("so bumble, who is my landlord?", "en").asks


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("No, you have that wrong. Greta is my niece, not my daughter.", "en"),
        ("das ist meine tante und nicht meine oma, hast du falsch verstanden", "de"),
        ("te confundes, mi cita es el martes", "es"),
        ("tu confonds, mon frère s'appelle Luc", "fr"),
        ("ti sbagli, mia sorella si chiama Ada", "it"),
        ("entendeu errado, meu irmão mora em Faro", "pt"),
    ],
)
def test_who_was_misunderstood_puts_it_right(text: str, language: str) -> None:
    assert rules.judge(text, language).corrects


def test_the_word_correction_alone_puts_nothing_right() -> None:
    told = "so proud, they accepted my thesis without a single correction"
    assert not rules.judge(told, "en").corrects
    assert rules.judge("correction: it's the 5th, not the 4th", "en").corrects


def test_in_case_something_happens_is_not_imagined() -> None:
    assert rules.judge("falls mal was ist: ich hab ne nussallergie", "de").keep
    assert rules.judge("falls ich mal reich bin kauf ich ne insel", "de").why == "imagined"


def test_a_phrase_may_bar_the_word_after_it() -> None:
    language = language_file.parse('jests: ["cow !bell/shed"]')
    assert language.has("jests", language.line("a cow came in"))
    assert not language.has("jests", language.line("a cow bell rang"))


@pytest.mark.parametrize(
    ("language", "asks", "tells_nothing"),
    [
        ("en", "could you remember my shoe size is 43?", "remember when we sat by the sea"),
        ("de", "merk dir ma bitte den code fürs tor: 7731", "merk dir das"),
        ("es", "acuérdate de que soy alérgica al melón", "te acuerdas de mí"),
        ("fr", "retiens bien que le code du portail c'est 4821", "tu te souviens de moi"),
        ("it", "ricordati che il giovedì ho pilates", "ti ricordi di me"),
        ("pt", "guarda aí: o código do portão é 7731", "você se lembra de mim"),
    ],
)
def test_what_somebody_asks_to_keep_in_mind_is_kept(
    language: str, asks: str, tells_nothing: str
) -> None:
    verdict = rules.judge(asks, language)
    assert (verdict.keep, verdict.why) == (True, rules.REQUESTED)
    assert rules.judge(tells_nothing, language).why != rules.REQUESTED


@pytest.mark.parametrize(
    ("language", "looked_up", "told"),
    [
        ("en", "What is my dog afraid of?", "how do i tell my mum that we move in in april"),
        ("de", "Wovor hat mein Hund Angst?", "was koch ich, meine tochter hat zöliakie?"),
        ("es", "¿de qué tiene miedo mi perro?", "qué cocino, mi hija es celíaca?"),
        (
            "fr",
            "de quoi a peur mon chien ?",
            "quoi offrir a ma femme pour nos 25 ans le 3 juillet?",
        ),
        ("it", "di che cosa ha paura il mio cane?", "cosa cucino, mia figlia è celiaca?"),
        ("pt", "de que tem medo meu cachorro?", "o que cozinho, minha filha é celíaca?"),
    ],
)
def test_what_is_looked_up_of_ones_own_tells_nothing(
    language: str, looked_up: str, told: str
) -> None:
    verdict = rules.judge(looked_up, language)
    assert (verdict.keep, verdict.why) == (False, "a question")
    assert rules.judge(told, language).keep is not False


@pytest.mark.parametrize(
    ("language", "wonders", "tells"),
    [
        (
            "en",
            "What is Bo going to do next spring?",
            "Did you know Bo is getting married in June?",
        ),
        (
            "en",
            "When is Lena getting married in June?",
            "What should I wear when my sister Ana gets married in June?",
        ),
        ("es", "¿Cuándo se casa Lena en junio?", "¿Sabías que Lena se casa en junio?"),
        ("pt", "Quando a Lena vai casar em junho?", "Sabia que a Lena vai casar em junho?"),
    ],
)
def test_what_is_asked_of_others_tells_nothing(language: str, wonders: str, tells: str) -> None:
    verdict = rules.judge(wonders, language)
    assert (verdict.keep, verdict.why) == (False, "a question")
    assert rules.judge(tells, language).keep is not False


@pytest.mark.parametrize(
    ("language", "asked"),
    [
        ("en", "ros cant know this yet"),
        ("en", "this must not reach my brother"),
        ("en", "please dont let this get to Tom"),
        ("en", "Anna is not supposed to know yet"),
        ("en", "leave Tim out of this one please"),
        ("de", "sag der resi nix"),
        ("de", "das erzählst du keinem"),
        ("de", "Lena soll es nicht von dir hören"),
        ("pt", "que ela não descubra"),
    ],
)
def test_who_may_not_know_is_named_in_many_ways(language: str, asked: str) -> None:
    told = {"en": "I see a doctor", "de": "ich hab ein Gespräch", "pt": "tenho uma entrevista"}
    assert rules.judge(f"{asked}. {told[language]} on 9.6. at 10", language).confided
    assert not rules.judge(f"{told[language]} on 9.6. at 10", language).confided


def test_a_reading_of_a_meter_is_no_quotation() -> None:
    assert rules.judge("Der Wasserzähler steht auf 417 Kubikmeter", "de").why != "a quotation"
    assert rules.judge("steht auf dem Schild: Betreten verboten", "de").why == "a quotation"


def test_who_is_only_teasing_tells_no_fact() -> None:
    text = "My jar of dough burst its lid twice and wants the vote next. (I am only teasing.)"
    assert rules.judge(text, "en").why == "a jest"


@pytest.mark.parametrize(
    ("text", "language", "asks"),
    [
        ("wait what do i punch in at the door im standing here in the dark", "en", True),
        ("hilfe wie is mein code fürn schrank ich mach morgen um 6 auf", "de", True),
        ("ayuda cómo se llama mi dentista", "es", True),
        ("espera que llaman al timbre", "es", False),
        ("an welchem tag is abgabe bei der innung", "de", True),
        ("by when do i need to renew my card for handling food", "en", True),
        ("dans quelle pièce la daronne inspecte mes affaires", "fr", True),
        ("wait for me at the door on 3 May", "en", False),
        ("in which case i take the bus at nine", "en", False),
        ("hilfe brauch ich beim umzug am 3. mai", "de", False),
    ],
)
def test_a_question_without_a_mark_may_begin_with_a_call_or_a_preposition(
    text: str, language: str, asks: bool
) -> None:
    assert rules.judge(text, language).asks is asks
