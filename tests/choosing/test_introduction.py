from __future__ import annotations

import pytest

from bumble.choosing.introduction import is_bare, name_in


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Hello Ada, I'm Sam. Who are you?", "Sam"),
        ("hi I’m Sam", "Sam"),
        ("my name is sam", "Sam"),
        ("My name is Ngozi Okafor, nice to meet you", "Ngozi Okafor"),
        ("I'm Sam and this is Bo", "Sam"),
        ("I am O'Brien.", "O'Brien"),
        ("Call me Ishmael.", "Ishmael"),
        ("I'm 陈伟.", "陈伟"),
        ("Hallo, ich bin Jürgen!", "Jürgen"),
        ("Ich bin die Anna und du?", "Anna"),
        ("ich heiße peter", "Peter"),
        ("Bonjour, je m'appelle Jean-Luc", "Jean-Luc"),
        ("Salut, moi c'est Inès", "Inès"),
        ("Hola, soy Javi", "Javi"),
        ("Ciao, sono Maria Rossi.", "Maria Rossi"),
        ("Oi, eu sou o João", "João"),
        ("hi, mira here, nurse in leeds", "Mira"),
        ("Good evening Ada, this is Ruth Price.", "Ruth Price"),
        ("so na dann hallo ada. die betty hier, steinmetzin aus st. wendel", "Betty"),
        ("Guten Abend, hier ist Marek.", "Marek"),
        ("Bonjour, ici Solène", "Solène"),
        ("hola, aquí Inés", "Inés"),
        ("ciao, qui Denis", "Denis"),
        ("Oi, aqui é o Wellington", "Wellington"),
    ],
)
def test_a_name_that_somebody_gives_themselves(text: str, name: str) -> None:
    assert name_in(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "I'm tired",
        "I'M TIRED",
        "I'm German.",
        "I'm not Sam",
        "I'm Sam's dad",
        'She said: "I\'m Sam."',
        "I'm going to London.",
        "call me later",
        "my name is not important",
        "Hallo, ich bin Arzt.",
        "Ich bin Lehrerin.",
        "Ich bin in Berlin",
        "Je suis français",
        "sono a Roma",
        "",
        "hi come here",
        "hi the plumber here",
        "hi Ada its me again",
        "hi, it's cold here",
        "hello ada here is my list",
        "hallo hier ist es kalt",
        "Bonjour, c'est dimanche",
        "oi, é verdade",
    ],
)
def test_what_names_nobody(text: str) -> None:
    assert name_in(text) == ""


@pytest.mark.parametrize(
    ("text", "is_all"),
    [
        ("Hello Ada, I'm Sam. Who are you?", True),
        ("my name is sam", True),
        ("Guten Abend Ada, ich heiße Jonas.", True),
        ("I'm Sam, Biscuit's owner", False),
        ("my name is sam, 45", False),
        ("ich heiße Lena und wohn in Fürth", False),
        ("since you ask, the person who fixed your clock in May is me: I'm Sam.", False),
        ("Who are you?", False),
    ],
)
def test_a_name_and_nothing_else_is_no_news(text: str, is_all: bool) -> None:
    assert is_bare(text) is is_all
