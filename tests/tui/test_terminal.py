"""In a real (pseudo) terminal: what the app sends, and that it leaves the terminal as it found it, however it ends."""

import os
import re
import signal
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pexpect
import pytest

from tests.tui.test_terminal_parser import REPORTS, cut

ROOT = Path(__file__).parents[2]
RESTORING = ("?1049l", "?25h", "?7h", "?1000l", "?1002l", "?1006l", "?2004l", "?1004l")
PATIENCE_S = 60


class Terminal:
    """The app on a pseudo terminal, and everything it wrote there."""

    def __init__(
        self,
        delay: float = 0.0,
        state: Path | None = None,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        program: Sequence[str] = (),
    ) -> None:
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})}
        environment.pop("NO_COLOR", None)
        child = ["tests.tui.terminal_child", str(delay), *([str(state)] if state else []), *arguments]
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", *(program or child)],
            cwd=str(ROOT),
            env=environment,
            dimensions=(24, 80),
            encoding=None,
            timeout=PATIENCE_S,
        )
        self.before = termios.tcgetattr(self.child.child_fd)
        self.written = b""

    def read_until(self, text: bytes) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.written:
            assert time.monotonic() < deadline, self.written[-2000:]
            self._read(0.05)

    def read_for(self, seconds: float) -> None:
        """Read what comes in this time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.child.isalive():
            self._read(0.05)

    def _read(self, patience: float) -> None:
        try:
            self.written += self.child.read_nonblocking(65536, patience)
        except pexpect.TIMEOUT:
            return

    def wait(self) -> int:
        """Read to the end; the exit code, or minus the signal."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                self._read(0.05)
            except pexpect.EOF:
                break
        else:
            # Nobody would read any more, and who waits for an app that waits for a reader waits for ever.
            self.child.terminate(force=True)
            raise AssertionError(f"it did not end within {PATIENCE_S} s: {self.written[-2000:]!r}")
        self.child.wait()
        return self.child.exitstatus if self.child.exitstatus is not None else -self.child.signalstatus

    def assert_restored(self) -> None:
        for code in RESTORING:
            mode, switch = code[:-1], code[-1]
            states = {self.written.rfind(f"\x1b[{mode}{s}".encode()): s for s in "hl"}
            assert max(states) >= 0, f"{code} was never sent"
            assert states[max(states)] == switch, f"{mode} was left on"
        assert termios.tcgetattr(self.child.child_fd) == self.before


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    terminal.read_until(b"ready")
    yield terminal
    terminal.child.close(force=True)


@pytest.fixture
def slow() -> Iterator[Terminal]:
    terminal = Terminal(delay=0.005)
    terminal.read_until(b"ready")
    yield terminal
    terminal.child.close(force=True)


@pytest.fixture
def busy(slow: Terminal) -> Terminal:
    slow.child.send(b"go\r")
    slow.read_until(b"answer")
    return slow


def test_quitting_restores_the_terminal(terminal: Terminal) -> None:
    terminal.child.send(b"\x11")
    assert terminal.wait() == 0
    terminal.assert_restored()


def test_ctrl_c_twice_quits(terminal: Terminal) -> None:
    terminal.child.send(b"\x03")
    terminal.read_until(b"again")
    terminal.child.send(b"\x03")
    assert terminal.wait() == 0
    terminal.assert_restored()


