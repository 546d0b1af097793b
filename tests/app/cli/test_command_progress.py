"""Commands that take long say on a terminal how far they are, in a line that is gone afterwards."""

import hashlib
import io
import re
import sys

import pytest

from laguna_tui.base import progress
from laguna_tui.cli.main import main
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.records import SHA256, FileRecord, Fingerprint, RemoteFile, RepositoryListing
from laguna_tui.models.store import Store
from tests.app.models import published
from tests.engine import drafters


class Terminal(io.StringIO):
    """A standard error that is a terminal, and what was written to it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(monkeypatch, tmp_path):
    """Runs a command on such a terminal; returns what it said it was doing, in order, and the exit code."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LAGUNA_TUI_MODELS", str(tmp_path / "store"))
    monkeypatch.setattr(progress, "_REDRAW_S", 0.0)

    def run(*arguments):
        terminal = Terminal()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", terminal)
            code = main([str(argument) for argument in arguments])
        text = terminal.getvalue()
        assert text.rpartition("%\r")[2].startswith("\x1b[K"), "the line is left on the screen"
        return list(dict.fromkeys(re.findall(r"([a-z][^:\r\x1b]*): \d+%\r", text))), code

    return run


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "code"
    folder.mkdir()
    for number in range(5):
        (folder / f"m{number}.py").write_text(f"def make_{number}(value):\n    return value * {number}\n" * 20)
    return folder


def test_compress_shows_progress_of_every_phase(shown, folder):
    doing, code = shown("compress", folder, "--query", "what does make_3 return?", "--scorer", "nano-scorer")
    assert (doing, code) == (["reading", "counting tokens", "parsing", "scoring 5 files for at most 20 s"], 0)


def test_compress_by_words_scores_nothing(shown, folder):
    doing, _ = shown("compress", folder, "--query", "what does make_3 return?", "--scorer", "none")
    assert doing == ["reading", "counting tokens", "parsing"]


@pytest.mark.parametrize("command", [("index",), ("search", "make_3"), ("map",)])
def test_reading_the_folder_shows_progress(shown, folder, command):
    assert shown(*command, "--folder", folder) == (["reading the folder's code"], 0)


def test_verify_shows_which_model_it_checks(shown, tmp_path):
    store, entry = Store(tmp_path / "store"), load_catalogue()["xs-2.1-dflash-gguf"]
    _downloaded(store, entry, b"x" * (9 << 20))
    doing, _ = shown("models", "verify", entry.name)
    assert doing == [f"checking {entry.name}"]


def test_converting_and_quantizing_say_how_far_they_are(shown, tmp_path):
    source = published.laguna().write(tmp_path / "published")
    doing, code = shown("models", "convert", source, tmp_path / "out.gguf")
    assert (doing, code) == (["reading published", "converting published"], 0)
    drafter = drafters.make(drafters.Variant(n_ff=72)).write(tmp_path / "d.gguf")
    doing, code = shown("quantize-drafter", drafter, tmp_path / "small.gguf")
    assert (doing, code) == (["reading d.gguf", "quantizing d.gguf"], 0)


def _downloaded(store, entry, data):
    """What a download of an entry of one file leaves."""
    etag, name = Fingerprint(SHA256, hashlib.sha256(data).hexdigest()), "d-Q8_0.gguf"
    path = store.final_path(entry.source, name)
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    store.save_listing(entry, RepositoryListing("c0", (RemoteFile(name, len(data), etag),)))
    store.save_record(entry.source, FileRecord(entry.source.repository, "c0", name, len(data), etag))
