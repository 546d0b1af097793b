"""What child processes found out about this llama.cpp on this processor, remembered so that each is asked once.

A SIGSEGV or an uncaught C++ exception cannot be contained in the process, so what may end in one is tried in a child
first (`ggml.extra_buffers`, `llama.trial`). A verdict holds for one build of the library and one processor; it is kept
in memory, and in a file where the app names one.
"""

import contextlib
import json
import os
import platform
import threading
from functools import cache
from hashlib import blake2b
from pathlib import Path

from laguna_engine.files import read_small_file, write_atomically
from laguna_engine.native.library import library_folders

_FORMAT = 1
_MAX_BYTES = 1 << 18
"""A verdict takes about 100 bytes; a larger file is not ours."""

_MAX_VERDICTS = 512
"""The oldest go first."""

_MAX_LENGTH = 200
"""Of a key or a verdict, in characters."""

_CPU_INFO = Path("/proc/cpuinfo")
_CPU_INFO_CHARS = 1 << 14
"""The first processor's entry has about 2,000; all are alike."""

_CPU_KEYS = ("model name", "flags", "Features", "CPU part")
_LIBRARIES = ("*llama.*", "*ggml*.*")


class Verdicts:
    """Short texts by short keys. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        self._path: Path | None = None

    def keep_in(self, path: Path) -> None:
        """Remember in this file too, and take in what it holds. A file that cannot be read or written is ignored."""
        with self._lock:
            if path != self._path:
                self._path = path
                self._known = {**_read(path), **self._known}

    def get(self, subject: str) -> str | None:
        """The verdict on a subject, with this build on this processor; None if there is none yet."""
        with self._lock:
            return self._known.get(_key(subject))

    def put(self, subject: str, verdict: str) -> None:
        """Remember a verdict."""
        key = _key(subject)
        with self._lock:
            self._known.pop(key, None)
            self._known[key] = verdict[:_MAX_LENGTH]
            if self._path is not None:
                # Another process may have added to the file meanwhile.
                self._known = {**_read(self._path), **self._known}
                self._known = dict(list(self._known.items())[-_MAX_VERDICTS:])
                # Where that fails, the next start tries again.
                with contextlib.suppress(OSError):
                    write_atomically(self._path, json.dumps({"format": _FORMAT, "verdicts": self._known}))


verdicts = Verdicts()
"""This process's: there is one library in it, and one processor under it."""


@cache
def build_identity() -> str:
    """A hash of the library's files (path, size, time of change) and of the processor's name and instruction sets."""
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
    """What the file holds; nothing if it is not one of ours, whole and of this format."""
    try:
        held = json.loads(read_small_file(path, _MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(held, dict) or held.get("format") != _FORMAT or not isinstance(held.get("verdicts"), dict):
        return {}
    pairs = [(key, text) for key, text in held["verdicts"].items() if isinstance(text, str)]
    return dict(pair for pair in pairs[-_MAX_VERDICTS:] if max(map(len, pair)) <= _MAX_LENGTH)
