"""What every front end depends on: the protocols of a session, one for each controller. No engine, no Textual."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from laguna_engine.config import Speculation
from laguna_engine.events import LoadProgress
from laguna_tui.agent.permissions.modes import Mode
from laguna_tui.base.events import AgentEvent, ReplayCheck, ReplayProgress
from laguna_tui.base.permission_request import Approver
from laguna_tui.context.blocks import BlockText, Completion, ContextBlock, Cost, Place
from laguna_tui.session.values import CommandFinished, ModelChoice, NotKept, RewindCost, SessionInfo, SessionSummary

if TYPE_CHECKING:
    from laguna_tui.journal.file_diff import FileDiff
    from laguna_tui.journal.undo_plan import UndoPlan, UndoPoint, UndoResult
    from laguna_tui.sandbox.background import BackgroundCommand
    from laguna_tui.session.commits import CommitDraft


class Chat(Protocol):
    """Asking, and what is done to the conversation. One thread, but for `cancel` and `steer`."""

    def ask(self, message: str) -> Iterator[AgentEvent]:
        """Send a message; iterate to make it go on. Ends after `TurnFinished`.

        Raises:
            EngineError, UserError: while iterating; a sentence for the user.
        """
        ...

    def cancel(self) -> None:
        """Stop what runs now, soon. Harmless when nothing runs."""
        ...

    def steer(self, message: str) -> bool:
        """Say something while the model works: it goes in at the next tool boundary, or where the turn would end.

        Any thread. Returns whether it is accepted; otherwise send it with `ask`.
        """
        ...

    def left(self) -> Sequence[str]:
        """What was steered with and did not go in, because the turn was stopped; each is given once."""
        ...

    def new_chat(self) -> None:
        """Forget the conversation."""
        ...

    def compact(self, guidance: str = "") -> Iterator[AgentEvent]:
        """Make room in the context now; iterate to make it go on. Not while a turn runs; `cancel` ends it early.

        Args:
            guidance: what is to be kept in mind above all; empty shortens what is old first.

        Raises:
            EngineError, UserError: while iterating; a sentence for the user.
        """
        ...

    def prefetch(self, message: str) -> None:
        """Compute what is certain of a message that is being typed. Returns then, or soon after `cancel`."""
        ...

    def check_replay(self, progress: Callable[[ReplayProgress], None]) -> ReplayCheck:
        """Generate the last generation of the last answer again without speculation, and compare.

        `cancel` ends it early.

        Raises:
            UserError: there is no answer yet.
            EngineError: the engine fails.
        """
        ...


class PromptView(Protocol):
    """What the prompt consists of, and what a message would add. Any thread, but for `change`."""

    def cost(self, message: str) -> Cost | None:
        """What sending this message would cost now; None while no model is open. May take 100 ms."""
        ...

    def complete(self, text: str, cursor: int) -> Sequence[Completion]:
        """Ways to complete the mention under the cursor, best first. Takes milliseconds."""
        ...

    def blocks(self) -> Sequence[ContextBlock]:
        """The prompt's blocks, in its order."""
        ...

    def block_text(self, number: int) -> BlockText:
        """One block's text."""
        ...

    def change_cost(self, places: Mapping[int, Place]) -> Cost | None:
        """What the next message would cost more with these blocks in these places; nothing is changed."""
        ...

    def change(self, places: Mapping[int, Place]) -> None:
        """Put these blocks into these places from the next message on. The session's thread only.

        Raises:
            UserError: no model is open.
        """
        ...


