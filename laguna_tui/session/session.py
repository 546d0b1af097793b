"""One chat about one folder, with a model in this process or behind an endpoint: what every front end talks to.

llama.cpp is loaded only when the session is opened, so that a screen can be there before the model is.
"""

import contextlib
import os
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from laguna_engine.config import Speculation
from laguna_engine.errors import EngineError
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import AgentEvent, ReplayCheck, ReplayDifference, ReplayProgress
from laguna_tui.base.network import Network
from laguna_tui.base.paths import can_hold_files
from laguna_tui.base.settings import Settings
from laguna_tui.models.model_selection import ModelSelection, select_model, select_other
from laguna_tui.session.commands import Commands
from laguna_tui.session.commits import Commits
from laguna_tui.session.engine_slot import NO_MODEL, EngineSlot, EngineSource, Progress
from laguna_tui.session.history import History
from laguna_tui.session.model_options import agent_options
from laguna_tui.session.permissions import PermissionSettings
from laguna_tui.session.recorder import Recorder
from laguna_tui.session.saved_sessions import SavedSessions
from laguna_tui.session.session_parts import SessionParts, SessionServices
from laguna_tui.session.values import ModelChoice, OtherModels, SessionInfo, SessionOptions
from laguna_tui.store.events import SteeringReturned, SteeringSent

if TYPE_CHECKING:
    from laguna_engine.constrain.json_schema import JsonSchema
    from laguna_engine.engine import Engine
    from laguna_engine.parity import Divergence
    from laguna_tui.agent.prompt_preview import PromptPreview
    from laguna_tui.backends.local.answer import GenerationRecord
    from laguna_tui.backends.local.backend import LocalBackend
    from laguna_tui.backends.remote import RemoteBackend
    from laguna_tui.base.messages import Attachment, Place
    from laguna_tui.context.blocks import BlockText, Completion, ContextBlock, Cost
    from laguna_tui.session.shared_model import SharedModel

T = TypeVar("T")

UNSAVED = (
    "Nothing is saved, neither this chat nor your input history: {state} cannot be created. Set HOME to a folder "
    "of yours."
)
GONE = "{folder} was deleted, so there is nothing to ask about. Create it again, or start in another folder."
WITHHELD = "{folder} {what}, not one project, so its files are not read. To read all of it: /index"
INDEXED = "{folder} is being indexed in the background."
NOT_OPEN = "No model is open yet, so the output was not attached."
NO_READER = "This model does not read the output of commands, so it was not attached."
NO_ANSWER = "There is no answer to verify yet. Ask something first."
_PLAIN = SessionOptions()
# Enough text before a difference to find its place: about a line.
_TOKENS_BEFORE = 24
_EXAMPLES = 3
# Tokens of the folder's map that tell whether there is any code.
_ANY_CODE = 16
# Whoever has not asked anything after this time needs no example.
_EXAMPLES_WAIT_S = 120.0


