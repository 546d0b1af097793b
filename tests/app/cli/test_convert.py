"""`models convert` as a user meets it: what it says, and that every mistake is one sentence."""

import signal
from pathlib import Path

import pytest

from laguna_engine.gguf import drafter_header, header
from laguna_tui.base.progress import ProgressLine
from laguna_tui.cli import main as cli
from tests.app.models import published
from tests.engine import tiny


def main(*arguments: object) -> int:
    """Run the command as the command line does."""
    return cli.main(["models", "convert", *map(str, arguments)])


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = published.laguna()
    source.files["README.md"] = b"---\nlicense: other\nlicense_name: openmdw-1.1\n---\n"
    return source.write(tmp_path / "folder")


@pytest.mark.parametrize(("options", "told"), [((), "bf16"), (("--type", "q8_0"), "q8_0")])
def test_it_writes_a_drafter_and_a_summary(folder: Path, tmp_path: Path, monkeypatch, capsys, options, told):
    target = tiny.laguna().write(tmp_path / "target.gguf")
    assert main(folder, tmp_path / "out.gguf", "--target", target, *options) == 0
    assert drafter_header.read(tmp_path / "out.gguf").tensors["fc.weight"].format == told
    said = capsys.readouterr().out
    assert "out.gguf: " in said and " kB; tensors: " in said
    assert f" {told}" in said
    assert "a drafter of 3 layers that drafts up to 15 tokens from the target's layers 0, 1, 3" in said
    assert "license: openmdw-1.1" in said


def test_metadata_from_the_command_line_is_written_to_the_file(folder: Path, tmp_path: Path, monkeypatch):
    options = ("--repository", "someone/a-drafter", "--revision", "e" * 40, "--license", "mit")
    assert main(folder, tmp_path / "out.gguf", *options) == 0
    metadata = header.read_unchecked(tmp_path / "out.gguf").metadata
    assert metadata["laguna_tui.converted.from"] == "someone/a-drafter"
    assert metadata["laguna_tui.converted.revision"] == "e" * 40
    assert metadata["general.license"] == "mit"


def test_rows_that_are_not_whole_blocks_are_named(tmp_path: Path, monkeypatch, capsys):
    variant = published.Variant(n_layer=1, n_ff=72, reduced=299)
    folder = published.speculator(variant).write(tmp_path / "folder")
    assert main(folder, tmp_path / "out.gguf", "--type", "q8_0") == 0
    drafter_header.read(tmp_path / "out.gguf")
    assert "not quantized, because their row length is not a multiple of 32: blk.0.ffn_down.weight\n" in (
        capsys.readouterr().out
    )


def test_an_existing_file_is_replaced_only_when_forced(folder: Path, tmp_path: Path, monkeypatch, capsys):
    target = tmp_path / "out.gguf"
    target.write_bytes(b"mine")
    assert main(folder, target) == 2
    assert "already exists; give another name, or add --force" in capsys.readouterr().err
    assert target.read_bytes() == b"mine"
    assert main(folder, target, "--force") == 0
    drafter_header.read(target)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("nowhere", "out.gguf"), "not a folder; give the one with the drafter's config.json"),
        (("folder/model.safetensors", "out.gguf"), "not a folder; give the one with the drafter's config.json"),
        (("target.gguf", "out.gguf"), "not a folder; give the one with the drafter's config.json"),
        (("empty", "out.gguf"), "has no config.json; download the whole folder"),
        (("folder", "empty"), "is a folder; give the name of a file to write"),
        (("folder", "no/out.gguf"), "there is no folder no; create it first"),
        (("folder", "out.gguf", "--type", "q5_0"), "--type q5_0: it must be one of bf16, q8_0, q4_0"),
        (("folder", "out.gguf", "--target", "wide.gguf"), "the drafter reads hidden states of 64, the model has 96"),
        (("folder", "out.gguf", "--target", "nowhere.gguf"), "nowhere.gguf: cannot be read"),
        (("folder", "out.gguf", "--target", "folder/config.json"), "is not a GGUF file"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(
    folder: Path, tmp_path: Path, monkeypatch, capsys, arguments: tuple[str, ...], part: str
):
    monkeypatch.chdir(tmp_path)
    tiny.laguna().write(tmp_path / "target.gguf")
    tiny.laguna(tiny.Shape(n_embd=96)).write(tmp_path / "wide.gguf")
    (tmp_path / "empty").mkdir()
    before = files_in(tmp_path)
    assert main(*arguments) == 2
    told = capsys.readouterr()
    assert part in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""
    assert files_in(tmp_path) == before


def test_ctrl_c_leaves_nothing_behind(folder: Path, tmp_path: Path, monkeypatch, capsys):
    pieces = []

    def interrupted_at_the_fifth(self, done: int, total: int) -> None:
        pieces.append(done)
        if len(pieces) == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ProgressLine, "show_share", interrupted_at_the_fifth)
    # A run in the background starts with Ctrl-C ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(folder, tmp_path / "out.gguf") == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(pieces) == 5
    assert capsys.readouterr().out == ""
    assert files_in(tmp_path) == ["folder"]
