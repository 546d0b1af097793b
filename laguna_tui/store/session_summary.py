"""What a list of sessions shows of one."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session on disk. All texts are raw.

    Attributes:
        id: Its permanent name; a unique beginning of it is enough.
        title: Its own, or the beginning of its first message.
        folder: The folder that it is about; it may be gone.
        model: Title of the model that answered last.
        created, updated: Seconds since the epoch.
        turns: How many messages the user sent, without those that are undone.
        size: Bytes on disk, without snapshots.
        locked: Whether it is open; for the open session, in another process.
        ended: How it ended if not normally ("killed", "SIGTERM"), or why it cannot be opened; else empty.
        snippet: The text around the words of a search; empty without one.
        snapshots: Bytes that its KV snapshots take, which can be computed again.
    """

    id: str
    title: str
    folder: Path
    model: str
    created: float
    updated: float
    turns: int
    size: int
    locked: bool = False
    ended: str = ""
    snippet: str = ""
    snapshots: int = 0
