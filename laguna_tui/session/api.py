"""What every front end depends on: the protocols of a session, one for each controller. No engine, no Textual."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from laguna_engine.config import Speculation
from laguna_engine.events import LoadProgress
from laguna_tui.base.events import AgentEvent, ReplayCheck, ReplayProgress
from laguna_tui.base.messages import Place
from laguna_tui.base.permission_request import Approver, Mode
from laguna_tui.context.blocks import BlockText, Completion, ContextBlock, Cost
from laguna_tui.session.values import CommandFinished, ModelChoice, NotKept, RewindCost, SessionInfo, SessionSummary

if TYPE_CHECKING:
    from laguna_tui.sandbox.background import BackgroundCommand
    from laguna_tui.session.commits import CommitDraft
    from laguna_tui.undo.file_diff import FileDiff
    from laguna_tui.undo.undo_plan import UndoPlan, UndoPoint, UndoResult


class Chat(Protocol):
    """Sends messages and changes the conversation. One thread, except `cancel`, `skip_scoring` and `steer`."""

    def ask(self, message: str) -> Iterator[AgentEvent]:
        """Send a message; iterate to make it go on. Ends after `TurnFinished`.

        Raises:
            EngineError, UserError: while iterating; a sentence for the user.
        """
        ...

    def cancel(self) -> None:
        """Stop what is running, soon. Harmless if nothing runs."""
        ...

    def skip_scoring(self) -> None:
        """Wait for no scorer any longer: words rank the rest. Any thread; harmless if nothing is scored."""
        ...

    def steer(self, message: str) -> bool:
        """Send a message into the running turn, at the next tool boundary or its end; False: use `ask`. Any thread."""
        ...

    def left(self) -> Sequence[str]:
        """Steering messages that did not go in because the turn was stopped; each is returned once."""
        ...

    def new_chat(self) -> None:
        """Forget the conversation."""
        ...

    def compact(self, guidance: str = "") -> Iterator[AgentEvent]:
        """Make room in the context now; iterate to make it go on. Not while a turn runs; `cancel` ends it early.

        Args:
            guidance: what the summary must keep; if empty, old results are shortened first.

        Raises:
            EngineError, UserError: while iterating; a sentence for the user.
        """
        ...

    def prefetch(self, message: str) -> None:
        """Prefill what is certain of a message being typed. Returns then, or soon after `cancel`."""
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
    """What the prompt consists of, and what a message would add. Any thread, except `change`."""

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
        """The extra cost of the next message with these blocks in these places; changes nothing."""
        ...

    def change(self, places: Mapping[int, Place]) -> None:
        """Move these blocks to these places from the next message on. Session's thread; UserError without a model."""
        ...


