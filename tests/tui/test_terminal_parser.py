"""What a terminal reports is never taken for a key, however slowly it arrives; what a user presses is never lost."""

import random
from collections.abc import Iterable, Sequence
from itertools import combinations

import pytest
from textual import events
from textual.message import Message

from laguna_tui.tui.terminal_parser import REMOTE_ESCAPE_S, TerminalParser, escape_delay

LOCAL_ESCAPE_S = 0.1
POLL_MS = 101
"""The driver asks for what has expired after waiting 100 ms, which takes a little longer, and after every read."""
GAPS_MS = (5, 20, 60, 99, 120, 200, 350, 500)
KITTY = "\x1b[?13u"

MOUSE = {
    "move": "\x1b[<35;20;10M",
    "press": "\x1b[<0;1;1M",
    "release": "\x1b[<0;1;1m",
    "drag": "\x1b[<32;120;40M",
    "wheel": "\x1b[<64;20;10M",
    "wheel with Ctrl": "\x1b[<81;20;10M",
    "in pixels": "\x1b[<35;1820;1010M",
    "outside of the window": "\x1b[<35;-1;-2M",
    "urxvt": "\x1b[35;20;10M",
    "X10": "\x1b[M#4*",
    "X10 in a large terminal": "\x1b[M \x7fé",
}
FOCUS = {"focus": "\x1b[I", "no focus": "\x1b[O"}
ANSWERS = {
    "window resized": "\x1b[48;40;120;800;1600t",
    "window resized, with sub-parameters": "\x1b[48;40:1;120:1;800:1;1600:1t",
    "synchronised output": "\x1b[?2026;2$y",
    "an unknown mode": "\x1b[?9999;0$y",
    "an ANSI mode": "\x1b[20;2$y",
    "cursor position": "\x1b[12;40R",
    "cursor position and page": "\x1b[?12;40;1R",
}
UNASKED = {
    "a colour of the palette": "\x1b]4;7;rgb:d3d3/d7d7/cfcf\x1b\\",
    "foreground": "\x1b]10;rgb:ffff/ffff/ffff\x07",
    "background": "\x1b]11;rgb:0000/0000/0000\x1b\\",
    "cursor colour": "\x1b]12;#ffffff\x07",
    "clipboard": "\x1b]52;c;aGVsbG8gd29ybGQ=\x1b\\",
    "empty clipboard": "\x1b]52;c;\x07",
    "notification closed": "\x1b]99;i=1:p=close;\x1b\\",
    "iTerm2's cell size": "\x1b]1337;ReportCellSize=18.0;8.5;2.0\x1b\\",
    "window title": "\x1b]lsome title, with [brackets] é\x1b\\",
    "icon title": "\x1b]LIcon\x1b\\",
    "primary attributes": "\x1b[?62;22;52c",
    "secondary attributes": "\x1b[>1;7600;0c",
    "tertiary attributes": "\x1bP!|7E565445\x1b\\",
    "version": "\x1bP>|tmux 3.4\x1b\\",
    "terminfo": "\x1bP1+r544e=787465726d2d323536636f6c6f72\x1b\\",
    "no terminfo": "\x1bP0+r\x1b\\",
    "a setting": "\x1bP1$r0 q\x1b\\",
    "an unknown setting": "\x1bP0$r\x1b\\",
    "checksum": "\x1bP1!~1A2B\x1b\\",
    "kitty's remote control": '\x1bP@kitty-cmd{"ok":true}\x1b\\',
    "kitty's graphics": "\x1b_Gi=31;OK\x1b\\",
    "status": "\x1b[0n",
    "colour scheme": "\x1b[?997;1n",
    "printer": "\x1b[?13n",
    "key format": "\x1b[>4;2m",
    "window state": "\x1b[1t",
    "window position": "\x1b[3;0;25t",
    "window size": "\x1b[8;24;80t",
    "cell size": "\x1b[6;18;8t",
    "terminal parameters": "\x1b[2;1;1;120;120;1;0x",
    "locator": "\x1b[1;2;3;4;0&w",
    "end of a paste": "\x1b[201~",
    "a long reply": f"\x1b[?{';'.join('12345678')};1234567890;1234567890c",
}
REPORTS = MOUSE | FOCUS | ANSWERS | UNASKED | {"the kitty protocol": KITTY, "no kitty protocol": "\x1b[?0u"}
INTRODUCERS = {"CSI": "\x1b[", "OSC": "\x1b]", "DCS": "\x1bP", "APC": "\x1b_", "SS3": "\x1bO"}


