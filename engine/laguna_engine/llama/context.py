"""A KV cache of one sequence, and the decode calls that fill it.

Not thread-safe: methods are called on the engine thread only, except `request_abort` and `clear_abort`. Arguments are
checked here because llama.cpp answers invalid ones with `abort()`. A `decode` of one token takes about 3 µs of Python,
because the batch and its arrays are reused.
"""

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from laguna_engine.config import KvType
from laguna_engine.constrain.base import FREE, Constraints
from laguna_engine.errors import ContextError, ContextOutOfMemory, EngineClosed, RequestError
from laguna_engine.llama import masked_row
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import CANDIDATE, LOGITS, Readout, SamplerChain
from laguna_engine.llama.sequence_state import (
    ONE_CACHE,
    RECURRENT,
    SLIDING,
    Bytes,
    Rows,
    UnknownState,
    WindowState,
    build,
    build_recurrent,
    in_order,
    parse,
    parse_recurrent,
)
from laguna_engine.llama.taps import BestRowSampler, CallbackTaps, CandidateRowSampler, Taps
from laguna_engine.native.abort import AbortFlag
from laguna_engine.native.control_groups import physical_cores
from laguna_engine.native.cpu_determinism import note_use
from laguna_engine.native.library import lib, log, log_reports_out_of_memory, recent_log
from laguna_engine.native.structs import Batch, ContextHandle, ContextParams, MemoryHandle

_SEQUENCE = 0
"""The one sequence in which the engine computes."""

_LENT = 1
"""The sequence that ranges of positions are lent to."""

_PARTIAL_ONLY = 1
"""`LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY`, formerly SWA_ONLY: the sliding-window and the recurrent layers alone."""

_LOST = 2**31
"""In place of a length: what a stopped computation left in a recurrent state is of no use at all."""

_UNINTERRUPTED = 32
"""Tokens of a batch that is computed to its end where a stop would lose the recurrent state: a round, no prompt."""

_INVALID_BATCH = -1
"""`llama_decode`: the batch was refused and nothing changed."""

_FLASH_ATTENTION = {None: -1, False: 0, True: 1}
"""`llama_flash_attn_type`."""

_MAX_TOKENS = 2**31 - 1
"""Sizes and positions are 32-bit signed in llama.cpp."""

_CLOSED = "the context is closed; open the model again"


class Outputs(Enum):
    """The rows of a batch with logits: none, the last one, the last two, or all."""

    NONE = "none"
    LAST = "last"
    PAIR = "pair"
    ALL = "all"

    def rows(self, count: int) -> range:
        """Return the rows with logits in a batch of `count` tokens."""
        if self is Outputs.NONE:
            return range(0)
        if self is Outputs.ALL:
            return range(count)
        return range(max(0, count - (2 if self is Outputs.PAIR else 1)), count)


class DecodeStatus(IntEnum):
    """Result of a decode; the values are `llama_decode`'s return codes."""

    OK = 0
    FULL = 1
    ABORTED = 2


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """Requested parameters; the context's attributes are the actual ones.

    Attributes:
        n_ctx: tokens of the KV cache; 0 for the model's training length.
        n_batch: most tokens of one `decode`.
        n_ubatch: tokens of a micro-batch, which also bounds the latency of a stop.
        type_k: type of the K cache.
        type_v: type of the V cache.
        flash_attention: None lets llama.cpp decide; a quantized V cache needs it.
        swa_full: full-length caches for sliding-window layers, which cost memory and allow any rewind.
        threads: for a single token; 0 for the physical cores.
        threads_batch: for several tokens; 0 for the physical cores.
        offload_products: let a GPU compute large matrix products with weights in RAM (`op_offload`).
        rollback: most tokens of a batch that a recurrent state can go back by afterwards, where llama.cpp supports it
            (`n_rs_seq`); the state takes as many times more memory.
    """

    n_ctx: int
    n_batch: int = 512
    n_ubatch: int = 512
    type_k: KvType = KvType.F16
    type_v: KvType = KvType.F16
    flash_attention: bool | None = None
    swa_full: bool = False
    threads: int = 0
    threads_batch: int = 0
    offload_products: bool = True
    rollback: int = 0


