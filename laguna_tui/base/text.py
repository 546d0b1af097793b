"""Sanitizes untrusted text for the screen: what a terminal would obey becomes visible or disappears.

Textual and plain terminals send escape sequences in content straight on (clipboard writes, cleared screens, titles),
and bidirectional controls reorder what is read. Everything from a model, file, tool, path or error passes here first.
One character in gives at most one character out. What takes no room is dropped, except where it makes one emoji of
several characters or says how letters of Arabic and Indic scripts join: text that comes in pieces needs `TextSanitizer`
there, which knows what came before.
"""

import re

# C0 without tab and newline, DEL, C1, lone surrogates, and the explicit bidirectional controls.
_SHOWN = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Characters that take no room: the rest of Unicode's category Cf, blank letters, and selectors used to smuggle text.
_DROPPED = (
    r"\r\u00ad\u034f\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200d"
    r"\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SEPARATORS = r"\u2028\u2029"
JOINER, NON_JOINER = "\u200d", "\u200c"
"""Zero width joiner and non-joiner: make one emoji of two, and say whether two letters are joined."""
# Blocks of symbols and pictures; no letters, so that a joiner never hides between those of a name.
_EMOJI = (
    r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2900-\u2bff\U0001f000-\U0001faff"
)
# Letters and marks of the Arabic script and of the scripts of India and Sri Lanka, whose spelling needs both joiners.
_LETTERS = (
    r"\u0610-\u061a\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06df-\u06e8\u06ea-\u06ef\u06fa-\u06fc\u06ff\u0750-\u077f"
    r"\u0870-\u0887\u0889-\u088e\u0897-\u08e1\u08e3-\u0963\u0971-\u09e3\u09f0-\u09f1\u09fc\u09fe-\u0a5e\u0a70-\u0a75"
    r"\u0a81-\u0ae3\u0af9-\u0b63\u0b71\u0b82-\u0bd7\u0c00-\u0c63\u0c80-\u0c83\u0c85-\u0ce3\u0cf1-\u0d4e\u0d54-\u0d57"
    r"\u0d5f-\u0d63\u0d7a-\u0ddf\u0df2-\u0df3\ua8e0-\ua8f7\ua8fb\ua8fd-\ua8ff"
)
_BETWEEN_LETTERS = rf"(?<=[{_LETTERS}])[{NON_JOINER}{JOINER}](?=[{_LETTERS}])"
LETTER_JOINER = rf"(?<=[{_LETTERS}]){JOINER}(?=[{_LETTERS}])"
"""A pattern of joiners that belong to no emoji."""
_JOINER = rf"(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))\u200d(?=[{_EMOJI}])"
# The three flags that Unicode recommends for interchange: England, Scotland and Wales, spelt in tag characters.
_TAGS = ("".join(chr(0xE0000 + ord(letter)) for letter in name) for name in ("gbeng", "gbsct", "gbwls"))
_FLAG = f"(?<=\U0001f3f4)(?:{'|'.join(_TAGS)})\U000e007f"
_UNSAFE = re.compile(f"(?P<kept>{_JOINER}|{_FLAG}|{_BETWEEN_LETTERS})|[{_SHOWN}{_DROPPED}{_SEPARATORS}]")
# Selectors of glyphs where there is nothing to select.
_SELECTOR = rf"(?<![{_EMOJI}0-9#*])[\ufe00-\ufe0f]"
_HIDDEN = re.compile(f"(?P<kept>{_JOINER}|{_FLAG}|{_BETWEEN_LETTERS})|[{_SHOWN}{_DROPPED}{_SEPARATORS}]|{_SELECTOR}")
# The end of a text that what comes next may belong to: a picture and what was put behind it, or a letter.
_OPEN_END = re.compile(
    rf"(?:[{_EMOJI}][\ufe0f\u200d\U000e0020-\U000e007f]{{0,8}}|[{_LETTERS}][{NON_JOINER}{JOINER}]?)\Z"
)
_OPEN_CHARS = 9
_DROP = re.compile(f"[{_DROPPED}]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_CONTROL_PICTURES = 0x2400
_DELETE, _DELETE_PICTURE = "\x7f", "\N{SYMBOL FOR DELETE}"
_LINE_BLANKS = str.maketrans({"\n": " ", "\t": " "})


def sanitize(text: str, tab_columns: int | None = None) -> str:
    r"""Return the text without anything that a terminal would obey; "\n" and "\t" stay.

    ESC and its kind become visible pictures (␛), so an attempt can be seen; bidirectional controls, C1 controls and
    lone surrogates become U+FFFD; "\r" and characters without width disappear; Unicode's line and paragraph
    separators become "\n".

    Args:
        text: anything.
        tab_columns: expand tabs to this many columns; None keeps them.
    """
    safe = _UNSAFE.sub(_neutral, text)
    return safe if tab_columns is None else safe.expandtabs(tab_columns)


def sanitize_line(text: str) -> str:
    """Return the text as `sanitize` does, on one line: newlines and tabs become spaces."""
    return sanitize(text).translate(_LINE_BLANKS)


def reveal(text: str) -> str:
    """Return a text as `sanitize` does, but with nothing dropped, for what the user has to judge.

    Characters without width or glyph are named where they are, such as `<U+200B>`, and "\\r" becomes a picture.
    """
    return _HIDDEN.sub(lambda match: match[0] if match["kept"] else _revealed(match[0]), text)


def hidden_characters(text: str) -> tuple[str, ...]:
    """Return the characters that `reveal` makes visible, each once, in the order in which they occur."""
    return tuple(dict.fromkeys(match[0] for match in _HIDDEN.finditer(text) if not match["kept"]))


def code_point(character: str) -> str:
    """Return a character's number, such as `U+200B`."""
    return f"U+{ord(character):04X}"


def _revealed(character: str) -> str:
    if character < " " or character == _DELETE:
        return _picture(character)
    return f"<{code_point(character)}>"


class TextSanitizer:
    """Sanitizes a text that comes in pieces: its results joined are `sanitize` of the whole."""

    def __init__(self) -> None:
        self._before = ""

    def sanitize(self, piece: str) -> str:
        """Return the next piece. A joiner at its end is returned with what it joins, or never."""
        whole = self._before + piece
        safe = sanitize(whole)[len(sanitize(self._before)) :]
        end = _OPEN_END.search(whole, max(0, len(whole) - _OPEN_CHARS))
        self._before = end.group() if end else ""
        return safe


def _neutral(match: re.Match[str]) -> str:
    character = match.group()
    if match["kept"]:
        return character
    if (character < " " and character != "\r") or character == _DELETE:
        return _picture(character)
    if character in "\u2028\u2029":
        return "\n"
    return "" if _DROP.match(character) else _REPLACEMENT


def _picture(character: str) -> str:
    return _DELETE_PICTURE if character == _DELETE else chr(_CONTROL_PICTURES + ord(character))
