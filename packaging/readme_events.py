"""Write the README's tables of events and exit codes from the code: `python packaging/readme_events.py`.

A test compares the two, so that the README cannot drift.
"""

import dataclasses
import inspect
import types
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from msgspec import Struct

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import AgentEvent
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.paths import FolderIdentity
from laguna_tui.headless.json_output import event_object

README = Path(__file__).resolve().parent.parent / "README.md"
EVENTS = "<!-- events: made by packaging/readme_events.py -->\n", "<!-- /events -->"
EXIT_CODES = "<!-- exit codes: made by packaging/readme_events.py -->\n", "<!-- /exit codes -->"
_CHANGE = ChangeProposal("cart.py", "", "", 1, (), "", Path("/shop"), b"", b"", FolderIdentity(0, 0))
_VALUES: Mapping[object, object] = {str: "", int: 0, float: 0.0, bool: False, Path: Path("/shop"), object: ""}


def event_types() -> tuple[type, ...]:
    """The class of every event."""
    return typing.get_args(AgentEvent)


def example(kind: object) -> object:
    """A value of a type."""
    if kind is ChangeProposal:
        return _CHANGE
    if kind in _VALUES:
        return _VALUES[kind]
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return example(typing.get_args(kind)[0])
    if origin is tuple:
        return (example(typing.get_args(kind)[0]),)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or issubclass(kind, Struct)):
        hints = typing.get_type_hints(kind)
        return kind(**{name: example(hints[name]) for name in inspect.signature(kind).parameters})
    return origin() if isinstance(origin, type) else None


def events_table() -> str:
    """Every event of the stream: its type, its fields, and when it comes, as Markdown."""
    lines = ["| `type` | fields | when |", "|---|---|---|"]
    for kind in event_types():
        event = typing.cast("AgentEvent", example(kind))
        name, *fields = event_object(event).items()
        keys = ", ".join(f"`{key}`" for key, _ in fields)
        lines.append(f"| `{name[1]}` | {keys} | {_sentence(kind)} |")
    return "\n".join(lines) + "\n"


def _sentence(kind: type) -> str:
    """The first sentence of a class's docstring."""
    paragraph = " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())
    return paragraph.partition(". ")[0].partition("; ")[0].rstrip(".")


def exit_codes_table() -> str:
    """The exit codes of `ask`, as Markdown."""
    rows = (f"| {code.value} | {code.meaning} |" for code in ExitCode)
    return "\n".join(["| exit code of `ask` | meaning |", "|---|---|", *rows]) + "\n"


def updated(text: str) -> str:
    """The README's text with today's tables between their marks."""
    for (begin, end), table in ((EVENTS, events_table()), (EXIT_CODES, exit_codes_table())):
        before, rest = text.split(begin, 1)
        text = before + begin + "\n" + table + "\n" + end + rest.split(end, 1)[1]
    return text


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")
