"""One conversation with a model in this process, about one folder: what every front end talks to.

llama.cpp is loaded only when the session is opened, so that a screen can be there before the model is.
"""

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.config import Speculation
from laguna_engine.errors import EngineError, NativeAbort
from laguna_engine.events import LoadProgress
from laguna_tui.agent.permissions import Approver, EditMode
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import AgentEvent, ReplayCheck, ReplayProgress
from laguna_tui.base.settings import Settings
from laguna_tui.models.entry import ModelEntry
from laguna_tui.models.model_selection import ModelSelection, select_model, select_other
from laguna_tui.session.model_options import agent_options
from laguna_tui.session.replay_check import check_replay

if TYPE_CHECKING:
    from laguna_engine.engine import Engine
    from laguna_tui.agent.messages import ChatMessage
    from laguna_tui.context.blocks import BlockText, Completion, ContextBlock, Cost, Place
    from laguna_tui.session.api import ModelChoice, SessionInfo
    from laguna_tui.session.opening import SessionParts
    from laguna_tui.session.opening_report import OpenedAs


GONE = "{folder} was deleted, so there is nothing to ask about. Make it again, or start in another folder."
WITHHELD = "{folder} {what}, not one project, so its files are not read. To read all of it: /index"
INDEXED = "{folder} is read in the background from now on."


