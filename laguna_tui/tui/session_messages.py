"""What the session says to the screen besides the agent's events: it was opened, changed, failed, or is free."""

from dataclasses import dataclass
from enum import Enum

from laguna_engine.config import Speculation
from laguna_engine.errors import EngineError
from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.session.api import SessionInfo

NO_MODEL = "No model is loaded, so nobody can answer. The message above says what to do."


class SessionState(Enum):
    """What the session is doing."""

    LOADING = "loading"
    READY = "ready"
    BUSY = "busy"
    STOPPING = "stopping"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """The model is loaded."""

    info: SessionInfo


@dataclass(frozen=True, slots=True)
class ModeChanging:
    """Another mode of decoding is being set up."""

    mode: Speculation


@dataclass(frozen=True, slots=True)
class ModeChanged:
    """It is the mode now."""

    info: SessionInfo


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """Another model answers from now on."""

    info: SessionInfo
    title: str


@dataclass(frozen=True, slots=True)
class SessionFailed:
    """Something raised; `sentence` is safe to show."""

    sentence: str
    loading: bool = False


@dataclass(frozen=True, slots=True)
class ChatCleared:
    """The session has forgotten the conversation."""


@dataclass(frozen=True, slots=True)
class ContextChanged:
    """Blocks of the context were changed, from the next message on; it takes `used` tokens now."""

    used: int


@dataclass(frozen=True, slots=True)
class EditUndone:
    """An edit was taken back, or could not be; `sentence` is safe to show."""

    sentence: str


@dataclass(frozen=True, slots=True)
class PrefetchEnded:
    """The prefetch is done, or was dropped."""


@dataclass(frozen=True, slots=True)
class SessionIdle:
    """The session is free for the next message."""


def error_sentence(error: Exception) -> str:
    """The error as a sentence for the user, safe to show. Only our own errors are written for users."""
    if isinstance(error, EngineError | UserError):
        return sanitize(str(error))
    return sanitize(f"Something unexpected went wrong ({type(error).__name__}: {error}). Please report it.")
