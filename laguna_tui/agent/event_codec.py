"""Messages and events to JSON values and back, for a session's journal.

What is long is put somewhere else by its content. A class that may stand beside others says which it is (`type`). What
a later version of the app wrote more of is ignored; what an earlier one did not know has its default.
"""

import json
import sys
import types
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from laguna_engine.chat.messages import Malformed, ToolCall
from laguna_engine.chat.transcript import Role
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import AgentEvent, Asked
from laguna_tui.base.messages import Attachment, ChatMessage, Trace
from laguna_tui.base.permission_request import CallProposal, CommandProposal
from laguna_tui.context.shortening import FileShortener

T = TypeVar("T")

LONG_CHARS = 4096
"""Longer texts and bytes are put somewhere else."""

_EVENTS: tuple[type, ...] = (Asked, *get_args(AgentEvent))
# These stand beside others, so that each has to say which it is.
_TYPES: Mapping[str, type] = {
    each.__name__: each
    for each in (
        *_EVENTS,
        ChatMessage,
        ToolCall,
        Malformed,
        ChangeProposal,
        CommandProposal,
        CallProposal,
    )
}
_ITEM_BYTES = 4


class UnknownTypeError(ValueError):
    """A later version of the app wrote a type that this one does not know."""


def packed(tokens: Sequence[int]) -> str:
    """Token IDs as text: base64 of 32-bit little-endian numbers."""
    numbers = array("I", tokens)
    assert numbers.itemsize == _ITEM_BYTES
    if sys.byteorder == "big":
        numbers.byteswap()
    return b64encode(numbers.tobytes()).decode()


def unpacked(text: str) -> tuple[int, ...]:
    """The token IDs of such a text."""
    numbers = array("I")
    numbers.frombytes(b64decode(text))
    if sys.byteorder == "big":
        numbers.byteswap()
    return tuple(numbers)


