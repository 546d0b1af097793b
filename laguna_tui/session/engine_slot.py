"""What generates in a session, an engine or an endpoint: of which model, how opened, whether lost, what replaces it.

llama.cpp is imported only when an engine is opened.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from laguna_engine.config import Speculation
from laguna_engine.errors import EngineError, NativeAbort
from laguna_engine.events import LoadProgress
from laguna_tui.base.errors import UserError
from laguna_tui.models.entry import ModelKind
from laguna_tui.models.model_selection import ModelSelection

if TYPE_CHECKING:
    from laguna_engine.engine import Engine
    from laguna_tui.backends.remote import RemoteBackend
    from laguna_tui.session.opening_report import OpenedAs

Progress = Callable[[LoadProgress], None]


class EngineSource(Protocol):
    """Opens and closes engines that several slots share."""

    def open(
        self, selection: ModelSelection, mode: Speculation, state: Path | None, progress: Progress
    ) -> "tuple[Engine, OpenedAs]":
        """An engine of this model; UserError, EngineError as for `open_selection`."""
        ...

    def close(self, engine: "Engine", opened_as: "OpenedAs", *, lost: bool) -> None:
        """A slot needs this engine no more; nobody gets a lost one again."""
        ...


Adopt = Callable[["Engine | RemoteBackend", ModelSelection], None]
NO_MODEL = "no model is loaded; open one first"


class EngineSlot:
    """Owns the engine, of which there is at most one: two may not fit into memory. An endpoint may be in its place.

    Every engine is given to an `adopt` before the slot takes it, and is closed again if that raises. The session's
    thread alone calls the methods; the properties may be read from any.

    Attributes:
        selection: the model that is open, or is opened next.
        mode: how the session decodes; `Speculation.OFF` needs no engine of its own.
        opened_as: how the newest engine was opened, be it lost; None while there is none.
        before_close: is given each engine of this process that is closed, but for lost ones.
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
            state: folder that keeps what engines learn about drafts and about what did not fit; None keeps nothing.
            adopt: makes the session use an engine of its own model: the first one, and each that replaces a lost one.
            source: where engines come from; None opens and closes its own.
        """
        self.selection = selection
        self.mode = mode
        self.opened_as: OpenedAs | None = None
        self.before_close: Callable[[Engine], None] = lambda engine: None
        self._state = state
        self._adopt = adopt
        self._source = source
        self._engine: Engine | RemoteBackend | None = None
        self._lost = False

    @property
    def engine(self) -> "Engine | None":
        """The engine of this process that can be asked now; None while none is open, after it was lost, and where the
        model is behind an endpoint."""
        return None if self.lost or self._remote else cast("Engine | None", self._engine)

    @property
    def backend(self) -> "Engine | RemoteBackend | None":
        """What can be asked now, wherever it is; None while nothing is open, and after it was lost."""
        return None if self.lost else self._engine

    @property
    def shared(self) -> bool:
        """Whether other sessions use the same engine."""
        return self._source is not None

    @property
    def lost(self) -> bool:
        """Whether what was open is not any more: llama.cpp aborted, whoever used it, or it was retired."""
        engine = self._engine
        return self._lost or (engine is not None and engine.lost)

    @property
    def given_up(self) -> tuple[str, ...]:
        """What was given up to open the model when memory ran out, as sentences; mostly nothing."""
        return self.opened_as.report.warnings if self.opened_as is not None else ()

    @property
    def _remote(self) -> bool:
        """Whether the model is behind an endpoint."""
        return self.selection.entry.kind is ModelKind.REMOTE

    def healthy(self) -> "Engine | RemoteBackend":
        """What generates; a fresh one of the same model where the one before was lost.

        Raises:
            UserError: no model was opened yet.
            EngineError: a fresh one cannot be opened; the next call tries again.
        """
        if self.lost and self._remote:
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
            UserError, EngineError: it cannot be opened, or not be adopted; nothing of it stays open.
        """
        self._open(self.selection, self.mode, self._adopt, progress)

    def reopen(self, mode: Speculation, progress: Progress) -> None:
        """Put another engine of the same model into the place of the one there is, which is closed first.

        Raises:
            UserError, EngineError: there is none for this mode; the one for the mode before was opened again.
        """
        before = self._opened_mode()
        self.retire()
        try:
            self._open(self.selection, mode, self._adopt, progress)
        except (EngineError, UserError):
            if mode is not before:
                self._open(self.selection, before, self._adopt, progress)
            raise

    def replace(self, selection: ModelSelection, adopt: Adopt, progress: Progress) -> None:
        """Open another model in the place of the one there is, which is closed first; `adopt` takes its engine.

        What is open stays until an endpoint has answered, which takes no memory here.

        Raises:
            UserError, EngineError: it cannot be opened or adopted; the model before was opened again.
        """
        if selection.entry.kind is not ModelKind.REMOTE:
            self.retire()
        try:
            self._open(selection, self.mode, adopt, progress)
        except (EngineError, UserError):
            if self._lost:
                self.open(progress)
            raise

    def retire(self) -> None:
        """Close the engine and keep what it learned; `healthy` then opens the same model again. Idempotent."""
        if self._engine is not None and self.opened_as is not None:
            lost = self.lost
            if not lost and self.opened_as.options is not None:
                self.before_close(cast("Engine", self._engine))
            self._give_back(self._engine, self.opened_as, self._state, lost=lost)
            self._lost = True

    def close(self) -> None:
        """Close the engine for good. Idempotent."""
        self.retire()
        self._engine, self.opened_as, self._lost = None, None, False

    def _opened_mode(self) -> Speculation:
        """The mode that the engine was opened in."""
        opened_as = self.opened_as
        self._newest()
        return opened_as.options.speculation if opened_as and opened_as.options else self.mode

    def _newest(self) -> "Engine | RemoteBackend":
        """What generates, be it lost."""
        if self._engine is None:
            raise UserError(NO_MODEL)
        return self._engine

    def _open(self, selection: ModelSelection, mode: Speculation, adopt: Adopt, progress: Progress) -> None:
        engine, opened_as = self._opened(selection, mode, progress)
        # Only of a change to an endpoint is something open still.
        if self._engine is not None and not self._lost:
            self.retire()
        try:
            adopt(engine, selection)
        except BaseException:
            self._give_back(engine, opened_as, None, lost=False)
            raise
        self.selection, self._engine, self.opened_as, self._lost = selection, engine, opened_as, False

    def _opened(
        self, selection: ModelSelection, mode: Speculation, progress: Progress
    ) -> "tuple[Engine | RemoteBackend, OpenedAs]":
        if selection.entry.kind is ModelKind.REMOTE:
            from laguna_tui.session.remote_opening import open_remote

            return open_remote(selection, progress)
        from laguna_tui.session.opening import open_selection

        take = open_selection if self._source is None else self._source.open
        return take(selection, mode, self._state, progress)

    def _give_back(
        self, engine: "Engine | RemoteBackend", opened_as: "OpenedAs", state: Path | None, *, lost: bool
    ) -> None:
        """Close an engine and keep what it learned, unless it is lost; a shared one goes back to its source."""
        if opened_as.options is None:
            engine.close()
        elif self._source is None:
            from laguna_tui.session.opening import close_engine

            close_engine(cast("Engine", engine), opened_as.options, None if lost else state)
        else:
            self._source.close(cast("Engine", engine), opened_as, lost=lost)
