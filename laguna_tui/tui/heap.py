"""Keeping Python's garbage collector from stopping the screen.

A full collection looks at every object of textual, the engine and the chat: 50 to 150 ms in which nothing moves and
the engine's thread waits too. What is alive between two answers will live long, so it is set aside.
"""

import gc


def set_aside() -> None:
    """Collect once, now that nobody waits, and leave what is alive out of later collections."""
    gc.collect()
    gc.freeze()
