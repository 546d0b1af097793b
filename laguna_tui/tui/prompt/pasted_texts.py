"""Long pasted texts, which the input shows as a label each: `[pasted 120 lines]`."""

import re

# As many as fit into the input, and what a few lines of prose have.
MAX_LINES, MAX_CHARS = 8, 10_000


class PastedTexts:
    """The pasted texts of a session by their labels.

    They are kept when the message was sent, because undo and the input history bring labels back.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def collapse(self, text: str) -> str:
        """Return the label for a text that is long, and any other text unchanged."""
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= MAX_LINES and len(text) <= MAX_CHARS:
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        number = 1
        while self._texts.get(label := f"[pasted {size}{f' #{number}' if number > 1 else ''}]", text) != text:
            number += 1
        self._texts[label] = text
        return label

    def collapse_known(self, text: str) -> str:
        """Return a text with the pasted texts in it replaced by their labels."""
        for label, pasted in self._texts.items():
            text = text.replace(pasted, label)
        return text

    def expand(self, text: str) -> str:
        """Return a text with the pasted texts in place of their labels."""
        return self._labels.sub(lambda found: self._texts[found[0]], text) if self._texts else text

    def text_of(self, label: str) -> str:
        """Return the text with this label."""
        return self._texts[label]

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return where labels begin and end in a line."""
        return [found.span() for found in self._labels.finditer(line)] if self._texts and "[" in line else []

    @property
    def _labels(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._texts)))