class Link:
    """A parser behind a link, polled as the driver does it, with a clock that only moves in `wait`.

    Attributes:
        messages: what the parser has reported.
    """

    def __init__(self, delay: float = LOCAL_ESCAPE_S) -> None:
        self._ms = 0
        self.parser = TerminalParser(delay=delay, clock=lambda: self._ms / 1000)
        self.messages: list[Message] = []

    def read(self, data: str) -> "Link":
        self.messages += self.parser.feed(data)
        return self.poll()

    def poll(self) -> "Link":
        self.messages += self.parser.tick()
        return self

    def wait(self, milliseconds: int) -> "Link":
        end = self._ms + milliseconds
        while self._ms + POLL_MS < end:
            self._ms += POLL_MS
            self.poll()
        self._ms = end
        return self

    def send(self, pieces: Iterable[str], gap: int) -> "Link":
        for number, piece in enumerate(pieces):
            self.wait(gap if number else 0).read(piece)
        return self

    @property
    def keys(self) -> list[str]:
        return [message.key for message in self.messages if isinstance(message, events.Key)]

    @property
    def typed(self) -> str:
        """The printable keys as text."""
        keys = [message for message in self.messages if isinstance(message, events.Key) and message.is_printable]
        return "".join(key.character or "" for key in keys)

    @property
    def pastes(self) -> list[str]:
        return [message.text for message in self.messages if isinstance(message, events.Paste)]

    @property
    def others(self) -> list[type[Message]]:
        """The messages that are no keys."""
        return [type(message) for message in self.messages if not isinstance(message, events.Key)]


def cut(text: str, *places: int) -> Sequence[str]:
    return [text[start:end] for start, end in zip((0, *places), (*places, None), strict=True)]


def remote() -> Link:
    return Link(REMOTE_ESCAPE_S)


def with_kitty() -> Link:
    return Link().read(KITTY)


LINKS = {"local": Link, "remote": remote, "with the kitty protocol": with_kitty}


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_a_report_that_is_cut_anywhere_is_no_key_and_means_what_it_means_whole(link: type[Link], report: str) -> None:
    whole = link().read(report)
    assert whole.keys == []
    for place in range(1, len(report)):
        for gap in GAPS_MS:
            after = link().send(cut(report, place), gap)
            # Only an ESC that nothing has followed for the whole delay may be the Esc key.
            alone = link is Link and place == 1 and gap > LOCAL_ESCAPE_S * 1000
            assert (after.keys, after.others) == (["escape"] if alone else [], whole.others), (place, gap)
            assert after.wait(gap).read("a").keys[-1:] == ["a"]
            assert after.typed == "a"


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_a_report_that_arrives_byte_by_byte_is_no_key(link: type[Link], report: str) -> None:
    for gap in GAPS_MS:
        after = link().send(report, gap)
        alone = link is Link and gap > LOCAL_ESCAPE_S * 1000
        assert (after.keys, after.others) == (["escape"] if alone else [], link().read(report).others), gap


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
@pytest.mark.sampled(3)
def test_a_report_in_three_pieces_types_nothing(report: str) -> None:
    for places in combinations(range(1, len(report)), 2):
        for gap in (30, 120, 500):
            assert Link().send(cut(report, *places), gap).wait(1500).typed == ""


@pytest.mark.parametrize("report", (REPORTS | INTRODUCERS).values(), ids=REPORTS | INTRODUCERS)
@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_a_report_that_never_ends_is_dropped_after_a_second(link: type[Link], report: str) -> None:
    for length in range(2, len(report)):
        after = link().read(report[:length]).wait(1100).poll().read("a")
        assert after.keys == ["a"]


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_another_report_ends_one_that_was_cut_off(report: str) -> None:
    for length in range(2, len(report)):
        after = Link().read(report[:length] + MOUSE["move"])
        assert after.keys == []
        assert after.others[-1:] == [events.MouseMove]


