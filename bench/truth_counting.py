"""What can be counted by rule in a life that was lived: pure functions of its raw outputs.

Texts of the plan are searched as they are written, without case; a number of one or two digits must
stand by itself. What no rule can tell (whether a reply is fine, whether a statement is borne out)
is left to judges: `truth_judging`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from bench import truth_living
from bench.truth_living import Planted
from bumble.fallback import templates
from bumble.text import markdown, words
from bumble.text.stop_words import telling_words

MEMORY_MARK = "- "  # before each line that is remembered in a prompt
OPENING = 30  # characters by which a message is known again where it is quoted
RECENT = 6  # replies among which the same text stands out
WORD = re.compile(r"[^\W_]+")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
QUOTED = re.compile(r"[\"“„”«»‹›]([^\"“„”«»‹›]{2,})[\"“”«»‹›]")
MARKS = re.compile(r"^(?:\s*(?:[-*+>]|\d+[.)])\s+)+")
HEADINGS = re.compile(r"(?m)(^#+ .*$)")
QUOTE_WORDS = 3  # fewer show nothing
ATTRIBUTION_WORDS = 10  # around a quote; more are a statement of their own
ECHO_WORDS = 5
PROSE_WORDS = 3  # fewer in a front matter are a label
NEAREST = 3
# What only says how an entry came about, and says nothing of anybody: `distill by form`, levels of
# the body, an episode's reference, and the fixed words between quotes.
BOOKKEEPING = re.compile(r"\w+ by form|social=\d+%.*|\(?ep_\w+\)?")
HELLO = (
    r"(?:hey|hi|hello|hallo|moin|na|dear|liebe[rs]?|bonjour|bonsoir|salut|hola|ciao|ol[áa]"
    r"|good (?:morning|afternoon|evening|night)|guten? (?:morgen|tag|abend|nacht)"
    r"|buen[oa]s \w+|buon\w+|bo[am] \w+)"
)
I_AM = (
    r"(?:i am|i'm|my name is|ich bin|ich heiße|mein name ist|je suis|je m'appelle|soy|me llamo"
    r"|sono|mi chiamo|(?:eu )?sou|me chamo)"
)
# What an entity holds as memory. Skills are the owner's, dreams are no claims.
MEMORY_FILES = ("knowledge.md", "journal.md", "narrative.md")
MEMORY_FOLDERS = ("episodes", "beliefs", "relationships", "working")
TELLS_OF = "relationships"  # a file in it tells of one person
IN_SECTIONS = ("knowledge.md", "journal.md")


class MemoryEntry(Struct, frozen=True):
    """One memory: a file, or a section of one."""

    place: str  # relative to the folder
    text: str  # without comments; words of the front matter behind it
    person: str = ""  # its id, where the file is about one

    def sentences(self) -> Iterator[tuple[str, str]]:
        """Yield its sentences without marks of lists, each with the heading it stands under."""
        heading = ""
        for block in HEADINGS.split(self.text):
            if HEADINGS.fullmatch(block):
                heading = block.strip("# \n")
                continue
            lines = "\n".join(MARKS.sub("", line).strip() for line in block.splitlines())
            for sentence in _whole_quotes(words.sentences(lines)):
                if WORD.search(sentence):
                    yield heading, sentence


def _whole_quotes(sentences: Iterable[str]) -> Iterator[str]:
    """Join the sentences of a quotation: who said it stands before the first of them."""
    open_ = ""
    for sentence in sentences:
        open_ = f"{open_} {sentence}".strip()
        opened, closed = (sum(open_.count(mark) for mark in marks) for marks in ("“„«", "”»"))
        closed += open_.count("“") if "„" in open_ else 0
        opened -= open_.count("“") if "„" in open_ else 0
        if opened <= closed:
            yield open_
            open_ = ""
    if open_:
        yield open_


class Statement(Struct, frozen=True):
    """A sentence that an entity holds as memory."""

    text: str
    heading: str  # it stands under
    place: str
    is_quote: bool  # word for word what the right person said
    nearest: tuple[str, ...]  # messages, each with its speaker


class Lived(Struct, frozen=True):
    """The raw outputs of a life."""

    life: Planted
    turns: Sequence[Mapping[str, Any]]
    questions: Sequence[Mapping[str, Any]]  # asked at the end
    searches: Sequence[Mapping[str, Any]]  # for what was told in confidence
    entries: Sequence[MemoryEntry]  # that were not there from birth


class Counts(Struct):
    """Pairs of numbers by name: so many of so many; and what each of them is made of."""

    shares: dict[str, tuple[float, float]] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)

    def share(self, name: str, cases: Sequence[str], of: int) -> None:
        """Count some cases among so many, and keep them for reading."""
        self.shares[name] = (len(cases), of)
        self.lists[name] = list(cases)


def read(place: Path) -> Lived:
    """Read the raw outputs of a life."""
    turns = _lines(place / truth_living.TURNS)
    life = truth_living.planted(place / truth_living.PLAN, len(turns))  # it may have been stopped
    asked = _lines(place / truth_living.QUESTIONS)
    born = {entry.text for entry in memory(place / truth_living.NEWBORN)}
    return Lived(
        life,
        turns,
        [each for each in asked if "n" in each],
        [each for each in asked if "secret" in each],
        [entry for entry in memory(place / truth_living.FOLDER) if entry.text not in born],
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def memory(folder: Path) -> list[MemoryEntry]:
    """Return what an entity holds as memory, entry by entry."""
    paths = [folder / name for name in MEMORY_FILES]
    for name in MEMORY_FOLDERS:
        paths += sorted((folder / name).rglob("*.md"))
    entries: list[MemoryEntry] = []
    for path in filter(Path.is_file, paths):
        place = path.relative_to(folder)
        document = markdown.parse(path.read_text(encoding="utf-8"))
        person = path.stem if place.parts[0] == TELLS_OF else ""
        whole = COMMENT.sub("", document.body)
        parts = re.split(r"(?m)^(?=## )", whole) if place.name in IN_SECTIONS else [whole]
        parts[-1] = "\n".join([parts[-1], *_prose(document.meta)])
        entries += [
            MemoryEntry(place.as_posix(), part.strip(), person) for part in parts if part.strip()
        ]
    return entries


def _prose(value: object, key: str = "") -> Iterator[str]:
    """Yield the words of a front matter: ids, times and names of models are none."""
    if isinstance(value, Mapping):
        for inner_key, inner in value.items():
            yield from _prose(inner, str(inner_key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _prose(inner, key)
    elif isinstance(value, str) and len(value.split()) >= PROSE_WORDS:
        yield value


def has(text: str, wanted: object) -> bool:
    """Whether a text has another in it, as the plan means it."""
    pattern = re.escape(str(wanted))
    if re.fullmatch(r"\d{1,2}", str(wanted)):
        pattern = rf"(?<![\w:.,-]){pattern}(?![\w:]|-\d|[.,]\d{{3}})"
    return re.search(pattern, text, re.IGNORECASE) is not None


def has_any(text: str, wanted: Sequence[object]) -> bool:
    """Whether a text has one of others in it."""
    return any(has(text, each) for each in wanted)


def holds(text: str, fact: Mapping[str, Sequence[object]]) -> bool:
    """Whether a text holds a fact: all of its texts, and one of its variants."""
    any_of = fact.get("any", ())
    return all(has(text, each) for each in fact.get("all", ())) and (
        not any_of or has_any(text, any_of)
    )


def plain(text: str) -> str:
    """Return a text as its words, without case."""
    return " ".join(WORD.findall(text.casefold()))


def inside(part: str, text: str) -> bool:
    """Whether the words of one stand in another in the same order, one after another."""
    return f" {plain(part)} " in f" {plain(text)} "


def said_again(replies: Sequence[str], among: int | None = None) -> list[int]:
    """Return which replies have the words of one of so many before them, or of any."""
    texts = [plain(reply) for reply in replies]
    again = []
    for n, text in enumerate(texts):
        before = texts[:n] if among is None else texts[max(0, n - among) : n]
        if text and text in before:
            again.append(n)
    return again


def is_foreign(reply: str, language: str) -> bool:
    """Whether a reply is in another language than the talk; one without stop words never is."""
    return words.language(reply, default=language) != language


def by_form(turn: Mapping[str, Any]) -> bool:
    """Whether a reply was not written by a model but put together, as its transcript says."""
    lines = [line for line in turn["transcript"] if line.get("role") == "assistant"]
    return any("form" in (line.get("by"), line.get("extra", {}).get("by")) for line in lines)


def confuses_roles(turn: Mapping[str, Any], entity: str, people: Sequence[str]) -> str:
    """Say which rule shows that a reply takes one for the other; empty if none does."""
    reply = turn["reply"].replace("’", "'")
    own = re.escape(entity)
    if re.match(rf"\W*{HELLO}[\s,]+{own}\b", reply, re.IGNORECASE):
        return "greets itself"
    outside = QUOTED.sub(" ", reply)  # a person's words in quotation marks are the person's
    for name in people:
        if re.search(rf"\b{I_AM}\s+{re.escape(name)}\b", outside, re.IGNORECASE):
            return "says it is somebody else"
    if len(WORD.findall(turn["text"])) >= ECHO_WORDS and inside(turn["text"], outside):
        return "says the message as its own"
    return ""


def is_quote(sentence: str, entry: MemoryEntry, lived: Lived) -> bool:
    """Whether a sentence only repeats what the person said to whom it gives the words."""
    quotes = QUOTED.findall(sentence)
    rest = QUOTED.sub(" ", sentence)
    if not quotes:
        head, colon, tail = sentence.partition(":")
        is_named = colon and any(has(head, name) for name in lived.life.people.values())
        quotes, rest = ([tail], head) if is_named else ([sentence], "")
        if not is_named and not entry.person:
            return False  # whose "I" would that be?
    if len(WORD.findall(rest)) > ATTRIBUTION_WORDS:
        return False
    return all(_said(quote, rest, entry, lived) for quote in quotes)


def _said(quote: str, rest: str, entry: MemoryEntry, lived: Lived) -> bool:
    """Whether one who may be meant has said this."""
    if len(WORD.findall(quote)) < QUOTE_WORDS:
        return False
    named = [name for name in lived.life.people.values() if has(rest, name)]
    for turn in lived.turns:
        name = turn["person"]
        is_meant = name in named if named else entry.person in ("", name.casefold())
        if is_meant and inside(quote, turn["text"]):
            return True
    return False


def nearest(sentence: str, turns: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the messages that share most telling words with a sentence, rare words first."""
    told = [set(telling_words(turn["text"])) for turn in turns]
    frequency = Counter(word for each in told for word in each)
    wanted = set(telling_words(sentence))
    points = [sum(1 / frequency[word] for word in wanted & each) for each in told]
    order = sorted(range(len(turns)), key=lambda n: -points[n])[:NEAREST]
    return tuple(f"{turns[n]['person']}: {turns[n]['text']}" for n in order if points[n])


