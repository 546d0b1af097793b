"""The rewind screen: the turns of the session, newest last, and what each of them changed."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import plural
from laguna_tui.journal.undo_plan import UndoPoint
from laguna_tui.tui.formatting import MUTED
from laguna_tui.tui.modal import Modal, RowList
from laguna_tui.tui.session_messages import error_sentence
from laguna_tui.tui.text_lines import crop

EMPTY = "There is nothing to go back to: no message was sent in this session."
# Cells of border, padding and scrollbar.
_FRAME = 8
_MARK, _NO_MARK = "❯ ", "  "


class RewindScreen(Modal[int | None]):
    """Returns the number of the turn before which to go back, or None. `find` lists the turns; it may take a second."""

    DEFAULT_CSS = Path(__file__).with_name("rewind_screen.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q", "dismiss", "Close")]

    def __init__(self, find: "Callable[[], Sequence[UndoPoint]]") -> None:
        super().__init__()
        self._find = find
        self._points: Sequence[UndoPoint] = ()
        self._marked: int | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="rewind") as box:
            box.border_title = "Go back to before a message"
            box.border_subtitle = "Enter goes back · Esc closes"
            yield Static("reading …", id="rewind-text", markup=False)
            yield RowList(compact=True)

    def on_mount(self) -> None:
        self._load()

    @work(thread=True, exclusive=True)
    def _load(self) -> None:
        try:
            found, problem = tuple(point for point in self._find() if not point.undone), ""
        except Exception as error:
            found, problem = (), error_sentence(error)
        self.app.call_from_thread(self._show, found, problem)

    def _show(self, found: Sequence[UndoPoint], problem: str) -> None:
        if not self.is_mounted:
            return
        self._points = found
        text = self.query_one("#rewind-text", Static)
        text.display = not found
        text.update(Content(problem or EMPTY))
        options = self.query_one(OptionList)
        options.add_options([Option(self._row(at)) for at in range(len(found))])
        options.highlighted = len(found) - 1 if found else None
        options.focus()

    def _row(self, at: int, *, chosen: bool = False) -> Content:
        return _shown(self._points[at], max(20, min(self.app.size.width, 100) - _FRAME), chosen=chosen)

    @on(OptionList.OptionHighlighted)
    def _mark(self, event: OptionList.OptionHighlighted) -> None:
        """Mark the turn that Enter would go back to, and no other."""
        if self._marked is not None:
            event.option_list.replace_option_prompt_at_index(self._marked, self._row(self._marked))
        self._marked = event.option_index
        event.option_list.replace_option_prompt_at_index(self._marked, self._row(self._marked, chosen=True))

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._points[event.option_index].number)


def _shown(point: UndoPoint, room: int, *, chosen: bool) -> Content:
    """A turn in two lines: its message, and what it changed."""
    return Content.assemble(
        (_MARK if chosen else _NO_MARK, "$primary"),
        (crop(sanitize_line(point.title), room - 2), "bold" if chosen else ""),
        ("\n  ", ""),
        (changed(point, room - 2), MUTED),
    )


def changed(point: UndoPoint, room: int) -> str:
    """What a turn changed, in a line."""
    count = len(point.paths)
    commands = " · ran commands" if point.ran_commands else ""
    if not count:
        return f"no file was changed{commands}"
    names = ", ".join(map(sanitize_line, point.paths[:5]))
    return crop(f"{count:,} {plural(count, 'file')}{commands}: {names}", room)
