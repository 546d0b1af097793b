"""Cached results of trials in child processes, by llama.cpp build and processor.

A SIGSEGV or an uncaught C++ exception cannot be contained in the process, so risky operations are tried in a child
first (`ggml.extra_buffers`, `llama.trial`). A verdict holds for one build of the library and one processor. Verdicts
are held in memory, and in a file if the app sets one.
"""

import contextlib
import os
import platform
import threading
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from laguna_engine.files import read_small_file, write_atomically
from laguna_engine.native.library import library_folders

_FORMAT = 1
_MAX_BYTES = 1 << 18
"""Largest file read; a verdict takes about 100 bytes."""

_MAX_VERDICTS = 512
"""Most verdicts stored; the oldest are dropped first."""

_MAX_LENGTH = 200
"""Most characters of a key or a verdict."""

_CPU_INFO = Path("/proc/cpuinfo")
_CPU_INFO_CHARS = 1 << 14
"""Characters read: the first processor's entry has about 2,000, and all are alike."""

_CPU_KEYS = ("model name", "flags", "Features", "CPU part")
_LIBRARIES = ("*llama.*", "*ggml*.*")


_Short = Annotated[str, Meta(max_length=_MAX_LENGTH)]


class _Stored(Struct):
    format: int
    verdicts: dict[_Short, _Short]


class Verdicts:
    """Short texts by short keys. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        self._path: Path | None = None

    def store_in(self, path: Path) -> None:
        """Load verdicts from this file and save them to it. A file that cannot be read or written is ignored."""
        with self._lock:
            if path != self._path:
                self._path = path
                self._known = {**_read(path), **self._known}

    def get(self, subject: str) -> str | None:
        """Return the verdict on a subject for this build and processor, or None."""
        with self._lock:
            return self._known.get(_key(subject))

    def put(self, subject: str, verdict: str) -> None:
        """Store a verdict."""
        key = _key(subject)
        with self._lock:
            self._known.pop(key, None)
            self._known[key] = verdict[:_MAX_LENGTH]
            if self._path is not None:
                # Another process may have added to the file meanwhile.
                self._known = {**_read(self._path), **self._known}
                self._known = dict(list(self._known.items())[-_MAX_VERDICTS:])
                # If this fails, the next start repeats the trial.
                with contextlib.suppress(OSError):
                    write_atomically(self._path, msgspec.json.encode(_Stored(_FORMAT, self._known)))


verdicts = Verdicts()
"""The verdicts of this process, which has one library and one processor."""


@cache
def build_identity() -> str:
    """Return a hash of the library's files (path, size, modification time) and of the processor's name and features."""
    files = {path.resolve() for folder in library_folders() for name in _LIBRARIES for path in folder.glob(name)}
    facts = [f"{path} {state.st_size} {state.st_mtime_ns}" for path in sorted(files) if (state := _state(path))]
    return blake2b("\n".join([*facts, _processor()]).encode(), digest_size=16).hexdigest()


def _key(subject: str) -> str:
    return f"{build_identity()} {subject}"[:_MAX_LENGTH]


def _state(path: Path) -> os.stat_result | None:
    with contextlib.suppress(OSError):
        return path.stat()
    return None


def _processor() -> str:
    try:
        with _CPU_INFO.open(encoding="utf-8", errors="replace") as file:
            first = file.read(_CPU_INFO_CHARS).split("\n\n")[0]
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(line for line in first.splitlines() if line.partition("\t")[0].strip(" :") in _CPU_KEYS)


def _read(path: Path) -> dict[str, str]:
    """Return the verdicts in the file; empty if it is missing, damaged or of another format."""
    with contextlib.suppress(OSError, msgspec.DecodeError, RecursionError):
        stored = msgspec.json.decode(read_small_file(path, _MAX_BYTES), type=_Stored)
        if stored.format == _FORMAT:
            return dict(list(stored.verdicts.items())[-_MAX_VERDICTS:])
    return {}