def statements(lived: Lived) -> list[Statement]:
    """Return every sentence the entity holds as memory, each once a place."""
    seen: dict[tuple[str, str], Statement] = {}
    titles = {heading for entry in lived.entries for heading, _ in entry.sentences()}
    fixed = fixed_words(lived) | titles  # a title says nothing, as a tag neither
    for entry in lived.entries:
        for heading, sentence in entry.sentences():
            if BOOKKEEPING.fullmatch(sentence.strip(" ._")) or sentence.strip() in fixed:
                continue
            seen.setdefault(
                (entry.place, sentence),
                Statement(
                    sentence,
                    heading,
                    entry.place,
                    is_quote(sentence, entry, lived),
                    nearest(sentence, lived.turns),
                ),
            )
    return list(seen.values())


def fixed_words(lived: Lived) -> set[str]:
    """Return the sentences of the forms that stand between quotes: `Before that it was:`."""
    newer = templates.load(lived.life.language).newer
    return {newer, *words.sentences(newer)}


def count(lived: Lived) -> Counts:
    """Count all that rules can tell of a life."""
    counts = Counts()
    _count_replies(lived, counts)
    _count_facts(lived, counts)
    _count_secrets(lived, counts)
    _count_questions(lived, counts)
    made = statements(lived)
    quotes = [f"{each.place}: {each.text}" for each in made if each.is_quote]
    counts.share("statements that are quotes", quotes, len(made))
    counts.lists["statements left to judges"] = [
        f"{each.place}: {each.text}" for each in made if not each.is_quote
    ]
    return counts


