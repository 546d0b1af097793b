"""A KV cache of one sequence, and the decode calls that fill it.

Not thread-safe: methods are called on the engine thread only, except `request_abort` and `clear_abort`. Arguments are
checked here because llama.cpp answers invalid ones with `abort()`. A `decode` of one token takes about 3 µs of Python,
because the batch and its arrays are reused.
"""

import ctypes
from collections.abc import Sequence
from functools import partial

import numpy
from numpy.typing import NDArray

from laguna_engine.errors import ContextError, ContextOutOfMemory, EngineClosed, RequestError
from laguna_engine.llama import masked_row, sequence_state, window_state
from laguna_engine.llama.callback_taps import CallbackTaps
from laguna_engine.llama.context_creation import create
from laguna_engine.llama.context_params import ContextOptions, DecodeStatus, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import CANDIDATE, LOGITS, Readout, SamplerChain
from laguna_engine.llama.sequence_state import Rows
from laguna_engine.llama.taps import BestRowSampler, CandidateRowSampler, Taps, row_sampler
from laguna_engine.llama.window_state import WindowState
from laguna_engine.native.abort import AbortFlag
from laguna_engine.native.library import lib, log_says_out_of_memory, recent_log
from laguna_engine.native.structs import Batch, MemoryHandle

_SEQUENCE = 0
"""The engine uses one sequence."""

_INVALID_BATCH = -1
"""`llama_decode`: the batch was refused and nothing changed."""


