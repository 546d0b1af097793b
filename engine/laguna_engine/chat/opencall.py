"""One tool call while it is being written: from behind `<tool_call>` to `</tool_call>`.

    NAME
    <arg_key>KEY</arg_key>
    <arg_value>VALUE</arg_value>

Blanks between tags do not matter; a value is taken as it stands. Values are not escaped by the model, so `</arg_value>`
ends one only where the call goes on as a call does: behind it stands another key or the end.
"""

from collections.abc import Mapping

from laguna_engine.chat.arguments import BadArguments, quoted, typed
from laguna_engine.chat.escape import StreamUnescaper
from laguna_engine.chat.messages import ToolCall, ToolSpec
from laguna_engine.chat.parsed import CallArgument, CallFinished, CallStarted, Malformed, ParserEvent
from laguna_engine.chat.tags import Tag

_SHAPE = "write the tool's name, a line break, then an arg_key and an arg_value element for each argument"


class OpenCall:
    """A call in the making; `take` what is written, then `close` it."""

    def __init__(self, index: int, tools: Mapping[str, ToolSpec]) -> None:
        self._index = index
        self._tools = tools
        self._raw = ["<tool_call>"]
        self._name = ""
        self._key = ""
        self._value: list[str] = []
        self._after = ""  # `</arg_value>` and blanks behind it, until it is clear that the value ended there
        self._unescaper = StreamUnescaper()
        self._given: list[tuple[str, str]] = []
        self._problem = ""
        self._state = self._in_name

    @property
    def in_value(self) -> bool:
        """Whether a value is open, in which any tag may be part of what is written."""
        return self._state == self._in_value

    def take(self, item: Tag | str) -> list[ParserEvent]:
        """The next tag or text of the call."""
        self._raw.append(item.text if isinstance(item, Tag) else item)
        return self._state(item)

    def interrupt(self) -> list[ParserEvent]:
        """Something that is no part of the call stands here (reasoning): what is pending counts as written."""
        return self._end_value() if self._after else []

    def close(self, complete: bool) -> list[ParserEvent]:
        """The call is over: finished if it can be run, else malformed."""
        events = [*self.interrupt(), *(self._begin() if self._state == self._in_name else [])]
        self._raw += ["</tool_call>"] if complete else []
        return [*events, self._outcome(complete)]

    def _outcome(self, complete: bool) -> CallFinished | Malformed:
        problem = self._problem_of_form(complete)
        if not problem:
            try:
                return CallFinished(ToolCall(self._name, typed(self._tools[self._name], self._given)))
            except BadArguments as bad:
                problem = str(bad)
        return Malformed("".join(self._raw), f"{problem}.")

    def _problem_of_form(self, complete: bool) -> str:
        if not complete:
            return "The tool call was not finished and did not run; make the whole call again"
        if self._name not in self._tools:
            tools = ", ".join(f"`{name}`" for name in self._tools) or "none"
            return f"There is no tool {quoted(self._name)}; the tools are {tools}; {_SHAPE}"
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
            return self._grow(self._unescaper.feed(item))
        if item.text == "</arg_value>":
            self._after, self._state = item.text, self._after_value
            return []
        return self._grow(self._unescaper.feed(item.text))

    def _after_value(self, item: Tag | str) -> list[ParserEvent]:
        if isinstance(item, str) and not item.strip():
            self._after += item
            return []
        if isinstance(item, Tag) and item.text == "<arg_key>":
            return [*self._end_value(), *self._between(item)]
        written, self._after, self._state = self._after, "", self._in_value
        return [*self._grow(self._unescaper.feed(written)), *self._in_value(item)]

    def _end_value(self) -> list[ParserEvent]:
        events = self._grow(self._unescaper.finish())
        self._given.append((self._key, "".join(self._value)))
        self._after, self._state = "", self._between
        return events

    def _grow(self, text: str) -> list[ParserEvent]:
        self._value.append(text)
        return [CallArgument(self._index, self._key, text)] if text and self._name in self._tools else []

    def _stray(self, item: Tag | str) -> None:
        """Text where only tags belong; the first of it is told."""
        text = item.text if isinstance(item, Tag) else item.strip()
        if text and not self._problem:
            self._problem = f"The call contains text outside of its arguments; {_SHAPE}"
