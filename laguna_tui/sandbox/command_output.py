r"""A command's output: all of it on disk, and as the text of which a model reads the head and the tail.

Terminals obey some of what programs write, and models read it badly. So the text has no escape sequences, a
progress bar is what is left in its line at the end, single bytes that are not text are `\x00`, and lines of them are
counted. Whatever a command writes, and however much, the memory it takes is bounded.
"""

import codecs
import json
import os
import re
import tempfile
from pathlib import Path

from laguna_tui.base.units import plural

MAX_FILE_BYTES = 64 << 20
"""Most bytes of a command's output that are saved: more than anyone reads, and less than fills a disk."""

_HEAD_SHARE = 0.4
"""Share of the head in a text that is cut: the end, such as a summary of failures, says more than the beginning."""

_LINE_CHARS = 1 << 15
"""A longer line is passed on before it ends."""

_SEQUENCE_CHARS = 4096
"""Longest escape sequence; a longer one is taken as text."""

# What a progress bar goes back to the start of its line by, and what empties the rest of the line there.
_START_OF_LINE = re.compile(r"\x1b\[1?G")
_ERASE_LINE = re.compile(r"\x1b\[2K")
_ERASE_REST = re.compile(r"\x1b\[0?K")
EMPTIED = "\ufdd0"
"""Stands for an erased line: a character that no text contains."""
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC and other strings: titles, links
    r"|[ -/]+[0-~]"  # character sets
    r"|[0-OQ-WYZ\\`-~])"  # one letter, as ESC 7
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)\Z")
# C0 without tab and newline, DEL, C1 and bytes that are not UTF-8: nothing of a text, once sequences are gone.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\udc80-\udcff]")
_INVALID = re.compile(r"[\udc80-\udcff]")
"""What `surrogateescape` decodes bytes to that are not UTF-8."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# No terminal obeys any of these, so text has no reason to contain them.
_BINARY = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f\udc80-\udcff]")
_BINARY_CONTROL = re.compile(r"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_BINARY_SHARE = 0.1
"""A line with control characters is binary if more than this share of its characters is not text."""

_FEW_BYTES = 32
"""Binary bytes up to this number are shown, more are counted."""

_UTF_16_CHARS = 16
"""Characters of a line from which on it is taken as UTF-16; the shorter `a\\0b\\0` are two names."""


class CommandText:
    """The head and the tail of a text that comes in pieces.

    Attributes:
        chars: How many characters came.
    """

    def __init__(self, limit: int) -> None:
        """Keep at most `limit` characters, counted as a JSON string, and a line about what is left out."""
        self._limit = limit
        self._head_chars = int(limit * _HEAD_SHARE)
        self._tail_chars = limit - self._head_chars
        self._head = self._tail = ""
        self.chars = 0

    def add(self, text: str) -> None:
        """Add the next piece."""
        self.chars += len(text)
        if room := self._head_chars - len(self._head):
            self._head += text[:room]
            text = text[room:]
        self._tail = (self._tail + text)[-self._tail_chars :]

    @property
    def text(self) -> tuple[str, bool]:
        """The text, in whole lines where there are any, and whether something is left out."""
        head, tail = self._head, self._tail
        if self.chars == len(head) + len(tail):
            if _json_chars(head + tail) <= self._limit:
                return head + tail, False
            head = tail = head + tail
        head, tail = _cut(head, self._head_chars, 1), _cut(tail, self._tail_chars, -1)
        head = head[: head.rfind("\n") + 1] or head
        tail = tail[tail.find("\n") + 1 :] or tail
        left_out = self.chars - len(head) - len(tail)
        return f"{head.rstrip()}\n… {left_out:,} {plural(left_out, 'character')} left out here …\n{tail}", True


def _json_chars(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False)) - 2


def _cut(text: str, limit: int, step: int) -> str:
    """Return as much as takes `limit` characters in JSON, from the start of the text (step 1) or its end (-1)."""
    text = text[::step][:limit]
    while (taken := _json_chars(text)) > limit:
        text = text[: min(len(text) - 1, len(text) * limit // taken)]
    return text[::step]


class CommandOutput:
    """The output of one command.

    Attributes:
        size: How many bytes came.
        dropped: How many of them are not on disk, because `MAX_FILE_BYTES` are.
        path: Of the file; None until something came, and once the disk refused.
        left_out: Whether the text leaves out bytes that are not text.
    """

    def __init__(self, limit: int, folder: Path) -> None:
        """Begin with nothing.

        Args:
            limit: Most characters of what `take` returns, as a JSON string.
            folder: Of the file that keeps the whole; it is made when there is something to keep.
        """
        self._limit = limit
        self._folder = folder
        self._file: int | None = None
        self.path: Path | None = None
        self.size = self.dropped = 0
        self.left_out = False
        self._refused = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        # The line that has not ended: as it came, and as a terminal would show it.
        self._raw = self._line = ""
        # Lines that are not text, since the last line that is.
        self._binary, self._binary_bytes = "", 0
        self._is_utf_16 = False
        self._text = CommandText(limit)

    def feed(self, data: bytes) -> str:
        """Take the next bytes, none at the end; return them as raw text."""
        self._keep(data)
        text = self._decoder.decode(data, final=not data)
        self._read(text)
        return _INVALID.sub(_REPLACEMENT, text)

    def take(self) -> tuple[str, bool]:
        """Return the text since the last time, and whether something of it is left out."""
        end = finished(self._line)
        raw, line, self._line = self._raw, self._line[:end], self._line[end:]
        self._raw = self._line
        self._add(raw, line, "")
        self._add_binary()
        text, self._text = self._text, CommandText(self._limit)
        return text.text

    def close(self, *, keep: bool) -> Path | None:
        """Close the file; return its path, or None if it is not kept or the disk refused."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self.path is not None and not keep:
            self.path.unlink(missing_ok=True)
            self.path = None
        return self.path

    def _keep(self, data: bytes) -> None:
        """Write to the file; without a file if the disk refuses."""
        self.size += len(data)
        if not data or self._refused:
            return
        if self.size > MAX_FILE_BYTES:
            self.dropped += len(data)
            return
        try:
            if self._file is None:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                # mkstemp creates the file with mode 0600.
                self._file, name = tempfile.mkstemp(prefix=f"{os.getpid()}-", suffix=".txt", dir=self._folder)
                self.path = Path(name)
            while data:
                data = data[os.write(self._file, data) :]
        except OSError:
            self._refused = True
            self.close(keep=False)

    def _read(self, text: str) -> None:
        """Pass on all lines that have ended; the last one waits."""
        *ended, text = text.split("\n")
        if ended and (_BINARY.search(self._raw) or any(map(_BINARY.search, ended))):
            for line in ended:
                self._add(self._raw + line, without_sequences(self._line + line), "\n")
                self._raw = self._line = ""
        elif ended:
            # All at once, which is several times as fast.
            shown = without_sequences(self._line + "\n".join(ended))
            self._add("", shown, "\n")
            self._raw = self._line = ""
        self._raw += text
        line = without_sequences(self._line + text)
        end = finished(line)
        shown, rest = _last_state(line[:end]), line[end:]
        if len(self._raw) > _LINE_CHARS:
            if len(shown) > _LINE_CHARS or _is_binary(self._raw):
                self._add(self._raw, shown, "")
                shown = ""
            self._raw = rest
        self._line = shown + rest

    def _add(self, raw: str, shown: str, end: str) -> None:
        """Add a line, or a part of one that is long, and what ends it.

        Args:
            raw: As it came; empty if it is text.
            shown: Without escape sequences.
            end: A line break, or nothing.
        """
        if (decoded := self._from_utf_16(raw)) is not None:
            shown = decoded
        elif _is_binary(raw, after_binary=self._binary_bytes > 0):
            self._binary = (self._binary + raw + end)[: _FEW_BYTES + 1]
            self._binary_bytes += len((raw + end).encode("utf-8", "surrogateescape"))
            return
        if shown or end:
            self._add_binary()
            self._text.add(_plain(shown) + end)

    def _add_binary(self) -> None:
        """Add the bytes that are not text."""
        if self._binary_bytes > _FEW_BYTES:
            self.left_out = True
            self._text.add(f"[{self._binary_bytes:,} bytes that are not text]\n")
        elif self._binary_bytes:
            self._text.add(_escaped(self._binary))
        self._binary, self._binary_bytes = "", 0

    def _from_utf_16(self, line: str) -> str | None:
        """Return a line of UTF-16 as text, None for any other: as most of it is ASCII, every second byte is 0."""
        if "\0" not in line or not (self._is_utf_16 or len(line) >= _UTF_16_CHARS):
            return None
        data = line.encode("utf-8", "surrogateescape")
        for codec, mark in (("utf-16-le", codecs.BOM_UTF16_LE), ("utf-16-be", codecs.BOM_UTF16_BE)):
            # The other half of the line breaks before and after it.
            little = codec == "utf-16-le"
            half = data.removeprefix(mark)
            half = half.removeprefix(b"\0") if little and len(half) % 2 else half
            half = half.removesuffix(b"\0") if not little and len(half) % 2 else half
            high, low = (half[1::2], half[::2]) if little else (half[::2], half[1::2])
            if (high.count(0) * 2 > len(high) and not low.count(0)) or not half:
                self._is_utf_16 = True
                return half.decode(codec, "replace")
        return None


