"""Announces what the app itself is about to make in a folder, to whoever watches that folder for what others make."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_listeners: list[Callable[[Path], None]] = []


def announce(path: Path) -> None:
    """Report a file or folder before it is made or replaced, with the user's approval. Any thread."""
    for listener in tuple(_listeners):
        listener(path)


@contextmanager
def announced_to(listener: Callable[[Path], None]) -> Iterator[None]:
    """Call `listener` with each announced path meanwhile."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
