"""Values that a session and its front ends exchange. Importing them loads no engine and no Textual.

All texts are raw: a front end passes them through `laguna_tui.base.text`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.config import Speculation
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import AgentEvent, Asked
from laguna_tui.base.units import some_of
from laguna_tui.store.session_summary import SessionSummary

if TYPE_CHECKING:
    from laguna_tui.agent.tools.mcp.mcp_config import McpServer

INDEX_WAIT_S = 2.0

NOTHING_TO_EXPORT = "There is nothing to export yet: send a message first."


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How a session is opened, beside the user's settings.

    Attributes:
        cache: the user's cache folder, for the KV caches of saved sessions; None saves none.
        wait_s: seconds that a message waits for the folder's index where it needs it.
        holds_more: why the folder is not one project, as the end of a sentence; it is read after `Folder.index`.
        rules: the user's file of rules about what the model may do; None for none.
        allow: rules for this session only, as given on the command line.
        deny: likewise.
        undoable: whether the session is saved in the state folder, with checkpoints for undo.
        saved: whether it is saved, even without them.
        clients: MCP servers of the program that the session is for, used beside the user's own.
    """

    cache: Path | None = None
    wait_s: float = INDEX_WAIT_S
    holds_more: str = ""
    rules: Path | None = None
    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    undoable: bool = True
    saved: bool = False
    clients: "Sequence[McpServer]" = ()


@dataclass(frozen=True, slots=True)
class NotSaved:
    """What of the open session is not being saved now, each a sentence that says why; empty while all is well.

    Attributes:
        session: the messages and what was done.
        cache: the KV cache: reading the conversation again takes longer then.
    """

    session: str = ""
    cache: str = ""


@dataclass(frozen=True, slots=True)
class Resumed:
    """A session that was resumed.

    Attributes:
        summary: the session.
        events: the newest turns, each from its `Asked` to its `TurnFinished`.
        left_out: how many turns came before these.
        notices: sentences about what is different now.
        restored: how many tokens of the conversation are in the KV cache now.
        seconds: how long it took.
    """

    summary: SessionSummary
    events: tuple[Asked | AgentEvent, ...] = ()
    left_out: int = 0
    notices: tuple[str, ...] = ()
    restored: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RewindCost:
    """What going back to before a turn costs, apart from the files.

    Attributes:
        restored: tokens of the conversation that come from the KV cache or a snapshot of it.
        restore_s: how long that takes.
        recomputed: tokens that have to be read again.
        recompute_s: how long that takes; None before anything was measured.
    """

    restored: int
    restore_s: float
    recomputed: int
    recompute_s: float | None


class OtherFolderError(UserError):
    """A session is about another folder; start the app again there to resume it."""

    def __init__(self, folder: Path, session: str) -> None:
        super().__init__(f"this session is about {folder}; resume it there: laguna-tui --resume {session}")
        self.folder, self.session = folder, session


class FolderGoneError(UserError):
    """The folder of a session no longer exists; `SavedSessions.move` changes which folder it is about."""

    def __init__(self, folder: Path, session: str) -> None:
        super().__init__(
            f"{folder}, which this session is about, is gone. If it was moved, say where it is now: "
            f"laguna-tui --resume {session} --folder DIR"
        )
        self.folder, self.session = folder, session


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What front ends show of an open session.

    Attributes:
        context_size: in tokens.
        details: the model in one line.
        warnings: sentences for the user.
        mode: how it decodes now; None for a remote model.
        drafter: a line about the model that drafts.
        plan: how it was opened, in short, and then why, a sentence each.
        no_strict: why this session cannot use strict speculation, and what to do; empty if it can.
        resumed: the resumed session; None for a new one.
        not_shown: what is unknown for a remote model, a sentence; empty for one in this process.
        abilities: what the model can do, as a sentence.
    """

    context_size: int
    details: str = ""
    warnings: tuple[str, ...] = ()
    mode: Speculation | None = None
    drafter: str = ""
    plan: tuple[str, ...] = ()
    no_strict: str = ""
    resumed: Resumed | None = None
    not_shown: str = ""
    abilities: str = ""


class Here(Enum):
    """How much of a model is on this machine. READY can be opened at once, REMOTE is behind an endpoint."""

    READY = "here"
    PARTIAL = "partly here"
    MISSING = "not here"
    NOWHERE = "no download"
    REMOTE = "remote"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model that could answer. All texts are raw.

    Attributes:
        name: what `Models.switch` takes.
        title: for the user.
        here: how much of it is on this machine.
        fits: whether it runs on this machine, in a few words.
        runs: the same as a plain answer; None if unknown.
        size: bytes of its files; None if unknown.
        have: how many of these are here.
        current: it is open.
    """

    name: str
    title: str
    here: Here
    fits: str = ""
    runs: bool | None = None
    size: int | None = None
    have: int = 0
    current: bool = False


@dataclass(frozen=True, slots=True)
class OtherModels:
    """What other programs have on this machine.

    Attributes:
        choices: models that can be opened.
        left_out: why files are not among them, with their names.
        searched: where they were looked for: the programs' ports, then folders.
        not_asked: the ports that offline forbids to ask.
    """

    choices: tuple[ModelChoice, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    searched: tuple[str, ...] = ()
    not_asked: tuple[str, ...] = ()

    def summary(self, how_to_open: str) -> str:
        """Return what was searched if nothing was found, and what was left out; empty if there is nothing to say.

        how_to_open: how the user opens another file here.
        """
        said = []
        if not self.choices:
            said.append(f"Nothing found. Searched: {', '.join(self.searched)}.")
        if self.not_asked:
            said.append(f"Not asked, because offline is on: {', '.join(self.not_asked)}.")
        for reason, names in self.left_out.items():
            said.append(f"Left out {some_of(names, 3)}: {reason.rstrip('.')}.")
        if not self.choices:
            said.append(f"Start one of these programs and look again, or open a file: {how_to_open}")
        return " ".join(said)


@dataclass(frozen=True, slots=True)
class CommandFinished:
    """The last event of a command of the user's.

    Attributes:
        exit_code: as a shell reports it.
        seconds: how long it ran.
        sentence: how it ended, for the user.
        attached: whether the model reads the command and its output with the next message.
    """

    exit_code: int
    seconds: float
    sentence: str
    attached: bool


@dataclass(frozen=True, slots=True)
class ClientUse:
    """How another program has used the model so far.

    Attributes:
        name: its address and user agent.
        requests: how many were answered.
        generated: how many tokens.
        now: whether a request of its is being answered.
        seen_s: seconds since its last request.
    """

    name: str
    requests: int
    generated: int
    now: bool
    seen_s: float
