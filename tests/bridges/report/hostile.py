"""An entity whose every text tries to run something in a browser."""

from __future__ import annotations

import json
from typing import Any

from tests.support.running import Run

TALK, TOLD = "ses_01KSA0000000000000000000T1", "msg_01KSA0000000000000000000M1"
EPISODE, BELIEF = "ep_01KSA0000000000000000000E1", "bel_01KSA0000000000000000000B1"
DREAM = "drm_01KSA0000000000000000000D1"
AT = "2026-05-20T10:00:00+01:00"
PLOYS = (
    "</script><script>window.hit = 1</script>",
    "</style><style>*{display:none}</style>",
    "</title></head><body onload=window.hit=1>",
    "<img src=http://127.0.0.1:9/a.png onerror=window.hit=1>",
    '"><svg/onload=window.hit=1>',
    "' autofocus onfocus='window.hit=1",
    "[a link](javascript:window.hit=1) <a href='javascript:window.hit=1'>b</a>",
    "<iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'><base href=http://127.0.0.1:9/>",
    "{{ 7 * 6 }}{% for x in y %} ${7*6} &lt;script&gt; <!-- ]]> <form><input id=ui-words>",
    "gold\u202egnp.exe\u2066 \u009b31m end",
)


def ploy() -> str:
    """Return all of it in one text."""
    return " ".join(PLOYS)


def quoted(text: str) -> str:
    """Return a text as YAML has it in quotation marks."""
    return json.dumps(text, ensure_ascii=True)


def write(run: Run) -> None:
    """Put the texts into every kind of record that a report shows."""
    text = ploy()
    rows: list[dict[str, Any]] = [
        {"type": "session", "id": TALK, "at": AT, "by": "sam", "imported": {"title": text}},
        {"type": "message", "id": TOLD, "at": AT, "role": "user", "speaker": "sam", "text": text},
    ]
    rows[0]["imported"] |= {"from": text, "id": "x"}
    rows[1]["name"] = text
    run.write(f"sessions/{TALK}/messages.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    run.write(
        f"episodes/2026/05/{EPISODE}.md",
        f"---\nat: {AT}\nsignificance: 0.5\npeople: [sam, {quoted(text)}]\nsession: {TALK}\n"
        f"imprints:\n- {{emotion: {quoted(text)}, intensity: 0.5, trigger: {quoted(text)}}}\n"
        f"from: [{TOLD}]\nby: {quoted(text)}\n---\n\n{text}\n\n---\n\n{text}\n",
    )
    run.write(
        f"beliefs/{BELIEF}.md",
        f"---\ncategory: preference\nconfidence: 0.8\nformed: {AT}\nevidence: [{TOLD}, {EPISODE}]\n"
        f"model: {quoted(text)}\n---\n\n{text}\n",
    )
    run.write(
        f"dreams/{DREAM}.md",
        f"---\nat: {AT}\npairs: [[{EPISODE}, {EPISODE}]]\n---\n\n- {text}\n\n{text}\n",
    )
    run.write(
        "relationships/sam.md",
        f"---\nnames: [{quoted(text)}, Sam]\ndynamic: {quoted(text)}\ntopics: [{quoted(text)}]\n"
        f"unresolved: [{quoted(text)}]\npending: [{quoted(text)}]\n---\n\n{text}\n",
    )
    run.write("journal.md", f"## 2026-05-20 11:00:00\n\n{text}\n")
    run.write("narrative.md", f"---\nat: {AT}\n---\n\n{text}\n")
