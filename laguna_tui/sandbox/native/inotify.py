"""Events of folders on Linux: a name was created in one, or moved into it."""

import ctypes
import os
import struct
import sys

_CREATE, _MOVED_TO, _OVERFLOW, _ONLY_FOLDERS = 0x100, 0x80, 0x4000, 0x01000000
"""`<linux/inotify.h>`."""
_HEADER = struct.Struct("iIII")
"""Watch, mask, cookie, length of the name behind it."""
_READ_BYTES = 1 << 16


class FolderEvents:
    """Names that appear in folders. Read it when `fileno` is readable; one thread."""

    def __init__(self) -> None:
        """Watch nothing yet.

        Raises:
            OSError: The system has no inotify, or no instance is left.
        """
        if sys.platform != "linux":
            raise OSError("inotify is a part of Linux")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        self._check(self._fd)

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._fd

    def add(self, folder: int) -> int:
        """Watch a folder; returns the number its events have.

        Args:
            folder: Open descriptor of it; it may be closed afterwards.

        Raises:
            OSError: It is not a folder, or no watch is left.
        """
        # By descriptor: a path could lead to another folder by now.
        path = f"/proc/self/fd/{folder}".encode()
        watch: int = self._libc.inotify_add_watch(self._fd, path, _CREATE | _MOVED_TO | _ONLY_FOLDERS)
        self._check(watch)
        return watch

    def read(self) -> list[tuple[int, str]]:
        """Return watches and names, in order. After an empty name, events were lost: list the folders."""
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return []
        events, at = list[tuple[int, str]](), 0
        while at < len(data):
            watch, mask, _, length = _HEADER.unpack_from(data, at)
            at += _HEADER.size
            name = os.fsdecode(data[at : at + length].rstrip(b"\0"))
            at += length
            if mask & _OVERFLOW:
                events.append((-1, ""))
            elif name:
                events.append((watch, name))
        return events

    def close(self) -> None:
        os.close(self._fd)

    @staticmethod
    def _check(answer: int) -> None:
        if answer < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