class Context:
    """A `llama_context` of one sequence.

    Attributes:
        taps: the taps attached to its graphs, or None.
        n_ctx: actual tokens of context; llama.cpp rounds up to a multiple of 256.
        n_batch: actual most tokens of one `decode`.
        n_ubatch: actual tokens of a micro-batch.
        swa_full: whether the sliding-window layers keep all positions.
        recurrent: whether there is a recurrent state.
        rollback: tokens of the last batch that the recurrent state can go back by; 0 where llama.cpp cannot.
    """

    def __init__(self, model: Model, options: ContextOptions, taps: Taps | CallbackTaps | None = None) -> None:
        """Allocate cache and compute buffers; ContextError with llama.cpp's reason when that fails.

        `taps` belong to this context and are closed with it.
        """
        self._stop = AbortFlag()
        self.taps = taps
        self._handle = _create(model, options, self._stop, taps)
        self._memory: MemoryHandle = lib.llama_get_memory(self._handle)
        if not self._memory:
            lib.llama_free(self._handle)
            raise ContextError(f"{model.description} has no KV cache; choose a text generation model")
        self.n_ctx: int = lib.llama_n_ctx(self._handle)
        self.n_batch: int = lib.llama_n_batch(self._handle)
        self.n_ubatch: int = lib.llama_n_ubatch(self._handle)
        self.swa_full = options.swa_full
        self.recurrent = model.recurrent
        self.rollback: int = lib.llama_n_rs_seq(self._handle) if model.recurrent else 0
        self._grid = model.grid
        # The shortest length that a recurrent state can be cut to.
        self._earliest = 0
        self._stop_wanted = self._uninterrupted = False
        self._stopping = threading.Lock()
        self._n_vocab = model.vocab.size
        self._all_ids = np.arange(self._n_vocab, dtype=np.int32)
        self._all_candidates = np.zeros(self._n_vocab, CANDIDATE)
        # The device of the logits finishes last; `llama_decode` itself waits for the CPU.
        self._waits = taps is None or not taps.backend.device.is_cpu
        self._rows = range(0)
        self._row_sampler: BestRowSampler | CandidateRowSampler | None = None
        self._make_batch()
        model.adopt(self.close)

    def _make_batch(self) -> None:
        size = self.n_batch
        self._tokens = (ctypes.c_int32 * size)()
        self._positions = (ctypes.c_int32 * size)()
        self._flags = (ctypes.c_int8 * size)()
        self._counts = (ctypes.c_int32 * size)(*[1] * size)
        self._sequence = ctypes.c_int32(_SEQUENCE)
        pointer = ctypes.pointer(self._sequence)
        self._sequences = (ctypes.POINTER(ctypes.c_int32) * size)(*[pointer] * size)
        self._batch = Batch(0, self._tokens, None, self._positions, self._counts, self._sequences, self._flags)

    def decode(self, tokens: Sequence[int], start: int, outputs: Outputs = Outputs.LAST) -> DecodeStatus:
        """Decode `tokens` at positions `start`, `start + 1`, … and add them to the cache.

        Returns:
            FULL if the cache has no room (nothing was added), ABORTED after `request_abort` (whole micro-batches before
            the stop stay cached, see `positions`), else OK.

        Raises:
            RequestError: tokens outside the vocabulary, none or too many of them, or `start` does not continue the
                cache.
            ContextError: the computation failed.
        """
        count = len(tokens)
        if not 0 < count <= self.n_batch or min(tokens) < 0 or max(tokens) >= self._n_vocab:
            raise self._refusal(tokens)
        last = lib.llama_memory_seq_pos_max(self._memory, _SEQUENCE)
        # llama.cpp itself would accept a gap at the beginning.
        if start != last + 1:
            raise RequestError(f"position {start} does not continue the cache, which ends at {last}")
        rows, taps = outputs.rows(count), self.taps
        if taps is not None:
            # llama.cpp aborts on more rows with outputs than the taps hold.
            if len(rows) > taps.outputs or count > self.n_ubatch:
                raise RequestError(f"{count} tokens with {len(rows)} outputs in one batch; send them in smaller pieces")
            # The device may still be reading the taps' inputs of the previous decode.
            self.synchronize()
            taps.before(start, count, rows)
        self._fill(tokens, start, rows)
        code = self._decode_recurrent(start, count) if self.recurrent else lib.llama_decode(self._handle, self._batch)
        if code == 0:
            self._rows = rows
            self._row_sampler = None
            if taps is not None:
                taps.after()
            return DecodeStatus.OK
        return self._failed(code)

    def _decode_recurrent(self, start: int, count: int) -> int:
        """Decode the batch, and follow how far back the recurrent state reaches then."""
        if self._earliest == _LOST:
            raise ContextError("the recurrent state was lost when a computation was stopped; clear the cache")
        short = count <= _UNINTERRUPTED
        if short:
            with self._stopping:
                self._uninterrupted = True
                self._stop.clear()
        code: int = lib.llama_decode(self._handle, self._batch)
        if short:
            with self._stopping:
                self._uninterrupted = False
                if self._stop_wanted:
                    self._stop.set()
        if code == DecodeStatus.OK:
            # Of each of the last tokens one state is held; those of earlier batches are overwritten or stale.
            self._earliest = start + count - min(count - 1, self.rollback)
        elif code not in (DecodeStatus.FULL, _INVALID_BATCH):
            self._earliest = _LOST
        return code

    def _fill(self, tokens: Sequence[int], start: int, outputs: range) -> None:
        """Write the batch: `tokens` from position `start` on, with logits in the rows `outputs`."""
        count, flags = len(tokens), self._flags
        self._batch.n_tokens = count
        if count == 1:
            self._tokens[0] = tokens[0]
            self._positions[0] = start
            flags[0] = bool(outputs)
            return
        self._tokens[:count] = list(tokens)
        self._positions[:count] = list(range(start, start + count))
        ctypes.memset(flags, 0, count)
        if outputs:
            ctypes.memset(ctypes.addressof(flags) + outputs.start, 1, len(outputs))

    def _failed(self, code: int) -> DecodeStatus:
        self._rows = range(0)
        if code in (DecodeStatus.FULL, DecodeStatus.ABORTED):
            return DecodeStatus(code)
        if code == _INVALID_BATCH:
            raise RequestError(f"llama.cpp refused the batch: {recent_log()}")
        raise (ContextOutOfMemory if log_reports_out_of_memory() else ContextError)(
            f"the computation failed ({code}: {recent_log()}); "
            "try a smaller context or fewer layers on the GPU, then open the model again"
        )

    def _refusal(self, tokens: Sequence[int]) -> Exception:
        if not self._handle:
            return EngineClosed(_CLOSED)
        if not tokens:
            return RequestError("there is nothing to decode; give at least one token")
        if len(tokens) > self.n_batch:
            return RequestError(f"{len(tokens)} tokens in one batch of at most {self.n_batch}; send them in pieces")
        wrong = next(token for token in tokens if not 0 <= token < self._n_vocab)
        return RequestError(f"token {wrong} is outside the vocabulary of {self._n_vocab}; tokenize with this model")

    def remove(self, start: int, end: int | None = None) -> None:
        """Remove positions `start` to `end` (exclusive; None for the end) from the cache.

        The last batch's logits remain valid and can still be sampled from.

        Raises:
            ContextError: the memory cannot go back there, as a recurrent state mostly cannot; nothing was removed.
        """
        if start < 0 or (end is not None and end < start):
            raise RequestError(f"cannot remove positions {start} to {end}; start must be 0 or more and end after it")
        memory, earliest, possible = self._live_memory(), 0, True
        if self.recurrent and start:
            # llama.cpp itself would go back to states of earlier batches; and it goes back only once after a batch.
            cut = start <= lib.llama_memory_seq_pos_max(memory, _SEQUENCE)
            possible = not cut or start >= self._earliest
            earliest = start if cut else self._earliest
        if not possible or not lib.llama_memory_seq_rm(memory, _SEQUENCE, start, -1 if end is None else end):
            raise ContextError(f"this model's memory cannot go back to position {start}; turn speculation off")
        self._earliest = earliest

    @property
    def lost(self) -> bool:
        """Whether a stopped computation spoilt the recurrent state: load an earlier one, or remove everything."""
        return self._earliest == _LOST

    def state_bytes(self) -> int:
        """Return the bytes of the whole state."""
        self._live_memory()
        nbytes: int = lib.llama_state_seq_get_size_ext(self._handle, _SEQUENCE, 0)
        return nbytes

    def window_bytes(self) -> int:
        """Return the bytes that `save_window` would take now; 0 if there is nothing to save."""
        self._live_memory()
        nbytes: int = lib.llama_state_seq_get_size_ext(self._handle, _SEQUENCE, _PARTIAL_ONLY)
        return nbytes

    def save_window(self, into: WindowState | None = None) -> WindowState | None:
        """Save the sliding-window or recurrent part of the memory to host memory: a truncation cannot bring it back.

        Waits for the device. Returns None if there is none or llama.cpp refuses.

        Args:
            into: a state no longer needed, whose memory is reused if it has the right size: writing to memory that the
                process has touched before is several times as fast.
        """
        nbytes = self.window_bytes()
        if not nbytes:
            return None
        words = np.empty(-(-nbytes // 8), np.uint64)
        if into is not None and into.words.size == words.size:
            words = into.words
        words[-1] = 0
        state = words.ctypes.data
        written: int = lib.llama_state_seq_get_data_ext(self._handle, state, nbytes, _SEQUENCE, _PARTIAL_ONLY)
        return WindowState.of(words, nbytes) if written == nbytes else None

    def load_window(self, saved: WindowState) -> bool:
        """Replace the sliding-window or recurrent part of the memory by `saved`; return whether that succeeded.

        The rest of the cache must hold at least as many positions, and must then be truncated to those that both hold
        (`remove`), for a recurrent state to exactly its own. A damaged state is refused without a change. If llama.cpp
        refuses it, that part of the memory may be lost: clear the cache.
        """
        self._live_memory()
        self._rows = range(0)
        if not saved.intact:
            return False
        state = saved.words.ctypes.data
        read: int = lib.llama_state_seq_set_data_ext(self._handle, state, saved.nbytes, _SEQUENCE, _PARTIAL_ONLY)
        if self.recurrent:
            self._earliest = (
                lib.llama_memory_seq_pos_max(self._memory, _SEQUENCE) + 1 if read == saved.nbytes else _LOST
            )
        return read == saved.nbytes

    def window_in_order(self) -> tuple[WindowState, Rows] | None:
        """Save as `save_window` does, the cells in the order of positions, and return the rows too; None if it cannot.

        Raises:
            UnknownState: the state is laid out in another way.
        """
        saved = self.save_window()
        if saved is None:
            return None
        if not self.recurrent:
            return in_order(saved, grid=self._grid)
        return saved, parse_recurrent(saved.data)

    def window_of(self, pieces: Sequence[Rows]) -> WindowState:
        """Return the state for `load_window` that consists of these rows, as from `window_in_order`."""
        if not self.recurrent:
            return build(pieces, grid=self._grid)
        return build_recurrent(pieces[0], int(self._no_state().view("<u4")[2]))

    def _no_state(self) -> Bytes:
        """Return the recurrent part of a sequence's state that has no cell: counts, layers and types."""
        data = self._state_of(_LENT)
        # Magic, sequence, and the streams and cells of the only cache.
        if data[8:16].view("<u4").tolist() != [1, 0] or data[16:20].view("<u4")[0]:
            raise UnknownState("this model has other memory beside its recurrent state; it cannot be saved")
        return data[16:]

    def _state_of(self, sequence: int) -> Bytes:
        size: int = lib.llama_state_seq_get_size_ext(self._handle, sequence, 0)
        data = np.empty(size, np.uint8)
        written: int = (
            lib.llama_state_seq_get_data_ext(self._handle, data.ctypes.data, size, sequence, 0) if size else 0
        )
        if not size or written != size:
            raise UnknownState("llama.cpp gave no state; this model's cache cannot be saved")
        return data

    def read_rows(self, start: int, stop: int) -> tuple[Rows, int]:
        """Copy keys and values of positions `start` to `stop` in the full-attention layers; name the kind of memory.

        Waits for the device. llama.cpp has no call for a range of positions. A second sequence that is lent the cells
        of a range has one: lending (`llama_memory_seq_cp`) changes the cells' owners only, so the state of that
        sequence is the range.

        Raises:
            UnknownState: the state is laid out in another way, or the positions are not in the cache.
        """
        memory = self._live_memory()
        if self.recurrent:
            self._no_state()
        lib.llama_memory_seq_cp(memory, _SEQUENCE, _LENT, start, stop)
        try:
            data = self._state_of(_LENT)
        finally:
            # A recurrent memory knows no second sequence to remove.
            lib.llama_memory_seq_keep(memory, _SEQUENCE)
        caches = parse(data, grid=self._grid)
        rows = caches[0]
        if (rows.start, rows.stop) != (start, stop) or len(caches) > (ONE_CACHE if self.recurrent else SLIDING):
            raise UnknownState("llama.cpp's state holds other positions than requested; this cache cannot be saved")
        return rows, RECURRENT if self.recurrent else len(caches)

    def write_rows(self, rows: Rows, caches: int) -> bool:
        """Append rows to the full-attention layers; return whether llama.cpp took them.

        What is cached is lent to the second sequence meanwhile, because a sequence's state is replaced as a whole. The
        positions count as cached only with their sliding window or recurrent state (`load_window`), where there is one.
        After a refusal the cache must be cleared.

        Args:
            rows: those after what is cached.
            caches: as from `read_rows`.
        """
        memory = self._live_memory()
        self._rows = range(0)
        rest = self._no_state() if self.recurrent else None
        data = build([rows], empty_caches=0 if self.recurrent else caches - 1, grid=self._grid, rest=rest).data
        lib.llama_memory_seq_cp(memory, _SEQUENCE, _LENT, -1, -1)
        read: int = lib.llama_state_seq_set_data_ext(self._handle, data.ctypes.data, data.nbytes, _SEQUENCE, 0)
        lib.llama_memory_seq_cp(memory, _LENT, _SEQUENCE, -1, -1)
        lib.llama_memory_seq_keep(memory, _SEQUENCE)
        if self.recurrent:
            self._earliest = _LOST
        return read == data.nbytes

    def clear(self, *, wipe: bool = True) -> None:
        """Empty the cache; `wipe` also zeroes its memory, which is needed where half-written data may be left."""
        lib.llama_memory_clear(self._live_memory(), wipe)
        self._rows = range(0)
        self._earliest = 0

    def positions(self) -> tuple[int, int]:
        """Return the lowest and highest position in the cache; (-1, -1) if it is empty.

        With a sliding window and without `swa_full`, the lowest is that of the window's cells; with a recurrent state,
        the first position after which that is still held.
        """
        memory = self._live_memory()
        highest: int = lib.llama_memory_seq_pos_max(memory, _SEQUENCE)
        if self.recurrent and highest >= 0:
            return min(self._earliest - 1, highest), highest
        return lib.llama_memory_seq_pos_min(memory, _SEQUENCE), highest

    def sample(self, chain: SamplerChain, row: int = -1) -> int:
        """Sample a token with `chain`, as its constraints allow, from the logits of `row` of the last batch; accept it.

        Args:
            chain: the sampler chain.
            row: row of the batch; a negative one counts back from the last row with logits.

        Raises:
            RequestError: the row has no logits.
        """
        row = self._checked(row)
        constraints = chain.constraints
        token = self._sample(chain, row) if constraints is None else self._sample_masked(chain, constraints, row)
        if chain.recorder is not None:
            chain.recorder.record(token, self.logits(row))
        return token

    def _sample(self, chain: SamplerChain, row: int) -> int:
        sampler = self._row_sampler or self._fetch_readout()
        if sampler is not None:
            return sampler.pick(chain, self._output_row(row))
        if chain.draws:
            candidates = self._all_candidates
            candidates["id"], candidates["logit"] = self._all_ids, self.logits(row)
            return chain.choose(candidates, is_sorted=False)
        token: int = lib.llama_sampler_sample(chain.handle, self._handle, row)
        return token

    def _sample_masked(self, chain: SamplerChain, constraints: Constraints, row: int) -> int:
        mask = constraints.mask()
        while mask is not FREE and mask.forced is None:
            sampler = self._row_sampler or self._fetch_readout()
            top = None if sampler is None else sampler.top(self._output_row(row))
            picked = masked_row.pick(chain, constraints, mask, top, partial(self._whole_row, row))
            if picked is not None:
                constraints.sampled(picked, mask)
                return picked
            mask = constraints.mask()
        if mask.forced is None:
            token = self._sample(chain, row)
        else:
            chain.force(token := mask.forced)
        constraints.sampled(token, mask)
        return token

    def _whole_row(self, row: int) -> NDArray[np.float32]:
        """Return all logits of `row`, float32 [vocabulary], whatever the readout is."""
        taps = self.taps
        if isinstance(taps, Taps) and taps.readout != LOGITS:
            return taps.logits(self._output_row(row) % len(self._rows))
        return self.logits(row)

    def _output_row(self, row: int) -> int:
        """Return the index of `row` among the rows with outputs; negative ones count back from the last."""
        return row - self._rows.start if row >= 0 else row

    @property
    def readout(self) -> Readout:
        """The part of the logits that is copied to the host after a decode."""
        return LOGITS if self.taps is None else self.taps.readout

    def read_out(self, readout: Readout) -> None:
        """Set the part of the logits that is copied to the host from the next decode on; without `Taps` always LOGITS.

        With any other than LOGITS, `logits` raises RequestError.
        """
        if isinstance(self.taps, Taps):
            self.taps.read_out(readout, self._handle)

    def synchronize(self) -> None:
        """Wait for the device: unless it is the CPU, the computation of the last `decode` may still be running."""
        if self._waits:
            lib.llama_synchronize(self._handle)

    def logits(self, row: int = -1) -> NDArray[np.float32]:
        """Return a copy of the logits of `row` of the last batch, float32 [vocabulary].

        RequestError as for `sample`, and if the readout was not LOGITS.
        """
        row = self._checked(row)
        if self.readout != LOGITS:
            raise RequestError("the logits stayed on the device; read out LOGITS before decoding")
        get = lib.llama_get_sampled_logits_ith if isinstance(self.taps, Taps) else lib.llama_get_logits_ith
        return np.ctypeslib.as_array(get(self._handle, row), (self._n_vocab,)).copy()

    def _fetch_readout(self) -> BestRowSampler | CandidateRowSampler | None:
        """Copy the readout of the last batch to the host; None where that is llama.cpp's own logits."""
        taps = self.taps
        if isinstance(taps, Taps) and taps.readout != LOGITS:
            self.synchronize()
            self._row_sampler = taps.row_sampler(len(self._rows))
        return self._row_sampler

    def _checked(self, row: int) -> int:
        rows = self._rows
        if row in rows or -len(rows) <= row < 0:
            return row
        if not self._handle:
            raise EngineClosed(_CLOSED)
        raise RequestError(f"row {row} of the last batch has no logits; decode it with outputs first")

    def request_abort(self) -> None:
        """Stop the running decode, and every later one until `clear_abort`. Safe from any thread.

        On the CPU it takes effect within a graph node; on other devices between micro-batches. Where it would cost the
        recurrent state, a round is computed to its end.
        """
        with self._stopping:
            self._stop_wanted = True
            if not self._uninterrupted:
                self._stop.set()

    def clear_abort(self) -> None:
        """Allow decoding again. Safe from any thread."""
        with self._stopping:
            self._stop_wanted = False
            self._stop.clear()

    def _live_memory(self) -> MemoryHandle:
        if not self._handle:
            raise EngineClosed(_CLOSED)
        return self._memory

    def close(self) -> None:
        """Free the context and its taps. Idempotent."""
        if self._handle:
            lib.llama_free(self._handle)
            self._handle.value = None
            self._rows = range(0)
            self.n_batch = 0
            if self.taps is not None:
                self.taps.close()


def _create(model: Model, options: ContextOptions, stop: AbortFlag, taps: Taps | CallbackTaps | None) -> ContextHandle:
    """Allocate a native context that stops when `stop` is set, or raise ContextError with llama.cpp's reason."""
    sizes = (options.n_ctx, options.n_batch, options.n_ubatch, options.threads, options.threads_batch)
    if not all(0 <= size <= _MAX_TOKENS for size in sizes) or not (options.n_batch and options.n_ubatch):
        raise ContextError(f"{options} has a size out of range; use positive sizes")
    if options.flash_attention is False and options.type_v is not KvType.F16:
        raise ContextError(f"a {options.type_v.value} V cache needs flash attention; turn it on or use an f16 cache")
    note_use()
    params: ContextParams = lib.llama_context_default_params()
    params.n_ctx, params.n_batch = options.n_ctx, options.n_batch
    params.n_ubatch = min(options.n_ubatch, options.n_batch)
    if model.recurrent and options.rollback:
        params.n_rs_seq = options.rollback
        if min(params.n_ubatch, options.n_ctx or model.n_ctx_train) < options.rollback + 2:
            # llama.cpp aborts on micro-batches that are not larger than what has to stay together in one.
            raise ContextError(
                f"micro-batches of {params.n_ubatch} tokens cannot go back by {options.rollback}; use more"
            )
    params.n_threads = options.threads or physical_cores()
    params.n_threads_batch = options.threads_batch or options.threads or physical_cores()
    params.type_k, params.type_v = options.type_k.ggml, options.type_v.ggml
    params.flash_attn_type = _FLASH_ATTENTION[options.flash_attention]
    params.swa_full = options.swa_full
    params.op_offload = options.offload_products
    params.abort_callback, params.abort_callback_data = stop.callback, stop.data
    if taps is not None:
        params.n_outputs_max = params.n_outputs_max_per_seq = taps.outputs
        taps.attach(params)
    log.clear()
    handle: ContextHandle = lib.llama_init_from_model(model.handle, params)
    if not handle:
        raise (ContextOutOfMemory if log_reports_out_of_memory() else ContextError)(
            f"a context of {options.n_ctx} tokens could not be created ({recent_log()}); "
            "try a smaller context, a q8_0 cache, or fewer layers on the GPU"
        )
    return handle
