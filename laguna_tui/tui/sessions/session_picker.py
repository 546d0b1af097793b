"""The session picker: finds saved sessions by title and contents, to resume, rename, fork, export or delete one."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.fuzzy import Matcher
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from laguna_tui.base import units
from laguna_tui.session.saved_sessions import SavedSessions
from laguna_tui.store.session_summary import SessionSummary
from laguna_tui.tui.event_sanitizer import error_sentence
from laguna_tui.tui.help_screen import HelpScreen, key_rows
from laguna_tui.tui.modal import Modal, Paragraph, RowList, notify
from laguna_tui.tui.query_thread import QueryThread
from laguna_tui.tui.sessions.session_questions import DeleteQuestion, TitleQuestion
from laguna_tui.tui.sessions.session_rows import session_row, title_of

# More are found by typing; each row costs time at every key.
MAX_SHOWN = 50
# Cells of border, padding and scrollbar.
_FRAME = 7
_NONE_HERE = "No saved sessions in this folder yet. Tab lists all folders."
_NONE = "No saved sessions yet: your first message starts one."
_NOT_FOUND = "No session has these words."
_LOCKED = "Open in another window: continue there, or fork it with Ctrl+F."
_CURRENT = "This session is already open."
_HINTS = (
    "Enter resume · Tab {other} · Ctrl+R rename · Ctrl+F fork · Ctrl+E export · Ctrl+D delete · Esc",
    "Enter resume · Tab {other} · Ctrl+R rename, F fork, E export, D delete",
    "Enter resume · Tab {other} · F1 keys",
    "Enter resume · Tab · F1 keys",
)


@dataclass(frozen=True, slots=True)
class SessionChoice:
    """A session to resume, or to resume a copy of."""

    session: SessionSummary
    copy: bool = False


@dataclass(frozen=True, slots=True)
class _Query:
    words: str
    everywhere: bool


class SessionPicker(Modal[SessionChoice | None]):
    """Returns what was chosen, or None."""

    WIDTH = 100
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Resume the session", priority=True),
        Binding("tab", "everywhere", "Sessions of all folders, or of this one", priority=True),
        Binding("ctrl+r,f2", "rename", "Rename it", priority=True),
        Binding("ctrl+f", "fork", "Fork it: resume a copy", priority=True),
        Binding("ctrl+e", "export", "Export it to a Markdown file", priority=True),
        Binding("ctrl+d,delete", "delete", "Delete it", priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("pageup", "move(-5)", show=False, priority=True),
        Binding("pagedown", "move(5)", show=False, priority=True),
        Binding("f1", "help", "These keys", priority=True),
        Binding("escape", "dismiss", "Close"),
    ]

    def __init__(self, sessions: SavedSessions, export: Callable[[str], None]) -> None:
        """export: writes the session with this ID to a file, and notifies the user."""
        super().__init__(classes="-dense")
        self._sessions, self._export = sessions, export
        self._everywhere = False
        self._listed: dict[bool, Sequence[SessionSummary]] = {}
        self._found: Sequence[SessionSummary] = ()
        self._shown: Sequence[SessionSummary] = ()
        self._current = ""
        self._marked: int | None = None
        self._asked: _Query | None = None
        self._answered: _Query | None = None
        self._enter_waits = False
        self._queries = QueryThread()

    def content(self) -> ComposeResult:
        yield Input(placeholder="search titles and messages …", compact=True)
        yield Paragraph("reading …", id="sessions-text", markup=False)
        yield RowList(compact=True)

    def on_mount(self) -> None:
        self.query_one(OptionList).can_focus = False
        self._current = self._sessions.open_id
        self._ask()

    def on_resize(self) -> None:
        """Lay the rows out for the new width."""
        self._fill()

    # -- finding

    @on(Input.Changed)
    def _ask(self) -> None:
        self.show_border()
        self._asked = _Query(self.query_one(Input).value.strip(), self._everywhere)
        self._enter_waits = False
        self._search(self._asked)

    @work(exclusive=True, group="search")
    async def _search(self, query: _Query) -> None:
        try:
            found = await self._queries.run(self._find, query)
        except Exception as error:
            self._found = self._shown = ()
            self._say(error_sentence(error))
            self._fill()
        else:
            self._show(query, found)

    def _find(self, query: _Query) -> Sequence[SessionSummary]:
        """Return the sessions, the best first: those whose titles match in order, then those with the words in them."""
        listed = self._listed.get(query.everywhere)
        if listed is None:
            listed = self._listed[query.everywhere] = self._sessions.list(everywhere=query.everywhere)
        if not query.words:
            return listed
        found = {session.id: session for session in self._sessions.search(query.words, everywhere=query.everywhere)}
        match = Matcher(query.words).match
        scored = ((match(title_of(session)), session) for session in listed)
        titled = sorted(((score, session) for score, session in scored if score > 0), key=lambda pair: -pair[0])
        # Where both find it, the row shows what the search found.
        best = [found.pop(session.id, session) for _, session in titled]
        return [*best, *found.values()]

    def _show(self, query: _Query, found: Sequence[SessionSummary]) -> None:
        before = self._highlighted if query == self._answered else None
        self._answered = query
        self._found, self._shown = found, found[:MAX_SHOWN]
        self._say(self._about(query))
        self._fill(before.id if before is not None else "")
        if self._enter_waits:
            self.action_choose()

    def _about(self, query: _Query) -> str:
        if not self._found:
            return _NOT_FOUND if query.words else _NONE if query.everywhere else _NONE_HERE
        more = len(self._found) - len(self._shown)
        return f"{more:,} more; type to search." if more else ""

    def _say(self, text: str) -> None:
        about = self.query_one("#sessions-text", Paragraph)
        about.update(Content(text))
        about.display = bool(text)

    def _fill(self, keep: str = "") -> None:
        """Show the rows; keep: ID of the session that the cursor stays on."""
        options = self.query_one(OptionList)
        self._marked = None
        options.clear_options()
        options.add_options([Option(self._row(at)) for at in range(len(self._shown))])
        kept = (at for at, session in enumerate(self._shown) if session.id == keep)
        options.highlighted = next(kept, 0 if self._shown else None)

    def _row(self, at: int, *, chosen: bool = False) -> Content:
        room = max(20, self.outer_width - _FRAME)
        return session_row(
            self._shown[at],
            room,
            time.time(),
            everywhere=self._everywhere,
            current=self._current,
            chosen=chosen,
        )

    def show_border(self) -> None:
        self.heading = "Sessions of all folders" if self._everywhere else "Sessions of this folder"
        other = "this folder" if self._everywhere else "all folders"
        self.hints = tuple(hint.format(other=other) for hint in _HINTS)
        super().show_border()

    # -- the cursor

    @property
    def _chosen(self) -> SessionSummary | None:
        """The session that the keys are about; None while the rows are not those of what was typed."""
        return self._highlighted if self._asked == self._answered else None

    @property
    def _highlighted(self) -> SessionSummary | None:
        at = self.query_one(OptionList).highlighted
        return self._shown[at] if at is not None and at < len(self._shown) else None

    @on(OptionList.OptionHighlighted)
    def _mark(self, event: OptionList.OptionHighlighted) -> None:
        """Mark the session that the keys are about, and no other."""
        for at, chosen in ((self._marked, False), (event.option_index, True)):
            if at is not None and at < len(self._shown):
                event.option_list.replace_option_prompt_at_index(at, self._row(at, chosen=chosen))
        self._marked = event.option_index

    def action_move(self, step: int) -> None:
        options = self.query_one(OptionList)
        if self._shown and options.highlighted is not None:
            last = len(self._shown) - 1
            at = options.highlighted + step
            options.highlighted = at % (last + 1) if abs(step) == 1 else max(0, min(last, at))

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen({"In the sessions": key_rows(self.BINDINGS)}))

    def action_everywhere(self) -> None:
        self._everywhere = not self._everywhere
        self._ask()

    # -- what is done with a session

    @on(OptionList.OptionSelected)
    def action_choose(self) -> None:
        session = self._chosen
        # Whoever types words and Enter means what is found then.
        self._enter_waits = self._asked != self._answered
        if session is None:
            return
        if session.id == self._current or session.locked:
            notify(self.app, _CURRENT if session.id == self._current else _LOCKED, "warning", alone=True)
            return
        self.dismiss(SessionChoice(session))

    def action_fork(self) -> None:
        if self._chosen is not None:
            self.dismiss(SessionChoice(self._chosen, copy=True))

    def action_export(self) -> None:
        if self._chosen is not None:
            self._export(self._chosen.id)

    def action_rename(self) -> None:
        session = self._chosen
        if session is not None:
            self.app.push_screen(TitleQuestion(title_of(session)), partial(self._rename, session))

    def _rename(self, session: SessionSummary, title: str | None) -> None:
        if title is not None:
            self._change(lambda: self._sessions.rename(session.id, title))

    def action_delete(self) -> None:
        session = self._chosen
        if session is None:
            return
        if session.id == self._current:
            notify(self.app, "This session is open. Start another one first: /new", "warning", alone=True)
        elif session.locked:
            notify(self.app, "This session is open in another window. Close it there first.", "warning", alone=True)
        else:
            self.app.push_screen(DeleteQuestion(session), partial(self._delete, session))

    def _delete(self, session: SessionSummary, sure: bool | None) -> None:
        if sure:
            self._change(lambda: f"Deleted: {units.size(self._sessions.delete([session.id]))}.")

    @work
    async def _change(self, change: Callable[[], str | None]) -> None:
        """Change a session on a thread, show the sentence that it returns, and list the sessions again."""
        try:
            sentence = await asyncio.to_thread(change)
        except Exception as error:
            notify(self.app, error_sentence(error), "warning", alone=True)
            return
        if sentence:
            notify(self.app, sentence, alone=True)
        self._listed.clear()
        self._ask()
