"""The pipe from the session's thread to the screen: the thread puts, a timer on the screen's side drains.

Nothing is drawn per token: text that arrived between two drains is one event.
"""

import threading
from collections.abc import Callable
from queue import SimpleQueue

from laguna_tui.events import ReasoningDelta, TextDelta


class Feed:
    """Events in order, coalesced when they are taken. Safe for one putting and one draining thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: list[object] = []

    def put(self, item: object) -> None:
        """Add one event; cheap, since the engine's thread waits for it."""
        with self._lock:
            self._items.append(item)

    def drain(self) -> list[object]:
        """Everything since the last drain, neighbouring deltas of text joined."""
        with self._lock:
            items, self._items = self._items, []
        return coalesced(items)


def coalesced(items: list[object]) -> list[object]:
    """The same events, with runs of text deltas made one."""
    out: list[object] = []
    texts: list[str] = []
    kind: type[TextDelta] | type[ReasoningDelta] = TextDelta
    for item in items:
        if texts and type(item) is not kind:
            out.append(kind("".join(texts)))
            texts.clear()
        if isinstance(item, TextDelta | ReasoningDelta):
            kind = type(item)
            texts.append(item.text)
        else:
            out.append(item)
    return [*out, kind("".join(texts))] if texts else out


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
