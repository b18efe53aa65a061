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
