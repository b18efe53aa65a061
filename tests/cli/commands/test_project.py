from __future__ import annotations

from tests.support.running import Run


def test_a_project_is_added_listed_edited_and_done(run: Run) -> None:
    run.ok("person", "add", "Kim")
    run.ok(
        "project", "add", "The boat", "--why", "To sail.", "--next", "sand it",
        "--next", "paint it", "--person", "Kim", "--tag", "water",
    )  # fmt: skip
    [listed] = run.ok("project", "list", "--json").data
    assert (listed["title"], listed["status"], listed["why"]) == ("The boat", "active", "To sail.")
    assert (listed["next"], listed["people"]) == (["sand it", "paint it"], ["kim"])
    assert run("project", "add", "the BOAT").code == 13
    before = run.text("projects/the-boat.md")
    run.ok("project", "edit", "the boat", "--next", "paint it", "--status", "paused")
    shown = run.ok("project", "show", "the boat").out
    assert "1. paint it" in shown
    assert "paused" in shown
    assert run.text("projects/the-boat.md") != before
    run.ok("project", "done", "The boat")
    assert run.ok("project", "list", "--json").data == []
    empty = run.ok("project", "list").err
    assert "None that were asked for, of 1; `bumble project list --help`" in empty
    assert [each["status"] for each in run.ok("project", "list", "--done", "--json").data] == [
        "done"
    ]


def test_a_project_is_edited_as_a_file_and_comments_stay(run: Run) -> None:
    run.ok("project", "add", "Boat")
    text = "---\ntitle: Boat\nstatus: active  # slowly\n---\n\nTo sail.\n"
    run.write("new.md", text)
    run.ok("project", "edit", "Boat", "--from", str(run.file("new.md")))
    assert run.text("projects/boat.md") == text
    run.ok("project", "done", "boat")
    assert run.text("projects/boat.md") == text.replace("active", "done")


def test_a_project_is_found_and_explained(run: Run) -> None:
    run.ok("project", "add", "The boat", "--why", "We restore a wooden dinghy.")
    hits = run.ok("recall", "wooden dinghy", "--kind", "project", "--json").data
    assert "dinghy" in str(hits)
    assert "projects/the-boat.md" in run.ok("why", "The boat").out


def test_a_project_holds_no_secret(run: Run) -> None:
    run.ok("project", "add", "Boat")
    before = run.state()
    for options in (
        ("add", "Deal", "--why", "password: hunter2222"),
        ("edit", "Boat", "--next", "password: hunter2222"),
        ("add", "password: hunter2222"),
    ):
        refused = run("project", *options)
        assert refused.code == 13
        assert "a password; nothing was changed" in refused.err
    assert run.state() == before


def test_a_name_that_is_taken_is_told_by_its_place_in_the_folder(run: Run) -> None:
    run.ok("project", "add", "The boat")
    assert "error: projects/the-boat.md: already exists" in run("project", "add", "The boat").err
