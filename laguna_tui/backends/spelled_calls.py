"""Finds tool calls that an endpoint returns as text, because it does not parse this model's format.

vLLM without `--tool-call-parser` and llama-cpp-python's server do this. A call is recognised in Laguna's own form and
in that of Hermes (a JSON object), and only if `<tool_call>` begins a line and names an offered tool: one in a sentence
stays text.
"""

import json
from collections.abc import Iterator, Sequence

from laguna_engine.chat.call_arguments import MAX_DEPTH, too_deep
from laguna_engine.chat.messages import CallFinished, CallStarted, Malformed, Text, ToolCall, ToolSpec
from laguna_engine.chat.parser import StreamParser

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
MAX_CALL_CHARS = 1 << 22
TOO_DEEP = (
    f"The arguments of `{{name}}` are nested too deeply; make the call again with at most {MAX_DEPTH} levels of lists "
    "and objects."
)


class SpelledCalls:
    """Splits the text of one answer into prose and calls.

    Attributes:
        found: The calls so far.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        """tools: The tools offered; without any, all text is prose."""
        self.found: list[CallFinished | Malformed] = []
        self._tools = {tool.name: tool for tool in tools}
        self._held = ""
        self._line = ""
        self._inside = self._after_call = False

    def take(self, text: str) -> Iterator[Text]:
        """Take more text and yield the prose that is certain."""
        if not self._tools:
            yield Text(text)
            return
        self._held += text
        while self._held:
            before = self._held, self._inside
            yield from self._call() if self._inside else self._prose()
            if (self._held, self._inside) == before:
                return

    def finish(self) -> Iterator[Text]:
        """Yield the rest. An incomplete call is prose."""
        rest, self._held, self._inside = self._held, "", False
        yield from self._said(rest)

    def _prose(self) -> Iterator[Text]:
        """Yield text up to where a call begins or may begin."""
        start = self._held.find("<")
        if start < 0:
            start = len(self._held)
        elif not start and self._held.startswith(_OPEN) and not self._line.strip():
            self._inside = True
            return
        elif not start and (not _OPEN.startswith(self._held[: len(_OPEN)]) or self._line.strip()):
            start = 1
        said, self._held = self._held[:start], self._held[start:]
        yield from self._said(said)

    def _call(self) -> Iterator[Text]:
        end = self._held.find(_CLOSE)
        if end < 0:
            if len(self._held) > MAX_CALL_CHARS:
                yield from self.finish()
            return
        end += len(_CLOSE)
        written, self._held, self._inside = self._held[:end], self._held[end:], False
        call = self._parsed(written)
        if call is None:
            yield from self._said(written)
        else:
            self.found.append(call)
            self._line, self._after_call = "", True

    def _parsed(self, written: str) -> CallFinished | Malformed | None:
        """Return the call; None if it names no offered tool."""
        body = written.removeprefix(_OPEN).removesuffix(_CLOSE).strip()
        if body.startswith("{"):
            return self._of_json(body, written)
        parser = StreamParser(tuple(self._tools.values()))
        events = [*parser.feed(0, written.encode()), *parser.finish()]
        if not any(isinstance(event, CallStarted) for event in events):
            return None
        return next((event for event in events if isinstance(event, CallFinished | Malformed)), None)

    def _of_json(self, body: str, written: str) -> CallFinished | Malformed | None:
        try:
            match json.loads(body):
                case {"name": str(name), "arguments": dict(arguments)} if name in self._tools:
                    if too_deep(arguments):
                        return Malformed(written, TOO_DEEP.format(name=name))
                    return CallFinished(ToolCall(name, arguments))
            problem = "it needs a name and an object with arguments"
        except (ValueError, RecursionError) as error:
            problem = str(error)
        if not any(f'"{name}"' in body for name in self._tools):
            return None
        return Malformed(written, f"The tool call is not valid JSON ({problem}); make the call again.")

    def _said(self, text: str) -> Iterator[Text]:
        if self._after_call:
            # Blanks between calls are not part of the answer.
            text = text.lstrip()
        if not text:
            return
        self._after_call = False
        yield Text(text)
        _, line_break, last = text.rpartition("\n")
        self._line = last if line_break else self._line + last
