"""Opening a drafter: what is wrong is said before anything native sees the file; what is right is freed again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.config import DRAFT_CONTEXT
from laguna_engine.draft import dflash_weights
from laguna_engine.draft.dflash import DFlash
from laguna_engine.errors import GraphError, ModelFileError
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.tensor import DeviceTensors, Type
from laguna_engine.ggml.weights import HostEmbedding
from laguna_engine.gguf import drafter_header as drafter_files
from laguna_engine.gguf import header
from laguna_engine.gguf.drafter_header import TargetFacts
from tests.engine import drafters, tiny
from tests.engine.drafters import LAGUNA, Variant
from tests.engine.drafting import drafter, nmse

LAST = 77
TARGET = TargetFacts(64, 4, 512, "laguna")
Change = Callable[[tiny.GgufFile], object]

BAD: list[tuple[Change, TargetFacts]] = [
    (lambda file: file.set("general.architecture", "llama"), TARGET),
    (lambda file: file.set("dflash.block_size", 0), TARGET),
    (lambda file: file.remove("fc.weight"), TARGET),
    (lambda file: file.tensors["d2t"].fill(400), TARGET),
    (lambda file: None, replace(TARGET, n_embd=65)),
    (lambda file: None, replace(TARGET, n_layer=2)),
    (lambda file: None, replace(TARGET, n_vocab=500)),
]


@pytest.mark.parametrize(("change", "target"), BAD)
def test_a_bad_file_never_reaches_native_code(
    change: Change, target: TargetFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = drafters.make(Variant(reduced=300))
    change(file)
    path = file.write(tmp_path / "drafter.gguf")
    backend = ComputeBackend.cpu(1)
    store = DeviceTensors(backend, {"features": (Type.F32, (192, 8))})
    loaded: list[object] = []
    monkeypatch.setattr(dflash_weights, "Weights", lambda *arguments, **_: loaded.append(arguments))
    with pytest.raises(ModelFileError):
        DFlash.open(drafter_files.read(path), target, store["features"], None, None, backend)
    assert loaded == []
    store.close()
    backend.close()


def test_a_drafter_without_embeddings_needs_its_target(tmp_path: Path) -> None:
    opened = drafter(LAGUNA, tmp_path / "drafter.gguf", 1)
    with pytest.raises(ModelFileError) as error:
        opened.__enter__()
    assert str(error.value) == (
        f"{tmp_path}/drafter.gguf: it needs its model's embeddings; choose a drafter with its own"
    )


def test_a_drafter_without_a_head_needs_its_targets(tiny_model_path: Path, tmp_path: Path) -> None:
    file = drafters.make(LAGUNA)
    file.tensors["token_embd.weight"] = np.ones((512, 64), np.float32)
    # Its own embeddings serve as its head then, as in llama.cpp.
    with drafter(LAGUNA, tmp_path / "drafter.gguf", 1, file=file) as fed:
        assert fed.dflash.drafter.own_head == "token_embd.weight"
    backend = ComputeBackend.cpu(1)
    store = DeviceTensors(backend, {"features": (Type.F32, (192, 8)), "head": (Type.F32, (64, 100))})
    path = drafters.make(LAGUNA).write(tmp_path / "drafter.gguf")
    embedding = _rows(tiny_model_path)
    for head, found in ((None, "none is available"), (store["head"], r"that is \[64, 100\]")):
        with pytest.raises(ModelFileError, match=f"needs its model's output matrix, and {found}"):
            DFlash.open(drafter_files.read(path), TARGET, store["features"], head, embedding, backend)
    store.close()
    backend.close()


def _rows(path: Path) -> HostEmbedding:
    return HostEmbedding(header.check(path), "token_embd.weight")


def test_features_of_another_width(tmp_path: Path) -> None:
    backend = ComputeBackend.cpu(1)
    store = DeviceTensors(backend, {"features": (Type.F32, (128, 8))})
    path = drafters.make(Variant()).write(tmp_path / "drafter.gguf")
    with pytest.raises(GraphError, match="does not hold 3 hidden states of 64"):
        DFlash.open(drafter_files.read(path), TARGET, store["features"], None, None, backend)
    store.close()
    backend.close()


def test_the_memory_is_that_of_its_rings(tmp_path: Path) -> None:
    variant = Variant(n_layer=3, window=512, sliding=(True, True, False))
    sizes = []
    for kv in (Type.F32, Type.F16):
        with drafter(variant, tmp_path / "drafter.gguf", 1, context=DRAFT_CONTEXT, kv=kv) as fed:
            sizes.append(fed.dflash.nbytes)
    slots = 2 * 768 + 4352
    assert sizes[0] - sizes[1] == pytest.approx(2 * slots * 64 * 2, rel=0.01)


@pytest.mark.parametrize("name", ["laguna", "plain", "markov"])
def test_luceboxs_spelling_drafts_the_same(name: str, tmp_path: Path) -> None:
    variant = {
        "laguna": replace(LAGUNA, own_embedding=True, own_head=True),
        "plain": Variant(),
        "markov": Variant(rank=16, confidence="hidden", from_anchor=False),
    }[name]
    with drafter(variant, tmp_path / "drafter.gguf", 120, file=drafters.lucebox(variant)) as fed:
        fed.feed(0, 120)
        weights = drafters.weights_of(drafters.make(variant))
        right = drafters.reference(variant, weights, fed.features.astype(float), LAST, variant.block)
        assert nmse(fed.logits(LAST, 120, variant.longest), right.logits) < 1e-9
        assert fed.tokens(LAST, 120, variant.longest) == right.tokens


def test_a_closed_drafter_refuses_to_draft(tmp_path: Path) -> None:
    with drafter(Variant(), tmp_path / "drafter.gguf", 10) as fed:
        fed.feed(0, 10)
        fed.dflash.close()
        fed.dflash.close()
        with pytest.raises(GraphError):
            fed.tokens(LAST, 10, 3)
        with pytest.raises(GraphError):
            fed.dflash.inject(0, 10)