class Context:
    """A `llama_context` of one sequence.

    Attributes:
        taps: the taps attached to its graphs, or None.
        n_ctx: actual tokens of context; llama.cpp rounds up to a multiple of 256.
        n_batch: actual most tokens of one `decode`.
        n_ubatch: actual tokens of a micro-batch.
        swa_full: whether the sliding-window layers keep all positions.
    """

    def __init__(self, model: Model, options: ContextOptions, taps: Taps | CallbackTaps | None = None) -> None:
        """Allocate cache and compute buffers; ContextError with llama.cpp's reason when that fails.

        `taps` belong to this context and are closed with it.
        """
        self._stop = AbortFlag()
        self.taps = taps
        self._handle = create(model, options, self._stop, taps)
        self._memory: MemoryHandle = lib.llama_get_memory(self._handle)
        if not self._memory:
            lib.llama_free(self._handle)
            raise ContextError(f"{model.description} keeps no KV cache; choose a text generation model")
        self.n_ctx: int = lib.llama_n_ctx(self._handle)
        self.n_batch: int = lib.llama_n_batch(self._handle)
        self.n_ubatch: int = lib.llama_n_ubatch(self._handle)
        self.swa_full = options.swa_full
        self._n_vocab = model.vocab.size
        self._all_ids = numpy.arange(self._n_vocab, dtype=numpy.int32)
        self._all_candidates = numpy.zeros(self._n_vocab, CANDIDATE)
        # The device of the logits finishes last; `llama_decode` itself waits for the CPU.
        self._waits = taps is None or not taps.backend.device.is_cpu
        self._rows = range(0)
        self._picks: BestRowSampler | CandidateRowSampler | None = None
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
        self._all_flags = b"\x01" * size

    def decode(self, tokens: Sequence[int], start: int, outputs: Outputs = Outputs.LAST) -> DecodeStatus:
        """Decode `tokens` at positions `start`, `start + 1`, … and add them to the cache.

        Returns:
            FULL if the cache has no room (nothing was added), ABORTED after `request_abort` (whole micro-batches before
            the stop are kept, see `positions`), else OK.

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
        rows = _output_rows(count, outputs)
        if self.taps is not None:
            self._announce(start, count, rows)
        self._fill(tokens, start, count, outputs)
        code = lib.llama_decode(self._handle, self._batch)
        if code == 0:
            self._rows = rows
            self._picks = None
            if self.taps is not None:
                self.taps.after()
            return DecodeStatus.OK
        return self._failed(code)

    def _announce(self, start: int, count: int, rows: range) -> None:
        """Prepare the taps for the next decode; RequestError for more rows than they hold, where llama.cpp aborts."""
        taps = self.taps
        assert taps is not None, "only called with taps"
        if len(rows) > taps.outputs or count > self.n_ubatch:
            raise RequestError(f"{count} tokens with {len(rows)} outputs in one batch; send them in smaller pieces")
        # The device may still be reading the taps' inputs of the previous decode.
        self.synchronize()
        taps.before(start, count, rows)

    def _fill(self, tokens: Sequence[int], start: int, count: int, outputs: Outputs) -> None:
        self._batch.n_tokens = count
        flags = self._flags
        if count == 1:
            self._tokens[0] = tokens[0]
            self._positions[0] = start
            flags[0] = outputs is not Outputs.NONE
            return
        self._tokens[:count] = list(tokens)
        self._positions[:count] = list(range(start, start + count))
        if outputs is Outputs.ALL:
            ctypes.memmove(flags, self._all_flags, count)
        else:
            ctypes.memset(flags, 0, count)
            for row in _output_rows(count, outputs):
                flags[row] = 1

    def _failed(self, code: int) -> DecodeStatus:
        self._rows = range(0)
        if code in (DecodeStatus.FULL, DecodeStatus.ABORTED):
            return DecodeStatus(code)
        if code == _INVALID_BATCH:
            raise RequestError(f"llama.cpp refused the batch: {recent_log()}")
        raise (ContextOutOfMemory if log_says_out_of_memory() else ContextError)(
            f"the computation failed ({code}: {recent_log()}); "
            "try a smaller context or fewer layers on the GPU, then open the model again"
        )

    def _refusal(self, tokens: Sequence[int]) -> Exception:
        if not self._handle:
            return EngineClosed("the context is closed; open the model again")
        if not tokens:
            return RequestError("there is nothing to decode; give at least one token")
        if len(tokens) > self.n_batch:
            return RequestError(f"{len(tokens)} tokens in one batch of at most {self.n_batch}; send them in pieces")
        wrong = next(token for token in tokens if not 0 <= token < self._n_vocab)
        return RequestError(f"token {wrong} is outside the vocabulary of {self._n_vocab}; tokenize with this model")

    def remove(self, start: int, end: int | None = None) -> None:
        """Remove positions `start` to `end` (exclusive; None for the end) from the cache.

        The last batch's logits remain valid and can still be sampled from.
        """
        if start < 0 or (end is not None and end < start):
            raise RequestError(f"cannot remove positions {start} to {end}; start must be 0 or more and end after it")
        lib.llama_memory_seq_rm(self._live_memory(), _SEQUENCE, start, -1 if end is None else end)

    def window_bytes(self) -> int:
        """Bytes that `save_window` would take now."""
        self._live_memory()
        return window_state.size(self._handle, _SEQUENCE)

    def save_window(self, into: WindowState | None = None) -> WindowState | None:
        """Save the sliding-window part of the cache to host memory; None if that is not possible.

        Args:
            into: a state no longer needed, whose memory is reused if it has the right size.
        """
        self._live_memory()
        return window_state.save(self._handle, _SEQUENCE, into)

    def load_window(self, saved: WindowState) -> bool:
        """Restore the sliding-window part of the cache from `saved`. Returns whether that succeeded.

        The rest of the cache must hold at least as many positions, and must then be truncated to those that both hold
        (`remove`). On failure the sliding-window part may be lost: clear the cache.
        """
        self._live_memory()
        try:
            return window_state.load(self._handle, _SEQUENCE, saved)
        finally:
            self._rows = range(0)

    def read_rows(self, start: int, stop: int) -> tuple[Rows, int]:
        """Keys and values of positions `start` to `stop` in the full-attention layers: see `sequence_state`."""
        return sequence_state.read_rows(self._handle, self._live_memory(), start, stop)

    def write_rows(self, rows: Rows, caches: int) -> bool:
        """Add keys and values to the full-attention layers; whether that succeeded. See `sequence_state`."""
        self._rows = range(0)
        return sequence_state.write_rows(self._handle, self._live_memory(), rows, caches)

    def clear(self, *, wipe: bool = True) -> None:
        """Empty the cache. wipe: also zero its memory, which what was left half written there must be."""
        lib.llama_memory_clear(self._live_memory(), wipe)
        self._rows = range(0)

    def positions(self) -> tuple[int, int]:
        """Lowest and highest position in the cache; (-1, -1) if it is empty.

        With a sliding window and without `swa_full`, the lowest is that of the window's cells.
        """
        memory = self._live_memory()
        return lib.llama_memory_seq_pos_min(memory, _SEQUENCE), lib.llama_memory_seq_pos_max(memory, _SEQUENCE)

    def sample(self, chain: SamplerChain, row: int = -1) -> int:
        """Sample a token with `chain`, as its constraint allows, from the logits of `row` of the last batch; accept it.

        Args:
            chain: the sampler chain.
            row: row of the batch; a negative one counts back from the last row with logits.

        Raises:
            RequestError: the row has no logits.
        """
        row = self._checked(row)
        constraints = chain.constraints
        if constraints is None:
            token = self._sample(chain, row)
        else:
            free, likeliest = partial(self._sample, chain, row), partial(self._likeliest, row)
            token = masked_row.sample(chain, constraints, free, likeliest, partial(self._whole_row, row))
        if chain.recorder is not None:
            chain.recorder.note(token, self.logits(row))
        return token

    def _sample(self, chain: SamplerChain, row: int) -> int:
        picks = self._picks or self._read_picks()
        if picks is not None:
            return picks.pick(chain, self._output_row(row))
        if chain.draws:
            candidates = self._all_candidates
            candidates["id"], candidates["logit"] = self._all_ids, self.logits(row)
            return chain.choose(candidates, likeliest_first=False)
        token: int = lib.llama_sampler_sample(chain.handle, self._handle, row)
        return token

    def _likeliest(self, row: int) -> NDArray[numpy.void] | None:
        """The tokens of `row` that are read anyway, likeliest first; None if the chain needs all of them."""
        picks = self._picks or self._read_picks()
        return None if picks is None else picks.likeliest(self._output_row(row))

    def _whole_row(self, row: int) -> NDArray[numpy.float32]:
        """All logits of `row`, float32 [vocabulary], whatever the readout is."""
        taps = self.taps
        if isinstance(taps, Taps) and taps.readout != LOGITS:
            return taps.logits(self._output_row(row) % len(self._rows))
        return self.logits(row)

    def _output_row(self, row: int) -> int:
        """The place of `row` among the rows with outputs; negative ones count back from the last."""
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

    def logits(self, row: int = -1) -> NDArray[numpy.float32]:
        """A copy of the logits of `row` of the last batch, float32 [vocabulary].

        RequestError as for `sample`, and if the readout was not LOGITS.
        """
        row = self._checked(row)
        if self.readout != LOGITS:
            raise RequestError("the logits stayed on the device; read out LOGITS before decoding")
        hooked = isinstance(self.taps, Taps)
        get = lib.llama_get_sampled_logits_ith if hooked else lib.llama_get_logits_ith
        pointer = get(self._handle, row)
        return numpy.ctypeslib.as_array(pointer, (self._n_vocab,)).copy()

    def _read_picks(self) -> BestRowSampler | CandidateRowSampler | None:
        """The row sampler of the last batch, copied to the host; None for llama.cpp's own logits."""
        taps = self.taps
        if isinstance(taps, Taps) and taps.readout != LOGITS:
            self.synchronize()
            self._picks = row_sampler(taps, len(self._rows))
        return self._picks

    def _checked(self, row: int) -> int:
        rows = self._rows
        if row in rows or -len(rows) <= row < 0:
            return row
        if not self._handle:
            raise EngineClosed("the context is closed; open the model again")
        raise RequestError(f"row {row} of the last batch has no logits; decode it with outputs first")

    def request_abort(self) -> None:
        """Stop the running decode, and every later one until `clear_abort`. Safe from any thread.

        On the CPU it takes effect within a graph node; on other devices between micro-batches.
        """
        self._stop.set()

    def clear_abort(self) -> None:
        """Allow decoding again. Safe from any thread."""
        self._stop.clear()

    def _live_memory(self) -> MemoryHandle:
        if not self._handle:
            raise EngineClosed("the context is closed; open the model again")
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


def _output_rows(count: int, outputs: Outputs) -> range:
    if outputs is Outputs.NONE:
        return range(0)
    if outputs is Outputs.ALL:
        return range(count)
    return range(max(0, count - (2 if outputs is Outputs.PAIR else 1)), count)
