"""One conversation with a model in this process, about one folder: what both front ends talk to.

llama.cpp is loaded only when the session is opened, so that a screen can be there before the model is.
"""

import contextlib
import shlex
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.errors import EngineError, NativeAbort
from laguna_engine.events import LoadProgress
from laguna_engine.options import Speculation
from laguna_tui.agent.approval import Approver, EditMode
from laguna_tui.choices import (
    Which,
    agent_options,
    described,
    economy_file,
    engine_options,
    family_of,
    which,
)
from laguna_tui.errors import UserError
from laguna_tui.events import AgentEvent, Proof, Proving
from laguna_tui.models.catalogue import ModelEntry
from laguna_tui.models.economy import load_economy, save_economy
from laguna_tui.opened import How, Parts
from laguna_tui.proof import proof_of
from laguna_tui.settings import NO_DRAFTER, Settings

if TYPE_CHECKING:
    from laguna_engine.engine import Engine, EngineOptions
    from laguna_tui.agent.retold import Said
    from laguna_tui.context.blocks import BlockText, Completion, ContextBlock, Cost, Place
    from laguna_tui.tui.session import ModelChoice, SessionInfo


# Where is kept which plans failed, in the state folder.
NOTES = "plans.json"
# Where is kept what child processes found out about the library and about model files, in the state folder.
VERDICTS = "native.json"
TOO_LATE = (
    "Strict speculation has to be chosen at the start: which kernels compute is settled for the whole process before "
    "the first token. Leave (/export keeps the conversation) and start again with: {command}"
)

