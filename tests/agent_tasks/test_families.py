"""A task by models of nine families with their real templates: what they call, what they do wrong, what is read again.

A model of a few thousand weights says it, as `tests/scripted_model` describes, through the app's own parser, cache and
tools; what it says is written as models of the family write it, not as the app reads it.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from laguna_tui.base.events import (
    AgentEvent,
    CallRejected,
    Notice,
    Rate,
    ReasoningDelta,
    StepFinished,
    ToolFinished,
)
from laguna_tui.session.session import Session
from tests.scripted_model import Script, Seen, call, said, say, scripted_session, think, thought
from tests.scripted_model.speech import FAMILIES

NASTY = (
    "def sign(text):\r\n    '''It \"signs\" \\ quotes.'''\r\n    # </parameter> </arg_value> <|im_end|> [/INST] é 🙂\n"
    "    return {'a': [text, \"}\"]}  # <tool_call>\n"
)
ONE_CALL, NO_THOUGHTS = ("gpt-oss",), ("Llama 3.1", "Granite 4")
pytestmark = pytest.mark.sampled(4)
TOOLS = ("find", "search", "list", "read", "edit", "replace_symbol", "write", "move", "delete", "shell", "todo")


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "add.py").write_text("def add(a, b):\n    return a - b\n")
    (tmp_path / "shop" / "notes.md").write_text("# Notes\n")
    return tmp_path / "shop"


def opened(folder: Path, family: str, script: Any, **settings: Any) -> Session:
    usual = {"pack": 0, "context": 16_384, "thinking": True, "mode": "accept-edits"}
    session = scripted_session(folder, script, family=family, **{**usual, **settings})
    session.open(lambda progress: None)
    return session


def outputs(events: list[AgentEvent]) -> list[tuple[str, bool]]:
    return [(event.name, event.ok) for event in events if isinstance(event, ToolFinished)]


def work(seen: Seen) -> Iterator[Any]:
    seen = yield say(think("Where is it?"), call("search", pattern="def add"))
    assert "add.py:1" in seen.new
    seen = yield say(think("Both files."), call("read", path="add.py"), call("read", path="notes.md"))
    seen = yield say(think("It subtracts."), call("edit", path="add.py", old="a - b", new="a + b"))
    seen = yield call("write", path="sign.py", content=NASTY)
    seen = yield say(think("Is it as I wrote it?"), call("read", path="sign.py"))
    assert "</parameter> </arg_value> <|im_end|> [/INST] é 🙂" in seen.new
    yield say(think("It is."), "It adds now.")
    yield say(think("They ask again."), "Nothing else.")


def test_a_task_is_done_by_calls_as_the_family_writes_them(family: str, folder: Path):
    with closing(opened(folder, family, work)) as session:
        events = list(session.chat.ask("Mend add."))
        again = list(session.chat.ask("Anything else?"))
    reads = ["read"] if family in ONE_CALL else ["read", "read"]
    assert outputs(events) == [(name, True) for name in ("search", *reads, "edit", "write", "read")]
    assert (folder / "sign.py").read_bytes().decode() == NASTY
    assert said(events) == "It adds now."
    thoughts = "Where is it?Both files.It subtracts.Is it as I wrote it?It is."
    assert thought(events) == ("" if family in NO_THOUGHTS else thoughts)
    assert said(again) == "Nothing else."
    assert not [event for event in (*events, *again) if isinstance(event, CallRejected)]
    # Whatever a template leaves out later, system prompt and tools are read once.
    steps = [event.stats for event in (*events, *again) if isinstance(event, StepFinished)]
    assert min(step.cached_tokens for step in steps[1:]) > steps[0].prompt_tokens - 50


def rejections(events: list[AgentEvent]) -> list[str]:
    return [event.problem for event in events if isinstance(event, CallRejected)]


def test_a_wrong_call_is_answered_with_what_is_wrong(family: str, folder: Path):
    """What a model does in a code block or a thought is no call."""
    fenced = 'So:\n\n```json\n{"name": "read", "arguments": {"path": "add.py"}}\n```\n'
    script = [
        say(call("open_file", path="add.py")),
        say(call("read", file="add.py")),
        "I cannot.",
        fenced,
        say(think('I call <tool_call>\n{"name": "read", "arguments": {"path": "add.py"}}\n</tool_call>'), "It adds."),
    ]
    with closing(opened(folder, family, script)) as session:
        wrong, shown, thought_of = (list(session.chat.ask(each)) for each in ("Read it.", "How?", "And?"))
    tools = ", ".join(f"`{name}`" for name in TOOLS)
    assert rejections(wrong) == [
        f"There is no tool `open_file`; the tools are {tools}; call one of these.",
        "`read` has no argument `file`; it takes `path`, `offset`, `limit`; `read` needs the argument `path`; add it.",
    ]
    assert (said(wrong), said(shown), said(thought_of)) == ("I cannot.", fenced, "It adds.")
    assert [event.text for event in shown if isinstance(event, Notice)] == [
        "The model wrote a call as text, and nothing was run: read add.py. Ask it to call the tool."
    ]
    assert outputs([*wrong, *shown, *thought_of]) == []


def test_a_thought_without_an_answer_is_asked_about_and_the_template_stays(family: str, folder: Path):
    """Some templates refuse a turn without text."""
    if not FAMILIES[family].think[0]:
        pytest.skip("it does not think")
    script = Script([say(think("Hm."), end=None), say(think("Yes."), "Here it is.")])
    with closing(opened(folder, family, script)) as session:
        events = list(session.chat.ask("Well?"))
        assert said(events) == "Here it is."
        assert "You wrote no answer. Answer now, or call a tool." in script.asked[1].text
        assert [event.text for event in events if isinstance(event, Notice)] == []
        assert script.asked[1].text.startswith(script.asked[0].text.partition("Well?")[0])


def test_the_user_ends_a_thought(family: str, folder: Path):
    if not FAMILIES[family].think[0]:
        pytest.skip("it does not think")
    thoughts = " ".join(f"word {number}," for number in range(500))
    with closing(opened(folder, family, [say(think(thoughts), "Here it is."), "And more."])) as session:
        events: list[AgentEvent] = []
        for event in session.chat.ask("Well?"):
            events.append(event)
            if isinstance(event, ReasoningDelta) and not any(isinstance(each, Notice) for each in events):
                session.chat.answer_now()
        assert 0 < len(thought(events)) < len(thoughts)
        assert said(events) == "Here it is."
        assert [event.text for event in events if isinstance(event, Notice)] == ["You ended the thinking."]
        proof = session.chat.check_replay(lambda progress: None)
        assert (proof.compared, proof.difference) == (proof.total, None)
        assert said(list(session.chat.ask("And?"))) == "And more."


def test_the_speed_says_when_a_call_is_written(family: str, folder: Path):
    """Of a long call nothing else is shown until it is complete."""
    long = "".join(f"x{number} = {number * 7919 % 1000}\n" for number in range(300))
    script = [say(think("It is long."), call("write", path="long.py", content=long)), "Written."]
    with closing(opened(folder, family, script, speculation="off")) as session:
        in_thought, in_call = list[bool](), list[bool]()
        for event in session.chat.ask("Write."):
            if isinstance(event, Rate):
                in_call.append(event.in_call)
                in_thought.append(session.chat.answer_now())
    assert (folder / "long.py").read_text() == long
    assert True in in_call
    assert not any(each for each, called in zip(in_thought, in_call, strict=True) if called)
