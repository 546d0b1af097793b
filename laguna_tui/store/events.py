"""The lines of a session file: a type for each kind, and how they hold events of turns, messages and long texts.

Lines that belong together are marked with `more`. What changes the conversation is in one group with the change, so
that a kill leaves both or neither: `Opened` where another model answers, `TurnBegun` with its message, `Shown` for a
message that was sent while a turn ran, `HistoryMoved`.

Fields that a later version added are ignored, and lines and events that it added are skipped. Fields that an earlier
version lacked have defaults.
"""

import json
import sys
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta, Struct

from laguna_engine.chat.messages import AssistantMessage, Role
from laguna_tui.base.events import AgentEvent, TodoState
from laguna_tui.base.messages import Attachment, ChatMessage

VERSION = 1
"""Of the format. Files of a later one are not opened."""
LONG_CHARS = 4096
"""Longer texts and bytes are stored as blobs."""
LOST = "[this text was lost when the disk failed]"
"""Replaces a text whose blob is missing or damaged."""
FAILED = "failed"
"""The `end` of a turn that an error ended."""
UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
"""Raised where a value is of an unknown type, or damaged."""

# The end of the year 9999 is the last that can be written as a date; time zones are left some room.
Moment = Annotated[float, Meta(ge=0.0, le=253_402_000_000.0)]
"""Seconds since the epoch."""
Count = Annotated[int, Meta(ge=0, le=1 << 53)]
Value = dict[str, Any]
"""A message, an attachment or an event of a turn as JSON values; see `Content`."""


class Blob(Struct, frozen=True):
    """The name of a blob that holds a text."""

    blob: str


Text = str | Blob


# No event refers to itself, so that there is nothing for the garbage collector.
class Event(Struct, tag_field="event", omit_defaults=True, kw_only=True, gc=False):
    """A line of any kind.

    Attributes:
        time: When it was written.
        more: Whether the next line belongs to the same group.
    """

    time: Moment = 0.0
    more: bool = False


class Began(Event, tag="session"):
    """The first line of every file. A copy gets another ID of the same length in place of the first one in the line."""

    id: str
    version: int
    folder: str = ""
    app: str = ""


class Opened(Event, tag="opened"):
    """A model was opened. identity: What token IDs depend on."""

    model: str = ""
    title: str = ""
    identity: tuple[str | int | bool, ...] = ()
    context: int = 0
    kv: str = ""
    speculation: str = ""


class Titled(Event, tag="titled"):
    """The user named the session; an empty title removes the name."""

    title: str


class Moved(Event, tag="moved"):
    """The session is about another folder from now on."""

    folder: str


class ModeChosen(Event, tag="mode"):
    """The user chose a mode of permissions. proof: See `session/chosen_modes.py`."""

    mode: str
    proof: str = ""


class MessageSent(Event, tag="asked"):
    """The user sent a message. If it is refused, no turn begins."""

    message: Text


class TurnBegun(Event, tag="turn"):
    """The message is in the conversation. Turns that are undone are forgotten."""

    number: Count
    message: Text


class Change(Struct):
    """A change of a list of messages: the first `keep` stay, and `add` follows.

    That is a message, which gets the next number in the file, or the number of one that was written before.
    """

    keep: Count
    add: tuple[int | Value, ...]


class ConversationChanged(Event, tag="said"):
    """What changed of the conversation; fields as in `ConversationState`."""

    said: Change | None = None
    forgotten: Change | None = None
    calls: int | None = None
    opening: str | None = None
    notes: tuple[str, ...] = ()


class Generated(Event, tag="tokens"):
    """Tokens of the running generation that are not in the conversation yet, packed, from number `at` on."""

    at: Count
    ids: bytes


class Shown(Event, tag="shown"):
    """Events of the turn, as the screen got them."""

    events: tuple[Value, ...]


class SteeringSent(Event, tag="steered"):
    """The user sent a message while a turn ran; it is not in the conversation yet."""

    message: Text


class SteeringReturned(Event, tag="left"):
    """Steering messages that are not in the conversation were returned to the user."""


class PiecesWaiting(Event, tag="told"):
    """The attachments that the next message brings along."""

    pieces: tuple[Value, ...]


