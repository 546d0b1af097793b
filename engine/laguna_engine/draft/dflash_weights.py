"""A drafter's weights and adapters on its device, and the products and norms that its graphs are built from.

Source of the forward pass: `src/models/dflash.cpp` of llama.cpp and poolside's serving code. A reduced vocabulary has a
table of the target's token for each of the drafter's. Speculators stores offsets (target = draft + table[draft]),
llama.cpp's converter writes the targets themselves. Both lists name every target once, so a table that names one twice
is of the other kind.
"""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from laguna_engine.draft.dflash_kv import KvMemory
from laguna_engine.errors import ModelFileError
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import DeviceTensors, Tensor, Type
from laguna_engine.ggml.weights import Weights
from laguna_engine.gguf.adapter import AdapterHeader
from laguna_engine.gguf.drafter_header import DrafterHeader

MARKOV = "markov_w1.weight"
"""The one table whose rows are looked up on the device, which a repacked matrix does not allow."""

TAP_NORMS, TOKEN_MAP = "tap_norms", "token_map"
"""Tensors made here: [n_embd, taps] and I32 [1, drafted tokens]."""

_TAP_NORM, _HOST_ONLY = "enc.aux_norm.", ("d2t",)

_Part = TypeVar("_Part", Weights, DeviceTensors)


class DrafterWeights:
    """Tensors by canonical name. targets: the target's token for each of the drafter's, None if they are the same."""

    def __init__(
        self,
        drafter: DrafterHeader,
        vocabulary: int,
        head: Tensor | None,
        adapters: Mapping[str, AdapterHeader],
        backend: ComputeBackend,
        *,
        repack: bool,
    ) -> None:
        """Load them. vocabulary: the target's tokens. head: its output matrix, used if the drafter has none."""
        self.adapters = adapters
        self.targets = read_token_map(drafter, vocabulary)
        self._parts: list[Weights | DeviceTensors] = []
        self._tensors: dict[str, Tensor] = {}
        self._halves: dict[str, Weights] = {}
        try:
            self._load(drafter, backend, repack=repack)
            for name, adapter in adapters.items():
                names = [half for pair in adapter.matrices.values() for half in (pair.down, pair.up)]
                self._halves[name] = self._keep(Weights(adapter.file, names, backend, repack=False))
            self.head = self._head(drafter, vocabulary, head)
        except BaseException:
            self.close()
            raise

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name]

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def halves(self, adapter: str, matrix: str) -> tuple[Tensor, Tensor, float] | None:
        """Return what `adapter` adds to `matrix`: [in, rank], [rank, out] and a factor; None if nothing."""
        pair = self.adapters[adapter].matrices.get(matrix)
        held = self._halves[adapter]
        return None if pair is None else (held[pair.down], held[pair.up], pair.scale)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum(part.nbytes for part in self._parts)

    def close(self) -> None:
        """Free them; harmless when repeated."""
        for part in self._parts:
            part.close()

    def _keep(self, part: _Part) -> _Part:
        self._parts.append(part)
        return part

    def _load(self, drafter: DrafterHeader, backend: ComputeBackend, *, repack: bool) -> None:
        embedding = () if drafter.own_head == "token_embd.weight" else ("token_embd.weight",)
        apart = (*_HOST_ONLY, *embedding, MARKOV)
        names = [name for name in drafter.tensors if name not in apart and not name.startswith(_TAP_NORM)]
        matrices = self._keep(Weights(drafter.file, names, backend, repack=repack))
        self._tensors |= {name: matrices[name] for name in names}
        if drafter.has(MARKOV):
            self._tensors[MARKOV] = self._keep(Weights(drafter.file, [MARKOV], backend, repack=False))[MARKOV]
        self._load_made(drafter, backend)

    def _load_made(self, drafter: DrafterHeader, backend: ComputeBackend) -> None:
        arrays: dict[str, tuple[Type, NDArray[np.float32] | NDArray[np.int32]]] = {}
        norms = [info for name, info in drafter.tensors.items() if name.startswith(_TAP_NORM)]
        if norms:
            by_tap = sorted(norms, key=lambda info: int(info.name.split(".")[2]))
            rows = [np.fromfile(drafter.path, np.float32, drafter.n_embd, offset=info.offset) for info in by_tap]
            arrays[TAP_NORMS] = (Type.F32, np.stack(rows))
        if self.targets is not None:
            arrays[TOKEN_MAP] = (Type.I32, self.targets[:, None])
        if arrays:
            shapes = {name: (kind, array.shape[::-1]) for name, (kind, array) in arrays.items()}
            store = self._keep(DeviceTensors(backend, shapes))
            for name, (_, array) in arrays.items():
                store[name].write(array)
                self._tensors[name] = store[name]

    def _head(self, drafter: DrafterHeader, vocabulary: int, shared: Tensor | None) -> Tensor:
        if drafter.own_head is not None:
            return self._tensors[drafter.own_head]
        if shared is None or shared.shape[:2] != (drafter.n_embd, vocabulary):
            found = "none is available" if shared is None else f"that is {list(shared.shape[:2])}"
            raise ModelFileError(
                f"{drafter.path}: it needs its model's output matrix, and {found}; choose a drafter with its own"
            )
        return shared


