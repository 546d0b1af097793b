"""Our compressor as a keeper, whole and in parts."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache, lru_cache
from pathlib import Path
from unittest import mock

from laguna_engine.compress.scorer import Scorer
from laguna_engine.compress.scores import Scores
from laguna_tui.context.compression import relevance
from laguna_tui.context.compression.boosts import Boosts
from laguna_tui.context.compression.compressor import compress
from laguna_tui.context.compression.relevance import SpanScorer, fuse
from laguna_tui.context.compression.result import Compression
from laguna_tui.context.compression.spans import Document
from laguna_tui.context.compression.splitting import document
from tests.evals.keepers import Keeper, Ranges, Task, measure


@lru_cache(maxsize=4096)
def _document(path: str, text: str, protected: bool) -> Document:
    return document(path, text, protected=protected)


@cache
def remembering(path: Path) -> SpanScorer:
    """Return a scorer that is asked once for each text and query, however many keepers and shares are tried."""
    scorer = Scorer.open(path, threads=1)
    known: dict[tuple[str, str], Scores] = {}

    def score(texts: Sequence[str], query: str) -> list[Scores]:
        new = [text for text in dict.fromkeys(texts) if (text, query) not in known]
        known.update(zip(((text, query) for text in new), scorer.score(new, query), strict=True))
        return [known[text, query] for text in texts]

    return score


def only(scorer: SpanScorer, *, gain: bool = False, attention: bool = False) -> SpanScorer:
    """Return the scorer with an opinion of one kind; 0 is no opinion."""

    def score(texts: Sequence[str], query: str) -> list[Scores]:
        return [Scores(s.attention * attention, s.gain * gain) for s in scorer(texts, query)]

    return score


def compressed(
    files: Sequence[tuple[str, str]], query: str, budget: int, scorer: SpanScorer | None, count: Callable[[str], int]
) -> str:
    """Return what is left of files that were never seen before."""
    return compress([document(path, text) for path, text in files], query, budget, count, scorer).text


def kept_ranges(compression: Compression) -> Ranges:
    return {part.document.path: [kept.span[:2] for kept in part.kept] for part in compression.parts}


def keeper(scorer: SpanScorer | None, *, words: bool = True, boosts: bool = True) -> Keeper:
    """The compressor; without `words` BM25 has no say, without `boosts` no definition is pulled in for its name."""

    def keep(task: Task, budget: int) -> Ranges:
        documents = [_document(path, text, path in task.protected) for path, text in task.files]
        with ExitStack() as changed:
            if not words:
                changed.enter_context(mock.patch.object(relevance, "fuse", lambda own, s: fuse([0.0] * len(own), s)))
            if not boosts:
                changed.enter_context(mock.patch.object(relevance, "find_boosts", lambda *_: Boosts()))
            return kept_ranges(compress(documents, task.query, budget, measure, scorer))

    return keep


def ours(path: Path | None) -> Keeper:
    """As it is, with a scorer's file or by words only."""
    return keeper(remembering(path) if path else None)


def ablations(path: Path | None) -> dict[str, Keeper]:
    """Return each feature alone, and all but each; a scorer's features only with a scorer."""
    made = {
        "only BM25": keeper(None, boosts=False),
        "only boosts": keeper(None, words=False),
    }
    if path is None:
        return made
    scorer = remembering(path)
    gain, attention = only(scorer, gain=True), only(scorer, attention=True)
    return made | {
        "only gain": keeper(gain, words=False, boosts=False),
        "only attention": keeper(attention, words=False, boosts=False),
        "all but BM25": keeper(scorer, words=False),
        "all but boosts": keeper(scorer, boosts=False),
        "all but gain": keeper(attention),
        "all but attention": keeper(gain),
        "all but gain and attention": keeper(None),
    }
