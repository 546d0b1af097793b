"""Globs of paths: `*` and `?` within a part, `**` for any number of parts. Brackets are ordinary characters.

A glob may be untrusted, so matching takes time linear in the parts of the glob and of the path.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase


class PathGlob:
    """A glob of paths that is compared part by part, so that a walk can skip folders where it cannot match.

    Attributes:
        start: the state before the first part.
    """

    def __init__(self, glob: str, *, sets: bool = False) -> None:
        """Parse a glob.

        Args:
            glob: with slashes between its parts.
            sets: whether brackets are sets of characters, as in `fnmatch`.
        """
        self._parts = (glob if sets else glob.replace("[", "[[]")).split("/")
        self.start = self._closure({0})

    def after(self, state: frozenset[int], part: str) -> frozenset[int]:
        """Return the state after one more part of a path; empty where nothing below it can match."""
        reached: set[int] = set()
        for at in state:
            if at < len(self._parts) and self._parts[at] == "**":
                reached.add(at)
            elif at < len(self._parts) and fnmatchcase(part, self._parts[at]):
                reached.add(at + 1)
        return self._closure(reached)

    def compared(self, state: frozenset[int]) -> frozenset[str]:
        """Return the parts of the glob, for `fnmatch`, that the next part of a path is compared with."""
        return frozenset(self._parts[at] for at in state if at < len(self._parts) and self._parts[at] != "**")

    def after_other(self, state: frozenset[int]) -> frozenset[int]:
        """Return the state after one more part that matches none of `compared`."""
        return self._closure(at for at in state if at < len(self._parts) and self._parts[at] == "**")

    def is_match(self, state: frozenset[int]) -> bool:
        """Return whether the glob matches the parts so far."""
        return len(self._parts) in state

    def _closure(self, reached: Iterable[int]) -> frozenset[int]:
        """Return the places in the glob that are reached too because `**` may match nothing."""
        closed = set(reached)
        for at, part in enumerate(self._parts):
            if at in closed and part == "**":
                closed.add(at + 1)
        return frozenset(closed)


def glob_matches(pattern: str, path: str, or_folder: bool = False, *, sets: bool = False) -> bool:
    """Return whether a path matches a glob.

    Args:
        pattern: the glob.
        path: the path.
        or_folder: whether a folder on the way may match instead.
        sets: whether brackets are sets of letters.
    """
    glob = PathGlob(pattern, sets=sets)
    state = glob.start
    for part in path.split("/"):
        state = glob.after(state, part)
        if or_folder and glob.is_match(state):
            return True
    return glob.is_match(state)
