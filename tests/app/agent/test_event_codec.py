"""What a journal holds of messages and events comes back equal."""

import json
import math
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.chat.messages import AssistantMessage, ToolCall
from laguna_engine.chat.transcript import Role
from laguna_tui.agent.event_codec import LONG_CHARS, EventCodec, UnknownTypeError, packed, unpacked
from laguna_tui.base.events import AgentEvent, Asked, TextDelta, ToolFinished, ToolStarted
from laguna_tui.base.messages import MESSAGE, Attachment, BlockKind, ChatMessage, Place, Trace
from laguna_tui.context.shortening import FileShortener, Shortening
from laguna_tui.context.source_files import SourceFile
from laguna_tui.context.token_counter import CachedTokenCounter

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
    *[st.from_type(kind) for kind in (Asked, *get_args(AgentEvent)) if kind is not ToolStarted],
    st.builds(ToolStarted, call_id=st.integers(0, 99), name=TEXTS, arguments=st.dictionaries(TEXTS, ARGUMENTS)),
)


@pytest.fixture(name="codec", scope="module")
def _codec() -> EventCodec:
    kept: list[bytes] = []

    def put(data: bytes) -> str:
        kept.append(data)
        return str(len(kept) - 1)

    return EventCodec(put, lambda name: kept[int(name)])


def through_json(value):
    return json.loads(json.dumps(value, allow_nan=False))


@given(said=MESSAGES | GENERATED)
def test_every_message_comes_back_equal(codec, said):
    again = codec.message(through_json(codec.encode(said)))
    assert again == said
    assert type(again) is type(said)


@given(event=EVENTS)
def test_every_event_comes_back_equal(codec, event):
    again = codec.event(through_json(codec.encode(event)))
    assert again == event
    assert type(again) is type(event)


@given(attachment=ATTACHMENTS)
def test_every_attachment_comes_back_equal(codec, attachment):
    assert codec.attachment(through_json(codec.encode(attachment))) == attachment


@given(tokens=st.lists(st.integers(0, 2**32 - 1)))
def test_token_ids_come_back_equal(tokens):
    assert unpacked(packed(tokens)) == tuple(tokens)


def test_arguments_may_hold_numbers_that_json_does_not_have(codec):
    event = ToolStarted(1, "read", {"limit": math.inf, "huge": 10**40})
    assert codec.event(through_json(codec.encode(event))) == event


def test_long_texts_are_kept_elsewhere_once_by_their_content(codec):
    output = "a line\n" * LONG_CHARS
    event = codec.encode(ToolFinished(1, "shell", output, True, 0.5))
    assert len(json.dumps(event)) < 200
    assert codec.event(event).output == output


def test_what_a_later_version_added_is_ignored_and_what_it_invented_is_said(codec):
    assert codec.event({"type": "TextDelta", "text": "hello", "colour": "red"}) == TextDelta("hello")
    with pytest.raises(UnknownTypeError, match="no Danced in this version"):
        codec.event({"type": "Danced"})


@pytest.mark.parametrize("text", ["one\n" * 30, "``` a fence\n" + "x\n" * 20, "\ttabs\rand returns\n\x0c\n" * 9])
def test_a_file_that_was_attached_whole_is_shortened_as_before(text):
    source = SourceFile("src/a.py", "".join(f"{number} {text}" for number in range(9)), 1, 1)
    whole = Shortening("where is one?", COUNT).whole(source)
    codec = EventCodec(str, str.encode, lambda each, question: FileShortener.of_attached(each, question, COUNT))
    again = codec.attachment(through_json(codec.encode(whole)))
    assert again == whole
    assert again.at(Place.SHORTENED).text == whole.at(Place.SHORTENED).text


def test_a_piece_with_a_shorter_text_of_its_own_keeps_it(codec):
    piece = Attachment(BlockKind.TOOL, "$ ls", "", "long", "long", Place.KEPT, "you ran it", shorter=lambda: "short")
    said = ChatMessage(Role.USER, MESSAGE, "look", attachments=(piece,))
    again = codec.message(through_json(codec.encode(said)))
    assert isinstance(again, ChatMessage)
    assert again.attachments[0].at(Place.SHORTENED).text == "short"


def test_defaults_take_no_room(codec):
    assert codec.encode(ChatMessage.asked("hello")) == {
        "type": "ChatMessage", "role": "user", "label": MESSAGE, "text": "hello",
    }  # fmt: skip
    answer = ChatMessage(Role.ASSISTANT, "answer", answer=AssistantMessage("a"), trace=Trace("m", (1,)))
    assert codec.encode(answer) == {
        "type": "ChatMessage", "role": "assistant", "label": "answer", "answer": {"text": "a"},
        "trace": {"model": "m", "tokens": "AQAAAA=="},
    }  # fmt: skip
