"""The sessions on disk: which there are, which one is open, and how another one is resumed."""

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.errors import EngineError
from laguna_engine.files import write_output
from laguna_tui.agent.conversation import ConversationState
from laguna_tui.base.crash_log import create_private_file
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import EXPORTS
from laguna_tui.base.permission_request import Mode
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.model_selection import ModelSelection, select_other
from laguna_tui.models.remote_entry import is_url
from laguna_tui.session.engine_slot import EngineSlot, Progress
from laguna_tui.session.history import History
from laguna_tui.session.permissions import PermissionSettings
from laguna_tui.session.recorder import Recorder
from laguna_tui.session.session_parts import SessionParts
from laguna_tui.session.values import FolderGoneError, NotSaved, OtherFolderError, Resumed, SessionInfo
from laguna_tui.store.events import Began, Opened, Titled
from laguna_tui.store.session_summary import SessionSummary

if TYPE_CHECKING:
    from laguna_tui.session.chosen_modes import ChosenModes
    from laguna_tui.session.resuming import SavedSession
    from laguna_tui.store.session_store import SessionStore

NOT_SAVED = "This session is not saved to disk, so there are no others."
NO_MESSAGES = "This session has no messages yet, so there is nothing to copy."
IS_OPEN = "This session is open already."
_NO_EXPORTS = "There is no state folder to write to. Name a file: /export FILE"
_NOT_WRITTEN = "{path} was not written: {why}. Name another file: /export FILE"
OTHER_MODEL = "Continuing with {now}: {then} is not available. {why}"


