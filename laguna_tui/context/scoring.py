"""The scorer of files that are shortened: opening it, caching its scores, and its time limit."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.compress.estimate import score_in_time
from laguna_engine.compress.scores import UNSCORED, Scores
from laguna_engine.errors import GraphError
from laguna_tui.base.settings import Settings
from laguna_tui.context.bounded_cache import BoundedCache

if TYPE_CHECKING:
    from laguna_engine.compress.scorer import Scorer
    from laguna_tui.context.compression.relevance import SpanScorer

SCORING_S = 20.0
"""Most seconds that a scorer takes for one message: a person waits for the answer."""


class ScorerSource:
    """Where a scorer comes from when files have to be shortened; this one has none."""

    def take(self) -> "Scorer | None":
        """Return an open scorer until `release`; None ranks by words.

        Raises:
            UserError, EngineError: it cannot be used.
        """
        return None

    def release(self) -> None:
        """Report that no scorer is needed for now."""

    def skipped(self) -> bool:
        """Return whether the user no longer waits for the scorer that was taken last."""
        return False

    def rate(self) -> float | None:
        """Return the scorer's tokens per second; None while unknown, and without a scorer."""
        return None

    def measuring(self) -> bool:
        """Return whether `rate` will be known soon."""
        return False


NO_SCORER = ScorerSource()
_CACHED_SCORES = 20_000
_KNOWN = BoundedCache[tuple[object, str, str], Scores](_CACHED_SCORES)
"""Scores by scorer, question and text."""


def open_scorer(path: Path, settings: Settings, device: str = "") -> "Scorer":
    """Open a scorer with the threads of the settings, on a GPU of this name or the CPU.

    One that a GPU cannot run, or has no room for after all, computes on the CPU.

    Raises:
        EngineError: the file is no scorer.
    """
    from laguna_engine.compress.scorer import Scorer
    from laguna_engine.fit.scorer_device import open_device
    from laguna_engine.native.control_groups import all_cores_but_one

    threads = all_cores_but_one() if settings.threads is None else settings.threads
    gpu = open_device(device) if device else None
    if gpu is not None:
        with suppress(GraphError):
            return Scorer.open(path, device=gpu, threads=threads)
    return Scorer.open(path, threads=threads)


def remembering(
    scorer: "Scorer", seconds: float, should_stop: Callable[[], bool], progress: Callable[[float], None]
) -> "SpanScorer":
    """Return a function that scores only texts that were not scored yet, within a number of seconds."""

    def scores(texts: Sequence[str], query: str) -> Sequence[Scores]:
        known = {text: _KNOWN.get((scorer, query, text)) for text in texts}
        new = [text for text, score in known.items() if score is None]
        if new:
            found = score_in_time(scorer, new, query, seconds, should_stop, progress)
            for text, score in zip(new, found, strict=True):
                known[text] = score
                if score is not UNSCORED:
                    _KNOWN.put((scorer, query, text), score)
        return [known[text] or UNSCORED for text in texts]

    return scores