def test_a_failing_screen_saves_the_conversation_and_says_so_in_one_sentence(tmp_path: Path) -> None:
    terminal = Terminal(state=tmp_path)
    terminal.read_until(b"ready")
    terminal.child.send(b"what is this?\r")
    terminal.read_until(b"more words")
    terminal.child.send(b"not sent yet\x1b[24~")
    assert terminal.wait() == 1
    terminal.assert_restored()
    chat, log = next(tmp_path.glob("laguna-chat-*.md")), next(tmp_path.glob("laguna-crash-*.log"))
    words = f"The screen failed (RuntimeError: broken on purpose): the conversation is saved in {chat}, "
    said = terminal.written[terminal.written.rfind(b"\x1b[?1004l") :].decode().partition("laguna-tui: ")[2]
    assert said == f"{words}and what to report is saved in {log}.\r\n"
    assert "> what is this?" in chat.read_text()
    assert "The answer" in chat.read_text()
    assert "RuntimeError: broken on purpose" in log.read_text()
    assert {path.stat().st_mode & 0o777 for path in (chat, log)} == {0o600}
    assert "not sent yet" in (tmp_path / "history.jsonl").read_text()


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (b"\x1b[18~", b"Other"),
        (b"\x12", b"Search the input"),
        (b"\x1b[20~", b"AGENTS.md"),
        (b"\x1b[20~\x1b[B ", b"1 change"),
        (b"\x1b[19~", b"Enter"),
        (b"\x10", b"the model drafts"),
        (b"/theme\r", b"dracula"),
    ],
    ids=["models", "history", "context", "changed context", "setup", "commands", "themes"],
)
@pytest.mark.parametrize("twice", [b"\r\r", b"\x1b[B\r\r"], ids=["first", "second"])
@pytest.mark.sampled(5)
def test_a_key_that_is_pressed_twice_closes_a_list_once(terminal: Terminal, keys: bytes, shown: bytes, twice: bytes):
    terminal.child.send(b"before\r")
    terminal.read_until(b"more words")
    terminal.child.send(keys)
    terminal.read_until(shown)
    terminal.child.send(twice)
    # Whatever was chosen, closing what it opened and leaving still works.
    terminal.child.send(b"\x1b")
    terminal.read_for(0.5)
    terminal.child.send(b"\x11")
    assert terminal.wait() == 0, terminal.written[-2000:]


@pytest.mark.parametrize(
    "keys",
    [
        b"\x1b[200~caf\xe9\nau lait\x1b[201~",
        b"\xff\xfe",
        b"\x1b[1114112u",
        b"\x1b[55296u",
        b"\x1b[48;0;0;0;0t\x1b[<0;3;3M",
    ],
    ids=["paste in Latin-1", "no UTF-8", "beyond Unicode", "a surrogate", "mouse on no pixels"],
)
@pytest.mark.sampled(3)
def test_input_that_means_nothing_is_left_out_and_the_next_key_counts(terminal: Terminal, keys: bytes) -> None:
    terminal.child.send(keys)
    terminal.read_for(0.3)
    terminal.child.setwinsize(24, 80)
    terminal.child.send(b"here\r")
    terminal.read_until(b"more words")
    terminal.child.send(b"\x11")
    assert terminal.wait() == 0


def test_what_is_no_utf_8_in_a_paste_is_shown_as_such(terminal: Terminal) -> None:
    terminal.child.send(b"\x1b[200~caf\xe9 au lait\x1b[201~")
    terminal.read_until("caf\ufffd au lait".encode())


def test_a_paste_that_ends_itself_sends_nothing(terminal: Terminal) -> None:
    terminal.child.send(b"\x1b[200~harmless\x1b[201~\r!touch X\r")
    terminal.read_for(0.5)
    terminal.child.send(b"\x1b[23~")
    terminal.read_until(b"text of 18 in 2 insertions")


SLOW = [("move", 1), ("move", 4), ("background", 1), ("background", 9), ("version", 2), ("the kitty protocol", 1)]
"""Reports, and where a slow link cuts them."""


