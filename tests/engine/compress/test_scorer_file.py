"""A file that is not a scorer is refused with a sentence, before any computation."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from laguna_engine.compress.scorer import Scorer
from laguna_engine.errors import EngineError, ModelFileError
from tests.engine import drafters, scorers, tiny
from tests.engine.scorers import Variant
from tests.engine.tiny import GgufFile


def reshaped(file: GgufFile, name: str, *shape: int) -> GgufFile:
    file.tensors[name] = np.zeros(shape, file.tensors[name].dtype)
    return file


def added(file: GgufFile, name: str) -> GgufFile:
    file.tensors[name] = np.zeros(64, np.float32)
    return file


def poisoned(file: GgufFile, name: str) -> GgufFile:
    file.tensors[name][:] = np.nan
    return file


WRONG: dict[str, tuple[Callable[[GgufFile], object], str]] = {
    "a missing tensor": (lambda f: f.remove("blk.1.attn_q_norm.weight"), "blk.1.attn_q_norm.weight is missing"),
    "a missing last norm": (lambda f: f.remove("output_norm.weight"), "output_norm.weight is missing"),
    "a matrix of another shape": (lambda f: reshaped(f, "blk.0.ffn_up.weight", 95, 64), "expected"),
    "a head for other tokens": (lambda f: reshaped(f, "output.weight", 500, 64), "output.weight has the shape"),
    "a tensor nobody knows": (lambda f: added(f, "blk.0.attn_q.bias"), "attn_q.bias, which this scorer does not know"),
    "a head to rerank": (lambda f: added(f, "cls.output.weight"), "cls.output.weight"),
    "scaled positions": (lambda f: f.set("qwen3.rope.scaling.type", "yarn"), "scales its positions"),
    "half of a head rotated": (lambda f: f.set("qwen3.rope.dimension_count", 16), "rotates 16 numbers of heads of 32"),
    "values of another size": (lambda f: f.set("qwen3.attention.value_length", 16), "values of 16 differ in size"),
    "no epsilon": (lambda f: f.remove("qwen3.attention.layer_norm_rms_epsilon"), "epsilon"),
    "different layers": (lambda f: f.set("qwen3.attention.head_count", [4, 2, 4]), "blk.1.attn_q.weight has the shape"),
    "a context without room": (lambda f: f.set("qwen3.context_length", 63), "texts of 63 tokens"),
    "a model that embeds": (lambda f: f.set("qwen3.pooling_type", 3), "set up to embed"),
    "no vocabulary": (lambda f: f.remove("tokenizer.ggml.tokens"), "no list of texts"),
    "a larger vocabulary than embeddings": (
        lambda f: f.set("tokenizer.ggml.tokens", [f"t{i}" for i in range(513)]).remove("tokenizer.ggml.token_type"),
        "token_embd.weight has the shape",
    ),
}


@pytest.mark.parametrize(("harm", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_file_is_refused(harm: Callable[[GgufFile], object], message: str, tmp_path: Path) -> None:
    file = scorers.make(Variant())
    harm(file)
    with pytest.raises(ModelFileError, match=message):
        Scorer.open(file.write(tmp_path / "wrong.gguf"), threads=1)


KEYS = sorted(key for key in scorers.make(Variant()).metadata if key.startswith("qwen3."))
VALUES = st.one_of(
    st.booleans(),
    st.integers(0, 2**32 - 1),
    st.integers(0, 256),
    st.floats(width=32),
    st.text(max_size=8),
    st.lists(st.integers(0, 64), min_size=1, max_size=4),
)


@given(st.sampled_from(KEYS), VALUES)
@example("qwen3.rope.freq_base", 0.0)
@example("qwen3.attention.layer_norm_rms_epsilon", float("nan"))
@example("qwen3.context_length", 1)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_number_in_the_header_is_computed_with_or_refused(tmp_path: Path, key: str, value: object) -> None:
    path = scorers.make(Variant(n_layer=1)).set(key, value).write(tmp_path / "odd.gguf")
    try:
        with Scorer.open(path, threads=1, window=128) as scorer:
            [score] = scorer.score(["def add(a, b):"], "where is it?")
    except EngineError:
        return
    assert np.isfinite(score).all()


def test_a_vocabulary_without_a_newline_is_refused(tmp_path: Path) -> None:
    file = scorers.make(Variant())
    tokens = file.metadata["tokenizer.ggml.tokens"][1]
    # As byte-level BPE writes the newline.
    tokens[tokens.index("\u010a")] = "unheard-of"
    merges = [merge for merge in file.metadata["tokenizer.ggml.merges"][1] if "\u010a" not in merge]
    file.set("tokenizer.ggml.merges", merges)
    with pytest.raises(ModelFileError) as error:
        Scorer.open(file.write(tmp_path / "dumb.gguf"), threads=1)
    assert str(error.value) == f"{tmp_path}/dumb.gguf: it has no token for a newline; choose another scorer"


OTHERS: dict[str, Callable[[], GgufFile]] = {
    "'laguna', not a scorer": tiny.laguna,
    "is a drafter": lambda: drafters.make(replace(drafters.Variant(), own_head=True), tokenizer=True),
}


@pytest.mark.parametrize(("message", "make"), OTHERS.items(), ids=["a target", "a drafter"])
def test_another_kind_of_model_is_refused(message: str, make: Callable[[], GgufFile], tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=message):
        Scorer.open(make().write(tmp_path / "other.gguf"), threads=1)


def test_no_file_and_half_a_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError) as error:
        Scorer.open(tmp_path / "none.gguf")
    assert str(error.value) == (
        f"{tmp_path}/none.gguf: cannot be read (No such file or directory); check the path and its permissions"
    )
    whole = scorers.make(Variant()).to_bytes()
    half = tmp_path / "half.gguf"
    half.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFileError) as error:
        Scorer.open(half)
    assert str(error.value) == (
        f"{half}: it has 0.000203 of at least 0.000207 GB; the file is damaged: download it again"
    )


@pytest.mark.parametrize("name", ["blk.0.attn_q.weight", "blk.1.ffn_down.weight", "output.weight"])
def test_weights_that_are_no_numbers_give_an_error_and_no_scores(name: str, tmp_path: Path) -> None:
    path = poisoned(scorers.make(Variant()), name).write(tmp_path / "poisoned.gguf")
    with Scorer.open(path, threads=1) as scorer, pytest.raises(ModelFileError) as error:
        scorer.score(["def add(a, b):"], "where is it?")
    assert str(error.value) == f"{path}: its weights are not finite numbers; download it again"
