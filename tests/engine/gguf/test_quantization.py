"""The quantization plan of a drafter: the format of each tensor, and the files that are refused."""

from pathlib import Path

import pytest

from laguna_engine.errors import ModelFileError
from laguna_engine.ggml import gguf_writer as writing
from laguna_engine.gguf.quantization import plan
from tests.engine import drafters, tiny

WHOLE = drafters.Variant(gate=True, tap_norm=True, rank=32, confidence="both", reduced=96)


def formats(folder: Path, variant: drafters.Variant, kind: str) -> dict[str, str]:
    path = drafters.make(variant).write(folder / "drafter.gguf")
    return {change.info.name: change.format for change in plan(path, kind).changes}


def test_at_q8_0_every_matrix_is_q8_0(tmp_path: Path):
    found = formats(tmp_path, WHOLE, "q8_0")
    assert {name for name, kind in found.items() if kind != "q8_0"} == {
        name for name in found if "norm" in name or name in ("d2t", "conf_proj.weight", "conf_proj.bias")
    }


def test_at_q4_0_heads_embeddings_markov_matrices_and_gates_stay_at_q8_0(tmp_path: Path):
    found = formats(tmp_path, WHOLE, "q4_0")
    assert {name for name, kind in found.items() if kind == "q8_0"} == {
        *("token_embd.weight", "output.weight", "markov_w1.weight", "markov_w2.weight"),
        *("blk.0.attn_gate.weight", "blk.1.attn_gate.weight"),
    }
    assert found["blk.0.ffn_down.weight"] == found["fc.weight"] == "q4_0"


def test_norms_of_all_taps_in_one_tensor_are_no_matrix(tmp_path: Path):
    assert formats(tmp_path, WHOLE, "q4_0")["enc.aux_norm.weight"] == "f32"


def test_other_spellings_of_the_heads_are_known(tmp_path: Path):
    path = drafters.lucebox(drafters.Variant(rank=32)).write(tmp_path / "drafter.gguf")
    found = {change.info.name: change.format for change in plan(path, "q4_0").changes}
    assert found["dflash.dspark.markov.w1"] == found["dflash.dspark.markov.w2"] == "q8_0"
    assert found["dflash.fc.weight"] == "q4_0"


@pytest.mark.parametrize("half", [False, True])
def test_rows_that_are_no_whole_blocks_become_f16_and_are_named(tmp_path: Path, half: bool):
    path = drafters.make(drafters.Variant(n_ff=72, half=half)).write(tmp_path / "drafter.gguf")
    planned = plan(path, "q8_0")
    assert planned.unfit == ("blk.0.ffn_down.weight", "blk.1.ffn_down.weight")
    assert {change.format for change in planned.changes if change.info.name in planned.unfit} == {"f16"}


def test_a_target_is_refused(tmp_path: Path):
    with pytest.raises(ModelFileError) as error:
        plan(tiny.laguna().write(tmp_path / "target.gguf"), "q8_0")
    assert str(error.value) == (
        f"{tmp_path}/target.gguf: is a model of the kind 'laguna', not a DFlash drafter; choose a drafter's file"
    )


def test_a_file_that_is_quantized_already_is_refused(tmp_path: Path):
    source, once = drafters.make(WHOLE).write(tmp_path / "drafter.gguf"), tmp_path / "once.gguf"
    writing.write_quantized(plan(source, "q8_0"), once, {}, lambda done, total: None)
    with pytest.raises(ModelFileError) as error:
        plan(once, "q4_0")
    assert str(error.value) == (
        f"{once}: it is quantized already (fc.weight is q8_0); give the f16, bf16 or f32 file that it was made from"
    )
