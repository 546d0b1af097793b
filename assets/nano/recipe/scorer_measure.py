"""Judge the scorer in PyTorch: tail attention read in several ways, gain, and the layers of Laguna Nano as a rival.

    python scorer_measure.py WORK --checkpoint WORK/scorer.pt
    python scorer_measure.py WORK --model ../laguna-nano.gguf --llama-cpp vendor/llama.cpp

Runs in the training environment over the cases of `scorer_cases.py`; float32, every text and question by itself.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import torch
from scorer_cases import Case, load, report
from scorer_init import initialise
from scorer_model import HIDDEN, TAIL, hidden
from scorer_rows import QUESTION_TOKENS
from tokenizer import load as load_tokenizer
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

Products = list[tuple[Tensor, Tensor]]
Run = Callable[[list[int]], tuple[Products, Tensor]]
"""Ids of a block -> every layer's queries and keys [heads, T, head], rotated, and log p of each next token [T - 1]."""


def scorer(checkpoint: Path) -> Run:
    """The trained scorer."""
    model = initialise(0)
    model.load_state_dict(torch.load(checkpoint))

    def run(ids: list[int]) -> tuple[Products, Tensor]:
        row = torch.tensor([ids])
        bias = torch.full((len(ids), len(ids)), HIDDEN).triu(1)[None, None]
        states = hidden(model, row, torch.arange(len(ids))[None], bias, half=False)[0]
        logs = functional.log_softmax(states @ model.model.embed_tokens.weight.T, -1)
        seen = [layer.self_attn.seen for layer in model.model.layers]
        return [(q[0], k[0]) for q, k in seen], logs[:-1].gather(1, row[0, 1:, None])[:, 0]

    return run


def nano(path: Path, llama_cpp: Path) -> Run:
    """Laguna Nano itself, without its header. Sliding layers are read as if they saw everything."""
    import architecture
    from drafter_target import load_target
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    seen: Products = []

    def watched(
        module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **options: object
    ) -> tuple[Tensor, None]:
        seen.append((query[0], key[0]))
        return architecture.attention(module, query, key, value, mask, **options)

    ALL_ATTENTION_FUNCTIONS.register("nano", watched)
    model = load_target(path, llama_cpp)

    def run(ids: list[int]) -> tuple[Products, Tensor]:
        seen.clear()
        row = torch.tensor([ids])
        states = model.model(
            row,
            attention_mask=architecture.masks(len(ids), 0),
            position_ids=torch.arange(len(ids))[None],
            use_cache=False,
        ).last_hidden_state[0]
        logs = functional.log_softmax(model.lm_head(states), -1)
        return list(seen), logs[:-1].gather(1, row[0, 1:, None])[:, 0]

    return run


def look(products: Products, first: int, last: int, asked: int) -> tuple[Tensor, Tensor]:
    """The tail's largest product over a text [layers, heads], and its attention's share of the text likewise.

    The text lies at first..last (excluded) of the block, the question is its last `asked` tokens.
    """
    raw, shares = [], []
    for query, shared in products:
        key = shared.repeat_interleave(query.shape[0] // shared.shape[0], 0)
        tail = query[:, -min(TAIL, asked) :]
        scores = (tail @ key.transpose(1, 2)) * query.shape[-1] ** -0.5
        raw.append(scores[:, :, first:last].amax((1, 2)))
        order = torch.arange(scores.shape[2])
        ends = order[-tail.shape[1] :, None]
        weights = scores.masked_fill(order[None] > ends, -torch.inf).softmax(-1)
        shares.append(weights[:, :, first:last].sum(2).amax(1))
    return torch.stack([_padded(r, raw) for r in raw]), torch.stack([_padded(s, shares) for s in shares])


def _padded(values: Tensor, like: list[Tensor]) -> Tensor:
    """Layers may differ in heads: those that are not there never win."""
    most = max(len(one) for one in like)
    return torch.cat([values, values.new_full((most - len(values),), -1e4)])


@torch.inference_mode()
def measure(run: Run, tokenizer: Tokenizer, case: Case) -> dict[str, list[float]]:
    """Every way to read a model, by name: scores of the case's texts."""
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids  # noqa: E731
    newline, asked = encode("\n"), encode(case.query)[-QUESTION_TOKENS:]
    alone = run([*newline, *asked])[1][-len(asked) :].mean()
    raws, shares, gains = [], [], []
    for text in case.texts:
        ids = encode(text)
        products, logs = run([*newline, *ids, *newline, *asked])
        raw, share = look(products, 1, 1 + len(ids), len(asked))
        raws.append(raw)
        shares.append(share)
        gains.append(logs[-len(asked) :].mean() - alone)
    raw, share = torch.stack(raws), torch.stack(shares)  # [texts, layers, heads]
    standard = (raw - raw.mean(0)) / raw.std(0).clamp(min=1e-6)
    ways = {f"layers to {n}": raw[:, : n + 1].amax((1, 2)) for n in range(raw.shape[1])}
    ways |= {f"layer {n}": raw[:, n].amax(1) for n in range(raw.shape[1])}
    ways |= {"standardised, largest": standard.amax((1, 2)), "standardised, mean": standard.mean((1, 2))}
    ways |= {"after softmax, share of the text": share.clamp(min=0).amax((1, 2)), "gain": torch.stack(gains)}
    return {name: values.tolist() for name, values in ways.items()}


def main() -> None:
    """Read the command line, measure, and print a table for every way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--llama-cpp", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only every n-th case")
    options = parser.parse_args()
    torch.set_num_threads(1)
    run = scorer(options.checkpoint) if options.checkpoint else nano(options.model, options.llama_cpp)
    tokenizer, cases = load_tokenizer(options.work), load(options.work)[:: options.every]
    found = [measure(run, tokenizer, case) for case in cases]
    (options.work / ("torch.json" if options.checkpoint else "nano.json")).write_text(json.dumps(found))
    for name in found[0]:
        print(report(name, cases, [one[name] for one in found]), flush=True)


if __name__ == "__main__":
    main()
