from __future__ import annotations

import pytest

from bumble.cli.listing import short_ids
from bumble.entity import changes
from bumble.files import disk
from tests.support.command_line import GROUPS, commands
from tests.support.living import talked
from tests.support.running import Run

READING = [
    ["session", "list"],
    ["session", "show"],
    ["knowledge", "list"],
    ["knowledge", "show"],
    ["knowledge", "show", "Pets"],
    ["journal", "list"],
    ["journal", "show"],
    ["journal", "search", "rain"],
    ["skill", "list"],
    ["skill", "show", "tea"],
    ["person", "list"],
    ["person", "show", "Bo"],
    ["belief", "list"],
    ["belief", "show", "last"],
    ["episode", "list"],
    ["episode", "show", "last"],
]


def test_reading_changes_no_byte_and_no_time(full: Run) -> None:
    before = full.state()
    for argv in READING:
        for options in ([], ["--json"]):
            assert full.ok(*argv, *options).out
        assert full.state() == before, argv


def test_every_reading_command_is_tested_for_that() -> None:
    reading = {f"{group} {name}" for group, name, opts in commands() if "--dry-run" not in opts}
    assert reading == {" ".join(argv[:2]) for argv in READING}


def test_json_is_wrapped_and_names_its_command(full: Run) -> None:
    for argv in READING:
        answer = full.ok(*argv, "--json").json
        assert answer["command"] == " ".join(argv[:2])
        assert answer["schema"] == f"bumble/{argv[0]}-{argv[1]}/1"
        assert (answer["entity"], answer["warnings"]) == ("Ada", [])
        assert answer["data"]


def test_every_command_takes_what_every_command_takes() -> None:
    for group, name, opts in commands():
        assert {"--entity", "-e", "--json", "--lock-timeout"} <= opts, f"{group} {name}"


def test_a_lock_that_opening_needs_is_waited_for_as_long_as_said(full: Run) -> None:
    full.file(".bumble/intents/0123456789abcdef").mkdir(parents=True)
    root = full.entity.root
    with disk.lock(changes.lock_path(root), place=root, timeout_seconds=0):
        ran = full("belief", "list", "--lock-timeout", "0")
    assert (ran.code, "(waited 0 s)" in ran.err) == (11, True)


def test_control_characters_in_records_never_reach_the_terminal(full: Run) -> None:
    for path in full.entity.root.rglob("*.md"):
        above, fence, body = path.read_text().rpartition("---\n")
        above = above.replace("Tea on days of rain", '"Tea on days of rain\\e[31m"')
        path.write_text(above + fence + body.replace("rain", "rain\x1b[31m\x9b2J\x07"))
    for argv in READING:
        assert not set("\x1b\x9b\x07") & set(full.ok(*argv).out)


@pytest.mark.parametrize("link", ["knowledge.md", "journal.md", "beliefs/bel_x.md"])
def test_a_link_out_of_the_folder_is_not_read(run: Run, link: str) -> None:
    secret = run.entity.root.parent / "secret.md"
    secret.write_text("## 2026-05-01 09:00:00\n\nprivate\n")
    run.file(link).unlink(missing_ok=True)
    run.file(link).parent.mkdir(exist_ok=True)
    run.file(link).symlink_to(secret)
    group = {"k": "knowledge", "j": "journal", "b": "belief"}[link[0]]
    ran = run(group, "list")
    assert ran.code == (0 if group == "belief" else 13)  # of many, one is passed over
    assert "private" not in ran.out + ran.err


def test_a_folder_that_is_no_entity_is_refused(run: Run) -> None:
    for group in GROUPS:
        assert run(group, "list", cwd=run.entity.root.parent).code == 10


def test_an_end_of_an_id_that_is_too_short_says_how_long_it_has_to_be(run: Run) -> None:
    talked(run.entity, "ses_01KSA0000000000000000000E1", ("sam", "Hello."))
    assert run.ok("session", "show", "0000E1").out
    ran = run("session", "show", "00E1")
    assert ran.code == 1 and "Of an id give 6 letters of its end or more." in ran.err
    assert "letters" not in run("session", "show", "nosuch").err


def test_a_beginning_of_an_id_names_it_as_long_as_it_is_the_only_one(run: Run) -> None:
    for last in ("E1", "F2"):
        talked(run.entity, f"ses_01KSA{last}0000000000000000000", ("sam", "Hello."))
    assert "01KSAF2" in run.ok("session", "show", "ses_01ksaf").out
    ran = run("session", "show", "ses_01KSA")
    assert ran.code == 1 and '"ses_01KSA" could be 2 records: ses_01KSAE1' in ran.err


def test_ends_of_ids_grow_until_they_differ() -> None:
    ids = ["bel_01JVTA1KS00000000000000042", "bel_01JVTA1KS00000000001000042", "bel_tea"]
    short = short_ids(ids, ids)
    assert short["bel_tea"] == "bel_tea"
    assert (short[ids[0]], short[ids[1]]) == ("0000042", "1000042")
    assert short_ids(ids[:1], ids[:1]) == {ids[0]: "000042"}