class Models(Protocol):
    """Which model answers, and how it decodes."""

    def choices(self) -> Sequence[ModelChoice]:
        """The models to choose from. Any thread, also while a turn runs; may take half a second."""
        ...

    def others(self) -> Sequence[ModelChoice]:
        """What other programs serve or store on this machine. Any thread; asks their ports, for two seconds at most."""
        ...

    def switch(self, wanted: str, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        """Answer with another model from now on: a name, or the path of a file. The conversation stays.

        Raises:
            EngineError, UserError: it cannot be opened; the previous model, if there was one, continues answering.
        """
        ...

    def speculate(self, mode: Speculation, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        """Use this mode of decoding from now on. The conversation stays; the model may have to be loaded again.

        Raises:
            EngineError, UserError: the mode is not available; nothing was changed.
        """
        ...


class PermissionSettings(Protocol):
    """What the model may do in the folder without approval."""

    @property
    def mode(self) -> Mode:
        """What needs no approval. Any thread; setting it raises UserError while a rule file is broken."""
        ...

    @mode.setter
    def mode(self, mode: Mode) -> None: ...

    def use_approver(self, approver: Approver) -> None:
        """Whom to ask; set before the session is opened. Whoever iterates `ask` waits for the answer."""
        ...


class History(Protocol):
    """The turns, what they changed, and undo. Any thread, except `apply`; each call may take seconds.

    Every method raises UserError if there is nothing to do, or nothing can be stored. All texts are raw.
    """

    def points(self) -> "Sequence[UndoPoint]":
        """The turns, including those that changed nothing or are undone; newest last."""
        ...

    def plan_undo(self) -> "UndoPlan":
        """What undoing the last turn would do."""
        ...

    def plan_redo(self) -> "UndoPlan":
        """What redoing the last undone turn would do."""
        ...

    def plan_rewind(self, number: int) -> "UndoPlan":
        """What undoing this turn and all after it would do."""
        ...

    def unfinished(self) -> "UndoPlan | None":
        """The rest of an undo in which an earlier session about this folder was killed; None if there is none."""
        ...

    def preview(self, plan: "UndoPlan") -> "Sequence[FileDiff]":
        """What applying a plan would change, conflicts included."""
        ...

    def cost(self, plan: "UndoPlan") -> RewindCost | None:
        """What the conversation would cost after a plan; None if that is not known."""
        ...

    def apply(self, plan: "UndoPlan", overwrite: Collection[str] = ()) -> "UndoResult":
        """Apply a plan to files and conversation. The session's thread only, while no turn runs.

        Args:
            plan: of the present state; another one is refused.
            overwrite: conflicting paths that the user agreed to overwrite; the others stay as they are.
        """
        ...

    def diff(self, *, turn: bool = False) -> "Sequence[FileDiff]":
        """What the turns of this session changed, without those that are undone.

        turn: only the last one.
        """
        ...


class Commits(Protocol):
    """Git commits in the folder. The session's thread, while no turn runs; UserError if it cannot be done."""

    def draft(self) -> "CommitDraft":
        """What would be committed, with a message that the model writes outside the conversation.

        `Chat.cancel` ends the writing early.
        """
        ...

    def commit(self, message: str, draft: "CommitDraft") -> str:
        """Commit, with the repository's hooks in the sandbox; returns a sentence about it."""
        ...


class Commands(Protocol):
    """The user's commands, and the model's background commands. Any thread."""

    def run(self, command: str, *, tell: bool = False) -> Iterator[str | CommandFinished]:
        """Run a command of the user's; iterate to advance it. Yields its output, raw, then `CommandFinished`.

        It runs in the folder as in the user's shell: without sandbox or approval, in their environment. It has
        no terminal and reads nothing. What it leaves running in the background continues.

        Args:
            command: a line for the user's shell.
            tell: whether the model is to read the command and its output with the next message.

        Raises:
            UserError: while iterating; it was not run, and why.
        """
        ...

    def cancel(self) -> None:
        """Stop the user's running command and all processes it started. Harmless if none runs."""
        ...

    def background(self) -> "Sequence[BackgroundCommand]":
        """The model's background commands, oldest first."""
        ...

    def recent(self, number: int) -> str:
        """The end of a background command's output, raw; the model still gets to read it."""
        ...

    def stop(self, number: int) -> str:
        """Stop a background command; returns a sentence about its end."""
        ...


class Folder(Protocol):
    """The folder that the chat is about. Any thread; UserError if something cannot be done."""

    @property
    def path(self) -> Path:
        """Where it is."""
        ...

    def trust(self) -> str:
        """Let the folder's AGENTS.md instruct the model; returns what is trusted now, and what changed in it."""
        ...

    def use_check(self, command: str) -> str:
        """Set the command that checks the project (`none`: no check; empty: show it); returns a sentence."""
        ...

    def mcp(self) -> str:
        """The MCP servers of this session, and what each offers, as text."""
        ...

    def index(self) -> str:
        """Index the folder's code, also if that needs to be requested; returns a sentence about it."""
        ...


class Sessions(Protocol):
    """The sessions kept on disk. Any thread, except `resume`; UserError if something cannot be done.

    A session is named by its `id`, the beginning of its `id`, or its title."""

    @property
    def current(self) -> SessionSummary | None:
        """The open session; None before its first message is kept."""
        ...

    @property
    def open_id(self) -> str:
        """ID of the open session; empty for none. Immediate, while `current` reads the disk."""

    @property
    def failing(self) -> NotKept:
        """What cannot be saved at present, and why. Immediate."""
        ...

    def list(self, *, everywhere: bool = False) -> Sequence[SessionSummary]:
        """Sessions about this folder, or all, newest first. Takes at most 200 ms, like `search`."""
        ...

    def search(self, words: str, *, everywhere: bool = False) -> Sequence[SessionSummary]:
        """Sessions with these words in their titles or contents, best first."""
        ...

    def rename(self, session: str, title: str) -> None:
        """Give a session a title."""
        ...

    def move(self, session: str, folder: Path) -> None:
        """Have a session be about the place to which its folder was moved."""
        ...

    def delete(self, sessions: Collection[str]) -> int:
        """Delete sessions for good, except the open one; returns how many bytes were freed."""
        ...

    def export(self, session: str, form: str) -> str:
        """A session as text, without secrets. form: "markdown", "html" or "json"."""
        ...

    def fork(self, session: str = "", title: str = "") -> SessionSummary:
        """Copy a session (empty: the open one) in order to resume the copy."""
        ...

    def resume(self, session: str, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        """Resume a session in place of the open one, which is kept. The session's thread, while no turn runs.

        Returns:
            The session that is open now, with `resumed` set.

        Raises:
            OtherFolderError: it is about another folder; the app has to be started there.
            FolderGoneError: its folder is not there any more; `move` says where it is now.
            EngineError, UserError: it cannot be resumed; nothing was changed.
        """
        ...


class ChatSession(Protocol):
    """One conversation with one model about one folder; each controller of a front end gets its part of it."""

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
