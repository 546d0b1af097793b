"""The engine of a session: which model it is of, how it was opened, whether it was lost, and what takes its place.

llama.cpp is imported only when an engine is opened.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from laguna_engine.config import Speculation
from laguna_engine.errors import EngineError, NativeAbort
from laguna_engine.events import LoadProgress
from laguna_tui.base.errors import UserError
from laguna_tui.models.model_selection import ModelSelection

if TYPE_CHECKING:
    from laguna_engine.engine import Engine
    from laguna_tui.session.opening_report import OpenedAs

Progress = Callable[[LoadProgress], None]


class EngineSource(Protocol):
    """Where engines come from and go to, where several slots share one."""

    def open(
        self, selection: ModelSelection, mode: Speculation, state: Path | None, progress: Progress
    ) -> "tuple[Engine, OpenedAs]":
        """An engine of this model; UserError, EngineError as for `open_selection`."""
        ...

    def close(self, engine: "Engine", opened_as: "OpenedAs", state: Path | None) -> None:
        """A slot needs this engine no more. state: None if it was lost."""
        ...


Adopt = Callable[["Engine", ModelSelection], None]
NO_MODEL = "no model is loaded; open one first"


class EngineSlot:
    """Owns the engine, of which there is at most one: two may not fit into memory.

    Every engine is given to an `adopt` before the slot takes it, and is closed again if that raises. The session's
    thread alone calls the methods; the properties may be read from any.

    Attributes:
        selection: the model that is open, or is opened next.
        mode: how the session decodes; `Speculation.OFF` needs no engine of its own.
        opened_as: how the newest engine was opened, be it lost; None while there is none.
        before_close: is given each engine that is closed, but for lost ones.
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
        self._engine: Engine | None = None
        self._lost = False

    @property
    def engine(self) -> "Engine | None":
        """The engine that can be asked now; None while none is open, and after it was lost."""
        return None if self._lost else self._engine

    @property
    def given_up(self) -> tuple[str, ...]:
        """What was given up to open the model when memory ran out, as sentences; mostly nothing."""
        return self.opened_as.report.warnings if self.opened_as is not None else ()

    def healthy(self) -> "Engine":
        """The engine; a fresh one of the same model where the one before was lost.

        Raises:
            UserError: no model was opened yet.
            EngineError: a fresh one cannot be opened; the next call tries again.
        """
        if self._lost:
            self.reopen(self._newest().info.speculation, lambda progress: None)
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
        before = self._newest().info.speculation
        self.retire()
        try:
            self._open(self.selection, mode, self._adopt, progress)
        except (EngineError, UserError):
            if mode is not before:
                self._open(self.selection, before, self._adopt, progress)
            raise

    def replace(self, selection: ModelSelection, adopt: Adopt, progress: Progress) -> None:
        """Open another model in the place of the one there is, which is closed first; `adopt` takes its engine.

        Raises:
            UserError, EngineError: it cannot be opened or adopted; the model before was opened again.
        """
        self.retire()
        try:
            self._open(selection, self.mode, adopt, progress)
        except (EngineError, UserError):
            self.open(progress)
            raise

    def retire(self) -> None:
        """Close the engine and keep what it learned; `healthy` then opens the same model again. Idempotent."""
        from laguna_tui.session.opening import close_engine

        if self._engine is not None and self.opened_as is not None:
            if not self._lost:
                self.before_close(self._engine)
            kept = None if self._lost else self._state
            if self._source is None:
                close_engine(self._engine, self.opened_as.options, kept)
            else:
                self._source.close(self._engine, self.opened_as, kept)
            self._lost = True

    def close(self) -> None:
        """Close the engine for good. Idempotent."""
        self.retire()
        self._engine, self.opened_as, self._lost = None, None, False

    def _newest(self) -> "Engine":
        """The engine, be it lost."""
        if self._engine is None:
            raise UserError(NO_MODEL)
        return self._engine

    def _open(self, selection: ModelSelection, mode: Speculation, adopt: Adopt, progress: Progress) -> None:
        from laguna_tui.session.opening import open_selection

        take = open_selection if self._source is None else self._source.open
        engine, opened_as = take(selection, mode, self._state, progress)
        try:
            adopt(engine, selection)
        except BaseException:
            if self._source is None:
                engine.close()
            else:
                self._source.close(engine, opened_as, None)
            raise
        self.selection, self._engine, self.opened_as, self._lost = selection, engine, opened_as, False
