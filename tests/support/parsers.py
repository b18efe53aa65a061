"""Every reader of what others may have written, each with samples of what it reads.

A reader takes bytes, puts them where its files lie, and reads them. What it may raise is what a
person can act on: a `UserError`, or the `ValueError` of a function that knows no path.
"""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import gguf
from msgspec import Struct
from msgspec.structs import replace

from bumble.body import appraisal
from bumble.body import soma as body_soma
from bumble.bridges.exports import bundle
from bumble.bridges.imports import card, foreign, formats, notes, source
from bumble.bridges.imports.items import ImportContext
from bumble.chat import context_report
from bumble.cli.talk import turn_view
from bumble.entity import layers, secrets, settings
from bumble.errors import UserError
from bumble.fallback import quotes
from bumble.guard import claims
from bumble.history import merge
from bumble.index import chunks, form
from bumble.jobs import dream, tick
from bumble.llm import actions, ledger, openai_format, scripted, structured
from bumble.llm import gguf as gguf_file
from bumble.llm.marks import ThinkFilter
from bumble.llm.say_reader import SayReader
from bumble.models import tiers
from bumble.models.weights import catalog
from bumble.recall import periods
from bumble.records import base, forgotten, jsonl, kinds
from bumble.records.kind import Kind
from bumble.runtime import schedule
from bumble.text import languages, markdown, merge_marks, stop_words, words, yaml_read
from tests.support import exports, repository
from tests.support.kind_samples import record

ZONE = ZoneInfo("Europe/Berlin")
AT = datetime(2026, 5, 24, tzinfo=UTC)
TALK = (
    "Hello Ada! My boat 'Nereid' leaks at the stern, since 3 May; https://example.org/a?b=c#d\n"
    '> Bo said: "it won\'t hold" (12.50 €). Meine Schwester wohnt in Köln. 私の猫は雨が嫌いです。\n'
    "/think my password: hunter2secret @notes/plan.md\n- [ ] oak\n```py\nx = 1\n```\n"
)
SETTINGS = (
    "schema_version: 3\nname: Ada\nowner: {name: Sam}\ntimezone: Europe/Lisbon\n"
    "identity:\n  monologue: I am Ada.\n"
    "  traits: {curiosity: 0.6}\nllm:\n  model: script:x.yaml\n  context_tokens: 8192\n"
    "limits:\n  settle: wait\ntools:\n  files: true\nsoma:\n  dreams:\n"
    "    enabled: true\n"
)
CALL = (
    '{"at":"2026-05-23T12:00:00+01:00","purpose":"chat","model":"m","ms":5,"prompt_tokens":7,'
    '"completion_tokens":2,"finish_reason":"stop"}\n'
)
RUN = (
    '{"at":"2026-05-23T12:00:00+01:00","command":"tick","ms":1,"calls":2,"tokens":3,'
    '"events":[{"at":"2026-05-23T12:00:00+01:00","event":"x","title":"t"}],"errors":[]}\n'
)
FORGOTTEN = (
    '{"type":"forgotten","at":"2026-05-23T12:00:00+01:00","key":"00ff","people":["aa"],'
    '"ids":["msg_1"]}\n'
)
ACTIONS = (
    'I will look.\n{"actions":[{"tool":"recall","arguments":{"query":"bees"}},'
    '{"tool":"say","arguments":{"text":"One \\u00e9 moment."}}]}'
)
SCHEMA = {
    "type": "object",
    "properties": {"beliefs": {"type": "array", "items": {"type": "string"}}},
    "required": ["beliefs"],
}
MODELS = catalog.BUILT_IN.read_bytes().split(b"\n  - name: ")
SCRIPT = "- Hello\n- {purpose: x, json: {a: []}}\n- {text: A, always: true}\n"
NOTE = "---\nname: a\ntype: b\n---\n# A\n\nSam [[b]].\n"
CASES_OF_MODELS = (
    '{"schema":1,"identity":"m","model":"m","languages":{"en":{"version":1,"at":"2026-01-01",'
    '"answers":{"talk":"1"},"seconds":1.5,"cpu_seconds":2}}}'
)

