"""Which sandbox works on this machine."""

from dataclasses import dataclass
from enum import Enum
from functools import cache


class SandboxKind(Enum):
    """The sandboxes, the strongest first."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    SANDBOX_EXEC = "sandbox-exec"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    """The sandbox of commands on this machine.

    Attributes:
        kind: Which one.
        sentence: What it enforces, for the doctor and for approvals.
        gaps: What it does not enforce, a clause each.
        tried: The sandboxes that do not work here, each with the reason.
        remedy: How to get a better one; empty when there is none.
        program: Path of the program that makes it; empty for Landlock and none.
    """

    kind: SandboxKind
    sentence: str
    gaps: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    remedy: str = ""
    program: str = ""


@cache
def probe_sandbox() -> SandboxStatus:
    """Return the strongest sandbox that can run a program here; tried once per process."""
    return SandboxStatus(SandboxKind.NONE, "No sandbox: every command asks first.")


def always_asks(command: str, status: SandboxStatus) -> str:
    """Return why a command needs the user's approval every time under this sandbox; empty if rules may allow it."""
    return status.sentence if status.kind is SandboxKind.NONE else ""
