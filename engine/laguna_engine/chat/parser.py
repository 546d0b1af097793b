"""Parses the model's turn, token by token, into typed events: reasoning, answer, tool calls.

Text is emitted as early as is safe. Held back are only a partial character, a possible beginning of a tag or of an
escaped marker, and blanks that a tag may follow. The model's text is unescaped (see `encoding`). Line breaks after a
tag and blanks before one are layout and dropped, as in the templates.

A tag with a token in the vocabulary is recognised by its id alone, so an answer that only quotes `<tool_call>` contains
no tag. A tag without a token is found in the text, however the pieces split it. The end of the turn is recognised in
both forms, because Laguna sometimes spells it out after a call; `Tag.spelled` distinguishes them.

A call is a name, then `<arg_key>KEY</arg_key>` and `<arg_value>VALUE</arg_value>` for each argument. Blanks between
tags are ignored; a value is taken verbatim. The model does not escape values, so `</arg_value>` ends one only where the
call continues as a call: with another key or its end.

Faults seen in Laguna's turns and accepted here: reasoning inside a call, a call inside reasoning that was never closed,
a second `</think>`, a turn that ends right after reasoning, `</assistant>` spelled out after a call.
"""

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from laguna_engine.chat.call_arguments import BadArguments, no_such_tool, parse_arguments
from laguna_engine.chat.encoding import StreamUnescaper
from laguna_engine.chat.messages import (
    CallArgument,
    CallFinished,
    CallStarted,
    Malformed,
    ParserEvent,
    Reasoning,
    Text,
    ToolCall,
    ToolSpec,
)
from laguna_engine.gguf.laguna import END_OF_TURN, EOS_TEXT

