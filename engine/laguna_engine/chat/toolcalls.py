"""The model's turn, token by token, as typed events: reasoning, answer, tool calls.

Text is reported as early as is safe: nothing is held back but a broken character, the possible beginning of a tag or an
escaped marker, and blanks that a tag may follow. What the model writes is unescaped (see `escape`). Line breaks behind
a tag and blanks before one belong to the layout and are left out, as the templates leave them out.

Faults that were seen in Laguna's turns and are understood here: reasoning inside a call, a call inside reasoning that
was never closed, a second `</think>`, a turn that ends straight after reasoning, `</assistant>` spelled out after a
call.
"""

from collections.abc import Mapping, Sequence

from laguna_engine.chat.escape import StreamUnescaper
from laguna_engine.chat.messages import ToolCall, ToolSpec
from laguna_engine.chat.opencall import OpenCall
from laguna_engine.chat.parsed import (
    CallArgument,
    CallFinished,
    CallStarted,
    Malformed,
    ParserEvent,
    Reasoning,
    Text,
)
from laguna_engine.chat.tags import Tag, TagScanner
from laguna_engine.chat.vocabulary import END_OF_TURN, EOS_TEXT

__all__ = [
    "CallArgument",
    "CallFinished",
    "CallStarted",
    "Malformed",
    "ParserEvent",
    "Reasoning",
    "StreamParser",
    "Text",
    "ToolCall",
    "ToolSpec",
]


class StreamParser:
    """Parses one assistant turn.

    Args:
        tools: the tools offered, whose schemas give the arguments their types.
        in_reasoning: whether the generation prompt ended in `<think>`.
        markers: the vocabulary's markers that are tokens, id to text (`SafeEncoder.markers`); others are found by text.
    """

    def __init__(
        self, tools: Sequence[ToolSpec], *, in_reasoning: bool = False, markers: Mapping[int, str] | None = None
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._scanner = TagScanner(markers or {})
        self._reasoning = in_reasoning
        self._call: OpenCall | None = None
        self._call_in_reasoning = False
        self._calls = 0
        self._only_blanks_since_call = False
        self._prose = _Prose()
        self.ended = False
        """Whether the turn is over; what comes later is ignored. The engine need not have noticed."""

    def feed(self, token_id: int, piece: bytes) -> list[ParserEvent]:
        """What this token adds to the turn; most often one delta or nothing."""
        return self._take_all(self._scanner.feed(token_id, piece))

    def finish(self) -> list[ParserEvent]:
        """The generation is over: whatever was held back, and a call left open as malformed. Safe to repeat."""
        events = self._take_all(self._scanner.finish())
        return events + self._end()

    def _take_all(self, items: Sequence[Tag | str]) -> list[ParserEvent]:
        return [event for item in items for event in self._take(item)]

    def _take(self, item: Tag | str) -> list[ParserEvent]:
        if self.ended:
            return []
        if not isinstance(item, Tag):
            return self._inside(item)
        if item.text in (END_OF_TURN, EOS_TEXT):
            return self._end() if not item.spelled or self._only_blanks_since_call else self._inside(item)
        if item.text == "</tool_call>":
            return self._close_call(complete=True)
        if self._call and not self._reasoning and self._call.in_value:
            return self._call.take(item)
        match item.text:
            case "<tool_call>":
                return self._open_call()
            case "<think>" | "</think>":
                return self._switch(item.text == "<think>")
            case _:
                return self._inside(item)

    def _inside(self, item: Tag | str) -> list[ParserEvent]:
        """Text, or a tag that means nothing here, goes to whatever is open."""
        if self._call and not self._reasoning:
            return self._call.take(item)
        return self._say(self._prose.feed(item.text if isinstance(item, Tag) else item))

    def _say(self, text: str) -> list[ParserEvent]:
        if not text:
            return []
        self._only_blanks_since_call = False
        return [Reasoning(text) if self._reasoning else Text(text)]

    def _switch(self, reasoning: bool) -> list[ParserEvent]:
        """Into reasoning or out of it; whatever was being said is complete. Where one is already, nothing happens."""
        if reasoning == self._reasoning:
            return []
        events = [*self._end_prose(), *(self._call.interrupt() if self._call else [])]
        self._reasoning = reasoning
        return events

    def _open_call(self) -> list[ParserEvent]:
        events = self._close_call(complete=False) if self._call else self._end_prose()
        self._call_in_reasoning, self._reasoning = self._reasoning, False
        self._call = OpenCall(self._calls, self._tools)
        self._calls += 1
        self._only_blanks_since_call = False
        return events

    def _close_call(self, complete: bool) -> list[ParserEvent]:
        if self._call is None:
            return []
        events = [*self._end_prose(), *self._call.close(complete)]
        self._call, self._reasoning = None, self._call_in_reasoning
        self._only_blanks_since_call = True
        return events

    def _end_prose(self) -> list[ParserEvent]:
        events = self._say(self._prose.finish())
        self._prose = _Prose()
        return events

    def _end(self) -> list[ParserEvent]:
        if self.ended:
            return []
        events = self._close_call(complete=False) if self._call else self._end_prose()
        self.ended = True
        return events


class _Prose:
    """One stretch of reasoning or answer: unescaped, without line breaks in front and blanks behind."""

    def __init__(self) -> None:
        self._unescaper = StreamUnescaper()
        self._begun = False
        self._blanks = ""

    def feed(self, text: str) -> str:
        return self._release(self._unescaper.feed(text))

    def finish(self) -> str:
        return self._release(self._unescaper.finish())

    def _release(self, text: str) -> str:
        text = self._blanks + text
        if not self._begun:
            text = text.lstrip("\r\n")
        kept = text.rstrip()
        self._blanks = text[len(kept) :]
        self._begun = self._begun or bool(kept)
        return kept
