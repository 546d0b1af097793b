"""The modes, and how each decides about a request that no rule covers: the table of the documentation."""

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
    """The decision about a request: it is granted, the user decides, or it is refused."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a request, and why.

    Attributes:
        effect: Granted, asked about or refused.
        why: The reason for the user, as a sentence without its full stop.
        rule: Text of the rule that decided; empty when the mode or a default did.
        flag: With DENY because the user cannot be asked, the flag that allows it, empty for none; else None.
        for_model: With DENY, the reason for the model, with what to do instead.
    """

    effect: Effect
    why: str
    rule: str = ""
    flag: str | None = None
    for_model: str = ""


# What each mode grants; it asks about everything else, except PLAN, which refuses it.
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
PLAN_MODE = "plan mode is on, so nothing is changed or run"
PLAN_ON = (
    "Plan mode is on: only look, with the reading tools. Nothing is changed and no command is run, and calls that would"
    " are refused. End with a plan that the user can approve. A reminder says when plan mode is off."
)
PLAN_OFF = "Plan mode is off: files may be changed and commands run again, as far as the user allows it."
NO_SANDBOX = "no sandbox works on this machine, so every command needs approval"
_GRANTED_BY_MODE = "{mode} mode allows it"
_ASKED = {
    RequestKind.CHANGE: "changes need approval in {mode} mode",
    RequestKind.DELETE: "deleting a file needs approval in {mode} mode",
    RequestKind.COMMAND: "commands need approval in {mode} mode",
    RequestKind.OTHER: "tools of MCP servers need approval",
}


def by_mode(mode: Mode, kind: RequestKind, sandboxed: bool) -> Verdict:
    """Return the decision about a request that no rule covers, if the user can be asked.

    Args:
        mode: The session's mode.
        kind: What the tool wants to do.
        sandboxed: Whether a sandbox confines commands; without one each needs approval in every mode.
    """
    if mode is Mode.PLAN and kind is not RequestKind.READ:
        return Verdict(Effect.DENY, PLAN_MODE, for_model=PLANNING)
    if kind is RequestKind.COMMAND and not sandboxed:
        return Verdict(Effect.ASK, NO_SANDBOX)
    if kind in _GRANTED[mode]:
        return Verdict(Effect.ALLOW, _GRANTED_BY_MODE.format(mode=mode.value))
    return Verdict(Effect.ASK, _ASKED[kind].format(mode=mode.value))