@pytest.mark.parametrize(
    ("begin", "shown"),
    [
        (b"go\r", b"more words"),
        (b"ask\r", b"amount"),
        (b"\x1b[20~", b"AGENTS.md"),
        (b"\x1b[18~", b"Other"),
        (b"\x1b[19~", b"Enter"),
        (b"\x12", b"Search the input"),
        (b"\x10", b"the model drafts"),
        (b"\x1bOP", b"This help"),
    ],
    ids=["answering", "a question", "context", "models", "setup", "history", "commands", "help"],
)
@pytest.mark.sampled(3)
def test_reports_on_a_slow_link_are_no_keys(begin: bytes, shown: bytes, tmp_path: Path) -> None:
    asking = ["asking"] if shown == b"amount" else []
    terminal = Terminal(0.02, tmp_path, *asking, environment={"SSH_TTY": "/dev/pts/9"})
    terminal.read_until(b"ready")
    terminal.child.send(begin)
    terminal.read_until(shown)
    # A question takes no keys in its first moments.
    terminal.read_for(0.5)
    keys = tmp_path / "keys"
    before = keys.read_text()
    for name, place in SLOW:
        for piece in cut(REPORTS[name], place):
            terminal.child.send(piece.encode())
            terminal.read_for(0.15)
    terminal.child.send(b"\x1b[23~")
    deadline = time.monotonic() + PATIENCE_S
    while "f11" not in keys.read_text():
        assert time.monotonic() < deadline
        terminal.read_for(0.05)
    assert set(keys.read_text().removeprefix(before).split()) == {"f11"}
    terminal.child.close(force=True)


def test_the_mouse_is_reported_only_with_a_button_and_the_kitty_protocol_is_queried(terminal: Terminal) -> None:
    terminal.read_until(b"\x1b[?u")
    assert b"\x1b[?1002h" in terminal.written
    assert b"\x1b[?1003h" not in terminal.written


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_ending_signals_restore_the_terminal_even_in_the_middle_of_an_answer(
    busy: Terminal, number: signal.Signals
) -> None:
    os.kill(busy.child.pid, number)
    assert busy.wait() == 128 + number
    busy.assert_restored()


def test_a_terminal_that_goes_away_ends_the_app_and_is_no_crash_of_it(tmp_path: Path) -> None:
    busy = Terminal(delay=0.005, state=tmp_path)
    busy.read_until(b"ready")
    busy.child.send(b"go\r")
    busy.read_until(b"answer")
    busy.child.ptyproc.fileobj.close()
    busy.child.ptyproc.closed = busy.child.closed = True
    deadline = time.monotonic() + PATIENCE_S
    while busy.child.isalive():
        assert time.monotonic() < deadline, "it lives on without a terminal"
        time.sleep(0.05)
    assert busy.child.exitstatus == 128 + signal.SIGHUP
    assert list(tmp_path.glob("laguna-crash-*")) == []


def test_hostile_text_never_reaches_the_terminal_as_a_command(busy: Terminal) -> None:
    busy.read_until(b"more words")
    busy.child.send(b"\x11")
    busy.wait()
    assert b"\x1b]52" not in busy.written
    assert b"\x1b[2J" not in busy.written
    assert "\x9b".encode() not in busy.written
    assert "\u202e".encode() not in busy.written
    assert "␛]52;c;".encode() in busy.written


@pytest.mark.parametrize("newline", [b"\x1b\r", b"\n", b"\x1b[13;2u", b"\x1b[13;3u", b"\x1b[27;2;13~"])
def test_every_terminals_new_line_key_is_understood(slow: Terminal, newline: bytes) -> None:
    slow.child.send(b"first" + newline + b"second\r")
    slow.read_until(b"answer")
    assert b"queued" not in slow.written
    rows = re.split(rb"\x1b\[\d+;\d+H|\r?\n", slow.written)
    assert not any(b"first" in row and b"second" in row for row in rows)


def test_copying_goes_through_the_terminals_clipboard(busy: Terminal) -> None:
    busy.child.send(b"\x1b")
    busy.read_until(b"stopped")
    busy.child.send(b"\x19")
    copied = b"\x1b]52;c;VGhlIGFuc3dlci"
    busy.read_until(copied)
    assert copied in busy.written


