"""`quantize-drafter` as a user meets it: what it says, and that every mistake is one sentence."""

import os
import signal
from pathlib import Path

import pytest

from laguna_engine.gguf import drafter_header
from laguna_tui.base.progress import ProgressLine
from laguna_tui.cli.main import main
from tests.engine import drafters, tiny


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return drafters.make(drafters.Variant(n_ff=72)).write(tmp_path / "drafter.gguf")


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("options", [(), ("--type", "q4_0")])
def test_it_writes_a_smaller_drafter_and_a_summary(source: Path, tmp_path: Path, capsys, options):
    target = tmp_path / "small.gguf"
    assert main(["quantize-drafter", str(source), str(target), *options]) == 0
    drafter_header.read(target)
    assert target.stat().st_size < source.stat().st_size / 2
    told = capsys.readouterr().out
    assert "small.gguf: " in told
    assert f"{options[-1] if options else 'q8_0'}" in told
    assert "row length is not a multiple of 32: blk.0.ffn_down.weight, blk.1.ffn_down.weight" in told


def test_the_result_records_its_origin(source: Path, tmp_path: Path):
    main(["quantize-drafter", str(source), str(tmp_path / "small.gguf")])
    metadata = drafter_header.read(tmp_path / "small.gguf").file.metadata
    assert metadata["laguna_tui.quantized.from"] == "drafter.gguf"
    assert len(str(metadata["laguna_tui.quantized.from_sha256"])) == 64


def test_an_existing_file_is_replaced_only_when_forced(source: Path, tmp_path: Path, capsys):
    target = tmp_path / "small.gguf"
    target.write_bytes(b"mine")
    command = ["quantize-drafter", str(source), str(target)]
    assert main(command) == 2
    assert "already exists; give another name, or add --force" in capsys.readouterr().err
    assert target.read_bytes() == b"mine"
    assert main([*command, "--force"]) == 0
    drafter_header.read(target)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("nowhere.gguf", "out.gguf"), "no such file; give the drafter's GGUF"),
        (("drafter.gguf", "."), "is a folder; give the name of a file to write"),
        (("drafter.gguf", "no/out.gguf"), "there is no folder no; create it first"),
        (("drafter.gguf", "drafter.gguf", "--force"), "is the drafter itself"),
        (("drafter.gguf", "out.gguf", "--type", "q5_0"), "--type q5_0: it must be one of q8_0, q4_0"),
        (("target.gguf", "out.gguf"), "not a DFlash drafter; choose a drafter's file"),
        (("small.gguf", "out.gguf"), "quantized already"),
        (("empty.gguf", "out.gguf"), "it is empty"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(
    source: Path, tmp_path: Path, monkeypatch, capsys, arguments: tuple[str, ...], part: str
):
    monkeypatch.chdir(tmp_path)
    tiny.laguna().write(tmp_path / "target.gguf")
    (tmp_path / "empty.gguf").touch()
    main(["quantize-drafter", str(source), "small.gguf"])
    before = files_in(tmp_path)
    capsys.readouterr()
    assert main(["quantize-drafter", *arguments]) == 2
    told = capsys.readouterr()
    assert part in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""
    assert files_in(tmp_path) == before


def test_ctrl_c_leaves_nothing_behind(source: Path, tmp_path: Path, monkeypatch, capsys, request):
    pieces = []

    def interrupted_at_the_fifth(self, done: int, total: int) -> None:
        pieces.append(done)
        if len(pieces) == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ProgressLine, "show_share", interrupted_at_the_fifth)
    # A shell that starts the tests in the background lets them ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    assert main(["quantize-drafter", str(source), str(tmp_path / "small.gguf")]) == 130
    assert len(pieces) == 5
    assert capsys.readouterr().out == ""
    assert files_in(tmp_path) == ["drafter.gguf"]


def test_a_file_name_reaches_the_terminal_without_its_escapes(source: Path, tmp_path: Path, capsys):
    target = tmp_path / "small\x1b[31m.gguf"
    main(["quantize-drafter", str(source), os.fspath(target)])
    assert "\x1b" not in capsys.readouterr().out
