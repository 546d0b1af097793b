"""Drafters that cannot be converted are refused in a sentence; a conversion that fails leaves nothing behind."""

import os
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laguna_engine.errors import ModelFileError
from laguna_engine.ggml import gguf_writer
from laguna_engine.gguf import drafter_header
from laguna_tui.models.convert import Provenance, convert, plan
from tests.app.models import published
from tests.app.models.published import Published
from tests.engine import drafters, tiny

Change = Callable[[Published], object]


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def key(name: str, value: object) -> Change:
    return lambda source: source.config.update({name: value})


def inner(table: str, name: str, value: object) -> Change:
    return lambda source: source.config[table].update({name: value})


def gone(*names: str) -> Change:
    return lambda source: [source.tensors.pop(name) for name in names]


def shaped(name: str, *shape: int) -> Change:
    return lambda source: source.tensors.update({name: ("BF16", np.zeros(shape, np.uint16))})


LAGUNA: dict[str, tuple[Change, str]] = {
    "another drafter": (key("architectures", ["Eagle3LlamaForCausalLM"]), "is a drafter of the kind Eagle3LlamaFor"),
    "plain DFlash": (key("architectures", ["DFlashDraftModel"]), "is a drafter of the kind DFlashDraftModel, which"),
    "DFlash2": (key("architectures", ["DFlash2DraftModel"]), "is a DFlash2 drafter"),
    "DFlash2 by its parts": (inner("dflash_config", "selector_rank", 256), "is a DFlash2 drafter"),
    "quantized": (key("quantization_config", {"quant_method": "compressed-tensors"}), "is already quantized; choose"),
    "eight bits": (
        lambda source: source.tensors.update({"fc.weight": ("F8_E4M3", np.zeros((64, 192), np.uint8))}),
        "fc.weight is stored as F8_E4M3, which cannot be converted; choose the drafter in bf16",
    ),
    "no width": (lambda source: source.config.pop("hidden_size"), "hidden_size is missing, expected a whole number"),
    "a width in words": (key("hidden_size", "64"), "hidden_size is '64', expected a whole number"),
    "a width of truth": (key("hidden_size", True), "hidden_size is True, expected a whole number"),
    "heads that do not divide": (key("num_key_value_heads", 3), "num_key_value_heads is 3, expected a divisor of 4"),
    "an endless epsilon": (key("rms_norm_eps", float("inf")), "rms_norm_eps is inf, expected a number above 0"),
    "an endless base": (key("rope_theta", 10**400), "rope_theta is 10000000000000000"),
    "more than all rotated": (key("partial_rotary_factor", 1e12), "partial_rotary_factor is 1000000000000.0, expected"),
    "another activation": (key("hidden_act", "gelu"), "has hidden_act 'gelu', which this engine does not support"),
    "biases": (key("attention_bias", True), "has attention_bias True"),
    "experts": (key("num_experts", 8), "has num_experts 8"),
    "YaRN": (key("rope_scaling", {"rope_type": "yarn", "factor": 4.0}), "scales its positions ('yarn')"),
    "two rotations": (
        lambda source: source.config.update(
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
            rope_parameters={"full_attention": {"rope_theta": 1.0}, "sliding_attention": {"rope_theta": 2.0}},
        ),
        "its layers rotate positions differently",
    ),
    "nothing about sliding": (lambda source: source.config.pop("layer_types"), "layer_types is missing, expected"),
    "a layer type too few": (
        key("layer_types", ["sliding_attention"]),
        "layer_types is ['sliding_attention'], exp",
    ),
    "other layer types": (key("layer_types", ["chunked_attention"] * 3), "layer_types is ['chunked_attention'"),
    "no window": (key("sliding_window", None), "sliding_window is missing"),
    "a window that is off": (key("use_sliding_window", False), "use_sliding_window is False, expected true"),
    "no taps": (inner("dflash_config", "target_layer_ids", []), "target_layer_ids is [], expected a list"),
    "a tap twice": (inner("dflash_config", "target_layer_ids", [1, 1, 2]), "expected each number once"),
    "a tap outside": (inner("dflash_config", "target_layer_ids", [0, 1, 4]), "expected a list of whole numbers from 0"),
    "a block of one": (
        inner("dflash_config", "block_size", 1),
        "block_size is 1, expected a whole number from 2",
    ),
    "a mask outside": (inner("dflash_config", "mask_token_id", 512), "mask_token_id is 512, expected a whole number"),
    "a missing tensor": (gone("aux_hidden_norms.1.weight"), "the tensor aux_hidden_norms.1.weight is missing"),
    "a missing gate": (gone("layers.2.self_attn.g_proj.weight"), "layers.2.self_attn.g_proj.weight is missing"),
    "a gate for each number": (
        shaped("layers.0.self_attn.g_proj.weight", 128, 64),
        "layers.0.self_attn.g_proj.weight has the shape [128, 64], but its config.json says [4, 64]",
    ),
    "another tap count": (shaped("fc.weight", 64, 128), "fc.weight has the shape [64, 128]"),
    "a bias": (shaped("layers.1.self_attn.qkv_proj.bias", 256), "has layers.1.self_attn.qkv_proj.bias, which this"),
    "one norm too many": (shaped("aux_hidden_norms.3.weight", 64), "has aux_hidden_norms.3.weight, which this"),
    "embeddings without a head": (shaped("embed_tokens.weight", 512, 64), "the tensor lm_head.weight is missing"),
    "a tensor under two names": (shaped("model.fc.weight", 64, 192), "it has a tensor under two names"),
}