def read_token_map(drafter: DrafterHeader, vocabulary: int) -> NDArray[np.int32] | None:
    """Read the target's token for each of the drafter's.

    None if they are the same. ModelFileError for an invalid table.
    """
    info = drafter.tensors.get("d2t")
    if info is None:
        return None
    kind = {"i32": np.int32, "i64": np.int64}[info.format]
    with drafter.path.open("rb") as file:
        file.seek(info.offset)
        data = file.read(info.size)
    if len(data) != info.size:
        raise ModelFileError(f"{drafter.path}: it became shorter while it was read; download it again")
    table = np.frombuffer(data, kind).astype(np.int64)
    for targets in (table, table + np.arange(len(table))):
        inside = int(targets.min()) >= 0 and int(targets.max()) < vocabulary
        if inside and len(np.unique(targets)) == len(targets):
            return targets.astype(np.int32)
    raise ModelFileError(
        f"{drafter.path}: its table d2t names tokens twice or outside the model's {vocabulary}; "
        "choose the drafter that was made for this model, or download it again"
    )


class LayerBuilder:
    """One graph in the making, with `adapter` in place; n: its rows."""

    def __init__(
        self, graph: Graph, drafter: DrafterHeader, weights: DrafterWeights, adapter: str | None, n: int
    ) -> None:
        self.graph = graph
        self.drafter = drafter
        self.weights = weights
        self.n = n
        self._adapter = adapter

    def product(self, name: str, x: Tensor) -> Tensor:
        """Multiply the matrix `name` by x, with what the adapter adds."""
        graph = self.graph
        whole = graph.mul_mat(self.weights[name], x)
        added = self.weights.halves(self._adapter, name) if self._adapter is not None else None
        if added is None:
            return whole
        down, up, scale = added
        return graph.add(whole, graph.mul_mat(up, graph.scale(graph.mul_mat(down, x), scale)))

    def norm(self, x: Tensor, name: str) -> Tensor:
        """Divide x by its root mean square, and multiply by the weights `name`."""
        return self.graph.mul(self.graph.rms_norm(x, self.drafter.epsilon), self.weights[name])

    def heads(self, name: str, norm: str, x: Tensor, positions: Tensor, count: int) -> Tensor:
        """Project queries or keys of x, each head normed and rotated -> [head, count, n]."""
        drafter = self.drafter
        split = self.graph.reshape(self.product(name, x), drafter.head_size, count, self.n)
        return self.graph.rope(self.norm(split, norm), positions, drafter.rope_dims, drafter.rope_base)

    def store(self, layer: int, x: Tensor, positions: Tensor, slots: Tensor, memory: KvMemory) -> tuple[Tensor, Tensor]:
        """Write keys and values of x to a layer's memory at `slots` -> the memory afterwards."""
        graph, prefix, count = self.graph, f"blk.{layer}.", self.drafter.kv_heads[layer]
        keys = self.heads(prefix + "attn_k.weight", prefix + "attn_k_norm.weight", x, positions, count)
        keys = graph.reshape(keys, count * self.drafter.head_size, self.n)
        values = self.product(prefix + "attn_v.weight", x)
        stored_keys = graph.keep(graph.set_rows(memory.keys(layer), keys, slots))
        stored_values = graph.keep(graph.set_rows(memory.values(layer), values, slots))
        return stored_keys, stored_values
