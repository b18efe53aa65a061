from __future__ import annotations

import sys
from datetime import timedelta

import pytest

from tests.support.running import Run


@pytest.mark.parametrize(
    ("given", "minutes"),
    [("90m", 90), ("2h", 120), ("1d12h", 2160), ("1 hour 30 minutes", 90), ("0.5h", 30)],
)
def test_how_long_from_now_may_be_said_in_many_ways(run: Run, given: str, minutes: int) -> None:
    data = run.ok("remind", "add", "Tea", "--in", given, "--json").data
    assert data["at"] == (run.now + timedelta(minutes=minutes)).isoformat(timespec="seconds")


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--in", "soon"),
        ("--in", "99999999999d"),
        ("--at", "never"),
        ("--at", "2026-06-01", "--in", "2h"),
        ("--cron", "0 9 * *"),
        ("--in", "2h", "--deliver", "pigeon"),
    ],
)
def test_what_cannot_be_meant_adds_nothing(run: Run, options: tuple[str, ...]) -> None:
    assert run("remind", "add", "Tea", *options).code == 2
    assert not run.file("reminders").exists()


def test_a_day_without_a_time_means_its_morning(run: Run) -> None:
    data = run.ok("remind", "add", "Tea", "--at", "2026-06-01", "--json").data
    assert data["at"] == "2026-06-01T09:00:00+01:00"


def test_whom_nobody_knows_is_said_to_be_unknown(run: Run) -> None:
    ran = run.ok("remind", "add", "Tea", "--in", "2h", "--for", "Zoë")
    assert "it waits for a first talk with Zoë, whom nobody knows" in ran.err
    assert "nobody knows" not in run.ok("remind", "add", "Tea", "--in", "2h", "--for", "Sam").err


@pytest.mark.parametrize(
    ("options", "at"),
    [
        (("--at", "2026-03-29T02:30"), "2026-03-29T03:30:00+02:00"),  # which no clock shows
        (("--in", "24h"), "2026-03-29T13:00:00+02:00"),
        (("--in", "1d"), "2026-03-29T12:00:00+02:00"),
        (("--in", "1 week 30 seconds"), "2026-04-04T12:00:30+02:00"),
    ],
)
def test_when_clocks_change_hours_are_hours_and_days_are_days(
    run: Run, options: tuple[str, ...], at: str
) -> None:
    run.ok("config", "set", "timezone", "Europe/Berlin")
    made = run.ok("remind", "add", "Tea", *options, "--now", "2026-03-28T12:00+01:00", "--json")
    assert made.data["at"] == at


def test_from_add_to_said(run: Run) -> None:
    run.ok("remind", "add", "Stand up", "--cron", "0 9 * * MON-FRI")
    run.ok("remind", "add", "Water the plants", "--in", "1m", "--deliver", "journal")
    rows = run.ok("remind", "list").out.splitlines()
    assert [row.split("  ")[-1] for row in rows] == ["Water the plants", "Stand up"]
    check = run.ok("remind", "run", "--check", "--json").data
    assert (check["due"], check["jobs"]) == (True, 1)
    before = run.state()
    assert "+Reminder: Water the plants" in run.ok("remind", "run", "--dry-run").out
    after = run.state()
    assert {name: one for name, one in after.items() if ".bumble" not in name} == {
        name: one for name, one in before.items() if ".bumble" not in name
    }
    assert run.ok("remind", "run").out == ""
    assert "Reminder: Water the plants" in run.text("journal.md")
    assert "Water" not in run.ok("remind", "list").out
    assert "said" in run.ok("remind", "list", "--all").out
    assert run("remind", "run", "--exit-code").code == 4


def test_one_for_somebody_is_said_in_their_talk_and_heard_with_the_next_message(run: Run) -> None:
    run.write("script.yaml", "- Hello.\n- text: Fine.\n  always: true\n")
    run.ok("config", "set", "llm.model", f"script:{run.file('script.yaml')}")
    run.ok("chat", "Hi", "--as", "Kim")
    added = run.ok("remind", "add", "Call the bank", "--for", "kim").out
    assert added.endswith(".md is said in the next talk with Kim.\n")
    assert "for Kim from Sam" in run.ok("remind", "list").out  # who asked sees it, and not yet Kim
    (file,) = run.file("reminders").glob("*.md")
    assert "audience: [sam]" in file.read_text()
    run.ok("remind", "run")
    assert "in the meantime" not in run.ok("chat", "Hello", "--as", "Bo").err
    ran = run.ok("chat", "How are you?", "--as", "Kim")
    assert "Ada said in the meantime: Reminder (Sam): “Call the bank”" in ran.err
    assert "in the meantime" not in run.ok("chat", "And now?", "--as", "Kim").err
    assert "audience: [sam, kim]" in file.read_text()


def test_one_without_more_reaches_its_owner_in_the_next_talk_and_once(run: Run) -> None:
    run.write("script.yaml", "- text: Fine.\n  always: true\n")
    run.ok("config", "set", "llm.model", f"script:{run.file('script.yaml')}")
    run.ok("remind", "add", "Call the bank", "--in", "1m")
    for quiet in (("remind", "run"), ("tick",), ("tick", "--json"), ("remind", "run", "-v")):
        run.ok(*quiet)  # into a pipe
    assert not run.ok("remind", "list", "--json").data[0]["done"]
    ran = run.ok("chat", "Hi")
    assert "Ada said in the meantime: Reminder: Call the bank" in ran.err
    assert "in the meantime" not in run.ok("chat", "And now?").err
    assert run.ok("remind", "list", "--all", "--json").data[0]["done"]
    said = run.ok("session", "show", "--json").data["messages"]
    assert [one["text"] for one in said][:3] == ["Reminder: Call the bank", "Hi", "Fine."]


def test_what_the_owner_set_alone_nobody_else_hears(run: Run) -> None:
    run.write("script.yaml", "- text: Fine.\n  always: true\n")
    run.ok("config", "set", "llm.model", f"script:{run.file('script.yaml')}")
    run.ok("remind", "add", "Order the earrings for Kim", "--in", "1m")
    for said in (("--as", "Kim", "--incognito"), ("--as", "Kim"), ("--as", "Kim", "--with", "Sam")):
        assert "in the meantime" not in run.ok("chat", "Hi", *said).err
    assert "Order the earrings" in run.ok("chat", "Hi").err


@pytest.mark.parametrize("argv", [("remind", "run"), ("tick",)], ids=" ".join)
def test_a_terminal_prints_it_and_that_is_its_delivery(
    run: Run, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]
) -> None:
    run.ok("remind", "add", "Call the bank", "--in", "1m")
    run.ok("remind", "add", "Call Bo", "--in", "1m", "--for", "Kim")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run.ok(*argv).out.startswith("Reminder: Call the bank\n")
    assert "Call the bank" not in run.ok(*argv).out
    [left] = run.ok("remind", "list", "--json").data
    assert left["text"] == "Call Bo"


def test_a_past_time_is_said_to_be_one_and_the_list_begins_with_the_next(run: Run) -> None:
    assert "which is past" in run.ok("remind", "add", "Old", "--at", "2020-01-01T10:00").out
    run.ok("remind", "add", "Tea", "--in", "2h")
    listed = run.ok("remind", "list", "-n", "1")
    assert "Old" in listed.out and "more than these 1" in listed.err
    run.write("reminders/rem_broken.md", "x\n")
    data = run.ok("status", "--json").data
    assert data["due"]["reminders"] == 0  # it waits for a talk; the other can't be done
