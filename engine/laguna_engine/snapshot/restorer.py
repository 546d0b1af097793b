"""Restores a snapshot into the engine's one sequence: reading and checking in threads, loading on the engine thread."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laguna_engine.checkpoints import Checkpoint, DrafterSnapshot
from laguna_engine.errors import SnapshotError, SnapshotProblem
from laguna_engine.events import Source
from laguna_engine.ggml.tensor import Type
from laguna_engine.llama.sequence_state import Rows, build
from laguna_engine.sequence import TokenSequence
from laguna_engine.snapshot.catalog import Piece, RestorePlan
from laguna_engine.snapshot.chunk_file import Chunk, ChunkReader, unreadable
from laguna_engine.speculate.speculator import NullSpeculator

_READERS = 2
"""Threads that read and check parts: a checksum takes longer than the copy to the device."""

_AHEAD = 4
"""Parts that are read ahead, 8 MB each."""


class BadChunk(Exception):
    """A chunk whose rows are not what was written.

    Attributes:
        chunk: which.
        error: why.
    """

    def __init__(self, chunk: Chunk, error: SnapshotError) -> None:
        super().__init__(str(error))
        self.chunk, self.error = chunk, error


def load(sequence: TokenSequence, speculator: NullSpeculator, plan: RestorePlan) -> None:
    """Replace what is cached by what `plan` says. Engine thread only.

    Raises:
        BadChunk: a file is damaged, or gone. As after any other error, nothing is cached then, and the next request
            computes its whole prompt.
        SnapshotError: llama.cpp refuses it.
    """
    try:
        _load(sequence, speculator, plan)
    except BaseException:
        # Rows of the part that was loaded would be read with those of the next request.
        sequence.clear()
        raise


def _load(sequence: TokenSequence, speculator: NullSpeculator, plan: RestorePlan) -> None:
    context = sequence.context
    with ChunkReader() as reader, ThreadPoolExecutor(_READERS, "laguna-snapshot") as pool:
        # Small, and all of it is checked before the first row is loaded.
        state = None if plan.window is None else build(list(_rows(pool, reader, plan.window)))
        drafter = _drafter(pool, reader, plan)
        earlier = _checkpoint(pool, reader, plan) if sequence.checkpoints.wanted else None
        sequence.clear(wipe=False)
        for rows in _rows(pool, reader, plan.rows):
            if not context.write_rows(rows, plan.tip.caches):
                raise SnapshotError(SnapshotProblem.REFUSED, "llama.cpp refuses it")
    if state is not None and not context.load_window(state):
        raise SnapshotError(SnapshotProblem.REFUSED, "llama.cpp refuses its sliding window")
    if not sequence.restored(plan.tokens):
        raise SnapshotError(SnapshotProblem.REFUSED, "llama.cpp did not take all of it")
    speculator.restored(len(plan.tokens), drafter)
    newest = None if state is None else Checkpoint(sequence.position, state, drafter)
    for checkpoint in (earlier, newest):
        if checkpoint is not None and sequence.checkpoints.fits(checkpoint.nbytes):
            sequence.checkpoints.make_room(checkpoint.length, checkpoint.nbytes)
            sequence.checkpoints.add(checkpoint)


def _checkpoint(pool: ThreadPoolExecutor, reader: ChunkReader, plan: RestorePlan) -> Checkpoint | None:
    """The window of an earlier turn: to go back to it, and for a drafter that has to see the newest turn again."""
    if plan.checkpoint is None:
        return None
    length, pieces = plan.checkpoint
    return Checkpoint(length, build(list(_rows(pool, reader, pieces))))


def _rows(pool: ThreadPoolExecutor, reader: ChunkReader, pieces: Iterable[Piece]) -> Iterator[Rows]:
    """The rows of all pieces in order, read a few ahead."""
    waiting: deque[Future[Rows]] = deque()
    for piece in pieces:
        waiting.append(pool.submit(_read, reader, piece))
        if len(waiting) > _AHEAD:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _read(reader: ChunkReader, piece: Piece) -> Rows:
    try:
        return reader.rows(piece.chunk, piece.section.layout, piece.part).part(piece.start, piece.stop)
    except SnapshotError as error:
        raise BadChunk(piece.chunk, error) from error
    except OSError as error:
        raise BadChunk(piece.chunk, unreadable(error)) from error


def _drafter(pool: ThreadPoolExecutor, reader: ChunkReader, plan: RestorePlan) -> DrafterSnapshot | None:
    own = plan.tip.drafter
    if own is None or plan.drafter is None:
        return None
    pieces = tuple(_piece(list(_rows(pool, reader, cut))) for cut in plan.drafter)
    return DrafterSnapshot(len(plan.tokens), own.adapter, pieces, Source(own.name))


def _piece(rows: Sequence[Rows]) -> NDArray[Any]:
    data = np.concatenate([part.tensors[0] for part in rows])
    return data.view(Type(rows[0].layout.keys[0][0]).numpy)
