"""References between files, and the importance of each file for chosen starts: personalised PageRank.

Source: Page, Brin, Motwani and Winograd, "The PageRank Citation Ranking" (1999), 6.2 for the personalised form.
An edge leads from a file that uses a name to a file that defines it, and from one that imports another by its path to
that; names that many files define carry little information and give no edges. Works on ids of the index's `files`.
"""

import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from laguna_tui.repo.identifiers import COMMON_NAMES
from laguna_tui.repo.import_paths import ImportPaths

# A name defined in more files than this (run, main, get) does not say which of them is meant.
MAX_DEFINERS = 8
DAMPING = 0.85
# Each step counts 0.85 times as much as the one before: after these, less than a hundredth is left.
ITERATIONS = 24
# For one question, files farther away than this do not matter.
NEAR_ITERATIONS = 4
_HEAD_BYTES = 32
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
select refs.file, defined.file, sum(sqrt(refs.count) * name_weight(names.name) / definers.files)
from definers join refs using (name) join names on names.id = definers.name
join (select distinct file, name from symbols) as defined on defined.name = definers.name
where refs.file != defined.file group by 1, 2
"""


class ReferenceGraph(NamedTuple):
    """Edges between files.

    Attributes:
        files: [n] int64, ids in ascending order; a node is an index into it.
        source: [m] int32, nodes.
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
        """Nodes of those files that are in the graph."""
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
    connection.create_function("name_weight", 1, name_weight, deterministic=True)
    rows = connection.execute(_EDGES, (MAX_DEFINERS,)).fetchall()
    edges = np.array([*rows, *_imports(connection)], np.float64).reshape(-1, 3)
    source = np.searchsorted(files, edges[:, 0].astype(np.int64)).astype(np.int32)
    target = np.searchsorted(files, edges[:, 1].astype(np.int64)).astype(np.int32)
    leaving = np.bincount(source, edges[:, 2], len(files))
    weight = (edges[:, 2] / leaving[source]).astype(np.float32) if len(edges) else np.zeros(0, np.float32)
    bare = ReferenceGraph(files, source, target, weight, np.zeros(len(files), np.float32))
    return bare._replace(rank=bare.personalised(np.ones(len(files), np.float32)))


def _imports(connection: sqlite3.Connection) -> Iterator[tuple[int, int, float]]:
    """An edge from each importing file to each file that it means; of one import they share its weight."""
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


def save_graph(graph: ReferenceGraph) -> bytes:
    """Return the graph as bytes: a checksum that identifies it, the two lengths, the arrays."""
    body = b"".join(array.tobytes() for array in graph)
    head = np.array([zlib.crc32(body), len(graph.files), len(graph.source), 0], np.int64).tobytes()
    return head + body


def store_graph(connection: sqlite3.Connection, graph: ReferenceGraph) -> None:
    """Store the graph in an index's `meta` table, its name last: a reader of the new name finds the new graph."""
    packed = save_graph(graph)
    for key, value in (("graph", packed), ("graph_name", packed[:_HEAD_BYTES])):
        connection.execute("insert or replace into meta (key, value) values (?, ?)", (key, value))


class StoredGraph:
    """The graph in an index's `meta` table, loaded again only when it has changed. Callable from any thread."""

    def __init__(self) -> None:
        self._loaded: tuple[bytes, ReferenceGraph] | None = None

    def of(self, connection: sqlite3.Connection) -> ReferenceGraph:
        """Return the stored graph; an empty one when there is none."""
        name = _stored(connection, "graph_name")
        loaded = self._loaded
        if loaded is None or loaded[0] != name:
            # Two threads may both load it; each then has a complete one.
            self._loaded = loaded = name, load_graph(_stored(connection, "graph"))
        return loaded[1]


def _stored(connection: sqlite3.Connection, key: str) -> bytes:
    row = connection.execute("select value from meta where key = ?", (key,)).fetchone()
    return bytes(row[0]) if row else b""


def load_graph(packed: bytes) -> ReferenceGraph:
    """Return the graph of `save_graph`; an empty one from empty bytes."""
    if not packed:
        packed = bytes(_HEAD_BYTES)
    _, files, edges, _ = np.frombuffer(packed, np.int64, 4)
    arrays: list[NDArray[np.generic]] = []
    at = 32
    for kind, count in (
        (np.int64, files),
        (np.int32, edges),
        (np.int32, edges),
        (np.float32, edges),
        (np.float32, files),
    ):
        arrays.append(np.frombuffer(packed, kind, int(count), at))
        at += arrays[-1].nbytes
    return ReferenceGraph(*arrays)  # type: ignore[arg-type]
