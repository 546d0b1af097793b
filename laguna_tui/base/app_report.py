"""What the app's process reports to its parent: which session is saved, and how to start the app again.

It is in memory that both share, so that it can be read however the app ended, and writing it never waits.
"""

import json
import mmap
import os
import threading
from dataclasses import asdict, dataclass, replace

_SLOT_BYTES = 16_384
"""Room for the longest path: 4,096 bytes, each of which JSON may write as six."""
_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Start:
    """How the app is started.

    Attributes:
        session: ID of the session to resume; empty for what the command line says.
        folder: the folder of that session; empty for the one of the command line.
        crashed: the app ended unexpectedly just before, and the user chose to resume.
    """

    session: str = ""
    folder: str = ""
    crashed: bool = False


@dataclass(frozen=True, slots=True)
class AppStatus:
    """What the app has reported.

    Attributes:
        session: ID of the session that is being saved; empty for none.
        title: its title, raw.
        turns: number of turns that have ended since the app was started.
        failed: the app has caught a failure of its own, showed it and ended.
        next: how to start the app again once it has ended normally; None for not at all.
    """

    session: str = ""
    title: str = ""
    turns: int = 0
    failed: bool = False
    next: Start | None = None


class AppReport:
    """The app writes it, on any thread; the parent reads it when the app has ended."""

    def __init__(self) -> None:
        self._parent = os.getpid()
        self._lock = threading.Lock()
        # The first byte says which of the two slots is valid; written last, so a kill in between leaves the other one.
        self._memory = mmap.mmap(-1, 1 + 2 * _SLOT_BYTES)

    @property
    def status(self) -> AppStatus:
        """What was reported last."""
        slot = self._memory[0]
        if not slot:
            return AppStatus()
        begin = 1 + (slot - 1) * _SLOT_BYTES
        found = json.loads(self._memory[begin : begin + _SLOT_BYTES].rstrip(b"\0"))
        return AppStatus(**found | {"next": Start(**found["next"]) if found["next"] else None})

    @property
    def parent_has_ended(self) -> bool:
        """Whether the process that started the app has ended; in the app's process only."""
        return os.getpid() != self._parent != os.getppid()

    def session_saved(self, session: str, title: str) -> None:
        """Report that this session is being saved, so that it can be resumed; empty for none."""
        self._report(session=session, title=title[:_TITLE_CHARS])

    def turn_ended(self) -> None:
        """Report that a turn has ended, so the app works."""
        self._report(turns=self.status.turns + 1)

    def failed(self) -> None:
        """Report that the app has failed and told the user; it is about to end."""
        self._report(failed=True)

    def start_next(self, session: str, folder: str) -> None:
        """Have the app started again with this session of this folder, once it has ended normally."""
        self._report(next=Start(session, folder))

    def clear(self) -> None:
        """Forget what was reported."""
        self._memory[0] = 0

    def _report(self, **changes: object) -> None:
        with self._lock:
            data = json.dumps(asdict(replace(self.status, **changes))).encode()  # type: ignore[arg-type]
            slot = 2 if self._memory[0] == 1 else 1
            begin = 1 + (slot - 1) * _SLOT_BYTES
            self._memory[begin : begin + _SLOT_BYTES] = data[:_SLOT_BYTES].ljust(_SLOT_BYTES, b"\0")
            self._memory[0] = slot
