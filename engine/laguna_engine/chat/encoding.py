"""Safe encoding: special tokens come only from our own markup, and untrusted text can never look like markup.

Two layers, because Laguna's turn markers are of two kinds:
- markers with a token of their own (`<think>`, `</assistant>`, ...): untrusted text is tokenised with special tokens
  off, and what a tokenizer lets through all the same is spelled out again in ordinary tokens;
- markers that are ordinary text (`<user>`, `<system>`, ...): `escape` makes them unwritable for untrusted text.

What stands between two special tokens is tokenised as ONE text, markup and contents together. That gives exactly the
tokens of tokenising the whole rendered turn (as Hugging Face does, and as Laguna was trained). Cutting at the border of
markup and contents would not: contents that begin or end with a line break, as half of all excerpts of code do, share a
token with the markup's own. It costs no safety: that markup is ordinary text on either side of the cut, and only the
escape keeps it unforgeable.

The escape puts one backslash behind the `<` (`<user>` becomes `<\\user>`), and one more where there are backslashes
already, so `unescape(escape(text)) == text` for every text. The form is the one web pages use to keep `<\\/script>` out
of inline scripts: plain ASCII, obvious to a reader and familiar to a model, invalid in XML (so it cannot turn into
other markup) and free of invisible characters. What the model writes is unescaped in the same way, so an argument
copied from a file that was shown to it names the file's real bytes.

What is escaped:
- a marker in its exact spelling, blanks around the name allowed, everywhere;
- a marker in other letter case, unless a word character, `:` or `.` precedes it: `List<User>` and `foo::<User>()` are
  code, do not tokenise like a marker and would be spoiled for nothing;
- the beginning of a marker (down to a single `<`) at the very end, because more text may follow in another piece.
Not escaped: `<user id=1>`, `<user/>`, `<system.web>` and look-alike characters. None of them has a marker's tokens.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

MARKER_NAMES = (
    "system",
    "user",
    "assistant",
    "think",
    "tool_call",
    "tool_response",
    "available_tools",
    "arg_key",
    "arg_value",
)


def _beginning(name: str) -> str:
    """A pattern for every non-empty beginning of a name."""
    pattern = ""
    for letter in reversed(name):
        pattern = f"{letter}(?:{pattern})?" if pattern else letter
    return pattern


_NAME = "|".join(MARKER_NAMES)
_BEGUN = "|".join(_beginning(name) for name in MARKER_NAMES)
_OPEN = r"\\*\s*(?:/\s*)?"
_EXACT = rf"<(?={{}}{_OPEN}(?:{_NAME})\s*>)"
_OTHER_CASE = rf"(?<![\w:.])<(?={{}}{_OPEN}(?i:{_NAME})\s*>)"
_AT_END = rf"<(?={{}}{_OPEN}(?:(?i:{_BEGUN})\s*)?\Z)"


def _markers(behind: str, *alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(pattern.format(behind) for pattern in alternatives))


_TO_ESCAPE = _markers("", _EXACT, _OTHER_CASE, _AT_END)
_ESCAPED = _markers(r"\\", _EXACT, _OTHER_CASE, _AT_END)
_ESCAPED_INSIDE = _markers(r"\\", _EXACT, _OTHER_CASE)
_UNDECIDED = re.compile(_AT_END.format(""))


def escape(text: str) -> str:
    r"""Put one backslash behind the `<` of every turn marker, and of a marker begun at the end."""
    return _TO_ESCAPE.sub(r"<\\", text)


def unescape(text: str) -> str:
    """Take back exactly what `escape` did; other text is returned as it is."""
    return _drop_backslashes(_ESCAPED, text)


def _drop_backslashes(pattern: re.Pattern[str], text: str) -> str:
    """Remove the character behind every match; a match is one `<`, the backslash is only looked at."""
    kept, done = [], 0
    for match in pattern.finditer(text):
        kept.append(text[done : match.end()])
        done = match.end() + 1
    kept.append(text[done:])
    return "".join(kept)


class StreamUnescaper:
    """`unescape` for text that arrives in pieces: the pieces out, joined, are `unescape` of the pieces in, joined."""

    def __init__(self) -> None:
        self._seen = ""  # the last character given out: the pattern looks one character back
        self._held = ""

    def feed(self, text: str) -> str:
        """Everything that is decided by now; holds back only what may still become an escaped marker."""
        text = self._seen + self._held + text
        undecided = _UNDECIDED.search(text)
        cut = undecided.start() if undecided else len(text)
        self._held = text[cut:]
        return self._release(_ESCAPED_INSIDE, text[:cut])

    def finish(self) -> str:
        """What was still held, now that nothing follows."""
        text, self._held = self._seen + self._held, ""
        return self._release(_ESCAPED, text)

    def _release(self, pattern: re.Pattern[str], text: str) -> str:
        out = _drop_backslashes(pattern, text)[len(self._seen) :]
        self._seen = text[-1:]
        return out


EOS_TEXT = "〈|EOS|〉"
END_OF_TURN = "</assistant>"
_MARKERS = (EOS_TEXT, *(f"<{slash}{name}>" for name in MARKER_NAMES for slash in ("", "/")))
_SPLIT = re.compile("(" + "|".join(map(re.escape, _MARKERS)) + ")")


class Tokenizer(Protocol):
    """What encoding needs of a vocabulary: llama.cpp's at run time, Hugging Face's while a model is trained."""

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Tokens of `text`, never with a BOS in front; no special token's text is recognised when `special` is off."""
        ...

    def id_of(self, text: str) -> int | None:
        """The special token spelled exactly `text`, or None when the vocabulary has no such token."""
        ...

    def is_control(self, token: int) -> bool:
        """Whether the token is special: control or user-defined, not a piece of ordinary text."""
        ...

    def piece(self, token: int) -> bytes:
        """The token's bytes; of a special token, its text."""
        ...


