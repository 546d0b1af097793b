"""Decoding a file's bytes to text and back without loss: encoding, byte order mark, newlines and stray bytes stay."""

import codecs
import os
import re
from dataclasses import dataclass, replace

from laguna_tui.repo.files.root_folder import RootFolder

INDEXED_BYTES = 2 * 1024 * 1024
"""Longer files are data: the index has their names, not their text."""

# git and ripgrep search this many bytes for a NUL before they treat a file as binary.
SNIFF_BYTES = 8192

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    # The UTF-32 marks begin with the UTF-16 ones, so they are tried first.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# A byte that is invalid in a file's encoding becomes this private character plus its value.
_RAW_BASE = 0x10FE00
_RAW = re.compile(f"([{chr(_RAW_BASE)}-{chr(_RAW_BASE + 0xFF)}]+)")
_RAW_ERRORS = "laguna-raw-bytes"
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
# PEP 263, which Emacs, Vim and Ruby understand too: in a comment of the first two lines.
_CODING_LINES = re.compile(rb"(?:[^\n]*\n)??[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
_BLANK_OR_COMMENT = re.compile(rb"[ \t\f]*(?:#[^\r\n]*)?(?:\r?\n|\r)")
_XML_DECLARATION = re.compile(rb"<\?xml\s[^>]*?\sencoding\s*=\s*[\"']([-\w.]+)[\"']")
_DECLARED_IN_BYTES = 400
# Python's other codecs are not encodings of files, or take quadratic time.
_ENCODINGS = re.compile(
    r"utf-8|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|mac-[a-z]+|shift_jis\w*|euc_\w+|iso2022_\w+|gb2312|gbk|gb18030"
    r"|big5\w*|johab|tis-620|kz1048|ptcp154|hp-roman8"
)
_ASCII_SIGNS = "#<=:\n"


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text with everything needed to write the same bytes again.

    Attributes:
        text: keeps its newlines.
        encoding: name of the codec.
        bom: the byte order mark.
        declared: the encoding that the text itself declares; empty for none.
        guessed: nothing says that the encoding is this one.
        raw_bytes: the text has private characters for bytes that are none of the encoding.
    """

    text: str
    encoding: str
    bom: bytes = b""
    declared: str = ""
    guessed: bool = False
    raw_bytes: bool = False

    def lines(self) -> list[str]:
        """Return the lines without their newlines; a newline at the end starts no further line."""
        return split_lines(self.text)

    def encode(self, text: str) -> bytes:
        """Encode a changed text in the file's encoding.

        Raises:
            UnicodeEncodeError: The text has a character that the encoding lacks, or that stands for a byte which would
                be read as another character there: what was shown would not be what is written.
        """
        if not self.raw_bytes:
            return self.bom + text.encode(self.encoding)
        data = _with_raw_bytes(text, self.encoding)
        if data.decode(self.encoding, _RAW_ERRORS) != text and (found := _RAW.search(text)):
            raise UnicodeEncodeError(self.encoding, text, *found.span(), "it would be read as another character")
        return self.bom + data

    def redeclared(self, text: str) -> "TextFile":
        """Return the file with the encoding that a changed text declares, if it declares another one."""
        declared = _declared_in(text)
        if self.bom or declared == _declared_in(self.text):
            return self
        return replace(self, encoding=declared or "utf-8", declared=declared, guessed=False)


def decode(data: bytes) -> TextFile:
    """Decode a file's bytes.

    By the byte order mark, else as the text declares, else as UTF-8, even if a few bytes are none. What is left is
    guessed: Windows-1252, else Latin-1.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom) and (file := _decoded(data[len(bom) :], encoding)) is not None:
            return replace(file, bom=bom)
    declared = declared_encoding(data)
    if declared and (file := _decoded(data, declared)) is not None and not (declared == "ascii" and file.raw_bytes):
        return replace(file, declared=declared)
    utf8 = _decoded(data, "utf-8")
    if utf8 is not None and (not utf8.raw_bytes or _is_mostly_text(utf8.text)):
        return utf8
    try:
        return TextFile(data.decode("cp1252"), "cp1252", guessed=True)
    except UnicodeDecodeError:
        # Latin-1 maps every byte to a character.
        return TextFile(data.decode("latin-1"), "latin-1", guessed=True)


