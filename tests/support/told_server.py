"""An MCP server that says what a file tells it: `python FILE TOLD.json`.

The file holds `tools`, as the protocol lists them, and `results`, texts by name of a tool. What the
tools are called with is noted beside it, a JSON line each, in `TOLD.json.calls`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.support.hostile_server import answer, greet, requests


def main(path: Path) -> None:
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for request in requests():
        if greet(request, told["tools"]) or request.get("method") != "tools/call":
            continue
        call = request["params"]
        with path.with_name(f"{path.name}.calls").open("a", encoding="utf-8") as calls:
            calls.write(json.dumps(call) + "\n")
        text = told["results"].get(call["name"], "done")
        answer(request, {"content": [{"type": "text", "text": text}]})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
