"""What the streaming parser reports: frozen values, in the order in which the model wrote them.

A turn is any sequence of `Reasoning`, `Text` and calls. A call is an optional `CallStarted` with its `CallArgument`s,
then exactly one `CallFinished` or `Malformed`, with `Reasoning` possibly in between. Deltas joined are the whole text.
"""

from dataclasses import dataclass

from laguna_engine.chat.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A stretch of the model's thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A stretch of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """Call number `index` of the turn, from 0, to a tool that exists. Nothing may be run yet."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class CallArgument:
    """A stretch of one argument's value as written: the string itself, or JSON for other types."""

    index: int
    key: str
    value_delta: str


@dataclass(frozen=True, slots=True)
class CallFinished:
    """The call is complete, and its arguments fit the tool's schema."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Malformed:
    """A call that cannot be run: its text, and a sentence for the model saying what to do instead."""

    raw: str
    problem: str


ParserEvent = Reasoning | Text | CallStarted | CallArgument | CallFinished | Malformed
