"""The versions of files that a session's model was shown, so that it does not change what it does not know."""

import threading
from collections.abc import Mapping

from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.repo.files.source_writer import digest


class SeenFiles:
    """Digests of the files that tools have shown or written. Any thread."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}
        self._news: dict[str, bytes | None] = {}
        self._lock = threading.Lock()

    def note(self, path: str, data: bytes) -> None:
        """Record that the model was shown a file, or a part of it.

        Args:
            path: Its located path.
            data: All of its bytes.
        """
        self._put({path: digest(data)})

    def note_change(self, made: ChangeProposal) -> None:
        """Record a change that the model was told about."""
        gone = made.kind in (ChangeKind.DELETE, ChangeKind.MOVE)
        news: dict[str, bytes | None] = {made.path: None} if gone else {}
        if made.kind is not ChangeKind.DELETE:
            news[made.target or made.path] = digest(made.new)
        self._put(news)

    def resume(self, digests: Mapping[str, bytes]) -> None:
        """Resume with what the model was shown in an earlier process. digests: By path; see `news`.

        digests: by path; see `news`.
        """
        with self._lock:
            self._digests, self._news = dict(digests), {}

    def news(self) -> Mapping[str, bytes | None]:
        """Return the digests recorded since the last call, by path; None for a file that is gone."""
        with self._lock:
            news, self._news = self._news, {}
        return news

    def knows(self, path: str) -> bool:
        """Return whether the model was shown a file, even if it changed since."""
        with self._lock:
            return path in self._digests

    def is_stale(self, path: str, data: bytes) -> bool:
        """Return whether a file has changed since the model was shown it; False if it never was."""
        with self._lock:
            known = self._digests.get(path)
        return known is not None and known != digest(data)

    def _put(self, news: Mapping[str, bytes | None]) -> None:
        with self._lock:
            for path, found in news.items():
                if found is None:
                    self._digests.pop(path, None)
                else:
                    self._digests[path] = found
            self._news.update(news)
