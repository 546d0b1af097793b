"""The folder's files as text: read safely, only as far as needed, and cached while they are unchanged."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from laguna_tui.base.paths import escaped
from laguna_tui.context.bounded_cache import BoundedCache
from laguna_tui.context.frame import plain
from laguna_tui.repo.files.sensitive_paths import sensitive_reason
from laguna_tui.repo.files.text_files import TextFile, decode, has_wide_bom, is_binary
from laguna_tui.repo.files.walk import SEARCH_LIMIT_BYTES
from laguna_tui.repo.files.workspace import UnreadableError, Workspace

# A few of the largest files, or a folder of thousands.
_CACHED_CHARS = 16 * 1024 * 1024
# The longest character in UTF-8, UTF-16 and UTF-32.
_CHARACTER_BYTES = 4

_Stamp = tuple[int, int, int, int]

SECRET = "{path} {why}, so it is not attached; to show it to the model, allow read({path}) in permissions.toml"
FORBIDDEN = "{path} is not attached, because a rule forbids reading it; change the rule to attach it"


@dataclass(frozen=True)
class SourceFile:
    """One file.

    Attributes:
        path: relative to the folder.
        text: its lines, each ending in a newline.
        size: its bytes.
        read: how many of them were read.
    """

    path: str
    text: str = field(repr=False)
    size: int
    read: int

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")[:-1]

    @property
    def complete(self) -> bool:
        return self.read >= self.size


class SourceFiles:
    """The files of a workspace. Callable from any thread."""

    def __init__(self, workspace: Workspace, unreadable: Callable[[str], str] = lambda path: "") -> None:
        """Read nothing yet.

        Args:
            workspace: the folder.
            unreadable: returns why a located file's text may not be shown to the model; empty where it may.
        """
        self._workspace = workspace
        self._unreadable = unreadable
        self._known = BoundedCache[tuple[str, int], tuple[_Stamp, SourceFile]](_CACHED_CHARS)

    def read(self, path: str, limit: int = SEARCH_LIMIT_BYTES) -> SourceFile:
        """Return a file's text, or that of its first `limit` bytes.

        Args:
            path: as the workspace locates it.
            limit: most bytes to read.

        Raises:
            WorkspaceError: it cannot or may not be read, or is not text; the message is a sentence.
        """
        if self._unreadable(path):
            why = sensitive_reason(path)
            raise UnreadableError((SECRET if why else FORBIDDEN).format(path=escaped(path), why=why))
        stamp = self._stamp(path)
        known = self._known.get((path, limit))
        if known is not None and stamp is not None and known[0] == stamp:
            return known[1]
        source = read_source(self._workspace, path, limit)
        if stamp is not None:
            self._known.put((path, limit), (stamp, source), len(source.text))
        return source

    def _stamp(self, path: str) -> _Stamp | None:
        """Return what changes when a file does."""
        try:
            status = os.lstat(self._workspace.root / path)
        except (OSError, ValueError):
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def read_source(workspace: Workspace, path: str, limit: int) -> SourceFile:
    """Return a file's text as it is now, or that of its first `limit` bytes without a torn line at the end.

    Raises:
        WorkspaceError: it cannot be read, or is not text; the message is a sentence.
    """
    return source_of(path, *workspace.read_beginning(path, limit))


def source_of(path: str, data: bytes, size: int) -> SourceFile:
    """Return the text of a file's first bytes, without a torn line at the end; `size` is how many it has in all.

    Raises:
        WorkspaceError: it is not text; the message is a sentence.
    """
    if is_binary(data):
        raise UnreadableError(f"{escaped(path)} is a binary file; try another file")
    if len(data) >= size:
        return SourceFile(path, plain(decode(data).text), size, size)
    text = plain(_untorn(data).text)
    return SourceFile(path, text[: text.rfind("\n", 0, -1) + 1] or text, size, len(data))


def _untorn(data: bytes) -> TextFile:
    """Decode a file's first bytes, whose last character may be torn: that must not make it another encoding."""
    rest = len(data) % _CHARACTER_BYTES
    # UTF-32 cut elsewhere would pass for UTF-16; UTF-16 has pairs of two bytes each.
    cuts = (rest, rest + 2) if has_wide_bom(data) else range(_CHARACTER_BYTES)
    found = [file for cut in cuts if (file := decode(data[: len(data) - cut])).encoding.startswith("utf")]
    # The file may have invalid bytes elsewhere too.
    return next((file for file in found if not file.raw_bytes), next(iter(found), None)) or decode(data)
