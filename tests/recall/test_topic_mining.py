from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from bumble.recall import topic_mining
from bumble.recall.topic_mining import Text, Title, Topic

NOW = datetime(2026, 5, 24, 12, tzinfo=UTC)


def text(words: str, days_ago: float = 1, language: str = "en", number: int = 0) -> Text:
    at = NOW - timedelta(days=days_ago)
    record = f"msg_{days_ago}_{number}"
    return Text("message", record, "s", 1, words, at, (), "owner", "ses_1", "Sam", language)


def names(topics: list[Topic]) -> list[str]:
    return [topic.name for topic in topics]


def found(*texts: Text, titles: tuple[Title, ...] = ()) -> list[Topic]:
    return topic_mining.find(texts, titles, NOW)


def test_a_word_is_a_topic_from_three_records_on_two_days() -> None:
    harbour = "We walked along the harbour again."
    assert names(found(text(harbour), text(harbour, number=1), text(harbour, 3))) == ["Harbour"]
    assert found(text(harbour), text(harbour, 3)) == []
    assert found(text(harbour), text(harbour, number=1), text(harbour, number=2)) == []


def test_a_name_is_no_word_that_has_its_stem_but_not_its_letters() -> None:
    talk = [text("Gestern war Malte hier, der Malte.", n, "de") for n in range(4)]
    talk.append(text("Sag mal, komm doch mal vorbei.", 2, "de", number=1))
    [malte] = [topic for topic in found(*talk) if topic.name == "Malte"]
    assert set(malte.texts) == set(talk[:4])


def test_a_german_noun_is_a_word_and_a_stranger_s_name_is_a_name() -> None:
    talk = [text("Gestern hat uns Fenja im Garten geholfen.", n, "de") for n in range(4)]
    types = {topic.name: topic.type for topic in found(*talk)}
    assert types["Fenja"] == "name"
    assert types["Garten"] == "word"


@pytest.mark.parametrize(
    ("language", "line", "topic"),
    [
        ("fr", "On est retournés à l'atelier ce soir.", "Atelier"),
        ("es", "Hoy volvimos al taller con mi hermano.", "Taller"),
        ("it", "Siamo tornati stasera alla bottega.", "Bottega"),
        ("pt", "Voltamos hoje para a oficina.", "Oficina"),
        ("de", "Wir waren heute in der Werkstatt.", "Werkstatt"),
    ],
)
def test_nouns_of_six_languages_are_topics(language: str, line: str, topic: str) -> None:
    assert topic in names(found(*(text(line, n, language) for n in range(4))))


def test_titles_tags_and_links_are_topics_however_rare() -> None:
    talk = [text("The engine of the boat broke, see [[Spare parts]] #repair")]
    titles = (Title("Boat", "knowledge"), Title("Boat / Engine", "knowledge"))
    topics = {topic.name: topic for topic in found(*talk, titles=titles)}
    assert {name: topic.type for name, topic in topics.items()} == {
        "Boat": "knowledge",
        "Boat / Engine": "knowledge",
        "Spare parts": "link",
        "repair": "tag",
    }
    assert topics["Boat"].children == ("Boat / Engine",)
    assert topics["Boat / Engine"].parent == "Boat"
    assert topics["Boat / Engine"].frequency == 1


def test_one_thing_with_two_titles_is_one_topic() -> None:
    sails = [text("The Alma sails.", n) for n in (1, 2, 3)]
    two = (Title("Alma", "person"), Title("The Alma", "knowledge"))
    alma = [topic for topic in found(*sails, titles=two) if "Alma" in topic.name]
    assert [(topic.name, topic.frequency) for topic in alma] == [("Alma", 3)]
    hens = [text("The hen house has a new door.", n) for n in (1, 2)]
    two = (Title("Hen house", "knowledge"), Title("Hens", "knowledge"))
    topic, *rest = found(*hens, text("The hens lay well.", 3), titles=two)
    assert (topic.name, topic.frequency) == ("Hens", 3)
    assert "Hen house" not in names(rest)
    assert topic_mining.key_of("hen house") in topic.keys


def test_two_things_of_which_one_has_the_other_s_name_stay_two() -> None:
    piano = [text("The piano was tuned.", n) for n in (1, 2, 3, 4)]
    two = (Title("Piano", "knowledge"), Title("Piano teacher", "knowledge"))
    topics = found(*piano, text("The piano teacher yawned.", 5), titles=two)
    assert set(names(topics)) == {"Piano", "Piano teacher"}
    people = (Title("Kim Berg", "person", ("Kim",)), Title("Kim", "person"))
    assert set(names(found(text("Kim is here."), titles=people))) == {"Kim", "Kim Berg"}


@pytest.mark.parametrize(
    ("days", "trend"),
    [
        ((1, 2, 3, 40), "rising"),
        ((1, 2, 40, 41), "steady"),
        ((1, 40, 41, 42), "falling"),
        ((70, 80, 90), "dormant"),
    ],
)
def test_the_trend_holds_thirty_days_against_the_thirty_before(
    days: tuple[int, ...], trend: str
) -> None:
    talk = sorted((text("the #boat", day) for day in days), key=lambda each: str(each.at))
    assert [topic.trend for topic in found(*talk)] == [trend]


def test_what_comes_in_lumps_goes_before_what_is_spread() -> None:
    talk = [text("They fed the hens.", day) for day in range(1, 13)]
    hot = "The kiln was hot, and so was the kiln."
    talk += [text(hot, day, number=n) for day in (2, 3) for n in (1, 2, 3)]
    talk.sort(key=lambda each: str(each.at))
    assert names(found(*talk))[0] == "Kiln"


@pytest.mark.parametrize(("mark", "kind"), [("#regatta", "tag"), ("[[Regatta]]", "link")])
def test_a_mark_makes_more_of_a_word_and_loses_no_mention(mark: str, kind: str) -> None:
    talk = [text("This is the regatta.", n) for n in range(2, 6)]
    (word,) = found(*talk)
    (marked,) = found(*talk, text(f"Note {mark}", 1))
    assert (marked.type, marked.frequency, word.frequency) == (kind, 5, 4)
    assert marked.score > word.score


def test_what_people_tell_of_themselves_goes_before_what_they_say_to_each_other() -> None:
    talk = [text("I was at the smithy again. Your optimism is a gift.", day) for day in range(5)]
    topics = names(found(*talk))
    assert topics.index("Smithy") < topics.index("Optimism")


def test_what_stands_under_a_title_is_about_it_and_what_has_no_time_is_not_dormant() -> None:
    section = replace(text("She plays in Porto."), kind="knowledge", id="Sister, Ana", at=None)
    title = Title("Sister, Ana", "knowledge", at=NOW, record=("knowledge", "Sister, Ana"))
    (topic,) = found(section, titles=(title,))
    assert (topic.frequency, topic.trend, topic.days_since(NOW)) == (1, "steady", 0)
    (topic,) = found(section, titles=(replace(title, at=None),))
    assert (topic.trend, topic.days_since(NOW)) == ("steady", None)


def test_a_persons_name_in_another_form_is_theirs() -> None:
    talk = [text("Wczoraj byłam w kinie z Bartkiem i mamą.", n, "pl") for n in range(4)]
    [bartek] = [
        topic
        for topic in found(*talk, titles=(Title("Bartek", "person"),))
        if topic.name.startswith("Bart")
    ]
    assert bartek.name == "Bartek" and set(bartek.texts) == set(talk)