class Models(Protocol):
    """Which model answers, and how it decodes."""

    def choices(self) -> Sequence[ModelChoice]:
        """What could answer. Any thread, also while a turn runs; may take half a second."""
        ...

    def others(self) -> Sequence[ModelChoice]:
        """What other programs serve or store on this machine. Any thread; asks their ports, for two seconds at most."""
        ...

    def switch(self, wanted: str, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        """Answer with another model from now on: a name, or the path of a file. The conversation stays.

        Raises:
            EngineError, UserError: it cannot be had; the model before answers on, if there was one.
        """
        ...

    def speculate(self, mode: Speculation, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        """Decode in this mode from now on. The conversation stays; the model may have to be loaded again.

        Raises:
            EngineError, UserError: the mode cannot be had; everything is as it was.
        """
        ...


class PermissionSettings(Protocol):
    """What the model may do in the folder without being asked about it."""

    @property
    def mode(self) -> Mode:
        """What is done unasked. Any thread; setting it raises UserError while a file of rules is broken."""
        ...

    @mode.setter
    def mode(self, mode: Mode) -> None: ...

    def use_approver(self, approver: Approver) -> None:
        """Whom to ask; set before the session is opened. Whoever iterates `ask` waits for the answer."""
        ...


class History(Protocol):
    """The turns, what they changed, and the way back. Any thread, but for `apply`; each call may take seconds.

    Everything raises UserError where there is nothing to do, or nothing can be stored. All texts are raw.
    """

    def points(self) -> "Sequence[UndoPoint]":
        """The turns, also those that changed nothing or are undone; newest last."""
        ...

    def plan_undo(self) -> "UndoPlan":
        """What undoing the last turn would do."""
        ...

    def plan_redo(self) -> "UndoPlan":
        """What redoing the turn that was undone last would do."""
        ...

    def plan_rewind(self, number: int) -> "UndoPlan":
        """What undoing this turn and all after it would do."""
        ...

    def unfinished(self) -> "UndoPlan | None":
        """The rest of an undo that an earlier session about this folder was killed in; None if there is none."""
        ...

    def preview(self, plan: "UndoPlan") -> "Sequence[FileDiff]":
        """What applying a plan would change, conflicts included."""
        ...

    def cost(self, plan: "UndoPlan") -> RewindCost | None:
        """What the conversation costs where a plan would put it; None where that is not known."""
        ...

    def apply(self, plan: "UndoPlan", overwrite: Collection[str] = ()) -> "UndoResult":
        """Put files and conversation where a plan wants them. The session's thread only, while no turn runs.

        Args:
            plan: of the present state; another one is refused.
            overwrite: paths of its conflicts that the user agreed to lose; the others stay as they are.
        """
        ...

    def diff(self, *, turn: bool = False) -> "Sequence[FileDiff]":
        """What the turns of this session changed, but for those that are undone.

        turn: only the last one.
        """
        ...


class Commits(Protocol):
    """Commits of the folder. The session's thread, while no turn runs; UserError where it cannot be done."""

    def draft(self) -> "CommitDraft":
        """What would be committed, with a message that the model writes beside the conversation.

        `Chat.cancel` ends the writing early.
        """
        ...

    def commit(self, message: str, draft: "CommitDraft") -> str:
        """Commit, with the repository's hooks in the sandbox; a sentence about it."""
        ...


class Commands(Protocol):
    """The user's own commands, and those that the model has in the background. Any thread."""

    def run(self, command: str, *, tell: bool = False) -> Iterator[str | CommandFinished]:
        """Run a command of the user's; iterate to make it go on. Yields its output, raw, then `CommandFinished`.

        It runs in the folder as in the user's shell: without the sandbox, with their environment, and unasked. It has
        no terminal and reads nothing. What it leaves running in the background goes on.

        Args:
            command: a line for the user's shell.
            tell: whether the model is to read the command and its output with the next message.

        Raises:
            UserError: while iterating; it was not run, and why.
        """
        ...

    def cancel(self) -> None:
        """Stop the user's command that runs now, with all it has started. Harmless when none runs."""
        ...

    def background(self) -> "Sequence[BackgroundCommand]":
        """What the model has run in the background, the oldest first."""
        ...

    def recent(self, number: int) -> str:
        """The last of what a background command has written, raw; the model reads it all the same."""
        ...

    def stop(self, number: int) -> str:
        """Stop a background command; a sentence about what became of it."""
        ...


class Folder(Protocol):
    """The folder that is asked about. Any thread; UserError where something cannot be done."""

    @property
    def path(self) -> Path:
        """Where it is."""
        ...

    def trust(self) -> str:
        """Let the folder's AGENTS.md instruct the model; what is trusted now, and what is new about it."""
        ...

    def use_check(self, command: str) -> str:
        """Have a command check the project, `none` for no check, empty to show which does; a sentence about it."""
        ...

    def mcp(self) -> str:
        """The MCP servers of this session, and what each offers, as text."""
        ...

    def index(self) -> str:
        """Read the folder's code, also where it waited to be asked for; a sentence about it."""
        ...


class Sessions(Protocol):
    """The sessions that are kept on disk. Any thread, but for `resume`; UserError where something cannot be done.

    Where a session is wanted, its `id` is given, a beginning of that, or its title."""

    @property
    def current(self) -> SessionSummary | None:
        """The one that is open; None before its first message is kept."""
        ...

    @property
    def open_id(self) -> str:
        """ID of the one that is open; empty for none. Takes no time, where `current` reads the disk."""

    @property
    def failing(self) -> NotKept:
        """What is not being kept now, and why. Takes no time."""
        ...

    def list(self, *, everywhere: bool = False) -> Sequence[SessionSummary]:
        """Those about this folder, or all, the newest first. Takes at most 200 ms, as `search` does."""
        ...

    def search(self, words: str, *, everywhere: bool = False) -> Sequence[SessionSummary]:
        """Those with these words in their titles or contents, the best first."""
        ...

    def rename(self, session: str, title: str) -> None:
        """Give a session a title."""
        ...

    def delete(self, sessions: Collection[str]) -> int:
        """Delete sessions for good, but for the open one; how many bytes are free now."""
        ...

    def export(self, session: str, form: str) -> str:
        """A session as text, without secrets. form: "markdown", "html" or "json"."""
        ...

    def fork(self, session: str = "", title: str = "") -> SessionSummary:
        """Copy a session, empty for the open one, to go on with the copy."""
        ...

    def resume(self, session: str, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        """Go on with a session in the place of the open one, which is kept. The session's thread, while no turn runs.

        Returns:
            What is open now, with `resumed`.

        Raises:
            OtherFolderError: it is about another folder, where the app has to be started.
            EngineError, UserError: it cannot be resumed; everything is as it was.
        """
        ...


class ChatSession(Protocol):
    """One conversation with one model about one folder: each controller of a front end is given its part of it."""

    @property
    def title(self) -> str:
        """The model's name, as it is shown."""
        ...

    def open(self, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        """Load the model.

        Raises:
            EngineError, UserError: it cannot be opened; a sentence for the user.
        """
        ...

    def close(self, reason: str = "") -> None:
        """Free everything. Idempotent. reason: why it ends otherwise than by the user's wish ("SIGTERM")."""
        ...

    @property
    def chat(self) -> Chat:
        """Asking."""
        ...

    @property
    def prompt(self) -> PromptView:
        """What is in the prompt."""
        ...

    @property
    def models(self) -> Models:
        """Which model answers."""
        ...

    @property
    def permissions(self) -> PermissionSettings:
        """What is done unasked."""
        ...

    @property
    def history(self) -> History:
        """What can be undone."""
        ...

    @property
    def commits(self) -> Commits:
        """What is committed."""
        ...

    @property
    def commands(self) -> Commands:
        """What is run."""
        ...

    @property
    def sessions(self) -> Sessions:
        """What is kept."""
        ...

    @property
    def folder(self) -> Folder:
        """What is asked about."""
        ...
