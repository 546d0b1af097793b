"""Tokens of a model whose vocabulary is not here: about as many as it would have, and their text exactly.

A word, a run of digits, of blanks or of signs is cut into pieces of the lengths that vocabularies of code models have
on the average, so that a count is within about a fifth of theirs for code and English. Texts come back byte for byte.
"""

import re
import threading

# Words of up to seven letters are mostly one token, digits come in threes, indentation as a whole.
_PIECES = re.compile(r" ?[^\W\d_]{1,7}|\d{1,3}|\r?\n[ \t]*|[ \t]+(?=\S)|[ \t]+|[^\w\s]{1,2}|.", re.DOTALL)


class EstimatedVocabulary:
    """A `Tokenizer`: numbers the pieces in the order in which they come. Any thread."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, bool], int] = {}
        self._pieces: list[tuple[str, bool]] = []
        self._lock = threading.Lock()

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Pieces of a text; none of them is special."""
        return [self._number(piece) for piece in _PIECES.findall(text)]

    def id_of(self, text: str) -> int | None:
        """A token of its own for a marker: it is one in every template."""
        return self._number(text, special=True)

    def is_control(self, token: int) -> bool:
        """Whether it was made for a marker."""
        return self._pieces[token][1]

    def piece(self, token: int) -> bytes:
        """Its text."""
        return self._pieces[token][0].encode("utf-8", "replace")

    def _number(self, piece: str, *, special: bool = False) -> int:
        number = self._ids.get((piece, special))
        if number is None:
            with self._lock:
                number = self._ids.setdefault((piece, special), len(self._pieces))
                if number == len(self._pieces):
                    self._pieces.append((piece, special))
        return number