class Session:
    """One chat with one model about one folder; each controller of a front end gets its part of it.

    Attributes:
        chat: messages and answers.
        prompt: what the prompt consists of.
        models: which model answers.
        permissions: what needs no approval.
        history: the turns, and undo.
        commits: git commits in the folder.
        commands: the user's commands and those in the background.
        sessions: the sessions on disk.
        folder: the folder that the chat is about.
        slot: the engine or endpoint, and which model it is of.
        parts: the agent and what it works with; None while the session is not open.
        state: the user's state folder; None if nothing is saved.
        recorder: records the session.
    """

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        state: Path | None = None,
        options: SessionOptions = _PLAIN,
        *,
        resume: str = "",
        given: Collection[str] = (),
        source: EngineSource | None = None,
    ) -> None:
        """Choose what is opened, without opening it.

        Args:
            settings: the user's.
            folder: what the session is about.
            state: the user's state folder; None saves nothing to disk.
            options: how the session is opened.
            resume: the session to resume once it is opened; empty begins a new one.
            given: settings of the command line, which take precedence over those of the session.
            source: opens engines that several sessions share; None opens one of its own.

        Raises:
            UserError: the settings name no model or drafter that is there; or the session cannot be resumed.
        """
        permissions = PermissionSettings(settings, folder, options.rules, options.allow, options.deny)
        selection = select_model(settings)
        self._unsaved = ""
        if state is not None and not os.access(state, os.F_OK) and not can_hold_files(state):
            self._unsaved, state = UNSAVED.format(state=state), None
        self.slot = EngineSlot(selection, Speculation(settings.speculation), state, self._adopt, source)
        self.parts: SessionParts | None = None
        self.state = state
        self._options = options
        self.chat = Chat(self)
        self.prompt = PromptView(self)
        self.models = Models(self)
        self.permissions = permissions
        self.commands = Commands(folder, self.attach, permissions.shows, permissions.command_path_rules)
        self.folder = Folder(self, folder, options.holds_more)
        self.recorder = Recorder(state if options.undoable or options.saved else None, options.cache, self.slot)
        self.history = History(folder, state, self.recorder)
        self.sessions = SavedSessions(
            folder, self.recorder, self.history, permissions, self.slot, open_session=self.open, info=self.info
        )
        self.commits = Commits(folder, lambda: self.opened().agent, self.commands.runner)
        self.sessions.given = given
        if resume:
            self.sessions.choose(resume)

    @property
    def title(self) -> str:
        """The model's name, for the user."""
        return self.slot.selection.entry.title

    def open(self, progress: Progress) -> SessionInfo:
        """Load the model and begin a conversation, or resume the chosen session.

        Raises:
            EngineError, UserError: it cannot be opened; says why and what to do. Nothing of it stays open.
        """
        # Settings that no request can have are refused before the model loads.
        agent_options(self.slot.selection.settings, self.slot.selection.entry)
        self.permissions.opened()
        try:
            with self.models.opening(self.models.name):
                self.slot.open(progress)
            return replace(self.info(), resumed=self.sessions.resume_chosen())
        except BaseException:
            self.close()
            raise

    def info(self) -> SessionInfo:
        """Return what a front end shows of the open session."""
        backend, opened_as, settings = self.slot.healthy(), self.slot.opened_as, self.slot.selection.settings
        assert opened_as is not None, "a healthy engine was opened"
        if self.permissions.mode.value != settings.mode:
            # It applies to this session alone, so the command that starts another one does not repeat it.
            settings = replace(settings, mode=Settings().mode)
        folder, engine, report = self.folder, self.slot.engine, opened_as.report
        if engine is not None:
            from laguna_tui.session.opening import session_info

            info = session_info(engine, report, settings, folder.path, self.slot.mode)
        else:
            from laguna_tui.session.remote_opening import remote_info

            info = remote_info(backend, report)
        servers = self.parts.servers.notes if self.parts is not None else ()
        more = filter(None, (folder.withheld, *self.permissions.notes, *servers, self._unsaved))
        abilities = f"{self.title} {self.parts.toolbox.profile.abilities}" if self.parts is not None else ""
        return replace(info, abilities=abilities, warnings=(*info.warnings, *more))

    @property
    def shared(self) -> "SharedModel | None":
        """The open model, for other programs; None while there is none."""
        from laguna_tui.session.shared_model import shared_model

        return shared_model(self.slot)

    def opened(self) -> SessionParts:
        """Return what is open; UserError if nothing is."""
        if self.parts is None:
            raise UserError(NO_MODEL)
        return self.parts

    def close(self, reason: str = "") -> None:
        """Free everything. Idempotent.

        Args:
            reason: what ended it, such as a signal; empty if the user did.
        """
        parts, self.parts = self.parts, None
        if parts is not None:
            # What is gathered or scored for a message is waited for below.
            parts.agent.cancel()
        self.commands.close()
        self.slot.close()
        if parts is not None:
            parts.close()
        self.history.close()
        self.sessions.close(reason)

    def attach(self, piece: "Attachment") -> str:
        """Attach a piece to the next message; returns why it cannot be, empty if it is."""
        if self.parts is None:
            return NOT_OPEN
        if not self.parts.agent.attach(piece):
            return NO_READER
        self.recorder.sync_attached()
        return ""

    def _adopt(self, backend: "LocalBackend | RemoteBackend", selection: ModelSelection) -> None:
        """Use a backend of the session's own model; the first one begins the conversation."""
        if self.parts is not None:
            self.parts.use_backend(backend)
            return
        from laguna_tui.agent.changes import Changes

        history, gate, folder = self.history.turns, self.permissions.opened(), self.folder
        changes = Changes(history if self._options.undoable else None, self.state)
        services = SessionServices(changes, gate, self.commands.runner, history)
        parts = SessionParts.begin(backend, selection, folder.path, self.state, services, self._options)
        parts.context.codebase.withheld = folder.withheld
        self.recorder.watch(parts)
        # Other threads see it from here on.
        self.parts = parts

    def _prepare_undo(self, parts: SessionParts) -> None:
        """Store the folder's contents before the first command, if commands can be run."""
        if self._options.undoable and parts.toolbox.runs_commands and not self.folder.withheld:
            self.history.prepare()