def declared_encoding(data: bytes) -> str:
    """Return the codec of the encoding that a text declares in its first lines; empty for none that can be used."""
    head = data[:_DECLARED_IN_BYTES]
    found = _XML_DECLARATION.match(head)
    if found is None and b"coding" in head:
        found = _CODING_LINES.match(head)
        first = _BLANK_OR_COMMENT.match(head)
        # The second line counts behind a blank line or a comment only.
        if found is not None and b"\n" in head[: found.start(1)] and first is None:
            return ""
    return _codec(found[1].decode("ascii")) if found is not None else ""


def _declared_in(text: str) -> str:
    return declared_encoding(text[:_DECLARED_IN_BYTES].encode("utf-8", "replace"))


def _codec(name: str) -> str:
    """Return the codec of an encoding in which ASCII is ASCII; empty if files do not use it."""
    name = re.sub(r"-(unix|dos|mac)$", "", name.lower().replace("_", "-"))
    try:
        codec = codecs.lookup(name).name
        usable = _ENCODINGS.fullmatch(codec) and _ASCII_SIGNS.encode(codec) == _ASCII_SIGNS.encode()
    except (LookupError, UnicodeError):
        return ""
    return codec if usable else ""


def _decoded(data: bytes, encoding: str) -> TextFile | None:
    """Return the text, with private characters for invalid bytes; None if it cannot be encoded to the same bytes."""
    try:
        text, raw = data.decode(encoding), False
    except UnicodeDecodeError:
        try:
            text, raw = data.decode(encoding, _RAW_ERRORS), True
        except UnicodeDecodeError:
            return None
    if encoding != "utf-8" or raw:  # else there is only one way to write it
        try:
            if (_with_raw_bytes(text, encoding) if raw else text.encode(encoding)) != data:
                return None
        except UnicodeEncodeError:
            return None
    return TextFile(text, encoding, raw_bytes=raw)


def _with_raw_bytes(text: str, encoding: str) -> bytes:
    return b"".join(
        bytes(ord(letter) - _RAW_BASE for letter in piece) if at % 2 else piece.encode(encoding)
        for at, piece in enumerate(_RAW.split(text))
    )


def _raw_bytes(error: UnicodeError) -> tuple[str, int]:
    """Return private characters for bytes that are not text: an error handler for decoding."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(_RAW_BASE + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_RAW_ERRORS, _raw_bytes)


def _is_mostly_text(text: str) -> bool:
    """Return whether a text in UTF-8 has as many characters beyond ASCII as bytes that are none.

    In other encodings, letters beyond ASCII are nearly always wrong UTF-8.
    """
    raw = sum(map(len, _RAW.findall(text)))
    return len(_BEYOND_ASCII.findall(text)) >= 2 * raw


def has_wide_bom(data: bytes) -> bool:
    """Return whether the bytes begin with a UTF-16 or UTF-32 mark, so that NUL bytes are part of the text."""
    return any(data.startswith(bom) for bom, encoding in _BOMS if encoding != "utf-8")


def is_binary(data: bytes) -> bool:
    """Return whether the bytes are binary: a NUL near the start, without a byte order mark that explains it."""
    return b"\0" in data[:SNIFF_BYTES] and not has_wide_bom(data)


def split_lines(text: str) -> list[str]:
    r"""Split at newlines as editors and git count them: "\n" or "\r\n"; "\r" only in a text without "\n".

    `str.splitlines` would also split at form feeds and other characters, and the line numbers would be wrong.
    """
    newline = "\n" if "\n" in text else "\r"
    lines = text.split(newline)
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def line_starts(text: str) -> list[int]:
    r"""Return the offset of each line as `split_lines` counts them, and of an empty one after a newline at the end."""
    newline = "\n" if "\n" in text else "\r"
    starts = [0]
    while (at := text.find(newline, starts[-1])) >= 0:
        starts.append(at + 1)
    return starts


def lines_below(tree: RootFolder, path: str) -> list[str]:
    """Return the lines of a file of an index as it is now; none when it is gone, too large or no text."""
    try:
        with os.fdopen(tree.open(path), "rb") as file:
            data = file.read(INDEXED_BYTES + 1)
    except OSError:
        return []
    return [] if len(data) > INDEXED_BYTES or is_binary(data) else split_lines(decode(data).text)
