"""The thinking budget: once it is used up, the only token allowed inside a `<think>` span is `</think>`."""

from collections.abc import Sequence
from copy import copy

from laguna_engine.constrain.base import FREE, Constraint, RowMask


class ThinkingBudget(Constraint):
    """Limits the tokens between `<think>` and `</think>` of one answer, over all its spans.

    A span that the prompt leaves open counts from where it was opened, so that an answer which is continued does not
    get its budget again. A span that is opened when nothing is left is closed at once. A tool call inside a span is not
    thinking: its tokens do not count, and it is not cut.
    """

    def __init__(
        self, budget: int, opens: Sequence[int], closes: int, prompt: Sequence[int], call: tuple[int | None, int | None]
    ) -> None:
        """Start after `prompt`.

        Args:
            budget: most tokens inside, 0 or more, the two markers not counted.
            opens: the token `<think>`, or several, as gpt-oss opens its thinking.
            closes: the token `</think>`.
            prompt: the tokens before the answer.
            call: the tokens `<tool_call>` and `</tool_call>`, None where there are none.
        """
        self._opens, self._closes = tuple(opens), closes
        self._newest: tuple[int, ...] = ()
        self._close = RowMask(forced=closes)
        self._opens_call, self._closes_call = call
        self._budget = self._left = budget
        self._inside = self._in_call = False
        for token in _open_span(prompt, self._opens, closes):
            self.advance(token)

    def mask(self) -> RowMask:
        return self._close if self._inside and not self._in_call and self._left <= 0 else FREE

    def advance(self, token: int) -> None:
        self._newest = (*self._newest, token)[-len(self._opens) :]
        if token == self._closes:
            self._inside = False
        elif self._newest == self._opens:
            self._inside = True
        elif token in (self._opens_call, self._closes_call):
            self._in_call = token == self._opens_call
        elif self._inside and not self._in_call:
            self._left -= 1

    def end(self) -> int:
        """End the thinking now, as if the budget had been what was thought so far; return the budget.

        It stays as it was outside of thinking.
        """
        if self._inside and self._left > 0:
            self._budget, self._left = self._budget - self._left, 0
        return self._budget

    def fork(self) -> "ThinkingBudget":
        return copy(self)

    def free_rows(self) -> int | None:
        return max(0, self._left) if self._inside and not self._in_call else None


def _open_span(prompt: Sequence[int], opens: tuple[int, ...], closes: int) -> Sequence[int]:
    """Return the last `<think>` of `prompt` and what follows it; empty if it was closed or there is none."""
    for at in range(len(prompt) - 1, -1, -1):
        if prompt[at] == closes:
            return ()
        if prompt[at] == opens[0] and tuple(prompt[at : at + len(opens)]) == opens:
            return prompt[at:]
    return ()
