"""Guards of a turn: for every model against repeated calls, for an unreliable one against what can be checked.

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

# A second time can be an honest re-check; a third would give the same result again.
SAME_CALLS_ALLOWED = 2


class Guard:
    """Lets everything through; one for each turn.

    Attributes:
        calls_come_last: Whether a turn of the model ends with its first call, so that no text comes after one.
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
        """Return the call as it is run."""
        return call

    def repaired(self, call: Malformed) -> ToolCall | None:
        """Return what an unrunnable call was meant to be; None if that is unclear."""
        return None

    def refusal(self, call: ToolCall) -> str:
        """Return why a call is not run, sentences for the user that become the answer; empty if it is run."""
        return ""

    def objection(self, call: ToolCall, proposal: ChangeProposal) -> str:
        """Return why a change is neither asked about nor made, like a refusal; empty if it may be."""
        return ""

    def take(self, call: ToolCall, result: ToolResult) -> None:
        """Take the result of a call."""

    @property
    def expected(self) -> str | None:
        """The only right answer after the calls so far; None if any is."""
        return None

    @property
    def looked_up(self) -> bool:
        """Whether the expected answer comes from the folder's index."""
        return False

    @property
    def final(self) -> bool:
        """Whether the expected answer is shown as it is, because the model does not write answers of its kind."""
        return False


class _Seen(NamedTuple):
    """The newest result of a call, how often in a row it was the same, and whether the call made an edit."""

    output: str
    times: int
    edited: bool


class LoopGuard:
    """Detects calls of one turn that bring nothing new: the same call with the same result.

    An edit changes what other calls may say, so they count from nothing again. Edits themselves do not: a file that is
    changed to and fro is a loop too.

    Attributes:
        gave_up: Whether a call was made again after an objection to it.
    """

    def __init__(self) -> None:
        self.gave_up = False
        self._seen: dict[str, _Seen] = {}
        self._objected: set[str] = set()

    def objection(self, call: ToolCall) -> str | None:
        """Return a sentence for the model if this call had the same result often enough, else None."""
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
        """Count a call that ran. edited: Whether it changed a file."""
        key = call_key(call)
        before = self._seen.get(key)
        if edited:
            self._seen = {other: seen for other, seen in self._seen.items() if seen.edited}
        times = before.times + 1 if before is not None and before.output == output else 1
        self._seen[key] = _Seen(output, times, edited)


def call_key(call: ToolCall) -> str:
    """Return the same text for equivalent calls."""
    return json.dumps([call.name, call.arguments], sort_keys=True)


class CheckedAnswer:
    """Compares an answer with the expected one while it streams, and passes on only what agrees.

    Attributes:
        written: Everything that the model wrote.
        wrong: Whether something of it does not agree.
        over: Whether nothing more of it is wanted: something is wrong, or comes where there is to be no text.
    """

    def __init__(self, expected: str | None) -> None:
        self.written = ""
        self.wrong = False
        self.over = False
        self._expected = expected
        self._shown = 0

    def feed(self, text: str) -> str:
        """Take more of the answer; return what may be shown of it."""
        self.written += text
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
        """Want nothing more of the answer."""
        self.over = True

    def correction(self) -> str:
        """Return what is still to be shown once the model has finished; empty if nothing."""
        return "" if self._expected is None else self._expected[self._shown :]

    @property
    def corrected(self) -> str | None:
        """The whole answer if it is not the model's own."""
        return self._expected if self.wrong or self.correction() else None
