"""Several sessions over one engine, as an editor has them: each with its folder, its conversation and its permissions.

One of them generates at a time, while the others run tools or wait for their users. KV cells that another session's
prompt replaces are held in memory, so that no conversation is read again when the sessions take turns.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.config import Speculation
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.models.model_selection import ModelSelection
from laguna_tui.session.engine_slot import Progress
from laguna_tui.session.session import Session
from laguna_tui.session.values import SessionOptions
from laguna_tui.store.session_summary import SessionSummary

if TYPE_CHECKING:
    from laguna_engine.engine import Engine
    from laguna_tui.agent.tools.mcp.mcp_config import McpServer
    from laguna_tui.session.opening_report import OpenedAs
    from laguna_tui.store.session_store import SessionStore

_IN_USE = "another session uses {title}, and only one model is open at a time; close that session first"
# Settings of the engine; two sessions that share one may differ in all others.
_ENGINE_SETTINGS = ("context", "kv", "gpu_layers", "threads", "adapter")


class SessionPool:
    """Sessions about any folder that share one engine. Any thread."""

    def __init__(self, settings: Settings, state: Path, cache: Path, rules: Path | None, held_bytes: int) -> None:
        """Open nothing yet.

        Args:
            settings: the user's.
            state: the user's state folder, in which sessions are saved.
            cache: the user's cache folder.
            rules: the user's file of rules about what the model may do; None for none.
            held_bytes: memory for the KV cache of conversations that wait.
        """
        self._settings, self._state, self._cache, self._rules = settings, state, cache, rules
        self._engine = SharedEngine(held_bytes)

    def prepare(
        self, folder: Path, resume: str = "", clients: "Sequence[McpServer]" = (), **changes: object
    ) -> Session:
        """Return a session that is not open yet.

        Args:
            folder: what it is about.
            resume: the saved session to resume; empty for a new one.
            clients: MCP servers of the client.
            changes: settings that are not the user's own.

        Raises:
            UserError: there is no such model, or the session cannot be resumed.
        """
        return Session(
            self._settings.merged(changes),
            folder,
            self._state,
            SessionOptions(cache=self._cache, rules=self._rules, clients=clients),
            resume=resume,
            given=tuple(changes),
            source=self._engine,
        )

    def save(self, session: Session) -> str:
        """Save an open session from now on, even before its first message; returns its ID."""
        session.sessions.begin()
        return session.sessions.open_id

    def saved(self, folder: Path | None) -> Sequence[SessionSummary]:
        """Return the saved sessions of a folder, None for all; newest first."""
        return self._store().newest(None if folder is None else folder.resolve())

    def fork(self, session: str) -> str:
        """Copy a saved session; returns the ID of the copy. UserError if there is none."""
        return self._store().fork(session, "")

    def close(self) -> None:
        """Close the engine. Idempotent; the sessions are closed before."""
        self._engine.end()

    def _store(self) -> "SessionStore":
        from laguna_tui.store.session_store import SessionStore

        return SessionStore(self._state, self._cache)


@dataclass(frozen=True, slots=True)
class _OpenEngine:
    selection: ModelSelection
    mode: Speculation
    engine: "Engine"
    opened_as: "OpenedAs"
    state: Path | None

    def serves(self, selection: ModelSelection, mode: Speculation) -> bool:
        """Return whether it can generate for a session with this selection and mode."""
        own = self.selection
        same_model = (own.entry.path, own.drafter, self.mode) == (selection.entry.path, selection.drafter, mode)
        return same_model and all(
            getattr(own.settings, name) == getattr(selection.settings, name) for name in _ENGINE_SETTINGS
        )


class SharedEngine:
    """An `EngineSource` that has one engine, and keeps it open for the next session."""

    def __init__(self, held_bytes: int) -> None:
        self._held_bytes = held_bytes
        self._open: _OpenEngine | None = None
        self._users = 0
        self._lock = threading.Lock()
        self.turn: threading.Lock | None = threading.Lock()

    def open(
        self, selection: ModelSelection, mode: Speculation, state: Path | None, progress: Progress
    ) -> "tuple[Engine, OpenedAs]":
        """Return the engine, of this model; UserError while another session uses it with another one."""
        from laguna_tui.session.opening import open_selection

        with self._lock:
            if self._open is not None and not self._open.serves(selection, mode):
                if self._users:
                    raise UserError(_IN_USE.format(title=self._open.selection.entry.title))
                self._close(self._open.state)
            if self._open is None:
                engine, opened_as = open_selection(selection, mode, state, progress)
                engine.hold_conversations(self._held_bytes)
                self._open = _OpenEngine(selection, mode, engine, opened_as, state)
            self._users += 1
            return self._open.engine, self._open.opened_as

    def close(self, engine: "Engine", opened_as: "OpenedAs", state: Path | None, *, lost: bool) -> None:
        """Release a share; a lost engine is not handed out again."""
        with self._lock:
            if self._open is None or self._open.engine is not engine:
                return
            self._users -= 1
            if lost:
                self._users = 0
                self._close(None)

    def end(self) -> None:
        """Close it for good. Idempotent."""
        with self._lock:
            self._close(self._open.state if self._open is not None else None)

    def _close(self, state: Path | None) -> None:
        from laguna_tui.session.opening import close_engine

        if self._open is not None:
            found, self._open = self._open, None
            if found.opened_as.options is not None:
                close_engine(found.engine, found.opened_as.options, state)
