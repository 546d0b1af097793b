"""The chunks of a folder as a tree of snapshots: which of them a prompt can use, and what is read for it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import SnapshotError
from laguna_engine.llama.sequence_state import ONE_CACHE, SLIDING
from laguna_engine.snapshot.chunk_file import (
    DRAFTER,
    ROWS,
    SUFFIX,
    WINDOW,
    Chunk,
    Part,
    Section,
    read_chunk,
    unreadable,
)
from laguna_engine.snapshot.identity import Identity


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that is not used. error: why."""

    path: Path
    error: SnapshotError

    def __str__(self) -> str:
        return f"{self.path.name}: {self.error}"


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows `start` to `stop` of a section, out of one part of a chunk."""

    chunk: Chunk
    section: Section
    part: Part
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What is read to restore `tokens`.

    Attributes:
        tip: the chunk that the snapshot ends in.
        tokens: those that will be cached.
        rows: of the full-attention layers, in order.
        window: of the sliding-window or recurrent layers; None where there are none.
        drafter: the drafter's, piece by piece; None if they are not there.
        checkpoint: the sliding window of an earlier turn, with the length of the sequence there; None if there is none.
    """

    tip: Chunk
    tokens: list[int]
    rows: tuple[Piece, ...]
    window: tuple[Piece, ...] | None
    drafter: tuple[tuple[Piece, ...], ...] | None
    checkpoint: tuple[int, tuple[Piece, ...]] | None

    @property
    def pieces(self) -> Iterator[Piece]:
        """All of them."""
        yield from self.rows
        yield from self.window or ()
        for pieces in self.drafter or ():
            yield from pieces
        if self.checkpoint is not None:
            yield from self.checkpoint[1]

    @property
    def nbytes(self) -> int:
        """Bytes to read."""
        return sum({(piece.chunk.id, piece.part): piece.part.nbytes for piece in self.pieces}.values())


