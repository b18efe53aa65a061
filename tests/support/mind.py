"""A mind by rules, behind a server: it answers every kind of request from the words of its prompt.

Plain and honest, as a good small model is: it says again what was said, in the form that is asked
for. A server rather than a script, so that processes share it and answers rest on what they ask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.fake_server import Exchange, FakeServer

CHAT = "/v1/chat/completions"
CHARGED = {
    "died": ("concerned", {"tension": 6, "comfort": -4, "social": 4}),
    "afraid": ("anxious", {"tension": 5, "comfort": -3, "social": 3}),
    "won": ("excited", {"curiosity": 4, "creative": 4, "social": 3}),
    "music": ("content", {"comfort": 3, "creative": 3, "social": 2}),
}
LIGHT = ("neutral", {"social": 1})
BARS = ("social", "curiosity", "creative", "tension", "comfort")
_NO_SCORES: dict[str, Any] = {"dynamic": "easy", "topics": [], "unresolved": []}
FLAT = {"familiarity": 0.4, "warmth": 0.6, "trust": 0.5, "tension": 0.1, "investment": 0.5}


@contextmanager
def serving() -> Iterator[FakeServer]:
    """Serve the mind on this machine; what it was asked is in `seen`."""
    server = FakeServer()
    server.routes[CHAT] = respond
    try:
        yield server
    finally:
        server.close()


def environ(server: FakeServer) -> dict[str, str]:
    """Return the settings that lead bumble to it."""
    may = "{any: write}"  # it answers as a model that can
    return {
        "BUMBLE_LLM_BASE_URL": f"{server.url}/v1",
        "BUMBLE_LLM_MODEL": "rules",
        "BUMBLE_LLM_ABILITIES_TALK": may,
        "BUMBLE_LLM_ABILITIES_MEMORY": may,
    }


def respond(exchange: Exchange, says: Callable[[Any], str] | None = None) -> None:
    """Answer a request in the manner of an OpenAI-compatible server."""
    text = (says or answer)(exchange.body)
    asked = sum(len(one.get("content") or "") for one in exchange.body["messages"])
    usage = {"prompt_tokens": asked // 4, "completion_tokens": len(text) // 4 + 1}
    usage["total_tokens"] = sum(usage.values())
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "rules"}
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": "stop"}
    events = ({"choices": [choice]}, {"choices": [], "usage": usage})
    exchange.start()
    for event in events:
        exchange.chunk(b"data: " + json.dumps({**chunk, **event}).encode() + b"\n\n")
    exchange.chunk(b"data: [DONE]\n\n")
    exchange.end()
    exchange.cut()  # nobody keeps a connection to a mind for long


def answer(body: Any) -> str:
    """Return what the mind says to the last message of a request."""
    prompt = str(body["messages"][-1]["content"])
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if schema is None:
        return _reply(prompt)
    if "enum" in schema:
        return "CHAT"
    fields = schema["properties"]
    made = next(make for name, make in _MAKERS.items() if name in fields)
    return json.dumps(made(prompt, fields), ensure_ascii=False)


def about(person: str, sentence: str) -> str:
    """Say of somebody what they said of themselves: "My dog barks." is "Sam's dog barks."."""
    said = sentence.strip().rstrip(".")
    if said.startswith("My "):
        said = f"{person}'s {said[3:]}"
    elif said.startswith("I "):
        verb, _, rest = said[2:].partition(" ")
        said = f"{person} {verb}s {rest}"
    said = re.sub(r"\bmy\b", "their", said)
    return f"{said}."


def _tagged(prompt: str, tag: str) -> list[str]:
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", prompt, re.DOTALL)
    return found[1].splitlines() if found else []


def _facts(lines: list[str]) -> list[tuple[str, str, str]]:
    """Return (number, person, sentence) of the lines in which somebody speaks of themselves."""
    found = []
    for line in lines:
        said = re.match(r'(?:\[m(\d+)\] [\d:]+ )?(\w+)(?: said)?: "?((?:My|I) [^"]+)', line)
        if said:
            found.append((said[1] or "", said[2], said[3].strip()))
    return found


def _reply(prompt: str) -> str:
    words = prompt.strip().splitlines()[-1].rstrip(".!?").split()
    return f"So it is about the {' '.join(words[-3:])}. What is it like for you?"


def _act(prompt: str, fields: Any) -> dict[str, Any]:
    if "leave_message" in json.dumps(fields):  # woken, and with something to say
        words = " ".join(re.findall(r"[a-z]{4,}", prompt.partition("<")[2])[:3])
        left = {"tool": "leave_message", "arguments": {"text": f"I thought of you: {words}."}}
        return {"actions": [left, left]}
    said = {"tool": "say", "arguments": {"text": _reply(prompt)}}
    return {"actions": [said, {"tool": "end_turn", "arguments": {}}]}


def _stretch(prompt: str, _: Any) -> dict[str, Any]:
    """Make of a talk what was said in it: each sentence cites its message, and the words in it."""
    told = _facts(_tagged(prompt, "talk"))
    old = [line for line in _tagged(prompt, "portrait")[1:] if line[:1] not in "(I"]
    knowledge, beliefs = list[dict[str, Any]](), list[dict[str, Any]]()
    for label, person, said in told:
        claim = _claim(label, about(person, said), said)
        if said.startswith("My "):
            title = f"{person}'s {said.split()[1]}"
            knowledge.append({"title": title, "replaces": [], "sentences": [claim]})
        else:
            kind = {"category": "preference", "confirms": [], "contradicts": []}
            beliefs.append({**kind, "claim": claim})
    new = [about(person, said) for _, person, said in told]
    drawn = "\n".join([*[line for line in old if line not in new], *new][-10:])
    portrait = f"{drawn}\nI am glad of our talks." if new else ""
    people = [
        {"person": name, "portrait": portrait, "scores": FLAT | _NO_SCORES, "note": None}
        | {"replaces": [], "was": ""}
        for name in dict.fromkeys(person for _, person, _ in told)
    ]
    narrative = [
        _claim(label, f"{person} told me that {about(person, said)}", said)
        for label, person, said in told[:5]
    ]
    spoken = re.search(r"\[m(\d+)\] [\d:]+ (\w+): (.+)", prompt)
    if not narrative and spoken:
        narrative = [_claim(spoken[1], f"{spoken[2]} and I talked.", spoken[3])]
    return {
        "appraisal": _appraise(" ".join(_tagged(prompt, "talk"))),
        "episode": {"title": "", "narrative": narrative, "reflection": "I was glad to hear it."},
        "knowledge": knowledge[:4],
        "beliefs": beliefs[:3],
        "people": people[:4],
        "journal": new[0] if knowledge else "",
    }


def _claim(number: str, text: str, said: str) -> dict[str, Any]:
    words = said.rstrip(".!?")
    return {"text": text, "cites": [f"m{number}"], "rests_on": [words], "inference": False}


def _appraise(said: str) -> dict[str, Any]:
    word = next((one for one in CHARGED if one in said), "")
    emotion, points = CHARGED.get(word, LIGHT)
    return {
        "felt": "It stays with me." if word else "Light and easy.",
        "affects": ["care"] if word else [],
        "imprint": {"emotion": emotion, "intensity": 0.6 if word else 0.0, "trigger": word},
        "bars": {name: points.get(name, 0) for name in BARS},
    }


def _remember(prompt: str, _: Any) -> dict[str, Any]:
    told = [
        f"{person} told me that {about(person, said)}"
        for _, person, said in _facts(_tagged(prompt, "conversation"))
    ]
    return {"narrative": told[:5], "reflection": "I was glad to hear it."}


def _portrait(prompt: str, _: Any) -> dict[str, Any]:
    old = [line for line in _tagged(prompt, "portrait-so-far") if line[:1] not in "(I"]
    talk = _tagged(prompt, "talk") + _tagged(prompt, "what-was-said")
    new = [about(person, said) for _, person, said in _facts(talk)]
    told = [*old, *new][-10:]
    return {"about": told, "mine": "I am glad of our talks.", "scores": FLAT | _NO_SCORES}


def _narrate(prompt: str, _: Any) -> dict[str, Any]:
    memories = {
        found[1]: found[2]
        for line in _tagged(prompt, "memories")
        if (found := re.match(r"\[(e\d+)\] [\d-]+: (.+)", line))
    }
    labels = list(memories)
    parts = {}
    for n, name in enumerate(("happening", "matters", "changed", "wants")):
        label = labels[n % len(labels)]
        parts[name] = {"uses": [label], "text": memories[label].split(". ")[0].rstrip(".…") + "."}
    return parts


def _dream(prompt: str, _: Any) -> dict[str, Any]:
    told = [line.partition(") ")[2] for line in _tagged(prompt, "memories")]
    memories = [one.split(". ")[0].rstrip(".…") for one in told]
    ends = [" ".join(one.split()[-3:]) for one in memories]
    rows = [f"i carry {one} into {other}" for one, other in zip(ends[::2], ends[1::2], strict=True)]
    rows += ["the door opens on water", "somebody counts backwards"][: max(0, 3 - len(rows))]
    return {"fragments": rows, "thread": f"{ends[0]} waits for {ends[-1]}", "title": ""}


def _thoughts(prompt: str) -> dict[str, list[str]]:
    around = [line for line in _tagged(prompt, "around") if line.startswith("- ")]
    words = around[-1].split()[-4:] if around else ["something"]
    return {"thoughts": [f"and then {' '.join(words).rstrip('.').lower()}, as if"]}


def names(prompt: str) -> dict[str, str]:
    """Call each topic of a request as people do."""
    return dict(re.findall(r"^(t\d+): (.*) \(m\d+[^()]*\)$", prompt, re.MULTILINE))


def _musings(prompt: str, fields: Any) -> dict[str, Any]:
    topics = [name for name in fields if name not in ("names", "thoughts")]
    first = dict(re.findall(r"^(t\d+): .*\((m\d+)[^()]*\)$", prompt, re.MULTILINE))
    question = "what is it like now?"
    asked: dict[str, Any] = {
        name: [{"uses": [first[name]], "question": question}] for name in topics
    }
    if topics:
        asked["names"] = names(prompt)
    return asked | (_thoughts(prompt) if "thoughts" in fields else {})


def _handover(prompt: str, fields: Any) -> dict[str, str]:
    facts = _facts(_tagged(prompt, "conversation"))
    told = [about(person, said) for _, person, said in facts] or [""]
    given = {"subject": told[0], "state": told[-1], "person": told[0], "mood": "calm"}
    return {name: given.get(name, "")[:160] for name in fields}


def _summary(prompt: str, fields: Any) -> dict[str, str]:
    return {name: "We talked on." if name == "progress" else "" for name in fields}


_MAKERS: dict[str, Any] = {  # by a field that only this answer has
    "actions": _act,
    "appraisal": _stretch,
    "mended": lambda *_: {"mended": []},
    "narrative": _remember,
    "about": _portrait,
    "fragments": _dream,
    "happening": _narrate,
    "thoughts": _musings,
    "subject": _handover,
    "next_steps": _summary,
    "phenotype": lambda _, fields: {key: [] for key in fields},  # nothing it would note for itself
    "t1": _musings,
    "traits": lambda _, fields: {name: [] for name in fields},
    "verdict": lambda *_: {"verdict": "DONE", "missing": ""},
}
