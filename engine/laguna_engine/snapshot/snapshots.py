"""Saving and restoring an engine's cache: the folder's catalog, one operation at a time, what is reported of it."""

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laguna_engine.checkpoints import Checkpoint, DrafterSnapshot
from laguna_engine.config import EngineInfo
from laguna_engine.errors import SnapshotError, SnapshotProblem
from laguna_engine.events import Source
from laguna_engine.ggml.tensor import Type
from laguna_engine.llama.context import Context
from laguna_engine.llama.sequence_state import Rows
from laguna_engine.sequence import TokenSequence
from laguna_engine.snapshot.catalog import Catalog, Piece, Refusal, RestorePlan
from laguna_engine.snapshot.chunk_file import PARTIAL, Chunk, ChunkReader, unreadable
from laguna_engine.snapshot.identity import Identity, identity_of
from laguna_engine.snapshot.saver import EngineCall, Saved, Saver
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
        state = None if plan.window is None else context.window_of(list(_rows(pool, reader, plan.window)))
        drafter = _drafter(pool, reader, plan)
        earlier = _checkpoint(context, pool, reader, plan) if sequence.checkpoints.wanted else None
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


def _checkpoint(
    context: Context, pool: ThreadPoolExecutor, reader: ChunkReader, plan: RestorePlan
) -> Checkpoint | None:
    """Read the window of an earlier turn: to go back to it, and for a drafter that has to see the newest turn again."""
    if plan.checkpoint is None:
        return None
    length, pieces = plan.checkpoint
    return Checkpoint(length, context.window_of(list(_rows(pool, reader, pieces))))


def _rows(pool: ThreadPoolExecutor, reader: ChunkReader, pieces: Iterable[Piece]) -> Iterator[Rows]:
    """Yield the rows of all pieces in order, read a few ahead."""
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


_FIRST_GUESS = 1e9
"""Bytes restored per second, before that was measured."""

_OVERHEAD_S = 0.01
"""Of any restore: reading headers, clearing the cache."""


@dataclass(frozen=True, slots=True)
class Restorable:
    """What could be restored.

    Attributes:
        tokens: leading tokens of the prompt that would be cached.
        seconds: estimated.
        nbytes: bytes to read.
    """

    tokens: int
    seconds: float
    nbytes: int


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored.

    Attributes:
        tokens: tokens that are cached now; 0 if nothing was restored and what was cached before stays.
        seconds: how long it took.
        nbytes: bytes read.
        refused: files that were not used, with the reasons. Those of another model, mode or version are named only
            where nothing of the prompt is cached: a folder may have snapshots of several, each of use with its own.
    """

    tokens: int
    seconds: float
    nbytes: int
    refused: tuple[Refusal, ...] = ()


class EngineSnapshots:
    """The snapshots of one engine. Thread-safe, but not for the engine's thread; one operation at a time."""

    def __init__(self, sequence: TokenSequence, speculator: NullSpeculator, info: EngineInfo, call: EngineCall) -> None:
        self._sequence, self._speculator, self._info, self._call = sequence, speculator, info, call
        self._saver = Saver(sequence, speculator, call)
        self._catalogs: dict[Path, Catalog] = {}
        self._cleaned: set[Path] = set()
        self._rate = _FIRST_GUESS
        self._operation, self._reading = threading.Lock(), threading.Lock()

    def save(self, folder: Path, of: list[int] | None = None, *, last: bool) -> Saved:
        with self._operation:
            if folder not in self._cleaned:
                self._cleaned.add(folder)
                # Left half-written by a process that ended; a session is open in one process only.
                for path in folder.glob(f"*{PARTIAL}"):
                    with suppress(OSError):
                        path.unlink()
            save = partial(self._saver.save, folder, identity=self._identity(), of=of, last=last)
            if not self._sequence.context.recurrent:
                return save(self._catalog(folder))
            first = save(self._catalog(folder), opening=True)
            rest = save(self._catalog(folder))
            return replace(
                rest,
                nbytes=first.nbytes + rest.nbytes,
                seconds=first.seconds + rest.seconds,
                blocked_s=max(first.blocked_s, rest.blocked_s),
            )

    def restorable(self, folder: Path, tokens: Sequence[int]) -> Restorable | None:
        plan = self._catalog(folder).best(tokens, self._sequence.capacity)
        if plan is None or not self._pays(plan, tokens):
            return None
        return Restorable(len(plan.tokens), _OVERHEAD_S + plan.nbytes / self._rate, plan.nbytes)

    def restore(self, folder: Path, tokens: Sequence[int]) -> Restored:
        with self._operation:
            began = time.perf_counter()
            catalog = self._catalog(folder)
            refused = [refusal for refusal in catalog.refused if refusal.error.problem in _SAID]
            plan = self._restored(catalog, tokens, refused)
            for refusal in refused:
                if refusal.error.problem is SnapshotProblem.DAMAGED:
                    with suppress(OSError):
                        refusal.path.unlink()
            seconds = time.perf_counter() - began
            if plan is None:
                others = () if self._sequence.plan(list(tokens)).keep else catalog.refused
                return Restored(0, seconds, 0, tuple(dict.fromkeys((*refused, *others))))
            self._rate = plan.nbytes / max(seconds - _OVERHEAD_S, 1e-4)
            return Restored(len(plan.tokens), seconds, plan.nbytes, tuple(refused))

    def _restored(self, catalog: Catalog, tokens: Sequence[int], refused: list[Refusal]) -> RestorePlan | None:
        """Restore the best that can be; None if nothing was. Adds to `refused`."""
        while True:
            plan = catalog.best(tokens, self._sequence.capacity)
            if plan is None or not self._pays(plan, tokens):
                return None
            try:
                self._call(partial(self._load, plan))
            except BadChunk as error:
                bad, why = error.chunk, error.error
            except SnapshotError as error:
                bad, why = plan.tip, error
            else:
                return plan
            # Others may do without it.
            catalog = catalog.without(bad)
            refused.append(Refusal(bad.path, why))

    def _load(self, plan: RestorePlan) -> None:
        load(self._sequence, self._speculator, plan)
        mark = self._saver.mark
        if mark not in self._sequence.observers:
            self._sequence.observers.append(mark)
        mark.at(plan.tip, len(plan.tokens))

    def _pays(self, plan: RestorePlan, tokens: Sequence[int]) -> bool:
        """Return whether more of the prompt would be cached than is now."""
        return len(plan.tokens) > self._sequence.plan(list(tokens)).keep + 1

    def _catalog(self, folder: Path) -> Catalog:
        identity = self._identity()
        with self._reading:
            catalog = self._catalogs[folder] = Catalog.scan(folder, identity, self._catalogs.get(folder))
            return catalog

    def _identity(self) -> Identity:
        try:
            return identity_of(self._sequence.model.header.parts, self._info)
        except OSError as error:
            raise SnapshotError(SnapshotProblem.MODEL, "the model's file is gone, so nothing can be checked") from error


_SAID = frozenset({SnapshotProblem.DAMAGED, SnapshotProblem.DISK})
"""Problems that are always reported."""
