"""DFlash: a small model that reads the target's hidden states and drafts a whole block of tokens in one pass.

`DFlash` is that model, `DFlashDrafter` the drafter: the model, updated with what the target computed.

One implementation for all of the family, driven by the drafter's file: DFlash (arXiv 2602.06036), DSpark with its
Markov and confidence heads, Laguna's gated drafters; own or shared embeddings and output matrix, reduced vocabularies,
sliding windows, LoRA adapters. The target's features stay on the device.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from laguna_engine.checkpoints import DrafterSnapshot
from laguna_engine.config import DRAFT_CONTEXT, EngineOptions
from laguna_engine.draft.base import (
    Choose,
    Draft,
    Drafter,
    DrafterEntry,
    DrafterPlan,
    DraftRequest,
    DraftTarget,
    Kind,
    Offer,
)
from laguna_engine.draft.dflash_graph import (
    LARGEST_INJECTION,
    LAST_LAYER_OUTPUTS,
    SPARE_ROWS,
    BlockGraph,
    BlockShape,
    GraphCache,
    power_of_two,
)
from laguna_engine.draft.dflash_kv import KvMemory, Ring, header_slots
from laguna_engine.draft.dflash_weights import MARKOV, DrafterWeights
from laguna_engine.errors import GraphError, ModelFileError, RequestError
from laguna_engine.events import Source
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.tensor import Tensor, Type
from laguna_engine.ggml.weights import HostEmbedding, Weights
from laguna_engine.gguf import adapter as adapter_files
from laguna_engine.gguf import drafter_header
from laguna_engine.gguf import drafter_header as drafters
from laguna_engine.gguf.drafter_header import DrafterHeader, TargetFacts
from laguna_engine.gguf.header import Header
from laguna_engine.sequence import TokenSequence

_EMBEDDING = "token_embd.weight"

CANDIDATES = 64
"""A sampled draft draws one of this many most likely tokens; the others have almost no probability."""


class DFlash:
    """A drafter that continues what it last was set to `follow`. Engine thread only.

    taps: the target's layer outputs it reads, in order. block: tokens it sees at once. window: how many positions
    before the block matter to it.
    """

    source = Source("dflash", colour="teal", title="The drafter")

    def __init__(
        self,
        drafter: DrafterHeader,
        weights: DrafterWeights,
        features: Tensor,
        embedding: HostEmbedding,
        backend: ComputeBackend,
        *,
        context: int,
        kv: Type,
    ) -> None:
        """Use `open`; `weights` belong to it from now on."""
        self.drafter = drafter
        self.taps, self.block = drafter.taps, drafter.block
        self._weights, self._feature_rows = weights, features.shape[1]
        self._rings = _rings(drafter, context)
        self.window = max(ring.reach for ring in self._rings.values())
        self._adapter: str | None = None
        self._left_out: set[str] = set()
        self._longest = drafter.longest
        self._top_k = 0
        self._choose: Choose = _first
        self._last, self._length = 0, 0
        self._memory = KvMemory(drafter, self._rings, backend, kv)
        self._graphs = GraphCache(drafter, weights, self._memory, features, embedding, backend)
        try:
            # What the device cannot do shall show when the drafter is opened, not in the middle of an answer.
            # Graphs of other sizes are built when they are needed: all of them take 10 to 15 ms and some 10 MB, and one
            # that cannot be built costs the drafter and not the answer.
            self._graphs.injection(1, None)
            self._block(1)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(
        cls,
        drafter: DrafterHeader,
        target: TargetFacts,
        features: Tensor,
        head: Tensor | None,
        embedding: HostEmbedding | None,
        backend: ComputeBackend,
        adapters: Sequence[tuple[str, Path]] = (),
        *,
        context: int = DRAFT_CONTEXT,
        kv: Type = Type.F16,
        repack: bool = True,
    ) -> "DFlash":
        """Check the pair and load the drafter, whose header was read and checked, onto `backend`.

        features: F32 [n_embd * taps, rows] on the backend's device; position p lies in row p % rows. head, embedding:
        the target's output matrix (on the same device) and embeddings, used if the drafter has none of its own.
        context: most positions that full-attention layers look back. kv: format of keys and values. ModelFileError for
        a wrong file or pair, GraphError if the device cannot run it.
        """
        drafters.check_pair(drafter, target)
        checked = {name: adapter_files.read(file, drafter) for name, file in adapters}
        rows = HostEmbedding(drafter.file, _EMBEDDING) if drafter.has(_EMBEDDING) else embedding
        if rows is None or (rows.width, rows.count) != (drafter.n_embd, target.n_vocab):
            raise ModelFileError(f"{drafter.path}: it needs its model's embeddings; choose a drafter with its own")
        if features.shape[0] != drafter.n_embd * len(drafter.taps):
            raise GraphError(f"{features} does not hold {len(drafter.taps)} hidden states of {drafter.n_embd}")
        weights = DrafterWeights(drafter, target.n_vocab, head, checked, backend, repack=repack)
        try:
            return cls(drafter, weights, features, rows, backend, context=context, kv=kv)
        except BaseException:
            weights.close()
            raise

    @property
    def nbytes(self) -> int:
        """Bytes of weights and memory on the device, without its graphs' intermediate results."""
        return self._weights.nbytes + self._memory.nbytes

    @property
    def graphs_nbytes(self) -> int:
        """Bytes of its graphs' intermediate results on the device; at most `graphs_room`."""
        return self._graphs.nbytes

    def inject(self, start: int, stop: int) -> None:
        """Take in the features of positions [start, stop); those that nothing can look back at any more are skipped."""
        longest = max(ring.capacity for ring in self._rings.values())
        start = max(start, stop - min(longest, self._feature_rows))
        most = min(LARGEST_INJECTION, self._feature_rows, *(ring.capacity for ring in self._rings.values()))
        while start < stop:
            count = min(most, stop - start)
            self._graphs.injection(count, self._adapter).run(start, count)
            start += count

    def truncate(self, length: int) -> None:
        """Forget positions from `length` on."""
        for ring in self._rings.values():
            ring.truncate(length)

    def reset(self) -> None:
        """Forget every position."""
        for ring in self._rings.values():
            ring.clear()

    def covered(self, length: int) -> bool:
        """Return whether it holds everything it looks at when it drafts after `length` committed positions."""
        return all(ring.covers(length) for ring in self._rings.values())

    def wanted_from(self, length: int) -> int:
        """Return the first position whose features matter after `length` committed positions."""
        return max(0, length - self.window)

    def snapshot(self, length: int) -> DrafterSnapshot | None:
        """Copy what it looks at after `length` positions to host memory; None unless it holds all of that."""
        return self._memory.snapshot(length, self._context_adapter)

    def restore(self, state: DrafterSnapshot) -> bool:
        """Hold a snapshot; return False, and change nothing, if it was made with another adapter or drafter."""
        return state.adapter == self._context_adapter and self._memory.restore(state)

    def follow(self, last: int, length: int) -> None:
        """Draft from here: `length` positions are committed, and `last` is the token at position `length`."""
        self._last, self._length = last, length

    def use_adapter(self, name: str | None) -> None:
        """Draft with an adapter, or None for the drafter as it is; RequestError if there is no such.

        One that was left out counts as None. Keys and values of committed positions are forgotten if they would have
        come out differently.
        """
        if name in self._left_out:
            name = None
        if name == self._adapter:
            return
        if name is not None and name not in self._weights.adapters:
            known = ", ".join(self._weights.adapters) or "none"
            raise RequestError(f"the drafter has no adapter {name!r}; choose one of: {known}")
        changed = [self._weights.adapters[which] for which in (name, self._adapter) if which is not None]
        self._adapter = name
        if any(adapter.changes_context for adapter in changed):
            self.reset()

    @property
    def adapters(self) -> frozenset[str]:
        """The names of its adapters."""
        return frozenset(self._weights.adapters) | self._left_out

    def gives_numbers(self, adapter: str | None = None) -> bool:
        """Return whether what it computes of one position, and drafts after it, is finite.

        Forgets every position. A device that cannot sort logits counts as yes.
        """
        self.use_adapter(adapter)
        try:
            self.inject(0, 1)
            found = self._block(1, top_k=1).run(self.drafter.mask_id, 1)
        except GraphError:
            return True
        finally:
            self.use_adapter(None)
            self._memory.clear()
        return all(np.isfinite(part).all() for part in (found.logits, found.confidence) if part is not None)

    def leave_out(self, adapter: str) -> None:
        """Draft without this adapter when it is requested."""
        self._left_out.add(adapter)

    def sample_with(self, top_k: int | None, choose: Choose | None = None) -> bool:
        """Have `choose` draw each token from its `top_k` most likely; None goes back to the most likely alone.

        Returns whether drafts are sampled from now on: not with a Markov head, which chains the most likely tokens on
        the device, and not on a device that cannot sort logits.
        """
        self._top_k, self._choose = 0, _first
        if top_k is None or choose is None or self.drafter.has(MARKOV):
            return False
        self._top_k, self._choose = top_k, choose
        try:
            self._block(1)
        except GraphError:
            self._top_k, self._choose = 0, _first
        return self._top_k > 0

    def offer(self) -> Offer | None:
        """Offer a whole block. Inject first what was computed since; gaps only make the draft worse."""
        name = self.source.value if self._adapter is None else f"{self.source.value}/{self._adapter}"
        return Offer(self.source, Kind(name), self._longest)

    def draft(self, length: int) -> Draft:
        """Return at most `length` tokens, with the confidence head's chances if there is one."""
        count = min(length, self._longest)
        if count < 1:
            return Draft([])
        proposals = self._block(count).run(self._last, self._length)
        confidence = None if proposals.confidence is None else proposals.confidence[:count].tolist()
        if proposals.best is None or proposals.logits is None:
            return Draft(self._as_targets(proposals.tokens[:count]).tolist(), confidence)
        pairs = zip(proposals.best[:count], proposals.logits[:count], strict=True)
        first = self._length + 1
        return Draft([self._chosen(*pair, position) for position, pair in enumerate(pairs, first)], confidence)

    def ranked(self, length: int, top_k: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the most likely tokens, in the drafter's vocabulary, and their logits, of a draft; for checks.

        Both [rows, k], unordered; fewer than `top_k` from a smaller vocabulary. GraphError if the device cannot sort.
        """
        count = min(length, self._longest)
        block = self._block(count, min(top_k, self._weights.head.shape[1]))
        found = block.run(self._last, self._length)
        assert found.best is not None and found.logits is not None, "a block with candidates reads them"
        return found.best[:count], found.logits[:count]

    def close(self) -> None:
        """Free everything it owns; harmless when repeated."""
        self._graphs.close()
        self._memory.close()
        self._weights.close()

    @property
    def _context_adapter(self) -> str | None:
        """The adapter, if keys and values of committed positions come out differently with it."""
        name = self._adapter
        return name if name is not None and self._weights.adapters[name].changes_context else None

    def _block(self, count: int, top_k: int | None = None) -> BlockGraph:
        rows = count if self.drafter.from_anchor else count + 1
        full = self._rings.get(False)
        keys = 0 if full is None else full.keys(self._length)
        sorted_out = self._top_k if top_k is None else top_k
        shape = BlockShape(min(power_of_two(rows), self.block), keys, self._adapter, sorted_out)
        return self._graphs.block(shape)

    def _as_targets(self, tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        return tokens if self._weights.targets is None else self._weights.targets[tokens]

    def _chosen(self, ids: NDArray[np.int32], logits: NDArray[np.float32], position: int) -> int:
        order = np.argsort(-logits, kind="stable")
        return self._choose(self._as_targets(ids[order]), logits[order], position)


def _rings(drafter: DrafterHeader, context: int) -> dict[bool, Ring]:
    """Create the rings of sliding and of full layers, as far as there are such."""
    header = header_slots(drafter.block)
    reaches = {True: min(max(drafter.window - 1, 0), context), False: context}
    return {sliding: Ring(reaches[sliding], header) for sliding in sorted(set(drafter.sliding))}


def _first(ids: NDArray[np.int32], _logits: NDArray[np.float32], _position: int) -> int:
    return int(ids[0])


class DFlashDrafter(Drafter):
    """Keeps a DFlash model up to date with the sequence, and has it draft.

    The target's graph writes the hidden states of each position to a ring of rows. The model injects them when it is
    about to draft or when their rows would be overwritten, so that rounds without a draft cost nothing. Only committed
    positions are ever injected. The features of the positions from `_rows_from` to the sequence's end are in their
    rows; the model has injected, or was spared, those before `_taken`.
    """

    source = DFlash.source

    def __init__(
        self,
        model: DFlash,
        sequence: TokenSequence,
        rows: int,
        last_layer_outputs: int | None,
        own_head: Weights | None = None,
    ) -> None:
        """Start with nothing injected.

        Args:
            model: what drafts; closed with this.
            sequence: the target's committed tokens.
            rows: of the ring with the features.
            last_layer_outputs: if the target's last layer is tapped, how many rows with outputs one decode may have:
                llama.cpp computes that layer for nothing else.
            own_head: a copy of the target's output matrix that is the model's alone; closed with it.
        """
        kind = "DSpark" if model.drafter.has(MARKOV) else "DFlash"
        self.description = f"{kind}, {model.drafter.n_layer} layers, drafts up to {model.drafter.longest} tokens"
        self.model = model
        self._sequence = sequence
        self._own_head = own_head
        self._rows = rows
        self._outputs = last_layer_outputs
        self._paused = False
        self._taken = 0
        self._from = 0
        # Rows are overwritten by later positions, and what was cut off leaves others behind.
        self._rows_from = sequence.position

    @property
    def nbytes(self) -> int:
        """Bytes of the model, its graphs, and its copy of the target's output matrix."""
        copy = 0 if self._own_head is None else self._own_head.nbytes
        return self.model.nbytes + self.model.graphs_nbytes + copy

    def begin(self, request: DraftRequest) -> int:
        """Choose adapter and candidates; keep less where features that matter are gone, to be computed once more."""
        self.model.use_adapter(request.adapter)
        self.model.sample_with(None if request.choose is None else CANDIDATES, request.choose)
        self._paused = False
        keep, wanted = self._sequence.position, self._wanted_from(request.length)
        known = self._go_back(request.snapshot)
        self._from = wanted
        return keep if known == keep else max(known, min(keep, wanted))

    def pause(self, request: DraftRequest) -> None:
        """Inject nothing of what comes."""
        self._go_back(request.snapshot)
        self._paused = True

    def prefill_part(self, position: int, size: int) -> tuple[int, bool]:
        """Require outputs where the last layer is tapped and its features matter."""
        if self._outputs is None:
            return size, False
        left = self._from - self._sequence.position
        return (min(size, left), False) if left > 0 else (min(size, self._outputs), True)

    def make_room(self, rows: int) -> None:
        """Inject what the next `rows` rows would overwrite."""
        if not self._paused and self._sequence.position + rows - self._taken > self._rows:
            self._flush()

    def observe(self, start: int, count: int, rows: int) -> None:
        """Record which features are in their rows."""
        self._rows_from = max(self._rows_from, start + rows - self._rows)
        if self._paused and self._outputs is not None:
            # Without outputs the last layer was not computed.
            self._rows_from = start + count

    def truncate(self, length: int) -> None:
        """Forget the positions from `length` on."""
        self._rows_from = min(self._rows_from, length)
        if self._taken > length:
            self.model.truncate(length)
            self._taken = length

    def snapshot(self, length: int) -> DrafterSnapshot | None:
        """Return keys and values of the positions that it looks back at, injecting what is missing of them first."""
        if not self._paused:
            self._inject_all()
        return self.model.snapshot(self._sequence.position)

    def restored(self, length: int, snapshot: DrafterSnapshot | None) -> None:
        """Hold the snapshot; no features of the restored positions are in any rows."""
        self._rows_from = length
        self._taken = 0
        if snapshot is not None and self.model.restore(snapshot):
            self._taken = snapshot.length

    def offer(self) -> Offer | None:
        """Offer a whole block."""
        self.model.follow(self._sequence.tokens[-1], self._sequence.position)
        return self.model.offer()

    def draft(self, length: int) -> Draft:
        """Return at most `length` tokens, after everything computed was injected."""
        self._flush()
        return self.model.draft(length)

    def close(self) -> None:
        """Free the model, and its copy of the target's output matrix. Idempotent."""
        self.model.close()
        if self._own_head is not None:
            self._own_head.close()

    def _flush(self) -> None:
        """Inject everything that was computed."""
        position = self._sequence.position
        self._inject(max(self._taken, self._from, self._rows_from), position)
        self._taken = position

    def _inject(self, start: int, stop: int) -> None:
        if start < stop:
            self._sequence.context.synchronize()
            self.model.inject(start, stop)

    def _inject_all(self) -> None:
        """Flush, and inject what the rows still hold of the positions that were spared so far.

        The end of the prompt that was prefilled would not have looked back at them.
        """
        self._flush()
        position = self._sequence.position
        if self._outputs is None and not self.model.covered(position):
            self._inject(max(self._rows_from, self._wanted_from(position)), position)

    def _wanted_from(self, length: int) -> int:
        """Return the first position that matters after `length` positions or one less.

        A prompt that comes again unchanged is cut back by its last token.
        """
        return self.model.wanted_from(max(0, length - 1))

    def _go_back(self, snapshot: DrafterSnapshot | None) -> int:
        """Return after how many positions of the sequence the model has all that matters, 0 if it has not."""
        keep = self._sequence.position
        if not self._paused:
            self._inject_all()
        if self.model.covered(keep):
            return keep
        if snapshot is None or not self.model.restore(snapshot):
            return 0
        self._taken = snapshot.length
        self.truncate(keep)
        return self._taken if self.model.covered(self._taken) else 0


_NO_NUMBERS = "its weights are not finite numbers; download it again"

_HEADS = ("output.weight", "token_embd.weight")
"""The target's output matrix; models that have none use their embeddings."""


def plan(options: EngineOptions, target: Header) -> DrafterPlan | None:
    """Read the drafter's file and check that it belongs to the target; ModelFileError if not, None without a file."""
    path = options.drafter
    if path is None:
        return None
    drafter = drafter_header.read(path)
    drafter_header.check_pair(drafter, TargetFacts.of(target))
    return DrafterPlan(
        lambda opened: _open(drafter, path, options, opened), drafter.taps, SPARE_ROWS, LAST_LAYER_OUTPUTS
    )


ENTRY = DrafterEntry(DFlash.source, plan)


def _open(drafter: DrafterHeader, path: Path, options: EngineOptions, target: DraftTarget) -> DFlashDrafter | None:
    assert target.features is not None, "it requested the outputs of layers"
    head, copy = target.head, None
    try:
        if drafter.own_head is None and head is None:
            names = {info.name for info in target.header.tensors}
            name = next(name for name in _HEADS if name in names)
            copy = Weights(target.header, [name], target.backend)
            head = copy[name]
        model = DFlash.open(
            drafter,
            TargetFacts.of(target.header),
            target.features,
            head if drafter.own_head is None else None,
            HostEmbedding(target.header, "token_embd.weight"),
            target.backend,
            options.adapters,
            context=min(options.draft_context, target.sequence.capacity),
            repack=options.repack,
        )
    except BaseException as error:
        if copy is not None:
            copy.close()
        if not isinstance(error, GraphError):
            raise
        target.warn(f"the drafter {path.name} is not used: {error}")
        return None
    made = DFlashDrafter(model, target.sequence, target.features.shape[1], target.outputs, copy)
    if not model.gives_numbers():
        target.warn(f"the drafter {path.name} is not used: {_NO_NUMBERS}")
        made.close()
        return None
    for name, file in options.adapters:
        if not model.gives_numbers(name):
            target.warn(f"the adapter {file.name} is not used: {_NO_NUMBERS}")
            model.leave_out(name)
    return made