BODY_FILE = (
    base.edited_mapping(
        base.parse_mapping(""),
        {
            **repository.body(50.0, "a wave", "a door"),
            "affects": [
                {"name": "amused", "intensity": 0.6, "at": AT.isoformat()},
                {"name": "calm", "intensity": 0.2, "at": AT.isoformat()},
            ],
            "felt": {"text": "warm", "at": AT.isoformat()},
            "impulses": {"talk": AT.isoformat()},
        },
    ).source
    or ""
)
STATE_FILE = (
    "sessions:\n  ses_1:\n    reflect:\n      sam: msg_1\n    remember: msg_1\n"
    "dream: {day: 2026-05-24, count: 1}\nconsolidate:\n  at: 2026-05-24T03:12:47Z\n"
    "wake:\n  recent: [{at: 2026-05-24T03:12:47Z, reason: a}]\nx_mine: 1\n"
)
MORE = {"soma": BODY_FILE, "state": STATE_FILE}  # whole samples of what others hold a part of

Read = Callable[[bytes, Path], object]


class Reader(Struct, frozen=True):
    """A reader, and samples of what it reads."""

    samples: Sequence[bytes]
    read: Read
    refuses: tuple[type[Exception], ...] = (UserError, ValueError)

    def try_to(self, data: bytes, folder: Path) -> str:
        """Read bytes and return what came of it: "read", or the name of what was refused.

        Args:
            data: What there is to be read.
            folder: To put files into; what is in it is written over.
        """
        try:
            self.read(data, folder)
        except self.refuses as error:
            if not str(error).strip():
                raise AssertionError(f"{type(error).__name__} says nothing") from error
            return "refused"
        return "read"


def of_text(read: Callable[[str], object], *samples: str) -> Reader:
    """Make the reader of a text, which is UTF-8 by the time it comes to it."""

    def decoded(data: bytes, _: Path) -> object:
        return consumed(read(data.decode(errors="replace")))

    return Reader([sample.encode() for sample in samples], decoded)


def of_file(name: str, read: Callable[[Path], object], *samples: bytes | str) -> Reader:
    """Make the reader of a file: it knows the path, and so it has a sentence for a person."""

    def placed(data: bytes, folder: Path) -> object:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return consumed(read(path))

    raw = [sample.encode() if isinstance(sample, str) else sample for sample in samples]
    return Reader(raw, placed, (UserError,))


def of_json(read: Callable[[Any], object], *samples: object) -> Reader:
    """Make the reader of what was JSON."""

    def decoded(data: bytes, _: Path) -> object:
        try:
            value = json.loads(data)
        except RecursionError:
            return None  # whose JSON it is refuses it
        return consumed(read(value if isinstance(value, dict) else {}))

    return Reader([json.dumps(sample).encode() for sample in samples], decoded)


