"""Calls that an endpoint gives as text are found, however the pieces split them; one that is only quoted stays text."""

import pytest

from laguna_engine.chat.messages import CallFinished, Malformed, Text, ToolCall, ToolSpec
from laguna_tui.backends.spelled_calls import SpelledCalls

FIELDS = {"path": {"type": "string"}, "first": {"type": "integer"}}
READ = ToolSpec("read", "", {"type": "object", "properties": FIELDS})
HERMES = '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>'
LAGUNA = (
    "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n"
    "<arg_key>first</arg_key>\n<arg_value>3</arg_value>\n</tool_call>"
)


def split(text: str, size: int, tools: tuple[ToolSpec, ...] = (READ,)) -> tuple[str, list[CallFinished | Malformed]]:
    """The prose and the calls of a text that comes in pieces of this size."""
    reader, said = SpelledCalls(tools), list[Text]()
    for at in range(0, len(text), size):
        said += reader.take(text[at : at + size])
    said += reader.finish()
    return "".join(each.text for each in said), reader.found


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("text", "prose", "calls"),
    [
        ("I <b>look</b>, 1 < 2.", "I <b>look</b>, 1 < 2.", []),
        (HERMES.removesuffix("</tool_call>"), "", [{"path": "a.py"}]),
        (HERMES, "", [{"path": "a.py"}]),
        (LAGUNA, "", [{"path": "a.py", "first": 3}]),
        (f"I look.\n{HERMES}\n{LAGUNA}\n", "I look.\n", [{"path": "a.py"}, {"path": "a.py", "first": 3}]),
        (f"  {HERMES} And?", "And?", [{"path": "a.py"}]),
    ],
)
def test_calls_are_taken_out_of_the_text(text, prose, calls, size):
    assert split(text, size) == (prose, [CallFinished(ToolCall("read", given)) for given in calls])


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(
    "text",
    [
        f"It writes {HERMES}",
        HERMES.replace("read", "elsewhere"),
        LAGUNA.replace("read", "elsewhere"),
        "<tool_call></tool_call>",
        "<tool_call>[]</tool_call>",
        "<tool",
    ],
)
def test_what_is_no_call_stays_text(text, size):
    assert split(text, size) == (text, [])


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (HERMES.replace("}}", "}"), ""),
        (HERMES.replace('{"path": "a.py"}', '"a.py"'), ""),
        (LAGUNA.replace(">3<", ">three<"), "</tool_call>"),
    ],
    ids=["torn", "no object", "wrong type"],
)
def test_a_wrong_call_of_a_tool_is_said_to_be_wrong(text, after):
    prose, (found,) = split(text, 4)
    assert prose == ""
    assert isinstance(found, Malformed)
    assert found.raw + after == text


def test_without_tools_all_text_is_prose():
    assert split(HERMES, 3, ()) == (HERMES, [])


def test_a_call_without_end_is_given_up(monkeypatch):
    monkeypatch.setattr("laguna_engine.chat.form_parser.MAX_CALL_CHARS", 100)
    text = "<tool_call>" + "x" * 200
    assert split(text, 10) == (text, [])
