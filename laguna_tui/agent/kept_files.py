"""Private files in the user's cache folder while a session is open: long results and old bytes."""

import contextlib
import os
import tempfile
import time
from pathlib import Path

import platformdirs

from laguna_tui.base.paths import APP

# No session needs a file for longer.
_KEPT_S = 7 * 24 * 3600


class KeptFiles:
    """Keeps texts and bytes on disk, readable by the user alone, until it is closed. Any thread."""

    def __init__(self, folder: Path | None = None) -> None:
        """folder: where; None means the cache folder."""
        self._folder = folder or platformdirs.user_cache_path(APP) / "results"
        self._paths: list[Path] = []

    def keep_bytes(self, data: bytes) -> Path | None:
        """The path of a new private file (mode 0600) with these bytes, or None when the disk refuses."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._sweep()
            # mkstemp creates the file with mode 0600.
            descriptor, name = tempfile.mkstemp(prefix=f"{os.getpid()}-", suffix=".txt", dir=self._folder)
            self._paths.append(Path(name))
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            return Path(name)
        return None

    def _sweep(self) -> None:
        """Remove what killed sessions left behind, once per session."""
        if self._paths:
            return
        for path in self._folder.glob("*.txt"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _KEPT_S:
                    path.unlink()

    def close(self) -> None:
        """Remove the files."""
        while self._paths:
            self._paths.pop().unlink(missing_ok=True)
