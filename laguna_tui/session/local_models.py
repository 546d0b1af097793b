"""The models available on this machine, and switching between them and between modes of decoding."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from laguna_engine.config import Speculation
from laguna_tui.base.errors import UserError
from laguna_tui.models.model_selection import select_other
from laguna_tui.session.engine_slot import Progress
from laguna_tui.session.local_sessions import SessionAccess

if TYPE_CHECKING:
    from laguna_tui.session.values import ModelChoice, SessionInfo


class Models:
    """Which model answers, and how it decodes."""

    def __init__(self, access: SessionAccess, changed: Callable[[], None]) -> None:
        """Switch the engine of a session. changed: called when the model or its mode of decoding has changed."""
        self._slot, self._access, self._changed = access.slot, access, changed

    def choices(self) -> "tuple[ModelChoice, ...]":
        """The catalogue's models and the file that is open now. Any thread, also while a turn runs.

        Opens nothing; may take half a second.
        """
        from laguna_tui.session.model_list import list_models

        slot = self._slot
        return list_models(slot.selection.settings, slot.opened_as.report.holds if slot.opened_as else {})

    def others(self) -> "tuple[ModelChoice, ...]":
        """What other programs serve or store on this machine. Any thread; asks their ports, for two seconds at most."""
        from laguna_tui.session.model_list import list_others

        return list_others()

    def switch(self, wanted: str, progress: Progress) -> "SessionInfo":
        """Answer with another model from now on; it reads the conversation again.

        Args:
            wanted: a name of the catalogue, or the path of a file.

        Raises:
            EngineError, UserError: it cannot be opened; the previous model, if there was one, continues answering.
        """
        slot, parts = self._slot, self._access.parts()
        selection = select_other(slot.selection.settings, wanted)
        if parts is None:
            slot.selection = selection
            return self._access.open(progress)
        slot.healthy()
        slot.replace(selection, lambda backend, of: parts.use_model(backend, of, slot.mode), progress)
        self._changed()
        return self._access.info()

    def speculate(self, mode: Speculation, progress: Progress) -> "SessionInfo":
        """Use this mode of decoding from now on. The conversation stays.

        Strict and fast need an engine of their own, plain decoding does not.

        Raises:
            EngineError, UserError: the mode is not available; nothing was changed.
        """
        from laguna_engine.native.cpu_determinism import use_fixed_kernels
        from laguna_tui.session.remote_opening import in_process

        slot, parts = self._slot, self._access.parts()
        engine = in_process(slot.healthy(), "Another mode of speculation").engine
        assert parts is not None, "a session with an engine has its parts"
        # Asked before the engine is given up: once something was computed, the answer is no.
        if mode is Speculation.STRICT and not use_fixed_kernels():
            raise UserError(self._access.info().no_strict)
        if mode not in (Speculation.OFF, engine.info.speculation):
            slot.reopen(mode, progress)
        slot.mode = mode
        options = parts.agent.options
        drafting = replace(options.drafting, enabled=mode is not Speculation.OFF)
        parts.agent.options = replace(options, drafting=drafting)
        self._changed()
        return self._access.info()
