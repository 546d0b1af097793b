"""Writes what was appended to the engine's one sequence since its last snapshot.

The engine thread copies while it is idle, a part at a time, and a request that comes in between goes first; the calling
thread writes. llama.cpp keeps a row unchanged as long as its position is cached, so the parts need not be copied at one
moment: `Mark` notices when a position was cut off meanwhile. The sliding window moves, so it is copied first.

Over a session at most twice the state that it ends with is written. Rows of the full-attention layers are written once.
The sliding window and the drafter's part move along with the conversation, so that short turns would write them again
and again; then a snapshot waits until the conversation has grown enough to pay for it. The price is that a crash loses
the newest rows, which are computed again.

A recurrent state serves its own position alone, and many templates leave out earlier thoughts, so that the next prompt
departs where the newest answer opens: the state there is written too.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from laguna_engine.checkpoints import Checkpoint, DrafterSnapshot
from laguna_engine.errors import SnapshotError, SnapshotProblem
from laguna_engine.ggml.tensor import Type
from laguna_engine.llama.sequence_state import RowLayout, Rows, UnknownState, parse_recurrent
from laguna_engine.sequence import SequenceObserver, TokenSequence, common_prefix
from laguna_engine.snapshot.catalog import Catalog
from laguna_engine.snapshot.chunk_file import DRAFTER, ROWS, WINDOW, Chunk, ChunkWriter, DrafterPart, part_ranges
from laguna_engine.snapshot.identity import Identity
from laguna_engine.speculate.speculator import NullSpeculator

T = TypeVar("T")

_TIMES = 2
"""Most bytes written over a session, relative to the state that it ends with."""

_HEADER_BYTES = 4096
"""Of a chunk's own, about, beside 4 bytes per token."""

_TOKEN_BYTES = 4

FOREIGN_TOKENS = 64
"""Tokens at the end of the cache that may not be the conversation's: an answer that was changed afterwards."""


class EngineCall(Protocol):
    """Runs a function on the engine thread and returns what it returns."""

    def __call__(self, function: Callable[[], T], /) -> T: ...


@dataclass(frozen=True, slots=True)
class Saved:
    """What a snapshot took.

    Attributes:
        tokens: length of the newest snapshot of the conversation.
        nbytes: bytes written; 0 if nothing was.
        seconds: from beginning to end.
        blocked_s: longest time that a request would have had to wait.
        waits: whether nothing was written because the conversation has to grow first .
    """

    tokens: int
    nbytes: int = 0
    seconds: float = 0.0
    blocked_s: float = 0.0
    waits: bool = False


class Mark(SequenceObserver):
    """Which positions are as they were at the last snapshot or restore.

    Attributes:
        tip: the chunk that they are in; None before the first.
        unchanged: positions before this one are; while a snapshot is written, also those that are being copied.
    """

    def __init__(self) -> None:
        self.tip: Chunk | None = None
        self.unchanged = 0

    def at(self, tip: Chunk | None, length: int) -> None:
        """Record that the first `length` positions are those in `tip`."""
        self.tip, self.unchanged = tip, length

    def truncated(self, length: int) -> None:
        if length < self.unchanged:
            self.unchanged = length


