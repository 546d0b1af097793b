"""Who may write a file on its way: one process at a time, and the others can see which one it is."""

import os
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from laguna_tui.models.record import read_json, write_json


class Claim:
    """The right to write what is at `base`. It ends with the process that has it, however that ends.

    The lock's file is never removed: another process may hold on to it and would then lock what nobody else sees.
    """

    def __init__(self, base: Path) -> None:
        self._lock_path = base.with_name(base.name + ".lock")
        self._holder_path = base.with_name(base.name + ".holder")
        self._lock = FileLock(str(self._lock_path), thread_local=False)

    def take(self) -> bool:
        """Try to get it, without waiting; says whether it worked."""
        self._lock_path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        write_json(self._holder_path, {"pid": os.getpid()})
        return True

    def release(self) -> None:
        """Let the next one have it. Idempotent."""
        if self._lock.is_locked:
            self._holder_path.unlink(missing_ok=True)
            self._lock.release()

    def holder(self) -> str:
        """Who has it, for a sentence."""
        pid = (read_json(self._holder_path) or {}).get("pid")
        return f"another laguna-tui (process {pid})" if isinstance(pid, int) else "another laguna-tui"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
