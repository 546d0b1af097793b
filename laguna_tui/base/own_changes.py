"""Announces files that the app itself is about to create, to what watches the folder for files that others create."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_listeners: list[Callable[[Path], None]] = []


def announce(path: Path) -> None:
    """Announce a file or folder before it is created or replaced, with the user's approval. Any thread."""
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
