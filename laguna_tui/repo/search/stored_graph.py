"""The reference graph of an index as arrays, for what looks at all of it; a question needs `reference_walk` alone."""

import sqlite3
from typing import TYPE_CHECKING

from laguna_tui.repo.search.postings import snapshot

if TYPE_CHECKING:
    from laguna_tui.repo.search.reference_graph import ReferenceGraph


class StoredGraph:
    """The graph in an index's tables, loaded again only when it has changed. Callable from any thread."""

    def __init__(self) -> None:
        self._loaded: tuple[int, ReferenceGraph] | None = None

    def of(self, connection: sqlite3.Connection) -> "ReferenceGraph":
        """Return the stored graph; an empty one when there is none."""
        # It imports numpy.
        from laguna_tui.repo.search.reference_graph import load_graph

        with snapshot(connection):
            row = connection.execute("select value from meta where key = 'graph_made_ns'").fetchone()
            made = row[0] if row else 0
            loaded = self._loaded
            if loaded is None or loaded[0] != made:
                # Two threads may both load it; each then has a complete one.
                self._loaded = loaded = made, load_graph(connection)
        return loaded[1]
