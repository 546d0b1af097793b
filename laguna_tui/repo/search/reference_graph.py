"""References between files, and the importance of each file for chosen starts: personalised PageRank.

Source: Page, Brin, Motwani and Winograd, "The PageRank Citation Ranking" (1999), 6.2 for the personalised form.
An edge leads from a file that uses a name to a file that defines it, and from one that imports another by its path to
that; names that many files define carry little information and give no edges. Works on ids of the index's `files`.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from laguna_tui.repo.search.identifiers import COMMON_NAMES
from laguna_tui.repo.search.reference_walk import DAMPING
from laguna_tui.repo.syntax.import_paths import ImportPaths

# A name defined in more files than this (run, main, get) does not say which of them is meant.
MAX_DEFINERS = 8
# Each step counts 0.85 times as much as the one before: after these, less than a hundredth is left.
ITERATIONS = 24
_COMMON_PREFIX = "_"
_PRIVATE = 0.1
_LONG_NAME_CHARS = 8
_LONG_NAME = 2.0
# Such a name nearly always means the standard library's, even where the folder defines it once.
_COMMON = 0.02
# An import of a file says as much as the use of one long name.
_IMPORT = _LONG_NAME

_EDGES = """
with definers as (
    select name, count(distinct file) as files from symbols group by name having files <= ?
)
select refs.file, defined.file, sum(sqrt(refs.count) * name_weights.weight / definers.files)
from definers join refs using (name) join name_weights using (name)
join (select distinct file, name from symbols) as defined on defined.name = definers.name
where refs.file != defined.file group by 1, 2
"""
_USED_NAMES = "select id, name from names where id in (select name from symbols intersect select name from refs)"


class ReferenceGraph(NamedTuple):
    """Edges between files.

    Attributes:
        files: [n] int64, ids in ascending order; a node is an index into it.
        source: [m] int32, nodes, ascending.
        target: [m] int32, nodes.
        weight: [m] float32; the weights of the edges leaving a node sum to 1.
        rank: [n] float32, PageRank without personalisation; sums to 1.
    """

    files: NDArray[np.int64]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    weight: NDArray[np.float32]
    rank: NDArray[np.float32]

    def nodes(self, files: Mapping[int, float]) -> NDArray[np.float32]:
        """Return [n] the files' values at their nodes, 0 elsewhere; files not in the graph are left out."""
        values = np.zeros(len(self.files), np.float32)
        for file, node in self._places(files).items():
            values[node] = files[file]
        return values

    def values(self, rank: NDArray[np.float32], files: Iterable[int]) -> dict[int, float]:
        """Return the values ([n]) of some files, by id."""
        return {file: float(rank[node]) for file, node in self._places(files).items()}

    def _places(self, files: Iterable[int]) -> dict[int, int]:
        """Return the nodes of those files that are in the graph."""
        wanted = np.fromiter(files, np.int64)
        if not len(self.files) or not len(wanted):
            return {}
        places = np.minimum(np.searchsorted(self.files, wanted), len(self.files) - 1)
        known = self.files[places] == wanted
        return dict(zip(wanted[known].tolist(), places[known].tolist(), strict=True))

    def personalised(self, start: NDArray[np.float32], iterations: int = ITERATIONS) -> NDArray[np.float32]:
        """Return [n] PageRank with restarts at `start` ([n], not negative); sums to 1, or to 0 without a start."""
        total = float(start.sum())
        if total <= 0.0:
            return np.zeros_like(start)
        begin = (start / total).astype(np.float32)
        rank = begin
        for _ in range(iterations):
            moved = np.bincount(self.target, self.weight * rank[self.source], len(self.files)).astype(np.float32)
            # Rank in a file without references returns to the start.
            rank = DAMPING * moved + (1.0 - DAMPING * float(moved.sum())) * begin
        return rank


