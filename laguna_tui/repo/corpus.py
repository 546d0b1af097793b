"""Many names, prepared so that the best for a few typed letters are found in milliseconds among a hundred thousand.

The names lie behind each other in one string, and each step is one search of it in C; only what is left at the end is
looked at name by name. Deals in names by their place in the given order. Immutable: any thread may ask.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice

from laguna_tui.repo.fuzzy import MARK, Fit, fit_marked, folded, marked

# Of each fit no more names are looked at: they take a hundredth of a second, and nobody reads them. Whoever typed so
# few letters that there are more goes on typing.
COMPARED = 4_000
# More letters than this are not typed but pasted.
LETTERS = 128


class Lines:
    """Texts without newlines, one a line, searched together."""

    def __init__(self, texts: Iterable[str]) -> None:
        held = list(texts)
        self._text = "\n" + "\n".join(held) + "\n" * bool(held)
        # Where each line's newline before it stands.
        self._starts = array("Q", accumulate((len(text) + 1 for text in held[:-1]), initial=0)) if held else array("Q")

    def __getitem__(self, line: int) -> str:
        start = self._starts[line] + 1
        return self._text[start : self._text.index("\n", start)]

    def containing(self, text: str) -> Iterator[int]:
        """The lines that contain a text, each once; one that begins with a newline is looked for at their beginning."""
        at = self._text.find(text)
        while at >= 0:
            line = self._line(at)
            yield line
            at = self._text.find(text, self._text.index("\n", self._starts[line] + 1))

    def matching(self, pattern: re.Pattern[str]) -> Iterator[int]:
        """The lines with a match, each once; the pattern must not match across lines."""
        match = pattern.search(self._text)
        while match:
            line = self._line(match.start())
            yield line
            match = pattern.search(self._text, self._text.index("\n", self._starts[line] + 1))

    def scattered(self, letters: str) -> Iterator[int]:
        """The lines that have the letters in their order."""
        pieces = [re.escape(letters[0]), *(f"[^{re.escape(letter)}\n]*{re.escape(letter)}" for letter in letters[1:])]
        return self.matching(re.compile("".join(pieces)))

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1


class Corpus:
    """Names, in their order."""

    def __init__(self, names: Sequence[str]) -> None:
        self._marked = Lines(map(marked, names))
        self._folded = Lines(map(folded, names))

    def best(self, typed: str, enough: int) -> dict[int, Fit]:
        """How names fit, by their place: those that fit best, second best and so on, until there are enough.

        Of a fit that more than `COMPARED` names have, the first so many are given.
        """
        letters = folded(typed[:LETTERS])
        if not letters:
            return {}
        found: dict[int, Fit] = dict.fromkeys(islice(self._folded.containing(f"\n{letters}\n"), COMPARED), Fit.SAME)
        for line in islice(self._folded.containing("\n" + letters), COMPARED):
            found.setdefault(line, Fit.BEGINS)
        if len(found) < enough:
            word = re.compile(MARK + f"{MARK}?".join(map(re.escape, letters)))
            for line in islice(self._marked.matching(word), COMPARED):
                found.setdefault(line, Fit.WORD)
        return found if len(found) >= enough else found | self._compared(letters, found)

    def _compared(self, letters: str, found: dict[int, Fit]) -> dict[int, Fit]:
        """Names that fit less well, by looking at each that has the letters in their order."""
        fits: dict[int, Fit] = {}
        for line in islice(self._folded.scattered(letters), COMPARED):
            if line not in found and (how := fit_marked(self._marked[line], letters)) is not None:
                fits[line] = how
        return fits
