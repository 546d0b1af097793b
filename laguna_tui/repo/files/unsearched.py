"""What a search of a folder does not cover, and the sentence that says so where nothing was found."""

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from laguna_tui.base.paths import escaped
from laguna_tui.base.units import plural, some_of
from laguna_tui.repo.files.text_files import INDEXED_BYTES

BARE = (
    "this is a bare repository, which has no files to search; check out a branch with git worktree add FOLDER BRANCH,"
    " and use that folder"
)
# More names are not more useful than their number.
_NAMES = 3


@dataclass(frozen=True, slots=True)
class Unsearched:
    """Paths relative to the folder, each group sorted.

    Attributes:
        large: Files over the size limit.
        binary: Files without text.
        repositories: Submodules and other repositories, whose files git does not list.
        absent: Submodules that are not checked out.
        sparse: Outermost files and folders that a sparse checkout leaves out.
        bare: Bare repositories; "" is the folder itself.
    """

    large: tuple[str, ...] = ()
    binary: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    sparse: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()

    def sentence(self, elsewhere: str) -> str:
        """Return what was not searched; empty when everything was.

        Args:
            elsewhere: How to search another repository.
        """
        if "" in self.bare:
            return BARE
        groups = (
            (self.large, "large file", "large files", ""),
            (self.binary, "binary file", "binary files", ""),
            (self.repositories, "other repository", "other repositories", elsewhere),
            (self.absent, "missing submodule", "missing submodules", "run git submodule update --init"),
            (
                self.sparse,
                "path outside the sparse checkout",
                "paths outside the sparse checkout",
                "run git sparse-checkout add FOLDER",
            ),
            (self.bare, "bare repository", "bare repositories", "use git worktree add"),
        )
        parts = []
        for paths, one, many, advice in groups:
            if paths:
                named = some_of(list(map(escaped, paths)), _NAMES)
                parts.append(f"{len(paths):,} {plural(len(paths), one, many)} ({named}{advice and f'; {advice}'})")
        return f"not searched: {', '.join(parts)}" if parts else ""

    def below(self, inside: str) -> "Unsearched":
        """Return the part of it that concerns a folder inside; "" is all of it."""
        return self._mapped(lambda path: path if _concerns(path, inside) else "") if inside else self

    def under(self, prefix: str) -> "Unsearched":
        return self._mapped(lambda path: (prefix + path).rstrip("/"))

    def _mapped(self, change: Callable[[str], str]) -> "Unsearched":
        groups = (getattr(self, each.name) for each in fields(self))
        return Unsearched(*(tuple(filter(None, map(change, group))) for group in groups))


def unindexed(connection: sqlite3.Connection, walked: Unsearched) -> Unsearched:
    """Return what the walk left out, and the files that the index knows by name only."""
    rows = connection.execute("select path, digest is null, size from files where not text order by path").fetchall()
    return replace(
        walked,
        large=tuple(os.fsdecode(path) for path, unread, size in rows if unread and size > INDEXED_BYTES),
        binary=tuple(os.fsdecode(path) for path, unread, _ in rows if not unread),
    )


def _concerns(path: str, inside: str) -> bool:
    return path == inside or path.startswith(f"{inside}/") or inside.startswith(f"{path}/")
