"""Safetensors headers: what is right is read, what is hostile or damaged is one sentence and nothing else."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laguna_engine.errors import ModelFileError
from laguna_tui.models import convert_safetensors
from laguna_tui.models.convert_safetensors import read_file, read_folder, read_json
from tests.app.models import published
from tests.app.odd_files import odd

Header = dict[str, Any]

TENSORS: published.Tensors = {
    "a.weight": ("BF16", np.arange(12, dtype=np.uint16).reshape(3, 4)),
    "b.weight": ("F32", np.arange(5, dtype=np.float32)),
    "t2d": ("BOOL", np.ones(7, bool)),
}


def spoiled(folder: Path, change: Callable[[Header], object]) -> Path:
    path = folder / "model.safetensors"
    path.write_bytes(published.safetensors(TENSORS, lambda header: change(header) and None))
    return path


def test_every_tensor_is_found_at_its_offset(tmp_path: Path):
    path = spoiled(tmp_path, lambda header: None)
    found, content = read_file(path), path.read_bytes()
    assert found.keys() == TENSORS.keys()
    for name, (kind, array) in TENSORS.items():
        tensor = found[name]
        assert (tensor.dtype, tensor.shape, tensor.path) == (kind, array.shape, path)
        assert content[tensor.offset : tensor.offset + tensor.size] == array.tobytes()


def test_the_entries_may_stand_in_any_order(tmp_path: Path):
    path = tmp_path / "model.safetensors"
    content = published.safetensors(TENSORS)
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    path.write_bytes(published.framed(json.dumps(dict(reversed(header.items()))).encode()) + content[8 + length :])
    assert list(read_file(path)) == list(TENSORS)


def entry(name: str, key: str, value: object) -> Callable[[Header], object]:
    return lambda header: header[name].update({key: value})


HOSTILE: dict[str, tuple[Callable[[Header], object], str]] = {
    "overlap": (entry("b.weight", "data_offsets", [20, 40]), "the data of b.weight begins at"),
    "hole": (entry("b.weight", "data_offsets", [28, 48]), "the data of b.weight begins at"),
    "outside the file": (entry("t2d", "data_offsets", [10**9, 10**9 + 7]), "the data of t2d begins at"),
    "backwards": (entry("t2d", "data_offsets", [51, 44]), "t2d has -7 bytes instead of 7"),
    "negative": (entry("a.weight", "data_offsets", [-24, 0]), "a.weight has the impossible offsets [-24, 0]"),
    "three offsets": (entry("a.weight", "data_offsets", [0, 24, 24]), "a.weight has the impossible offsets"),
    "fractions": (entry("a.weight", "data_offsets", [0.0, 24.0]), "a.weight has the impossible offsets"),
    "truth": (entry("a.weight", "shape", [True, 12]), "a.weight has the impossible shape"),
    "a string": (entry("a.weight", "shape", "12"), "a.weight has the impossible shape '12'"),
    "no rows": (entry("a.weight", "shape", [0, 4]), "a.weight has the impossible shape [0, 4]"),
    "too many dimensions": (entry("a.weight", "shape", [1] * 7 + [3, 4]), "a.weight has the impossible shape"),
    "a product that would wrap": (entry("a.weight", "shape", [2**47, 2**47]), "a.weight has 24 bytes instead of"),
    "a huge count": (entry("a.weight", "shape", [10**30]), "a.weight has the impossible shape"),
    "the wrong shape": (entry("a.weight", "shape", [3, 5]), "a.weight has 24 bytes instead of 30"),
    "an unknown format": (entry("a.weight", "dtype", "Q4_K"), "a.weight has the unknown number format 'Q4_K'"),
    "no format": (entry("a.weight", "dtype", None), "a.weight has the unknown number format None"),
    "half a byte": (lambda h: h["t2d"].update(dtype="F4", data_offsets=[44, 47]), "t2d has 3 bytes instead of 3.5"),
    "another key": (entry("a.weight", "extra", 1), "its entry 'a.weight' does not describe a tensor"),
    "no entry": (lambda header: header.update({"a.weight": 7}), "its entry 'a.weight' does not describe a tensor"),
    "one tensor less": (lambda header: header.pop("t2d"), "instead of"),
    "no tensors": (lambda header: [header.pop(name) for name in TENSORS], "it has 0 tensors"),
    "a long name": (lambda header: header.update({"n" * 300: header.pop("t2d")}), "a tensor's name has 300 characters"),
}


@pytest.mark.parametrize(("change", "complaint"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_header_is_refused(change: Callable[[Header], object], complaint: str, tmp_path: Path):
    path = spoiled(tmp_path, change)
    with pytest.raises(ModelFileError) as caught:
        read_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert complaint in str(caught.value)
    assert len(str(caught.value)) < 400


RAW: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "its header claims"),
    "seven bytes": (b"\x02\0\0\0\0\0\0", "its header claims"),
    "a header longer than the file": (struct.pack("<Q", 1000) + b"{}", "its header claims 1000 of 10 bytes"),
    "a header of exabytes": (struct.pack("<Q", 2**63) + b"{}", "its header claims"),
    "no object": (published.framed(b"[1, 2]"), "it is not a JSON object"),
    "no JSON": (published.framed(b"{]"), "it is not valid JSON"),
    "no UTF-8": (published.framed(b'{"\xff": 1}'), "it is not valid JSON"),
    "a name twice": (published.framed(b'{"a": 1, "a": 2}'), "duplicate key"),
    "deep nesting": (published.framed(b'{"a":' + b"[" * 200_000), "it is not valid JSON"),
    "a number of many digits": (published.framed(b'{"a": ' + b"9" * 10_000 + b"}"), "it is not valid JSON"),
    "a GGUF": (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "its header claims"),
}


@pytest.mark.parametrize(("content", "complaint"), RAW.values(), ids=RAW.keys())
def test_what_is_not_a_safetensors_file_is_refused(content: bytes, complaint: str, tmp_path: Path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="download it again") as caught:
        read_file(path)
    assert complaint in str(caught.value)


def test_a_huge_header_is_not_even_read(tmp_path: Path):
    path = tmp_path / "model.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 1 << 30))
        file.truncate(1 << 31)
    with pytest.raises(ModelFileError) as error:
        read_file(path)
    assert str(error.value) == (
        f"{path}: its header claims 1073741824 of 2147483648 bytes; the file is damaged: download it again"
    )


@pytest.mark.parametrize("change", [-1, 1])
def test_a_file_of_another_length_is_refused(change: int, tmp_path: Path):
    path = spoiled(tmp_path, lambda header: None)
    content = path.read_bytes()
    path.write_bytes(content[:-1] if change < 0 else content + b"\0")
    with pytest.raises(ModelFileError, match=f"it has {len(content) + change} bytes instead of {len(content)}"):
        read_file(path)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_random_damage_is_an_error_or_stays_inside(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    content = bytearray(published.safetensors(TENSORS))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 52))
        content[place] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.safetensors"
    path.write_bytes(content)
    try:
        found = read_file(path)
    except ModelFileError:
        return
    sizes = sum(tensor.size for tensor in found.values())
    assert sizes == 24 + 20 + 7
    assert all(tensor.offset > 8 and tensor.offset + tensor.size <= len(content) for tensor in found.values())


def indexed(folder: Path, places: object) -> Path:
    half = {name: TENSORS[name] for name in ("a.weight", "b.weight")}
    (folder / "one.safetensors").write_bytes(published.safetensors(half))
    (folder / "two.safetensors").write_bytes(published.safetensors({"t2d": TENSORS["t2d"]}))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    return folder


RIGHT = {"a.weight": "one.safetensors", "b.weight": "one.safetensors", "t2d": "two.safetensors"}


def test_shards_are_read_as_the_index_says(tmp_path: Path):
    found = read_folder(indexed(tmp_path, RIGHT))
    assert {name: tensor.path.name for name, tensor in found.items()} == RIGHT


INDEXES: dict[str, tuple[object, str]] = {
    "a shard that is not there": ({**RIGHT, "c": "three.safetensors"}, "three.safetensors: no such file"),
    "a tensor that is not there": ({**RIGHT, "c": "two.safetensors"}, "puts c there, and does not have it"),
    "a tensor that is not named": (
        {name: place for name, place in RIGHT.items() if name != "b.weight"},
        "does not put b.weight there, and has it",
    ),
    "a path out of the folder": ({"a": "../one.safetensors"}, "not a safetensors file in its folder"),
    "an absolute path": ({"a": "/etc/one.safetensors"}, "not a safetensors file in its folder"),
    "another kind of file": ({"a": "one.bin"}, "not a safetensors file in its folder"),
    "no names": ({"a": 7}, "does not say which tensor is in which file"),
    "nothing": ({}, "does not say which tensor is in which file"),
    "no table": ([1], "does not say which tensor is in which file"),
}


@pytest.mark.parametrize(("places", "complaint"), INDEXES.values(), ids=INDEXES.keys())
def test_a_wrong_index_is_refused(places: object, complaint: str, tmp_path: Path):
    with pytest.raises(ModelFileError) as caught:
        read_folder(indexed(tmp_path, places))
    assert complaint in str(caught.value)


def test_a_folder_without_or_with_too_many_files(tmp_path: Path):
    with pytest.raises(ModelFileError) as error:
        read_folder(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}: has no safetensors files; download the whole folder of the published drafter"
    )
    indexed(tmp_path, RIGHT)
    (tmp_path / convert_safetensors.INDEX).unlink()
    with pytest.raises(ModelFileError) as error:
        read_folder(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}: has 2 safetensors files but no model.safetensors.index.json; download the whole folder"
    )
    (tmp_path / "two.safetensors").unlink()
    assert read_folder(tmp_path).keys() == {"a.weight", "b.weight"}


@odd
@pytest.mark.timeout(20)
def test_a_configuration_that_is_not_a_small_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], object]):
    make(tmp_path / "config.json")
    with pytest.raises(ModelFileError, match=r"config\.json: cannot be read"):
        read_json(tmp_path / "config.json")
