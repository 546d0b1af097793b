"""Files that a command writes: a device or pipe is written to or refused, and never replaced by a file."""

import os
import stat
from pathlib import Path

import pytest

from laguna_engine.gguf import drafter_header
from laguna_tui.base.errors import UserError
from laguna_tui.cli.main import main
from laguna_tui.evals.samples import RunFacts, RunFile, Sample
from tests.app.models import published
from tests.app.odd_files import device, listening, pipe
from tests.app.store.kept_sessions import kept
from tests.engine import drafters

special = pytest.mark.parametrize("make", [device, pipe, listening])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for kind in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / "home"))
    made = tmp_path / "folder"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def session(folder: Path, tmp_path: Path) -> str:
    return kept(tmp_path / "home/laguna-tui/sessions", ("message", "answer"), about=str(folder))


def kind_of(path: Path) -> int:
    return stat.S_IFMT(path.stat().st_mode)


@pytest.mark.timeout(60)
@special
@pytest.mark.parametrize("command", ["quantize-drafter", "models convert"])
def test_a_model_is_written_to_nothing_but_a_file(command: str, make, folder: Path, tmp_path: Path, capsys):
    source = drafters.make(drafters.Variant(n_ff=72)).write(tmp_path / "drafter.gguf")
    source = published.laguna().write(tmp_path / "published") if command == "models convert" else source
    make(folder / "out.gguf")
    before = kind_of(folder / "out.gguf")
    assert main([*command.split(), str(source), "out.gguf", "--force"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "laguna-tui: out.gguf: is not a regular file; give another name\n")
    assert kind_of(folder / "out.gguf") == before
    assert [each.name for each in folder.iterdir()] == ["out.gguf"]


def test_a_model_is_written_through_a_link(folder: Path, tmp_path: Path):
    source = drafters.make(drafters.Variant(n_ff=72)).write(tmp_path / "drafter.gguf")
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk/small.gguf").write_bytes(b"old")
    (folder / "out.gguf").symlink_to(tmp_path / "disk/small.gguf")
    assert main(["quantize-drafter", str(source), "out.gguf", "--force"]) == 0
    assert (folder / "out.gguf").is_symlink()
    drafter_header.read(tmp_path / "disk/small.gguf")


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_session_is_exported_to_a_device(force, folder: Path, session: str, capsys):
    device(folder / "null")
    assert main(["sessions", "export", session, "--output", "null", *force]) == 0
    assert capsys.readouterr().out == "'message' was written to null\n"
    assert stat.S_ISCHR((folder / "null").stat().st_mode)


@pytest.mark.timeout(60)
def test_a_session_is_exported_into_a_pipe_that_is_read(folder: Path, session: str, capsys):
    pipe(folder / "pipe")
    reading = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(reading, "rb") as read:
        assert main(["sessions", "export", session, "--output", "pipe"]) == 0
        assert read.read().startswith(b"# message")
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)


@pytest.mark.timeout(60)
def test_a_pipe_that_nobody_reads_is_refused(folder: Path, session: str, capsys):
    pipe(folder / "pipe")
    assert main(["sessions", "export", session, "--output", "pipe"]) == 2
    said = "laguna-tui: --output pipe: No such device or address; choose a file that can be written\n"
    assert capsys.readouterr().err == said
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)


def test_an_export_through_a_link_changes_the_file_it_leads_to(folder: Path, tmp_path: Path, session: str):
    (tmp_path / "chat.md").write_text("old")
    (folder / "link.md").symlink_to(tmp_path / "chat.md")
    assert main(["sessions", "export", session, "--output", "link.md", "--force"]) == 0
    assert (tmp_path / "chat.md").read_text().startswith("# message")
    assert (folder / "link.md").is_symlink()


def test_a_report_to_a_socket_is_refused_before_the_checks(folder: Path, capsys):
    listening(folder / "socket")
    assert main(["selfcheck", "--report", "socket"]) == 2
    assert capsys.readouterr().err == "laguna-tui: socket: is not a regular file; give another name\n"


@special
def test_samples_are_added_to_nothing_but_a_file_and_no_lock_is_made_beside_it(make, folder: Path):
    make(folder / "out")
    with pytest.raises(UserError) as refused:
        RunFile.open(folder / "out", RunFacts("tiny", {}, 1), Sample)
    said = f"{folder / 'out'}: not a file of samples; give another file with --out"
    assert str(refused.value) == said
    assert [each.name for each in folder.iterdir()] == ["out"]
