from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bumble.entity import companions, installation
from bumble.files import disk
from bumble.history import clone
from bumble.history.findings import CODES
from tests.support import looking
from tests.support.running import Run


@pytest.fixture
def ada(run: Run, tmp_path: Path) -> Run:
    """Ada with two episodes, on a machine with git and without models."""
    looking.without_models(run)
    looking.episode(run, "tide", "The tide was low.")
    looking.episode(run, "rain", "It rained.")
    return run


@pytest.fixture
def repository(ada: Run) -> Run:
    """Ada under git."""
    subprocess.run(["git", "init", "-q", str(ada.entity.root)], check=True)
    clone.install_driver(ada.entity.root)
    return ada


def found(run: Run, *argv: str) -> list[tuple[str, str | None, int | None]]:
    """Return what doctor finds, without what is normal on a machine without models or history."""
    normal = ("index-missing", "git-none")
    findings = run("doctor", "--json", *argv).data["findings"]
    return [
        (one["code"], one["path"], one["line"]) for one in findings if one["code"] not in normal
    ]


def test_newborn_is_well(run: Run) -> None:
    looking.without_models(run)
    ran = run.ok("doctor")
    assert ran.out.splitlines()[-1] == "Nothing is wrong; 1 file read."


def break_episode(run: Run) -> None:
    looking.episode(run, "bad", "x", significance="lots")


def break_belief(run: Run) -> None:
    run.write("beliefs/bel_1.md", "---\ncategory: hope\n---\n\nx\n")


def break_person(run: Run) -> None:
    run.write("relationships/kim.md", "---\nnames: [Kim]\nscores: {warmth: 3}\n---\n")


def break_skill(run: Run) -> None:
    run.write("skills/tea/SKILL.md", "---\nname: [\n---\n\nBoil.\n")


def break_dream(run: Run) -> None:
    run.write("dreams/drm_1.md", "---\npairs: 1\n---\n")


def break_soma(run: Run) -> None:
    run.write("soma.yaml", "bars:\n  - x: [\n")


def break_encoding(run: Run) -> None:
    run.file("knowledge.md").write_bytes(b"## Tea\n\n\xff\n")


def break_settings(run: Run) -> None:
    run.write("entity.yaml", "recal: {}\n" + run.text("entity.yaml"))


def repeat_section(run: Run) -> None:
    run.write("knowledge.md", "## Tea\n\nGreen.\n\n## tea\n\nBlack.\n")


def leave_conflict(run: Run) -> None:
    run.write("narrative.md", "Once\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")


def repeat_episode(run: Run) -> None:
    copy = run.file("episodes/2026/05/ep_tide.md").read_text()
    run.write("episodes/2026/06/ep_tide.md", copy)


def come_from_the_future(run: Run) -> None:
    looking.episode(run, "late", "x", at="2031-01-01T00:00:00+00:00")


def lose_blob(run: Run) -> None:
    path = looking.session(run, "one", ("sam", "See this"), ("", "I did."))
    path.write_text(path.read_text().replace('"See this"', '"See this", "blob": "0123456789ab"'))


def damage_blob(run: Run) -> None:
    looking.session(run, "one", ("sam", "See this"), ("", "I did."))
    run.write(f"sessions/ses_one/blobs/{disk.sha256(b'whole')}", "half")


def tear_line(run: Run) -> None:
    path = looking.session(run, "one", ("sam", "Hi"))
    path.write_text(path.read_text() + '{"type": "mess')


def clash(run: Run) -> None:
    run.write("workspace/Notes.txt", "")
    run.write("workspace/notes.txt", "")


def lead_out(run: Run) -> None:
    run.file("skills").mkdir()
    run.file("skills/spy.md").symlink_to("/etc/hostname")


def lay_astray(run: Run) -> None:
    run.write("episodes/loose.md", "x")


def leave_temporary(run: Run) -> None:
    run.write(".knowledge.md.1a2b.bumble-tmp", "half")


def cut_off(run: Run) -> None:
    run.file(".bumble/intents/0123456789abcdef").mkdir(parents=True)


def garble_intent(run: Run) -> None:
    run.write(".bumble/intents/0123456789abcdef/intent.json", "{")


def break_index(run: Run) -> None:
    run.write("memory.db", "no database")


def keep_copy(run: Run) -> None:
    run.write(".history/1a2b.knowledge.md", "x")


