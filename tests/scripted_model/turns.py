"""What a turn of a script may be made of."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Think:
    """Reasoning; left out where the session does not think."""

    text: str


@dataclass(frozen=True)
class Call:
    """A tool call in the model's own format."""

    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True)
class Raw:
    """Text whose markers (`<tool_call>`, `</think>`) become special tokens: what a model writes wrongly."""

    text: str


@dataclass(frozen=True)
class Hold:
    """The model says no more until the event is set, or it is cancelled.

    A draft that reaches over it waits as a whole: text that repeats itself needs `speculation="off"`.
    """

    event: threading.Event


Part = str | Think | Call | Raw | Hold


@dataclass(frozen=True)
class Turn:
    """All that the model says in one generation.

    Attributes:
        parts: reasoning first, then text and calls in any order.
        instead: what it continues with, once, when the sampler refuses a token of the script; by default with the next
            token of the script.
        end: what ends the turn; None for what its model ends one with, and empty continues with arbitrary tokens.
    """

    parts: tuple[Part, ...]
    instead: str | None = None
    end: str | None = None


def say(*parts: Part, instead: str | None = None, end: str | None = None) -> Turn:
    """A turn of these parts; a string is text."""
    return Turn(parts, instead, end)


def think(text: str) -> Think:
    """Reasoning, at the beginning of a turn."""
    return Think(text)


def call(name: str, **arguments: object) -> Call:
    """A tool call; strings are written as they are, other values as JSON."""
    return Call(name, arguments)


def raw(text: str) -> Raw:
    """Text with markers in it."""
    return Raw(text)


def hold(event: threading.Event) -> Hold:
    """A wait for an event, between other parts of a turn."""
    return Hold(event)