class Chat:
    """Sends messages and changes the conversation. One thread, except `cancel`, `skip_scoring` and `steer`.

    An engine that llama.cpp aborted is replaced with the next message, which prefills the chat again.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def ask(self, message: str) -> Generator[AgentEvent, None, None]:
        """Send a message; iterate to advance it. Ends after `TurnFinished`.

        Raises:
            EngineError, UserError: while iterating; a sentence for the user.
        """
        session = self._session
        if not session.folder.path.is_dir():
            raise UserError(GONE.format(folder=session.folder.path))
        session.slot.healthy()
        parts = session.opened()
        session.sessions.begin()
        session._prepare_undo(parts)
        with session.slot.watched():
            yield from session.recorder.recorded(parts.agent.run(message), message)

    def constrain(self, schema: "JsonSchema") -> None:
        """Hold every answer from now on to a JSON schema."""
        agent = self._session.opened().agent
        agent.options = replace(agent.options, schema=schema)

    def cancel(self) -> None:
        """Stop what is running, soon. Any thread; harmless if nothing runs."""
        if self._session.parts is not None:
            self._session.parts.agent.cancel()
            self.skip_scoring()

    def skip_scoring(self) -> None:
        """Stop waiting for the scorer: words rank the rest. Any thread; harmless if nothing is scored."""
        if self._session.parts is not None:
            self._session.parts.context.scorer.skip()

    def answer_now(self) -> bool:
        """End the model's thinking, so that it answers. False: it does not think now, or it is remote. Any thread."""
        parts = self._session.parts
        return parts is not None and parts.agent.answer_now()

    def steer(self, message: str) -> bool:
        """Send a message into the running turn, at the next tool boundary or its end; False: use `ask`. Any thread."""
        parts, recorder = self._session.parts, self._session.recorder
        return parts is not None and parts.agent.steer(message, lambda: recorder.put_message(SteeringSent, message))

    def unsent(self) -> Sequence[str]:
        """Return the steering messages that did not go in because the turn was stopped; each is returned once."""
        parts = self._session.parts
        unsent = () if parts is None else parts.agent.unsent()
        if unsent:
            self._session.recorder.put(SteeringReturned())
        return unsent

    def new_chat(self) -> None:
        """Begin another chat; if sessions are saved, it is another session."""
        self._session.sessions.begin_another()
        self._session.opened().agent.new_chat()
        self._session.slot.forget_last()

    def compact(self, guidance: str = "") -> Generator[AgentEvent, None, None]:
        """Make room in the context now; iterate to advance it. Not while a turn runs; `cancel` ends it early.

        Args:
            guidance: what the summary must keep; if empty, old results are shortened first.

        Raises:
            EngineError, UserError: while iterating; a sentence for the user.
        """
        session = self._session
        session.slot.healthy()
        with session.slot.watched():
            yield from session.recorder.recorded(session.opened().agent.compact(guidance))

    def side_answer(self, question: str) -> Iterator[AgentEvent]:
        """Answer a question with what the conversation has; neither it nor the KV cache has it afterwards.

        Iterate for the progress and the text. Not while a turn runs; `cancel` ends it early.

        Raises:
            EngineError, UserError: while iterating; a sentence for the user.
        """
        session = self._session
        session.slot.healthy()
        with session.slot.watched():
            yield from session.opened().agent.side_answer(question)

    def prefetch(self, message: str) -> None:
        """Prefill what is certain of a message being typed. Returns then, or soon after `cancel`."""
        session = self._session
        if session.parts is None or session.slot.engine is None:
            return
        # While the user types there is time to learn what can be mentioned.
        session.parts.context.start()
        with session.slot.watched():
            session.parts.agent.prefetch(message)

    def check_replay(self, progress: Callable[[ReplayProgress], None]) -> ReplayCheck:
        """Generate the last answer again without speculation, and compare token by token. `cancel` ends it early.

        Raises:
            UserError: there is no answer yet.
            EngineError: the engine fails.
        """
        from laguna_tui.session.remote_opening import in_process

        backend = in_process(self._session.slot.healthy(), "A replay")
        last, engine, began = backend.last, backend.engine, time.monotonic()
        if last is None:
            raise UserError(NO_ANSWER)
        total = len(last.tokens)
        progress(ReplayProgress(0, total))
        with self._session.slot.watched():
            replay = engine.replay(
                last.prompt,
                last.tokens,
                last.sampling,
                lambda done: progress(ReplayProgress(done, total)),
                last.rounds,
                last.thinking_budget,
                last.no_repeat,
                last.constraints,
                last.thinking_tags,
            )
        found = replay.divergence
        difference = None if found is None else _replay_difference(engine, last, found)
        return ReplayCheck(replay.compared, total, difference, time.monotonic() - began)


