"""Several sessions over one engine, as an editor has them: each with its folder, its conversation and its permissions.

One of them generates at a time, while the others run tools or wait for their users. KV cells that another session's
prompt replaces are held in memory, so that no conversation is read again when the sessions take turns.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.config import Speculation
from laguna_engine.events import LoadProgress
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.models.model_selection import ModelSelection
from laguna_tui.session.session import Session
from laguna_tui.session.values import SessionOptions
from laguna_tui.store.session_summary import SessionSummary

if TYPE_CHECKING:
    from laguna_engine.engine import Engine
    from laguna_tui.agent.tools.mcp.mcp_config import McpServer
    from laguna_tui.session.opening_report import OpenedAs

_IN_USE = "another session uses {title}, and only one model is open at a time; close that session first"


class SessionPool:
    """Sessions about any folder that share one engine. Any thread."""

    def __init__(self, settings: Settings, state: Path, cache: Path, rules: Path | None, held_bytes: int) -> None:
        """Open nothing yet.

        Args:
            settings: the user's.
            state: the user's state folder, in which sessions are kept.
            cache: the user's cache folder.
            rules: the user's file of rules about what the model may do; None for none.
            held_bytes: memory for conversations that wait.
        """
        self._settings, self._state, self._cache, self._rules = settings, state, cache, rules
        self._engines = SharedEngine(held_bytes)

    def prepare(
        self, folder: Path, resume: str = "", clients: "Sequence[McpServer]" = (), **changes: object
    ) -> Session:
        """A session that is not open yet.

        Args:
            folder: what it is about.
            resume: the saved session to resume; empty for a new one.
            clients: MCP servers of the client.
            changes: settings that are not the user's own.

        Raises:
            UserError: there is no such model, or the session cannot be resumed.
        """
        return Session.prepare(
            self._settings.merged(changes),
            folder,
            self._state,
            SessionOptions(cache=self._cache, rules=self._rules, clients=clients),
            resume=resume,
            given=tuple(changes),
            source=self._engines,
        )

    def keep(self, session: Session) -> str:
        """Save an open session from now on, also before its first message; its ID."""
        session.sessions.begin()
        return session.sessions.open_id

    def kept(self, folder: Path | None) -> Sequence[SessionSummary]:
        """The saved sessions of a folder, or all; newest first."""
        from laguna_tui.store.session_store import SessionStore

        return SessionStore(self._state, self._cache).newest(None if folder is None else folder.resolve())

    def fork(self, session: str) -> str:
        """Copy a saved session; the ID of the copy. UserError if there is none."""
        from laguna_tui.store.session_store import SessionStore

        return SessionStore(self._state, self._cache).fork(session, "")

    def close(self) -> None:
        """Close the engine. Idempotent; the sessions are closed before."""
        self._engines.end()


class SharedEngine:
    """An `EngineSource` that has one engine, and keeps it open for the next session."""

    def __init__(self, held_bytes: int) -> None:
        self._held_bytes = held_bytes
        self._open: tuple[ModelSelection, Speculation, Engine, OpenedAs, Path | None] | None = None
        self._users = 0
        self._lock = threading.Lock()
        self.turn = threading.Lock()

    def open(
        self,
        selection: ModelSelection,
        mode: Speculation,
        state: Path | None,
        progress: Callable[[LoadProgress], None],
    ) -> "tuple[Engine, OpenedAs]":
        """Return the engine, of this model; UserError while another session uses it with another one."""
        from laguna_tui.session.opening import open_selection

        with self._lock:
            if self._open is not None and not _same(self._open[0], self._open[1], selection, mode):
                if self._users:
                    raise UserError(_IN_USE.format(title=self._open[0].entry.title))
                self._close()
            if self._open is None:
                engine, opened_as = open_selection(selection, mode, state, progress)
                engine.hold_conversations(self._held_bytes)
                self._open = selection, mode, engine, opened_as, state
            self._users += 1
            return self._open[2], self._open[3]

    def close(self, engine: "Engine", opened_as: "OpenedAs", *, lost: bool) -> None:
        """Release a share; a lost engine is not handed out again."""
        with self._lock:
            if self._open is None or self._open[2] is not engine:
                return
            self._users -= 1
            if lost:
                self._users = 0
                self._open = (*self._open[:4], None)
                self._close()

    def end(self) -> None:
        """Close it for good. Idempotent."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        from laguna_tui.session.opening import close_engine

        if self._open is not None:
            _, _, engine, opened_as, state = self._open
            self._open = None
            if opened_as.options is not None:
                close_engine(engine, opened_as.options, state)


def _same(left: ModelSelection, left_mode: Speculation, right: ModelSelection, right_mode: Speculation) -> bool:
    """Whether one engine serves both: the settings that only concern the conversation may differ."""
    fixed = ("context", "kv", "gpu_layers", "threads", "adapter")
    return (
        (left.entry.path, left.drafter, left_mode) == (right.entry.path, right.drafter, right_mode)
        and all(getattr(left.settings, name) == getattr(right.settings, name) for name in fixed)
    )  # fmt: skip
