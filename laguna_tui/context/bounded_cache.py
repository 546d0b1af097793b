"""What was worked out lately, kept as long as all of it together is not too much. Holds values and asks nobody."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class BoundedCache(Generic[_Key, _Value]):
    """The values that were used last, which weigh at most `most` together. Any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._weight = 0
        self._held: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _Key) -> _Value | None:
        """The value of a key; None when it is not known, or not any more."""
        with self._lock:
            held = self._held.get(key)
            if held is None:
                return None
            self._held.move_to_end(key)
            return held[0]

    def put(self, key: _Key, value: _Value, weight: int = 1) -> None:
        """Keep a value, and forget those that were used longest ago if it becomes too much."""
        with self._lock:
            self._weight += weight - self._held.pop(key, (None, 0))[1]
            self._held[key] = value, weight
            while self._weight > self._most:
                self._weight -= self._held.popitem(last=False)[1][1]