@dataclass(frozen=True, slots=True)
class Catalog:
    """The chunks of a folder, at one moment.

    Attributes:
        chunks: those that can be used, by id.
        refused: the other files.
    """

    chunks: Mapping[str, Chunk]
    refused: tuple[Refusal, ...] = ()

    @classmethod
    def scan(cls, folder: Path, identity: Identity, known: "Catalog | None" = None) -> "Catalog":
        """Read the headers in a folder, which need not be there; those in `known` are not read again."""
        before = {} if known is None else known.chunks
        chunks: dict[str, Chunk] = {}
        refused: list[Refusal] = []
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            chunk = before.get(path.stem)
            try:
                if chunk is None or chunk.path != path:
                    chunk = read_chunk(path)
                    identity.require(chunk.identity)
            except SnapshotError as error:
                refused.append(Refusal(path, error))
            except FileNotFoundError:
                # Deleted at this moment.
                continue
            except OSError as error:
                refused.append(Refusal(path, unreadable(error)))
            else:
                chunks[chunk.id] = chunk
        return cls(chunks, tuple(refused))

    def without(self, bad: Chunk) -> "Catalog":
        return replace(self, chunks={name: chunk for name, chunk in self.chunks.items() if chunk is not bad})

    @property
    def serial(self) -> int:
        """The next chunk's."""
        return max((chunk.serial + 1 for chunk in self.chunks.values()), default=0)

    def lineage(self, tip: Chunk) -> list[Chunk]:
        """Return `tip`, its parent and so on to the first; empty if one of them is missing."""
        found = [tip]
        while found[-1].parent is not None:
            parent = self.chunks.get(found[-1].parent)
            # A child always begins after the beginning of its parent, so this ends.
            if parent is None or not parent.start < found[-1].start <= parent.stop or parent.caches != tip.caches:
                return []
            found.append(parent)
        return found

    def tokens(self, lineage: Sequence[Chunk]) -> list[int]:
        found: list[int] = []
        for chunk in reversed(lineage):
            del found[chunk.start :]
            found += chunk.tokens.tolist()
        return found

    def cut(self, lineage: Sequence[Chunk], name: str, start: int, stop: int) -> tuple[Piece, ...] | None:
        """Return the pieces with rows `start` to `stop` of a section, in order; None if some are missing.

        lineage: of a snapshot that reaches to `stop` or beyond.
        """
        found: list[Piece] = []
        limit = layout = None
        for chunk in lineage:
            section = chunk.sections.get(name)
            valid = chunk.stop if limit is None else limit
            # What the child begins with, its parent has computed differently, or not at all.
            limit = chunk.start
            if section is None or stop <= start or not section.start < stop <= min(section.stop, valid):
                continue
            if layout is not None and section.layout != layout:
                return None
            layout = section.layout
            first = max(start, section.start)
            found += reversed(list(_pieces(chunk, section, first, stop)))
            stop = first
        return None if stop > start else tuple(reversed(found))

    def best(self, prompt: Sequence[int], capacity: int) -> RestorePlan | None:
        """Return the plan that restores the most of `prompt`, and at most `capacity` tokens; None if nothing can be."""
        wanted = np.asarray(prompt, np.int32)
        matched: dict[str, int] = {}
        for chunk in sorted(self.chunks.values(), key=lambda chunk: chunk.start):
            matched[chunk.id] = self._matched(chunk, wanted, matched)
        lengths = ((self._length(chunk, matched[chunk.id], capacity), chunk) for chunk in self.chunks.values())
        candidates = [(length, chunk.serial, chunk) for length, chunk in lengths if length]
        for length, _, chunk in sorted(candidates, key=lambda found: found[:2], reverse=True):
            plan = self._plan(chunk, length)
            if plan is not None:
                return plan
        return None

    def _matched(self, chunk: Chunk, prompt: NDArray[np.int32], matched: dict[str, int]) -> int:
        """Return how many leading tokens of `prompt` the snapshot begins with. Parents come before their children."""
        if chunk.parent is not None:
            before = matched.get(chunk.parent, 0)
            if before < chunk.start:
                return before
        ours = chunk.tokens[: max(0, len(prompt) - chunk.start)]
        differs = np.flatnonzero(ours != prompt[chunk.start : chunk.start + len(ours)])
        return chunk.start + (int(differs[0]) if len(differs) else len(ours))

    def _length(self, chunk: Chunk, matched: int, capacity: int) -> int:
        """Return how much of a snapshot is of use for a prompt that shares `matched` tokens with it; 0 for nothing."""
        if chunk.caches == ONE_CACHE:
            length = min(matched, capacity)
            return length if length > chunk.start else 0
        # The sliding window is there at the end only. It also serves one position less, as a repeated prompt needs.
        needed = chunk.stop - 1 if chunk.caches == SLIDING else chunk.stop
        return chunk.stop if chunk.stop <= capacity and matched >= needed else 0

    def _plan(self, tip: Chunk, length: int) -> RestorePlan | None:
        lineage = self.lineage(tip)
        rows = self.cut(lineage, ROWS, 0, length)
        window = self.cut(lineage, WINDOW, tip.sections[WINDOW].wanted, length) if WINDOW in tip.sections else None
        if rows is None or (window is None and tip.caches != ONE_CACHE):
            return None
        drafter = self._drafter(tip, lineage) if length == tip.stop else None
        checkpoint = None if window is None else self._checkpoint(lineage, tip.sections[WINDOW].wanted)
        return RestorePlan(tip, self.tokens(lineage)[:length], rows, window, drafter, checkpoint)

    def _checkpoint(self, lineage: Sequence[Chunk], before: int) -> tuple[int, tuple[Piece, ...]] | None:
        """Return the newest window that ends at `before` or earlier."""
        for index, chunk in enumerate(lineage[1:], 1):
            # What a child does not begin with, it has not got.
            if chunk.stop <= min(before, lineage[index - 1].start):
                window = self.cut(lineage[index:], WINDOW, chunk.sections[WINDOW].wanted, chunk.stop)
                return None if window is None else (chunk.stop, window)
        return None

    def _drafter(self, tip: Chunk, lineage: Sequence[Chunk]) -> tuple[tuple[Piece, ...], ...] | None:
        if tip.drafter is None:
            return None
        names = [f"{DRAFTER}{piece}" for piece in range(tip.drafter.pieces)]
        same = list(takewhile(lambda chunk: chunk.drafter == tip.drafter, lineage))
        cuts = [self.cut(same, name, tip.sections[name].wanted, tip.stop) for name in names]
        found = tuple(cut for cut in cuts if cut is not None)
        return found if len(found) == len(cuts) else None


def _pieces(chunk: Chunk, section: Section, start: int, stop: int) -> Iterator[Piece]:
    for part in section.parts:
        if part.start < stop and start < part.stop:
            yield Piece(chunk, section, part, max(start, part.start), min(stop, part.stop))
