"""A quantized drafter holds the same weights up to its format's error, and its metadata says how it was made."""

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.errors import ModelFileError
from laguna_engine.ggml import gguf_writer as writing
from laguna_engine.ggml.weights import HostEmbedding
from laguna_engine.gguf import drafter_header, header
from laguna_engine.gguf.quantization import KINDS, plan
from tests.engine import drafters, tiny

ERROR = {"q8_0": 0.5 / 127, "q4_0": 1 / 8}
"""Largest error of a weight, as a share of the largest of the 32 that share a scale: half a step, and a whole one on
the side where q4_0 has one step less."""

ROUNDED_SCALE = 1 / 2048
"""The scale itself is a float16."""

MARKOV = drafters.Variant(gate=True, tap_norm=True, rank=32, confidence="both", reduced=96)


def written(source: Path, kind: str, **provenance: str) -> Path:
    target = source.with_name(f"{source.stem}-{kind}.gguf")
    writing.write_quantized(plan(source, kind), target, provenance, lambda done, total: None)
    return target


def made(folder: Path, variant: drafters.Variant = MARKOV) -> Path:
    return drafters.make(variant).write(folder / "drafter.gguf")


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def rows_of(path: Path, name: str) -> np.ndarray:
    table = HostEmbedding(header.read_unchecked(path), name)
    return table.rows(range(table.count))


def formats_of(path: Path) -> dict[str, str]:
    return {info.name: info.format for info in header.read_unchecked(path).tensors}


@pytest.mark.parametrize("half", [False, True], ids=["from f32", "from f16"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_weight_is_as_near_to_what_it_was_as_its_format_allows(tmp_path: Path, kind: str, half: bool):
    variant = drafters.Variant(half=half)
    target = written(made(tmp_path, variant), kind)
    for name, weights in drafters.make(variant).tensors.items():
        if weights.ndim < 2:
            continue
        blocks = weights.astype(np.float32).reshape(-1, 32)
        allowed = abs(blocks).max(1, keepdims=True) * (ERROR[formats_of(target)[name]] + ROUNDED_SCALE)
        assert (abs(rows_of(target, name).reshape(-1, 32) - blocks) <= allowed).all(), name


def test_bf16_weights_are_read_as_what_they_are(tmp_path: Path):
    file = drafters.make(drafters.Variant(half=True))
    exact = {name: _as_bf16(array) for name, array in file.tensors.items() if array.dtype == np.float16}
    source = tmp_path / "drafter.gguf"
    source.write_bytes(_with_bf16(file, exact))
    target = written(source, "q8_0")
    name = "blk.0.attn_q.weight"
    assert formats_of(source)[name] == "bf16"
    weights = (exact[name].astype(np.uint32) << 16).view(np.float32)
    assert abs(rows_of(target, name) - weights).max() < abs(weights).max() / 127


def test_norms_tables_and_biases_stay_bit_for_bit(tmp_path: Path):
    source = made(tmp_path)
    target = written(source, "q4_0")
    for info in header.read_unchecked(target).tensors:
        before = drafters.make(MARKOV).tensors[info.name]
        if "norm" in info.name or info.name in ("d2t", "conf_proj.weight", "conf_proj.bias"):
            assert target.read_bytes()[info.offset : info.offset + info.size] == before.tobytes(), info.name


def test_the_result_opens_as_the_same_drafter(tmp_path: Path):
    source = made(tmp_path)
    before, after = drafter_header.read(source), drafter_header.read(written(source, "q4_0"))
    for name in ("n_embd", "n_layer", "heads", "taps", "block", "mask_id", "n_vocab", "window", "from_anchor"):
        assert getattr(after, name) == getattr(before, name)
    assert {info.name: info.shape for info in after.file.tensors} == {
        info.name: info.shape for info in before.file.tensors
    }


def test_the_metadata_is_kept_and_says_what_was_done(tmp_path: Path):
    source = drafters.make(MARKOV, tokenizer=True).set("general.alignment", 64)
    source.alignment = 64
    path = source.write(tmp_path / "drafter.gguf")
    before = header.read_unchecked(path).metadata
    target = written(path, "q8_0", **{"laguna_tui.quantized.from": "drafter.gguf"})
    after = dict(header.read_unchecked(target).metadata)
    assert after.pop("laguna_tui.quantized.from") == "drafter.gguf"
    assert after.pop("general.quantization_version") == 2
    assert after.pop("general.file_type") == 7
    assert after == {key: value for key, value in before.items() if key != "general.alignment"}


def test_the_same_drafter_gives_the_same_bytes_again(tmp_path: Path):
    source = made(tmp_path)
    digests = {hashlib.sha256(written(source, "q4_0").read_bytes()).digest() for _ in range(2)}
    assert len(digests) == 1


def test_the_plan_knows_the_size_and_progress_ends_there(tmp_path: Path):
    source, seen = made(tmp_path), []
    planned = plan(source, "q8_0")
    writing.write_quantized(planned, tmp_path / "out.gguf", {}, lambda *step: seen.append(step))
    size = (tmp_path / "out.gguf").stat().st_size
    assert abs(planned.file_bytes - size) < 512
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert abs(seen[-1][0] - size) < 512


def test_an_interrupt_leaves_neither_target_nor_remains(tmp_path: Path):
    source, target = made(tmp_path), tmp_path / "out.gguf"

    def interrupted(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        writing.write_quantized(plan(source, "q8_0"), target, {}, interrupted)
    assert files_in(tmp_path) == ["drafter.gguf"]


def test_a_failure_leaves_the_file_that_was_there(tmp_path: Path):
    file = drafters.make(drafters.Variant())
    file.tensors["blk.1.ffn_down.weight"][3, 5] = np.nan
    source, target = file.write(tmp_path / "drafter.gguf"), tmp_path / "out.gguf"
    target.write_bytes(b"before")
    with pytest.raises(ModelFileError) as error:
        writing.write_quantized(plan(source, "q8_0"), target, {}, lambda done, total: None)
    assert str(error.value) == (
        f"{source}: blk.1.ffn_down.weight holds weights that are not numbers; download it again"
    )
    assert target.read_bytes() == b"before"
    assert files_in(tmp_path) == ["drafter.gguf", "out.gguf"]


def test_a_full_disk_is_found_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source = made(tmp_path)
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(ModelFileError) as error:
        written(source, "q8_0")
    assert str(error.value) == (
        f"{tmp_path}/drafter-q8_0.gguf: needs 0.00 GB, 0.00 GB are free; free some, or choose another folder"
    )
    assert files_in(tmp_path) == ["drafter.gguf"]


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path):
    with pytest.raises(ModelFileError) as error:
        writing.write_quantized(
            plan(made(tmp_path), "q8_0"), tmp_path / "no" / "out.gguf", {}, lambda done, total: None
        )
    assert str(error.value) == (
        f"{tmp_path}/no/out.gguf: cannot be written (No such file or directory); check the folder and its space"
    )


def _as_bf16(array: np.ndarray) -> np.ndarray:
    return (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def _with_bf16(file: tiny.GgufFile, exact: dict[str, np.ndarray]) -> bytes:
    """The file with its float16 tensors replaced by bfloat16 ones of the same size."""
    data = file.to_bytes()
    for name, array in exact.items():
        data = data.replace(file.tensors[name].tobytes(), array.tobytes())
        at = data.index(name.encode()) + len(name) + 4 + 8 * array.ndim
        data = data[:at] + (30).to_bytes(4, "little") + data[at + 4 :]
    return data