def consumed(value: object) -> object:
    """Read to the end what is read as it is asked for."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else value


def _kind(kind: Kind) -> Reader:
    path, text = record(kind.name, "I hide marzipan by the sea.")

    def read(file: Path) -> object:
        views = kind.read(file, ZONE)
        if kind.passages:
            chunks.read(kind.passages, file, name="Ada", zone=ZONE)
        return views

    return of_file(path, read, text, MORE.get(kind.name, text))


def _parsed(kind: Kind) -> Reader:
    stem = Path(record(kind.name, "x")[0]).stem
    return of_text(lambda text: kind.parse(text, stem), record(kind.name, "I hide marzipan.")[1])


def _merged(kind: Kind) -> Reader:
    """Three versions, of which chance damages one, two or all: they lie one after the other."""
    path, text = record(kind.name, "I hide marzipan.")
    mark = "\n@@@\n"

    def read(whole: str) -> object:
        parts = [*whole.split(mark), text, text, text][:3]
        merged = merge.merge(path, parts[0], parts[1], parts[2])
        again = merge.merge(path, parts[0], parts[2], parts[1])
        assert merged.clean == again.clean, "it matters which side is ours"
        return merged

    other = record(kind.name, "I hide oak.")[1]
    third = record(kind.name, "I hide marzipan.", ("sam", "bo"))[1]
    whole = MORE.get(kind.name, text)
    return of_text(
        read,
        mark.join((text, other, third)),
        mark.join(("", other, text)),
        mark.join((whole, whole, whole)),
    )


def _settings(file: Path) -> object:
    loaded = settings.load(file)
    return loaded.identity, loaded.config.soma


def _user_settings(file: Path) -> object:
    own = file.with_name("entity.yaml")
    own.write_text(SETTINGS)
    return settings.load(own, file)


def _imported(form_name: str, name: str, *samples: bytes | str) -> Reader:
    def read(path: Path) -> object:
        with source.opened(path) as files:
            return list(formats.BY_NAME[form_name].read(files, ImportContext(ZONE, str)))

    return of_file(name, read, *samples)


def _detected(path: Path) -> object:
    with source.opened(path) as files:
        return list(formats.detect(files).read(files, ImportContext(ZONE, str)))


def _restored(path: Path) -> object:
    with tempfile.TemporaryDirectory(dir=path.parent) as place:
        return bundle.unpack(path, Path(place) / "ada")


def _zip(name: str, text: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name, (2026, 5, 24, 0, 0, 0)), text)
    return stream.getvalue()


def _gguf() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_context_length(4096)
        writer.add_float32("llama.rope.scale", 1.5)
        writer.add_token_list(["<s>", "</s>", "a", "b"])
        writer.add_token_types([3, 3, 1, 4])
        writer.add_array("some.numbers", [1, 2, 3])
        writer.add_chat_template("{{ messages }} b")
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        return path.read_bytes()


def _model(path: Path) -> object:
    return gguf_file.head(path), gguf_file.context_tokens(path)


def _streamed(text: str) -> object:
    reader, tags = SayReader(), ThinkFilter()
    shown = [reader.feed(text[n : n + 3]) for n in range(0, len(text), 3)]
    return shown, reader.texts, tags.feed(text), tags.finish(), actions.parse(text)


def _message(text: str) -> object:
    """Take a message apart in all the ways in which a turn does."""
    turn_view.parse(text, shortcuts=True)
    quotes.words_of(text)
    form.split(text)
    form.form(text, form.language(text))
    secrets.redacted(text)
    words.one_line(text)
    list(stop_words.words(text))
    return languages.language(text)


def _edited(text: str) -> object:
    """Read a mapping, change it, and read what came of it."""
    file = base.parse_mapping(text)
    new = base.edited_mapping(file, {"x_mine": {"a": [1, "b: c"]}, "at": None})
    return base.parse_mapping(new.source or "").values


def _with_meta(text: str) -> object:
    """Read a document, change its front matter, and read what came of it."""
    document = markdown.parse(text)
    return markdown.parse(document.with_meta("x_mine", value=["a: b", 1]).source).meta


READERS: Mapping[str, Reader] = {
    **{f"record {kind.name}": _kind(kind) for kind in kinds.KINDS},
    **{f"parse {kind.name}": _parsed(kind) for kind in kinds.KINDS},
    **{f"merge {kind.name}": _merged(kind) for kind in kinds.KINDS},
    "settings of an entity": of_file("entity.yaml", _settings, SETTINGS),
    "settings of a user": of_file("config.yaml", _user_settings, "llm:\n  model: auto\n"),
    "settings by flags": of_text(lambda text: layers.parse_value(("llm",), text), "{model: a}"),
    "forgotten": of_file(
        forgotten.PATH, lambda path: forgotten.read(path.parent), FORGOTTEN, FORGOTTEN * 3
    ),
    "lines of JSON": of_text(jsonl.read, FORGOTTEN + CALL),
    "front matter": of_text(_with_meta, record("episode", "x")[1]),
    "mapping": of_text(_edited, record("soma", "x")[1], SETTINGS),
    "yaml": of_text(yaml_read.parse, SETTINGS),
    "yaml of settings": of_text(yaml_read.read_plain, SETTINGS),
    "markers": of_text(
        merge_marks.sides, "a\n<<<<<<< o\nb\n||||||| x\nc\n=======\nd\n>>>>>>> t\ne\n"
    ),
    "message": of_text(_message, TALK),
    "claims": of_text(lambda text: claims.claims(text, "en"), TALK),
    "period": of_text(lambda text: periods.read(text, AT), "the 8th of May 2024, 3 weeks ago"),
    "schedule": of_text(lambda text: schedule.following(text, AT, ZONE), "0 8 * * 1-5"),
    "id": of_text(base.time_of, "msg_01JW0Q6ZV3K8M2N4P6R8T0VXYZ"),
    "ledger": of_file("calls.jsonl", lambda path: [*ledger.read_newest(path)], CALL * 2),
    "runs": of_file("runs.jsonl", lambda path: [*tick.read(path)], RUN * 2),
    "results": of_file(
        f"{'0' * 64}.json",
        lambda path: tiers.own(f"{tiers.OF_WEIGHTS}{'0' * 64}", path.parent),
        CASES_OF_MODELS,
    ),
    "report": of_json(
        context_report.from_data,
        {"version": context_report.VERSION, "files": [{}], "system": [{"name": "a", "chars": 1}]},
    ),
    "catalog": of_file(
        "catalog.yaml", lambda path: catalog.load(path), b"\n  - name: ".join(MODELS[:2])
    ),
    "script": of_file(
        "script.yaml", scripted.read, SCRIPT
    ),
    "answer": of_text(_streamed, ACTIONS, "<think>hm</think>Yes."),
    "structured answer": of_text(
        lambda text: structured.read(text, SCHEMA), '```json\n{"beliefs": ["I sail"]}\n```'
    ),
    "dream": of_text(
        lambda text: dream.read_dream(structured.read(text, dream.schema())),
        '{"fragments": ["a wave", "a door", "ice"], "thread": "All returns.", "title": "Ice"}',
    ),
    "event": of_json(
        openai_format.read_event,
        {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}], "usage": {}},
    ),
    "appraisal": of_json(
        lambda value: appraisal.parse(value),
        {"bars": {"social": 3}, "felt": "warm", "affects": ["amused"]},
    ),
    "body": of_json(
        body_soma.from_mapping,
        repository.body(50.0, "a wave"),
    ),
    "card": of_json(card.parse, exports.card(), exports.card(2)),
    "image": Reader(
        [exports.png(ccv3=exports.encoded(exports.card()), chara=b"x")],
        lambda data, _: card.from_png(data),
    ),
    "lorebook": of_json(card.lore, exports.card()["data"]["character_book"]),
    "stream": Reader(
        [json.dumps(exports.gpt_moving()).encode()],
        lambda data, _: list(foreign.items(io.BytesIO(data), "")),
    ),
    "note": of_text(notes.split, "---\ntags: [a]\n---\nbody\n"),
    "import chatgpt": _imported(
        "chatgpt", "conversations.json", json.dumps([exports.gpt_moving()])
    ),
    "import claude": _imported("claude", "conversations.json", json.dumps([exports.claude_talk()])),
    "import gemini": _imported("gemini", "MyActivity.json", json.dumps(exports.gemini_records())),
    "import grok": _imported("grok", "prod-grok-backend.json", json.dumps(exports.grok_export())),
    "import letta": _imported("letta", "agent.af", json.dumps(exports.letta_agent())),
    "import card": _imported("card", "card.json", json.dumps(exports.card())),
    "import image": _imported(
        "card", "card.png", exports.png(ccv3=exports.encoded(exports.card()))
    ),
    **{
        f"import {name} note": _imported(name, note, NOTE)
        for name, note in (
            ("obsidian", "A.md"), ("hermes", "MEMORY.md"), ("openclaw", "SOUL.md"),
            ("claude-code", "memory/MEMORY.md"),
        )
    },
    "import charx": _imported("card", "card.charx", _zip("card.json", json.dumps(exports.card()))),
    "import of something": of_file(
        "x.zip", _detected, _zip("conversations.json", json.dumps([exports.gpt_moving()]))
    ),
    "archive": of_file("ada.zip", _restored, _zip("entity.yaml", SETTINGS)),
    "gguf": replace(of_file("m.gguf", _model, _gguf()), refuses=(ValueError,)),
}  # fmt: skip
