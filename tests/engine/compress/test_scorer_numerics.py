"""Scores equal those of a plain float64 forward pass, one text and one query at a time, and those of llama.cpp."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.compress.scorer import MAX_QUERY_TOKENS, Scorer
from laguna_engine.compress.scorer_windows import TAIL
from laguna_engine.ggml.tensor import Type
from laguna_engine.llama.context import Context, ContextOptions, Outputs
from laguna_engine.llama.model import Model
from tests.engine import drafters, scorers
from tests.engine.drafting import nmse, quantized, unpacked_matrices
from tests.engine.scorers import Array, Variant

ASKED = "where is the function that computes the factorial of a number?"
TEXTS = (
    "def add(a, b):\n    return a + b\n",
    "the quick brown fox jumps over the lazy dog",
    "class Stack(object):\n    def __init__(self, value):\n        self.value = value\n",
    "for i in range(10):\n    print(i)\n" * 4,
    "x",
)

HALF = 1e-6
"""Largest squared error over squared size. Activations, keys and values have 11 bits: an error of 2e-4 each, squared
4e-8, and some tens of them in a row."""

EIGHT_BIT = 1e-3
"""For quantized weights ggml rounds the activations to 8 bits: an error of 4e-3 each, squared 2e-5."""

VARIANTS = {
    "grouped heads": Variant(),
    "a key for every head": Variant(kv_heads=4),
    "one key for all heads": Variant(kv_heads=1),
    "one head": Variant(heads=1, kv_heads=1, head=64),
    "heads wider than the model": Variant(head=64),
    "embeddings for a head": Variant(tied=True),
    "one layer": Variant(n_layer=1),
    "another base": Variant(rope_base=1e4),
    "single precision": Variant(kind=np.float32),
}


def expected(
    variant: Variant, weights: dict[str, Array], pieces: Sequence[Sequence[int]], query: Sequence[int], newline: int
) -> tuple[Array, Array, float]:
    """Attention and gain of each piece of text alone, and the query's log-probability without a text."""
    count, tail = len(query), min(TAIL, len(query))
    alone = [newline, *query]
    without = scorers.reference(variant, weights, alone).log_probabilities(alone, count).mean()
    attention, gain = [], []
    for piece in pieces:
        tokens = [newline, *piece, newline, *query]
        run = scorers.reference(variant, weights, tokens)
        attention.append(run.scores[:, :, -tail:, 1 : 1 + len(piece)].max())
        gain.append(run.log_probabilities(tokens, count).mean() - without)
    return np.array(attention), np.array(gain), float(without)


def tokens_of(path: Path, *texts: str) -> list[list[int]]:
    """Tokens of the texts in the file's vocabulary."""
    model = Model.open(path, vocab_only=True)
    found = [model.vocab.tokenize(text, special=False) for text in texts]
    model.close()
    return found


def compare(path: Path, variant: Variant, weights: dict[str, Array], bound: float, asked: str = ASKED) -> None:
    newline, query, *pieces = tokens_of(path, "\n", asked, *TEXTS)
    attention, gain, without = expected(variant, weights, pieces, query[-MAX_QUERY_TOKENS:], newline[-1])
    with Scorer.open(path, threads=1) as scorer:
        found = scorer.score(TEXTS, asked)
    assert nmse(np.array([score.attention for score in found]), attention) < bound
    # A gain is the small difference of two large numbers: what counts is the error of those.
    assert nmse(np.array([score.gain for score in found]) + without, gain + without) < bound / 10


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
def test_every_shape_agrees_with_the_plain_forward_pass(variant: Variant, tmp_path: Path) -> None:
    file = scorers.make(variant)
    compare(file.write(tmp_path / "scorer.gguf"), variant, drafters.weights_of(file), HALF)


@pytest.mark.parametrize("asked", ["x", "is it?", "a b c d e f g h"])
def test_a_query_may_be_shorter_than_its_tail(asked: str, tmp_path: Path) -> None:
    file = scorers.make(Variant())
    compare(file.write(tmp_path / "scorer.gguf"), Variant(), drafters.weights_of(file), HALF, asked)


