"""What the app's process leaves for its parent: which session is kept, and how the app is to be started again.

It lies in memory that both share, so that it can be read however the app ended, and writing it never waits.
"""

import json
import mmap
import os
import threading
from dataclasses import asdict, dataclass, replace

_SLOT_BYTES = 16_384
"""More than a path of the longest kind takes (4,096 bytes, each of which JSON may write as six) and is ever written."""
_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Start:
    """How the app is started.

    Attributes:
        session: ID of the session to resume; empty for what the command line says.
        folder: the folder of that session; empty for the one of the command line.
        crashed: the app ended unexpectedly just before, and the user chose to go on.
    """

    session: str = ""
    folder: str = ""
    crashed: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """What the app has told.

    Attributes:
        session: ID of the session that is being kept; empty while nothing is.
        title: its title, raw.
        turns: number of turns that have ended since the app was started.
        failed: the app has caught a failure of its own, reported it and ended.
        next: how to start the app again now that it has ended in order; None for not at all.
    """

    session: str = ""
    title: str = ""
    turns: int = 0
    failed: bool = False
    next: Start | None = None


class AppReport:
    """The app's side writes, on any thread; the parent reads when the app has ended."""

    def __init__(self) -> None:
        self._parent = os.getpid()
        self._lock = threading.Lock()
        # The first byte says which of the two slots holds: it is written last, so a death in between leaves the other.
        self._memory = mmap.mmap(-1, 1 + 2 * _SLOT_BYTES)

    @property
    def told(self) -> Told:
        """What was told last."""
        slot = self._memory[0]
        if not slot:
            return Told()
        begin = 1 + (slot - 1) * _SLOT_BYTES
        found = json.loads(self._memory[begin : begin + _SLOT_BYTES].rstrip(b"\0"))
        return Told(**found | {"next": Start(**found["next"]) if found["next"] else None})

    @property
    def parent_is_gone(self) -> bool:
        """Whether the process that started the app has ended; in the app's process only."""
        return os.getpid() != self._parent != os.getppid()

    def keeps(self, session: str, title: str) -> None:
        """This session is being kept, so that it can be resumed; empty: none is any more."""
        self._tell(session=session, title=title[:_TITLE_CHARS])

    def turn_ended(self) -> None:
        """A turn has ended: the app works."""
        self._tell(turns=self.told.turns + 1)

    def failed(self) -> None:
        """The app has failed and said so; it is about to end."""
        self._tell(failed=True)

    def start_next(self, session: str, folder: str) -> None:
        """Start the app again with this session of this folder, once it has ended in order."""
        self._tell(next=Start(session, folder))

    def clear(self) -> None:
        """Forget what was told."""
        self._memory[0] = 0

    def _tell(self, **changes: object) -> None:
        with self._lock:
            data = json.dumps(asdict(replace(self.told, **changes))).encode()  # type: ignore[arg-type]
            slot = 2 if self._memory[0] == 1 else 1
            begin = 1 + (slot - 1) * _SLOT_BYTES
            self._memory[begin : begin + _SLOT_BYTES] = data[:_SLOT_BYTES].ljust(_SLOT_BYTES, b"\0")
            self._memory[0] = slot