class EventCodec:
    """Encodes messages and events."""

    def __init__(
        self,
        put: Callable[[bytes], str],
        get: Callable[[str], bytes],
        shortener: Callable[[Attachment, str], Callable[[], str] | None] = lambda attachment, question: None,
    ) -> None:
        """Encode nothing yet.

        Args:
            put: keeps bytes and returns their name.
            get: the bytes of such a name.
            shortener: what shortens a file that was attached whole, given with the question that it was attached for.
        """
        self._put, self._get, self._shortener = put, get, shortener

    def encode(self, value: ChatMessage | Attachment | Asked | AgentEvent) -> dict[str, Any]:
        """A message, an attachment or an event as JSON values."""
        return self._object(value)

    def message(self, data: Mapping[str, Any]) -> ChatMessage:
        """The message of such JSON values.

        Raises:
            ValueError, KeyError, TypeError: they are no known message.
        """
        return cast(ChatMessage, self._value(ChatMessage, _migrated(data)))

    def attachment(self, data: Mapping[str, Any]) -> Attachment:
        """The attachment of such values. Raises as `message`."""
        return cast(Attachment, self._value(Attachment, data))

    def event(self, data: Mapping[str, Any]) -> Asked | AgentEvent:
        """The event of such values. Raises as `message`; UnknownTypeError for one of a later version."""
        return cast(Asked | AgentEvent, self._value(Asked | AgentEvent, data))

    def text(self, text: str) -> Any:
        """A text as a JSON value."""
        return text if len(text) < LONG_CHARS else {"blob": self._put(text.encode("utf-8", "surrogatepass"))}

    def whole(self, data: Any) -> str:
        """The text of such a value."""
        return data if isinstance(data, str) else self._get(data["blob"]).decode("utf-8", "surrogatepass")

    # -- to JSON

    def _object(self, value: Any) -> dict[str, Any]:
        made: dict[str, Any] = {"type": type(value).__name__} if type(value).__name__ in _TYPES else {}
        for field in _fields(cast(Hashable, type(value))):
            found = getattr(value, field.name)
            if field.name == "shorter" and isinstance(value, Attachment):
                if found is not None:
                    made["shorter"] = self._shorter(found)
            elif field.name == "tokens" and isinstance(value, Trace):
                made["tokens"] = packed(found)
            elif field.default is MISSING or type(found) is not type(field.default) or found != field.default:
                made[field.name] = self._plain(found)
        return made

    def _plain(self, value: Any) -> Any:
        match value:
            case Enum():
                return value.value
            case None | bool() | int() | float():
                return value
            case str():
                return self.text(value)
            case bytes():
                return {"bytes": b64encode(value).decode()} if len(value) < LONG_CHARS else {"blob": self._put(value)}
            case Path():
                return str(value)
            case dict():
                # As text: keys and values are anybody's, also numbers that JSON does not have.
                return self.text(json.dumps(value))
            case _ if is_dataclass(value):
                return self._object(value)
        return [self._plain(each) for each in value]

    def _shorter(self, shorter: Callable[[], str]) -> Any:
        if isinstance(shorter, FileShortener):
            return {"question": self.text(shorter.question)}
        return {"text": self.text(shorter())}

    # -- from JSON

    def _value(self, hint: Any, data: Any) -> Any:
        """A value of the type that a hint names."""
        if hint is str:
            return self.whole(data)
        if hint is bytes:
            return b64decode(data["bytes"]) if "bytes" in data else self._get(data["blob"])
        if hint in (int, float, bool, object, Any):
            return data
        if hint is Path:
            return Path(data)
        if isinstance(hint, type) and is_dataclass(hint):
            return self._made(hint, data)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return hint(data)
        return self._compound(hint, data)

    def _compound(self, hint: Any, data: Any) -> Any:
        kind, parts = get_origin(hint), get_args(hint)
        if kind in (Union, types.UnionType):
            return self._one_of(parts, data)
        if kind is dict:
            return json.loads(self.whole(data))
        if kind is tuple and parts[-1] is Ellipsis:
            return tuple(self._value(parts[0], each) for each in data)
        if kind is tuple:
            return tuple(self._value(part, each) for part, each in zip(parts, data, strict=True))
        assert isinstance(hint, type) and issubclass(hint, tuple), hint
        return hint(*data)

    def _one_of(self, parts: Sequence[Any], data: Any) -> Any:
        if data is None and type(None) in parts:
            return None
        if isinstance(data, dict) and "type" in data:
            kind = _TYPES.get(data["type"])
            if kind is None or kind not in parts:
                raise UnknownTypeError(f"there is no {data['type']} in this version")
            return self._made(kind, data)
        return self._value(next(part for part in parts if part is not type(None)), data)

    def _made(self, kind: type[T], data: Mapping[str, Any]) -> T:
        hints, given = _hints(cast(Hashable, kind)), dict[str, Any]()
        for field in _fields(cast(Hashable, kind)):
            if field.name not in data:
                continue
            if kind is Trace and field.name == "tokens":
                given["tokens"] = unpacked(data["tokens"])
            elif kind is not Attachment or field.name != "shorter":
                given[field.name] = self._value(hints[field.name], data[field.name])
        made = kind(**given)
        return cast(T, self._with_shorter(made, data)) if isinstance(made, Attachment) else made

    def _with_shorter(self, attachment: Attachment, data: Mapping[str, Any]) -> Attachment:
        found = data.get("shorter")
        if found is None:
            return attachment
        if "text" in found:
            text = self.whole(found["text"])
            return replace(attachment, shorter=lambda: text)
        return replace(attachment, shorter=self._shortener(attachment, self.whole(found["question"])))


def _migrated(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message of version 0.1, where the model's own had a type and no role."""
    if data.get("type") != "GeneratedMessage":
        return data
    tokens = {"trace": {"model": "", "tokens": data["tokens"]}} if data["tokens"] else {}
    rest = {name: value for name, value in data.items() if name != "tokens"}
    return {**rest, "type": ChatMessage.__name__, "role": Role.ASSISTANT.value, **tokens}


@cache
def _fields(kind: Hashable) -> tuple[Field[Any], ...]:
    return fields(cast(Any, kind))


@cache
def _hints(kind: Hashable) -> Mapping[str, Any]:
    return get_type_hints(kind)