def test_of_a_long_query_the_last_tokens_count(tmp_path: Path) -> None:
    file = scorers.make(Variant())
    asked = "the first thing is this, and " * 30 + ASKED
    compare(file.write(tmp_path / "scorer.gguf"), Variant(), drafters.weights_of(file), HALF, asked)


@pytest.mark.parametrize("tied", [False, True], ids=["own head", "tied"])
@pytest.mark.parametrize("kind", [Type.BF16, Type.Q8_0, Type.Q4_0, Type.Q4_K])
def test_quantized_weights_compute_what_they_stand_for(kind: Type, tied: bool, tmp_path: Path) -> None:
    variant = Variant(n_embd=256, n_ff=512, heads=8, kv_heads=4, tied=tied, kind=np.float32)
    path = quantized(scorers.make(variant), kind).write(tmp_path / "scorer.gguf")
    compare(path, variant, unpacked_matrices(path), EIGHT_BIT)


def decoded(path: Path, tokens: list[int], count: int) -> Array:
    """llama.cpp's own log-probabilities of the last `count` tokens."""
    model = Model.open(path)
    context = Context(model, ContextOptions(n_ctx=1024, threads=1, threads_batch=1))
    context.decode(tokens, 0, Outputs.ALL)
    rows = range(len(tokens) - count - 1, len(tokens) - 1)
    logits = np.stack([context.logits(row) for row in rows]).astype(float)
    context.close()
    model.close()
    return scorers.Run(np.concatenate([logits, logits[:1]]), logits).log_probabilities(tokens, count)


@pytest.mark.parametrize("kind", [None, Type.Q8_0], ids=["f16", "q8_0"])
def test_gain_is_the_difference_of_llama_cpps_own_log_probabilities(kind: Type | None, tmp_path: Path) -> None:
    plain = scorers.make(replace(Variant(), kind=np.float16 if kind is None else np.float32))
    path = (plain if kind is None else quantized(plain, kind)).write(tmp_path / "scorer.gguf")
    newline, query, *pieces = tokens_of(path, "\n", ASKED, *TEXTS)
    without = decoded(path, [*newline, *query], len(query)).mean()
    theirs = [decoded(path, [*newline, *piece, *newline, *query], len(query)).mean() - without for piece in pieces]
    with Scorer.open(path, threads=1) as scorer:
        ours = [score.gain for score in scorer.score(TEXTS, ASKED)]
    bound = HALF if kind is None else EIGHT_BIT
    assert nmse(np.array(ours) + without, np.array(theirs) + without) < bound / 10


def test_a_text_longer_than_a_window_counts_by_its_best_part(tmp_path: Path) -> None:
    file, window = scorers.make(Variant()), 150
    path = file.write(tmp_path / "scorer.gguf")
    text = "".join(f"value_{i} = {i * 7919 % 1000}\n" for i in range(30))
    newline, query, tokens = tokens_of(path, "\n", ASKED, text)
    query = query[-window // 4 :]
    most = window - len(query) - 2
    parts = -(-len(tokens) // most)
    size = -(-len(tokens) // parts)
    pieces = [tokens[first : first + size] for first in range(0, len(tokens), size)]
    assert parts > 2 and len(pieces) == parts
    attention, gain, _ = expected(Variant(), drafters.weights_of(file), pieces, query, newline[-1])
    with Scorer.open(path, threads=1, window=window) as scorer:
        [found] = scorer.score([text], ASKED)
    assert found.attention == pytest.approx(attention.max(), rel=1e-3)
    assert found.gain == pytest.approx(gain.max(), rel=1e-2)


def test_fewer_layers_give_the_attention_of_those_layers_and_no_gain(tmp_path: Path) -> None:
    file = scorers.make(Variant())
    path = file.write(tmp_path / "scorer.gguf")
    newline, query, *pieces = tokens_of(path, "\n", ASKED, *TEXTS)
    first_two = replace(Variant(), n_layer=2)
    attention, _, _ = expected(first_two, drafters.weights_of(file), pieces, query, newline[-1])
    with Scorer.open(path, threads=1, layers=2) as scorer:
        found = scorer.score(TEXTS, ASKED)
    assert nmse(np.array([score.attention for score in found]), attention) < HALF
    assert {score.gain for score in found} == {0.0}