Case = tuple[Callable[[Run], None], str, str, int | None]
CASES: list[Case] = [
    (break_episode, "record-invalid", "episodes/2026/05/ep_bad.md", 3),
    (break_belief, "record-invalid", "beliefs/bel_1.md", 1),
    (break_person, "record-invalid", "relationships/kim.md", 3),
    (break_skill, "record-invalid", "skills/tea/SKILL.md", 3),
    (break_dream, "record-invalid", "dreams/drm_1.md", 1),
    (break_soma, "record-invalid", "soma.yaml", 3),
    (break_encoding, "record-invalid", "knowledge.md", 3),
    (break_settings, "settings-invalid", "entity.yaml", 1),
    (repeat_section, "section-twice", "knowledge.md", 5),
    (leave_conflict, "conflict-marker", "narrative.md", 2),
    (repeat_episode, "record-twice", "episodes/2026/06/ep_tide.md", None),
    (come_from_the_future, "clock-ahead", "episodes/2026/05/ep_late.md", 2),
    (lose_blob, "blob-missing", "sessions/ses_one/messages.jsonl", 2),
    (
        damage_blob,
        "blob-damaged",
        f"sessions/ses_one/blobs/{disk.sha256(b'whole')}",
        None,
    ),
    (tear_line, "line-torn", "sessions/ses_one/messages.jsonl", 3),
    (clash, "name-clash", "workspace/notes.txt", None),
    (lead_out, "link-out", "skills/spy.md", None),
    (lay_astray, "file-unread", "episodes/loose.md", None),
    (leave_temporary, "file-stray", ".knowledge.md.1a2b.bumble-tmp", None),
    (cut_off, "change-unfinished", ".bumble/intents/0123456789abcdef", None),
    (garble_intent, "change-unreadable", ".bumble/intents/0123456789abcdef/intent.json", None),
    (break_index, "index-unusable", "memory.db", None),
    (keep_copy, "file-kept", ".history/1a2b.knowledge.md", None),
]


@pytest.mark.parametrize(("harm", "code", "path", "line"), CASES)
def test_each_harm_is_found_where_it_is(
    ada: Run, harm: Callable[[Run], None], code: str, path: str, line: int | None
) -> None:
    assert found(ada) == []
    harm(ada)
    assert found(ada) == [(code, path, line)]
    wrong = CODES[code].level == "problem"
    ran = ada("doctor")
    assert ran.code == (12 if wrong else 0)
    assert f"{path}:{line}: " in ran.out if line else f"{path}: " in ran.out
    assert f"[{code}]" in ran.out


def test_every_broken_file_and_line_is_named(ada: Run) -> None:
    for harm in (break_episode, break_belief, break_encoding, break_settings):
        harm(ada)
    path = looking.session(ada, "one", ("sam", "Hi"), ("", "Hello."), ("sam", "Bye"))
    lines = path.read_text().splitlines()
    lines[1], lines[3] = "oops", '{"type": "message", "id": "msg_1", "role": "user"}'
    path.write_text("\n".join(lines) + "\n")
    assert found(ada) == [
        ("settings-invalid", "entity.yaml", 1),
        ("record-invalid", "knowledge.md", 3),
        ("record-invalid", "episodes/2026/05/ep_bad.md", 3),
        ("record-invalid", "beliefs/bel_1.md", 1),
        ("record-invalid", "sessions/ses_one/messages.jsonl", 2),
        ("record-invalid", "sessions/ses_one/messages.jsonl", 4),
    ]


def every_harm(run: Run) -> None:
    for harm, *_ in CASES:
        run.file("skills").mkdir(exist_ok=True)
        if harm not in (lead_out, break_settings):
            harm(run)
    run.file("skills/spy.md").symlink_to("/etc/hostname")


def test_nothing_is_written_without_fix(repository: Run) -> None:
    every_harm(repository)
    before = repository.state()
    assert repository("doctor").code == 12
    repository("doctor", "--json")
    assert repository.state() == before


def test_fix_mends_what_is_derived_and_leaves_every_truth_file(ada: Run) -> None:
    every_harm(ada)
    ada.file(".bumble/intents/0123456789abcdef/intent.json").unlink()
    ada.file(".knowledge.md.1a2b.bumble-tmp").unlink()
    before = looking.truths(ada)
    ada.write(".knowledge.md.1a2b.bumble-tmp", "half")
    ran = ada("doctor", "--fix", "--json")
    assert ran.code == 12
    mended = {one["code"] for one in ran.data["mended"]}
    assert mended == {"file-stray", "change-unfinished", "index-unusable"}
    assert {path: before[path] for path in before if path != ""} == looking.truths(ada)
    assert all(not one["mends"] for one in ran.data["findings"])


