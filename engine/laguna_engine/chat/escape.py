r"""Turn markers inside untrusted text, made harmless and readable: `<user>` becomes `<\user>`.

Several of Laguna's markers (`<user>`, `<system>`, `<tool_response>`) are ordinary text in its vocabulary, so refusing
special tokens is not enough: a file could write them out and forge a turn. One backslash is put behind the `<`, and
one more where backslashes stand already, so `unescape(escape(text)) == text` for every text. The form is the one web
pages use to keep `<\/script>` out of inline scripts: plain ASCII, obvious to a reader and familiar to a model, invalid
in XML (so it cannot turn into other markup) and free of invisible characters. What the model writes is unescaped in the
same way, so an argument copied from a file that was shown to it names the file's real bytes.

What is escaped:
- a marker in its exact spelling, blanks around the name allowed, wherever it stands;
- a marker in other letter case, unless a word character, `:` or `.` stands before it: `List<User>` and `foo::<User>()`
  are code, do not tokenise like a marker and would be spoiled for nothing;
- the beginning of a marker (down to a single `<`) at the very end, because more text may follow in another piece.
Not escaped: `<user id="1">`, `<user/>`, `<system.web>` and look-alike characters. None of them has a marker's tokens.
"""

import re

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
