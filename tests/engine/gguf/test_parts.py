"""Models in parts, as llama.cpp's `llama-gguf-split` writes them, are opened by their first file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from laguna_engine.errors import ModelFileError
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.ggml.weights import HostEmbedding
from laguna_engine.gguf import header
from laguna_engine.gguf.split import part_names, part_of, title_of
from tests.engine import tiny


def test_names() -> None:
    assert part_of("a-00002-of-00003.gguf") == (2, 3)
    assert part_names("a-00002-of-00003.gguf") == tuple(f"a-0000{number}-of-00003.gguf" for number in (1, 2, 3))
    assert title_of(Path("b/a-00002-of-00003.gguf")) == "a"
    for other in ("a.gguf", "a-00004-of-00003.gguf", "a-1-of-3.gguf", "a-00000-of-00003.gguf"):
        assert part_of(other) is None
        assert part_names(other) == (other,)
        assert title_of(Path(other)) == other.removesuffix(".gguf")


@pytest.mark.parametrize("with_tensors", [True, False])
def test_the_parts_are_read_as_one_model(tmp_path: Path, *, with_tensors: bool) -> None:
    whole = header.check(tiny.laguna().write(tmp_path / "whole.gguf"))
    first, *others = tiny.in_parts(tiny.laguna(), tmp_path / "split", 3, first_with_tensors=with_tensors)
    found = header.check(first)
    assert found.parts == (first, *others)
    assert found.size == sum(path.stat().st_size for path in found.parts)
    assert [(info.name, info.shape, info.size) for info in found.tensors] == [
        (info.name, info.shape, info.size) for info in whole.tensors
    ]
    assert ModelShape.of(found).size == ModelShape.of(whole).size
    name = whole.tensors[0].name
    assert (HostEmbedding(found, name).rows([3, 5]) == HostEmbedding(whole, name).rows([3, 5])).all()


def _remove(parts: list[Path]) -> None:
    parts[1].unlink()


def _swap(parts: list[Path]) -> None:
    parts[1].write_bytes(parts[2].read_bytes())


def _shorten(parts: list[Path]) -> None:
    parts[2].write_bytes(parts[2].read_bytes()[:-1])


def _other_model(parts: list[Path]) -> None:
    parts[0].write_bytes(parts[0].read_bytes().replace(b"blk.0.attn_q.weight", b"blk.2.attn_q.weight"))


BROKEN: dict[str, tuple[Callable[[list[Path]], None], str]] = {
    "missing": (_remove, "{0}: has 3 parts, and part 2 is missing; download {1.name} into the same folder"),
    "another part": (_swap, "{0}: {1.name} is not part 2 of 3; the file is damaged: download it again"),
    "cut off": (
        _shorten,
        "{0}: its part {2.name}: it has {size} of at least {size} GB; the file is damaged: download it again",
    ),
    "a tensor twice": (
        _other_model,
        "{0}: two of its parts have a tensor of the same name; the file is damaged: download it again",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_part_is_one_sentence(tmp_path: Path, name: str) -> None:
    change, sentence = BROKEN[name]
    parts = tiny.in_parts(tiny.laguna(), tmp_path / "split", 3)
    size = f"{parts[2].stat().st_size / 1e9:.3g}"
    change(parts)
    with pytest.raises(ModelFileError) as refused:
        header.check(parts[0])
    assert str(refused.value) == sentence.format(*parts, size=size)


def test_a_later_part_is_not_a_model(tmp_path: Path) -> None:
    parts = tiny.in_parts(tiny.laguna(), tmp_path / "split", 2)
    with pytest.raises(ModelFileError) as refused:
        header.check(parts[1])
    assert str(refused.value) == (f"{parts[1]}: is one of 2 parts; choose the first one, which the others are found by")
