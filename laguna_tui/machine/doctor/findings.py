"""Findings of the doctor, as a page for people or as JSON for programs."""

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from laguna_tui import __version__
from laguna_tui.base.text import sanitize_line


class FindingStatus(StrEnum):
    """Status of a finding.

    Attributes:
        OK: As it should be.
        WARN: Works, but worse than it could.
        FAIL: Does not work.
        SKIP: Not checked.
    """

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        check: Name of the check.
        status: Its outcome.
        found: The facts, as a sentence.
        todo: How to fix or improve it; empty when there is nothing to do.
    """

    check: str
    status: FindingStatus
    found: str
    todo: str = ""


def ok(check: str, found: str, todo: str = "") -> Finding:
    """Report a check that passed."""
    return Finding(check, FindingStatus.OK, found, todo)


def warn(check: str, found: str, todo: str) -> Finding:
    """Report something that works, but not as well as it could."""
    return Finding(check, FindingStatus.WARN, found, todo)


def fail(check: str, found: str, todo: str) -> Finding:
    """Report something that does not work."""
    return Finding(check, FindingStatus.FAIL, found, todo)


def skip(check: str, found: str, todo: str = "") -> Finding:
    """Report that there was nothing to check."""
    return Finding(check, FindingStatus.SKIP, found, todo)


FORMAT = 1
"""Version of the JSON: increased when a reader of the old one would misread it."""

_COLOURS = {FindingStatus.OK: "32", FindingStatus.WARN: "33", FindingStatus.FAIL: "31", FindingStatus.SKIP: "2"}
_NARROW = 40
"""Columns below which the text is not wrapped any narrower."""


def page(findings: Sequence[Finding], columns: int, *, colours: bool) -> str:
    """Return a line per finding, its remedy below it, and a summary, wrapped to `columns` cells."""
    width = max(len(finding.check) for finding in findings)
    lines = [line for finding in findings for line in _lines(finding, width, columns, colours=colours)]
    return "\n".join([*lines, "", summary(findings)]) + "\n"


def as_json(findings: Sequence[Finding]) -> str:
    """Return one JSON object; `summary` counts the findings of each status."""
    counts = {status.value: sum(finding.status is status for finding in findings) for status in FindingStatus}
    whole = {
        "format": FORMAT,
        "version": __version__,
        "summary": counts,
        "findings": [asdict(finding) for finding in findings],
    }
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def summary(findings: Sequence[Finding]) -> str:
    """Return the counts as a sentence."""
    failed = sum(finding.status is FindingStatus.FAIL for finding in findings)
    warned = sum(finding.status is FindingStatus.WARN for finding in findings)
    if failed:
        better = f"; {_counted(warned, 'thing', 'things')} could be better" if warned else ""
        return f"{_counted(failed, 'thing does', 'things do')} not work{better}."
    if warned:
        return f"Everything works; {_counted(warned, 'thing', 'things')} could be better."
    return "Everything is as it should be."


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _lines(finding: Finding, width: int, columns: int, *, colours: bool) -> list[str]:
    mark = f"{finding.status.value:<4}"
    if colours:
        mark = f"\x1b[{_COLOURS[finding.status]}m{mark}\x1b[0m"
    indent = " " * (len("warn  ") + width + 2)
    room = max(columns, len(indent) + _NARROW) - len(indent)
    # Paths and commands must stay copyable: lines are broken at blanks only.
    wrapper = textwrap.TextWrapper(room, break_on_hyphens=False, break_long_words=False)
    first, *rest = wrapper.wrap(sanitize_line(finding.found)) or [""]
    wrapper.subsequent_indent = "   "
    todo = wrapper.wrap(f"-> {sanitize_line(finding.todo)}") if finding.todo else []
    return [f"{mark}  {finding.check:<{width}}  {first}", *(indent + line for line in (*rest, *todo))]
