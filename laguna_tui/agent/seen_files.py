"""What a session's model was shown of files, so that it does not change what it does not know."""

import threading
from collections.abc import Mapping

from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.repo.files.source_writer import digest


class SeenFiles:
    """Digests of the files that tools have shown or written, as they were then. Any thread."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}
        self._news: dict[str, bytes | None] = {}
        self._lock = threading.Lock()

    def note(self, path: str, data: bytes) -> None:
        """The model was shown a file, or a part of it.

        Args:
            path: its located path.
            data: all of its bytes.
        """
        self._put({path: digest(data)})

    def note_change(self, made: ChangeProposal) -> None:
        """A change was made, which the model was told of."""
        gone = made.kind in (ChangeKind.DELETE, ChangeKind.MOVE)
        news: dict[str, bytes | None] = {made.path: None} if gone else {}
        if made.kind is not ChangeKind.DELETE:
            news[made.target or made.path] = digest(made.new)
        self._put(news)

    def go_on(self, digests: Mapping[str, bytes]) -> None:
        """Go on with what the model was shown in an earlier process, instead of what it was shown in this one.

        digests: by path; see `news`.
        """
        with self._lock:
            self._digests, self._news = dict(digests), {}

    def news(self) -> Mapping[str, bytes | None]:
        """The digests of what was noted since this was asked last, by path; None for a file that is gone."""
        with self._lock:
            news, self._news = self._news, {}
        return news

    def knows(self, path: str) -> bool:
        """Whether the model was shown a file, be it before it changed."""
        with self._lock:
            return path in self._digests

    def is_stale(self, path: str, data: bytes) -> bool:
        """Whether a file has other bytes now than when the model was shown it; False if it never was."""
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
