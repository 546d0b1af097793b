"""The saved sessions: which one is open, and how another one is resumed."""

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.errors import EngineError
from laguna_engine.events import LoadProgress
from laguna_tui.agent.conversation import ConversationState
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import SESSIONS
from laguna_tui.base.permission_request import Mode
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.model_selection import ModelSelection, select_other
from laguna_tui.models.remote_entry import is_url
from laguna_tui.session.engine_slot import EngineSlot
from laguna_tui.session.history import History
from laguna_tui.session.kv_cache import KvCache
from laguna_tui.session.permissions import PermissionSettings
from laguna_tui.session.recorder import Recorder
from laguna_tui.session.session_parts import SessionParts
from laguna_tui.session.values import FolderGoneError, NotKept, OtherFolderError, Resumed, SessionInfo
from laguna_tui.store.events import Began, Opened, Titled
from laguna_tui.store.session_summary import SessionSummary
from laguna_tui.store.snapshot_store import SnapshotStore

if TYPE_CHECKING:
    from laguna_tui.agent.changes import Changes
    from laguna_tui.agent.loop import Agent
    from laguna_tui.agent.todo_list import TodoList
    from laguna_tui.session.chosen_modes import ChosenModes
    from laguna_tui.session.resuming import KeptSession
    from laguna_tui.session.session_writer import Watched
    from laguna_tui.store.session_store import SessionStore

Progress = Callable[[LoadProgress], None]
NOT_KEPT = "This session is not saved to disk, so there are no others."
NOTHING_YET = "This session has no messages yet, so there is nothing to copy."
IS_OPEN = "This session is open already."
OTHER_MODEL = "Continuing with {now}: {then} is not available. {why}"


@dataclass(frozen=True, slots=True)
class SessionAccess:
    """What switching the model, or resuming another session, needs of the session.

    Attributes:
        slot: the engine.
        permissions: what is allowed without asking.
        parts: the agent, its tools and its context; None while the session is not open.
        history: undo and rewind.
        open: opens the session.
        info: what front ends show.
    """

    slot: EngineSlot
    permissions: PermissionSettings
    parts: Callable[[], SessionParts | None]
    history: Callable[[], History]
    open: Callable[[Progress], SessionInfo]
    info: Callable[[], SessionInfo]


