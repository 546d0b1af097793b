"""Safe encoding: special tokens come only from our own markup, and untrusted text can never form markup.

Laguna's turn markers are of two kinds, which need two mechanisms:
- markers with a token of their own (`<think>`, `</assistant>`, ...): untrusted text is tokenised with special tokens
  off, and any special token that still comes out is split into ordinary tokens;
- markers that are ordinary text (`<user>`, `<system>`, ...): `escape` changes them in untrusted text.

The text between two special tokens is tokenised as ONE text, markup and contents together. That gives exactly the
tokens of the whole rendered turn (as Hugging Face tokenises it, and as Laguna was trained). Splitting at the border of
markup and contents would not: contents that begin or end with a line break, as half of all excerpts of code do, share a
token with the markup. It costs no safety: that markup is ordinary text on either side, and only the escape keeps it
unforgeable.

The escape puts one backslash after the `<` (`<user>` becomes `<\\user>`), and one more where there are backslashes
already, so `unescape(escape(text)) == text` for every text. Web pages use the same form to keep `<\\/script>` out of
inline scripts: plain ASCII, obvious to a reader, familiar to a model, invalid in XML (so it cannot become other markup)
and free of invisible characters. The model's output is unescaped the same way, so an argument copied from a file in the
prompt equals the file's real bytes.

Escaped:
- a marker in its exact spelling, blanks around the name allowed, everywhere;
- a marker in other letter case, unless a word character, `:` or `.` precedes it: `List<User>` and `foo::<User>()` are
  code, do not tokenise like a marker and would be altered for nothing;
- the beginning of a marker (down to a single `<`) at the very end, because more text may follow in another piece.
Not escaped: `<user id=1>`, `<user/>`, `<system.web>` and look-alike characters. None of them has a marker's tokens.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from laguna_engine.gguf.laguna import EOS_TEXT

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


def _prefix_pattern(name: str) -> str:
    """Return a pattern for every non-empty prefix of a name."""
    pattern = ""
    for letter in reversed(name):
        pattern = f"{letter}(?:{pattern})?" if pattern else letter
    return pattern


_NAME = "|".join(MARKER_NAMES)
_PREFIX = "|".join(_prefix_pattern(name) for name in MARKER_NAMES)
_OPEN = r"\\*\s*(?:/\s*)?"
_EXACT = rf"<(?={{}}{_OPEN}(?:{_NAME})\s*>)"
_OTHER_CASE = rf"(?<![\w:.])<(?={{}}{_OPEN}(?i:{_NAME})\s*>)"
_AT_END = rf"<(?={{}}{_OPEN}(?:(?i:{_PREFIX})\s*)?\Z)"


def _markers(following: str, *alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(pattern.format(following) for pattern in alternatives))


_TO_ESCAPE = _markers("", _EXACT, _OTHER_CASE, _AT_END)
_ESCAPED = _markers(r"\\", _EXACT, _OTHER_CASE, _AT_END)
_ESCAPED_INSIDE = _markers(r"\\", _EXACT, _OTHER_CASE)
_UNDECIDED = re.compile(_AT_END.format(""))


def escape(text: str) -> str:
    r"""Insert one backslash after the `<` of every turn marker, and of a partial marker at the end."""
    escaped, done = [], 0
    # One `sub` over a long text would hold the GIL for seconds.
    at = text.find("<")
    while at >= 0:
        if _TO_ESCAPE.match(text, at):
            escaped += [text[done : at + 1], "\\"]
            done = at + 1
        at = text.find("<", at + 1)
    return "".join([*escaped, text[done:]]) if done else text


def unescape(text: str) -> str:
    """Undo `escape`; other text is returned unchanged."""
    return _drop_backslashes(_ESCAPED, text)


def _drop_backslashes(pattern: re.Pattern[str], text: str) -> str:
    """Remove the character after every match; a match is one `<`, the backslash is only a lookahead."""
    kept, done = [], 0
    for match in pattern.finditer(text):
        kept.append(text[done : match.end()])
        done = match.end() + 1
    kept.append(text[done:])
    return "".join(kept)


class StreamUnescaper:
    """`unescape` for streamed text: the output, joined, equals `unescape` of the joined input."""

    def __init__(self) -> None:
        self._seen = ""  # the last character returned: the pattern looks one character back
        self._pending = ""

    def feed(self, text: str) -> str:
        """Return the text that can be unescaped by now; only a possible escaped marker is held back."""
        text = self._seen + self._pending + text
        undecided = _UNDECIDED.search(text)
        cut = undecided.start() if undecided else len(text)
        self._pending = text[cut:]
        return self._release(_ESCAPED_INSIDE, text[:cut])

    def finish(self) -> str:
        """Return the rest; no text follows."""
        text, self._pending = self._seen + self._pending, ""
        return self._release(_ESCAPED, text)

    def _release(self, pattern: re.Pattern[str], text: str) -> str:
        out = _drop_backslashes(pattern, text)[len(self._seen) :]
        self._seen = text[-1:]
        return out


_MARKERS = (EOS_TEXT, *(f"<{slash}{name}>" for name in MARKER_NAMES for slash in ("", "/")))
_SPLIT = re.compile("(" + "|".join(map(re.escape, _MARKERS)) + ")")


class Tokenizer(Protocol):
    """The vocabulary an encoder needs: llama.cpp's at run time, Hugging Face's in training."""

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Tokenize `text`, without BOS; special tokens are recognised by their text only if `special`."""
        ...

    def id_of(self, text: str) -> int | None:
        """Return the special token spelled exactly `text`, or None."""
        ...

    def is_control(self, token: int) -> bool:
        """Return whether the token is special (control or user-defined) rather than ordinary text."""
        ...

    def piece(self, token: int) -> bytes:
        """Return the token's bytes; for a special token, its text."""
        ...