def test_fix_finishes_a_change_that_was_cut_off(ada: Run) -> None:
    old = ada.file("knowledge.md").read_bytes()
    new = b"## Tea\n\nGreen.\n"
    ada.write(".bumble/intents/0123456789abcdef/0", new.decode())
    hashes = {"before": disk.sha256(old), "after": disk.sha256(new)}
    step = {"path": "knowledge.md", "staged": "0", **hashes}
    mark = installation.mark(json.dumps(["0123456789abcdef", "x", [step]], sort_keys=True))
    intent = {"title": "x", "steps": [step], "mark": mark}
    ada.write(".bumble/intents/0123456789abcdef/intent.json", json.dumps(intent))
    assert ada("doctor").code == 12
    assert ada.file("knowledge.md").read_bytes() == old
    ada.ok("doctor", "--fix")
    assert ada.file("knowledge.md").read_bytes() == new


def test_fix_says_what_it_could_not_do(ada: Run) -> None:
    break_settings(ada)
    ran = ada("doctor", "--fix")
    assert ran.code == 12
    assert not ada.file("memory.db").exists()


def test_fix_adds_what_gitattributes_lacks(repository: Run) -> None:
    repository.write(".gitattributes", "*.png binary\n/dreams/*.md merge=bumble")
    assert found(repository) == [("git-attributes", ".gitattributes", None)]
    repository.ok("doctor", "--fix")
    lines = repository.text(".gitattributes").splitlines()
    assert lines[0] == "*.png binary"
    assert lines.count("/dreams/*.md merge=bumble") == 1
    assert "/reminders/*.md merge=bumble" in lines
    assert found(repository) == []


def test_ignored_settings_are_a_note(ada: Run) -> None:
    ada.write("entity.yaml", "llm: {base_url: http://x.example}\n" + ada.text("entity.yaml"))
    assert found(ada) == [("settings-ignored", "entity.yaml", 1)]
    assert ada("doctor").code == 0


def test_who_is_named_where_an_id_belongs_gets_it_said(run: Run) -> None:
    run.write("relationships/lena.md", "---\nnames: [Lena Müller, Len]\n---\n\nA friend.\n")
    run.write(
        "projects/x.md",
        "---\ntitle: X\npeople: [Len, '[[Lena Müller]]', Zoe, SAM]\n---\n\nWe sail.\n",
    )
    run.write("knowledge.md", "## Knee [only for Lena Müller]\n\nIt hurts.\n")
    told = {
        (one["path"], one["said"])
        for one in run("doctor", "--json").data["findings"]
        if one["code"] == "person-missing"
    }
    ids = "people stand here by their ids: write lena for"
    unknown = "it names Zoe, whom no portrait and no conversation knows: forgotten, or not merged"
    assert told == {
        ("knowledge.md", f"{ids} Lena Müller"),
        ("projects/x.md", f"{ids} Len, lena for [[Lena Müller]], sam for SAM"),
        ("projects/x.md", unknown),
    }
    run.write("relationships/len.md", "---\nnames: [Len]\n---\n\nAnother.\n")
    assert "lena for Len," not in run("doctor").out


BELIEF = "bel_01KS9JKGEWHEXQ7EA15JFXY9TG"


@pytest.mark.parametrize(
    ("record", "renamed", "meets"),
    [
        (f"beliefs/the-boat-{BELIEF}.md", "beliefs/red.md", f"beliefs/red-{BELIEF}.md"),
        ("projects/boat.md", "projects/red.md", "projects/red.md"),
        ("skills/boat/SKILL.md", "skills/red/SKILL.md", "skills/red/SKILL.md"),
    ],
)
def test_a_renamed_record_meets_its_companion_again_by_what_doctor_says(
    run: Run, record: str, renamed: str, meets: str
) -> None:
    root = run.entity.root
    run.write(record, "The boat is red.\n")
    run.write(
        str(companions.place(record)),
        "category: world_fact\nconfidence: 0.8\nformed: 2026-05-24T10:00:00+00:00\nby: distill\n",
    )
    whole = companions.read(root, record)
    (root / renamed).parent.mkdir(exist_ok=True)
    (root / record).rename(root / renamed)
    if "skills" in record:
        (root / record).parent.rmdir()
    (told,) = [
        one for one in run("doctor", "--json").data["findings"] if one["code"] == "source-alone"
    ]
    subprocess.run(shlex.split(told["fix"]), check=True)
    assert {code for code, *_ in found(run)} <= {"git-attributes", "git-ignore"}
    assert companions.read(root, meets) == whole


def test_which_of_two_records_lost_its_companion_nobody_can_say(run: Run) -> None:
    for name in ("a", "b"):
        run.write(f"projects/{name}.md", f"---\ntitle: {name}\n---\n\nWhy.\n")
    run.write("sources/projects/c.yaml", "by: distill\n")
    assert ("source-alone", "sources/projects/c.yaml", None) in found(run)
    assert "name it alike, or remove it" in run("doctor").out