class SavedSessions:
    """The sessions kept on disk. Any thread, except `resume`; UserError if something cannot be done.

    A session is named by its `id`, the beginning of its `id`, or its title.

    Attributes:
        recorder: writes the open session's journal.
        cache: its KV cache.
        given: names of the settings given on the command line; they override those of a session resumed at start.
    """

    def __init__(self, folder: Path, state: Path | None, cache: Path | None, access: SessionAccess) -> None:
        """Start a session; its first message creates its folder.

        Args:
            folder: the workspace.
            state: the user's state folder; None saves nothing.
            cache: the user's cache folder; None saves no KV snapshots.
        """
        snapshots = SnapshotStore(cache) if cache is not None and state is not None else None
        self.cache = KvCache(snapshots, access.slot, access.parts)
        self.recorder = Recorder(state / SESSIONS if state is not None else None, self._first, self.cache)
        self._folder, self._state, self._cache_folder, self._access = folder.resolve(), state, cache, access
        self._made_store: SessionStore | None = None
        self._chosen = ""
        self.given: Collection[str] = ()
        self._kept: KeptSession | None = None
        self._notices: tuple[str, ...] = ()
        access.permissions.changed = self._note_mode

    # -- which there are

    @property
    def current(self) -> SessionSummary | None:
        """The open session; None before its first message is saved. Reads the disk."""
        writer = self.recorder.writer
        if writer is None:
            return None
        with suppress(UserError):
            return self._summary(self._store().find(writer.journal.id))
        return None

    @property
    def open_id(self) -> str:
        """ID of the open session; empty for none. Immediate."""
        writer = self.recorder.writer
        return "" if writer is None else writer.journal.id

    @property
    def failing(self) -> NotKept:
        """What cannot be saved at present, and why. Immediate."""
        writer = self.recorder.writer
        return NotKept("" if writer is None else writer.journal.failing, self.cache.failing)

    def list(self, *, everywhere: bool = False) -> Sequence[SessionSummary]:
        """Sessions about this folder, or all, newest first. Takes at most 200 ms, like `search`."""
        if self._state is None:
            return ()
        return tuple(map(self._summary, self._store().newest(None if everywhere else self._folder)))

    def search(self, words: str, *, everywhere: bool = False) -> Sequence[SessionSummary]:
        """Sessions with these words in their titles or contents, best first."""
        if self._state is None:
            return ()
        return tuple(map(self._summary, self._store().search(words, None if everywhere else self._folder)))

    def rename(self, session: str, title: str) -> None:
        """Give a session a title."""
        found, writer = self._found(session), self.recorder.writer
        if writer is not None and writer.journal.id == found.id:
            self.recorder.put(Titled(title=title), durable=True)
        else:
            self._store().rename(found.id, title)

    def move(self, session: str, folder: Path) -> None:
        """Have a session be about the place to which its folder was moved."""
        self._store().move(self._found(session).id, folder.resolve())

    def delete(self, sessions: Collection[str]) -> int:
        """Delete sessions for good, except the open one; returns how many bytes were freed."""
        writer = self.recorder.writer
        found = [self._found(session).id for session in sessions]
        return self._store().delete([each for each in found if writer is None or each != writer.journal.id])

    def export(self, session: str, form: str) -> str:
        """A session as text, without secrets. form: "markdown", "html" or "json"."""
        from laguna_tui.store.session_export import ExportForm, exported
        from laguna_tui.store.session_transcript import read_transcript

        return exported(read_transcript(self._store().folder / self._found(session).id), ExportForm(form))

    def fork(self, session: str = "", title: str = "") -> SessionSummary:
        """Copy a session (empty: the open one) in order to resume the copy."""
        writer = self.recorder.writer
        if not session and writer is None:
            raise UserError(NOTHING_YET)
        copied = writer.journal.id if not session and writer is not None else self._found(session).id
        return self._summary(self._store().find(self._store().fork(copied, title)))

    def _found(self, session: str) -> SessionSummary:
        """The session with this ID, ID prefix or title; UserError if there is none."""
        return self._store().find(session, self._folder)

    def _store(self) -> "SessionStore":
        if self._state is None:
            raise UserError(NOT_KEPT)
        if self._made_store is None:
            from laguna_tui.store.session_store import SessionStore

            self._made_store = SessionStore(self._state, self._cache_folder or self._state)
        return self._made_store

    def _summary(self, session: SessionSummary) -> SessionSummary:
        """The session as seen from the open one."""
        return replace(session, locked=session.locked and session.id != self.open_id)

    # -- the open one

    def watch(self, agent: "Agent", changes: "Changes", todo: "TodoList") -> None:
        """Record what this agent says and does."""
        if self.recorder.parent is None:
            return
        from laguna_tui.session.session_writer import Watched

        self.recorder.watched = Watched(agent, changes, todo)

    def begin(self) -> None:
        """Start a session if sessions are saved and none is open."""
        if self.recorder.parent is not None and self.recorder.writer is None:
            # It was asked about before there was a place for it.
            self._access.history().begin_again()
            self.recorder.begin()
            self._note_mode(self._access.permissions.mode)

    def begin_another(self) -> None:
        """End the open session; the next message starts another one."""
        if self.recorder.writer is None:
            return
        self._access.history().begin_again()
        self.recorder.end()
        self._watched.changes.seen.resume({})

    def note_model(self) -> None:
        """Record the model and its settings, and the conversation as it reads it."""
        if self.recorder.writer is not None:
            self.recorder.writer.look([self._opened()])

    def close(self, reason: str = "") -> None:
        """Close the open session. Idempotent. reason: why it ended early; empty for a normal end."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.journal.release()
        self.recorder.end(reason)
        self.cache.close()

    # -- going on

    def choose(self, session: str) -> None:
        """Choose the session to resume once a model is open, by its ID, a prefix of it, or its title.

        Raises:
            UserError: it cannot be resumed.
        """
        self._kept = kept = self._opened_kept(session)
        self._chosen = kept.journal.id
        if "model" not in self.given:
            selection, self._notices = self._selection(kept)
            self._access.slot.selection = selection

    def go_on(self) -> Resumed | None:
        """Resume the chosen session, now that a model is open; None if none was chosen."""
        if not self._chosen:
            return None
        began = time.monotonic()
        kept = self._kept or self._opened_kept(self._chosen)
        self._chosen, self._kept = "", None
        given, self.given = self.given, ()
        try:
            resumed = self._go_on(kept, kept.conversation(self._watched), given)
        except BaseException:
            kept.journal.release()
            raise
        return replace(resumed, seconds=time.monotonic() - began)

    def resume(self, session: str, progress: Progress) -> SessionInfo:
        """Resume a session in place of the open one, which stays saved. The session's thread, while no turn runs.

        Returns:
            The session that is open now, with `resumed` set.

        Raises:
            OtherFolderError: it is about another folder; the app has to be started there.
            FolderGoneError: its folder is gone; `move` says where it is now.
            EngineError, UserError: it cannot be resumed; nothing was changed.
        """
        began = time.monotonic()
        parts = self._access.parts()
        if parts is None:
            self.choose(session)
            return self._access.open(progress)
        kept = self._opened_kept(session)
        try:
            said = kept.conversation(self._watched)
            self._use_model(kept, parts, progress)
            self._access.history().begin_again()
            self.recorder.end()
            resumed = self._go_on(kept, said)
        except BaseException:
            kept.journal.release()
            raise
        return replace(self._access.info(), resumed=replace(resumed, seconds=time.monotonic() - began))

    def _opened_kept(self, session: str) -> "KeptSession":
        """Open a session of this folder."""
        from laguna_tui.session.resuming import KeptSession

        found, writer = self._found(session), self.recorder.writer
        if writer is not None and writer.journal.id == found.id:
            raise UserError(IS_OPEN)
        if not found.folder.is_dir():
            raise FolderGoneError(found.folder, found.id)
        if found.folder != self._folder:
            raise OtherFolderError(found.folder, found.id)
        return KeptSession.open(self._store().folder / found.id)

    @property
    def _watched(self) -> "Watched":
        assert self.recorder.watched is not None, "there is an agent"
        return self.recorder.watched

    def _go_on(self, kept: "KeptSession", said: ConversationState, given: Collection[str] = ()) -> Resumed:
        """Restore a session's state, except the given settings. The previous session has ended."""
        from laguna_tui.session.resuming import shown_turns

        access = self._access
        access.slot.forget_last()
        kept.go_on(said, self._watched, self.recorder, access.history().turns, self._opened())
        notices, self._notices = [*self._notices], ()
        if kept.journal.notice:
            notices.append(kept.journal.notice)
        if "mode" not in given:
            notices += self._modes.restore(kept.state, access.permissions)
        assert self.recorder.writer is not None, "it continues"
        self.cache.use(kept.journal.id)
        restored = self.cache.restore()
        notices += restored.notices
        events, left_out = shown_turns(kept, self.recorder.writer.content)
        summary = self._summary(self._store().find(kept.journal.id))
        return Resumed(summary, tuple(events), left_out, tuple(notices), restored.tokens)

    def _use_model(self, kept: "KeptSession", parts: SessionParts, progress: Progress) -> None:
        """Open the session's model; if it cannot be opened, the open one stays."""
        slot = self._access.slot
        slot.healthy()
        if kept.state.opened.identity == self._identity():
            return
        selection, self._notices = self._selection(kept)
        if selection is slot.selection:
            return
        try:
            slot.replace(selection, lambda backend, of: parts.use_model(backend, of, slot.mode), progress)
        except (EngineError, UserError) as error:
            self._notices = (self._other_model(kept, str(error)),)

    def _selection(self, kept: "KeptSession") -> tuple[ModelSelection, tuple[str, ...]]:
        """The session's model; if it is not available, the open one and why."""
        slot, opened = self._access.slot, kept.state.opened
        wanted = opened.model
        if not wanted or wanted == slot.selection.settings.model:
            return slot.selection, ()
        try:
            return select_other(slot.selection.settings, wanted), ()
        except UserError as error:
            return slot.selection, (self._other_model(kept, str(error)),)

    def _other_model(self, kept: "KeptSession", why: str) -> str:
        then = kept.state.opened.title
        return OTHER_MODEL.format(now=self._access.slot.selection.entry.title, then=then, why=why)

    # -- what is written

    def _first(self) -> tuple[Path, Opened]:
        """What a new session is about, and its first event."""
        return self._folder, self._opened()

    def _opened(self) -> Opened:
        slot = self._access.slot
        backend, wanted = slot.healthy(), slot.selection.settings.model
        named = wanted in load_catalogue() or is_url(wanted)
        engine = slot.engine
        return Opened(
            model=wanted if named else str(Path(wanted).expanduser().absolute()),
            title=slot.selection.entry.title,
            identity=self._identity(),
            context=backend.n_ctx,
            kv="" if engine is None else engine.info.kv_type.value,
            speculation="" if engine is None else slot.mode.value,
        )

    def _identity(self) -> tuple[str | int | bool, ...]:
        from laguna_tui.session.model_options import model_identity

        return model_identity(self._access.slot.selection)

    def _note_mode(self, mode: Mode) -> None:
        writer = self.recorder.writer
        if writer is not None:
            began = next(writer.journal.read()).event
            assert isinstance(began, Began), began
            writer.journal.append(self._modes.event(began, mode))

    @property
    def _modes(self) -> "ChosenModes":
        from laguna_tui.session.chosen_modes import ChosenModes

        assert self._state is not None, "sessions are saved"
        return ChosenModes(self._state)
