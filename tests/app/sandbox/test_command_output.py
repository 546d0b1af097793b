"""What a command writes becomes text that a model can read, in bounded memory, and lies whole on disk."""

import errno
import os
import random
import re
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.sandbox import command_output
from laguna_tui.sandbox.command_output import CommandOutput

LIMIT = 1000


@pytest.fixture
def output(tmp_path):
    return CommandOutput(LIMIT, tmp_path / "results")


def text_of(output: CommandOutput, *pieces: bytes) -> str:
    for piece in (*pieces, b""):
        output.feed(piece)
    return output.take()[0]


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([b"10%\r20%\r30%\ndone"], "30%\ndone"),
        ([b"10%\r2", b"0%\r", b"30%\r\n", b"done\r\n"], "30%\ndone\n"),
        ([b"100%\r", b"\x1b[", b"K\ndone"], "\ndone"),
        ([b"building\x1b[2K\x1b[1Gdone\n"], "done\n"),
        ([b"|\b/\b-\bdone"], "done"),
        ([b"N\bNA\bAM\bME\bE"], "NAME"),
    ],
)
def test_only_the_last_state_of_a_progress_bar_is_text(output, pieces, text):
    assert text_of(output, *pieces) == text


@pytest.mark.parametrize(
    "written",
    [
        b"\x1b[1;31mred\x1b[0m",
        b"\x1b[01;31m\x1b[Kred\x1b[m\x1b[K",
        b"\x1b]0;title\x07red",
        b"\x1b]8;;https://example.org\x1b\\red\x1b]8;;\x1b\\",
        b"\x1b(Bred\x1b7\x1b8\x1b=",
        b"red\x1b[31",
    ],
)
def test_escape_sequences_are_removed(output, written):
    assert text_of(output, written) == "red"


@pytest.mark.parametrize(
    "written", [b"\x1b[1;31mred\x1b[0m\r\n", b"\x1b]0;t\x07r\xc3\xa9d\r10%\r20%\n\x1b(B\xe2\x82\xac"]
)
def test_where_pieces_are_cut_makes_no_difference(output, tmp_path, written):
    pieces = [written[at : at + 1] for at in range(len(written))]
    assert text_of(output, *pieces) == text_of(CommandOutput(LIMIT, tmp_path), written)


def test_bytes_that_are_not_utf_8_are_shown_as_bytes(output):
    assert text_of(output, b"caf\xe9, \xe2\x82", b"\xac, \xff\xfe\xfd.") == r"caf\xe9, €, \xff\xfe\xfd."


def test_what_is_shown_while_it_runs_has_no_bytes_that_are_not_utf_8(output):
    assert output.feed(b"caf\xe9\n") == "caf\ufffd\n"


@given(pieces=st.lists(st.binary(max_size=40) | st.sampled_from([b"\r", b"\n", b"\x1b[", b"\b", b"\x1b]"])))
def test_nothing_that_a_terminal_obeys_is_left(tmp_path_factory, pieces):
    text = text_of(CommandOutput(LIMIT, tmp_path_factory.getbasetemp() / "given"), *pieces)
    assert not [each for each in text if (each < " " and each not in "\n\t") or "\x7f" <= each <= "\x9f"]


def test_head_and_tail_of_a_long_text_are_kept_in_whole_lines(output):
    lines = [f"line {number}" for number in range(1000)]
    text = text_of(output, "\n".join(lines).encode())
    head, _, tail = text.partition("\n… ")
    left_out, _, tail = tail.partition("\n")
    assert lines[: len(head.splitlines())] == head.splitlines()
    assert lines[-len(tail.splitlines()) :] == tail.splitlines()
    assert left_out == f"{len(chr(10).join(lines)) - len(head) - 1 - len(tail):,} characters left out here …"
    assert LIMIT * 0.9 < len(text) < LIMIT * 1.1


def test_head_and_tail_of_an_endless_line_are_kept(output):
    text = text_of(output, b"begin", *[b"x" * 100_000] * 20, b"end")
    assert text.startswith("beginxxx")
    assert text.endswith("xxxend")
    assert "1,999,008 characters left out" in text


