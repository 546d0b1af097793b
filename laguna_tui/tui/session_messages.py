"""Messages from the session to the screen, besides the agent's events."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.config import Speculation
from laguna_engine.errors import EngineError
from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.session.commits import CommitDraft
from laguna_tui.session.values import SessionInfo

if TYPE_CHECKING:
    from laguna_tui.undo.file_diff import FileDiff
    from laguna_tui.undo.undo_plan import UndoPlan, UndoResult

NO_MODEL = "No model is loaded. Choose one with /model; the message above says why."


class SessionState(Enum):
    """The state of the session."""

    LOADING = "loading"
    READY = "ready"
    BUSY = "busy"
    STOPPING = "stopping"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """The model is loaded. `used`: tokens of the conversation that it continues with."""

    info: SessionInfo
    used: int = 0


@dataclass(frozen=True, slots=True)
class ModeChanging:
    """The speculation mode is being changed."""

    mode: Speculation


@dataclass(frozen=True, slots=True)
class ModeChanged:
    """The speculation mode was changed."""

    info: SessionInfo


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """The model was changed."""

    info: SessionInfo
    title: str


@dataclass(frozen=True, slots=True)
class SessionResumed:
    """Another session is open now, with the model of this title; `used`: tokens of its conversation."""

    info: SessionInfo
    title: str
    used: int


@dataclass(frozen=True, slots=True)
class SessionElsewhere:
    """A session is about another folder, where the app has to be started with it; `sentence` says how, sanitised."""

    session: str
    folder: Path
    sentence: str


@dataclass(frozen=True, slots=True)
class SessionFolderGone:
    """The folder of a session that is to be resumed is not there any more. loading: whether no model is open."""

    session: str
    folder: Path
    loading: bool


@dataclass(frozen=True, slots=True)
class SessionFailed:
    """A job of the session failed.

    Attributes:
        sentence: what happened, sanitised.
        loading: whether no model is open now.
    """

    sentence: str
    loading: bool = False


@dataclass(frozen=True, slots=True)
class ChatCleared:
    """The conversation was cleared."""


@dataclass(frozen=True, slots=True)
class ContextChanged:
    """Blocks of the context were changed, from the next message on. `used`: its size now, in tokens."""

    used: int


@dataclass(frozen=True, slots=True)
class UndoPlanned:
    """An undo has to be asked about. files: what it would change, raw."""

    plan: "UndoPlan"
    files: "Sequence[FileDiff]"


@dataclass(frozen=True, slots=True)
class UndoApplied:
    """Files and conversation went back or forth.

    Attributes:
        result: what was done, raw.
        used: tokens of the conversation now.
        resumed: whether it was the rest of an undo of an earlier session.
    """

    result: "UndoResult"
    used: int
    resumed: bool


@dataclass(frozen=True, slots=True)
class UndoRefused:
    """It could not be undone or redone. `sentence`: why, sanitised."""

    sentence: str


@dataclass(frozen=True, slots=True)
class CommitDrafted:
    """What would be committed, raw."""

    draft: CommitDraft


@dataclass(frozen=True, slots=True)
class CommitMade:
    """It was committed, or not. `text`: what came of it, sanitised."""

    text: str
    ok: bool


@dataclass(frozen=True, slots=True)
class PrefetchEnded:
    """The prefetch ended or was dropped."""


@dataclass(frozen=True, slots=True)
class SessionIdle:
    """The session is ready for the next message."""


def error_sentence(error: Exception) -> str:
    """The error as a sanitised sentence. Only our own errors are written for users."""
    if isinstance(error, UserError):
        return sanitize(error.in_app or str(error))
    if isinstance(error, EngineError):
        return sanitize(str(error))
    return sanitize(f"Something unexpected went wrong ({type(error).__name__}: {error}). Please report it.")