TRUSTED = (
    "{folder} is trusted with what its AGENTS.md says now: it counts from the next chat on."
    " To undo that: laguna-tui trust --revoke"
)
TRUSTED_BEFORE = "{folder} was trusted already; its AGENTS.md is read when a chat begins. Begin one: /new"
NO_INSTRUCTIONS = "{folder} is trusted, but has no AGENTS.md yet: one that you write is read when a chat begins."
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
    _parts: Parts | None = field(default=None, init=False)
    _lost: bool = field(default=False, init=False)

    @classmethod
    def prepare(cls, settings: Settings, folder: Path, state: Path | None = None) -> "LocalSession":
        """Find out what would be opened, without opening it. Without `state` nothing is kept on disk.

        Raises:
            UserError: the settings name no model, or no drafter, that is there.
        """
        named, mode = which(settings), Speculation(settings.speculation)
        return cls(settings, folder, named.entry, named.drafter, state, mode, named.context)

    @property
    def title(self) -> str:
        """The model's name, as it is shown."""
        return self.entry.title

    @property
    def given_up(self) -> tuple[str, ...]:
        """What was given up to open the model when memory ran out, as sentences; mostly nothing."""
        return self._parts.how.told.warnings if self._parts is not None else ()

    def open(self, progress: Callable[[LoadProgress], None]) -> "SessionInfo":
        """Load the model and begin a conversation.

        Raises:
            EngineError: the model cannot be opened; says why and what to do. Nothing of it stays open.
        """
        from laguna_tui.agent.loop import Agent
        from laguna_tui.agent.tools import Edits, Toolbox
        from laguna_tui.repo.workspace import Workspace
        from laguna_tui.surroundings import Surroundings

        options = agent_options(self.settings, self.entry)
        # Whatever fails on the way, nothing of it stays open.
        with contextlib.ExitStack() as undo:
            engine, how = self._open_engine(self.mode, progress)
            undo.callback(engine.close)
            workspace = Workspace(self.folder)
            around = Surroundings(workspace, self.settings, self.state, self.wait_s)
            undo.callback(around.close)
            around.codebase.withheld = self._withheld
            edits = Edits(self.edits, self._approver, state=self.state)
            undo.callback(edits.close)
            codebase, tools = around.codebase, self.entry.tools
            toolbox = Toolbox(workspace, codebase=codebase, tools=tools, edits=edits, state=self.state)
            undo.callback(toolbox.close)
            attacher = around.attacher(engine, self.entry.tools)
            family = family_of(self.entry, engine.info)
            agent = Agent(engine, engine.vocab, family, toolbox, options, attacher=attacher)
            parts = Parts(engine, toolbox, agent, how, around, edits)
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
        parts.around.start_for(message)
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
        from laguna_engine.native.kernels import use_fixed_kernels

        parts = self._whole_parts()
        # Asked before the engine is given up: once something was computed, the answer is no.
        if mode is Speculation.STRICT and not use_fixed_kernels():
            raise UserError(self._no_strict())
        if mode not in (Speculation.OFF, parts.engine.info.speculation):
            self._reopen(mode, progress)
        self.mode = mode
        parts.agent.use_drafting(replace(parts.agent.drafting, enabled=mode is not Speculation.OFF))
        return self._info(parts)

    def models(self) -> tuple["ModelChoice", ...]:
        """What could answer: the catalogue's models and the file that is open now. Any thread; opens nothing."""
        from laguna_tui.offered import offered

        holds = self._parts.how.told.holds if self._parts is not None else {}
        return offered(self.settings, holds)

    def switch(self, wanted: str, progress: Callable[[LoadProgress], None]) -> "SessionInfo":
        """Answer with another model from now on, a name or a file; it reads the conversation again.

        Raises:
            UserError, EngineError: it cannot be had; the session goes on with the model it had, if that can be.
        """
        before = self._which()
        after = self._named(wanted)
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

    def prove(self, progress: Callable[[Proving], None]) -> Proof:
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
            return proof_of(parts.engine, last, progress)
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
        from laguna_tui.context.complete import completions

        parts = self._parts
        if parts is None:
            return ()
        parts.around.start()
        return completions(parts.around.codebase, text, cursor)

    def ahead(self, message: str) -> None:
        """Compute what is certain of a message that is being typed; returns when it is done or was cancelled."""
        if self._parts is None or self._lost:
            return
        # Who waits for the user has time to learn what can be mentioned.
        self._parts.around.start()
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
        from laguna_tui.context.instructions import agree, found
        from laguna_tui.context.trust import Trust

        trust = Trust(self.state)
        before = trust.covers(self.folder)
        agreed = agree(self.folder, trust)
        if not found(self.folder) and not agreed.lines:
            return NO_INSTRUCTIONS.format(folder=agreed.folder)
        words = TRUSTED_BEFORE if before and not agreed.lines else TRUSTED
        return "\n".join([words.format(folder=agreed.folder), *agreed.lines])

    @property
    def _withheld(self) -> str:
        return WITHHELD.format(folder=self.folder, what=self.holds_more) if self.holds_more else ""

    def index(self) -> str:
        """Read the folder's code, also where it is more than a project; a sentence about it. Any thread."""
        self.holds_more = ""
        if self._parts is not None:
            self._parts.around.codebase.withheld = ""
            self._parts.around.start()
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
        from laguna_tui.agent.tools.edits import NOTHING

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
            parts.around.close()

    def _retire(self, parts: Parts) -> None:
        """Close the engine, and keep what it learned."""
        engine = parts.engine
        engine.cancel()
        if self.state is not None and not self._lost:
            # An engine that fails at the very end has nothing to tell; that is no reason not to close it.
            with contextlib.suppress(EngineError):
                learned = engine.economy()
                if learned:
                    save_economy(economy_file(self.state, parts.how.options), learned)
        engine.close()

    def _open_engine(self, mode: Speculation, progress: Callable[[LoadProgress], None]) -> "tuple[Engine, How]":
        """As planned for the memory that is free now."""
        from laguna_engine.engine import Engine
        from laguna_engine.native.verdicts import verdicts
        from laguna_tui.unplanned import open_engine

        if self.state is not None:
            verdicts.keep_in(self.state / VERDICTS)

        def opened(options: "EngineOptions") -> Engine:
            if self.state is not None:
                options = replace(options, economy=load_economy(economy_file(self.state, options)))
            return Engine.open(options, progress)

        asked = engine_options(self.settings, self.entry, self.drafter, mode)
        notes = self.state / NOTES if self.state is not None else None
        engine, options, told = open_engine(asked, self.settings, self.entry.title, self.context, notes, opened)
        return engine, How(options, told)

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

    def _which(self) -> Which:
        return Which(self.settings, self.entry, self.drafter, self.context)

    def _named(self, wanted: str) -> Which:
        """What a name or a file stands for. A drafter and an adapter that the user named were for the model before."""
        none = self.settings.drafter == NO_DRAFTER
        origin = {key: file for key, file in self.settings.origin.items() if key not in ("model", "drafter", "adapter")}
        drafter = NO_DRAFTER if none else None
        return which(replace(self.settings, model=wanted, drafter=drafter, adapter=None, origin=origin))

    def _become(self, named: Which) -> None:
        self.settings, self.entry, self.drafter, self.context = (
            named.settings, named.entry, named.drafter, named.context,
        )  # fmt: skip

    def _hand_over(self, engine: "Engine", how: How, said: "Sequence[Said]") -> None:
        """Let another model have the conversation; it is closed again if it cannot."""
        parts = self._open_parts()
        try:
            options = agent_options(self.settings, self.entry)
            drafting = replace(options.drafting, enabled=self.mode is not Speculation.OFF)
            family = family_of(self.entry, engine.info)
            options = replace(options, drafting=drafting)
            toolbox = parts.toolbox.with_tools(self.entry.tools)
            attacher = parts.around.attacher(engine, self.entry.tools)
            parts.agent.use_model(engine, engine.vocab, family, options, said, toolbox, attacher)
        except BaseException:
            engine.close()
            raise
        parts.engine, parts.toolbox, parts.how, self._lost = engine, toolbox, how, False

    def _take(self, engine: "Engine", how: How) -> None:
        parts = self._open_parts()
        parts.engine, parts.how = engine, how
        parts.agent.use_engine(engine, engine.vocab, parts.around.attacher(engine, self.entry.tools))
        self._lost = False

    def _info(self, parts: Parts) -> "SessionInfo":
        from laguna_tui.tui.session import SessionInfo

        info, told = parts.engine.info, parts.how.told
        warnings = (*told.warnings, *info.warnings, *filter(None, (self._withheld,)))
        return SessionInfo(
            info.n_ctx, described(info), warnings, self.mode, info.drafter, told.lines, self._no_strict()
        )

    def _no_strict(self) -> str:
        """Why strict speculation cannot be had in this process, and the command that has it; empty if it can."""
        from laguna_engine.native.kernels import can_fix_kernels

        if can_fix_kernels():
            return ""
        place = ["--folder", str(self.folder)]
        # The current folder may have been deleted.
        with contextlib.suppress(FileNotFoundError):
            place = [] if self.folder == Path.cwd() else place
        flags = replace(self.settings, speculation=Speculation.STRICT.value).flags()
        return TOO_LATE.format(command=shlex.join(["laguna-tui", *place, *flags]))

    def _open_parts(self) -> Parts:
        if self._parts is None:
            raise UserError("no model is loaded; open one first")
        return self._parts

    def _whole_parts(self) -> Parts:
        """What is open, with a fresh engine if the one there was is lost."""
        if self._lost:
            self._reopen(self._open_parts().engine.info.speculation, lambda progress: None)
        return self._open_parts()
