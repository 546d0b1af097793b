"""What a cut cannot bring back, as bytes in host memory: the newest cells of the sliding-window layers.

llama.cpp writes and reads them as the "partial" state of a sequence (`llama_state_seq_get_data_ext`, whose flag was
named SWA_ONLY before; `llama_kv_cache_iswa::state_write`): the cells that the newest token sees and one more, so that
a state of `length` positions also serves `length - 1`. The layers that attend to everything are not in it; their cells
must still be there when it is put back. llama-server's context checkpoints are made of the same.
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
    """words: the bytes as llama.cpp wrote them, filled up with zeros to whole words of 8. nbytes: how many they are.

    total: the sum of the words when they were written. llama.cpp trusts what it reads, so nothing else may reach it.
    """

    words: NDArray[np.uint64]
    nbytes: int
    total: int

    @property
    def whole(self) -> bool:
        """Whether the bytes are still those that were written."""
        return self.words.nbytes >= self.nbytes and _total(self.words) == self.total


def size(context: ContextHandle, sequence: int) -> int:
    """Bytes of the state of `sequence` now; 0 if there is none."""
    nbytes: int = lib.llama_state_seq_get_size_ext(context, sequence, _PARTIAL_ONLY)
    return nbytes


def save(context: ContextHandle, sequence: int, into: WindowState | None = None) -> WindowState | None:
    """The state of `sequence` now; None if there is none or llama.cpp refuses. Waits for the device.

    into: one that is not needed any more. Its memory is used if it is as large: a process fills what it has touched
    before several times as fast as what is new to it.
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
    """Put `state` in the place of the sequence's sliding-window cells; whether that worked.

    A damaged state is not touched and changes nothing; after a refusal by llama.cpp those cells are gone.
    """
    if not state.whole:
        return False
    address, nbytes = state.words.ctypes.data, state.nbytes
    read: int = lib.llama_state_seq_set_data_ext(context, address, nbytes, sequence, _PARTIAL_ONLY)
    return read == nbytes


def _total(words: NDArray[np.uint64]) -> int:
    return int(words.sum(dtype=np.uint64))
