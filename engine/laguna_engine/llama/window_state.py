"""Saves and restores the KV cells of the sliding-window layers, which truncation alone cannot bring back.

llama.cpp writes and reads them as the "partial" state of a sequence (`llama_state_seq_get_data_ext`, whose flag was
formerly SWA_ONLY; `llama_kv_cache_iswa::state_write`): the cells that the newest token sees and one more, so a state of
`length` positions also serves `length - 1`. Full-attention layers are not included; their cells must still be in the
cache on restore. llama-server's context checkpoints consist of the same state.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laguna_engine.native.library import lib
from laguna_engine.native.structs import ContextHandle

_PARTIAL_ONLY = 1
"""`LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY`."""

_WORD = 8


@dataclass(frozen=True, slots=True, eq=False)
class WindowState:
    """A saved state in host memory.

    Attributes:
        words: the bytes written by llama.cpp, padded with zeros to words of 8 bytes.
        nbytes: number of bytes written.
        total: checksum, the sum of the words: llama.cpp does not validate the state it reads.
    """

    words: NDArray[np.uint64]
    nbytes: int
    total: int

    @classmethod
    def of(cls, words: NDArray[np.uint64], nbytes: int) -> "WindowState":
        """From memory that holds a state of `nbytes`, padded with zeros."""
        return cls(words, nbytes, _total(words))

    @property
    def data(self) -> NDArray[np.uint8]:
        """The bytes of the state, uint8 [nbytes]."""
        return self.words.view(np.uint8)[: self.nbytes]

    @property
    def whole(self) -> bool:
        """Whether the checksum matches."""
        return self.words.nbytes >= self.nbytes and _total(self.words) == self.total


def size(context: ContextHandle, sequence: int) -> int:
    """Bytes of the current state of `sequence`; 0 if there is none."""
    nbytes: int = lib.llama_state_seq_get_size_ext(context, sequence, _PARTIAL_ONLY)
    return nbytes


def save(context: ContextHandle, sequence: int, into: WindowState | None = None) -> WindowState | None:
    """Save the current state of `sequence`; None if there is none or llama.cpp refuses. Waits for the device.

    Args:
        context: the context.
        sequence: id of the sequence.
        into: a state no longer needed, whose memory is reused if it has the right size: writing to memory a process
            has touched before is several times as fast.
    """
    nbytes = size(context, sequence)
    if not nbytes:
        return None
    words = np.empty(-(-nbytes // _WORD), np.uint64)
    if into is not None and into.words.size == words.size:
        words = into.words
    words[-1] = 0
    written: int = lib.llama_state_seq_get_data_ext(context, words.ctypes.data, nbytes, sequence, _PARTIAL_ONLY)
    return WindowState(words, nbytes, _total(words)) if written == nbytes else None


def load(context: ContextHandle, sequence: int, state: WindowState) -> bool:
    """Replace the sequence's sliding-window cells by `state`. Returns whether that succeeded.

    A damaged state is refused without a change; if llama.cpp refuses it, those cells are lost.
    """
    if not state.whole:
        return False
    address, nbytes = state.words.ctypes.data, state.nbytes
    read: int = lib.llama_state_seq_set_data_ext(context, address, nbytes, sequence, _PARTIAL_ONLY)
    return read == nbytes


def _total(words: NDArray[np.uint64]) -> int:
    return int(words.sum(dtype=np.uint64))
