"""The tools that a model is told of: name, purpose and parameters of each.

Carrying them out is `chat/tools`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bumble.entity.config import ToolsConfig
from bumble.llm.protocol import Tool
from bumble.records import projects, topics, working
from bumble.text.schema import choice, closed

DEEP_RECALL = "deep_recall"


def _parameters(**texts: str) -> Mapping[str, Any]:
    return closed({name: _text(line) for name, line in texts.items()})


def _text(line: str) -> dict[str, str]:
    return {"type": "string", "description": line}


DECLARED: tuple[Tool, ...] = (
    Tool("say", "speak to the person", _parameters(text="what they hear")),
    Tool("think", "reason for yourself; nobody hears it", _parameters(text="the thought")),
    Tool("wait", "say nothing yet: they have more to say", _parameters()),
    Tool("end_turn", "stop here", _parameters()),
    Tool(
        "recall",
        "search older memories, for what is not in front of you",
        {
            **closed({"query": _text("what to look for"), "register": choice(topics.REGISTERS)}),
            "required": ["query"],
        },
    ),
    Tool(
        "expand_message",
        "read the whole of what is shown cut or cleared, by its ref; a long text piece by piece",
        {
            **closed(
                {
                    "ref": _text("the 12 letters and digits behind `ref`"),
                    "line": {"type": "integer", "description": "where to begin; by default 1"},
                }
            ),
            "required": ["ref"],
        },
    ),
    Tool(
        "update_knowledge",
        "write down or correct a durable fact about somebody, by name; not your page about them, "
        "which is written at night",
        {
            **_parameters(
                title="what it is about",
                body="what is to be known of it: new sentences, or corrected ones; may be empty",
                gone="what there is no longer so, word for word, a line each; all else stays",
            ),
            "required": ["title", "body"],
        },
    ),
    Tool("write_journal", "write in your diary", _parameters(text="the entry")),
    Tool(
        "remind",
        "have something said to whoever spoke last, nobody else, in the first talk after a time;"
        " or no longer",
        {
            **_parameters(
                text="what is to be said",
                at="the time there, like 2026-05-24T18:00",
                repeat="to say it again and again: five fields of cron, `0 8 * * 1` being each "
                "Monday at 8; `at` may be left out, and `gone` ends it",
                gone="what is set for them and no longer wanted, word for word",
            ),
            "required": [],
        },
    ),
    Tool(
        "list_skills",
        "list your how-to notes",
        {**_parameters(filter="a word; without it, all"), "required": []},
    ),
    Tool("read_skill", "read one how-to note", _parameters(name="its name")),
    Tool(
        "update_skill",
        "save how something is done, for next time",
        _parameters(name="short title", description="one line", body="the steps, Markdown"),
    ),
)

NOTHING = "nothing"  # likewise, that it is all
MORE = "more"  # behind what was said: work that it announces
# Speech as native tools have it: the model tells with its words whether it has still to do what
# they say, so that nobody has to guess it from them, in any language, and no judge is asked.
SAY = Tool(
    "say",
    "speak to the person",
    closed(
        {
            "text": _text("what they hear"),
            "then": {
                **choice([NOTHING, MORE]),
                "description": f"`{MORE}`: you only said that you will do something with a tool, "
                "and do it next; `nothing`: your turn is over",
            },
        }
    ),
)

FILES: tuple[Tool, ...] = (
    Tool("list_files", "list your workspace", _parameters(folder="a folder in it, or empty")),
    Tool("read_file", "read a file of your workspace", _parameters(path="its name")),
    Tool(
        "write_file",
        "write a file in your workspace",
        _parameters(path="its name", text="all that is to be in it"),
    ),
)
NOTE = Tool(
    "working_memory_note",
    "jot down one line for later: a decision, a new view of something, an open thread or a "
    "preference; never a secret",
    closed({"text": _text("the line"), "type": choice(working.NOTE_KINDS)}),
)
DEEP = Tool(
    DEEP_RECALL,
    "look deeper, for a question whose answer several memories hold a part of each; slow",
    _parameters(question="the whole question"),
)
ANCHORS: tuple[Tool, ...] = (
    Tool(
        "make_anchor",
        "keep how you feel now under a name, to come back to it",
        _parameters(label="a few words", description="what it is like"),
    ),
    Tool(
        "recall_anchor",
        "feel again, a little, as when you made an anchor",
        _parameters(label="its name, or empty for a list of all"),
    ),
)
PROJECTS: tuple[Tool, ...] = (
    Tool(
        "list_projects",
        "list what is worked on over days, with the next steps",
        _parameters(filter="a word, or empty for all"),
    ),
    Tool(
        "update_project",
        "begin a project, or write down how it stands",
        closed(
            {
                "title": _text("what it is called"),
                "status": choice(projects.STATUSES),
                "why": _text("what it is for, or empty to leave it"),
                "next": _text("all next steps, a line each"),
            }
        ),
    ),
)
COMMAND = Tool(
    "run_command",
    "run a program in your workspace",
    _parameters(command="program and arguments, no shell"),
)


def declared(config: ToolsConfig) -> tuple[Tool, ...]:
    """Return the tools an entity has: files and programs only where the owner allows them."""
    notes = (NOTE,) if config.notes else ()
    deep = (DEEP,) if config.deep_recall else ()
    work = PROJECTS if config.projects else ()
    anchoring = ANCHORS if config.anchors else ()
    allowed = (*DECLARED, *deep, *notes, *anchoring, *work, *(FILES if config.files else ()))
    return (*allowed, COMMAND) if config.run_command else allowed
