"""What of a model's turn is let through: of every model the calls that bring something new, of one that slips what can
be checked.

A model's profile names its guard, and the turn asks it; nothing else knows which model it is about.
"""

import json
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from laguna_engine.chat.messages import Malformed, ToolCall
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.base.change_proposal import ChangeProposal

if TYPE_CHECKING:
    from laguna_engine.chat.call_constraint import ValueRules

# Twice can be an honest second look; the answer to a third would be the same again.
SAME_CALLS_ALLOWED = 2


class Guard:
    """Lets everything through; one for each turn.

    Attributes:
        calls_come_last: whether a turn of the model ends with its first call, so that no text comes after one.
    """

    calls_come_last = False

    @property
    def rules(self) -> "tuple[ValueRules, ...]":
        """Known values of the next answer's call arguments, beside what its profile wants of every call."""
        return ()

    @property
    def quotable(self) -> tuple[str, ...]:
        """Texts that the next answer's quotations must come from; empty for any."""
        return ()

    def resolved(self, call: ToolCall) -> ToolCall:
        """The call as it is run."""
        return call

    def mended(self, call: Malformed) -> ToolCall | None:
        """What a call was meant to be that cannot be run; None where that cannot be told."""
        return None

    def refusal(self, call: ToolCall) -> str:
        """Why a call is not run, as sentences for the user that are then the answer; empty where it is run."""
        return ""

    def objection(self, call: ToolCall, proposal: ChangeProposal) -> str:
        """Why what a call would change is neither asked about nor made, like a refusal; empty where it may be."""
        return ""

    def take(self, call: ToolCall, result: ToolResult) -> None:
        """A call was answered."""

    @property
    def expected(self) -> str | None:
        """The only answer that is right after the calls so far; None where the model says what it likes."""
        return None


class _Seen(NamedTuple):
    """The newest result of a call, how often in a row it was the same, and whether the call made an edit."""

    output: str
    times: int
    edited: bool


class LoopGuard:
    """Judges the calls of one turn by what they bring: the same call with the same result is no progress.

    An edit changes what other calls may say, so they count from nothing again. Edits themselves do not: a file that is
    changed to and fro is a loop too.

    Attributes:
        gave_up: whether a call was made again after an objection to it.
    """

    def __init__(self) -> None:
        self.gave_up = False
        self._seen: dict[str, _Seen] = {}
        self._objected: set[str] = set()

    def objection(self, call: ToolCall) -> str | None:
        """A sentence for the model when this call, about to be made, had the same result often enough, else None."""
        seen = self._seen.get(call_key(call))
        if seen is None or seen.times < SAME_CALLS_ALLOWED:
            return None
        key = call_key(call)
        self.gave_up = self.gave_up or key in self._objected
        self._objected.add(key)
        return (
            f"this same call was made {SAME_CALLS_ALLOWED} times already and its answer is above;"
            " use it, try something else, or answer the user"
        )

    def record(self, call: ToolCall, output: str, *, edited: bool) -> None:
        """Count a call that ran. output: its result; edited: whether it changed a file."""
        key = call_key(call)
        before = self._seen.get(key)
        if edited:
            self._seen = {other: seen for other, seen in self._seen.items() if seen.edited}
        times = before.times + 1 if before is not None and before.output == output else 1
        self._seen[key] = _Seen(output, times, edited)


def call_key(call: ToolCall) -> str:
    """The same text for calls that ask for the same."""
    return json.dumps([call.name, call.arguments], sort_keys=True)


class CheckedAnswer:
    """An answer as it streams, held against the one that is expected: only what agrees with it comes out.

    Attributes:
        said: everything that the model said.
        wrong: whether something of it does not agree.
        over: whether nothing more of it is wanted: something is wrong, or comes where there is to be no text.
    """

    def __init__(self, expected: str | None) -> None:
        self.said = ""
        self.wrong = False
        self.over = False
        self._expected = expected
        self._shown = 0

    def feed(self, text: str) -> str:
        """More of the answer; what may be shown of it."""
        self.said += text
        if self._expected is None:
            return text
        if self.wrong:
            return ""
        pairs = zip(text, self._expected[self._shown :], strict=False)
        agrees = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        self._shown += agrees
        self.wrong = self.over = agrees < len(text)
        return text[:agrees]

    def end(self) -> None:
        """Whatever else the model says is not wanted."""
        self.over = True

    def correction(self) -> str:
        """What is to be shown yet, once the model has said all it will say; empty if nothing."""
        return "" if self._expected is None else self._expected[self._shown :]

    @property
    def corrected(self) -> str | None:
        """The whole answer where it is not the model's own."""
        return self._expected if self.wrong or self.correction() else None
