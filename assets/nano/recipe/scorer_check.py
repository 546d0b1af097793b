"""Whether llama.cpp computes what PyTorch does: logits and tokens over held-out code, of the f32 and the f16 file.

    python scorer_check.py WORK --checkpoint WORK/scorer.pt        # in the training environment: writes check.npz
    python scorer_check.py WORK --model scorer-f32.gguf            # in the app's: compares

The checkpoint is float32, and so are keys and values: rounding the weights to f16 is all that the second number adds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

TEXTS, LONGEST = 12, 4096


def write(work: Path, checkpoint: Path) -> None:
    """Texts with questions, and one as long as the context, as tokens and logits."""
    import torch
    from scorer_cases import load
    from scorer_init import initialise
    from scorer_model import HIDDEN, hidden
    from tokenizer import load as load_tokenizer

    torch.set_num_threads(1)
    model, tokenizer, cases = initialise(0), load_tokenizer(work), load(work)
    model.load_state_dict(torch.load(checkpoint))
    texts = [case.texts[case.gold] + "\n" + case.query for case in cases[:: len(cases) // TEXTS]]
    texts.append("\n".join(text for case in cases[:8] for text in case.texts))
    kept: dict[str, np.ndarray] = {"texts": np.array(texts)}
    for number, text in enumerate(texts):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        row = torch.tensor([ids[:LONGEST]])
        bias = torch.full((row.shape[1], row.shape[1]), HIDDEN).triu(1)[None, None]
        with torch.inference_mode():
            states = hidden(model, row, torch.arange(row.shape[1])[None], bias, half=False)[0]
            logits = states[-256:] @ model.model.embed_tokens.weight.T
        kept |= {f"ids{number}": np.array(ids), f"logits{number}": logits.numpy()}
    np.savez(work / "check.npz", **kept)


def compare(work: Path, path: Path) -> None:
    """Squared error over squared size of the logits of every text, and whether tokens and likeliest tokens agree."""
    from llama_cpp import GGML_TYPE_F32, Llama

    kept = np.load(work / "check.npz")
    model = Llama(
        str(path), n_ctx=LONGEST, n_batch=LONGEST, n_ubatch=512, n_threads=1, n_threads_batch=1, logits_all=True,
        type_k=GGML_TYPE_F32, type_v=GGML_TYPE_F32, verbose=False,
    )  # fmt: skip
    for number, text in enumerate(kept["texts"]):
        ids, wanted = kept[f"ids{number}"].tolist(), kept[f"logits{number}"]
        same = model.tokenize(str(text).encode(), add_bos=False) == ids
        model.reset()
        model.eval(ids[:LONGEST])
        got = model.scores[model.n_tokens - len(wanted) : model.n_tokens]
        error = float(np.square(got - wanted).sum() / np.square(wanted).sum())
        agree = float((got.argmax(1) == wanted.argmax(1)).mean())
        print(f"{model.n_tokens:5} tokens, the same: {same}; NMSE {error:.1e}; likeliest token agrees {agree:.1%}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    if options.checkpoint:
        write(options.work, options.checkpoint)
    else:
        compare(options.work, options.model)


if __name__ == "__main__":
    main()