def test_reports_in_any_order_and_in_any_pieces_are_no_keys() -> None:
    random.seed(7)
    for _ in range(200):
        text = "".join(random.choices([*REPORTS.values()], k=12))
        places = sorted(random.sample(range(1, len(text)), 8))
        assert remote().send(cut(text, *places), random.choice([5, 60, 200, 450])).wait(1500).typed == ""


def test_a_clipboard_of_megabytes_is_swallowed() -> None:
    link = Link().read("\x1b]52;c;")
    for _ in range(300):
        link.read("QUJD" * 1024)
    assert link.read("QUJD\x1b").read("\\a").keys == ["a"]


@pytest.mark.parametrize("report", UNASKED.values(), ids=UNASKED)
def test_keys_around_a_report_are_read(report: str) -> None:
    assert Link().read(f"ab{report}c").keys == ["a", "b", "c"]


# -- the Esc key


@pytest.mark.parametrize(("link", "milliseconds"), [(Link, 100), (remote, 500)], ids=["local", "remote"])
def test_a_lone_esc_is_the_key_after_its_wait(link: type[Link], milliseconds: int) -> None:
    esc = link().read("\x1b")
    assert esc.wait(milliseconds).poll().keys == []
    assert esc.wait(1).poll().keys == ["escape"]
    assert esc.wait(2000).read("a").keys == ["escape", "a"]


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({}, LOCAL_ESCAPE_S),
        ({"SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 22"}, REMOTE_ESCAPE_S),
        ({"SSH_TTY": "/dev/pts/1"}, REMOTE_ESCAPE_S),
        ({"MOSH_SERVER_PID": "7"}, REMOTE_ESCAPE_S),
        ({"SSH_TTY": "/dev/pts/1", "ESCDELAY": "100"}, LOCAL_ESCAPE_S),
    ],
)
def test_the_wait_is_longer_over_a_network(environment: dict[str, str], seconds: float) -> None:
    assert escape_delay(environment) == seconds


def test_esc_twice_in_one_read_is_two_keys() -> None:
    assert Link().read("\x1b\x1b").wait(200).poll().keys == ["escape", "escape"]


def test_esc_before_a_report_is_a_key() -> None:
    link = Link().read("\x1b\x1b[<35;20;10M")
    assert (link.keys, link.others) == (["escape"], [events.MouseMove])


@pytest.mark.parametrize("link", [Link, remote], ids=["local", "remote"])
@pytest.mark.parametrize("gap", [60, 120, 400, 900])
@pytest.mark.parametrize(
    "text",
    ["no, wait", "but why", "[x] this", "[1] is wrong", "[All", "OK", "Please", "P.S.", "]", "_x = 1", "1", "\t", "é"],
)
def test_what_is_typed_fast_after_esc_is_not_lost(link: type[Link], gap: int, text: str) -> None:
    after = link().read("\x1b").wait(gap).send(text, 30).wait(1500).poll()
    assert after.keys[0] == "escape"
    assert after.keys.count("escape") == 1
    assert after.typed == text.strip("\t")
    assert ("tab" in after.keys) == ("\t" in text)


def test_with_the_kitty_protocol_only_its_own_report_is_esc() -> None:
    assert with_kitty().read("\x1b").wait(2000).keys == []
    assert with_kitty().read("\x1b[27u").keys == ["escape"]


def test_a_lone_esc_disproves_the_kitty_protocol() -> None:
    """A late reply to another program must not disable the key."""
    link = with_kitty().read("\x1b").wait(2000).poll()
    assert link.read("\x1b").wait(200).poll().keys == ["escape"]


@pytest.mark.parametrize("flags", [0, 2, 8])
def test_a_protocol_without_disambiguation_leaves_esc_as_it_was(flags: int) -> None:
    assert Link().read(f"\x1b[?{flags}u").read("\x1b").wait(200).poll().keys == ["escape"]


# -- other keys


