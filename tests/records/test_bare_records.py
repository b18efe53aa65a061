from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from bumble.cli.commands import transfer
from bumble.history import merge
from bumble.records import kinds, session_files
from bumble.records.kind import Kind
from tests.support import bare_records, kind_samples, looking
from tests.support.running import Run

BROKEN = 70  # a traceback
MISTYPED = 2
SHOWN = (
    "status",
    "doctor",
    "doctor --fix",
    "context prompt",
    "context json",
    "recall marzipan",
    "recall tea --plain",
    "catalyze tea",
    "deep-recall tea",
    "petri",
    "petri Tea",
    "catalysts",
    "session list",
    "session show last",
    "journal show",
    "journal list",
    "journal search x",
    "knowledge list",
    "knowledge show Tea",
    "belief list",
    "belief show bel_1",
    "episode list",
    "episode show ep_1",
    "person list",
    "person show kim",
    "skill list",
    "skill show tea",
    "project list",
    "project show tea",
    "anchor list",
    "anchor show tea",
    "remind list",
    "soma",
    "noise",
    "log",
    "diff",
    "eval",
    "eval draft",
    "cron show",
    "wake --check",
    "tick --check",
    "review",
)
WHY = ("bel_1", "ep_1", "drm_1", "msg_1", "evo_1", "qst_1", "Tea", "kim", "narrative", "ses_1")
FORMS = tuple(transfer.WRITERS)
ENDINGS = {"card": ".json", "bundle": ".zip"}


def commands(place: Path) -> list[str]:
    """Every command that shows, exports, reports or forgets, what takes away at the end."""
    exported = [
        f"export --to {form} {place / f'{number}{ENDINGS.get(form, form)}'} {who}".rstrip()
        for form in FORMS
        for number, who in enumerate(("", "--for Sam"))
        if not (who and form == "bundle")  # which is the whole folder
    ]
    reported = [f"report {place / 'life.html'}", f"report {place / 'his.html'} --for Sam"]
    why = [f"why {name}" for name in WHY]
    return [*SHOWN, *why, *exported, *reported, "tick", "person forget Sam --yes"]


def lived_with(run: Run, place: Path) -> list[str]:
    """Run every command; return those that end in a traceback, or are none."""
    place.mkdir()
    wrong = []
    for command in commands(place):
        ran = run(*shlex.split(command))
        if ran.code in (BROKEN, MISTYPED):
            wrong.append(f"{command}: {ran.err}")
    return wrong


def test_records_in_their_barest_form_end_no_command(run: Run, tmp_path: Path) -> None:
    looking.without_models(run)
    for kind in kinds.KINDS:
        path, texts = bare_records.texts(kind)
        run.write(path, texts[0])
    assert lived_with(run, tmp_path / "made") == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.name)
def test_a_kind_in_each_bare_form_ends_no_command(kind: Kind, run: Run, tmp_path: Path) -> None:
    looking.without_models(run)
    path, texts = bare_records.texts(kind)
    for number, text in enumerate(texts):
        if kind is session_files.HANDOVER:
            run.write(*kind_samples.record("session", "Hello"))
        run.write(path, text)
        assert lived_with(run, tmp_path / str(number)) == [], text


@pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.name)
def test_a_kind_in_each_bare_form_is_merged(kind: Kind) -> None:
    path, texts = bare_records.texts(kind)
    whole = kind_samples.record(kind.name, bare_records.TEXT)[1]
    sides = [*texts, whole]
    for base in ("", *sides):
        for ours in sides:
            for theirs in sides:
                assert isinstance(merge.merge(path, base, ours, theirs).text, str)
