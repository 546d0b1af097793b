"""The events on their way from the session's thread to the screen: bounded, and what can be joined is joined."""

import threading

from msgspec.structs import replace

from laguna_tui.base.events import ReasoningDelta, TextDelta, ToolProgress

# Several seconds of the fastest decoding; the screen polls 20 times per second.
MAX_EVENTS = 4096


class EventQueue:
    """A bounded queue of events, coalesced when drained. Safe for many putting threads and one draining thread.

    `put` blocks while the queue is full. The screen's thread never puts, never waits for a thread that does, and closes
    the queue when the app exits, which releases blocked threads.
    """

    def __init__(self, limit: int = MAX_EVENTS) -> None:
        """limit: number of events held before `put` blocks."""
        self._limit = limit
        self._room = threading.Condition()
        self._items: list[object] = []
        self._closed = False

    def put(self, item: object) -> None:
        """Add an event, once there is room; cheap, since the engine's thread waits for it. Dropped if closed."""
        with self._room:
            self._room.wait_for(lambda: self._closed or len(self._items) < self._limit)
            if not self._closed:
                self._items.append(item)

    def drain(self) -> list[object]:
        """Take all events, with adjacent pieces of one text joined."""
        with self._room:
            items, self._items = self._items, []
            self._room.notify_all()
        return coalesced(items)

    def close(self) -> None:
        """Release threads blocked in `put`; events put from now on are dropped. Idempotent."""
        with self._room:
            self._closed = True
            self._room.notify_all()


Piece = TextDelta | ReasoningDelta | ToolProgress


def coalesced(items: list[object]) -> list[object]:
    """Join adjacent pieces of one text: of the answer by one source, or of one call's output."""
    out: list[object] = []
    texts: list[str] = []
    for item in items:
        if isinstance(item, Piece):
            if texts and _continues(out[-1], item):
                texts.append(item.text)
                continue
            _join(out, texts)
            texts = [item.text]
        else:
            _join(out, texts)
            texts = []
        out.append(item)
    _join(out, texts)
    return out


def _continues(last: object, piece: Piece) -> bool:
    return isinstance(last, Piece) and replace(last, text="") == replace(piece, text="")


def _join(out: list[object], texts: list[str]) -> None:
    """Set the text of the last piece to the joined texts."""
    if len(texts) > 1 and isinstance(last := out[-1], Piece):
        out[-1] = replace(last, text="".join(texts))