@dataclass(slots=True)
class LocalSession:
    """A session. `mode` is how its engine decodes, once it is open; `state` keeps what it learns about drafts and about
    what did not fit. `context`: tokens that the catalogue insists on, None if it does not. `wait_s`: so long a message
    that is sent waits for the folder's index, where it needs that. `holds_more`: why the folder is not one project, as
    the end of a sentence; its index then waits for `index`.
    """

    settings: Settings
    folder: Path
    entry: ModelEntry
    drafter: Path | None
    state: Path | None
    mode: Speculation
    context: int | None = None
    wait_s: float = 2.0
    holds_more: str = ""
    _approver: Approver | None = field(default=None, init=False)
    _parts: "SessionParts | None" = field(default=None, init=False)
    _lost: bool = field(default=False, init=False)

    @classmethod
    def prepare(cls, settings: Settings, folder: Path, state: Path | None = None) -> "LocalSession":
        """Find out what would be opened, without opening it. Without `state` nothing is kept on disk.

        Raises:
            UserError: the settings name no model, or no drafter, that is there.
        """
        named, mode = select_model(settings), Speculation(settings.speculation)
        return cls(settings, folder, named.entry, named.drafter, state, mode, named.context)

    @property
    def title(self) -> str:
        """The model's name, as it is shown."""
        return self.entry.title

    @property
    def given_up(self) -> tuple[str, ...]:
        """What was given up to open the model when memory ran out, as sentences; mostly nothing."""
        return self._parts.opened_as.report.warnings if self._parts is not None else ()

    def open(self, progress: Callable[[LoadProgress], None]) -> "SessionInfo":
        """Load the model and begin a conversation.

        Raises:
            EngineError: the model cannot be opened; says why and what to do. Nothing of it stays open.
        """
        from laguna_tui.agent.loop import Agent
        from laguna_tui.agent.profile import profile_of
        from laguna_tui.agent.tools.base.edit import SessionEdits
        from laguna_tui.agent.tools.registry import Toolbox
        from laguna_tui.repo.workspace import Workspace
        from laguna_tui.session.opening import SessionParts
        from laguna_tui.session.workspace_context import WorkspaceContext

        options = agent_options(self.settings, self.entry)
        # Whatever fails on the way, nothing of it stays open.
        with contextlib.ExitStack() as undo:
            engine, opened_as = self._open_engine(self.mode, progress)
            undo.callback(engine.close)
            workspace = Workspace(self.folder)
            context = WorkspaceContext(workspace, self.settings, self.state, self.wait_s)
            undo.callback(context.close)
            context.codebase.withheld = self._withheld
            edits = SessionEdits(self.edits, self._approver, state=self.state)
            undo.callback(edits.close)
            profile = profile_of(self.entry, engine.info)
            toolbox = Toolbox(profile, workspace, codebase=context.codebase, edits=edits, state=self.state)
            undo.callback(toolbox.close)
            attacher = context.attacher(engine, profile)
            agent = Agent(engine, engine.vocab, toolbox, options, attacher=attacher)
            parts = SessionParts(engine, toolbox, agent, opened_as, context, edits)
            info = self._info(parts)
            undo.pop_all()
        self._parts = parts
        return info

    def ask(self, message: str) -> Generator[AgentEvent, None, None]:
        """Send a message; iterate to make it go on.

        EngineError when the engine fails. If llama.cpp aborted, the next message gets a fresh engine, which reads the
        conversation again.
        """
        if not self.folder.is_dir():
            raise UserError(GONE.format(folder=self.folder))
        parts = self._whole_parts()
        parts.context.start_for(message)
        try:
            yield from parts.agent.run(message)
        except NativeAbort:
            self._lost = True
            raise

    def cancel(self) -> None:
        """Stop what runs now, soon. Any thread, at any time."""
        if self._parts is not None:
            self._parts.agent.cancel()

    def new_chat(self) -> None:
        """Forget the conversation."""
        self._open_parts().agent.new_chat()

    def speculate(self, mode: Speculation, progress: Callable[[LoadProgress], None]) -> "SessionInfo":
        """Decode in this mode from now on. Plain decoding needs no other engine, strict and fast each their own.

        Raises:
            UserError, EngineError: the mode cannot be had; the session goes on as it was.
        """
        from laguna_engine.native.cpu_determinism import use_fixed_kernels
        from laguna_tui.session.opening import strict_refusal

        parts = self._whole_parts()
        # Asked before the engine is given up: once something was computed, the answer is no.
        if mode is Speculation.STRICT and not use_fixed_kernels():
            raise UserError(strict_refusal(self.settings, self.folder))
        if mode not in (Speculation.OFF, parts.engine.info.speculation):
            self._reopen(mode, progress)
        self.mode = mode
        parts.agent.use_drafting(replace(parts.agent.drafting, enabled=mode is not Speculation.OFF))
        return self._info(parts)

    def models(self) -> tuple["ModelChoice", ...]:
        """What could answer: the catalogue's models and the file that is open now. Any thread; opens nothing."""
        from laguna_tui.session.model_list import list_models

        holds = self._parts.opened_as.report.holds if self._parts is not None else {}
        return list_models(self.settings, holds)

    def switch(self, wanted: str, progress: Callable[[LoadProgress], None]) -> "SessionInfo":
        """Answer with another model from now on, a name or a file; it reads the conversation again.

        Raises:
            UserError, EngineError: it cannot be had; the session goes on with the model it had, if that can be.
        """
        before = self._which()
        after = select_other(self.settings, wanted)
        if self._parts is None:
            self._become(after)
            return self.open(progress)
        parts = self._whole_parts()
        said = parts.agent.said()
        self._retire(parts)
        self._lost = True
        try:
            self._become(after)
            self._hand_over(*self._open_engine(self.mode, progress), said)
        except (EngineError, UserError):
            self._become(before)
            self._take(*self._open_engine(self.mode, progress))
            raise
        return self._info(parts)

    def prove(self, progress: Callable[[ReplayProgress], None]) -> ReplayCheck:
        """Generate the last generation of the last answer again without speculation, and compare.

        Raises:
            UserError: there is no answer yet.
            EngineError: the engine fails. If llama.cpp aborted, the next message gets a fresh engine.
        """
        parts = self._whole_parts()
        last = parts.agent.last
        if last is None:
            raise UserError("There is no answer to prove yet. Ask something first.")
        try:
            return check_replay(parts.engine, last, progress)
        except NativeAbort:
            self._lost = True
            raise

    def cost(self, message: str) -> "Cost | None":
        """What sending this message would cost now; None while no model is open. Any thread."""
        parts = self._parts
        if parts is None or self._lost:
            return None
        # The engine may be closed for another one meanwhile.
        with contextlib.suppress(EngineError):
            return parts.agent.cost(message)
        return None

    def complete(self, text: str, cursor: int) -> "Sequence[Completion]":
        """Ways to go on with a mention that the cursor stands in, best first. Any thread."""
        from laguna_tui.context.completion import completions

        parts = self._parts
        if parts is None:
            return ()
        parts.context.start()
        return completions(parts.context.codebase, text, cursor)

    def ahead(self, message: str) -> None:
        """Compute what is certain of a message that is being typed; returns when it is done or was cancelled."""
        if self._parts is None or self._lost:
            return
        # Who waits for the user has time to learn what can be mentioned.
        self._parts.context.start()
        try:
            self._parts.agent.ahead(message)
        except NativeAbort:
            self._lost = True
            raise

    def blocks(self) -> "Sequence[ContextBlock]":
        """What the prompt consists of now. Any thread."""
        parts = self._parts
        with contextlib.suppress(EngineError):
            return () if parts is None else parts.agent.blocks()
        return ()

    def block_text(self, number: int) -> "BlockText":
        """One block's text. Any thread."""
        return self._open_parts().agent.block_text(number)

    def change_cost(self, places: "Mapping[int, Place]") -> "Cost | None":
        """What the conversation would cost with these blocks in these places. Any thread."""
        parts = self._parts
        with contextlib.suppress(EngineError):
            return None if parts is None else parts.agent.change_cost(places)
        return None

    def change(self, places: "Mapping[int, Place]") -> None:
        """Put these blocks into these places, from the next message on."""
        self._open_parts().agent.change(places)

    def trust(self) -> str:
        """Let the folder's AGENTS.md instruct the model; what is trusted now, and what is new about it. Any thread.

        Raises:
            UserError: the folder cannot be trusted, or nothing is kept on this machine.
        """
        from laguna_tui.context.instructions import trust_folder
        from laguna_tui.context.trust import Trust

        return trust_folder(self.folder, Trust(self.state))

    @property
    def _withheld(self) -> str:
        return WITHHELD.format(folder=self.folder, what=self.holds_more) if self.holds_more else ""

    def index(self) -> str:
        """Read the folder's code, also where it is more than a project; a sentence about it. Any thread."""
        self.holds_more = ""
        if self._parts is not None:
            self._parts.context.codebase.withheld = ""
            self._parts.context.start()
        return INDEXED.format(folder=self.folder)

    @property
    def edits(self) -> EditMode:
        """Which edits the model may make. May be set from any thread; the user's ALWAYS sets ALLOW."""
        return EditMode(self.settings.edits) if self._parts is None else self._parts.edits.mode

    @edits.setter
    def edits(self, mode: EditMode) -> None:
        # Of this session alone: no command that starts another one may repeat it.
        origin = {**self.settings.origin, "edits": "this session"}
        self.settings = replace(self.settings, edits=mode.value, origin=origin)
        if self._parts is not None:
            self._parts.edits.mode = mode

    def use_approver(self, approver: Approver) -> None:
        """Whom to ask about edits; before that, nobody can be asked."""
        self._approver = approver
        if self._parts is not None:
            self._parts.edits.approver = approver

    def undo(self) -> str:
        """Take back the newest edit of this session; a sentence about what became of it. Not while a turn runs."""
        from laguna_tui.agent.tools.base.edit import NOTHING

        return NOTHING if self._parts is None else self._parts.edits.undo()

    def close(self) -> None:
        """Free everything. Idempotent."""
        parts, self._parts = self._parts, None
        if parts is not None:
            # What is gathered or scored for a message is waited for below.
            parts.agent.cancel()
            self._retire(parts)
            parts.toolbox.close()
            parts.edits.close()
            parts.context.close()

    def _retire(self, parts: "SessionParts") -> None:
        """Close the engine, and keep what it learned."""
        from laguna_tui.session.opening import close_engine

        close_engine(parts.engine, parts.opened_as.options, None if self._lost else self.state)

    def _open_engine(self, mode: Speculation, progress: Callable[[LoadProgress], None]) -> "tuple[Engine, OpenedAs]":
        """As planned for the memory that is free now."""
        from laguna_tui.session.opening import open_selection

        return open_selection(self._which(), mode, self.state, progress)

    def _reopen(self, mode: Speculation, progress: Callable[[LoadProgress], None]) -> None:
        """Another engine for the same conversation, or the one there was when the new one cannot be had.

        The old one goes first: two may not fit.
        """
        parts = self._open_parts()
        before = parts.engine.info.speculation
        self._retire(parts)
        self._lost = True
        try:
            self._take(*self._open_engine(mode, progress))
        except EngineError:
            if mode is not before:
                self._take(*self._open_engine(before, progress))
            raise

    def _which(self) -> ModelSelection:
        return ModelSelection(self.settings, self.entry, self.drafter, self.context)

    def _become(self, named: ModelSelection) -> None:
        self.settings, self.entry, self.drafter, self.context = (
            named.settings, named.entry, named.drafter, named.context,
        )  # fmt: skip

    def _hand_over(self, engine: "Engine", opened_as: "OpenedAs", said: "Sequence[ChatMessage]") -> None:
        """Let another model have the conversation; it is closed again if it cannot."""
        from laguna_tui.agent.profile import profile_of

        parts = self._open_parts()
        try:
            options = agent_options(self.settings, self.entry)
            drafting = replace(options.drafting, enabled=self.mode is not Speculation.OFF)
            options = replace(options, drafting=drafting)
            toolbox = parts.toolbox.with_profile(profile_of(self.entry, engine.info))
            attacher = parts.context.attacher(engine, toolbox.profile)
            parts.agent.use_model(engine, engine.vocab, options, said, toolbox, attacher)
        except BaseException:
            engine.close()
            raise
        parts.engine, parts.toolbox, parts.opened_as, self._lost = engine, toolbox, opened_as, False

    def _take(self, engine: "Engine", opened_as: "OpenedAs") -> None:
        parts = self._open_parts()
        parts.engine, parts.opened_as = engine, opened_as
        parts.agent.use_engine(engine, engine.vocab, parts.context.attacher(engine, parts.toolbox.profile))
        self._lost = False

    def _info(self, parts: "SessionParts") -> "SessionInfo":
        from laguna_tui.session.opening import session_info

        return session_info(parts, self.settings, self.folder, self.mode, self._withheld)

    def _open_parts(self) -> "SessionParts":
        if self._parts is None:
            raise UserError("no model is loaded; open one first")
        return self._parts

    def _whole_parts(self) -> "SessionParts":
        """What is open, with a fresh engine if the one there was is lost."""
        if self._lost:
            self._reopen(self._open_parts().engine.info.speculation, lambda progress: None)
        return self._open_parts()