class TodoWritten(Event, tag="todo"):
    """The model's list of steps."""

    items: tuple[tuple[TodoState, str], ...]


class FilesSeen(Event, tag="seen"):
    """Digests, in hex, of files that the model was shown; None for a file to forget."""

    files: dict[str, str | None]


class HistoryMoved(Event, tag="history"):
    """This many turns are not undone from now on."""

    position: Count


class TurnEnded(Event, tag="turn_ended"):
    """A turn ended. end: The value of a `TurnEnd`, or `FAILED`."""

    end: str
    detail: str


class Forked(Event, tag="forked"):
    """The session is a copy."""

    source: str = msgspec.field(name="from")


class Closed(Event, tag="closed"):
    """The session was closed. reason: Why, where it was not the user, such as "SIGTERM"."""

    reason: str


class Unread(Struct):
    """A line of a later version, or one that does not match its type.

    Attributes:
        data: The line.
        problem: What is wrong with it; empty for a line of a later version.
        more: As of a line.
    """

    data: Value
    problem: str
    more: bool


_LINE: Any = reduce(or_, Event.__subclasses__())
_DECODER = msgspec.json.Decoder(_LINE)
_TAGS = {str(kind.__struct_config__.tag) for kind in Event.__subclasses__()}


def decoded(line: bytes) -> Event | Unread | None:
    """Return the event of a line, with or without its newline; None if it is not a JSON object that names its event."""
    try:
        event: Event = _DECODER.decode(line)
    except (ValueError, RecursionError):
        return _decoded_otherwise(line)
    return event


def _decoded_otherwise(line: bytes) -> Event | Unread | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("event"), str):
        return None
    try:
        event: Event = msgspec.convert(data, _LINE)
    except (ValueError, RecursionError) as error:
        return Unread(data, str(error) if data["event"] in _TAGS else "", bool(data.get("more")))
    return event


def packed(tokens: Sequence[int]) -> bytes:
    """Return token IDs as 32-bit little-endian numbers."""
    numbers = array("I", tokens)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def unpacked(data: bytes) -> tuple[int, ...]:
    """Return the token IDs of such bytes."""
    numbers = array("I")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return tuple(numbers)


def migrated(message: Value, model: str) -> Value:
    """Return a message as this version writes it. In version 0.1 generated messages had another type.

    Args:
        message: As it was written.
        model: The model that generated it, which version 0.1 did not write.
    """
    if message.get("type") != "GeneratedMessage":
        return message
    tokens = unpacked(b64decode(message["tokens"]))
    trace = {"trace": {"model": model, "tokens": tokens}} if tokens else {}
    return {**message, "role": Role.ASSISTANT.value, **trace}


_KINDS: Mapping[str, type[Struct]] = {kind.__name__: kind for kind in get_args(AgentEvent)}
# Written as JSON text: its keys are arbitrary, and its numbers may be none of JSON's.
_ARGUMENTS = "arguments"
# The only fields of bytes.
_BYTES = ("old", "new")


