from __future__ import annotations

from collections.abc import Callable

from bumble.chat import loop
from bumble.chat.tools import Plan, Result
from bumble.entity.changes import Change
from bumble.llm.protocol import Action

CALL = Action("1", "any", {})


def writing(path: str, *, adds: bool = False) -> Plan:
    return lambda: Change(path, "write", b"text", adds=adds)


def calls(*results: Result) -> Callable[[Action], Result]:
    left = iter(results)
    return loop.once_a_file(lambda _: next(left))


def test_a_file_is_written_by_one_call() -> None:
    call = calls(
        Result("kept", plan=writing("a.md")),
        Result("kept", plan=writing("b.md")),
        Result("kept", plan=writing("a.md")),
    )
    assert [call(CALL).failed for _ in range(3)] == [False, False, True]


def test_further_files_of_a_call_count_too() -> None:
    call = calls(
        Result("kept", more=(writing("a.md"), writing("b.md"))),
        Result("kept", plan=writing("b.md")),
        Result("kept", plan=writing("c.md"), more=(writing("a.md"),)),
    )
    assert [call(CALL).failed for _ in range(3)] == [False, True, True]


def test_a_file_may_be_added_to_by_many() -> None:
    call = calls(*(Result("kept", plan=writing("journal.md", adds=True)) for _ in range(2)))
    assert not any(call(CALL).failed for _ in range(2))