@dataclass(frozen=True, slots=True)
class _Captured:
    """The moving part of a state, copied at one moment.

    Attributes:
        tokens: those whose positions are cached.
        start: the first position that no chunk has.
        row: layout of the full-attention layers' rows.
        caches: caches of llama.cpp's.
        window: rows of the sliding-window layers; None where there are none.
        drafter: whose `pieces` these are, None without them.
        checkpoint: the window's own; its memory is that of `window`.
    """

    tokens: list[int]
    start: int
    row: RowLayout
    caches: int
    window: Rows | None
    drafter: DrafterPart | None
    pieces: tuple[Rows, ...]
    checkpoint: Checkpoint | None

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the new positions in runs that are copied at once.

        llama.cpp adds what the sliding window has of them, which is several times as much: shorter runs at the end.
        """
        length, width = len(self.tokens), self.row.nbytes
        if self.window is None:
            yield from part_ranges(self.start, length, width)
            return
        # Beside the window itself the cells of a micro-batch, or of everything, are still there.
        tail = max(self.start, length - 2 * self.window.count) if self.window.count < length else self.start
        yield from part_ranges(self.start, tail, width)
        yield from part_ranges(tail, length, width + self.window.layout.nbytes)

    @property
    def rest(self) -> dict[str, Rows]:
        """Rows of everything but the full-attention layers, by section."""
        found = {f"{DRAFTER}{number}": rows for number, rows in enumerate(self.pieces)}
        return found if self.window is None else {WINDOW: self.window, **found}


class Saver:
    """Saves one sequence. Its methods are called by one thread at a time, but not by the engine's.

    Attributes:
        mark: what was saved of the sequence; it observes it.
    """

    def __init__(self, sequence: TokenSequence, speculator: NullSpeculator, call: EngineCall) -> None:
        """Save `sequence`; `call` runs a function on the engine thread, after the requests that came before it."""
        self.mark = Mark()
        self._sequence, self._speculator, self._call = sequence, speculator, call
        self._rest_bytes: int | None = None
        self._row_bytes = 0
        self._blocked = 0.0
        self._of: list[int] | None = None

    def save(
        self,
        folder: Path,
        catalog: Catalog,
        identity: Identity,
        of: list[int] | None = None,
        *,
        last: bool,
        opening: bool = False,
    ) -> Saved:
        """Write the rows that `folder` does not have yet, if there are any and the budget allows it.

        Args:
            folder: where they go.
            catalog: what is there.
            identity: of the model and how it is open.
            of: the conversation that has to be in the cache; None for whichever is.
            last: the engine is closed next.
            opening: only up to the newest checkpoint, which has to be of a recurrent state.

        Raises:
            SnapshotError: the disk is full, the model's cache cannot be saved, or the conversation changed meanwhile;
                nothing was written.
        """
        began, self._blocked, self._of = time.perf_counter(), 0.0, of
        length, start = self._on_engine(lambda: self._extent(catalog, opening=opening))
        if start >= length:
            return Saved(length)
        if self._rest_bytes is not None and not self._affordable(catalog, length, start, last=last, opening=opening):
            return Saved(start, waits=True)
        captured = self._on_engine(lambda: self._capture(catalog, opening=opening))
        if captured is None:
            return Saved(length)
        self._row_bytes = captured.row.nbytes
        self._rest_bytes = sum(rows.nbytes for rows in captured.rest.values())
        chunk = None
        try:
            if self._affordable(catalog, len(captured.tokens), captured.start, last=last, opening=opening):
                chunk = self._write(folder, catalog, identity, captured)
        finally:
            if chunk is None:
                self.mark.truncated(captured.start)
        if chunk is None:
            return Saved(captured.start, waits=True)
        return Saved(chunk.stop, chunk.size, time.perf_counter() - began, self._blocked)

    def _affordable(self, catalog: Catalog, length: int, start: int, *, last: bool, opening: bool) -> bool:
        """Return whether a state of `length` positions, `start` of which chunks have, may be written now.

        A conversation of which less than half is left (compacted, or begun again) counts as another one, whose state is
        added to that of the one before. One window is kept back for the end of the session, and at an opening one for
        what follows it.
        """
        rest, row = self._rest_bytes or 0, self._row_bytes
        written, closed, before = 0, 0, 0
        for chunk in sorted(catalog.chunks.values(), key=lambda chunk: chunk.serial):
            if chunk.start < before // 2:
                closed += _state_bytes(before, chunk.sections[ROWS].layout.nbytes, rest)
            before = chunk.stop
            written += chunk.size
        if start < before // 2:
            closed += _state_bytes(before, row, rest)
        reserve = 2 * rest if opening else 0 if last or not written else rest
        cost = _state_bytes(length - start, row, rest)
        return written + cost + reserve <= _TIMES * (closed + _state_bytes(length, row, rest))

    def _write(self, folder: Path, catalog: Catalog, identity: Identity, captured: _Captured) -> Chunk:
        tokens, start = captured.tokens, captured.start
        parent = self._parent(catalog, start)
        lineage = [] if parent is None else catalog.lineage(parent)
        try:
            writer = ChunkWriter(folder)
            try:
                for first, stop in captured.ranges():
                    writer.add(ROWS, self._on_engine(partial(self._copy, first, stop)))
                for name, rows in captured.rest.items():
                    # A drafter that is another one now has nothing in the chunks before.
                    same = name == WINDOW or (parent is not None and parent.drafter == captured.drafter)
                    known = same and rows.start < start and catalog.cut(lineage, name, rows.start, start) is not None
                    writer.add(name, rows.part(start, rows.stop) if known else rows)
                chunk = writer.commit(
                    parent=None if parent is None else parent.id,
                    serial=catalog.serial,
                    identity=identity,
                    start=start,
                    tokens=tokens[start:],
                    caches=captured.caches,
                    wanted={ROWS: start} | {name: rows.start for name, rows in captured.rest.items()},
                    drafter=captured.drafter,
                )
            except BaseException:
                writer.abandon()
                raise
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise SnapshotError(SnapshotProblem.DISK, f"{folder} cannot be written ({why})") from error
        self.mark.tip = chunk
        if captured.checkpoint is not None:
            self._on_engine(partial(self._keep, captured.checkpoint))
        return chunk

    def _extent(self, catalog: Catalog, *, opening: bool) -> tuple[int, int]:
        """Return how many positions are to be in chunks, and how many of them are."""
        if self.mark not in self._sequence.observers:
            self._sequence.observers.append(self.mark)
        if self._of is not None:
            self._find(self._of, catalog)
        tip, length, start = self.mark.tip, self._sequence.position, 0
        if tip is not None and tip.id in catalog.chunks:
            start = min(self.mark.unchanged, tip.stop, length)
        if opening:
            lengths = self._sequence.checkpoints.lengths
            length = max((each for each in lengths if start < each < length), default=start)
        return length, start

    def _find(self, of: list[int], catalog: Catalog) -> None:
        """Make sure that this conversation is in the cache, and find what was saved of it before it took turns."""
        held = list(self._sequence.tokens[: self._sequence.position])
        if len(held) - common_prefix(held, of) > FOREIGN_TOKENS:
            raise SnapshotError(SnapshotProblem.CHANGED, "another conversation is in the cache")
        saved = catalog.best(held, self._sequence.capacity)
        known = self.mark.unchanged if self.mark.tip is not None and self.mark.tip.id in catalog.chunks else 0
        if saved is not None and len(saved.tokens) > known:
            self.mark.at(saved.tip, len(saved.tokens))

    def _capture(self, catalog: Catalog, *, opening: bool) -> _Captured | None:
        """Copy what moves; None if there is nothing new."""
        sequence, context = self._sequence, self._sequence.context
        length, start = self._extent(catalog, opening=opening)
        if start >= length:
            return None
        context.synchronize()
        newest, caches = context.read_rows(length - 1, length)
        checkpoint: Checkpoint | None
        window: Rows | None
        if opening:
            held = sequence.checkpoints.at(length)
            # Its memory may be reused while this is written.
            checkpoint, drafter, window = None, held.drafter, parse_recurrent(held.window.data.copy())
        else:
            drafter = self._speculator.snapshot()
            checkpoint, window = self._window(drafter) if caches > 1 else (None, None)
        pieces = None if drafter is None else _drafter_rows(drafter)
        part = None
        if drafter is not None and drafter.drafter is not None and pieces is not None:
            part = DrafterPart(drafter.drafter.value, drafter.adapter, len(pieces))
        tokens = list(sequence.tokens[:length])
        self.mark.unchanged = length
        return _Captured(
            tokens, start, newest.layout, caches, window, part, pieces if pieces and part else (), checkpoint
        )

    def _window(self, drafter: DrafterSnapshot | None) -> tuple[Checkpoint | None, Rows]:
        """Copy the sliding window, and have llama.cpp hold it as a restored one would be held.

        The order of its cells decides the order of sums, and so the last bit of what is computed after them.
        """
        context, sequence = self._sequence.context, self._sequence
        saved = context.window_in_order()
        if saved is None:
            raise UnknownState("llama.cpp gave no sliding window; this model's cache cannot be saved")
        state, rows = saved
        if context.swa_full and not context.recurrent:
            return None, rows
        if not context.load_window(state):
            sequence.clear()
            raise SnapshotError(SnapshotProblem.REFUSED, "llama.cpp did not take its own sliding window back")
        sequence.settle()
        return Checkpoint(sequence.position, state, drafter), rows

    def _keep(self, checkpoint: Checkpoint) -> None:
        """Add the window to the checkpoints, now that nothing reads it any more: its memory may be reused."""
        checkpoints = self._sequence.checkpoints
        if checkpoint.length <= self.mark.unchanged and checkpoints.fits(checkpoint.nbytes):
            checkpoints.make_room(checkpoint.length, checkpoint.nbytes)
            checkpoints.add(checkpoint)

    def _copy(self, start: int, stop: int) -> Rows:
        if self.mark.unchanged < stop:
            raise SnapshotError(SnapshotProblem.CHANGED, "the conversation changed while it was being saved")
        return self._sequence.context.read_rows(start, stop)[0]

    def _parent(self, catalog: Catalog, start: int) -> Chunk | None:
        if start == 0 or self.mark.tip is None:
            return None
        return next((chunk for chunk in catalog.lineage(self.mark.tip) if chunk.start < start), None)

    def _on_engine(self, function: Callable[[], T]) -> T:
        """Run a function on the engine thread; its time counts as blocked."""

        def timed() -> T:
            began = time.perf_counter()
            try:
                return function()
            finally:
                self._blocked = max(self._blocked, time.perf_counter() - began)

        try:
            return self._call(timed)
        except UnknownState as error:
            raise SnapshotError(SnapshotProblem.UNKNOWN_STATE, str(error)) from error


def _state_bytes(length: int, row: int, rest: int) -> int:
    """Return about how many bytes a chunk of `length` positions takes.

    Args:
        length: positions.
        row: bytes of one position in the full-attention layers.
        rest: bytes of sliding window and drafter.
    """
    return length * (row + _TOKEN_BYTES) + rest + _HEADER_BYTES


def _drafter_rows(snapshot: DrafterSnapshot) -> tuple[Rows, ...] | None:
    """Return a drafter's pieces as rows; None if one of them cannot be."""
    kinds = {np.dtype(np.float16): Type.F16, np.dtype(np.float32): Type.F32}
    found: list[Rows] = []
    for piece in snapshot.pieces:
        if not len(piece) or piece.ndim != 2 or piece.dtype not in kinds:
            return None
        data = np.ascontiguousarray(piece).view(np.uint8)
        layout = RowLayout(((int(kinds[piece.dtype]), data.shape[1]),), ())
        found.append(Rows(snapshot.length - len(piece), layout, (data,)))
    return tuple(found)
