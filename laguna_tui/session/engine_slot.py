"""What generates in a session, an engine or an endpoint: its model, how it was opened, and what replaces a lost one.

llama.cpp is imported only when an engine is opened.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from laguna_engine.config import Speculation
from laguna_engine.errors import EngineError, NativeAbort
from laguna_engine.events import LoadProgress
from laguna_tui.base.errors import UserError
from laguna_tui.models.entry import ModelKind
from laguna_tui.models.model_selection import ModelSelection
from laguna_tui.session.model_options import agent_options, model_identity, trace_model

if TYPE_CHECKING:
    from laguna_engine.engine import Engine
    from laguna_tui.backends.local.backend import LocalBackend
    from laguna_tui.backends.remote import RemoteBackend
    from laguna_tui.session.opening_report import OpenedAs

Progress = Callable[[LoadProgress], None]
Adopt = Callable[["LocalBackend | RemoteBackend", ModelSelection], None]

NO_MODEL = "no model is loaded; open one first"
LOSSES, WITHIN_S = 3, 600.0
"""Losing this many engines in this time is no accident, and what a lost one had in memory stays there."""
_CHECK_S = 0.5
LOST = "llama.cpp stopped on a failed check. Opening the model again …"
OPEN_AGAIN = "The model is open again."
AGAIN_AND_AGAIN = (
    "llama.cpp stopped on a failed check {losses} times in {minutes:.0f} minutes; run laguna-tui selfcheck, and start "
    "this again with other settings, such as a smaller --context or --speculation off"
)


class EngineSource(Protocol):
    """Opens and closes engines: one for each slot, or one that several slots share.

    Attributes:
        turn: held by the slot whose session generates, where several share an engine; else None.
    """

    turn: "Lock | None"

    def open(
        self, selection: ModelSelection, mode: Speculation, state: Path | None, progress: Progress
    ) -> "tuple[Engine, OpenedAs]":
        """Return an engine of this model. Arguments and errors as of `open_selection`."""
        ...

    def close(self, engine: "Engine", opened_as: "OpenedAs", state: Path | None, *, lost: bool) -> None:
        """Release an engine; nobody gets a lost one again.

        Args:
            engine: the engine.
            opened_as: how it was opened.
            state: folder in which its draft statistics are saved; None saves nothing.
            lost: llama.cpp aborted in it.
        """
        ...


class OwnEngines:
    """Opens an engine of its own for each slot."""

    turn: "Lock | None" = None

    def open(
        self, selection: ModelSelection, mode: Speculation, state: Path | None, progress: Progress
    ) -> "tuple[Engine, OpenedAs]":
        """Open an engine."""
        from laguna_tui.session.opening import open_selection

        return open_selection(selection, mode, state, progress)

    def close(self, engine: "Engine", opened_as: "OpenedAs", state: Path | None, *, lost: bool) -> None:
        """Close an engine."""
        from laguna_tui.session.opening import close_engine

        assert opened_as.options is not None, "an engine is opened with options"
        close_engine(engine, opened_as.options, None if lost else state)


class EngineSlot:
    """Owns the engine, of which there is at most one: two may not fit into memory. An endpoint may be in its place.

    Every engine is given to an `adopt` before the slot takes it, and is closed again if that raises. Only the session's
    thread calls the methods; the properties may be read from any.

    Attributes:
        selection: the model that is open, or is opened next.
        mode: how the session decodes; `Speculation.OFF` needs no engine of its own.
        opened_as: how the newest engine was opened, even if it is lost; None while there is none.
        before_close: called with each engine of this process that is closed, except lost ones.
    """

    def __init__(
        self,
        selection: ModelSelection,
        mode: Speculation,
        state: Path | None,
        adopt: Adopt,
        source: EngineSource | None = None,
    ) -> None:
        """Open nothing yet.

        Args:
            selection: the model.
            mode: how the session decodes.
            state: folder that saves what engines learn about drafts and what did not fit; None saves nothing.
            adopt: makes the session use an engine of its own model: the first one, and each that replaces a lost one.
            source: opens engines; None opens one for this slot alone.
        """
        self.selection = selection
        self.mode = mode
        self.opened_as: OpenedAs | None = None
        self.before_close: Callable[[LocalBackend], None] = lambda backend: None
        self._state = state
        self._adopt = adopt
        self._source = source or OwnEngines()
        self._backend: LocalBackend | RemoteBackend | None = None
        self._lost = False

    @property
    def backend(self) -> "LocalBackend | RemoteBackend | None":
        """What generates now; None while nothing is open, and after it was lost."""
        return None if self.lost else self._backend

    @property
    def local(self) -> "LocalBackend | None":
        """What generates now if its model is in this process; else None."""
        return _local(self.backend)

    @property
    def engine(self) -> "Engine | None":
        """The engine of this process; None while none is open, after it was lost, and for a remote model."""
        return None if (local := self.local) is None else local.engine

    @property
    def shared(self) -> bool:
        """Whether other sessions use the same engine."""
        return self._source.turn is not None

    @property
    def lost(self) -> bool:
        """Whether what was open is no longer usable: llama.cpp aborted, whoever used it, or it was closed."""
        backend = self._backend
        return self._lost or (backend is not None and backend.lost)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about how the model was opened: what was given up, what it cannot do; usually empty."""
        found = self.opened_as.report.warnings if self.opened_as is not None else ()
        return found if (engine := self.engine) is None else (*found, *engine.info.warnings)

    def healthy(self) -> "LocalBackend | RemoteBackend":
        """Return what generates; a fresh one of the same model if the one before was lost.

        Raises:
            UserError: no model was opened yet.
            EngineError: a fresh one cannot be opened; the next call tries again.
        """
        if self.lost and self.selection.entry.kind is ModelKind.REMOTE:
            self.open(lambda progress: None)
        elif self.lost:
            self.reopen(self._opened_mode(), lambda progress: None)
        return self._newest()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note that the engine is lost if llama.cpp aborts in this block."""
        try:
            yield
        except NativeAbort:
            self._lost = True
            raise

    def open(self, progress: Progress) -> None:
        """Open the selected model, as planned for the memory that is free now.

        Raises:
            UserError, EngineError: it cannot be opened or adopted; nothing of it stays open.
        """
        self._open(self.selection, self.mode, self._adopt, progress)

    def reopen(self, mode: Speculation, progress: Progress) -> None:
        """Replace the engine by another one of the same model; the old one is closed first.

        Raises:
            UserError, EngineError: there is none for this mode; one for the previous mode was opened again.
        """
        before, replaced = self._opened_mode(), _local(self._backend)
        self.retire()
        try:
            self._open(self.selection, mode, self._adopt, progress)
        except (EngineError, UserError):
            if mode is not before:
                self._open(self.selection, before, self._adopt, progress)
            raise
        finally:
            if replaced is not None and (local := _local(self._backend)) is not None:
                # What was generated last can still be verified.
                local.last = replaced.last

    def replace(self, selection: ModelSelection, adopt: Adopt, progress: Progress) -> None:
        """Open another model; the old one is closed first, and `adopt` takes the new engine.

        What is open stays until an endpoint has answered, which takes no memory here.

        Raises:
            UserError, EngineError: it cannot be opened or adopted; the previous model was opened again.
        """
        if selection.entry.kind is not ModelKind.REMOTE:
            self.retire()
        try:
            self._open(selection, self.mode, adopt, progress)
        except (EngineError, UserError):
            if self._lost:
                self.open(progress)
            raise

    def forget_last(self) -> None:
        """Forget what was generated last, where another chat begins."""
        if (local := _local(self._backend)) is not None:
            local.last = None

    def retire(self) -> None:
        """Close the engine and save what it learned; `healthy` then opens the same model again. Idempotent."""
        if self._backend is not None and self.opened_as is not None:
            lost, local = self.lost, _local(self._backend)
            if local is not None and not lost:
                self.before_close(local)
            self._release(self._backend, self.opened_as, self._state, lost=lost)
            self._lost = True

    def close(self) -> None:
        """Close the engine for good. Idempotent."""
        self.retire()
        self._backend, self.opened_as, self._lost = None, None, False

    def _opened_mode(self) -> Speculation:
        """Return the mode that the engine was opened in."""
        opened_as = self.opened_as
        self._newest()
        return opened_as.options.speculation if opened_as and opened_as.options else self.mode

    def _newest(self) -> "LocalBackend | RemoteBackend":
        """Return what generates, even if it is lost."""
        if self._backend is None:
            raise UserError(NO_MODEL)
        return self._backend

    def _open(self, selection: ModelSelection, mode: Speculation, adopt: Adopt, progress: Progress) -> None:
        backend, opened_as = self._opened(selection, mode, progress)
        # Something is still open only when an endpoint replaces it.
        if self._backend is not None and not self._lost:
            self.retire()
        try:
            adopt(backend, selection)
        except BaseException:
            self._release(backend, opened_as, None, lost=False)
            raise
        self.selection, self._backend, self.opened_as, self._lost = selection, backend, opened_as, False

    def _opened(
        self, selection: ModelSelection, mode: Speculation, progress: Progress
    ) -> "tuple[LocalBackend | RemoteBackend, OpenedAs]":
        if selection.entry.kind is ModelKind.REMOTE:
            from laguna_tui.session.remote_opening import open_remote

            return open_remote(selection, progress)
        from laguna_tui.agent.profile import profile_of
        from laguna_tui.backends.local.backend import LocalBackend, family_of

        engine, opened_as = self._source.open(selection, mode, self._state, progress)
        try:
            family = family_of(selection.entry, engine.info)
            identity = trace_model(model_identity(selection))
            backend = LocalBackend(engine, family, identity, self._source.turn)
            profile = profile_of(selection.entry, writes_calls=backend.writes_calls)
            constrain = agent_options(selection.settings, selection.entry).constrain
            if profile.tools and profile.constrains(constrain):
                engine.prepare_constraints()
            report = opened_as.report
            warned = replace(report, warnings=(*report.warnings, *backend.warnings))
            return backend, replace(opened_as, report=warned)
        except BaseException:
            self._source.close(engine, opened_as, None, lost=False)
            raise

    def _release(
        self, backend: "LocalBackend | RemoteBackend", opened_as: "OpenedAs", state: Path | None, *, lost: bool
    ) -> None:
        """Close what is open, and save what it learned unless it is lost."""
        from laguna_tui.backends.local.backend import LocalBackend

        if isinstance(backend, LocalBackend):
            self._source.close(backend.engine, opened_as, state, lost=lost)
        else:
            backend.close()


def _local(backend: "LocalBackend | RemoteBackend | None") -> "LocalBackend | None":
    from laguna_tui.backends.local.backend import LocalBackend

    return backend if isinstance(backend, LocalBackend) else None


def keep_open(
    slot: EngineSlot,
    ended: Callable[[float], bool],
    say: Callable[[str], None],
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Open a model that nobody watches again whenever it is lost. Blocks; the slot's thread.

    Args:
        slot: what is open.
        ended: waits for this many seconds; returns whether to stop.
        say: gets sentences about what happens.
        now: returns the seconds of a clock.

    Raises:
        EngineError: it cannot be opened again, or is lost too often.
        UserError: its file is gone.
    """
    losses: deque[float] = deque(maxlen=LOSSES)
    while not ended(_CHECK_S):
        if not slot.lost:
            continue
        losses.append(now())
        if len(losses) == LOSSES and losses[-1] - losses[0] < WITHIN_S:
            raise EngineError(AGAIN_AND_AGAIN.format(losses=LOSSES, minutes=WITHIN_S / 60))
        say(LOST)
        slot.healthy()
        say(OPEN_AGAIN)
