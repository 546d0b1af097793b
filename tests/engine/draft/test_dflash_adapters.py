"""LoRA adapters of the drafter, switched between drafts; and drafts that are drawn instead of the most likely."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.errors import GraphError, ModelFileError, RequestError
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.gguf import adapter as gguf_adapter
from laguna_engine.gguf import drafter_header as gguf_drafter
from tests.engine import drafters, tiny
from tests.engine.drafters import Variant
from tests.engine.drafting import drafter, nmse

LAST = 77
VARIANT = Variant(window=40, gate=True)
CONTEXT_MATRICES = ("fc.weight", "blk.0.attn_k.weight", "blk.1.attn_v.weight")
BLOCK_MATRICES = ("blk.0.attn_q.weight", "blk.0.attn_gate.weight", "blk.0.attn_output.weight", "blk.1.ffn_gate.weight",
                  "blk.1.ffn_up.weight", "blk.1.ffn_down.weight", "output.weight")  # fmt: skip


@pytest.mark.parametrize("names", [CONTEXT_MATRICES, BLOCK_MATRICES, CONTEXT_MATRICES + BLOCK_MATRICES])
def test_an_adapter_computes_as_if_it_were_merged(names: tuple[str, ...], tmp_path: Path) -> None:
    adapter = drafters.adapter(VARIANT, *names)
    path = adapter.write(tmp_path / "lora.gguf")
    with drafter(VARIANT, tmp_path / "drafter.gguf", 300, adapters=[("mine", path)]) as fed:
        fed.dflash.use_adapter("mine")
        fed.feed(0, 300)
        weights = drafters.merged(drafters.make(VARIANT), adapter)
        right = drafters.reference(VARIANT, weights, fed.features.astype(float), LAST, 8)
        assert nmse(fed.logits(LAST, 300, 7), right.logits) < 1e-9
        assert fed.tokens(LAST, 300, 7) == right.tokens


def test_switching_gives_what_a_fresh_drafter_gives(tmp_path: Path) -> None:
    paths = [
        (name, drafters.adapter(VARIANT, *names, seed=seed).write(tmp_path / f"{name}.gguf"))
        for name, names, seed in (("a", CONTEXT_MATRICES, 1), ("b", BLOCK_MATRICES, 2), ("c", BLOCK_MATRICES, 3))
    ]
    alone = {}
    for name in (None, "a", "b", "c"):
        with drafter(VARIANT, tmp_path / "drafter.gguf", 200, adapters=paths) as fed:
            fed.dflash.use_adapter(name)
            fed.feed(0, 200)
            alone[name] = fed.logits(LAST, 200, 7)
    with drafter(VARIANT, tmp_path / "drafter.gguf", 200, adapters=paths) as fed:
        for name in (None, "b", "c", "a", "b", None, "a", None):
            fed.dflash.use_adapter(name)
            if not fed.dflash.covered(200):
                fed.feed(0, 200)
            assert (fed.logits(LAST, 200, 7) == alone[name]).all()


def test_only_what_changes_keys_and_values_asks_for_them_again(tmp_path: Path) -> None:
    paths = [
        ("context", drafters.adapter(VARIANT, "blk.1.attn_k.weight").write(tmp_path / "context.gguf")),
        ("block", drafters.adapter(VARIANT, *BLOCK_MATRICES).write(tmp_path / "block.gguf")),
    ]
    with drafter(VARIANT, tmp_path / "drafter.gguf", 60, adapters=paths) as fed:
        fed.feed(0, 60)
        for name, kept in (("block", True), (None, True), ("context", False)):
            fed.dflash.use_adapter(name)
            assert fed.dflash.covered(60) is kept
        fed.feed(0, 60)
        fed.dflash.use_adapter("context")
        assert fed.dflash.covered(60)
        fed.dflash.use_adapter("block")
        assert not fed.dflash.covered(60)


def test_experience_is_kept_apart_by_adapter(tmp_path: Path) -> None:
    path = drafters.adapter(VARIANT, "fc.weight").write(tmp_path / "lora.gguf")
    with drafter(VARIANT, tmp_path / "drafter.gguf", 10, adapters=[("mine", path)]) as fed:
        fed.dflash.use_adapter("mine")
        assert fed.dflash.offer().kind.name == "dflash/mine"
        with pytest.raises(RequestError) as error:
            fed.dflash.use_adapter("other")
        assert str(error.value) == "the drafter has no adapter 'other'; choose one of: mine"
        assert fed.dflash.offer().kind.name == "dflash/mine"


Change = Callable[[tiny.GgufFile], object]

WRONG: list[tuple[Change, str]] = [
    (lambda file: file.set("general.type", "model"), "is not a LoRA adapter; choose an adapter of the drafter"),
    (lambda file: file.set("adapter.type", "control_vector"), "is not a LoRA adapter"),
    (lambda file: file.remove("adapter.lora.alpha"), "its adapter.lora.alpha is None, not a number"),
    (lambda file: file.set("adapter.lora.alpha", float("nan")), "its adapter.lora.alpha is nan"),
    (lambda file: file.remove("fc.weight.lora_b"), "it has only one half for fc.weight"),
    (lambda file: file.tensors.clear(), "holds nothing besides pairs"),
    (lambda file: file.tensors.update(stray=np.ones(3, np.float32)), "holds stray besides pairs"),
    (lambda file: _rename(file, "blk.7.attn_q.weight"), "changes blk.7.attn_q.weight, which drafter.gguf does not"),
    (lambda file: _rename(file, "token_embd.weight"), "changes token_embd.weight, which"),
    (lambda file: _rename(file, "output_norm.weight"), "changes output_norm.weight, which"),
    (lambda file: _rename(file, "output.weight"), "not for the drafter's (64, 512); choose its own adapter"),
    (lambda file: file.tensors.update({"fc.weight.lora_a": np.ones((3, 192), np.float32)}), "(192, 3) and (4, 64)"),
]


def _rename(file: tiny.GgufFile, base: str) -> None:
    file.tensors = {f"{base}.{name.rsplit('.', 1)[1]}": array for name, array in file.tensors.items()}


@pytest.mark.parametrize(("change", "complaint"), WRONG)
def test_a_wrong_adapter_is_a_sentence(change: Change, complaint: str, tmp_path: Path) -> None:
    base = gguf_drafter.read(drafters.make(VARIANT).write(tmp_path / "drafter.gguf"))
    file = drafters.adapter(VARIANT, "fc.weight")
    change(file)
    path = file.write(tmp_path / "lora.gguf")
    with pytest.raises(ModelFileError) as caught:
        gguf_adapter.read(path, base)
    assert str(caught.value).startswith(f"{path}: ")
    assert complaint in str(caught.value)


def test_an_alpha_of_nothing_means_that_the_matrices_are_scaled(tmp_path: Path) -> None:
    base = gguf_drafter.read(drafters.make(VARIANT).write(tmp_path / "drafter.gguf"))
    file = drafters.adapter(VARIANT, "fc.weight", rank=4, alpha=0.0)
    found = gguf_adapter.read(file.write(tmp_path / "lora.gguf"), base)
    assert found.matrices["fc.weight"].scale == 1.0


def test_drawn_drafts_come_from_the_most_likely_candidates(tmp_path: Path) -> None:
    variant = Variant(reduced=300)
    seen: list[tuple[np.ndarray, np.ndarray, int]] = []

    def second(ids: np.ndarray, logits: np.ndarray, position: int) -> int:
        seen.append((ids, logits, position))
        return int(ids[1])

    with drafter(variant, tmp_path / "drafter.gguf", 100) as fed:
        fed.feed(0, 100)
        logits = fed.logits(LAST, 100, 7)
        assert fed.dflash.sample_with(20, second)
        draft = fed.dflash.draft(5)
        targets = drafters.make(variant).tensors["d2t"]
        order = np.argsort(-logits[:5], axis=1)
        assert draft.tokens == targets[order[:, 1]].tolist()
        for (ids, values, _), row, best in zip(seen, logits, order, strict=False):
            assert ids.tolist() == targets[best[:20]].tolist()
            assert values.tolist() == row[best[:20]].tolist()
            assert ids.dtype == np.int32
        # The newest token is at position 100.
        assert [position for _, _, position in seen] == [101, 102, 103, 104, 105]
        assert not fed.dflash.sample_with(None)
        assert fed.dflash.draft(5).tokens == targets[order[:, 0]].tolist()


def test_a_markov_head_draws_nothing(tmp_path: Path) -> None:
    with drafter(Variant(rank=16), tmp_path / "drafter.gguf", 10) as fed:
        top = fed.tokens(LAST, 0, 8)
        assert not fed.dflash.sample_with(20, lambda ids, logits, position: int(ids[1]))
        assert fed.dflash.draft(8).tokens == top


def test_a_device_that_cannot_sort_drafts_the_most_likely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(graph: Graph, x: Tensor, k: int) -> Tensor:
        raise GraphError("no sorting here")

    with drafter(Variant(), tmp_path / "drafter.gguf", 10) as fed:
        top = fed.tokens(LAST, 0, 7)
        # The CPU can sort; this stands for a device that cannot.
        monkeypatch.setattr(Graph, "top_k", refuse)
        assert not fed.dflash.sample_with(20, lambda ids, logits, position: int(ids[1]))
        assert fed.dflash.draft(7).tokens == top
