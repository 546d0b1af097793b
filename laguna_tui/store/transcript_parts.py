"""The parts of a transcript for an export, from a saved session or from the screen. All texts are raw."""

from dataclasses import dataclass
from enum import StrEnum


class PartKind(StrEnum):
    """What a part of a transcript is."""

    MESSAGE = "message"
    ANSWER = "answer"
    THINKING = "thinking"
    CALL = "call"
    CHANGE = "change"
    TODO = "todo"
    NOTICE = "notice"


@dataclass(slots=True)
class TranscriptPart:
    """A part of a transcript, raw.

    Attributes:
        kind: What it is.
        text: The message, the answer in Markdown, the output of a call, the lines of a diff.
        title: Of a call: the call in one line, or the command after "$ ". Of a change: the file. Else empty.
        is_tight: Whether it follows the previous part without a gap.
    """

    kind: PartKind
    text: str = ""
    title: str = ""
    is_tight: bool = False


@dataclass(frozen=True, slots=True)
class SessionTranscript:
    """A session from its beginning to its end.

    Attributes:
        title: Its own, or the beginning of its first message.
        session: Its ID; empty for a chat that is not saved.
        about: The folder that it is about.
        model: Title of the model that answered last.
        created: Seconds since the epoch.
        parts: In their order.
    """

    title: str
    session: str
    about: str
    model: str
    created: float
    parts: tuple[TranscriptPart, ...]