class SavedSessions:
    """The sessions saved on disk. Any thread, except `resume`; UserError if something cannot be done.

    A session is named by its `id`, the beginning of its `id`, or its title.

    Attributes:
        given: names of the settings given on the command line; they override those of a session resumed at start.
    """

    def __init__(
        self,
        folder: Path,
        recorder: Recorder,
        history: History,
        permissions: PermissionSettings,
        slot: EngineSlot,
        *,
        open_session: Callable[[Progress], SessionInfo],
        info: Callable[[], SessionInfo],
    ) -> None:
        """Begin without a session; the first message creates its folder.

        Args:
            folder: the workspace.
            recorder: records the open session, if sessions are saved.
            history: its turns.
            permissions: what is allowed without asking.
            slot: the engine.
            open_session: opens the model, and the chosen session.
            info: returns what front ends show of the open session.
        """
        self.given: Collection[str] = ()
        self._folder = folder.resolve()
        self._recorder, self._history, self._permissions, self._slot = recorder, history, permissions, slot
        self._open_session, self._info = open_session, info
        self._store: SessionStore | None = None
        self._chosen = ""
        self._chosen_session: SavedSession | None = None
        self._notices: tuple[str, ...] = ()
        permissions.changed = self._note_mode

    # -- which there are

    @property
    def current(self) -> SessionSummary | None:
        """The open session; None before its first message is saved. Reads the disk."""
        with suppress(UserError):
            return self._summary(self._saved().find(self.open_id)) if self.open_id else None
        return None

    @property
    def open_id(self) -> str:
        """ID of the open session; empty for none. Immediate."""
        writer = self._recorder.writer
        return "" if writer is None else writer.journal.id

    @property
    def failing(self) -> NotSaved:
        """What cannot be saved at present, and why. Immediate."""
        writer = self._recorder.writer
        return NotSaved("" if writer is None else writer.journal.failing, self._recorder.kv_cache.failing)

    def list(self, *, everywhere: bool = False) -> Sequence[SessionSummary]:
        """Return the sessions about this folder, or all, newest first. Takes at most 200 ms, like `search`."""
        if self._recorder.state is None:
            return ()
        return tuple(map(self._summary, self._saved().newest(None if everywhere else self._folder)))

    def search(self, words: str, *, everywhere: bool = False) -> Sequence[SessionSummary]:
        """Return the sessions with these words in their titles or contents, best first."""
        if self._recorder.state is None:
            return ()
        return tuple(map(self._summary, self._saved().search(words, None if everywhere else self._folder)))

    def rename(self, session: str, title: str) -> None:
        """Give a session a title."""
        found = self._find(session).id
        if found == self.open_id:
            self._recorder.put(Titled(title=title), durable=True)
        else:
            self._saved().rename(found, title)

    def move(self, session: str, folder: Path) -> None:
        """Make a session be about the place to which its folder was moved."""
        self._saved().move(self._find(session).id, folder.resolve())

    def delete(self, sessions: Collection[str]) -> int:
        """Delete sessions for good, except the open one; returns how many bytes were freed."""
        found = [self._find(session).id for session in sessions]
        return self._saved().delete([each for each in found if each != self.open_id])

    def export(self, session: str, form: str) -> str:
        """Return a session as text, without secrets.

        Args:
            session: the session.
            form: "markdown", "html" or "json".
        """
        from laguna_tui.store.session_export import ExportForm, exported
        from laguna_tui.store.session_transcript import read_transcript

        return exported(read_transcript(self._saved().folder / self._find(session).id), ExportForm(form))

    @staticmethod
    def export_path(target: str, state: Path | None) -> Path:
        """Return the file to export to: what the user named, else one in the state folder's exports."""
        name = time.strftime("laguna-chat-%Y%m%d-%H%M%S.md")
        if target:
            named = Path(target).expanduser()
            return named / name if named.is_dir() else named
        if state is None:
            raise UserError(_NO_EXPORTS)
        folder = state / EXPORTS
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder / name

    def write_export(self, path: Path, session: str, *, shown: str = "", replace: bool = False) -> Path:
        """Write a session as text, in the form that the suffix says; returns the file.

        Args:
            path: the file.
            session: the session.
            shown: what is written if there is no session.
            replace: write to exactly this file, even if it exists; else to a new one.
        """
        from laguna_tui.store.session_export import ExportForm

        form = next((each for each in ExportForm if each.suffix == path.suffix), ExportForm.MARKDOWN)
        text = self.export(session, form) if session else shown
        try:
            if not replace:
                return create_private_file(path.parent, path.stem, path.suffix, text)
            write_output(path, text, 0o600)
            return path
        except OSError as error:
            raise UserError(_NOT_WRITTEN.format(path=path, why=error.strerror or error)) from None

    def fork(self, session: str = "", title: str = "") -> SessionSummary:
        """Copy a session (empty: the open one) in order to resume the copy."""
        copied = self._find(session).id if session else self.open_id
        if not copied:
            raise UserError(NO_MESSAGES)
        return self._summary(self._saved().find(self._saved().fork(copied, title)))

    def _find(self, session: str) -> SessionSummary:
        """Return the session with this ID, ID prefix or title; UserError if there is none."""
        return self._saved().find(session, self._folder)

    def _saved(self) -> "SessionStore":
        if self._recorder.state is None:
            raise UserError(NOT_SAVED)
        if self._store is None:
            from laguna_tui.store.session_store import SessionStore

            self._store = SessionStore(self._recorder.state, self._recorder.cache_folder or self._recorder.state)
        return self._store

    def _summary(self, session: SessionSummary) -> SessionSummary:
        """Return the session as seen from the open one."""
        return replace(session, locked=session.locked and session.id != self.open_id)

    # -- the open one

    def begin(self) -> None:
        """Begin a session if sessions are saved and none is open."""
        if self._recorder.state is not None and self._recorder.writer is None:
            # Undo may have been asked about before there was a place for it.
            self._history.begin_again()
            self._history.turns.log = self._recorder.begin(self._folder, self._opened())
            self._note_mode(self._permissions.mode)

    def begin_another(self) -> None:
        """End the open session; the next message begins another one."""
        if self._recorder.writer is not None:
            self._history.begin_again()
            self._recorder.end()
            self._parts.changes.seen.resume({})

    def note_model(self) -> None:
        """Record the model and its settings, and the conversation as it reads it."""
        if self._recorder.writer is not None:
            self._recorder.writer.sync([self._opened()])

    def close(self, reason: str = "") -> None:
        """Close the open session. Idempotent.

        Args:
            reason: why it ended early; empty for a normal end.
        """
        chosen, self._chosen_session = self._chosen_session, None
        if chosen is not None:
            chosen.journal.release()
        self._recorder.end(reason)
        self._recorder.watch(None)
        self._recorder.kv_cache.close()

    # -- resuming

    def choose(self, session: str) -> None:
        """Choose the session to resume once a model is open.

        Raises:
            UserError: it cannot be resumed.
        """
        self._chosen_session = chosen = self._open_saved(session)
        self._chosen = chosen.journal.id
        if "model" not in self.given:
            self._slot.selection, self._notices = self._selection(chosen)

    def resume_chosen(self) -> Resumed | None:
        """Resume the chosen session, now that a model is open; None if none was chosen."""
        if not self._chosen:
            return None
        began = time.monotonic()
        chosen = self._chosen_session or self._open_saved(self._chosen)
        self._chosen, self._chosen_session = "", None
        given, self.given = self.given, ()
        try:
            resumed = self._restore(chosen, chosen.conversation(self._parts), given)
        except BaseException:
            chosen.journal.release()
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
        parts = self._recorder.parts
        if parts is None:
            self.choose(session)
            return self._open_session(progress)
        saved = self._open_saved(session)
        try:
            conversation = saved.conversation(parts)
            self._use_model(saved, parts, progress)
            self._history.begin_again()
            self._recorder.end()
            resumed = self._restore(saved, conversation)
        except BaseException:
            saved.journal.release()
            raise
        return replace(self._info(), resumed=replace(resumed, seconds=time.monotonic() - began))

    @property
    def _parts(self) -> SessionParts:
        assert self._recorder.parts is not None, "there is an agent"
        return self._recorder.parts

    def _open_saved(self, session: str) -> "SavedSession":
        """Open a session of this folder."""
        from laguna_tui.session.resuming import SavedSession

        found = self._find(session)
        if found.id == self.open_id:
            raise UserError(IS_OPEN)
        if not found.folder.is_dir():
            raise FolderGoneError(found.folder, found.id)
        if found.folder != self._folder:
            raise OtherFolderError(found.folder, found.id)
        return SavedSession.open(self._saved().folder / found.id)

    def _restore(self, saved: "SavedSession", conversation: ConversationState, given: Collection[str] = ()) -> Resumed:
        """Restore a session's state, except the given settings. The previous session has ended."""
        from laguna_tui.session.resuming import shown_turns

        recorder, opened = self._recorder, self._opened()
        self._slot.forget_last()
        writer = saved.resume(conversation, recorder, self._history.turns, opened)
        notices, self._notices = [*self._notices], ()
        if saved.journal.notice:
            notices.append(saved.journal.notice)
        if "mode" not in given:
            notices += self._modes.restore(saved.state, self._permissions)
        recorder.kv_cache.use(saved.journal.id)
        restored = recorder.kv_cache.restore()
        notices += restored.notices
        events, left_out = shown_turns(saved, writer.content)
        summary = self._summary(self._saved().find(saved.journal.id))
        return Resumed(summary, tuple(events), left_out, tuple(notices), restored.tokens)

    def _use_model(self, saved: "SavedSession", parts: SessionParts, progress: Progress) -> None:
        """Open the session's model; if it cannot be opened, the open one stays."""
        slot = self._slot
        slot.healthy()
        if saved.state.opened.identity == self._identity():
            return
        selection, self._notices = self._selection(saved)
        if selection is slot.selection:
            return
        try:
            slot.replace(selection, lambda backend, of: parts.use_model(backend, of, slot.mode), progress)
        except (EngineError, UserError) as error:
            self._notices = (self._other_model(saved, error),)

    def _selection(self, saved: "SavedSession") -> tuple[ModelSelection, tuple[str, ...]]:
        """Return the session's model; if it is not available, the open one and why."""
        selection, wanted = self._slot.selection, saved.state.opened.model
        if not wanted or wanted == selection.settings.model:
            return selection, ()
        try:
            return select_other(selection.settings, wanted), ()
        except UserError as error:
            return selection, (self._other_model(saved, error),)

    def _other_model(self, saved: "SavedSession", why: Exception) -> str:
        return OTHER_MODEL.format(now=self._slot.selection.entry.title, then=saved.state.opened.title, why=why)

    # -- what is written

    def _opened(self) -> Opened:
        """Return the event that names the open model."""
        slot = self._slot
        backend, engine, wanted = slot.healthy(), slot.engine, slot.selection.settings.model
        named = wanted in load_catalogue() or is_url(wanted)
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

        return model_identity(self._slot.selection)

    def _note_mode(self, mode: Mode) -> None:
        writer = self._recorder.writer
        if writer is not None:
            began = next(writer.journal.read()).event
            assert isinstance(began, Began), began
            writer.journal.append(self._modes.event(began, mode))

    @property
    def _modes(self) -> "ChosenModes":
        from laguna_tui.session.chosen_modes import ChosenModes

        assert self._recorder.state is not None, "sessions are saved"
        return ChosenModes(self._recorder.state)