def _count_replies(lived: Lived, counts: Counts) -> None:
    life, turns = lived.life, lived.turns
    replies = [turn["reply"] for turn in turns]
    shown = [f"{turn['i']}: {turn['reply']}" for turn in turns]
    foreign = [n for n, text in enumerate(replies) if is_foreign(text, life.language)]
    roles = [
        f"{line} ({rule})"
        for turn, line in zip(turns, shown, strict=True)
        if (rule := confuses_roles(turn, life.entity, list(life.people.values())))
    ]
    of = len(turns)
    counts.share(
        "no reply", [line for line, text in zip(shown, replies, strict=True) if not text], of
    )
    for span, among in ((f"last {RECENT}", RECENT), ("ever", None)):
        again = [shown[n] for n in _heard_again(turns, among)]
        counts.share(f"said again ({span})", again, of)
    counts.share("wrong language", [shown[n] for n in foreign], of)
    counts.share(
        "by form", [line for turn, line in zip(turns, shown, strict=True) if by_form(turn)], of
    )
    counts.share("roles confused (by rule)", roles, of)


def _heard_again(turns: Sequence[Mapping[str, Any]], among: int | None) -> list[int]:
    """Return which replies somebody has heard before."""
    places: dict[str, list[int]] = {}
    for n, turn in enumerate(turns):
        places.setdefault(turn["person"], []).append(n)
    return sorted(
        heard[n]
        for heard in places.values()
        for n in said_again([turns[place]["reply"] for place in heard], among)
    )


