"""A download's files become a drafter, wherever they lie and whatever lies beside them."""

import shutil
from pathlib import Path

import pytest

from laguna_engine.gguf import drafter_header
from laguna_tui.base.errors import UserError
from laguna_tui.models.convert import Provenance, convert, convert_files, plan
from laguna_tui.models.download import Converter
from tests.app.models import published

KNOWN = Provenance("poolside/Laguna-XS-2.1-DFlash", "f" * 40, "openmdw-1.1")


def scattered(tmp_path: Path, shards: int = 2) -> list[Path]:
    """The config in one folder, the shards in another, beside a file of an older version."""
    folder, elsewhere = published.laguna().write(tmp_path / "folder", shards=shards), tmp_path / "cache"
    elsewhere.mkdir()
    shutil.move(folder / "config.json", elsewhere / "config.json")
    paths = [elsewhere / "config.json", *folder.iterdir()]
    (folder / "model.safetensors").write_bytes(b"old")
    return paths


def test_files_of_several_folders_become_what_one_folder_becomes(tmp_path: Path):
    convert(
        plan(published.laguna().write(tmp_path / "whole", shards=2)), tmp_path / "right.gguf", KNOWN, lambda *_: None
    )
    seen: list[tuple[int, int]] = []
    convert_files(scattered(tmp_path), tmp_path / "out.gguf", lambda *step: seen.append(step), KNOWN)
    assert (tmp_path / "out.gguf").read_bytes() == (tmp_path / "right.gguf").read_bytes()
    assert seen == sorted(seen)
    assert len({total for _, total in seen}) == 1
    assert seen[-1][1] - 64 < seen[-1][0] <= seen[-1][1]


def test_it_is_a_converter_for_downloads(tmp_path: Path):
    converter: Converter = convert_files
    converter(scattered(tmp_path), tmp_path / "out.gguf", lambda done, total: None)
    assert drafter_header.read(tmp_path / "out.gguf").taps == (0, 1, 3)


def test_what_is_not_a_drafter_is_an_error_that_names_the_repository(tmp_path: Path):
    paths = [path for path in scattered(tmp_path) if path.name != "config.json"]
    with pytest.raises(UserError) as error:
        convert_files(paths, tmp_path / "out.gguf", lambda done, total: None, KNOWN)
    assert str(error.value) == (
        "Laguna-XS-2.1-DFlash: has no config.json; download the whole folder of the published drafter"
    )


def test_stopping_it_leaves_nothing(tmp_path: Path):
    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        convert_files(scattered(tmp_path), tmp_path / "out.gguf", stop, KNOWN)
    assert not list(tmp_path.glob("out.gguf*"))
