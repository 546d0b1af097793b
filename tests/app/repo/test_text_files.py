"""A file's text is read and written back without changing a byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.repo.text_files import decode, is_binary, split_lines


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        ("é\n".encode(), "é\n", "utf-8"),
        (b"\xef\xbb\xbfhi", "hi", "utf-8"),
        ("hi é".encode("utf-16"), "hi é", "utf-16-le"),
        (b"\xfe\xff" + "hi".encode("utf-16-be"), "hi", "utf-16-be"),
        ("hi".encode("utf-32"), "hi", "utf-32-le"),
        (b"caf\xe9 \x93quoted\x94", "café “quoted”", "cp1252"),
        (b"\x81\xe9", "\x81é", "latin-1"),
        (b"", "", "utf-8"),
    ],
)
def test_text_is_read_in_its_own_encoding(data, text, encoding):
    file = decode(data)
    assert (file.text, file.encoding) == (text, encoding)
    assert file.encode(file.text) == data


@given(st.binary(max_size=200) | st.text().map(lambda t: t.encode("utf-16", "surrogatepass")))
def test_any_bytes_come_back_exactly(data):
    file = decode(data)
    assert file.encode(file.text) == data


@pytest.mark.parametrize(
    ("text", "lines", "newline"),
    [
        ("a\nb\n", ["a", "b"], "\n"),
        ("a\r\nb\r\n", ["a", "b"], "\r\n"),
        ("a\rb", ["a", "b"], "\r"),
        ("a\r\nb\n", ["a", "b"], "\n"),
        ("a\x0cb\u2028c\x85d", ["a\x0cb\u2028c\x85d"], "\n"),
        ("", [], "\n"),
        ("\n\n", ["", ""], "\n"),
    ],
)
def test_lines_are_counted_as_editors_count_them(text, lines, newline):
    assert split_lines(text) == lines
    assert decode(text.encode()).newline == newline


def test_a_nul_means_binary_unless_a_byte_order_mark_explains_it():
    assert is_binary(b"\x7fELF\0\0")
    assert not is_binary("wide".encode("utf-16"))
    assert not is_binary(b"text")
