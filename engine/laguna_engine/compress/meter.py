"""What spans cost in tokens, asking for as little as possible: a tokenizer is called once for each unit.

A span's tokens are its share of its unit's by characters; what was chosen is measured again as it will stand.
"""

from collections.abc import Callable, Sequence

from laguna_engine.compress.document import Document


class Meter:
    """Counts tokens, each text once."""

    def __init__(self, measure: Callable[[str], int]) -> None:
        self._measure = measure
        self._known: dict[str, int] = {"": 0}

    def tokens(self, text: str) -> int:
        """The tokens of a text."""
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._measure(text)
        return known

    def spans(self, document: Document) -> Sequence[float]:
        """About how many tokens each span of a document takes."""
        pieces: list[list[str]] = [[] for _ in document.units]
        for span in document.spans:
            pieces[span.unit].append(document.text[span.start : span.stop])
        texts = ["".join(own) for own in pieces]
        rates = [self.tokens(text) / max(len(text), 1) for text in texts]
        return [(span.stop - span.start) * rates[span.unit] for span in document.spans]
