"""What session files hold of lines, messages and events comes back equal, also what version 0.1 wrote."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.chat.messages import AssistantMessage, Role, ToolCall
from laguna_tui.base.events import AgentEvent, Notice, TextDelta, ToolFinished, ToolStarted
from laguna_tui.base.messages import MESSAGE, Attachment, BlockKind, ChatMessage, Place, Trace
from laguna_tui.base.stored_json import to_json
from laguna_tui.context.shortening import FileShortener, Shortening
from laguna_tui.context.source_files import SourceFile
from laguna_tui.context.token_counter import CachedTokenCounter
from laguna_tui.store.events import (
    LONG_CHARS,
    LOST,
    UNREADABLE,
    Blob,
    Change,
    Content,
    Event,
    Shown,
    TurnBegun,
    Unread,
    decoded,
    packed,
    unpacked,
)

COUNT = CachedTokenCounter(lambda text: len(text.split()))
# Paths and models may bring what is no UTF-8.
TEXTS = st.text(st.characters(), max_size=20) | st.sampled_from(["\ud800 lone", "x" * LONG_CHARS, "\x00\x1b[2J", ""])
ARGUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(str, TEXTS)
st.register_type_strategy(int, st.integers(-(2**62), 2**62))
st.register_type_strategy(bytes, st.binary(max_size=20) | st.just(bytes(range(256)) * 32))
st.register_type_strategy(Path, TEXTS.filter(lambda text: text and "\0" not in text).map(Path))
CALLS = st.builds(ToolCall, name=TEXTS, arguments=st.dictionaries(TEXTS, ARGUMENTS, max_size=3))
st.register_type_strategy(ToolCall, CALLS)
ATTACHMENTS = st.builds(Attachment, shorter=st.none())
MESSAGES = st.builds(ChatMessage, attachments=st.lists(ATTACHMENTS, max_size=2).map(tuple))
TRACES = st.builds(Trace, tokens=st.lists(st.integers(0, 2**32 - 1), max_size=9).map(tuple))
_NONE = st.just(())
GENERATED = st.builds(ChatMessage, role=st.just(Role.ASSISTANT), attachments=_NONE, places=_NONE, trace=TRACES)
EVENTS = st.one_of(
    *[st.from_type(kind) for kind in get_args(AgentEvent) if kind is not ToolStarted],
    st.builds(ToolStarted, call_id=st.integers(0, 99), name=TEXTS, arguments=st.dictionaries(TEXTS, ARGUMENTS)),
)


VALUES = st.lists(st.dictionaries(TEXTS, ARGUMENTS, max_size=3), max_size=3).map(tuple)
COUNTS = st.integers(0, 2**53)
CHANGES = st.none() | st.builds(Change, keep=COUNTS, add=VALUES)
FIELDS = {
    "time": st.floats(0, 4e9), "number": COUNTS, "position": COUNTS, "at": COUNTS,
    "events": VALUES, "pieces": VALUES, "said": CHANGES, "forgotten": CHANGES,
}  # fmt: skip
LINES = st.one_of(
    *[
        st.builds(kind, **{name: found for name, found in FIELDS.items() if name in kind.__struct_fields__})
        for kind in Event.__subclasses__()
    ]
)


@pytest.fixture(name="content", scope="module")
def _content() -> Content:
    stored: list[bytes] = []

    def put(data: bytes) -> str:
        stored.append(data)
        return str(len(stored) - 1)

    return Content(lambda name: stored[int(name)], put)


def through_a_file(content, event):
    """The events that a line has after it was written and read."""
    line = decoded(to_json(Shown(events=(content.stored(event),))))
    assert isinstance(line, Shown), line
    return list(content.events(line))


def through_json(value):
    return json.loads(json.dumps(value, allow_nan=False))


@given(said=MESSAGES | GENERATED)
def test_every_message_comes_back_equal(content, said):
    again = content.message(through_json(content.stored(said)))
    assert again == said
    assert type(again) is type(said)


@given(event=EVENTS)
def test_every_event_comes_back_equal(content, event):
    (again,) = through_a_file(content, event)
    assert again == event
    assert type(again) is type(event)


@given(event=LINES)
def test_every_line_comes_back_equal(event):
    assert decoded(to_json(event)) == event


@given(attachment=ATTACHMENTS)
def test_every_attachment_comes_back_equal(content, attachment):
    assert content.attachment(through_json(content.stored(attachment))) == attachment


@given(tokens=st.lists(st.integers(0, 2**32 - 1)))
def test_token_ids_come_back_equal(tokens):
    assert unpacked(packed(tokens)) == tuple(tokens)


def test_arguments_may_hold_numbers_that_json_does_not_have(content):
    event = ToolStarted(1, "read", {"limit": math.inf, "huge": 10**40})
    assert through_a_file(content, event) == [event]


def test_long_texts_are_stored_once_by_their_content(content):
    output = "a line\n" * LONG_CHARS
    event = content.stored(ToolFinished(1, "shell", output, True, 0.5))
    assert len(json.dumps(event)) < 200
    (again,) = content.events(Shown(events=(event,)))
    assert again.output == output


def test_what_a_later_version_added_is_ignored_and_what_it_invented_is_skipped(content):
    events = (
        {"type": "TextDelta", "text": "hello", "colour": "red"},
        {"type": "Danced"},
        {"type": []},
        {"type": "Notice"},
    )
    assert list(content.events(Shown(events=events))) == [TextDelta("hello")]
    assert decoded(b'{"event":"turn","number":1,"message":"x","colour":"red"}') == TurnBegun(number=1, message="x")
    assert decoded(b'{"event":"danced","steps":3}') == Unread({"event": "danced", "steps": 3}, "", False)


@pytest.mark.parametrize(
    "line", [b'{"event":"turn"}', b'{"event":"turn","number":-1,"message":""}', b'{"event":"said","said":{"add":[]}}']
)
def test_a_line_that_does_not_match_its_type_says_what_is_wrong(line):
    damaged = decoded(line)
    assert isinstance(damaged, Unread)
    assert damaged.problem


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"{}", b'{"event":3}', b"[" * 100_000, b"\xff", b"\0" * 50])
def test_what_is_not_an_object_that_names_its_event_is_not_a_line(line):
    assert decoded(line) is None


def test_a_message_of_version_0_1_has_its_tokens_in_a_trace(content):
    call = {"type": "ToolCall", "name": "read", "arguments": '{"path": "a.py"}'}
    stored = {"type": "GeneratedMessage", "label": "answer", "tokens": "AQAAAP////8=", "answer": {"text": "a"}}
    answer = ChatMessage(Role.ASSISTANT, "answer", answer=AssistantMessage("a"))
    assert content.message({**stored, "calls": [call]}) == replace(
        answer, calls=(ToolCall("read", {"path": "a.py"}),), trace=Trace("", (1, 2**32 - 1))
    )
    assert content.message({**stored, "tokens": ""}) == answer
    with pytest.raises(UNREADABLE):
        content.message({**stored, "tokens": 3})


def test_a_lost_text_says_so():
    content = Content(lambda name: LOST.encode())
    assert list(content.events(Shown(events=({"type": "Notice", "text": {"blob": "x"}},)))) == [Notice(LOST)]
    assert Content(lambda name: b"\xff").text(Blob("x")) == LOST


@pytest.mark.parametrize("text", ["one\n" * 30, "``` a fence\n" + "x\n" * 20, "\ttabs\rand returns\n\x0c\n" * 9])
def test_a_file_that_was_attached_whole_is_shortened_as_before(text):
    source = SourceFile("src/a.py", "".join(f"{number} {text}" for number in range(9)), 1, 1)
    whole = Shortening("where is one?", COUNT).whole(source)
    content = Content(str.encode, str, lambda each, question: FileShortener.of_attached(each, question, COUNT))
    again = content.attachment(through_json(content.stored(whole)))
    assert again == whole
    assert again.at(Place.SHORTENED).text == whole.at(Place.SHORTENED).text


def test_an_attachment_with_its_own_shorter_text_keeps_it(content):
    piece = Attachment(BlockKind.TOOL, "$ ls", "", "long", "long", Place.KEPT, "you ran it", shorter=lambda: "short")
    said = ChatMessage(Role.USER, MESSAGE, "look", attachments=(piece,))
    again = content.message(through_json(content.stored(said)))
    assert isinstance(again, ChatMessage)
    assert again.attachments[0].at(Place.SHORTENED).text == "short"


def test_defaults_take_no_room(content):
    assert content.stored(ChatMessage.asked("hello")) == {"role": "user", "label": MESSAGE, "text": "hello"}
    answer = ChatMessage(Role.ASSISTANT, "answer", answer=AssistantMessage("a"), trace=Trace("m", (1,)))
    assert content.stored(answer) == {
        "role": "assistant", "label": "answer", "answer": {"text": "a"}, "trace": {"model": "m", "tokens": [1]},
    }  # fmt: skip
