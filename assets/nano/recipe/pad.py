"""Widen heads, experts and the Markov head of a GGUF with zeros, to widths that processors and cards compute fast.

    python pad.py TRAINED.gguf OUT.gguf --llama-cpp vendor/llama.cpp

ggml multiplies float16 in steps of 64 on AVX512 and leaves narrower rows to scalar code, and CUDA's flash attention
takes heads of 64 but not of 32. The wider file computes the same function: the added rows and columns are zeros, and
the keys' norm is divided by what the longer mean and the smaller attention scale multiply scores by. For the target
and the drafter; both are trained at the narrow widths, which `narrow` restores.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEP = 64
"""Heads, experts and ranks become multiples of this."""

QUERIES, OUTPUT = ("attn_q.weight", "attn_k.weight", "attn_v.weight"), "attn_output.weight"
LAST = ("ffn_down_exps.weight", "markov_w1.weight", "markov_w2.weight", "conf_proj.weight", "attn_q_norm.weight")
"""Tensors whose innermost dimension grows."""


def widen(name: str, array: NDArray[Any], head: int) -> NDArray[Any]:
    """Return a tensor in the wider shape; arrays have the GGUF's innermost dimension last. head: the trained width."""
    if name.endswith(QUERIES):
        return _grown(array.reshape(-1, head, array.shape[1]), 1).reshape(-1, array.shape[1])
    if name.endswith(OUTPUT):
        return _grown(array.reshape(array.shape[0], -1, head), 2).reshape(array.shape[0], -1)
    if name.endswith("attn_k_norm.weight"):
        return _grown(array / growth(head), 0)
    if name.endswith(("ffn_gate_exps.weight", "ffn_up_exps.weight")):
        return _grown(array, 1)
    return _grown(array, array.ndim - 1) if name.endswith(LAST) else array


def narrow(name: str, array: NDArray[Any], head: int, experts: int) -> NDArray[Any]:
    """Return a tensor of a widened target as it was trained, with heads and experts of these widths."""
    if name.endswith(QUERIES):
        return array.reshape(-1, STEP, array.shape[1])[:, :head].reshape(-1, array.shape[1])
    if name.endswith(OUTPUT):
        return array.reshape(array.shape[0], -1, STEP)[..., :head].reshape(array.shape[0], -1)
    if name.endswith("attn_k_norm.weight"):
        return array[:head] * growth(head)
    if name.endswith("attn_q_norm.weight"):
        return array[:head]
    if name.endswith(("ffn_gate_exps.weight", "ffn_up_exps.weight")):
        return array[:, :experts]
    return array[..., :experts] if name.endswith("ffn_down_exps.weight") else array


def growth(head: int) -> np.float32:
    """Return what the mean over a wider head and the attention scale together multiply scores by."""
    return np.sqrt(np.float32((head + -head % STEP) / head))


def _grown(array: NDArray[Any], axis: int) -> NDArray[Any]:
    """Pad one axis with zeros up to a multiple of STEP."""
    by = [(0, 0)] * array.ndim
    by[axis] = (0, -array.shape[axis] % STEP)
    return np.pad(array, by)


def main() -> None:
    """Read the command line and write the wider file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trained", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--llama-cpp", type=Path, required=True)
    options = parser.parse_args()
    sys.path.insert(0, str(options.llama_cpp / "gguf-py"))
    import gguf

    source = gguf.GGUFReader(options.trained)
    kind = source.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(options.out, kind)
    head = source.fields[f"{kind}.attention.key_length"].contents()
    widths = (f"{kind}.attention.key_length", f"{kind}.attention.value_length", f"{kind}.expert_feed_forward_length")
    for key, field in source.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        value = field.contents()
        if key in widths:
            value += -value % STEP
        writer.add_key_value(key, value, field.types[0], field.types[-1] if len(field.types) > 1 else None)
    for tensor in source.tensors:
        writer.add_tensor(tensor.name, np.ascontiguousarray(widen(tensor.name, np.array(tensor.data), head)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
