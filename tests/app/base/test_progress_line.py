"""The one line of progress: overwritten in place, cut to the terminal, gone afterwards, and silent elsewhere."""

import io
import os
import pty
import sys
import termios

import pytest

from laguna_tui.base import progress
from laguna_tui.base.progress import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(monkeypatch):
    """Runs something on such a terminal, 20 columns wide; returns what it wrote."""
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(progress, "_REDRAW_S", 0.0)

    def run(work):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", Terminal())
            work()
            return sys.stderr.getvalue()

    return run


def test_parts_of_one_whole_are_summed_up(shown):
    def work():
        with ProgressLine("reading") as line:
            step = line.counter(8)
            step(2)
            step(4)

    assert shown(work) == "\x1b[Kreading: 25%\r\x1b[Kreading: 75%\r\x1b[K"


def test_each_text_takes_the_place_of_the_one_before_and_the_line_is_empty_at_the_end(shown):
    def work():
        with ProgressLine("reading") as line:
            line.show_share(1, 2)
            line.show("done")

    assert shown(work) == "\x1b[Kreading: 50%\r\x1b[Kdone\r\x1b[K"


def test_a_text_is_sanitised_and_cut_so_that_it_cannot_wrap(shown):
    written = shown(lambda: ProgressLine().show("\x1b[31m" + "x" * 100))
    assert written == "\x1b[K␛[31m" + "x" * 14 + "\r"


def test_what_comes_too_soon_is_skipped_unless_it_must_be_seen(shown, monkeypatch):
    monkeypatch.setattr(progress, "_REDRAW_S", 60.0)

    def work():
        line = ProgressLine()
        for text in ("first", "second"):
            line.show(text)
        line.show("third", at_once=True)

    assert shown(work) == "\x1b[Kfirst\r\x1b[Kthird\r"


@pytest.mark.parametrize("columns", [30, 0])
def test_it_is_cut_to_the_terminal_that_stderr_is(monkeypatch, columns):
    """Not to that of stdout, which may be a file; the environment counts where the terminal does not say."""
    monkeypatch.setenv("COLUMNS", "20")
    outer, inner = pty.openpty()
    termios.tcsetwinsize(inner, (24, columns))
    with os.fdopen(inner, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        ProgressLine().show("x" * 100)
        assert os.read(outer, 1000).decode() == "\x1b[K" + "x" * ((columns or 20) - 1) + "\r"
    os.close(outer)


@pytest.mark.parametrize("quiet", [False, True])
def test_nothing_is_written_where_nobody_sees_it(monkeypatch, quiet):
    stream = Terminal() if quiet else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressLine("reading", quiet=quiet) as line:
        line.show_share(1, 2)
    assert stream.getvalue() == ""
    assert not line.visible


def test_a_terminal_that_is_gone_does_not_end_the_work(shown, monkeypatch):
    def gone(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Terminal, "write", gone, raising=False)
    assert shown(lambda: ProgressLine().show("working")) == ""