TAGS = frozenset(
    {
        *("<think>", "</think>", "<tool_call>", "</tool_call>", END_OF_TURN, EOS_TEXT),
        *("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    }
)


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag.

    Attributes:
        spelled: it came as text although the vocabulary has a token for it.
    """

    text: str
    spelled: bool = False


class TagScanner:
    """Splits tokens into tags and text. Holds back only a partial character and a possible beginning of a tag.

    Args:
        markers: tokens of the vocabulary that are markers, id to text (`SafeEncoder.markers`).
    """

    def __init__(self, markers: Mapping[int, str]) -> None:
        self._tags = {token: text for token, text in markers.items() if text in TAGS}
        self._with_token = frozenset(self._tags.values())
        self._in_text = sorted((TAGS - self._with_token) | {END_OF_TURN})
        self._split = re.compile("(" + "|".join(map(re.escape, self._in_text)) + ")")
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._pending = ""

    def feed(self, token: int, piece: bytes) -> list[Tag | str]:
        """Return the tags and text this token completes; `piece` is ignored for a token that is a tag."""
        if (text := self._tags.get(token)) is not None:
            return [*self.finish(), Tag(text)]
        return self._split_tags(self._decoder.decode(piece), last=False)

    def finish(self) -> list[Tag | str]:
        """Return the text held back; no text follows."""
        return self._split_tags(self._decoder.decode(b"", final=True), last=True)

    def _split_tags(self, text: str, last: bool) -> list[Tag | str]:
        text = self._pending + text
        end = len(text) if last else self._decided(text)
        self._pending = text[end:]
        parts = filter(None, self._split.split(text[:end]))
        return [Tag(part, part in self._with_token) if part in self._in_text else part for part in parts]

    def _decided(self, text: str) -> int:
        """Return the length of the text that no later piece can turn into a tag."""
        for tag in self._in_text:
            start = text.rfind(tag[0])
            if start >= 0 and len(text) - start < len(tag) and tag.startswith(text[start:]):
                return start
        return len(text)


_SHAPE = "write the tool's name, a line break, then an arg_key and an arg_value element for each argument"


class ToolCallParser:
    """Parses one call: `take` its tags and text, then `close` it."""

    def __init__(self, index: int, tools: Mapping[str, ToolSpec]) -> None:
        self._index = index
        self._tools = tools
        self._raw = ["<tool_call>"]
        self._name = ""
        self._key = ""
        self._value: list[str] = []
        self._after = ""  # `</arg_value>` and the blanks after it, until it is certain that the value ended there
        self._unescaper = StreamUnescaper()
        self._given: list[tuple[str, str]] = []
        self._problem = ""
        self._state = self._in_name

    @property
    def in_value(self) -> bool:
        """Whether a value is open, in which any tag may be part of the value."""
        return self._state == self._in_value

    def take(self, item: Tag | str) -> list[ParserEvent]:
        """Parse the next tag or text of the call."""
        self._raw.append(item.text if isinstance(item, Tag) else item)
        return self._state(item)

    def interrupt(self) -> list[ParserEvent]:
        """End a pending value: something outside the call follows (reasoning)."""
        return self._end_value() if self._after else []

    def close(self, complete: bool) -> list[ParserEvent]:
        """End the call: `CallFinished` if it can run, else `Malformed`."""
        events = [*self.interrupt(), *(self._begin() if self._state == self._in_name else [])]
        self._raw += ["</tool_call>"] if complete else []
        return [*events, self._outcome(complete)]

    def _outcome(self, complete: bool) -> CallFinished | Malformed:
        problem = self._syntax_problem(complete)
        if not problem:
            try:
                return CallFinished(ToolCall(self._name, parse_arguments(self._tools[self._name], self._given)))
            except BadArguments as bad:
                problem = str(bad)
        return Malformed("".join(self._raw), f"{problem}.")

    def _syntax_problem(self, complete: bool) -> str:
        if not complete:
            return "The tool call was not finished and did not run; make the whole call again"
        if self._name not in self._tools:
            return f"{no_such_tool(self._name, self._tools)}; {_SHAPE}"
        if self._state == self._in_value:
            return f"The value of the argument `{self._key}` was not closed; end it with an arg_value closing tag"
        if self._state in (self._in_key, self._before_value):
            return f"The argument `{self._key.strip()}` has no value; {_SHAPE}"
        return self._problem

    def _in_name(self, item: Tag | str) -> list[ParserEvent]:
        if isinstance(item, Tag):
            return [*self._begin(), *self._state(item)]
        self._name = (self._name + item).lstrip()
        name, line_break, rest = self._name.partition("\n")
        if not line_break:
            return []
        self._name = name
        return [*self._begin(), *self._between(rest)]

    def _begin(self) -> list[ParserEvent]:
        self._name = self._name.strip()
        self._state = self._between
        return [CallStarted(self._index, self._name)] if self._name in self._tools else []

    def _between(self, item: Tag | str) -> list[ParserEvent]:
        if isinstance(item, Tag) and item.text == "<arg_key>":
            self._key, self._state = "", self._in_key
        else:
            self._stray(item)
        return []

    def _in_key(self, item: Tag | str) -> list[ParserEvent]:
        match item:
            case Tag("</arg_key>"):
                self._state = self._before_value
            case Tag("<arg_value>"):
                self._open_value()
            case _:
                self._key += item.text if isinstance(item, Tag) else item
        return []

    def _before_value(self, item: Tag | str) -> list[ParserEvent]:
        if isinstance(item, Tag) and item.text == "<arg_value>":
            self._open_value()
        else:
            self._stray(item)
        return []

    def _open_value(self) -> None:
        self._key, self._value, self._state = self._key.strip(), [], self._in_value
        self._unescaper = StreamUnescaper()

    def _in_value(self, item: Tag | str) -> list[ParserEvent]:
        if isinstance(item, str):
            return self._append_value(self._unescaper.feed(item))
        if item.text == "</arg_value>":
            self._after, self._state = item.text, self._after_value
            return []
        return self._append_value(self._unescaper.feed(item.text))

    def _after_value(self, item: Tag | str) -> list[ParserEvent]:
        if isinstance(item, str) and not item.strip():
            self._after += item
            return []
        if isinstance(item, Tag) and item.text == "<arg_key>":
            return [*self._end_value(), *self._between(item)]
        written, self._after, self._state = self._after, "", self._in_value
        return [*self._append_value(self._unescaper.feed(written)), *self._in_value(item)]

    def _end_value(self) -> list[ParserEvent]:
        events = self._append_value(self._unescaper.finish())
        self._given.append((self._key, "".join(self._value)))
        self._after, self._state = "", self._between
        return events

    def _append_value(self, text: str) -> list[ParserEvent]:
        self._value.append(text)
        return [CallArgument(self._index, self._key, text)] if text and self._name in self._tools else []

    def _stray(self, item: Tag | str) -> None:
        """Record text where only tags belong; the first occurrence is reported."""
        text = item.text if isinstance(item, Tag) else item.strip()
        if text and not self._problem:
            self._problem = f"The call contains text outside of its arguments; {_SHAPE}"


class StreamParser:
    """Parses one assistant turn.

    Args:
        tools: the tools offered, whose schemas give the arguments their types.
        in_reasoning: whether the generation prompt ended in `<think>`.
        markers: markers with a token in the vocabulary, id to text (`SafeEncoder.markers`); others are found by text.
    """

    def __init__(
        self, tools: Sequence[ToolSpec], *, in_reasoning: bool = False, markers: Mapping[int, str] | None = None
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._scanner = TagScanner(markers or {})
        self._reasoning = in_reasoning
        self._call: ToolCallParser | None = None
        self._call_in_reasoning = False
        self._calls = 0
        self._only_blanks_since_call = False
        self._prose = _Prose()
        self.ended = False
        """Whether the turn is over; later tokens are ignored. The engine may still be generating."""

    @property
    def in_call(self) -> bool:
        """Whether a call is open."""
        return self._call is not None

    def feed(self, token_id: int, piece: bytes) -> list[ParserEvent]:
        """Return the events of this token; usually one delta or none."""
        return [event for item in self._scanner.feed(token_id, piece) for event in self._take(item)]

    def finish(self) -> list[ParserEvent]:
        """End of the generation: the text held back, and an open call as malformed. Idempotent."""
        events = [event for item in self._scanner.finish() for event in self._take(item)]
        return events + self._end()

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
        """Pass text, or a tag without meaning here, to the open call, reasoning or answer."""
        if self._call and not self._reasoning:
            return self._call.take(item)
        return self._emit(self._prose.feed(item.text if isinstance(item, Tag) else item))

    def _emit(self, text: str) -> list[ParserEvent]:
        if not text:
            return []
        self._only_blanks_since_call = False
        return [Reasoning(text) if self._reasoning else Text(text)]

    def _switch(self, reasoning: bool) -> list[ParserEvent]:
        """Enter or leave reasoning, ending the current text; no effect if already there."""
        if reasoning == self._reasoning:
            return []
        events = [*self._end_prose(), *(self._call.interrupt() if self._call else [])]
        self._reasoning = reasoning
        return events

    def _open_call(self) -> list[ParserEvent]:
        events = self._close_call(complete=False) if self._call else self._end_prose()
        self._call_in_reasoning, self._reasoning = self._reasoning, False
        self._call = ToolCallParser(self._calls, self._tools)
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
        events = self._emit(self._prose.finish())
        self._prose = _Prose()
        return events

    def _end(self) -> list[ParserEvent]:
        if self.ended:
            return []
        events = self._close_call(complete=False) if self._call else self._end_prose()
        self.ended = True
        return events


class _Prose:
    """One run of reasoning or answer: unescaped, without leading line breaks and trailing blanks."""

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
