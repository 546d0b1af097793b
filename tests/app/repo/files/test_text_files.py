"""A file's text is read and written back without changing a byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.repo.files.text_files import decode, is_binary, split_lines


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


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"# coding: latin-1\n\xe9", "# coding: latin-1\né", "iso8859-1"),
        (b"# coding: latin-1\nx", "# coding: latin-1\nx", "iso8859-1"),
        (b"# coding: latin-1\n\xc3\xa9", "# coding: latin-1\nÃ©", "iso8859-1"),
        (b"#!/usr/bin/python\n# -*- coding: cp1251-unix -*-\n\xff", None, "cp1251"),
        (
            "# vim: set fileencoding=shift_jis :\n表".encode("shift_jis"),
            "# vim: set fileencoding=shift_jis :\n表",
            "shift_jis",
        ),
        (b"x = 1\n# coding: latin-1\n\xc3\xa9", "x = 1\n# coding: latin-1\né", "utf-8"),
        (b"\n\n# coding: latin-1\n\xc3\xa9", "\n\n# coding: latin-1\né", "utf-8"),
        (
            b'<?xml version="1.0" encoding="ISO-8859-2"?>\n\xb1',
            '<?xml version="1.0" encoding="ISO-8859-2"?>\ną',
            "iso8859-2",
        ),
        (b"# coding: utf-16\n\xc3\xa9", "# coding: utf-16\né", "utf-8"),
        (b"# coding: punycode\n\xc3\xa9", "# coding: punycode\né", "utf-8"),
        (b"# coding: nonsense\n\xc3\xa9", "# coding: nonsense\né", "utf-8"),
        (b"# coding: ascii\n\xc3\xa9", "# coding: ascii\né", "utf-8"),
        (b"\xef\xbb\xbf# coding: latin-1\n\xc3\xa9", "# coding: latin-1\né", "utf-8"),
    ],
)
def test_a_declared_encoding_counts(data, text, encoding):
    file = decode(data)
    assert file.encoding == encoding
    assert file.text == text or text is None
    assert not file.guessed
    assert file.encode(file.text) == data


@pytest.mark.parametrize("bad", [b"\xe9", b"\xff\xfe", b"\xe2\x82", b"\xed\xa0\x80"])
def test_a_file_in_utf8_but_for_some_bytes_stays_so_and_keeps_them(bad):
    data = "Grüße, 世界, ".encode() + bad + " и мир\n".encode()
    file = decode(data)
    assert (file.encoding, file.guessed) == ("utf-8", False)
    assert file.encode(file.text + "é") == data + "é".encode()


@pytest.mark.parametrize(
    "bytes_", [b"\n", b"$(x)", b"\xe2\x80\xae", b"\xc3\xa9"], ids=["line", "code", "override", "é"]
)
def test_characters_that_stand_for_bytes_cannot_hide_what_is_written(bytes_):
    file = decode("Grüße ".encode() + b"\xe9\n")
    hidden = "".join(chr(0x10FE00 + byte) for byte in bytes_)
    with pytest.raises(UnicodeEncodeError):
        file.encode(f"# {hidden}{file.text}")
    assert file.encode(f"{file.text}é") == "Grüße ".encode() + b"\xe9\n" + "é".encode()


@pytest.mark.parametrize(
    "data",
    [
        "surtaxé\n".encode("latin-1"),
        "これは日本語です".encode("shift_jis"),
        "한국어 문서입니다".encode("euc-kr"),
        "中文文件".encode("gbk"),
    ],
)
def test_another_encoding_that_nothing_names_is_a_guess(data):
    file = decode(data)
    assert file.guessed
    assert file.encode(file.text) == data


@given(st.binary(max_size=200).map(lambda data: "ü\U0010feff".encode() * 3 + data))
def test_characters_that_stand_for_bytes_are_told_from_those_of_a_file(data):
    assert decode(data).encode(decode(data).text) == data


@given(st.binary(max_size=200) | st.text().map(lambda t: t.encode("utf-16", "surrogatepass")))
def test_any_bytes_come_back_exactly(data):
    file = decode(data)
    assert file.encode(file.text) == data


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nb\n", ["a", "b"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb", ["a", "b"]),
        ("a\r\nb\n", ["a", "b"]),
        ("a\x0cb\u2028c\x85d", ["a\x0cb\u2028c\x85d"]),
        ("", []),
        ("\n\n", ["", ""]),
    ],
)
def test_lines_are_counted_as_editors_count_them(text, lines):
    assert split_lines(text) == lines


def test_a_nul_means_binary_unless_a_byte_order_mark_explains_it():
    assert is_binary(b"\x7fELF\0\0")
    assert not is_binary("wide".encode("utf-16"))
    assert not is_binary(b"text")