def test_a_flood_takes_bounded_memory(output):
    for _ in range(300):
        output.feed(b"x" * 65536)
        output.feed(b"\x1b]" + b"y" * 65536)
    assert (
        sum(len(value) for value in (*vars(output).values(), *vars(output._text).values()) if isinstance(value, str))
        < 250_000
    )


def test_the_file_has_the_bytes_and_is_private(output):
    written = b"\x1b[31mred\x1b[0m\r\xff\n" * 1000
    text_of(output, written)
    path = output.close(keep=True)
    assert path.read_bytes() == written
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_is_not_needed_is_removed(output, tmp_path):
    text_of(output, b"short")
    assert output.close(keep=False) is None
    assert not list((tmp_path / "results").iterdir())


def test_the_file_has_a_limit_that_is_counted(output, monkeypatch):
    monkeypatch.setattr(command_output, "MAX_FILE_BYTES", 10)
    assert text_of(output, b"12345678", b"90abc", b"de") == "1234567890abcde"
    assert output.close(keep=True).read_bytes() == b"12345678"
    assert output.dropped == 7


def test_a_full_disk_costs_only_the_file(output, monkeypatch, tmp_path):
    output.feed(b"before ")

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(command_output.os, "write", full)
    assert text_of(output, b"and after") == "before and after"
    assert output.close(keep=True) is None
    assert not list((tmp_path / "results").iterdir())


IMAGE = bytes(range(256)) * 12
"""It has line breaks, carriage returns and escapes in it."""


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (IMAGE, "[3,072 bytes that are not text]\n"),
        (b"before\n" + IMAGE + b"\nafter\n", "before\n[3,073 bytes that are not text]\nafter\n"),
        (bytes(3000), "[3,000 bytes that are not text]\n"),
        (b"\x7fELF\x02\x01\n", "\\x7fELF\\x02\\x01\n"),
        (b"a.txt\0dir/b c.txt\0", r"a.txt\x00dir/b c.txt\x00"),
        (b"a\0b\0", r"a\x00b\x00"),
        (b" M a.py\0?? \xc3\xa9.py\0", r" M a.py\x00?? é.py\x00"),
        ("fehlt: Größe\n".encode("latin-1"), "fehlt: Gr\\xf6\\xdfe\n"),
        ("テスト ok\n".encode("shift-jis"), "\\x83e\\x83X\\x83g ok\n"),
        ("begin, größer\r\n\r\nthe end\r\n".encode("utf-16"), "begin, größer\n\nthe end\n"),
        ("begin, größer\nthe end\n".encode("utf-16-le"), "begin, größer\nthe end\n"),
        ("begin, größer\nthe end\n".encode("utf-16-be"), "begin, größer\nthe end\n"),
        ("\ufeffbegin, größer\nthe end\n".encode("utf-16-be") + b"done\n", "begin, größer\nthe end\ndone\n"),
    ],
)
def test_text_beside_binary_bytes_is_kept(output, tmp_path, written, text):
    assert text_of(output, written) == text
    assert text_of(CommandOutput(LIMIT, tmp_path), *(written[at : at + 1] for at in range(len(written)))) == text
    assert output.left_out is ("not text" in text)


def test_random_bytes_are_counted(output):
    text = text_of(output, random.Random(71).randbytes(5000))
    assert re.fullmatch(r"\[5,000 bytes that are not text]\n", text)


def test_a_flood_of_bytes_without_line_breaks_is_counted(output):
    for _ in range(30):
        output.feed(b"\xff\xd8\x01\x02" * 25_000)
    assert text_of(output, b"\nend\n") == "[3,000,000 bytes that are not text]\n\nend\n"


def test_each_part_is_returned_once(output):
    output.feed(b"one\ntwo, \x1b[")
    assert output.take() == ("one\ntwo, ", False)
    output.feed(b"31mthree\n")
    assert output.take() == ("three\n", False)
    assert output.take() == ("", False)
