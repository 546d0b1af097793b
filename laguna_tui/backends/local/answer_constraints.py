"""The constraints on answers of one model: calls, a schema, quotations."""

from collections import deque

from laguna_engine.chat.call_constraint import ToolCalls, ValueRules
from laguna_engine.chat.known_markup import TurnMarkup
from laguna_engine.chat.messages import ToolSpec
from laguna_engine.chat.quotations import Quotations
from laguna_engine.constrain.base import ConstraintSpec
from laguna_tui.backends.base import Options, Prompt

_GRAMMARS = 4
"""Compiled grammars that are reused: those of a model's rules and of a turn's."""


class AnswerConstraints:
    """Makes the constraints on answers of one model.

    Attributes:
        markup: The markup of its turns.
    """

    def __init__(self, markup: TurnMarkup) -> None:
        self.markup = markup
        self._calls = deque[ToolCalls](maxlen=_GRAMMARS)

    def of(self, prompt: Prompt, options: Options) -> tuple[ConstraintSpec, ...]:
        """Return the constraints that the options put on an answer."""
        found: list[ConstraintSpec] = []
        if options.schema is not None:
            # Imported late: few answers have a schema.
            from laguna_engine.chat.answer_constraint import SchemaAnswer

            found.append(SchemaAnswer(options.schema, bool(prompt.tools), self.markup, prompt.thinking))
        found += [self._tool_calls(prompt.tools, rules) for rules in options.rules]
        if options.quotable and (quotations := Quotations.of(options.quotable)) is not None:
            found.append(quotations)
        return tuple(found)

    def _tool_calls(self, tools: tuple[ToolSpec, ...], rules: ValueRules) -> ToolCalls:
        """Return the same object for the same rules, because it caches the compiled grammar."""
        known = next((each for each in self._calls if each.rules is rules and each.tools == tools), None)
        if known is None:
            known = ToolCalls(tools, rules, markup=self.markup)
            self._calls.append(known)
        return known
