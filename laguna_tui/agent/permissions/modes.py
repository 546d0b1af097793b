"""The modes, and what each does about a request that no rule decides: the table of the documentation."""

from dataclasses import dataclass
from enum import Enum

from laguna_tui.base.permission_request import Mode


class RequestKind(Enum):
    """What a tool wants to do."""

    READ = "read a file"
    CHANGE = "change a file"
    DELETE = "delete a file"
    COMMAND = "run a command"
    OTHER = "call another tool"


class Effect(Enum):
    """What is done about a request: it is granted, the user decides, or it is refused."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is done about a request.

    Attributes:
        effect: granted, asked about or refused.
        why: the reason as a sentence without its full stop: for the user with ASK, for the model with DENY.
        rule: text of the rule that decided; empty when the mode or a default did.
        flag: with DENY because nobody can be asked, the flag that allows it, empty for none; else None.
    """

    effect: Effect
    why: str
    rule: str = ""
    flag: str | None = None


# What each mode grants by itself; everything else is asked about, except in PLAN.
_GRANTED: dict[Mode, frozenset[RequestKind]] = {
    Mode.ASK: frozenset({RequestKind.READ}),
    Mode.ACCEPT_EDITS: frozenset({RequestKind.READ, RequestKind.CHANGE}),
    Mode.PLAN: frozenset({RequestKind.READ}),
    Mode.AUTO: frozenset({RequestKind.READ, RequestKind.CHANGE, RequestKind.DELETE, RequestKind.COMMAND}),
}
PLANNING = (
    "laguna-tui is in plan mode, in which nothing is changed and nothing is run; look with the reading tools, and end"
    " with a plan that the user can approve"
)
PLAN_ON = (
    "Plan mode is on: only look, with the reading tools. Nothing is changed and no command is run, and calls that would"
    " are refused. End with a plan that the user can approve. A reminder says when plan mode is off."
)
PLAN_OFF = "Plan mode is off: files may be changed and commands run again, as far as the user allows it."
NO_SANDBOX = "no sandbox holds on this machine, so every command is asked about"
_GRANTED_BY_MODE = "the mode {mode} allows it"
_ASKED = {
    RequestKind.CHANGE: "each change is asked about in the mode {mode}",
    RequestKind.DELETE: "each deletion of a file is asked about in the mode {mode}",
    RequestKind.COMMAND: "each command is asked about in the mode {mode}",
    RequestKind.OTHER: "each call of a tool that is not laguna-tui's own is asked about",
}


def by_mode(mode: Mode, kind: RequestKind, sandboxed: bool) -> Verdict:
    """What is done about a request that no rule decides, while somebody can be asked.

    Args:
        mode: the session's mode.
        kind: what the tool wants to do.
        sandboxed: whether a sandbox holds commands; without one each is asked about, whatever the mode.
    """
    if mode is Mode.PLAN and kind is not RequestKind.READ:
        return Verdict(Effect.DENY, PLANNING)
    if kind is RequestKind.COMMAND and not sandboxed:
        return Verdict(Effect.ASK, NO_SANDBOX)
    if kind in _GRANTED[mode]:
        return Verdict(Effect.ALLOW, _GRANTED_BY_MODE.format(mode=mode.value))
    return Verdict(Effect.ASK, _ASKED[kind].format(mode=mode.value))
