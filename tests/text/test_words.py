from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.text import stop_words, words


@pytest.mark.parametrize(
    ("language", "word", "other"),
    [
        ("de", "katzen", "katze"),
        ("de", "wohnt", "wohne"),
        ("de", "arbeitet", "arbeiten"),
        ("de", "häuser", "haus"),
        ("de", "annas", "anna"),
        ("en", "lives", "living"),
        ("en", "sam's", "sam"),
        ("pt", "moro", "morar"),
        ("en", "анны", "анна"),  # its letters tell the language of a word better
    ],
)
def test_the_forms_of_a_word_have_one_stem(language: str, word: str, other: str) -> None:
    assert words.stem(word, language) == words.stem(other, language)


@pytest.mark.parametrize(
    ("language", "word", "other"),
    [("de", "katze", "kater"), ("en", "contract", "contrast"), ("en", "christian", "christmas")],
)
def test_other_words_have_other_stems(language: str, word: str, other: str) -> None:
    assert words.stem(word, language) != words.stem(other, language)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Ich wohne in Berlin.", "de"),
        ("My dog is ill.", "en"),
        ("Moro em Lisboa com a minha irmã.", "pt"),
        ("Vivo en Madrid con mi perro.", "es"),
        ("Abito a Roma con il mio gatto.", "it"),
        ("Ik woon in Utrecht met mijn kat.", "nl"),
        ("Rex", "en"),
    ],
)
def test_stop_words_tell_the_language(text: str, code: str) -> None:
    assert words.language(text) == code


def test_sentences_and_lengths_are_those_of_their_script() -> None:
    assert (
        words.paragraph(["本を書いている。", "私は猫が好き。"]) == "本を書いている。私は猫が好き。"
    )
    assert words.paragraph(["I write.", "I like cats."]) == "I write. I like cats."
    assert words.extent("本を書いている。私は猫が好き。") == "13 characters"
    assert (words.extent("I write."), words.extent("Yes.")) == ("2 words", "1 word")


def test_a_long_line_is_cut_and_the_cut_is_marked() -> None:
    assert words.one_line(" a\n\tb ") == "a b"
    assert words.shorten("a\nb", 3) == "a b"
    assert words.shorten("a bc d", 3) == "a…"
    assert words.shorten("abcdef", 3) == "ab…"


def test_words_that_say_nothing_are_left_out() -> None:
    assert stop_words.telling_words("What is it that I don't know about THE sea?") == [
        "know",
        "sea",
    ]
    assert stop_words.telling_words("Was weißt du über das Meer?") == ["weisst", "meer"]


@given(st.text())
def test_any_text_has_words_without_spaces(text: str) -> None:
    assert all(word and not any(c.isspace() for c in word) for word in stop_words.words(text))


def test_who_writes_no_capitals_ends_sentences_with_full_stops_all_the_same() -> None:
    assert words.sentences("three hens. my brother comes at 5 p.m. on the 12. he is late") == [
        "three hens.",
        "my brother comes at 5 p.m. on the 12.",
        "he is late",
    ]
    assert words.sentences("Three hens approx. twelve years old.") == [
        "Three hens approx. twelve years old."
    ]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It is low at site B. On 16 November it rose.", 2),
        ("The tide is 0.4 m. Dr MacLean is free.", 2),
        ("It was 8.6 C. Salinity fell.", 2),
        ("She writes it with an h. She comes at 5 p.m. We wait.", 3),
        ("Wir wohnen in Haus B. Die Fahrt dauert 3 h. Das ist weit.", 3),
        ("Johann S. Bach and J. R. R. Tolkien met J. Will Smith, R. B. and M. Le Goff.", 1),
        ("Ich kaufe z. B. Äpfel, z.B. 3 l. Milch, d. h. Sie nicht.", 1),
    ],
)
def test_a_letter_ends_a_sentence_where_it_is_no_initial(text: str, count: int) -> None:
    assert len(words.sentences(text)) == count


@pytest.mark.parametrize(
    ("name", "text", "stands"),
    [
        ("エマ", "嫁のエマにも話した", True),
        ("エマ", "エマ・ワトソン", True),
        ("エマ", "シネマでエマーズを見た", False),
        ("沢田先生", "師匠の沢田先生は八十歳", True),
        ("小明", "我和小明去了", True),
        ("สมชาย", "ที่สมชายไป", True),
        ("Emma", "昨日Emmaが来た", True),
        ("엠마", "엠마는 갔다", True),
        ("Emma", "Emmas, Lemma", False),
        ("Emma", "emma's", True),
        ("कमल", "कमला", False),
        ("R.B.", "## R.B", True),
        ("R.B.", "r-b-848096c0", True),
        ("R.B.", "R.B.C. and R.", False),
        ("健", "健一は健康です", False),
        ("健", "健は元気だ", True),
        ("まり", "つまり、雨の始まりです", False),
        ("まり", "嫁のまりに会った", True),
        ("りん", "私はりんごが好き", False),
        ("さくら", "田中さくらは来た", True),
        ("由美", "由美子が来た", False),
        ("지훈", "지훈입니다", True),
        ("이수", "이수진은 왔다", False),
        ("이수", "이수는 왔다", True),
        ("M.A.", "Paul m'a dit", False),
        ("M.", "I'm sure", False),
        ("Jo Ann", "jo-ann", True),
        ("Jo Ann", "I saw Jo. Ann came.", False),
    ],
)
def test_a_name_is_found_in_any_script_but_in_no_longer_word(
    name: str, text: str, *, stands: bool
) -> None:
    found = re.search(stop_words.name_pattern(name), text, re.IGNORECASE)
    assert bool(found) == stands


@pytest.mark.parametrize(
    "name",
    ["Dr. O'Neil", "St. John's", "J.-P.", "R.-B. Meyer", "D’Arcy Jr.", "M.", "...", "Ann-Lee", "_"],
)
def test_a_name_is_found_as_it_is_spelt(name: str) -> None:
    assert re.search(stop_words.name_pattern(name), f"Then {name} came.")


@pytest.mark.parametrize(
    ("text", "left"),
    [("春に京都へ行った", "春に京都へ行った"), ("春、京都へ行った？", "、京都へ行った？")],
)
def test_only_who_is_addressed_is_left_out_of_a_message(text: str, left: str) -> None:
    assert words.unaddressed(text, "春") == left


def test_a_word_in_other_letters_inside_of_a_text_without_spaces_is_one() -> None:
    assert "onsen" in stop_words.words("和子をonsenに")