class Content:
    """Converts what lines hold to values and back. Long texts are blobs: their JSON value is `{"blob": NAME}`."""

    def __init__(
        self,
        get: Callable[[str], bytes],
        put: Callable[[bytes], str] | None = None,
        shortener: Callable[[Attachment, str], Callable[[], str] | None] = lambda attachment, question: None,
    ) -> None:
        """Convert nothing yet.

        Args:
            get: Returns the bytes of a blob; `LOST` where they are missing.
            put: Stores bytes and returns their name; None where nothing is written.
            shortener: Returns what shortens a file that was attached whole with this question.
        """
        self._get, self._put, self._shortener = get, put, shortener

    def text(self, value: Text) -> str:
        """Return the text of a field."""
        if isinstance(value, str):
            return value
        try:
            return self._get(value.blob).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return LOST

    def stored_text(self, text: str) -> Text:
        """Return a text as a field has it."""
        return text if len(text) < LONG_CHARS else Blob(self._stored_blob(text.encode("utf-8", "surrogatepass")))

    def events(self, shown: Shown, *kinds: type[Struct]) -> Iterator[AgentEvent]:
        """Yield the events of a line, except damaged ones and those of a later version.

        Args:
            shown: The line.
            kinds: The types that are wanted; none for all.
        """
        for data in shown.events:
            kind = _KINDS.get(str(data.get("type")))
            if kind is not None and (not kinds or kind in kinds) and (event := self._event(kind, data)) is not None:
                yield event

    def message(self, value: Value, model: str = "") -> ChatMessage:
        """Return a message. Raises one of `UNREADABLE`.

        Args:
            value: The message.
            model: The model that was open, which generated it if version 0.1 wrote it.
        """
        data = self._loaded(migrated(value, model))
        shorter = [each.pop("shorter", None) for each in data.get("attachments", ())]
        message = msgspec.convert(data, ChatMessage, dec_hook=_from_json)
        return replace(message, attachments=tuple(map(self._with_shorter, message.attachments, shorter)))

    def attachment(self, value: Value) -> Attachment:
        """Return an attachment. Raises one of `UNREADABLE`."""
        data = self._loaded(value)
        shorter = data.pop("shorter", None)
        return self._with_shorter(msgspec.convert(data, Attachment, dec_hook=_from_json), shorter)

    def stored(self, value: AgentEvent | ChatMessage | Attachment) -> Value:
        """Return an event, a message or an attachment as JSON values."""
        plain = msgspec.to_builtins(_without_defaults(value), builtin_types=(bytes,), enc_hook=_to_json)
        stored: Value = self._stored(plain)
        return stored

    def _event(self, kind: type[Struct], data: Value) -> Any:
        if _ARGUMENTS not in data:
            try:
                return msgspec.convert(data, kind)
            except ValueError:
                # It has long texts, which are loaded first.
                pass
        try:
            return msgspec.convert(self._loaded(data), kind, dec_hook=_from_json)
        except UNREADABLE:
            return None

    def _stored(self, value: Any) -> Any:
        if isinstance(value, str):
            return value if len(value) < LONG_CHARS else msgspec.to_builtins(self.stored_text(value))
        if isinstance(value, bytes):
            long = len(value) >= LONG_CHARS
            return {"blob": self._stored_blob(value)} if long else {"bytes": b64encode(value).decode()}
        if isinstance(value, dict):
            return {key: self._stored(json.dumps(each) if key == _ARGUMENTS else each) for key, each in value.items()}
        return list(map(self._stored, value)) if isinstance(value, list | tuple) else value

    def _loaded(self, value: Any, key: str = "") -> Any:
        if isinstance(value, list | tuple):
            return [self._loaded(each) for each in value]
        if not isinstance(value, dict):
            return json.loads(value) if key == _ARGUMENTS else value
        if isinstance(name := value.get("blob"), str):
            return self._get(name) if key in _BYTES else self._loaded(self.text(Blob(name)), key)
        if "bytes" in value:
            return b64decode(value["bytes"])
        return {
            name: each if isinstance(each, str) and name != _ARGUMENTS else self._loaded(each, name)
            for name, each in value.items()
        }

    def _stored_blob(self, data: bytes) -> str:
        assert self._put is not None, "the session is open for writing"
        return self._put(data)

    def _with_shorter(self, attachment: Attachment, shorter: Value | None) -> Attachment:
        if not shorter:
            return attachment
        if "question" in shorter:
            return replace(attachment, shorter=self._shortener(attachment, shorter["question"]))
        text = str(shorter["text"])
        return replace(attachment, shorter=lambda: text)


def _without_defaults(value: Any) -> Any:
    """Return a message or what is part of it as a dictionary without what a reader fills in."""
    if isinstance(value, tuple):
        return tuple(map(_without_defaults, value))
    if not isinstance(value, ChatMessage | Attachment | AssistantMessage):
        return value
    found = ((each, getattr(value, each.name)) for each in fields(value))
    return {each.name: _without_defaults(given) for each, given in found if given != each.default}


def _to_json(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    assert callable(value), value
    # What shortens a file is created again from its question.
    question = getattr(value, "question", None)
    return {"text": value()} if question is None else {"question": question}


def _from_json(kind: type, value: object) -> object:
    return Path(str(value)) if kind is Path else value
