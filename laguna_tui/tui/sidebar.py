"""The sidebar beside the transcript of a wide screen: plan, changed files, context and speed. Texts are sanitised."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from laguna_tui.base import units
from laguna_tui.base.events import TodoItem, TodoState
from laguna_tui.tui.drafter_colours import percent
from laguna_tui.tui.speed.speed_stats import Speed
from laguna_tui.tui.text_lines import MUTED, StyledText, cells, crop, crop_front, progress_bar

_HEADING = "bold $primary"
_MARKS = {TodoState.OPEN: ("○ ", MUTED), TodoState.ACTIVE: ("◐ ", "$accent"), TodoState.DONE: ("● ", "$success")}
_TEXTS = {TodoState.OPEN: "$foreground", TodoState.ACTIVE: "bold $foreground", TodoState.DONE: MUTED}
# Rows of context and speed with their headings, which show in any case, and of the headings and gaps of the others.
_FIXED_ROWS, _BETWEEN_ROWS = 7, 4
Row = list[StyledText]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that the session changed, and how many lines were added and removed."""

    path: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class SidebarState:
    """What the sidebar shows.

    Attributes:
        todo: the model's list of steps.
        files: what the session changed.
        used, size: tokens of the context; 0 before a model is open.
        speed: the numbers of the newest answer.
    """

    todo: tuple[TodoItem, ...] = ()
    files: tuple[ChangedFile, ...] = ()
    used: int = 0
    size: int = 0
    speed: Speed = field(default_factory=Speed)


def sidebar_rows(state: SidebarState, width: int, height: int) -> list[Row]:
    """Return the rows for a width; plan and files are shortened where the height does not suffice for all."""
    room = max(2, height - _FIXED_ROWS - _BETWEEN_ROWS)
    most_files = max(1, room // 2, room - len(state.todo))
    files = _file_rows(state.files, width, most_files)
    plan = _plan_rows(state.todo, width, max(1, room - len(files)))
    done = sum(item.state is TodoState.DONE for item in state.todo)
    sections = (
        ("Plan", f"{done} of {len(state.todo)} done", plan),
        ("Changed files", "/diff shows them", files),
        ("Context", "", _context_rows(state, width)),
        ("Speed", "", _speed_rows(state.speed, width)),
    )
    rows: list[Row] = []
    for title, note, body in sections:
        if body:
            rows += [*([[]] if rows else []), [(title, _HEADING), *([(f"  {note}", MUTED)] if note else [])], *body]
    return rows[:height]


def _plan_rows(items: Sequence[TodoItem], width: int, room: int) -> list[Row]:
    """Return the steps; of a long list those from before the first one that is not done."""
    first = next((index for index, item in enumerate(items) if item.state is not TodoState.DONE), 0)
    first = max(0, min(first - 1, len(items) - room)) if len(items) > room else 0
    shown = items[first : first + room]
    return [[_MARKS[item.state], (crop(item.text, width - 2), _TEXTS[item.state])] for item in shown]


def _file_rows(files: Sequence[ChangedFile], width: int, room: int) -> list[Row]:
    shown = files if len(files) <= room else files[: room - 1]
    rows = [_file_row(file, width) for file in shown]
    hidden = len(files) - len(shown)
    return [*rows, [(f"… {hidden:,} more", MUTED)]] if hidden else rows


def _file_row(file: ChangedFile, width: int) -> Row:
    added, removed = f" +{file.added:,}", f" −{file.removed:,}"
    room = width - cells(added) - cells(removed)
    path = crop_front(file.path, room)
    return [(path + " " * (room - cells(path)), "$foreground"), (added, "$success"), (removed, "$error")]


def _context_rows(state: SidebarState, width: int) -> list[Row]:
    if not state.size:
        return []
    share = f" {units.share(state.used, state.size)}"
    return [
        [(progress_bar(state.used / state.size, width - cells(share)), "$primary"), (share, "$foreground")],
        [(f"{units.count(state.used)} of {units.count(state.size)} tokens", MUTED)],
    ]


def _speed_rows(speed: Speed, width: int) -> list[Row]:
    if speed.decode is None:
        return []
    rate = units.rate(speed.decode)
    gain = f"  {speed.gain:.1f}× plain decoding" if speed.gain is not None else ""
    rows: list[Row] = [[(rate, "bold $foreground"), (crop(gain, width - cells(rate)), MUTED)]]
    if speed.acceptance is not None:
        rows.append([(crop(f"{percent(speed.acceptance)} of drafts accepted", width), MUTED)])
    return rows


class Sidebar(Widget):
    """Shows a state. The screen's width decides whether it shows at all, see its stylesheet."""

    DEFAULT_CSS = Path(__file__).with_name("sidebar.tcss").read_text(encoding="utf-8")

    state: reactive[SidebarState] = reactive(SidebarState())

    def render(self) -> Content:
        parts: list[StyledText] = []
        for row in sidebar_rows(self.state, *self.content_size):
            parts += [*([("\n", "")] if parts else []), *row]
        return Content.assemble(*parts)