class PromptView:
    """What the prompt consists of, and what a message would add. Any thread, except `change`.

    Nothing is known while engines are exchanged.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def cost(self, message: str) -> "Cost | None":
        """Return what sending this message would cost now; None while no model is open. May take 100 ms."""
        return self._ask(lambda preview: preview.cost(message), None)

    def complete(self, text: str, cursor: int) -> "Sequence[Completion]":
        """Return ways to complete the mention under the cursor, best first. Takes milliseconds."""
        from laguna_tui.context.completion import completions

        parts = self._session.parts
        if parts is None:
            return ()
        parts.context.start()
        return completions(parts.context.codebase, text, cursor)

    def examples(self, should_stop: Callable[[], bool]) -> Sequence[str] | None:
        """Return questions about this folder that the open model answers well, none where there is no code.

        None if the folder is unknown, or no name in its code is of a kind to ask about.

        Waits for the folder's index. should_stop: polled; the wait ends once it returns True.
        """
        parts = self._session.parts
        if parts is None or self._session.folder.withheld:
            return None
        codebase = parts.context.codebase
        codebase.start()
        if not codebase.wait(_EXAMPLES_WAIT_S, should_stop):
            return None
        questions = parts.toolbox.profile.examples.about(codebase.well_known(), _EXAMPLES)
        return questions if questions or not codebase.map(_ANY_CODE).known else None

    def blocks(self) -> "Sequence[ContextBlock]":
        """Return the prompt's blocks, in its order."""
        return self._ask(lambda preview: preview.blocks(), ())

    def block_text(self, number: int) -> "BlockText":
        """Return one block's text."""
        return self._session.opened().agent.prompt_preview().block_text(number)

    def change_cost(self, places: "Mapping[int, Place]") -> "Cost | None":
        """Return the extra cost of the next message with these blocks in these places; changes nothing."""
        return self._ask(lambda preview: preview.change_cost(places), None)

    def change(self, places: "Mapping[int, Place]") -> None:
        """Move these blocks to these places from the next message on. Session's thread; UserError without a model."""
        self._session.opened().agent.conversation.change(places)
        self._session.recorder.sync()

    def _ask(self, question: "Callable[[PromptPreview], T]", unknown: T) -> T:
        """Return the answer, or `unknown` while no engine can give it."""
        parts = self._session.parts
        # The engine may be closed meanwhile.
        with contextlib.suppress(EngineError):
            if parts is not None and self._session.slot.backend is not None:
                return question(parts.agent.prompt_preview())
        return unknown


class Folder:
    """The folder that the chat is about. Any thread; UserError if something cannot be done.

    Attributes:
        path: where it is.
        withheld: why it is not indexed, as a sentence; empty if it is.
    """

    def __init__(self, session: Session, path: Path, holds_more: str) -> None:
        self._session = session
        self.path = path
        self.withheld = WITHHELD.format(folder=path, what=holds_more) if holds_more else ""

    def trust(self) -> str:
        """Let the folder's AGENTS.md instruct the model; returns what is trusted now, and what changed in it."""
        from laguna_tui.context.instructions import trust_folder
        from laguna_tui.context.trust import Trust

        return trust_folder(self.path, Trust(self._session.state))

    def use_check(self, command: str) -> str:
        """Set the command that checks the project (`none`: no check; empty: show it); returns a sentence."""
        from laguna_tui.agent.project_check import choose_check
        from laguna_tui.repo.files.workspace import Workspace

        return choose_check(self._session.permissions.opened().permissions, Workspace(self.path), command)

    def mcp(self) -> str:
        """Return the MCP servers of this session and what each offers, as text."""
        return self._session.opened().servers.text()

    def index(self) -> str:
        """Index the folder's code, even if it is more than a project; returns a sentence about it."""
        self.withheld = ""
        if self._session.parts is not None:
            self._session.parts.context.codebase.withheld = ""
            self._session.parts.context.start()
        return INDEXED.format(folder=self.path)


