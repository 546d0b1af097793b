"""A least-recently-used cache bounded by the total weight of its values."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class BoundedCache(Generic[_Key, _Value]):
    """The most recently used values, of at most `most` total weight. Callable from any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._weight = 0
        self._held: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _Key) -> _Value | None:
        """Return the value of a key; None when it is not cached."""
        with self._lock:
            held = self._held.get(key)
            if held is None:
                return None
            self._held.move_to_end(key)
            return held[0]

    def put(self, key: _Key, value: _Value, weight: int = 1) -> None:
        """Add a value, and evict the least recently used ones above the limit."""
        with self._lock:
            self._weight += weight - self._held.pop(key, (None, 0))[1]
            self._held[key] = value, weight
            while self._weight > self._most:
                self._weight -= self._held.popitem(last=False)[1][1]