@dataclass(frozen=True, slots=True)
class Markup:
    """Trusted text: its turn markers become special tokens where the vocabulary has them."""

    text: str


@dataclass(frozen=True, slots=True)
class Content:
    """Untrusted text: never special tokens, never a turn marker."""

    text: str


class SafeEncoder:
    """Encodes trusted and untrusted text as tokens. Stateless and cheap to share."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        found = ((text, tokenizer.id_of(text)) for text in _MARKERS)
        self._special = {text: token for text, token in found if token is not None}
        self.markers: dict[int, str] = {token: text for text, token in self._special.items()}
        """Markers with a token of their own in this vocabulary: id to text."""

    def id_of(self, marker: str) -> int | None:
        """Return the token of a marker such as `</assistant>`, or None if it is ordinary text in this vocabulary."""
        return self._special.get(marker)

    def encode(self, parts: Iterable[Markup | Content]) -> list[int]:
        """Return the tokens of the parts in order. They decode to the joined texts, contents escaped."""
        tokens: list[int] = []
        plain = ""
        for text in self._pieces(parts):
            special = self._special.get(text.text) if isinstance(text, Markup) else None
            if special is None:
                plain += text.text
                continue
            tokens += [*self._tokenize_plain(plain), special]
            plain = ""
        return tokens + self._tokenize_plain(plain)

    def encode_text(self, text: str) -> list[int]:
        """Return the tokens of untrusted text, escaped; never a special token."""
        return self.encode([Content(text)])

    def encode_markup(self, text: str) -> list[int]:
        """Return the tokens of trusted text, its markers as special tokens."""
        return self.encode([Markup(text)])

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of the tokens, special ones included; a partial character at either end is replaced."""
        return b"".join(map(self._tokenizer.piece, tokens)).decode("utf-8", errors="replace")

    def _pieces(self, parts: Iterable[Markup | Content]) -> Iterable[Markup | Content]:
        """Yield the parts, markup split at its markers and contents escaped."""
        for part in parts:
            if isinstance(part, Markup):
                yield from map(Markup, _SPLIT.split(part.text))
            else:
                # Lone surrogates, such as undecodable bytes of a file's name, have no UTF-8.
                yield Content(escape(part.text.encode("utf-8", errors="replace").decode("utf-8")))

    def _tokenize_plain(self, text: str) -> list[int]:
        """Tokenize text with special tokens off; any that result all the same are split."""
        tokens = self._tokenizer.tokenize(text, special=False) if text else []
        if not any(map(self._tokenizer.is_control, tokens)):
            return tokens
        return [token for each in tokens for token in self._split_special(each)]

    def _split_special(self, token: int) -> list[int]:
        """Return an ordinary token unchanged.

        A special one (user-defined tokens slip through) as its text, in two parts.
        """
        if not self._tokenizer.is_control(token):
            return [token]
        text = self._tokenizer.piece(token).decode("utf-8")
        if len(text) < 2 or text.isspace():  # not a marker: a character, or an indentation with a token of its own
            return [token]
        return [*self._tokenize_plain(text[:1]), *self._tokenize_plain(text[1:])]
