"""Where the KV snapshots of sessions are on disk, how much room they take, and which are deleted first.

Each session has a folder of its name in `CACHE/snapshots`, whose files the engine reads and writes. A copy of a session
shares the files, which never change, by hard links. All of them can be computed again, so a failure here only costs
time later.
"""

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from laguna_tui.base.paths import SNAPSHOTS


class SnapshotStore:
    """The snapshots of all sessions. Any thread, any process."""

    def __init__(self, cache: Path) -> None:
        """Read nothing yet.

        Args:
            cache: The app's cache folder; it need not be there.
        """
        self.folder = cache / SNAPSHOTS

    def folder_of(self, session: str) -> Path | None:
        """Return the folder of a session's snapshots, which need not be there; None for an invalid ID."""
        if not session or session != Path(session).name or session.startswith("."):
            return None
        return self.folder / session

    def copy(self, session: str, copy: str) -> None:
        """Share a session's snapshots with a copy of it. If files cannot be linked, the copy has none."""
        source, target = self.folder_of(session), self.folder_of(copy)
        if source is None or target is None:
            return
        with suppress(OSError):
            for path in list(source.iterdir()):
                target.mkdir(parents=True, exist_ok=True, mode=0o700)
                (target / path.name).hardlink_to(path)

    def remove(self, session: str) -> int:
        """Remove a session's snapshots; returns how many bytes that freed."""
        folder = self.folder_of(session)
        if folder is None:
            return 0
        freed = sum(status.st_size for status in _files(folder) if status.st_nlink == 1)
        shutil.rmtree(folder, ignore_errors=True)
        return freed

    def note_use(self, session: str) -> None:
        """Mark a session's snapshots as used now, so that others are deleted first."""
        folder = self.folder_of(session)
        with suppress(OSError):
            if folder is not None:
                os.utime(folder)

    def sizes(self) -> dict[str, int]:
        """Return the bytes that the snapshots of each session take; shared ones count for the session used last."""
        found: dict[str, int] = {}
        seen: set[tuple[int, int]] = set()
        for folder in sorted(self._folders(), key=_used, reverse=True):
            found[folder.name] = 0
            for status in _files(folder):
                identity = (status.st_dev, status.st_ino)
                if identity not in seen:
                    seen.add(identity)
                    found[folder.name] += status.st_size
        return found

    def keep_within(self, limit: int, session: str) -> bool:
        """Remove snapshots of other sessions, those used longest ago first, until all take at most `limit` bytes.

        Returns:
            Whether they do: those of `session` itself stay.
        """
        while sum((sizes := self.sizes()).values()) > limit:
            others = sorted((folder for folder in self._folders() if folder.name != session), key=_used)
            if not others:
                return False
            shutil.rmtree(others[0], ignore_errors=True)
            if self.sizes() == sizes:
                return False
        return True

    def free(self) -> int:
        """Create the folder, and return how many bytes of its disk are free. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return shutil.disk_usage(self.folder).free

    def remove_orphans(self, sessions: Collection[str], before: float) -> None:
        """Remove snapshots of sessions that are gone. Nothing is raised.

        Args:
            sessions: IDs of those that there are.
            before: Only those that were last used before this time, in seconds since the epoch.
        """
        for folder in self._folders():
            if folder.name not in sessions and _used(folder) < before:
                shutil.rmtree(folder, ignore_errors=True)

    def _folders(self) -> list[Path]:
        with suppress(OSError):
            return [found for found in self.folder.iterdir() if found.is_dir() and not found.is_symlink()]
        return []


def _files(folder: Path) -> Iterator[os.stat_result]:
    with suppress(OSError):
        for path in list(folder.iterdir()):
            with suppress(OSError):
                yield path.lstat()


def _used(folder: Path) -> float:
    """Return when a session's snapshots were last written or restored."""
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
