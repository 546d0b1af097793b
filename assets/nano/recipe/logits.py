"""Whether llama.cpp computes what PyTorch does: logits of whole transcripts from the same float32 weights.

    python logits.py WORK --checkpoint WORK/nano.pt          # in the training environment: writes logits.npz
    python logits.py WORK --model WORK/nano-f32.gguf         # in the app's: compares, and fails above LIMIT

Keys and values are float32 on both sides, so nothing but the order of additions differs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

CHATS, LONGEST = 6, 2560
SEED = 4711
LIMIT = 1e-7


def write(work: Path, checkpoint: Path) -> None:
    """Chats of the generator after the app's header: tokens, and logits after the header."""
    import torch
    from architecture import build, masks
    from data import Generator, encode, header_ids
    from results import load as load_entries
    from sources import trained
    from tokenizer import load
    from train import corpus_words

    torch.set_num_threads(1)
    tokenizer, entries = load(work), load_entries(work / "results", trained(work))
    generator = Generator(SEED, entries, corpus_words([entry["result"] for entry in entries]))
    header = header_ids(tokenizer, (work / "header.txt").read_text())
    model = build(seed=0)
    model.load_state_dict(torch.load(checkpoint))
    kept: dict[str, np.ndarray] = {"header": np.array(len(header))}
    for number in range(CHATS):
        chat = generator.chat(1 + number % 3)
        ids = [*header, *encode(tokenizer, chat)[0]][:LONGEST]
        places = torch.arange(len(ids))[None]
        with torch.inference_mode():
            states = model.model(
                torch.tensor([ids]), attention_mask=masks(len(ids), 0), position_ids=places, use_cache=False
            ).last_hidden_state[0]
            logits = model.lm_head(states[len(header) :])
        kept |= {f"text{number}": np.array(chat.text), f"ids{number}": np.array(ids), f"logits{number}": logits.numpy()}
    np.savez(work / "logits.npz", **kept)


def compare(work: Path, path: Path) -> float:
    """Print a line for each chat; returns the largest error. Tokens must be the same."""
    from llama_cpp import GGML_TYPE_F32, Llama

    kept = np.load(work / "logits.npz")
    model = Llama(
        str(path), n_ctx=LONGEST, n_batch=LONGEST, n_ubatch=512, n_threads=1, n_threads_batch=1, logits_all=True,
        type_k=GGML_TYPE_F32, type_v=GGML_TYPE_F32, swa_full=True, verbose=False,
    )  # fmt: skip
    header, errors = int(kept["header"]), []
    for number in range(CHATS):
        ids, wanted = kept[f"ids{number}"].tolist(), kept[f"logits{number}"]
        own = model.tokenize(str(kept[f"text{number}"]).encode(), add_bos=False, special=True)
        if own[: len(ids) - header] != ids[header:]:
            raise SystemExit(f"chat {number}: llama.cpp splits its text into other tokens; look at tokenizer.py")
        model.reset()
        model.eval(ids)
        got = model.scores[header : len(ids)]
        errors.append(float(np.square(got - wanted).sum() / np.square(wanted).sum()))
        agree = float((got.argmax(1) == wanted.argmax(1)).mean())
        print(f"{len(ids):5} tokens, the same in both; NMSE {errors[-1]:.1e}; likeliest token agrees {agree:.1%}")
    return max(errors)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    if options.checkpoint:
        write(options.work, options.checkpoint)
        return
    largest = compare(options.work, options.model)
    print(f"PyTorch against llama.cpp, float32: NMSE at most {largest:.1e} (limit {LIMIT:.0e})")
    if not largest < LIMIT:
        raise SystemExit("the two disagree: convert.py, architecture.py and llama.cpp must describe one model")


if __name__ == "__main__":
    main()
