"""The rewind screen: the turns of the session, newest last, what each of them changed, and what going back costs."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import duration, plural
from laguna_tui.session.values import RewindCost
from laguna_tui.tui.event_sanitizer import error_sentence
from laguna_tui.tui.modal import Modal, Paragraph, RowList
from laguna_tui.tui.query_thread import QueryThread
from laguna_tui.tui.text_lines import MUTED, crop
from laguna_tui.undo.undo_plan import UndoPlan, UndoPoint

EMPTY = "There is nothing to go back to yet: send a message first."
# Cells of border, padding and scrollbar.
_FRAME = 8
_MARK, _NO_MARK = "❯ ", "  "


@dataclass(frozen=True, slots=True)
class RewindChoice:
    """The turn before which to go back, by its number, and whether in a copy of the session."""

    number: int
    fork: bool = False


Costs = Callable[[int], tuple[UndoPlan, RewindCost | None]]
"""What going back to before a turn would do, and what it costs; may take seconds."""


class RewindScreen(Modal[RewindChoice | None]):
    """Returns what was chosen, or None."""

    WIDTH = 100
    heading = "Go back to before a message"
    hints = ("Enter rewind · f rewind a copy · Esc close", "Enter rewind · f fork · Esc")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Go back to before the message"),
        Binding("f,F", "fork", "The same in a copy; this session stays as it is"),
        Binding("escape,q,Q", "dismiss", "Close"),
    ]

    def __init__(self, find: Callable[[], Sequence[UndoPoint]], costs: Costs) -> None:
        """find: lists the turns; it may take a second."""
        super().__init__()
        self._find, self._costs = find, costs
        self._queries = QueryThread()
        self._points: Sequence[UndoPoint] = ()
        self._marked: int | None = None

    def content(self) -> ComposeResult:
        yield Paragraph("reading …", id="rewind-text", markup=False)
        yield RowList(compact=True)
        yield Paragraph("", id="rewind-cost", markup=False)

    @work
    async def on_mount(self) -> None:
        text, options = self.query_one("#rewind-text", Paragraph), self.query_one(OptionList)
        try:
            found = [point for point in await asyncio.to_thread(self._find) if not point.undone]
        except Exception as error:
            text.update(Content(error_sentence(error)))
            return
        self._points = found
        text.display = not found
        text.update(Content(EMPTY))
        options.add_options([Option(self._row(at)) for at in range(len(found))])
        options.highlighted = len(found) - 1 if found else None
        options.focus()

    def _row(self, at: int, *, chosen: bool = False) -> Content:
        return _shown(self._points[at], max(20, self.outer_width - _FRAME), chosen=chosen)

    @on(OptionList.OptionHighlighted)
    def _mark(self, event: OptionList.OptionHighlighted) -> None:
        """Mark the turn that Enter would go back to, and no other."""
        if self._marked is not None:
            event.option_list.replace_option_prompt_at_index(self._marked, self._row(self._marked))
        self._marked = event.option_index
        event.option_list.replace_option_prompt_at_index(self._marked, self._row(self._marked, chosen=True))
        self._show_cost(self._points[self._marked].number)

    @work(exclusive=True, group="cost")
    async def _show_cost(self, number: int) -> None:
        text = self.query_one("#rewind-cost", Paragraph)
        text.update("…")
        try:
            words = cost_words(*await self._queries.run(self._costs, number))
        except Exception as error:
            words = error_sentence(error)
        text.update(Content(sanitize_line(words)))

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(RewindChoice(self._points[event.option_index].number))

    def action_fork(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None:
            self.dismiss(RewindChoice(self._points[at].number, fork=True))


def _shown(point: UndoPoint, room: int, *, chosen: bool) -> Content:
    """Return a turn in two lines: its message, and what it changed."""
    return Content.assemble(
        (_MARK if chosen else _NO_MARK, "$primary"),
        (crop(sanitize_line(point.title), room - 2), "bold" if chosen else ""),
        ("\n  ", ""),
        (changed(point, room - 2), MUTED),
    )


def changed(point: UndoPoint, room: int) -> str:
    """Return what a turn changed, in a line."""
    count = len(point.paths)
    commands = " · ran commands" if point.ran_commands else ""
    if not count:
        return f"no files changed{commands}"
    names = ", ".join(map(sanitize_line, point.paths[:5]))
    return crop(f"{count:,} {plural(count, 'file')}{commands}: {names}", room)


def cost_words(plan: UndoPlan, cost: RewindCost | None) -> str:
    """Return how long going back takes, what is cached, and which files change, raw."""
    said: list[str] = []
    if cost is not None and (tokens := cost.restored + cost.recomputed):
        # Before anything was measured, the time is unknown unless nothing is read again.
        seconds = 0.0 if not cost.recomputed else cost.recompute_s
        about = f"about {duration(cost.restore_s + seconds)}, " if seconds is not None else ""
        said.append(f"{about}{cost.restored:,} of {tokens:,} tokens cached")
    for files, what in ((plan.files, "restored"), (plan.conflicts, "changed since: you will be asked")):
        count = sum(not file.is_folder for file in files)
        if count:
            said.append(f"{count:,} {plural(count, 'file')} {what}")
    return " · ".join(["Going back:", *said]).replace(": ·", ":") if said else "Rewinding changes no file."