def build_graph(connection: sqlite3.Connection) -> ReferenceGraph:
    """Build the graph of the whole index; takes seconds for the largest folders."""
    files = np.array([row[0] for row in connection.execute("select id from files order by id")], np.int64)
    edges = np.array([*_references(connection), *_imports(connection)], np.float64).reshape(-1, 3)
    edges = edges[np.argsort(edges[:, 0], kind="stable")]
    source = np.searchsorted(files, edges[:, 0].astype(np.int64)).astype(np.int32)
    target = np.searchsorted(files, edges[:, 1].astype(np.int64)).astype(np.int32)
    leaving = np.bincount(source, edges[:, 2], len(files))
    weight = (edges[:, 2] / leaving[source]).astype(np.float32) if len(edges) else np.zeros(0, np.float32)
    bare = ReferenceGraph(files, source, target, weight, np.zeros(len(files), np.float32))
    return bare._replace(rank=bare.personalised(np.ones(len(files), np.float32)))


def _references(connection: sqlite3.Connection) -> list[tuple[int, int, float]]:
    """Return an edge from each file to each that defines a name it uses."""
    # A table, not a function that SQLite calls: an exception of a signal handler in one becomes an error of SQLite.
    names = connection.execute(_USED_NAMES).fetchall()
    connection.execute("create temp table name_weights (name integer primary key, weight real not null)")
    try:
        weights = ((name, name_weight(text)) for name, text in names)
        connection.executemany("insert into name_weights values (?, ?)", weights)
        return connection.execute(_EDGES, (MAX_DEFINERS,)).fetchall()
    finally:
        connection.execute("drop table name_weights")


def _imports(connection: sqlite3.Connection) -> Iterator[tuple[int, int, float]]:
    """Yield an edge from each importing file to each file that the import means; they share its weight."""
    imports = connection.execute("select file, path from imports").fetchall()
    if not imports:
        return
    rows = connection.execute("select id, path from files where language != ''")
    known = ImportPaths({file: os.fsdecode(path) for file, path in rows})
    for importer, path in imports:
        files = known.meant(path, importer)
        yield from ((importer, file, _IMPORT / len(files)) for file in files)


def name_weight(name: str) -> float:
    """Return how much information a name carries: more for long ones, little for private and common ones."""
    if name in COMMON_NAMES:
        return _COMMON
    weight = _LONG_NAME if len(name) >= _LONG_NAME_CHARS else 1.0
    return weight * _PRIVATE if name.startswith(_COMMON_PREFIX) else weight


def store_graph(connection: sqlite3.Connection, graph: ReferenceGraph) -> None:
    """Store the graph in an index's tables, a row for each file: its rank, and where its edges lead. No transaction."""
    targets, weights = graph.files[graph.target].tobytes(), graph.weight.tobytes()
    begins, ends = (
        np.searchsorted(graph.source, np.arange(len(graph.files)), side).tolist() for side in ("left", "right")
    )
    connection.execute("delete from graph")
    connection.executemany(
        "insert into graph (file, rank, targets, weights) values (?, ?, ?, ?)",
        (
            (file, rank, targets[begin * 8 : end * 8], weights[begin * 4 : end * 4])
            for file, rank, begin, end in zip(graph.files.tolist(), graph.rank.tolist(), begins, ends, strict=True)
        ),
    )


def load_graph(connection: sqlite3.Connection) -> ReferenceGraph:
    """Return the graph of an index's tables; an empty one when there is none.

    Raises:
        sqlite3.DatabaseError: It is damaged.
    """
    rows = connection.execute("select file, rank, targets, weights from graph order by file").fetchall()
    files = np.array([row[0] for row in rows], np.int64)
    try:
        target = np.frombuffer(b"".join(row[2] for row in rows), np.int64)
        weight = np.frombuffer(b"".join(row[3] for row in rows), np.float32)
        source = np.repeat(np.arange(len(rows), dtype=np.int32), [len(row[3]) // weight.itemsize for row in rows])
        if not len(source) == len(weight) == len(target) or not np.isin(target, files).all():
            raise ValueError("edges that lead nowhere")
    except ValueError as error:
        raise sqlite3.DatabaseError(f"the references of the index are damaged ({error})") from error
    rank = np.array([row[1] for row in rows], np.float32)
    return ReferenceGraph(files, source, np.searchsorted(files, target).astype(np.int32), weight, rank)
