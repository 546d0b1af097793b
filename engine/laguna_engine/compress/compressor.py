"""From documents, a question and a budget of tokens to what is worth keeping of them.

Pure Python on characters. Nothing protected is touched; everything else is kept whole or left out as the document's
spans say, and every line that is missing is named where it was.
"""

import time
from collections.abc import Callable, Collection, Sequence

from laguna_engine.compress.document import Document
from laguna_engine.compress.elision import render
from laguna_engine.compress.result import Compression, Dropped, Kept, Part, Scores, SpanScorer, Why

__all__ = ["Compression", "Dropped", "Kept", "Part", "Scores", "SpanScorer", "Why", "compress"]


def compress(
    documents: Sequence[Document],
    query: str,
    budget: int,
    measure: Callable[[str], int],
    scorer: SpanScorer | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Compression:
    """What to keep of the documents within `budget` tokens to answer `query`; all of it when it fits.

    Args:
        documents: in the order in which they will stand in the prompt.
        query: the question, or the code that is being written.
        budget: tokens that all parts may take together.
        measure: the tokens of a text; called once for each document, each unit and, in the end, each part.
        scorer: a model's opinion of each unit; without one the words decide.
        should_stop: asked now and then; once it says so the scorer is left out.
    """
    began = time.monotonic()
    before = [measure(document.text) for document in documents]
    kept: list[Collection[int]] = [range(len(document.spans)) for document in documents]
    if sum(before) > budget:
        kept = [range(len(document.spans)) if document.protected else () for document in documents]
    parts = tuple(
        _part(document, chosen, tokens, measure)
        for document, chosen, tokens in zip(documents, kept, before, strict=True)
    )
    after = sum(part.tokens_after for part in parts)
    return Compression(parts, budget, sum(before), after, "words", time.monotonic() - began)


def _part(document: Document, kept: Collection[int], before: int, measure: Callable[[str], int]) -> Part:
    text, places, copies = render(document, kept)
    return Part(
        document,
        text,
        tuple(Kept(document.spans[index], Why.SCORE, 0.0, places[index]) for index in kept),
        tuple(Dropped(span, Why.BUDGET, 0.0) for index, span in enumerate(document.spans) if index not in kept),
        before,
        measure(text),
        copies,
    )