class Models:
    """Which model answers, and how it decodes. The session's thread, except `choices` and `others`.

    Attributes:
        failed: why models did not open in this session, by name.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.failed: dict[str, str] = {}

    @contextlib.contextmanager
    def opening(self, name: str) -> Iterator[None]:
        """Note whether the model of this name opens in this block."""
        try:
            yield
        except (EngineError, UserError) as error:
            self.failed[name] = str(error)
            raise
        self.failed.pop(name, None)

    @property
    def name(self) -> str:
        """The name or file of the model that is open, or is to be opened."""
        return self._session.slot.selection.settings.model

    def choices(self) -> tuple[ModelChoice, ...]:
        """Return the catalogue's models and the file that is open now. Opens nothing; may take half a second."""
        from laguna_tui.session.model_list import list_models

        slot = self._session.slot
        holds = slot.opened_as.report.holds if slot.opened_as else {}
        is_open = slot.backend is not None
        return list_models(slot.selection.settings, holds, is_open=is_open, failed=self.failed)

    def others(self) -> OtherModels:
        """Return what other programs serve or store on this machine. Asks their ports, for two seconds at most."""
        from laguna_tui.session.model_list import list_others

        return list_others(offline=Network(offline=self._session.slot.selection.settings.offline).offline)

    def switch(self, wanted: str, progress: Progress) -> SessionInfo:
        """Answer with another model from now on; it reads the conversation again.

        Args:
            wanted: a name of the catalogue, the path of a file, or the URL of an endpoint.
            progress: gets how far it is loaded.

        Raises:
            EngineError, UserError: it cannot be opened; the previous model, if there was one, continues answering.
        """
        session, slot = self._session, self._session.slot
        selection, parts = select_other(slot.selection.settings, wanted), session.parts
        if parts is None:
            slot.selection = selection
            return session.open(progress)
        slot.healthy()
        with self.opening(wanted):
            slot.replace(selection, lambda backend, of: parts.use_model(backend, of, slot.mode), progress)
        session.sessions.note_model()
        return session.info()

    def speculate(self, mode: Speculation, progress: Progress) -> SessionInfo:
        """Decode in another mode from now on; the conversation stays.

        Strict and fast need an engine of their own, plain decoding does not.

        Raises:
            EngineError, UserError: the mode is not available; nothing was changed.
        """
        from laguna_engine.native.cpu_determinism import use_fixed_kernels
        from laguna_tui.session.remote_opening import in_process

        session, slot = self._session, self._session.slot
        engine = in_process(slot.healthy(), "Another mode of speculation").engine
        if mode is not Speculation.OFF and engine.info.no_drafts:
            raise UserError(engine.info.no_drafts)
        # Checked before the engine is closed: once something was computed, the kernels are settled.
        if mode is Speculation.STRICT and not use_fixed_kernels():
            raise UserError(session.info().no_strict)
        if mode not in (Speculation.OFF, engine.info.speculation):
            slot.reopen(mode, progress)
        slot.mode = mode
        agent = session.opened().agent
        drafting = replace(agent.options.drafting, enabled=mode is not Speculation.OFF)
        agent.options = replace(agent.options, drafting=drafting)
        session.sessions.note_model()
        return session.info()


def _replay_difference(engine: "Engine", generated: "GenerationRecord", found: "Divergence") -> ReplayDifference:
    def text(*tokens: int) -> str:
        return b"".join(map(engine.vocab.piece, tokens)).decode("utf-8", "replace")

    return ReplayDifference(
        index=found.index,
        before=text(*generated.tokens[max(0, found.index - _TOKENS_BEFORE) : found.index]),
        answered=text(found.expected),
        plain=text(found.found),
        margin=found.margin,
        drawn=generated.sampling.temperature > 0,
        cause=found.cause,
    )
