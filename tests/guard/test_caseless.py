from __future__ import annotations

from pathlib import Path

import pytest

from bench.truth_able import judged, of_talks
from bumble.guard import caseless, claims, names, number_words
from bumble.text import stop_words

STATEMENTS = Path(__file__).parents[2] / "bench/data/statements/caseless"


@pytest.mark.parametrize(
    ("text", "said", "strange"),
    [
        ("遥の妹の由紀が札幌から来る。", "妹が来ます。遥より", ["由紀", "札幌"]),
        ("田中さんは緊張していた。", "今日は会議でした。", ["田中"]),
        ("彼女は穏やかな気持ちで勉強を続けている。", "本を読みました。", []),
        ("ヌールとコーヒーを飲んだ。", "お茶を飲んだ。", ["ヌール"]),
        ("她在苏州遇到了王伟。", "我遇到了老同学。", ["苏州", "王伟"]),
        ("她在苏州遇到了老同学。", "我昨天去苏州了。", []),
        ("太阳很好，她很安静地散步。", "我昨天散步，安静。", []),
        ("سافر محمود إلى القاهرة.", "سافر أخي أمس.", ["محمود", "القاهرة"]),
        ("كتبت نور رواية جديدة عن البحر.", "أكتب رواية. لنور", []),
        ("内緒で台所の仏壇に年賀状を置いた。", "昨日のことを話した。", []),
        ("健一は和子と沢田に会った。", "昨日のことを話した。", ["健一", "沢田"]),
        ("रमेश जयपुर में रहता है।", "मेरा भाई वहाँ रहता है।", ["रमेश", "जयपुर"]),
        ("प्रिया अपनी बहन की किताब पढ़ती है।", "मैं प्रिया हूँ।", []),
        ("ती पुण्यात राहते आणि शाळेत शिकवते.", "मी शाळेत शिकवते.", []),  # Marathi
        ("उनी काठमाडौंमा बस्छन् र पढाउँछन्।", "म पढाउँछु।", []),  # Nepali
        ("اس نے کہا کہ وہ لاہور میں رہتا ہے۔", "میں لاہور سے ہوں", []),  # Urdu
        ("مادرش بیمار شده است.", "مادرم مریض است", []),  # Persian
    ],
)
def test_names_are_told_where_no_capital_shows_them(
    text: str, said: str, strange: list[str]
) -> None:
    assert caseless.strange(text, [said]) == strange


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("十二人の友人", "12 人 の友人"),
        ("二〇二七年五月三日に", "3 May 2027 に"),
        ("三万二千円と3万円", "32000 円 と 30000 円"),
        ("房租六千五", "房租6500"),
        ("一万零五元", "10005 元"),
        ("三田さんは四季が十分好き", "三田さんは四季が十分好き"),
        ("19:00に行く", "19:00に行く"),
        ("3万5千円", "35000 円"),
        ("3億5000万円と1,200万円", "350000000 円 と 12000000 円"),
        ("3.5万人和3万五千人", "35000 人 和 35000 人"),
        ("1万2千3百5十", "12350"),
        ("去了两三天，五六百人", "去了两三天，五六百人"),
        ("二十七八岁，几十万人", "二十七八岁，几十万人"),
        ("二〇二七年，3万500円", "2027 年 ， 30500 円"),
    ],
)
def test_numbers_of_chinese_and_japanese_are_read(text: str, digits: str) -> None:
    assert " ".join(number_words.with_digits(text).split()) == digits


@pytest.mark.parametrize(
    ("said", "language", "value"),
    [
        ("خمسة وعشرون", "ar", 25),
        ("اثنتا عشرة", "ar", 12),
        ("أربعة آلاف", "ar", 4000),
        ("ثلاثمئة", "ar", 300),
        ("चालीस हज़ार", "hi", 40_000),
        ("पैंतालीस", "hi", 45),
    ],
)
def test_number_words_of_arabic_and_hindi_are_read(said: str, language: str, value: int) -> None:
    tokens = [stop_words.folded(word) for word in said.split()]
    [run] = number_words.runs(tokens, language, set(tokens))
    assert run.value == value


@pytest.mark.parametrize(("name", "least"), [("seen", 52), ("unseen", 50)])
def test_the_true_stands_and_most_of_what_nobody_said_does_not(name: str, least: int) -> None:
    statements = of_talks(STATEMENTS / f"{name}.yaml")
    kept = {each["id"] for each in statements if judged(each)["verdict"] != "mend"}
    true = [each["id"] in kept for each in statements if each["true"]]
    false = [each["id"] not in kept for each in statements if not each["true"]]
    assert sum(true) >= 0.92 * len(true)
    assert sum(false) >= least


def test_a_name_is_one_in_every_script_that_says_how_it_is_read() -> None:
    for name, other in [("ヌール", "نور"), ("Nour", "نور"), ("はるか", "Haruka"), ("Пётр", "Petr")]:
        assert names.sound_alike(name, other)
    assert not names.sound_alike("遥", "Haruka")
    assert not names.sound_alike("Nora", "Nour")  # of one script they are two
    assert claims.strange("ヌールは笑った。", ["x"], ["نور"], "ja") == []
    told = "Haruka said that Nour cooks koshari."
    assert claims.strange(told, ["コシャリ koshari"], ["遥", "نور"], "en") == ["Haruka"]
    assert claims.strange("Haruka moved to town.", ["x"], ["遥"], "en") == ["Haruka"]
