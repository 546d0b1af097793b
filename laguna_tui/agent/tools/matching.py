"""Matching a pattern against lines within a time budget, whatever the pattern.

Tame patterns run right here; others in a process of their own, which is killed when the time is up or the user stops.
"""

import json
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from laguna_engine.child import Worker
from laguna_tui.agent.tools.patterns import SearchPattern
from laguna_tui.repo import regex_worker

# Matching looks at this much of a line; the rest of a minified line is not worth the time.
MATCH_COLUMNS = 1000
# How long one search may take. A human waits for it.
BUDGET_S = 10.0
# For a worker whose process was killed and cannot end it.
_WORKER_LIFE_S = 6 * BUDGET_S
# How soon a stop by the user is noticed while the other process works.
_POLL_S = 0.05
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
        return self._should_stop() or time.monotonic() > self._deadline


class Matcher(Protocol):
    """Finds the lines that match; raises OutOfTime when it takes too long."""

    def __call__(self, lines: Sequence[str]) -> list[Match]: ...


@contextmanager
def matcher(pattern: SearchPattern, clock: Clock) -> Iterator[Matcher]:
    """A matcher for the pattern, good until the block ends."""
    if pattern.tame:
        yield lambda lines: _match_here(pattern, clock, lines)
        return
    worker = Worker(regex_worker.__name__, str(_WORKER_LIFE_S))
    try:
        _ask(worker, clock, pattern.compiled.pattern)
        yield lambda lines: _match_there(worker, clock, lines)
    finally:
        worker.close()


def _match_here(pattern: SearchPattern, clock: Clock, lines: Sequence[str]) -> list[Match]:
    search = pattern.compiled.search
    found: list[Match] = []
    for begin in range(0, len(lines), _STRIDE):
        clock.check()
        for index, line in enumerate(lines[begin : begin + _STRIDE], begin):
            match = search(line[:MATCH_COLUMNS])
            if match:
                found.append(Match(index, *match.span()))
    return found


def _match_there(worker: Worker, clock: Clock, lines: Sequence[str]) -> list[Match]:
    return [Match(*found) for found in _ask(worker, clock, [line[:MATCH_COLUMNS] for line in lines])]


def _ask(worker: Worker, clock: Clock, value: object) -> Any:
    """The worker's answer; OutOfTime when there is none in time."""
    worker.send(json.dumps(value).encode())
    while not select.select([worker], [], [], _POLL_S)[0]:
        clock.check()
    answer = worker.receive()
    if answer is None:
        raise OutOfTime
    return json.loads(answer)
