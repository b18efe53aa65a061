from __future__ import annotations

from decimal import Decimal

import pytest

from bumble.guard import values


@pytest.mark.parametrize(
    ("text", "language", "number"),
    [
        ("vierhundertzwanzig Euro", "de", 420),
        ("nearer a score of slates", "en", 20),
        ("our twins are here", "en", 2),
        ("ventidue anni", "it", 22),
        ("sjuttiofem gäster", "sv", 75),
        ("osiemdziesiąt osób", "pl", 80),
        ("six cents mètres", "fr", 600),
        ("septante-deux kilos", "fr", 72),
        ("a bus of an hour and twenty minutes", "en", 80),
        ("un año y tres meses", "es", 15),
        ("fa cinquant'anni sabato", "it", 50),
    ],
)
def test_a_number_is_read_in_words(text: str, language: str, number: int) -> None:
    assert Decimal(number) in {one.value for one in values.read(text, language).numbers}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("um halb neun", "de"),
        ("um 20.30 Uhr", "de"),
        ("um hoiba neun", "de"),
        ("at half past eight", "en"),
        ("at 8:30 pm", "en"),
        ("a las ocho y media", "es"),
        ("alle otto e mezza", "it"),
        ("om half negen", "nl"),
        ("at half past eight o'clock", "en"),
        ("half past 8 o clock", "en"),
        ("à huit heures et demie", "fr"),
        ("a las nueve menos treinta", "es"),
        ("thirty minutes to nine", "en"),
        ("8 h 30", "fr"),
    ],
)
def test_a_time_of_day_is_the_same_in_whatever_form(text: str, language: str) -> None:
    [clock] = values.read("um 8.30 Uhr", "de").numbers
    assert any(one.equals(clock) for one in values.read(text, language).numbers)


def test_another_time_of_day_is_another() -> None:
    [clock] = values.read("um halb neun", "de").numbers
    for other in ("um halb zehn", "um neun Uhr", "um 8.45 Uhr"):
        assert not any(one.equals(clock) for one in values.read(other, "de").numbers)


def test_noon_has_minutes_before_and_behind() -> None:
    [clock] = values.read("um 11.45 Uhr", "de").numbers
    noon = values.read("à midi moins le quart", "fr").numbers
    assert any(one.equals(clock) for one in noon)


@pytest.mark.parametrize(
    ("text", "language", "number"),
    [
        ("huit euros cinquante", "fr", "8.5"),
        ("eight pound sixty", "en", "8.6"),
        ("2 Meter 40", "de", "2.4"),
        ("twaalf euro en vijftig cent", "nl", "12.5"),
        ("dos euros con cincuenta", "es", "2.5"),
        ("doze reais e cinquenta", "pt", "12.5"),
    ],
)
def test_a_unit_between_two_numbers_parts_a_whole_from_its_hundredths(
    text: str, language: str, number: str
) -> None:
    assert [one.value for one in values.read(text, language).numbers] == [Decimal(number)]


def test_a_half_before_a_round_number_halves_it() -> None:
    for text, language in (("half a million", "en"), ("eine halbe Million", "de")):
        assert values.read(text, language).numbers[-1].value == Decimal(500_000)
    assert values.read("half a dozen eggs", "en").numbers[-1].value == Decimal(6)


def test_a_month_belongs_to_the_nearest_number_and_to_no_article() -> None:
    assert values.read("she is turning 13 on nov 2", "en").times.dated == {(11, 2)}
    assert not values.read("a march through the town", "en").times.dated


def test_a_full_stop_behind_a_number_is_of_a_day_where_the_words_say_so() -> None:
    assert values.read("Sie kommt am 14. März.", "de").times.dated == {(3, 14)}
    assert values.read("Klinik rief an, OP ist am 10.", "de").times.ordinals == {10}
    assert not values.read("Jetzt sind wir 26. Schön.", "de").times.ordinals
    assert not values.read("It starts at 7.30", "en").times.dated
    assert values.read("from 12 to 19 June", "en").times.dated == {(6, 12), (6, 19)}


@pytest.mark.parametrize(
    ("text", "language", "months", "weekdays"),
    [
        ("Her patience would march through any wall.", "en", set(), set()),
        ("It was in March, on a Tuesday.", "en", {3}, {1}),
        ("we met in march", "en", {3}, set()),  # whoever writes no capitals
        ("Rzeczy mają swoje miejsce.", "pl", set(), set()),
        ("Pojadą tam w połowie maja.", "pl", {5}, set()),
        ("Tem um mar de paciência e uma quarta voz.", "pt", set(), set()),
        ("É em março, na quarta-feira.", "pt", {3}, {2}),
    ],
)
def test_a_word_that_may_be_another_names_no_month_and_no_day(
    text: str, language: str, months: set[int], weekdays: set[int]
) -> None:
    times = values.read(text, language).times
    assert (set(times.full_months), set(times.full_weekdays)) == (months, weekdays)
    assert not times.dated


@pytest.mark.parametrize(
    ("text", "language", "alone"),
    [
        ("Élodie veut du neuf sans jeter le vieux.", "fr", True),
        ("Voici neuf chaises.", "fr", False),
        ("Sie gibt acht auf alles.", "de", True),
        ("Ettore ha quattordici anni.", "it", False),
        ("Tibor is twelve.", "en", False),
    ],
)
def test_a_small_number_that_counts_nothing_may_be_another_word(
    text: str, language: str, alone: bool
) -> None:
    [number] = values.read(text, language).numbers
    assert number.alone is alone


