"""Checks LoRA adapters of a drafter, in llama.cpp's format (`src/llama-adapter.cpp`), before native code opens them.

An adapted matrix W computes W x + scale B (A x), with scale = alpha / rank and A, B in NAME.lora_a, NAME.lora_b.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from laguna_engine.gguf import header
from laguna_engine.gguf.drafter_header import DrafterHeader
from laguna_engine.gguf.drafter_names import canonical_name
from laguna_engine.gguf.header import Header
from laguna_engine.gguf.reader import Damaged, Unsuitable
from laguna_engine.gguf.tensors import NOT_WEIGHTS, TensorInfo

_HALVES = (".lora_a", ".lora_b")
_LOOKED_UP = ("token_embd.weight", "markov_w1.weight")
_INJECTED = ("fc.weight", "attn_k.weight", "attn_v.weight")
"""Matrices that compute the keys and values of committed positions."""


@dataclass(frozen=True, slots=True)
class LowRank:
    """One adapted matrix.

    Attributes:
        down: name of A in the file.
        up: name of B in the file.
        scale: factor of B A.
    """

    down: str
    up: str
    scale: float


@dataclass(frozen=True, slots=True)
class AdapterHeader:
    """A checked adapter.

    Attributes:
        file: its header.
        matrices: by the canonical name of the matrix they change.
    """

    file: Header
    matrices: Mapping[str, LowRank]

    @property
    def changes_context(self) -> bool:
        """Whether it changes keys and values, so that those computed without it are invalid."""
        return any(name.endswith(_INJECTED) for name in self.matrices)


def read(path: Path, drafter: DrafterHeader) -> AdapterHeader:
    """Read and check an adapter of `drafter`; ModelFileError if it is damaged or was not made for it."""
    return header.read(path, lambda file: _described(file, drafter))


def _described(file: Header, drafter: DrafterHeader) -> AdapterHeader:
    if file.metadata.get("general.type") != "adapter" or file.metadata.get("adapter.type") != "lora":
        raise Unsuitable("is not a LoRA adapter; choose an adapter of the drafter")
    alpha = file.metadata.get("adapter.lora.alpha")
    if not isinstance(alpha, float) or not abs(alpha) < float("inf"):
        raise Damaged(f"its adapter.lora.alpha is {alpha!r}, not a number")
    halves = {info.name: info for info in file.tensors}
    bases = {name.removesuffix(half) for name in halves for half in _HALVES if name.endswith(half)}
    stray = [name for name in halves if not name.endswith(_HALVES)]
    if stray or not bases:
        raise Unsuitable(f"holds {stray[0] if stray else 'nothing'} besides pairs of matrices; choose another adapter")
    matrices = {canonical_name(base): _pair(base, halves, alpha, drafter) for base in sorted(bases)}
    return AdapterHeader(file, matrices)


def _pair(base: str, halves: Mapping[str, TensorInfo], alpha: float, drafter: DrafterHeader) -> LowRank:
    down, up = (halves.get(base + half) for half in _HALVES)
    if down is None or up is None:
        raise Damaged(f"it has only one half for {base}")
    name = canonical_name(base)
    matrix = drafter.tensors.get(name)
    if matrix is None or len(matrix.shape) != 2 or name in _LOOKED_UP:
        raise Unsuitable(f"changes {base}, which {drafter.path.name} does not multiply with; choose its own adapter")
    rank = prod(down.shape[1:])
    shapes = (down.shape[0], up.shape[0], prod(up.shape[1:]))
    if shapes != (matrix.shape[0], rank, matrix.shape[1]):
        raise Unsuitable(
            f"has {base} as {down.shape} and {up.shape}, not for the drafter's {matrix.shape}; choose its own adapter"
        )
    for half in (down, up):
        if half.format in NOT_WEIGHTS:
            raise Damaged(f"{half.name} is stored as {half.format}, which cannot be computed with")
    # As in llama.cpp: an alpha of 0 means that the matrices are already scaled.
    return LowRank(down.name, up.name, alpha / rank if alpha else 1.0)
