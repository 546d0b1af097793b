"""Matching a pattern against lines within a time budget, whatever the pattern.

Tame patterns run right here; others in a process of their own, which is killed when the time is up or the user stops.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from laguna_tui.agent.tools.patterns import SearchPattern

# Matching looks at this much of a line; the rest of a minified line is not worth the time.
MATCH_COLUMNS = 1000
# How long one search may take. A human waits for it.
BUDGET_S = 10.0
# How soon a stop by the user is noticed while the other process works.
_POLL_S = 0.05
# Lines between two looks at the clock.
_STRIDE = 2000
_READ_BYTES = 65536
_WORKER = Path(__file__).with_name("regex_worker.py")


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
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(_WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # What it complains about would land on the user's screen.
        stderr=subprocess.DEVNULL,
    )
    try:
        _send(process, pattern.compiled.pattern)
        yield lambda lines: _match_there(process, clock, lines)
    finally:
        process.kill()
        process.communicate()


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


def _match_there(process: subprocess.Popen[bytes], clock: Clock, lines: Sequence[str]) -> list[Match]:
    _send(process, [line[:MATCH_COLUMNS] for line in lines])
    assert process.stdout is not None
    answer = b""
    while not answer.endswith(b"\n"):
        clock.check()
        if select.select([process.stdout], [], [], _POLL_S)[0]:
            chunk = os.read(process.stdout.fileno(), _READ_BYTES)
            if not chunk:
                raise OutOfTime
            answer += chunk
    return [Match(*found) for found in json.loads(answer)]


def _send(process: subprocess.Popen[bytes], value: object) -> None:
    assert process.stdin is not None
    # A worker that died is noticed when its answer is read.
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(value).encode() + b"\n")
        process.stdin.flush()