def _plain(text: str) -> str:
    """Return lines as a model reads them."""
    if any(mark in text for mark in ("\r", "\b", EMPTIED)):
        text = "\n".join(_last_state(line).rstrip("\r") for line in text.split("\n")).replace(EMPTIED, "")
    return _escaped(text)


def _escaped(text: str) -> str:
    return _CONTROL.sub(lambda control: f"\\x{ord(control[0]) & 0xFF:02x}", text)


def _is_binary(line: str, *, after_binary: bool = False) -> bool:
    """Return whether a line is a program's or an image's bytes.

    Text in another encoding has no control characters, and names may be separated by zeros.
    after_binary: whether the line before is, so that a short line of that kind probably is one too.
    """
    odd, zeros = len(_BINARY.findall(line)), line.count("\0")
    if odd == zeros:
        return zeros * 2 > len(line)
    if odd <= len(line) * _BINARY_SHARE:
        return False
    return _BINARY_CONTROL.search(line) is not None or (after_binary and len(line) < _FEW_BYTES)


def without_sequences(text: str) -> str:
    r"""Return text without escape sequences; those that go back in the line or erase it become "\r" and `EMPTIED`."""
    if "\x1b" not in text:
        return text
    text = _START_OF_LINE.sub("\r", _ERASE_LINE.sub(f"\r{EMPTIED}", text))
    return _SEQUENCE.sub("", _ERASE_REST.sub(EMPTIED, text))


def finished(line: str) -> int:
    """Return where an escape sequence begins that has not ended yet; the length of the line if none does."""
    unfinished = _UNFINISHED.search(line, max(0, len(line) - _SEQUENCE_CHARS))
    return unfinished.start() if unfinished else len(line)


def _last_state(line: str) -> str:
    r"""Return what a terminal's line shows at the end, with the last "\r", which a newline may follow."""
    if "\r" in line:
        written = line.rstrip("\r")
        line = written.rsplit("\r", 1)[-1] + line[len(written) :][:1]
    if "\b" not in line:
        return line
    kept: list[str] = []
    for character in line:
        if character != "\b":
            kept.append(character)
        elif kept:
            kept.pop()
    return "".join(kept)
