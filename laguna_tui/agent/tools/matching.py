"""Matching a pattern against lines within a time budget, whatever the pattern."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from laguna_tui.agent.tools.patterns import SearchPattern

if TYPE_CHECKING:
    import regex

# Matching looks at this much of a line; the rest of a minified line is not worth the time.
MATCH_COLUMNS = 1000
# How long one search may take. A human waits for it.
BUDGET_S = 10.0
# One line may take so long: what needs more will not end within the budget either. A stop waits for it.
_LINE_S = 0.25
_SHORTEST_S = 0.001
# Lines between two looks at the clock.
_STRIDE = 2000


class Match(NamedTuple):
    """The first match in a line: the line's number from 0, and the columns it spans."""

    row: int
    start: int
    end: int


class OutOfTime(Exception):
    """The budget is used up, or the user stopped."""


class Clock:
    """Says when to stop: at the deadline, or when the user does."""

    def __init__(self, should_stop: Callable[[], bool], budget_s: float) -> None:
        self._should_stop = should_stop
        self._deadline = time.monotonic() + budget_s

    def check(self) -> None:
        """Do nothing while there is time.

        Raises:
            OutOfTime: there is none left.
        """
        if self.is_over():
            raise OutOfTime

    def is_over(self) -> bool:
        """Whether there is no time left."""
        return self._should_stop() or self.left < 0

    @property
    def left(self) -> float:
        """Seconds until the deadline; below 0 after it."""
        return self._deadline - time.monotonic()


class Matcher:
    """Finds the lines that match a pattern, within the time of a clock.

    Attributes:
        given_up: how many lines take too long to match; they are not found.
    """

    def __init__(self, pattern: SearchPattern, clock: Clock) -> None:
        self._pattern, self._clock = pattern, clock
        self.given_up = 0

    def __call__(self, lines: Sequence[str]) -> list[Match]:
        """The first match in each line that has one.

        Raises:
            OutOfTime: there is no time left.
        """
        stride = _STRIDE if self._pattern.tame else 1
        search = self._pattern.compiled.search if self._pattern.tame else self._limited
        found: list[Match] = []
        for row, line in enumerate(lines):
            if row % stride == 0:
                self._clock.check()
            match = search(line[:MATCH_COLUMNS])
            if match:
                found.append(Match(row, *match.span()))
        return found

    def _limited(self, line: str) -> "regex.Match[str] | None":
        # The limit counts the processor's time, of all threads together.
        limit = max(_SHORTEST_S, min(_LINE_S, self._clock.left))
        try:
            return cast("regex.Pattern[str]", self._pattern.compiled).search(line, timeout=limit)
        except TimeoutError:
            self._clock.check()
            self.given_up += 1
            return None
