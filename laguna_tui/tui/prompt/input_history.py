"""The input history and the draft of an unsent message, in the state folder.

The history is a private file with one JSON string per line, the newest last. Each app that is open keeps its draft in a
file of its own, so that a crash or a kill does not lose it, and locks it, so that no other one takes it for a lost one.
What a lost app leaves is put into the input of the next one that is started in the same folder. If a file cannot be
read or written, the app works without it.
"""

import asyncio
import contextlib
import json
import os
import secrets
import threading
from hashlib import sha256
from pathlib import Path

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.base.locked_file import open_locked
from laguna_tui.tui.crash import CrashSafeApp

# Enough to find last month's question; small enough to read at every start.
MAX_ENTRIES = 1000
FILE = "history.jsonl"
# Another session locks the file for a few milliseconds; the screen waits that long.
_LOCK_S = 0.5
# Room for `MAX_ENTRIES` pasted files.
_LIMIT_BYTES = 64 << 20

DRAFTS = "drafts"
"""The folder in the state folder."""
PAUSE_S = 1.0
"""Least time between two writes."""
_TEXT, _LOCK = ".json", ".lock"


class InputHistory:
    """Past inputs, with a position for the arrow keys.

    Attributes:
        entries: the inputs, the newest last.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / FILE if folder is not None else None
        self._on_disk = _read(self._path) if self._path else []
        self.entries = self._on_disk[-MAX_ENTRIES:]
        self._unsaved: list[str] = []
        self._at = len(self.entries)
        self._draft = ""

    def add(self, text: str) -> None:
        """Add an input; a repetition of the newest is ignored."""
        if text.strip() and self.entries[-1:] != [text]:
            self.entries = [*self.entries, text][-MAX_ENTRIES:]
            self._unsaved.append(text)
            self._save()
        self._at, self._draft = len(self.entries), ""

    def older(self, current: str) -> str | None:
        """Return the previous input, or None at the oldest. `current`, the text being typed, is kept as the newest."""
        if self._at == 0:
            return None
        if self._at == len(self.entries):
            self._draft = current
        self._at -= 1
        return self.entries[self._at]

    def newer(self) -> str | None:
        """Return the next input, or the text that was being typed; None if there is nothing newer."""
        if self._at >= len(self.entries):
            return None
        self._at += 1
        return self._draft if self._at == len(self.entries) else self.entries[self._at]

    def _save(self) -> None:
        """Append unsaved entries to those on disk; on failure they are kept for the next time."""
        if self._path is None:
            return
        from filelock import FileLock

        # A lock that times out is an OSError too.
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


class InputDraft:
    """Keeps what is in the input. Screen's thread only; writing waits for a disk and has a thread of its own.

    A disk that cannot be written to keeps nothing, and the app works without it.
    """

    def __init__(self, app: CrashSafeApp, state: Path | None, folder: Path) -> None:
        """Open nothing yet.

        Args:
            app: whose workers write.
            state: the state folder; None keeps nothing.
            folder: the folder that the chat is about.
        """
        self._app = app
        self._drafts = state / DRAFTS if state is not None else None
        self._prefix = sha256(os.fsencode(folder)).hexdigest()[:32]
        self._name = f"{self._prefix}-{secrets.token_hex(4)}"
        self._held = -1
        self._text = self._written = ""
        self._is_waiting = False
        self._writes = threading.Lock()

    def take_lost(self) -> list[str]:
        """Return the drafts that lost apps have left in this folder, the newest last; each is given once."""
        if self._drafts is None:
            return []
        found: list[tuple[float, str]] = []
        with contextlib.suppress(OSError):
            for path in self._drafts.glob(f"{self._prefix}-*{_TEXT}"):
                with contextlib.suppress(OSError, ValueError):
                    found.append(_take(path))
        return [text for _, text in sorted(found) if text.strip()]

    def changed(self, text: str) -> None:
        """Keep this text, in at most a second."""
        self._text = text
        if self._drafts is not None and not self._is_waiting:
            self._is_waiting = True
            self._app.start_work(self._save, "draft")

    def sent(self) -> None:
        """The text was sent: forget it at once."""
        self._text = ""
        if self._written:
            self.keep_now("")

    def keep_now(self, text: str) -> None:
        """Write this text before anything else happens, for example before the app ends."""
        self._text = text
        self._write()

    def close(self) -> None:
        """Unlock the draft: the next app that is started here takes it. Idempotent."""
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    async def _save(self) -> None:
        await asyncio.sleep(PAUSE_S)
        self._is_waiting = False
        await asyncio.to_thread(self._write)

    def _write(self) -> None:
        """Write the newest text."""
        if self._drafts is None:
            return
        path, lock = self._drafts / f"{self._name}{_TEXT}", self._drafts / f"{self._name}{_LOCK}"
        with self._writes, contextlib.suppress(OSError):
            text = self._text
            if text == self._written:
                return
            if not text.strip():
                path.unlink(missing_ok=True)
                lock.unlink(missing_ok=True)
                self.close()
            else:
                if self._held < 0:
                    self._drafts.mkdir(parents=True, exist_ok=True, mode=0o700)
                    self._held = open_locked(lock, os.O_RDWR | os.O_CREAT)
                write_atomically(path, json.dumps(text))
            self._written = text


def _take(path: Path) -> tuple[float, str]:
    """Return when a lost draft was written, and its text, and remove its files.

    Raises:
        OSError: it is another app's, or cannot be read.
        ValueError: it is none.
    """
    lock = path.with_suffix(_LOCK)
    held = open_locked(lock, os.O_RDWR | os.O_CREAT)
    try:
        written, data = path.stat().st_mtime, json.loads(read_small_file(path, _LIMIT_BYTES))
        path.unlink()
        lock.unlink(missing_ok=True)
    finally:
        os.close(held)
    if not isinstance(data, str):
        raise ValueError("it is no text")
    return written, data
