"""How much may be written: over a session at most twice the state that it ends with.

Rows of the full-attention layers are written once. The sliding window and the drafter's part move along with the
conversation, so that short turns would write them again and again; then a snapshot waits until the conversation has
grown enough to pay for it. The price is that a crash loses the newest rows, which are computed again.
"""

from collections.abc import Iterable

from laguna_engine.snapshot.chunk_file import ROWS, Chunk

_TIMES = 2
"""Most bytes written, relative to the state."""

_HEADER_BYTES = 4096
"""Of a chunk's own, about, beside 4 bytes a token."""

_TOKEN_BYTES = 4


def state_bytes(length: int, row: int, rest: int) -> int:
    """Bytes of a state. row: of one position in the full-attention layers. rest: of sliding window and drafter."""
    return length * (row + _TOKEN_BYTES) + rest + _HEADER_BYTES


def chunk_bytes(rows: int, row: int, rest: int) -> int:
    """Bytes of a chunk with so many rows, about."""
    return rows * (row + _TOKEN_BYTES) + rest + _HEADER_BYTES


def may_write(chunks: Iterable[Chunk], start: int, length: int, cost: int, row: int, rest: int, *, last: bool) -> bool:
    """Whether a chunk of `cost` bytes may be written for a state of `length` positions, `start` of which chunks have.

    A conversation of which less than half is left (compacted, or begun anew) counts as another one, whose state comes
    to that of the one before. One window is kept back for the end of the session.

    Args:
        chunks: those in the folder.
        row, rest: as for `state_bytes`.
        last: whether the session ends.
    """
    written, closed, before = 0, 0, 0
    for chunk in sorted(chunks, key=lambda chunk: chunk.serial):
        if chunk.start < before // 2:
            closed += state_bytes(before, chunk.sections[ROWS].layout.nbytes, rest)
        before = chunk.stop
        written += chunk.size
    if start < before // 2:
        closed += state_bytes(before, row, rest)
    reserve = 0 if last or not written else rest
    return written + cost + reserve <= _TIMES * (closed + state_bytes(length, row, rest))
