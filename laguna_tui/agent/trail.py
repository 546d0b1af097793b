"""Who proposed which part of what the parser lets out: its text comes later than its tokens, and not all of it does.

The parser holds back what may become a tag, and leaves out tags and blanks around them. So each token's text is laid
down as a trail, and what comes out is found on it again, in order.
"""

from laguna_engine.events import Source

# How far ahead on the trail the next character is looked for: more than any tag that is left out.
_REACH = 32


class Trail:
    """The texts of tokens that have not come out yet."""

    def __init__(self) -> None:
        self._text = ""
        self._sources: list[Source] = []
        self._last = Source.TARGET

    def lay(self, text: str, source: Source) -> None:
        """A token with this text went into the parser."""
        self._text += text
        self._sources.extend([source] * len(text))
        self._last = source

    def clear(self) -> None:
        """What went in so far came out as something that is no text."""
        self._text, self._sources = "", []

    def parts(self, text: str) -> list[tuple[str, Source]]:
        """A text that came out, cut where another proposer's words begin."""
        if self._text == text and len(set(self._sources)) == 1:
            self.clear()
            return [(text, self._last)]
        parts: list[tuple[str, Source]] = []
        at = 0
        for letter in text:
            found = self._text.find(letter, at, at + _REACH)
            at = found + 1 if found >= 0 else at
            source = self._sources[found] if found >= 0 else self._last
            if parts and parts[-1][1] is source:
                parts[-1] = (parts[-1][0] + letter, source)
            else:
                parts.append((letter, source))
        self._text, self._sources = self._text[at:], self._sources[at:]
        return parts
