"""Keeping Python's garbage collector from stopping the screen.

A full collection looks at every object of textual, the engine and the chat: 50 to 150 ms in which nothing moves and
the engine's thread waits too. What is alive between two answers will live long, so it is set aside. What dies there in
circles is not found, so all of it is looked at again once it has grown.
"""

import gc

# Of 75,000 objects of an app without a chat, some 300 a turn die in circles: a full look every 60 turns or so.
_GROWN = 1.25


class Heap:
    """What is set aside; one for the process."""

    def __init__(self) -> None:
        self._alive = 0

    def set_aside(self) -> None:
        """Collect once, now that nobody waits, and leave what is alive out of later collections."""
        full = gc.get_freeze_count() >= self._alive * _GROWN
        if full:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        if full:
            self._alive = gc.get_freeze_count()