@pytest.mark.parametrize(("change", "complaint"), LAGUNA.values(), ids=LAGUNA.keys())
def test_an_xs_2_1_drafter_that_is_not_what_it_should_be(change: Change, complaint: str, tmp_path: Path):
    check_refused(published.laguna(), change, complaint, tmp_path)


SPECULATOR: dict[str, tuple[Change, str]] = {
    "another speculator": (key("speculators_model_type", "eagle3"), "is a drafter of the kind 'eagle3', which cannot"),
    "DSpark": (key("speculators_model_type", "dspark"), "is a drafter of the kind 'dspark', which cannot"),
    "DFlash2": (key("speculators_model_type", "dflash2"), "is a DFlash2 drafter"),
    "the anchor proposes": (key("sample_from_anchor", True), "has sample_from_anchor True"),
    "no layers": (lambda source: source.config.pop("transformer_layer_config"), "hidden_size is missing"),
    "layers in words": (
        key("transformer_layer_config", "llama"),
        "transformer_layer_config is 'llama', expected",
    ),
    "the embeddings tapped": (key("aux_hidden_state_layer_ids", [0, 2, 4]), "expected a list of whole numbers from 1"),
    "another target's width": (key("target_hidden_size", 128), "target_hidden_size is 128, expected hidden_size, 64"),
    "more drafted than there are": (key("draft_vocab_size", 513), "draft_vocab_size is 513"),
    "no table": (gone("d2t"), "the tensor d2t is missing"),
    "another table": (key("draft_vocab_size", 299), "lm_head.weight has the shape [300, 64]"),
    "a table outside": (
        lambda source: source.tensors["d2t"][1].__setitem__(299, 400),
        "its table d2t has duplicate tokens or tokens outside 0..511",
    ),
    "a table that repeats": (
        lambda source: source.tensors["d2t"][1].__setitem__(7, source.tensors["d2t"][1][6] - 1),
        "its table d2t has duplicate tokens",
    ),
    "a table of fractions": (
        lambda source: source.tensors.update(d2t=("F32", np.zeros(300, np.float32))),
        "d2t is stored as F32, which cannot be converted",
    ),
}


@pytest.mark.parametrize(("change", "complaint"), SPECULATOR.values(), ids=SPECULATOR.keys())
def test_an_xs_2_speculator_that_is_not_what_it_should_be(change: Change, complaint: str, tmp_path: Path):
    check_refused(published.speculator(), change, complaint, tmp_path)