@pytest.mark.parametrize(
    ("sequence", "key"),
    [
        ("\x1ba", "alt+a"),
        ("\x1bA", "alt+shift+a"),
        ("\x1bx", "alt+x"),
        ("\x1bb", "ctrl+left"),
        ("\x1b\r", "ctrl+j"),
        ("\x1b\x7f", "ctrl+w"),
        ("\x1b[A", "up"),
        ("\x1bOP", "f1"),
        ("\x1b[[A", "f1"),
        ("\x1b[3$", "shift+delete"),
        ("\x1b[1;5C", "ctrl+right"),
        ("\x1b[97;5u", "ctrl+a"),
        ("\x1b[27;2;13~", "shift+\r"),
    ],
)
@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_a_key_is_reported_at_once(link: type[Link], sequence: str, key: str) -> None:
    assert link().read(sequence).keys == [key]
    assert link().read(f"{sequence}b").keys == [key, "b"]


def test_a_key_whose_esc_came_long_before_it_is_not_typed() -> None:
    assert Link().read("\x1b").wait(120).read("[A").keys == ["escape", "up"]
    assert remote().read("\x1b").wait(120).read("[A").keys == ["up"]


def test_a_long_text_of_an_input_method_is_one_key_for_each_character() -> None:
    assert Link().read("\x1b[0;;128105:127997:8205:128187:128105u").typed == "👩🏽💻👩"


@pytest.mark.parametrize("unfinished", ["\x1b[<35;2", "\x1b]11;rgb:", "\x1bP>|tm", "\x1b_Gi", "\x1b[", "\x1bO"])
def test_ctrl_c_is_read_in_the_middle_of_a_report(unfinished: str) -> None:
    assert "ctrl+c" in Link().read(unfinished).wait(50).read("\x03").keys


# -- pastes

START, END = "\x1b[200~", "\x1b[201~"


@pytest.mark.parametrize(
    "text",
    ["", "two\rlines", "tab\tand é日👩", "\x1b[31mred\x1b[0m \x1b", f"half an end {END[:5]}", "word " * 3000],
    ids=["empty", "lines", "tab", "escapes", "half an end", "long"],
)
def test_a_paste_is_its_text_wherever_it_is_cut(text: str) -> None:
    whole = f"{START}{text}{END}"
    places = range(1, len(whole)) if len(whole) < 100 else (3, 6, 4000, len(whole) - 3)
    for place in places:
        for gap in (5, 400):
            link = remote().send(cut(whole, place), gap)
            assert (link.pastes, link.keys) == ([text], [])
            assert link.wait(100).read("a").keys == ["a"]


@pytest.mark.parametrize(
    ("after", "text"),
    [
        ("\r!touch X\r", "\r!touch X\r"),
        (f"\r!touch X\r{END}", "\r!touch X\r"),
        ("\x1b[13u", "\r"),
        ("\x1b[13;5u", ""),
        ("\x1bOM", ""),
        ("\x1b[Z\x1b[Zy", "y"),
        ("\x11\x1b\x1b", ""),
    ],
    ids=["Enter", "Enter and an end", "kitty's Enter", "Ctrl+Enter", "Enter of the keypad", "modes", "Ctrl+Q and Esc"],
)
def test_what_follows_the_end_of_a_paste_at_once_is_pasted_too(after: str, text: str) -> None:
    link = Link().read(f"{START}harmless{END}{after}")
    assert link.keys == []
    assert "".join(link.pastes) == f"harmless{text}"
    # One read may end with the paste, and the next one follows at once.
    link = Link().read(f"{START}harmless{END}").wait(10).read(after)
    assert link.keys == []
    assert "".join(link.pastes) == f"harmless{text}"


def test_enter_after_a_paste_is_the_key() -> None:
    assert Link().read(f"{START}a question{END}").wait(50).read("\r").keys == ["enter"]


def test_a_paste_without_an_end_ends_after_two_seconds() -> None:
    link = Link().read(f"{START}lost").wait(1900).poll()
    assert link.pastes == []
    assert link.wait(300).poll().pastes == ["lost"]
    assert link.read("a\r").keys == ["a", "enter"]


@pytest.mark.parametrize("key", ["\x03", "\x1b[99;5u", "\x1b[99;69u"])
def test_ctrl_c_is_read_in_a_paste_without_an_end(key: str) -> None:
    link = Link().read(f"{START}lost").wait(50).read(key)
    assert link.keys == ["ctrl+c"]
    assert link.wait(2200).poll().pastes == ["lost"]


def test_ctrl_c_is_read_right_after_a_paste() -> None:
    assert Link().read(f"{START}text{END}\x03").keys == ["ctrl+c"]
