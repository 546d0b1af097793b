"""What the user typed before, kept over runs: one JSON string a line in a private file, the newest last.

Sessions at the same time share the file: each adds to what the others wrote, and sees it with its own next input.
The history is a convenience: when the file cannot be read or written, the app goes on without it.
"""

import contextlib
import json
from pathlib import Path

from laguna_engine.files import read_small_file, write_atomically

# Enough to find last month's question; small enough to read at every start.
MAX_ENTRIES = 1000
FILE = "history.jsonl"
# Another session has the file for a few milliseconds; the screen waits for it.
_LOCK_S = 0.5
# As many entries as are kept, each a pasted file.
_LIMIT_BYTES = 64 << 20


class History:
    """The past inputs and a place among them, for walking with the arrow keys."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / FILE if folder is not None else None
        self._on_disk = _read(self._path) if self._path else []
        self.entries = self._on_disk[-MAX_ENTRIES:]
        self._unsaved: list[str] = []
        self._at = len(self.entries)
        self._draft = ""

    def add(self, text: str) -> None:
        """Remember an input; the same twice in a row is kept once."""
        if text.strip() and self.entries[-1:] != [text]:
            self.entries = [*self.entries, text][-MAX_ENTRIES:]
            self._unsaved.append(text)
            self._save()
        self._at, self._draft = len(self.entries), ""

    def older(self, current: str) -> str | None:
        """The input before, None at the oldest. What is being typed now is kept as the newest."""
        if self._at == 0:
            return None
        if self._at == len(self.entries):
            self._draft = current
        self._at -= 1
        return self.entries[self._at]

    def newer(self) -> str | None:
        """The input after, or what was being typed; None when there is nothing newer."""
        if self._at >= len(self.entries):
            return None
        self._at += 1
        return self._draft if self._at == len(self.entries) else self.entries[self._at]

    def _save(self) -> None:
        """Write what is unsaved behind what is on the disk by now; what cannot be written waits for the next time."""
        if self._path is None:
            return
        from filelock import FileLock

        # A lock that is not free in time is an OSError too.
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock(f"{self._path}.lock", timeout=_LOCK_S):
                now = _read(self._path)
                if now != self._on_disk:
                    self.entries = [*now, *self._unsaved][-MAX_ENTRIES:]
                write_atomically(self._path, "".join(json.dumps(entry) + "\n" for entry in self.entries))
            self._on_disk = self.entries
            self._unsaved.clear()


def _read(path: Path) -> list[str]:
    try:
        lines = read_small_file(path, _LIMIT_BYTES).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    entries: list[str] = []
    for line in lines:
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            entries.extend([entry] if isinstance(entry, str) else [])
    return entries
