"""Decoding a file's bytes to text and back without loss: encoding, byte order mark and newlines are kept."""

import codecs
import os
from dataclasses import dataclass

from laguna_tui.repo.root_folder import RootFolder

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
# Latin-1 maps every byte to a character, so the last attempt cannot fail and is lossless.
_WITHOUT_BOM = ("utf-8", "cp1252", "latin-1")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text with everything needed to write the same bytes again. `text` keeps its newlines."""

    text: str
    encoding: str
    bom: bytes = b""

    @property
    def newline(self) -> str:
        r"""The newline of the lines: "\r\n" when every one is, "\r" in files without "\n", else "\n"."""
        if "\n" not in self.text:
            return "\r" if "\r" in self.text else "\n"
        return "\r\n" if self.text.count("\r\n") == self.text.count("\n") else "\n"

    def lines(self) -> list[str]:
        """Return the lines without their newlines; a newline at the end starts no further line."""
        return split_lines(self.text)

    def encode(self, text: str) -> bytes:
        """Encode a changed text in the file's encoding.

        Raises:
            UnicodeEncodeError: The text has a character that the encoding lacks.
        """
        return self.bom + text.encode(self.encoding)


def decode(data: bytes) -> TextFile:
    """Decode a file's bytes: by the byte order mark, else as UTF-8, else Windows-1252, else Latin-1."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return TextFile(data[len(bom) :].decode(encoding), encoding, bom)
            except UnicodeDecodeError:
                continue
    for encoding in _WITHOUT_BOM[:-1]:
        try:
            return TextFile(data.decode(encoding), encoding)
        except UnicodeDecodeError:
            continue
    return TextFile(data.decode(_WITHOUT_BOM[-1]), _WITHOUT_BOM[-1])


def has_wide_bom(data: bytes) -> bool:
    """Whether the bytes begin with a UTF-16 or UTF-32 mark, so that NUL bytes are part of the text."""
    return any(data.startswith(bom) for bom, encoding in _BOMS if encoding != "utf-8")


def is_binary(data: bytes) -> bool:
    """Whether the bytes are binary: a NUL near the start, without a byte order mark that explains it."""
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


def lines_below(tree: RootFolder, path: str) -> list[str]:
    """Return the lines of a file of an index as it is now; none when it is gone, too large or no text."""
    try:
        with os.fdopen(tree.open(path), "rb") as file:
            data = file.read(INDEXED_BYTES + 1)
    except OSError:
        return []
    return [] if len(data) > INDEXED_BYTES or is_binary(data) else split_lines(decode(data).text)
