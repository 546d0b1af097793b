"""A drafter's weights on its device, and those of its adapters."""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import ModelFileError
from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.store import Store
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.ggml.types import Type
from laguna_engine.ggml.weights import Weights
from laguna_engine.gguf import token_map
from laguna_engine.gguf.adapter import AdapterHeader
from laguna_engine.gguf.drafter import DrafterHeader

MARKOV = "markov_w1.weight"
"""The one table whose rows are looked up on the device, which a repacked matrix does not allow."""

TAP_NORMS, TOKEN_MAP = "tap_norms", "token_map"
"""Tensors made here: [n_embd, taps] and I32 [1, drafted tokens]."""

_TAP_NORM, _HOST_ONLY = "enc.aux_norm.", ("d2t",)

_Part = TypeVar("_Part", Weights, Store)


class DrafterWeights:
    """Tensors by canonical name. targets: the target's token for each of the drafter's, None if they are the same."""

    def __init__(
        self,
        drafter: DrafterHeader,
        vocabulary: int,
        head: Tensor | None,
        adapters: Mapping[str, AdapterHeader],
        backend: Backend,
        *,
        repack: bool,
    ) -> None:
        """Load them. vocabulary: the target's tokens. head: its output matrix, used if the drafter has none."""
        self.adapters = adapters
        self.targets = token_map.read(drafter, vocabulary)
        self._parts: list[Weights | Store] = []
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
        """What `adapter` adds to `matrix`: [in, rank], [rank, out] and a factor; None if it leaves it alone."""
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

    def _load(self, drafter: DrafterHeader, backend: Backend, *, repack: bool) -> None:
        embedding = () if drafter.own_head == "token_embd.weight" else ("token_embd.weight",)
        apart = (*_HOST_ONLY, *embedding, MARKOV)
        names = [name for name in drafter.tensors if name not in apart and not name.startswith(_TAP_NORM)]
        matrices = self._keep(Weights(drafter.file, names, backend, repack=repack))
        self._tensors |= {name: matrices[name] for name in names}
        if drafter.has(MARKOV):
            self._tensors[MARKOV] = self._keep(Weights(drafter.file, [MARKOV], backend, repack=False))[MARKOV]
        self._load_made(drafter, backend)

    def _load_made(self, drafter: DrafterHeader, backend: Backend) -> None:
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
            store = self._keep(Store(backend, shapes))
            for name, (_, array) in arrays.items():
                store.write(name, array)
                self._tensors[name] = store[name]

    def _head(self, drafter: DrafterHeader, vocabulary: int, shared: Tensor | None) -> Tensor:
        if drafter.own_head is not None:
            return self._tensors[drafter.own_head]
        if shared is None or shared.shape[:2] != (drafter.n_embd, vocabulary):
            found = "none is at hand" if shared is None else f"that is {list(shared.shape[:2])}"
            raise ModelFileError(
                f"{drafter.path}: it needs its model's output matrix, and {found}; choose a drafter with its own"
            )
        return shared
