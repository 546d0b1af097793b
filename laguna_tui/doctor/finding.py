"""What the doctor says: one finding a line."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """OK: as it should be. WARN: works, but worse than it could. FAIL: something does not work. SKIP: not looked at."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check: what was found, and what to do about it (empty when there is nothing to do)."""

    check: str
    status: Status
    found: str
    todo: str = ""


def ok(check: str, found: str, todo: str = "") -> Finding:
    """All is well."""
    return Finding(check, Status.OK, found, todo)


def warn(check: str, found: str, todo: str) -> Finding:
    """It works, but not as it could."""
    return Finding(check, Status.WARN, found, todo)


def fail(check: str, found: str, todo: str) -> Finding:
    """It does not work."""
    return Finding(check, Status.FAIL, found, todo)


def skip(check: str, found: str, todo: str = "") -> Finding:
    """There was nothing to check."""
    return Finding(check, Status.SKIP, found, todo)