def test_a_word_between_a_weekday_and_its_hour_is_no_day_of_the_month() -> None:
    assert values.read("lundi à 8h", "fr").times.ordinals == frozenset()
    assert not values.read("me lembra todo dia 8 da manhã", "pt").times.ordinals
    assert values.read("Monday 8", "en").times.ordinals == {8}


@pytest.mark.parametrize(
    ("text", "language", "days"),
    [
        ("the day after tomorrow", "en", 2),
        ("the day before yesterday", "en", -2),
        ("après-demain", "fr", 2),
        ("pasado mañana", "es", 2),
        ("depois de amanhã", "pt", 2),
        ("dopodomani", "it", 2),
    ],
)
def test_a_day_is_named_by_the_longest_phrase_alone(text: str, language: str, days: int) -> None:
    assert values.read(text, language).times.offsets == {(days, days)}


@pytest.mark.parametrize("language", ["en", "fr", "de", "zh", "ar"])
def test_a_row_of_digits_that_nobody_counts_with_is_no_number(language: str) -> None:
    row = "577269746520696" * 4
    assert [one.value for one in values.read(f"{row} 20, {row} euro 60", language).numbers] == [
        20,
        60,
    ]


def test_a_number_before_a_day_is_of_the_same_month_in_a_row_of_days_alone() -> None:
    assert values.read("pitch 9 on 14 May", "en").times.dated == {(5, 14)}
    assert values.read("12 till 19 juni", "sv").times.dated == {(6, 12), (6, 19)}
    assert values.read("am 9. und am 14. Mai", "de").times.dated == {(5, 9), (5, 14)}


@pytest.mark.parametrize(
    ("text", "language"),
    [("28 per cento", "it"), ("vingt-huit pour cent", "fr"), ("28 por ciento", "es")],
)
def test_the_hundred_of_a_share_is_no_number(text: str, language: str) -> None:
    assert [one.value for one in values.read(text, language).numbers] == [28]


@pytest.mark.parametrize(
    ("text", "language", "days"),
    [
        ("明日は三台まわる", "ja", (1, 1)),
        ("我昨天去了", "zh", (-1, -1)),
        ("내일은 갈 거예요", "ko", (1, 1)),
    ],
)
def test_a_day_is_read_where_no_space_parts_it_from_other_words(
    text: str, language: str, days: tuple[int, int]
) -> None:
    assert values.read(text, language).times.offsets == {days}


def test_days_weekdays_and_months_of_japanese_are_read() -> None:
    assert values.read("来月の三日、木曜の十時", "ja").times.ordinals == {3}
    assert values.read("来月の三日、木曜の十時", "ja").times.weekdays == {3}
    assert values.read("十一月の検査", "ja").times.months == {11}
    for text in ("三日間休んだ", "二日酔いだ", "3日かかった", "3号楼"):
        assert not values.read(text, "ja").times.ordinals
    assert not values.read("明日香が来る", "ja").times.offsets


def test_a_run_is_of_kilometres_and_a_price_is_not() -> None:
    run, told = (values.read(text, "en").numbers[0] for text in ("8.2k", "8.2 kilometres"))
    assert run.equals(told)
    dear, cheap = (values.read(text, "en").numbers[0] for text in ("£20k", "£20"))
    assert not dear.equals(cheap)
    cars = values.read("5 cars", "en").numbers[0]
    assert not values.read("5k for it", "en").numbers[0].equals(cars)


def test_weekdays_are_read_as_people_cut_them_short() -> None:
    assert values.read("try it thurs", "en").times.weekdays == {3}
    assert not values.read("Tom weds Anna", "en").times.weekdays


@pytest.mark.parametrize("text", ["a £30 bar tab", "un bon de 30 €", "a $30 voucher"])
def test_an_article_before_a_price_is_no_part_of_it(text: str) -> None:
    assert 30 in {one.value for one in values.read(text, "en").numbers}


def test_hours_with_minutes_may_be_a_span_and_noon_is_none() -> None:
    [clock] = values.read("18 km in 1u52", "nl").numbers[1:]
    [span] = values.read("een uur en tweeënvijftig minuten", "nl").numbers
    assert clock.equals(span)
    half_past, hours = (values.read(text, "en").numbers[0] for text in ("8:30", "8.5 hours"))
    assert not half_past.equals(hours)
    noon, day = (values.read(text, "en").numbers[0] for text in ("noon", "three days"))
    assert not noon.equals(day)


def test_a_number_of_something_else_is_no_hundredth() -> None:
    found = values.read("20 euro en 30 boeken", "nl").numbers
    assert [one.value for one in found] == [20, 30]


@pytest.mark.parametrize(
    ("text", "amount"),
    [("₹33,00,000 a year", 3_300_000), ("33 lakh", 3_300_000), ("1,20,000 rupees", 120_000)],
)
def test_rupees_are_read_as_they_are_written_in_india(text: str, amount: int) -> None:
    assert values.read(text, "en").numbers[0].value == amount


@pytest.mark.parametrize(
    ("text", "language", "weekday"),
    [("do niedzieli", "pl", 6), ("od piątku", "pl", 4), ("до субботы", "ru", 5)],
)
def test_a_weekday_is_read_behind_a_preposition(text: str, language: str, weekday: int) -> None:
    assert values.read(text, language).times.full_weekdays == {weekday}
