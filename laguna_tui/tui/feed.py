"""The pipe from the session's thread to the screen: the thread puts, a timer on the screen's side drains.

Nothing is drawn per token: text that arrived between two drains is one event.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from queue import SimpleQueue

from laguna_tui.events import ReasoningDelta, TextDelta

# Several seconds of the fastest decoding, where the screen draws 20 times a second.
MOST = 4096


class Feed:
    """Events in order, coalesced when they are taken. Safe for putting threads and one draining thread.

    It is bounded: who puts waits while the screen does not keep up. The screen's thread never puts, waits for no thread
    that does, and closes the feed when it leaves, so that nobody waits for it then.
    """

    def __init__(self, most: int = MOST) -> None:
        """most: events that are held before `put` waits."""
        self._most = most
        self._room = threading.Condition()
        self._items: list[object] = []
        self._closed = False

    def put(self, item: object) -> None:
        """Add one event, once there is room; cheap, since the engine's thread waits for it. Dropped when closed."""
        with self._room:
            self._room.wait_for(lambda: self._closed or len(self._items) < self._most)
            if not self._closed:
                self._items.append(item)

    def drain(self) -> list[object]:
        """Everything since the last drain, neighbouring deltas of text joined."""
        with self._room:
            items, self._items = self._items, []
            self._room.notify_all()
        return coalesced(items)

    def close(self) -> None:
        """Nobody drains any more: who waits goes on, and what is put is dropped. Idempotent."""
        with self._room:
            self._closed = True
            self._room.notify_all()


def coalesced(items: list[object]) -> list[object]:
    """The same events, with runs of text deltas of one kind and proposer made one."""
    out: list[object] = []
    texts: list[str] = []
    for item in items:
        last = out[-1] if out else None
        if isinstance(item, TextDelta | ReasoningDelta):
            if texts and type(last) is type(item) and getattr(last, "source", None) is item.source:
                texts.append(item.text)
                continue
            _close(out, texts)
            texts = [item.text]
        else:
            _close(out, texts)
            texts = []
        out.append(item)
    _close(out, texts)
    return out


def _close(out: list[object], texts: list[str]) -> None:
    """Give the last delta the text of all that were joined to it."""
    if len(texts) > 1 and isinstance(last := out[-1], TextDelta | ReasoningDelta):
        out[-1] = replace(last, text="".join(texts))


class SessionThread:
    """The one thread that talks to the session. It is a daemon: a model that is still loading never delays quitting."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._run, name="laguna-session", daemon=True).start()

    def submit(self, job: Callable[[], None]) -> None:
        """Run `job` after those before it. It must not raise."""
        self._jobs.put(job)

    def _run(self) -> None:
        while True:
            self._jobs.get()()
