"""Opening files below a folder, one part of the path after another and never through a link.

Does what openat2(2) does with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, on every system: nothing swapped between a check
and the opening can lead out of the folder. Everything that lists, searches, parses, reads or writes the files of a
folder goes through here. Works on relative paths with "/" between the parts.
"""

import errno
import os
import unicodedata
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from laguna_tui.base.paths import FolderIdentity

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, because opening a pipe would otherwise wait for a writer.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Each folder on the way holds a descriptor, and a process has about a thousand. No project is this deep.
MAX_DEPTH = 200


def as_on_disk(path: Path) -> Path:
    """Return a path with its parts as the folders spell them.

    A part that is not there becomes the name that is the same text in another Unicode normal form: macOS and archives
    write "é" as two characters (NFD), keyboards and models as one (NFC).
    """
    found = Path(path.parts[0]) if path.parts else path
    for part in path.parts[1:]:
        if not part.isascii() and not os.path.lexists(found / part):
            with suppress(OSError):
                same = sorted(entry.name for entry in found.iterdir() if nfc(entry.name) == nfc(part))
                part = same[0] if same else part  # noqa: PLW2901
        found /= part
    return found


def nfc(text: str) -> str:
    """Return the text in the normal form in which most of it is written."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


class FolderReplacedError(OSError):
    """The root was replaced by another folder."""


class RootFolder:
    """Opens paths below a root folder. Use it for paths in sorted order, then `close` it.

    The folders of the last path stay open, so that the next path opens only those in which it differs. A folder that
    is renamed meanwhile stays the one that was opened. One thread.
    """

    def __init__(self, root: Path, identity: FolderIdentity | None = None) -> None:
        """Prepare; nothing is opened yet.

        Args:
            root: The folder, without links in its path.
            identity: Expected identity of the folder; None accepts the existing one.
        """
        self._root = root
        self._identity = identity
        self._inside: str | None = None
        self._parts: list[str] = []
        self._held: list[int] = []

    def folder(self, inside: str) -> int:
        """Return a descriptor of a folder, valid until the next call; "" is the root.

        Raises:
            FolderReplacedError: The root is another folder now.
            OSError: It is missing, behind a link, not permitted or too deep.
            ValueError: It is not a path.
        """
        if inside == self._inside:
            return self._held[-1]
        self._inside = None
        parts = inside.split("/") if inside else []
        if len(parts) > MAX_DEPTH:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), inside)
        if not self._held:
            self._held.append(self._opened_root())
        same = 0
        for part, known in zip(parts, self._parts, strict=False):
            if part != known:
                break
            same += 1
        self._keep(same)
        for part in parts[same:]:
            if part in ("", ".", ".."):
                raise OSError(errno.EINVAL, "it is not a plain path", inside)
            self._held.append(os.open(part, _FOLDER_FLAGS, dir_fd=self._held[-1]))
            self._parts.append(part)
        self._inside = inside
        return self._held[-1]

    def holding(self, inside: str) -> tuple[int, str]:
        """Return a descriptor of a path's parent folder, and its last part. Raises as `folder` does."""
        folder, _, name = inside.rpartition("/")
        return self.folder(folder), name

    def open(self, inside: str) -> int:
        """Open a file of any kind for reading; returns a new descriptor. Raises as `folder` does; links are refused."""
        folder, name = self.holding(inside)
        return os.open(name or ".", _FILE_FLAGS, dir_fd=folder)

    def lstat(self, inside: str) -> os.stat_result:
        """Return the status of a path, also of a link. Raises as `folder` does."""
        folder, name = self.holding(inside)
        return os.stat(name or ".", dir_fd=folder, follow_symlinks=False)

    def close(self) -> None:
        """Close the folders. Idempotent."""
        self._inside = None
        self._keep(-1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _opened_root(self) -> int:
        root = os.open(self._root, _FOLDER_FLAGS)
        if self._identity is not None and FolderIdentity.of(os.fstat(root)) != self._identity:
            os.close(root)
            raise FolderReplacedError(errno.ESTALE, "the folder was replaced by another one", str(self._root))
        return root

    def _keep(self, depth: int) -> None:
        """Close folders more than `depth` parts below the root; -1 closes the root too."""
        while len(self._held) > depth + 1:
            with suppress(OSError):
                os.close(self._held.pop())
        del self._parts[max(depth, 0) :]
