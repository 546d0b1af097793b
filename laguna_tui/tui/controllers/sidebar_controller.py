"""Fills the sidebar: from events as they come, and with what the session really changed once a turn has ended."""

import asyncio
import time
from contextlib import suppress

from laguna_tui.base.change_proposal import ChangeKind
from laguna_tui.base.events import AgentEvent, ChangeMade, TodoChanged, TodoItem, ToolFinished
from laguna_tui.session.values import SessionInfo
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.event_sanitizer import safe_file_diff
from laguna_tui.tui.sidebar import ChangedFile, SidebarState
from laguna_tui.tui.speed.speed_stats import SpeedTracker
from laguna_tui.tui.text_lines import WIDE_FROM
from laguna_tui.tui.transcript.step_writer import SHELL

# Numbers that change faster cannot be read.
_NUMBERS_S = 0.1


class SidebarController(Controller):
    """Shows plan, changed files, context and speed. While the sidebar is hidden, it is not updated."""

    def __init__(self, app: ChatApp, tracker: SpeedTracker) -> None:
        """tracker: the numbers of the newest answer."""
        self._app, self._tracker, self._panel = app, tracker, app.sidebar_panel
        self._on = app.settings.sidebar
        self._todo: tuple[TodoItem, ...] = ()
        self._files: dict[str, ChangedFile] = {}
        self._is_stale = False
        self._shown_at = -_NUMBERS_S

    def toggle(self) -> None:
        """Show or hide the sidebar."""
        self._on = not self._on
        self._app.show()

    def received(self, event: AgentEvent) -> None:
        match event:
            case TodoChanged(items):
                self._todo = items
            case ChangeMade(change=change):
                gone = self._files.pop(change.path, ChangedFile(change.path, 0, 0))
                path = change.target or change.path
                self._files[path] = ChangedFile(path, gone.added + change.added, gone.removed + change.removed)
                self._is_stale = True
            case ToolFinished(name=name) if name == SHELL:
                # A command may have changed any file.
                self._is_stale = True
            case _:
                pass

    def idle(self) -> None:
        if self._is_stale:
            self._read_later()

    def undone(self) -> None:
        self._todo = ()
        self._read_later()

    def _read_later(self) -> None:
        """Read what the session changed: what is shown no longer holds."""
        self._is_stale = False
        self._app.start_work(self._read, "sidebar", newest=True)

    async def _read(self) -> None:
        # Without a journal, or with a damaged one, the counts of the events have to do.
        with suppress(Exception):
            files = await asyncio.to_thread(self._changed_files)
            self._files = {file.path: file for file in files}
        self._app.show()

    def _changed_files(self) -> list[ChangedFile]:
        files = map(safe_file_diff, self._app.session.history.diff())
        return [
            ChangedFile(file.target if file.kind is ChangeKind.MOVE else file.path, file.added, file.removed)
            for file in files
        ]

    def opened(self, info: SessionInfo) -> None:
        if info.resumed is not None:
            self.cleared()
            self._read_later()

    def cleared(self) -> None:
        self._todo, self._files = (), {}

    def show(self) -> None:
        app, now = self._app, time.monotonic()
        is_off = not self._on or app.speed_panel.display
        self._panel.set_class(is_off, "-off")
        is_hidden = is_off or app.size.width < WIDE_FROM
        if app.controller.busy and (is_hidden or now - self._shown_at < _NUMBERS_S):
            return
        self._shown_at = now
        status = app.status_bar.status
        files = tuple(self._files.values())
        self._panel.state = SidebarState(self._todo, files, status.used, status.size, self._tracker.speed())