def check_refused(source: Published, change: Change, complaint: str, tmp_path: Path) -> None:
    change(source)
    folder = source.write(tmp_path / "folder")
    with pytest.raises(ModelFileError) as caught:
        plan(folder)
    told = str(caught.value)
    assert told.startswith(str(folder))
    assert complaint in told
    assert any(what in told for what in ("choose", "download", "give"))


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([0, 10**400, 1e308]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_value_of_any_key_is_converted_or_an_error(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    source = data.draw(st.sampled_from([published.laguna, published.speculator]))()
    tables = [source.config, *(value for value in source.config.values() if isinstance(value, dict))]
    table = data.draw(st.sampled_from(tables))
    name = data.draw(st.sampled_from([*table, "rope_parameters", "rope_scaling", "partial_rotary_factor", "is_causal"]))
    table[name] = data.draw(anything)
    folder = source.write(tmp_path_factory.getbasetemp() / "any")
    try:
        planned = plan(folder)
        convert(planned, folder / "out.gguf", Provenance(), quiet)
    except ModelFileError as error:
        assert len(str(error)) < 800
    else:
        drafter_header.read(folder / "out.gguf")


def test_a_target_is_not_a_drafter(tmp_path: Path):
    (tmp_path / "config.json").write_text('{"architectures": ["LagunaForCausalLM"], "model_type": "laguna"}')
    with pytest.raises(ModelFileError, match="a model of the kind LagunaForCausalLM, not a drafter; give the folder"):
        plan(tmp_path)


CONFIGS: list[tuple[bytes, str]] = [
    (b"{", "is not valid JSON"),
    (b"[]", "it is not a JSON object"),
    (b"\xff", "is not valid JSON"),
    (b"{}", "is a model of the kind no name, not a drafter"),
    (b'{"architectures": 7}', "architectures is 7, expected a list of words"),
    (b'{"speculators_model_type": ["' + b"x" * 10_000 + b'"]}', "is a drafter of the kind ["),
]


@pytest.mark.parametrize(("content", "complaint"), CONFIGS, ids=[complaint for _, complaint in CONFIGS])
def test_an_empty_config_is_refused(content: bytes, complaint: str, tmp_path: Path):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        plan(tmp_path)
    assert complaint in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_folder_without_a_config(tmp_path: Path):
    with pytest.raises(ModelFileError, match=r"has no config\.json; download the whole folder"):
        plan(tmp_path)


ACCEPTED: dict[str, Change] = {
    "rotation in a table": lambda source: source.config.update(
        rope_theta=None, rope_parameters={"rope_theta": 500000.0, "rope_type": "default"}
    ),
    "rotation for each kind of layer": lambda source: source.config.update(
        rope_theta=None, rope_parameters={"sliding_attention": {"rope_theta": 500000.0, "rope_type": "default"}}
    ),
    "no scaling, said": key("rope_scaling", None),
    "names below the model": lambda source: source.tensors.update(
        {f"model.{name}": source.tensors.pop(name) for name in list(source.tensors)}
    ),
    "computed rotations stored": lambda source: source.tensors.update(
        {"rotary_emb.inv_freq": ("F32", np.ones(16, np.float32))}
    ),
    "no draft vocabulary, as it is the target's": lambda source: source.config.pop("draft_vocab_size"),
}


@pytest.mark.parametrize("change", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_other_spellings_of_a_setting_are_read(change: Change, tmp_path: Path):
    source = published.laguna()
    change(source)
    convert(plan(source.write(tmp_path / "folder")), tmp_path / "out.gguf", Provenance(), quiet)
    assert drafter_header.read(tmp_path / "out.gguf").rope_base == 500000.0


def quiet(phase: str, done: int, total: int) -> None:
    pass


def test_a_wrong_pair_is_found_before_a_weight_is_read(tmp_path: Path):
    target = tiny.laguna(tiny.Shape(n_embd=96)).write(tmp_path / "target.gguf")
    folder, phases = published.laguna().write(tmp_path / "folder"), []

    def told(phase: str, done: int, total: int) -> None:
        phases.append(phase)

    with pytest.raises(ModelFileError) as caught:
        convert(plan(folder), tmp_path / "out.gguf", Provenance(), told, target)
    complaint = "the drafter reads hidden states of 64, the model has 96"
    assert str(caught.value) == f"{folder}: {complaint}; choose the drafter that was made for this model"
    assert not phases
    assert files_in(tmp_path) == ["folder", "target.gguf"]


@pytest.mark.parametrize("phase", ["verify", "convert"])
def test_an_interrupt_leaves_no_file(phase: str, tmp_path: Path):
    folder = published.laguna().write(tmp_path / "folder")

    def interrupted(now: str, done: int, total: int) -> None:
        if now == phase:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(plan(folder), tmp_path / "out.gguf", Provenance(), interrupted)
    assert files_in(tmp_path) == ["folder"]


def test_what_a_crash_left_is_not_a_drafter_and_is_replaced(tmp_path: Path):
    folder = published.laguna().write(tmp_path / "folder")
    abandoned, written = tmp_path / ".out.gguf.0000.new", tmp_path / ".out.gguf.1111.new"
    for path in (abandoned, written):
        path.write_bytes(b"half")
    os.utime(abandoned, (1e9, 1e9))
    convert(plan(folder), tmp_path / "out.gguf", Provenance(), quiet)
    drafter_header.read(tmp_path / "out.gguf")
    # Another process may be writing the newer one.
    assert files_in(tmp_path) == [".out.gguf.1111.new", "folder", "out.gguf"]


@pytest.mark.parametrize("name", ["layers.1.mlp.down_proj.weight", "layers.1.self_attn.qkv_proj.weight", "norm.weight"])
def test_a_weight_that_is_not_a_number_leaves_the_existing_file(name: str, tmp_path: Path):
    source, target = published.laguna(), tmp_path / "out.gguf"
    source.tensors[name][1].flat[-1] = 0x7FC0
    target.write_bytes(b"before")
    with pytest.raises(ModelFileError, match=f"{name} holds weights that are not numbers"):
        convert(plan(source.write(tmp_path / "folder")), target, Provenance(), quiet)
    assert target.read_bytes() == b"before"
    assert files_in(tmp_path) == ["folder", "out.gguf"]


def test_a_file_that_shrinks_meanwhile_is_an_error(tmp_path: Path):
    folder = published.laguna().write(tmp_path / "folder")
    planned = plan(folder)
    shard = folder / "model.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1000])
    with pytest.raises(ModelFileError, match="it became shorter while it was read"):
        convert(planned, tmp_path / "out.gguf", Provenance(), quiet)
    assert files_in(tmp_path) == ["folder"]


def test_a_full_disk_is_found_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = published.laguna().write(tmp_path / "folder")
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(ModelFileError, match="free some, or choose another folder"):
        convert(plan(folder), tmp_path / "out.gguf", Provenance(), quiet)
    assert files_in(tmp_path) == ["folder"]


def test_progress_goes_through_both_phases_to_the_end(tmp_path: Path):
    folder, seen = published.speculator().write(tmp_path / "folder"), []
    convert(plan(folder), tmp_path / "out.gguf", Provenance(), lambda *step: seen.append(step))
    for phase in ("verify", "convert"):
        steps = [(done, total) for name, done, total in seen if name == phase]
        assert steps == sorted(steps)
        assert steps[-1][1] - 64 < steps[-1][0] <= steps[-1][1]
    assert [phase for phase, _, _ in seen] == sorted((phase for phase, _, _ in seen), reverse=True)


@pytest.mark.parametrize("kind", ["bf16", "q8_0"])
def test_memory_does_not_grow_with_the_folder(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    variant = drafters.Variant(n_layer=1, reduced=300, n_vocab=60_000)
    folder = published.speculator(variant).write(tmp_path / "folder")
    monkeypatch.setattr(gguf_writer, "_PIECE", 1 << 14)
    planned, known = plan(folder, kind), Provenance(sha256={"config.json": "0", "model.safetensors": "0"})
    tracemalloc.start()
    convert(planned, tmp_path / "out.gguf", known, quiet)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 21 < (folder / "model.safetensors").stat().st_size // 3
