from __future__ import annotations

import pytest

from bumble.cli import output
from tests.support.repository import git, subjects
from tests.support.running import Run, UseEditor


def add(run: Run, *words: str, **more: object) -> tuple[int, str]:
    ran = run("journal", "add", *words, **more)  # type: ignore[arg-type]
    return ran.code, ran.err


def texts(run: Run) -> list[str]:
    return [one["text"] for one in run.ok("journal", "show", "--json").data]


def test_on_a_terminal_no_text_opens_the_editor(run: Run, use_editor: UseEditor) -> None:
    use_editor("assert file.read_text() == ''; file.write_text('typed\\n')")
    assert add(run, terminal=True)[0] == 0
    assert texts(run) == ["typed"]


@pytest.mark.parametrize("stdin", [b"", b"  \n\n"])
def test_an_empty_text_is_refused(run: Run, use_editor: UseEditor, stdin: bytes) -> None:
    before = run.state()
    assert add(run, stdin=stdin)[0] == 2
    assert add(run, "-", stdin=stdin)[0] == 2
    assert add(run, "  ")[0] == 2
    use_editor("pass")
    assert add(run, "--editor")[0] == 2
    assert run.state() == before


def test_bytes_that_are_no_text_are_refused_by_line(run: Run) -> None:
    code, told = add(run, stdin=b"one\ntw\xff\n")
    assert code == 2
    assert "standard input:2" in told
    assert add(run, "half \udce4")[0] == 2
    assert texts(run) == []


@pytest.mark.parametrize("editor", ["no-such-editor", "'open quote", "false"])
def test_an_editor_that_fails_is_told(run: Run, editor: str) -> None:
    run.environ["EDITOR"] = editor
    before = run.state()
    code, told = add(run, "--editor")
    assert code == 1
    assert editor in told.replace('"', "'")
    assert run.state() == before


def test_what_was_typed_before_an_editor_failed_is_kept(run: Run, use_editor: UseEditor) -> None:
    use_editor("file.write_text('typed')\nraise SystemExit(3)")
    code, told = add(run, "--editor")
    assert code == 1
    assert "what you typed is kept in" in told


@pytest.mark.parametrize(
    "argv",
    [
        ("journal", "add"),
        ("knowledge", "set", "Wifi"),
        ("belief", "add", "--category", "world_fact"),
        ("skill", "set", "wifi", "--description", "go online"),
        ("person", "add", "Kim"),
    ],
)
def test_a_secret_does_not_go_into_memory(run: Run, argv: tuple[str, ...]) -> None:
    before = run.state()
    for stdin, words in ((b"", ["The password: hunter2xyz9"]), (b"token: ab12cd34", ["-"])):
        ran = run(*argv, *words, stdin=stdin)
        assert ran.code == 13
        assert "looks like a password; nothing was changed" in ran.err
        assert "hunter2xyz9" not in ran.err
    assert run.state() == before


def test_without_an_editor_the_other_ways_are_told(run: Run) -> None:
    code, told = add(run, "--editor")
    assert code == 1
    assert "EDITOR" in told
    assert "standard input" in told


@pytest.mark.parametrize(
    ("argv", "other"),
    [(["knowledge", "edit", "Tea"], "bumble knowledge set"), (["knowledge", "edit"], "--from")],
)
def test_without_an_editor_an_edit_tells_what_works(run: Run, argv: list[str], other: str) -> None:
    run.ok("knowledge", "set", "Tea", "Green.")
    ran = run(*argv)
    assert (ran.code, other in ran.err) == (1, True)


WINDOWS = "data = file.read_bytes().replace(b'\\n', b'\\r\\n')\nfile.write_bytes(data{})"


def test_an_editor_that_writes_other_line_ends_changes_what_was_typed_alone(
    run: Run, use_editor: UseEditor
) -> None:
    run.write("knowledge.md", "## [locked] Rules\n\nBe kind.\n\n## Tea\n\nGreen.\n")
    use_editor(WINDOWS.format(""))
    assert "Nothing to do" in run.ok("knowledge", "edit").out
    use_editor(WINDOWS.format(".replace(b'Green', b'Black')"))
    run.ok("knowledge", "edit")
    edited = "## [locked] Rules\n\nBe kind.\n\n## Tea\n\nBlack.\n"
    assert run.file("knowledge.md").read_bytes().decode() == edited
    use_editor(WINDOWS.format(".replace(b'kind', b'rude')"))
    assert run("knowledge", "edit").code == 13
    windows = edited.replace("\n", "\r\n").encode()
    run.file("knowledge.md").write_bytes(windows)
    use_editor("file.write_text(file.read_text().replace('Black', 'Red'), newline='\\n')")
    run.ok("knowledge", "edit")
    assert run.file("knowledge.md").read_bytes() == windows.replace(b"Black", b"Red")


def test_the_title_of_a_commit_says_what_was_done_once(run: Run) -> None:
    git(run.entity.root, "init", "-q", "-b", "main")
    run.ok("belief", "add", "Sam hates figs.")
    run.ok("journal", "add", "It rains.")
    run.ok("remind", "add", "Tea", "--in", "2h")
    run.ok("episode", "add", "We sailed.")
    assert subjects(run.entity.root) == [
        *("episode add: We sailed.", "remind add: Tea", "journal add: It rains."),
        *("belief add: Sam hates figs.", "begin: what was here before its first commit"),
    ]


def test_one_name_that_is_far_too_long_widens_no_other_line() -> None:
    rows = output.table([["a", "b", "c"], ["x" * 300, "y", "z"]])
    assert len(rows[0]) < 100