@dataclass(frozen=True, slots=True)
class Markup:
    """Our own text: turn markers in it become special tokens where the vocabulary has them."""

    text: str


@dataclass(frozen=True, slots=True)
class Content:
    """Anybody else's text: never special tokens, never a turn marker."""

    text: str


def _valid(text: str) -> str:
    """The text with lone surrogates (undecodable bytes of a file name, say) as `?`: they have no UTF-8."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


class SafeEncoder:
    """Text to tokens, keeping apart who wrote it. Stateless and cheap to share."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        found = ((text, tokenizer.id_of(text)) for text in _MARKERS)
        self._special = {text: token for text, token in found if token is not None}
        self.markers: dict[int, str] = {token: text for text, token in self._special.items()}
        """The markers that are tokens of their own in this vocabulary: id to text."""

    def id_of(self, marker: str) -> int | None:
        """The token of a marker such as `</assistant>`, or None where the vocabulary spells it as ordinary text."""
        return self._special.get(marker)

    def encode(self, parts: Iterable[Markup | Content]) -> list[int]:
        """Tokens of the parts in order. Decoded, they are the parts' texts joined, contents escaped."""
        tokens: list[int] = []
        plain = ""
        for text in self._pieces(parts):
            special = self._special.get(text.text) if isinstance(text, Markup) else None
            if special is None:
                plain += text.text
                continue
            tokens += [*self._ordinary(plain), special]
            plain = ""
        return tokens + self._ordinary(plain)

    def encode_text(self, text: str) -> list[int]:
        """Tokens of untrusted text, escaped; never a special token."""
        return self.encode([Content(text)])

    def encode_markup(self, text: str) -> list[int]:
        """Tokens of trusted text, its markers as special tokens."""
        return self.encode([Markup(text)])

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of the tokens, special ones included; a broken character at either end is replaced."""
        return b"".join(map(self._tokenizer.piece, tokens)).decode("utf-8", errors="replace")

    def _pieces(self, parts: Iterable[Markup | Content]) -> Iterable[Markup | Content]:
        """The parts with markup cut at its markers and contents escaped."""
        for part in parts:
            if isinstance(part, Markup):
                yield from map(Markup, _SPLIT.split(part.text))
            else:
                yield Content(escape(_valid(part.text)))

    def _ordinary(self, text: str) -> list[int]:
        """Tokens of text with special tokens off, and off for certain."""
        tokens = self._tokenizer.tokenize(text, special=False) if text else []
        if not any(map(self._tokenizer.is_control, tokens)):
            return tokens
        return [token for each in tokens for token in self._spelled_out(each)]

    def _spelled_out(self, token: int) -> list[int]:
        """An ordinary token as it is; a special one (user-defined tokens slip through) as its text, in two halves."""
        if not self._tokenizer.is_control(token):
            return [token]
        text = self._tokenizer.piece(token).decode("utf-8")
        if len(text) < 2 or text.isspace():  # no marker: a character, or an indentation with a token of its own
            return [token]
        return [*self._ordinary(text[:1]), *self._ordinary(text[1:])]
