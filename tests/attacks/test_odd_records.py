"""Any value in any field of any record: an error of its file and line, or handled; never a bug."""

from __future__ import annotations

import json
import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bumble.cli.app import BUG_EXIT_CODE
from tests.support.looking import without_models
from tests.support.running import Run
from tests.support.sweeps import examples

AT = "2026-05-23T10:00:00+01:00"
ORIGIN = "by: distill\nmodel: m\nfrom: [msg_1]\ntrust: owner\naudience: [sam]\n"
RECORDS = {
    "episodes/2026/05/ep_1.md": (
        f"at: {AT}\nsignificance: 0.6\npeople: [sam]\nimprints:\n"
        "  - {emotion: joy, intensity: 0.5, trigger: rain}\nsoma: calm\nsession: ses_first\n"
        f"summary_source: excerpt\ntries: 1\ndormant: false\nfaded: 0.3\n{ORIGIN}",
        "We ran through the rain.",
    ),
    "dreams/drm_1.md": (
        f"at: {AT}\npairs:\n  - [ep_1, ep_2]\nbecame: [journal]\nseed: 5\nforced: false\n{ORIGIN}",
        "- rain",
    ),
    "narrative.md": (f"at: {AT}\nfingerprint: abc\nsummary_source: excerpt\n{ORIGIN}", "I am."),
    "reminders/rem_1.md": (
        f"at: {AT}\nrepeat: 0 9 * * *\nfor: sam\ndeliver: session\n"
        f"delivered: {AT}\ndone: false\n{ORIGIN}",
        "Tea",
    ),
    "automations/aut_1.md": (
        f"schedule: 0 9 * * *\nlast: {AT}\nenabled: true\nfailures: 1\n{ORIGIN}",
        "Look around.",
    ),
    "sessions/ses_first/handover.md": (f"at: {AT}\n{ORIGIN}", "Rain."),
}
WRITTEN = (  # by bumble, in the fixture
    "relationships/bo.md",
    "sources/beliefs/bel_1.yaml",
    "skills/tea.md",
    "soma.yaml",
    "state.yaml",
    "entity.yaml",
    "sessions/ses_first/messages.jsonl",
)
COMMANDS = (
    "status",
    "doctor",
    "recall rain",
    "context list",
    "tick --dry-run",
    "episode list",
    "episode show ep_1",
    "belief show bel_1",
    "person show Bo",
    "skill list",
    "knowledge show",
    "journal list",
    "session show ses_first",
    "remind list",
    "cron show",
    "soma",
    "why ep_1",
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**30, -(10**400), 10**400]),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["x" * 100_000, "\ud800", "\x00", "a\x1b[31mb", "../../etc/passwd", "\u202e"]),
    st.sampled_from(["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", f"{AT[:-6]}+99:99"]),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=5)), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
)
RAW = st.sampled_from(
    ["%", "@", "`", "*no", "&a [*a]", "!!bool x", "!!set {a}", "[", "{", "'", "|", "<<", "? [a]",
     "[" * 500, "9" * 5000, "1\nat: 2", "2026-05-24", "2026-05-24T12:00:00", ".nan", "-.inf"]
)  # fmt: skip


@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_value_of_any_record_is_a_bug(full: Run, data: st.DataObject) -> None:
    run = without_models(full)
    for path, (meta, body) in RECORDS.items():
        run.write(path, f"---\n{meta}---\n\n{body}\n")
    if not run.file("soma.yaml").exists():
        run.ok("soma", "tick")
    run.write(
        "state.yaml", f"sessions:\n  ses_first:\n    appraise: msg_1\nconsolidate:\n  at: {AT}\n"
    )
    path = data.draw(st.sampled_from([*RECORDS, *WRITTEN]))
    before = run.text(path)
    wanted = data.draw(st.lists(st.sampled_from(COMMANDS), min_size=3, max_size=3, unique=True))
    run.file(path).write_text(_damaged(path, before, data), "utf-8", errors="surrogatepass")
    damaged = run.file(path).read_bytes()
    for words in wanted:
        ran = run(*words.split())
        assert ran.code != BUG_EXIT_CODE, f"{words}: {ran.err}"
    assert run.file(path).read_bytes() == damaged or path in ("soma.yaml", "state.yaml")
    run.write(path, before)


def _damaged(path: str, text: str, data: st.DataObject) -> str:
    """Put a value that was drawn in the place of one that is there."""
    lines = text.split("\n")
    if path.endswith(".jsonl"):
        n = data.draw(st.sampled_from([n for n, line in enumerate(lines) if line]))
        values = json.loads(lines[n])
        values[data.draw(st.sampled_from(sorted(values)))] = data.draw(VALUES)
        lines[n] = json.dumps(values)
        return "\n".join(lines)
    keys = [n for n, line in enumerate(lines) if re.match(r"\s*[\w]+:", line)]
    n = data.draw(st.sampled_from(keys))
    value = data.draw(st.one_of(VALUES.map(json.dumps), RAW))
    lines[n] = f"{lines[n].split(':')[0]}: {value}"
    return "\n".join(lines)
