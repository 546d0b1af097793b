"""Bits per byte on code: how many bits a byte of source costs the model, stretch by stretch.

Runs in the app's environment, on llama-cpp-python itself, because the engine gives tokens and no logits. Deals in text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np

LONGEST = 1024  # tokens of a stretch, the first of which is only read
EOS = 2


def bits_per_byte(path: Path, texts: Iterable[str]) -> float:
    """Total bits over total bytes of the texts, each cut to LONGEST tokens after an EOS that is not counted."""
    from llama_cpp import Llama

    model = Llama(
        str(path), n_ctx=LONGEST, n_batch=LONGEST, n_threads=1, n_threads_batch=1, logits_all=True, verbose=False
    )
    bits, size = 0.0, 0
    for text in texts:
        ids = [EOS, *model.tokenize(text.encode(), add_bos=False)][:LONGEST]
        model.reset()
        model.eval(ids)
        logits = np.asarray(model.scores[: len(ids) - 1], dtype=np.float64)
        top = logits.max(1)
        sums = top + np.log(np.exp(logits - top[:, None]).sum(1))
        bits += float((sums - logits[np.arange(len(ids) - 1), ids[1:]]).sum()) / math.log(2)
        size += len(model.detokenize(ids[1:]))
    return bits / size
