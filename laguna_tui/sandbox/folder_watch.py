"""Watches the top folder of a workspace for new names, and the folders in it that protected files are in."""

import contextlib
import os
import selectors
import threading
import time
from collections.abc import Callable
from pathlib import Path

from laguna_tui.sandbox.native.inotify import FolderEvents
from laguna_tui.sandbox.walked_names import has_protected_parts

WALK_S = 1.0
"""Seconds between two walks."""

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderWatch:
    """A thread that reports what appears in a folder, and also wakes up every second."""

    def __init__(self, root: Path, appeared: Callable[[int, str], None], walk: Callable[[], None]) -> None:
        """Begin to watch.

        Args:
            appeared: Called with the descriptor of a folder and the path, relative to `root`, of what appeared in it;
                also for what is in the watched folders when the watch begins.
            walk: Called every `WALK_S` seconds.
        """
        self._appeared, self._walk = appeared, walk
        self._folders: dict[int, tuple[int, str]] = {}
        self._events: FolderEvents | None = None
        with contextlib.suppress(OSError):  # another system, or no watch is left: walks remain
            self._events = FolderEvents()
            self._add(os.open(root, FOLDER_FLAGS), "")
        self._wake, self._stop = os.pipe()
        threading.Thread(target=self._run, name="quarantine", daemon=True).start()

    def close(self) -> None:
        """End the thread soon, without waiting: closing an inotify descriptor takes the kernel 10 ms."""
        os.close(self._stop)

    def _add(self, folder: int, inside: str) -> None:
        """Watch a folder, and check what it contains already."""
        assert self._events is not None
        try:
            watch = self._events.add(folder)
        except OSError:
            os.close(folder)
            raise
        # Watched before, or a new folder at the place of one that was removed.
        for number in [number for number, (_, path) in self._folders.items() if path == inside]:
            os.close(self._folders.pop(number)[0])
        self._folders[watch] = folder, inside
        self._check(folder, inside)

    def _check(self, folder: int, inside: str) -> None:
        for name in os.listdir(folder):
            self._see(folder, inside, name)

    def _see(self, folder: int, above: str, name: str) -> None:
        self._appeared(folder, f"{above}/{name}" if above else name)
        if not above and has_protected_parts(name):
            with contextlib.suppress(OSError):
                self._add(os.open(name, FOLDER_FLAGS, dir_fd=folder), name)

    def _run(self) -> None:
        try:
            self._watch()
        finally:
            os.close(self._wake)
            for folder, _ in self._folders.values():
                os.close(folder)
            if self._events is not None:
                self._events.close()

    def _watch(self) -> None:
        walk_at = time.monotonic() + WALK_S
        with selectors.DefaultSelector() as ready:
            ready.register(self._wake, selectors.EVENT_READ)
            if self._events is not None:
                ready.register(self._events, selectors.EVENT_READ)
            while True:
                keys = [key.fd for key, _ in ready.select(max(0.0, walk_at - time.monotonic()))]
                if self._wake in keys:
                    return
                with contextlib.suppress(OSError):
                    self._read()
                if time.monotonic() >= walk_at:
                    self._walk()
                    walk_at = time.monotonic() + WALK_S

    def _read(self) -> None:
        for watch, name in self._events.read() if self._events is not None else ():
            if not name:  # events were lost
                for folder, inside in tuple(self._folders.values()):
                    self._check(folder, inside)
            elif watch in self._folders:
                self._see(*self._folders[watch], name)