def test_an_emoji_that_is_typed_stays_whole(terminal: Terminal) -> None:
    typed = "👩🏽\u200d💻 here".encode()
    terminal.child.send(typed)
    terminal.read_until(typed)


def test_text_without_paste_brackets_is_inserted_once_for_each_read(terminal: Terminal) -> None:
    # The terminal's line discipline holds less than 4,096 bytes, so that 8,000 characters are three reads or more.
    terminal.child.send(b"some words " * 726 + b"and then zzEND")
    # The view follows the cursor.
    terminal.read_until(b"zzEND")
    terminal.child.send(b"\x1b[23~")
    terminal.read_until(b"text of 8000 in ")
    counted = re.search(rb"text of 8000 in (\d+) insertions", terminal.written)
    assert counted is not None
    assert int(counted[1]) < 100


def test_a_program_that_needs_a_terminal_has_it_until_it_ends(terminal: Terminal) -> None:
    terminal.child.send(b"/shell test -t 0 && read answer && echo got=$answer; exit 3\r")
    terminal.read_for(0.5)
    terminal.child.send(b"forty-two\r")
    terminal.read_until(b"got=forty-two")
    terminal.read_until(b"[exit code 3; Enter goes back")
    terminal.written = b""
    terminal.child.send(b"\r")
    terminal.read_until(b"\x1b[?1049h")
    terminal.child.send(b"typed again")
    terminal.read_until(b"again")


def test_ctrl_c_ends_the_program_and_not_the_app(terminal: Terminal) -> None:
    terminal.child.send(b"/shell echo begun; sleep 60\r")
    terminal.read_until(b"begun\r\n")
    terminal.child.send(b"\x03")
    terminal.read_until(b"[exit code")
    terminal.written = b""
    terminal.child.send(b"\r")
    terminal.read_until(b"\x1b[?1049h")
    terminal.child.send(b"still here")
    terminal.read_until(b"here")


def test_ctrl_z_in_a_program_does_not_hang_it(terminal: Terminal) -> None:
    terminal.child.send(b"/shell echo begun; sleep 1.5; echo over\r")
    terminal.read_until(b"begun\r\n")
    terminal.child.send(b"\x1a")
    terminal.read_until(b"over\r\n")


def test_the_size_is_the_terminals_and_not_that_of_the_environment(tmp_path: Path) -> None:
    model = tmp_path / "no.gguf"
    model.write_bytes(b"no model")
    homes = {f"XDG_{kind}_HOME": str(tmp_path) for kind in ("CACHE", "CONFIG", "STATE")}
    terminal = Terminal(
        program=["laguna_tui", "--model", str(model)],
        environment={"COLUMNS": "40", "LINES": "10", "SHELL": "/bin/sh", **homes},
    )
    terminal.read_until(("─" * 78).encode())
    terminal.child.setwinsize(30, 100)
    terminal.read_until(("─" * 98).encode())
    # The last row, with the keys.
    terminal.read_until(b"\x1b[30;1H")
    terminal.child.send(b"/shell echo size=[$COLUMNS$LINES]\r")
    terminal.read_until(b"size=[]")
    terminal.child.close(force=True)


SED = "sed -i.bak s/typed/edited/"


@pytest.mark.parametrize(
    ("editor", "shown"),
    [
        (SED, b"edited here"),
        ("false", b"is unchanged: the editor false"),
        ("no-such-editor", b"is unchanged: the editor"),
    ],
)
def test_the_message_is_edited_in_the_users_editor_and_survives_one_that_fails(editor: str, shown: bytes) -> None:
    terminal = Terminal(environment={"VISUAL": editor})
    terminal.read_until(b"ready")
    terminal.child.send(b"typed here")
    terminal.read_until(b"here")
    terminal.written = b""
    terminal.child.send(b"\x07")
    terminal.read_until(shown)
    if editor != SED:
        terminal.read_until(b"typed here")
    terminal.child.close(force=True)
