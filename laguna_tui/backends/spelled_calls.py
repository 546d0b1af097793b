"""Finds tool calls that an endpoint returns as text, because it does not parse this model's format.

vLLM without `--tool-call-parser` and llama-cpp-python's server do this. A call is recognised in Laguna's own form and
in that of Hermes (a JSON object), and only if `<tool_call>` begins a line and names an offered tool: one in a sentence
stays text.
"""

from collections.abc import Iterable, Iterator, Sequence

from laguna_engine.chat.call_form import HERMES, LAGUNA
from laguna_engine.chat.form_parser import FormParser
from laguna_engine.chat.messages import CallFinished, Malformed, ParserEvent, Text, ToolSpec


class SpelledCalls:
    """Splits the text of one answer into prose and calls.

    Attributes:
        found: The calls so far.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        """tools: The tools offered; without any, all text is prose."""
        self.found: list[CallFinished | Malformed] = []
        self._parser = FormParser(tools, (HERMES, LAGUNA))

    def take(self, text: str) -> Iterator[Text]:
        """Take more text and yield the prose that is certain."""
        return self._split(self._parser.take(text))

    def finish(self) -> Iterator[Text]:
        """Yield the rest."""
        return self._split(self._parser.finish())

    def _split(self, events: Iterable[ParserEvent]) -> Iterator[Text]:
        for event in events:
            match event:
                case Text():
                    yield event
                case CallFinished() | Malformed():
                    self.found.append(event)
