"""The words that bumble gives a meaning of its own, each in a sentence, for `--help` and docs.

Knows nothing of commands; a text is given, and the words in it that need a sentence come back.
"""

from __future__ import annotations

import re

GROUPS = {
    "Whom you talk to": {
        "entity": "the one you talk to, made of the files in one folder.",
        "owner": "the person an entity belongs to.",
        "archetype": "a ready-made character that a new entity can begin with.",
        "session": "one conversation, kept word for word.",
        "incognito": "a talk that leaves no trace in the folder.",
    },
    "What it keeps": {
        "knowledge": "facts that it is shown in every talk.",
        "episode": "what it remembers of one stretch of talk.",
        "belief": "something it holds to be true, with how sure it is and what that rests on.",
        "portrait": "how it sees a person, and how the two get along.",
        "journal": "its diary.",
        "skill": "a note on how something is done.",
        "project": "something that is worked on over days, with its next step.",
        "topic": "something that several memories are about.",
        "catalyst": "a question that a topic keeps raising.",
    },
    "What it does between talks": {
        "cycle": "one kind of work on its memories between talks, such as a dream.",
        "tick": "one look at the clock: what is due is done, and nothing else.",
        "automation": "a task that it does by itself at set times.",
        "appraise": "to note what a talk made it feel.",
        "distill": "to draw facts, beliefs and notes from what was said.",
        "reflect": "to think about the people it talked with.",
        "consolidate": "to put memories in order, and let go of what has faded.",
        "narrate": "to tell its own story anew.",
        "dream": "to mix memories at night and write down what comes of it.",
        "wake": "to begin something by itself while nobody is there.",
        "evolve": "to propose small changes of who it is.",
        "settle": "to do at once what talks have left to be done.",
        "gate": "a condition that must hold before work between talks may begin.",
        "proposal": "a change that waits until you accept it.",
    },
    "How it is": {
        "soma": "its body as numbers: how lively, tense or content it is now.",
        "anchor": "a state of its body that has a name, to come back to.",
        "noise": "stray thoughts that come without a reason.",
        "reflex": "an answer given at once, without thinking it over first.",
    },
    "How it finds things": {
        "petri": "the list of topics, found by counting, without a model.",
        "catalyze": "to search memory by way of the questions its topics raise.",
        "index": "what memories are found by; it is made from the files, again at any time.",
        "embedding": "a text as numbers, by which texts of like meaning are found.",
    },
    "Models and other programs": {
        "prompt": "all the text a model is shown before it answers.",
        "token": "a piece of a word; models count text in these.",
        "context window": "the most text a model can be shown at once.",
        "weights": "the file that a model of this machine consists of.",
        "probe": "a short test of what a model can be trusted with.",
        "MCP": "a protocol by which programs such as Claude Code use each other's tools.",
        "remote": "a copy of the folder elsewhere, which git knows by name.",
        "clone": "a copy of the folder that git can bring together with this one.",
    },
}
TERMS = {term: text for group in GROUPS.values() for term, text in group.items()}
_ENDINGS = {"e": "(e|es|ed|ing|ion)", "y": "(y|ies)", "": "(s|es|ed|ing)?"}


def pattern(term: str) -> re.Pattern[str]:
    """Return what finds a word in any of its forms."""
    last = term[-1] if term[-1] in "ey" else ""
    stem = term.removesuffix(last)
    return re.compile(rf"(?<![\w.-]){re.escape(stem)}{_ENDINGS[last]}(?![\w-]|\.\w)", re.IGNORECASE)


def explained(text: str) -> list[tuple[str, str]]:
    """Return the words of a text that need a sentence, each with it, in the order of the page."""
    return [(term, said) for term, said in TERMS.items() if pattern(term).search(text)]


def page() -> str:
    """Return docs/words.md."""
    lines = [
        "# Words",
        "",
        "Written by `python -m bumble.cli.reference docs`; do not edit by hand.",
        "`bumble COMMAND --help` explains the words it uses in the same sentences.",
    ]
    for title, group in GROUPS.items():
        lines += ["", f"## {title}", ""]
        lines += [f"- **{term}**: {text}" for term, text in group.items()]
    return "\n".join(lines) + "\n"
