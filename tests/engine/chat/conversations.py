"""Conversations rendered by poolside's templates (make_golden.py) and by our renderer (test_template.py).

In the form transformers' `apply_chat_template` takes: messages, tools, add_generation_prompt.
"""

from typing import Any

FIND = {
    "type": "function",
    "function": {
        "name": "find",
        "description": 'Paths that contain the text or match the glob, e.g. "*.py" – sorted.',
        "parameters": {
            "type": "object",
            "properties": {"pattern": {"type": "string", "description": "a < b & c > 'd'"}},
            "required": ["pattern"],
        },
    },
}
READ = {
    "type": "function",
    "function": {
        "name": "read",
        "description": "Lines of a file.",
        "parameters": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "start": {"type": "integer"},
                "options": {"type": "object"},
            },
            "required": ["path"],
        },
    },
}


def _user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _tool(content: str) -> dict[str, Any]:
    return {"role": "tool", "content": content}


def _assistant(content: str, reasoning: str = "", *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    shaped = [{"type": "function", "function": {"name": name, "arguments": arguments}} for name, arguments in calls]
    return {"role": "assistant", "content": content, "reasoning": reasoning, "tool_calls": shaped}


def _given(*messages: dict[str, Any], tools: tuple[dict[str, Any], ...] = (), prompt: bool = True) -> dict[str, Any]:
    return {"messages": list(messages), "tools": list(tools), "add_generation_prompt": prompt}


SYSTEM = {"role": "system", "content": "You answer about the code.\n\nBriefly. \n"}
NO_SYSTEM = {"role": "system", "content": ""}
BLANK_SYSTEM = {"role": "system", "content": " \n "}

CONVERSATIONS = {
    "one question": _given(SYSTEM, _user("What is here?")),
    "default system": _given(_user("What is here?")),
    "no system": _given(NO_SYSTEM, _user("What is here?")),
    "blank system": _given(BLANK_SYSTEM, _user("What is here?")),
    "tools": _given(SYSTEM, _user("Find it."), tools=(FIND, READ)),
    "tools, default system": _given(_user("Find it."), tools=(FIND,)),
    "tools, no system": _given(NO_SYSTEM, _user("Find it."), tools=(FIND,)),
    "unicode": _given(
        {"role": "system", "content": "Zażółć – 漢字 🐍"},
        _user("قل مرحبا 👩\u200d👩\u200d👧 e\u0301"),
        _assistant("Ça va ✓"),
        _user("\u00a0"),
    ),
    "blanks around contents": _given(
        SYSTEM,
        _user("\n  indented\n\n"),
        _assistant("\n\n  text \n", " \n why \n"),
        _user(" "),
        _assistant(""),
        _user(""),
    ),
    "several turns": _given(
        SYSTEM, _user("One?"), _assistant("1."), _user("Two?"), _assistant("2.", "After one."), _user("Three?")
    ),
    "finished": _given(SYSTEM, _user("One?"), _assistant("1."), prompt=False),
    "a call and its answer": _given(
        SYSTEM,
        _user("Where is it?"),
        _assistant("", "", ("find", {"pattern": "*.py"})),
        _tool("a.py\nb.py"),
        tools=(FIND, READ),
    ),
    "every kind of value": _given(
        SYSTEM,
        _user("Read it."),
        _assistant(
            "I read.",
            "Let me read it.",
            (
                "read",
                {
                    "path": 'a "quoted" < name\nwith a break\\',
                    "start": 12,
                    "options": {"deep": [1, 2.5, None, True, "é"], "html": "<b>&'</b>"},
                },
            ),
        ),
        _tool(" 12: x\n"),
        _assistant("It says x."),
        _user("Thanks."),
        tools=(READ,),
    ),
    "several calls": _given(
        SYSTEM,
        _user("Look."),
        _assistant("", "Both.", ("find", {"pattern": ""}), ("read", {"path": " a "}), ("list", {})),
        _tool("a.py"),
        _tool("1: x"),
        _tool(""),
        tools=(FIND, READ),
    ),
}