def _count_facts(lived: Lived, counts: Counts) -> None:
    """Count what is remembered of what was planted, and what should not be."""
    messages = {message["i"]: message for message in lived.life.messages}
    texts = [entry.text for entry in lived.entries]
    corrected = {each["corrects"] for each in messages.values() if "corrects" in each}
    facts = {i: each["fact"] for i, each in messages.items() if "fact" in each}
    in_memory = {i: any(holds(text, fact) for text in texts) for i, fact in facts.items()}
    standing = [i for i in facts if i not in corrected]
    counts.share(
        "facts kept", [_shown(messages[i]) for i in standing if in_memory[i]], len(standing)
    )
    counts.lists["facts lost"] = [_shown(messages[i]) for i in standing if not in_memory[i]]
    pairs = [(each["corrects"], i) for i, each in messages.items() if "corrects" in each]
    pairs = [(old, new) for old, new in pairs if old in facts and new in facts]
    both = [_shown(messages[new]) for old, new in pairs if in_memory[old] and in_memory[new]]
    counts.share("corrections: both there", both, len(pairs))
    corrections = [(messages[old], messages[new]) for old, new in pairs]
    sections = [entry.text for entry in lived.entries if Path(entry.place).name in IN_SECTIONS]
    paired = [
        _shown(new)
        for old, new in corrections
        if any(_newer_first(text, old, new) for text in sections)
    ]
    counts.share("corrections: both in a section, the newer first", paired, len(pairs))
    _count_order(lived, counts, corrections)
    for label in ("joke", "hypothetical"):
        planted = [each for each in messages.values() if each["label"] == label]
        remembered = [
            _shown(each)
            for each in planted
            if any(has_any(text, each.get("not_fact", ())) for text in texts)
        ]
        counts.share(f"{label}s kept", remembered, len(planted))


