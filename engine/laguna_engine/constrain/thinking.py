"""The thinking budget: once it is used up, the only token allowed inside a `<think>` span is `</think>`."""

from collections.abc import Sequence

from laguna_engine.constrain.base import FREE, RowMask


class ThinkingBudget:
    """Limits the tokens between `<think>` and `</think>` of one answer, over all its spans.

    A span that the prompt leaves open counts from where it was opened, so that an answer which is continued does not
    get its budget again. A span that is opened when nothing is left is closed at once.
    """

    most_banned = 0

    def __init__(self, budget: int, opens: int, closes: int, prompt: Sequence[int]) -> None:
        """Start after `prompt`.

        Args:
            budget: most tokens inside, 0 or more, the two markers not counted.
            opens: the token `<think>`.
            closes: the token `</think>`.
            prompt: the tokens before the answer.
        """
        self._opens, self._closes = opens, closes
        self._close = RowMask(forced=closes)
        span = _open_span(prompt, opens, closes)
        self._inside = span is not None
        self._left = budget - (span or 0)

    def mask(self) -> RowMask:
        """See `Constraint`."""
        return self._close if self._inside and self._left <= 0 else FREE

    def advance(self, token: int) -> None:
        """See `Constraint`."""
        if token == self._closes:
            self._inside = False
        elif token == self._opens:
            self._inside = True
        elif self._inside:
            self._left -= 1

    def free_rows(self) -> int | None:
        """See `Constraint`."""
        return max(0, self._left) if self._inside else None


def _open_span(prompt: Sequence[int], opens: int, closes: int) -> int | None:
    """Tokens after the last `<think>` of `prompt`, None if it was closed or there is none."""
    for distance, token in enumerate(reversed(prompt)):
        if token in (opens, closes):
            return distance if token == opens else None
    return None
