"""What a session's model was shown of files, so that it does not change what it does not know."""

import threading

from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.repo.source_writer import digest


class SeenFiles:
    """Digests of the files that tools have shown or written, as they were then. Any thread."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def note(self, path: str, data: bytes) -> None:
        """The model was shown a file, or a part of it.

        Args:
            path: its located path.
            data: all of its bytes.
        """
        with self._lock:
            self._digests[path] = digest(data)

    def note_change(self, made: ChangeProposal) -> None:
        """A change was made, which the model was told of."""
        with self._lock:
            if made.kind in (ChangeKind.DELETE, ChangeKind.MOVE):
                self._digests.pop(made.path, None)
            if made.kind is not ChangeKind.DELETE:
                self._digests[made.target or made.path] = digest(made.new)

    def knows(self, path: str) -> bool:
        """Whether the model was shown a file, be it before it changed."""
        with self._lock:
            return path in self._digests

    def is_stale(self, path: str, data: bytes) -> bool:
        """Whether a file has other bytes now than when the model was shown it; False if it never was."""
        with self._lock:
            known = self._digests.get(path)
        return known is not None and known != digest(data)