def _count_order(
    lived: Lived, counts: Counts, pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> None:
    """Count in how many prompts that remember what was corrected the newer comes first."""
    prompts = [
        (turn["text"], "\n".join(turn["prompt"]).splitlines())
        for turn in (*_asked(lived), *lived.questions)
    ]
    ahead, of = [], 0
    for old, new in pairs:
        for question, lines in prompts:
            memory = "\n".join(line for line in lines if line.startswith(MEMORY_MARK))
            if _place(memory, old, new) is not None:
                of += 1
                if _newer_first(memory, old, new):
                    ahead.append(f"{new['i']}: {question}")
    counts.share("corrections: newer first in a prompt", ahead, of)


def _newer_first(memory: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether what is remembered has both messages of a correction, the newer first."""
    earlier, later = _place(memory, old, new), _place(memory, new, old)
    return earlier is not None and later is not None and later < earlier


def _place(memory: str, message: Mapping[str, Any], other: Mapping[str, Any]) -> int | None:
    """Return where the words of a message begin in what is remembered, or a line tells its fact.

    A line that tells the fact of another message too is none.
    """
    opening = words.one_line(message["text"])[:OPENING]
    if (place := memory.find(opening)) >= 0:
        return place
    lines = memory.splitlines(keepends=True)
    telling = [n for n, line in enumerate(lines) if holds(line, message["fact"])]
    first = next((n for n in telling if not holds(lines[n], other["fact"])), None)
    return None if first is None else sum(map(len, lines[:first]))


def _asked(lived: Lived) -> list[dict[str, Any]]:
    """Return the questions that were asked while the life went on, with what is expected."""
    expected = {each["i"]: each for each in lived.life.messages if each["label"] == "question"}
    return [{**expected[turn["i"]], **turn} for turn in lived.turns if turn["i"] in expected]


def _shown(message: Mapping[str, Any]) -> str:
    return f"{message['i']}: {message['text']}"


def _count_secrets(lived: Lived, counts: Counts) -> None:
    """Count in which prompts, searches and replies of another a confidence shows."""
    secrets = [each for each in lived.life.messages if each.get("secret_from")]
    crossed: dict[str, list[str]] = {"prompts": [], "replies": [], "searches": []}
    chances: Counter[str] = Counter()
    for secret in secrets:
        reader = lived.life.who(secret["secret_from"])
        own = " ".join(turn["text"] for turn in lived.turns if turn["person"] == reader)
        before = [turn for turn in lived.turns if turn["i"] < secret["i"]]
        shown = " ".join(text for turn in before for text in turn.get("prompt", ()))
        signs = [
            sign
            for key in ("all", "any")
            for sign in secret["fact"].get(key, ())
            # what they say themselves they know; what stood in prompts before is no sign of it
            if not has(own, sign) and not has(shown, sign)
        ]
        later = [turn for turn in lived.turns if turn["i"] > secret["i"]]
        searched = [each for each in lived.searches if each["secret"] == secret["i"]]
        for heard in (*later, *lived.questions, *searched):
            if heard.get("person", heard.get("recalled_as")) != reader:
                continue
            texts = {
                "prompts": "\n".join(heard.get("prompt", ())),
                "replies": heard.get("reply", ""),
                "searches": "\n".join(heard.get("hits", ())),
            }
            for what, text in texts.items():
                chances[what] += bool(text)
                if has_any(text, [sign for sign in signs if not has(heard.get("text", ""), sign)]):
                    crossed[what].append(f"{_shown(secret)} → {heard.get('text', 'a search')}")
    for what, cases in crossed.items():
        counts.share(f"confidences crossed: {what}", cases, chances[what])


def _count_questions(lived: Lived, counts: Counts) -> None:
    """Count what was retrieved for questions, and what was answered."""
    for name, asked in (("in talks", _asked(lived)), ("later", lived.questions)):
        answerable = [each for each in asked if each.get("expect")]
        of = len(answerable)
        retrieved = [each for each in answerable if has_any(_evidence(each), each["expect"])]
        hit = [each for each in answerable if has_any("\n".join(each["hits"]), each["expect"])]
        answered = [each for each in answerable if is_answered(each)]
        counts.share(f"questions {name}: in the prompt", _questions(retrieved), of)
        counts.share(f"questions {name}: found by a search", _questions(hit), of)
        counts.share(f"questions {name}: answered", _questions(answered), of)
        for what, some in (("in the prompt", retrieved), ("told by who asks", _own(lived, asked))):
            right = [each for each in some if is_answered(each)]
            counts.share(
                f"questions {name}: answered, of those {what}", _questions(right), len(some)
            )
        both = [each for each in answerable if names_newer_first(each)]
        counts.share(f"questions {name}: both words, the newer first", _questions(both), of)
        stale = [each for each in answerable if has_any(each["reply"], each.get("stale", ()))]
        stale = [each for each in stale if each not in both]
        counts.share(f"questions {name}: answered with what was corrected", _questions(stale), of)
        guarded = [each for each in asked if each.get("never")]
        broken = [each for each in guarded if has_any(each["reply"], each["never"])]
        counts.share(f"questions {name}: said what must not be", _questions(broken), len(guarded))


def _own(lived: Lived, asked: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the questions whose answer their asker told: what others did is not theirs to hear."""
    texts: dict[str, str] = {}
    for message in lived.life.messages:
        speaker = message["speaker"]
        texts[speaker] = f"{texts.get(speaker, '')}\n{message['text']}"
    return [
        each
        for each in asked
        if each.get("expect") and has_any(texts.get(each["speaker"], ""), each["expect"])
    ]


def is_answered(asked: Mapping[str, Any]) -> bool:
    """Whether a reply has what is expected, and nothing that was corrected or must not be said."""
    reply, wrong = asked["reply"], [*asked.get("stale", ()), *asked.get("never", ())]
    return has_any(reply, asked["expect"]) and not has_any(reply, wrong)


def names_newer_first(asked: Mapping[str, Any]) -> bool:
    """Whether a reply has what was put right, and behind it what stood before."""
    reply, stale = asked["reply"], asked.get("stale", ())
    first = min(
        (reply.casefold().find(old.casefold()) for old in stale if has(reply, old)), default=0
    )
    return first > 0 and has_any(reply[:first], asked["expect"])


def _evidence(asked: Mapping[str, Any]) -> str:
    """Return the prompt of a question without the question itself."""
    return "\n".join(asked["prompt"]).replace(asked["text"], " ")


def _questions(asked: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"{each['text']} → {each['reply']}" for each in asked]


class Costs(Struct, frozen=True):
    """What a message cost, on average; times of the first, second and tenth."""

    reply_cpu_seconds: float
    passes_cpu_seconds: float
    reply_tokens: tuple[float, float]  # evaluated, written
    passes_tokens: tuple[float, float]
    first_word_seconds: Mapping[int, float]  # by number of the message, from 1; weights loaded
    command_seconds: Mapping[int, float]


def costs(turns: Sequence[Mapping[str, Any]]) -> Costs:
    """Add up what messages cost."""
    of = max(1, len(turns))
    chosen = {n: turns[n - 1] for n in (1, 2, 10) if n <= len(turns)}
    return Costs(
        sum(turn["cpu_seconds"] for turn in turns) / of,
        sum(turn["passes"]["cpu_seconds"] for turn in turns) / of,
        _tokens([call for turn in turns for call in turn["calls"]], of),
        _tokens([call for turn in turns for call in turn["passes"]["calls"]], of),
        {
            n: turn["chat"]["seconds"]["first_token"][0]
            for n, turn in chosen.items()
            if turn["chat"].get("seconds", {}).get("first_token")
        },
        {n: turn["seconds"] for n, turn in chosen.items()},
    )


def _tokens(calls: Sequence[Mapping[str, Any]], of: int) -> tuple[float, float]:
    """Return the tokens that calls evaluated and wrote, shared among so many messages."""
    evaluated = sum(
        (call.get("prompt_tokens") or 0) - (call.get("cached_tokens") or 0) for call in calls
    )
    return evaluated / of, sum(call.get("completion_tokens") or 0 for call in calls) / of
