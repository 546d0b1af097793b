"""The finished target as a torch model again, read from its GGUF, and the hidden states that a drafter sees of it.

    python drafter_target.py WORK ../laguna-nano.gguf --llama-cpp vendor/llama.cpp

Runs in the training environment, after `drafter_answers.py`. Writes for `train` and `held` the output of every layer at
every position, once: `drafter/NAME.features` (float16 [tokens, LAYERS, WIDTH], header first) beside `NAME.index.json`.
Only the GGUF is needed of the target; llama.cpp's converter and `pad.py` are undone here.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from architecture import EXPERT, HEAD, LAYER_TYPES, SharedPrefix, build, masks
from pad import narrow
from torch import Tensor
from transformers import LagunaForCausalLM

LAYERS, WIDTH = len(LAYER_TYPES), 256
PLAIN = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.g_proj": "attn_gate", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
}  # fmt: skip
DENSE = {f"mlp.{part}_proj": f"ffn_{part}" for part in ("gate", "up", "down")}
SPARSE = {"mlp.gate": "ffn_gate_inp"} | {
    f"mlp.shared_experts.{part}_proj": f"ffn_{part}_shexp" for part in ("gate", "up", "down")
}


def read_tensors(path: Path, llama_cpp: Path) -> dict[str, Tensor]:
    """Return every tensor of the shipped GGUF as float32 and as it was trained, by its name in the file."""
    sys.path.insert(0, str(llama_cpp / "gguf-py"))
    import gguf

    tensors: list[Any] = gguf.GGUFReader(path).tensors
    arrays = {t.name: np.array(t.data, dtype=np.float32) for t in tensors}
    return {name: torch.from_numpy(narrow(name, array, HEAD, EXPERT)) for name, array in arrays.items()}


def load_target(path: Path, llama_cpp: Path) -> LagunaForCausalLM:
    """The GGUF as transformers' model, float32, without gradients."""
    file = read_tensors(path, llama_cpp)
    state = {"model.embed_tokens.weight": file["token_embd.weight"], "lm_head.weight": file["token_embd.weight"]}
    state["model.norm.weight"] = file["output_norm.weight"]
    for index in range(LAYERS):
        here, there = f"model.layers.{index}.", f"blk.{index}."
        names = PLAIN | (DENSE if index == 0 else SPARSE)
        state |= {f"{here}{ours}.weight": file[f"{there}{theirs}.weight"] for ours, theirs in names.items()}
        if index:
            state[f"{here}mlp.gate.e_score_correction_bias"] = file[f"{there}exp_probs_b.bias"]
            both = [file[f"{there}ffn_{part}_exps.weight"] for part in ("gate", "up")]
            state[f"{here}mlp.experts.gate_up_proj"] = torch.cat(both, 1)
            state[f"{here}mlp.experts.down_proj"] = file[f"{there}ffn_down_exps.weight"]
    model = build(seed=0)
    model.load_state_dict(state)
    return model.requires_grad_(False).eval()


class Target:
    """The target over whole sequences, with the header run once."""

    def __init__(self, model: LagunaForCausalLM, header: list[int]) -> None:
        self.model, self.prefix, self.length = model, SharedPrefix(), len(header)
        self.outputs: list[Tensor] = []
        for layer in model.model.layers:
            layer.register_forward_hook(lambda _module, _inputs, output: self.outputs.append(output))
        self.header = self.run(torch.tensor(header), 0, self.prefix)[0]

    @torch.inference_mode()
    def run(self, ids: Tensor, before: int, prefix: SharedPrefix | None) -> tuple[Tensor, Tensor]:
        """Layer outputs [T, LAYERS, WIDTH] and logits [T, vocabulary] of ids after `before` cached positions."""
        self.outputs.clear()
        place = torch.arange(before, before + len(ids))[None]
        last = self.model.model(
            ids[None],
            attention_mask=masks(len(ids), before),
            position_ids=place,
            past_key_values=prefix,
            use_cache=False,
        ).last_hidden_state
        return torch.stack([output[0] for output in self.outputs], 1), self.model.lm_head(last[0])

    def read(self, ids: list[int], *, bare: bool) -> tuple[Tensor, Tensor]:
        """Layer outputs and logits of a sequence after the header, or of a bare one."""
        return self.run(torch.tensor(ids), 0 if bare else self.length, None if bare else self.prefix)


def dump(target: Target, folder: Path, name: str, minutes: float) -> None:
    """Write the features and the index of one set, as much as the time allows."""
    start, offset, kept = time.monotonic(), target.length, []
    with (folder / f"{name}.features").open("wb") as out, (folder / f"{name}.jsonl").open() as lines:
        out.write(target.header.half().numpy().tobytes())
        for line in lines:
            sequence = json.loads(line)
            features, logits = target.read(sequence["ids"], bare=sequence["bare"])
            out.write(features.half().numpy().tobytes())
            best = logits.argmax(-1).tolist()
            wrong = sum(best[i - 1] != sequence["ids"][i] for a, b in sequence["spans"] for i in range(a, b))
            kept.append({**sequence, "offset": offset, "differs": wrong})
            offset += len(sequence["ids"])
            if time.monotonic() - start > 60 * minutes:
                break
    (folder / f"{name}.index.json").write_text(json.dumps(kept))
    greedy = [k for k in kept if not k["temperature"]]
    wrote = sum(b - a for k in greedy for a, b in k["spans"])
    wrong = sum(k["differs"] for k in greedy)
    print(
        f"{name}: {len(kept)} sequences, {offset} tokens; greedy: {wrong} of {wrote} tokens are not torch's", flush=True
    )


def main() -> None:
    """Read the command line and dump both sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--llama-cpp", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--sets", nargs="+", default=["held", "train"])
    options = parser.parse_args()
    torch.set_num_threads(1)
    folder = options.work / "drafter"
    header = json.loads((folder / "header.json").read_text())["header"]
    target = Target(load_target(options.model, options.llama_cpp), header)
    for name in options.sets:
        dump(target, folder, name, options.minutes)


if __name__ == "__main__":
    main()
