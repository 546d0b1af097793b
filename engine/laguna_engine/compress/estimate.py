"""The time that compression takes: estimated before, and kept under a limit while a scorer works.

Compressing pays when scoring and prefilling what is left take less time than prefilling everything. A scorer that is
too slow for that scores nothing; one that is too slow for its time limit scores the most promising texts.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from laguna_engine.compress.scores import UNSCORED, Scores
from laguna_engine.errors import Stopped

if TYPE_CHECKING:
    from laguna_engine.compress.scorer import Scorer

LEAST_SHARE = 0.5
"""A scorer with time for a smaller share of the text is not used: most of it would be ranked by words anyway."""

_GAIN_SHARE = 0.5
"""Share of the time that a shorter prompt saves that scoring may take; so compression is never slower than without."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds until the first token.

    Attributes:
        full_s: prefilling everything.
        scoring_s: scoring alone.
        short_s: scoring and prefilling the rest.
        limit_s: most seconds that scoring may take.
        worth: whether to ask the scorer: it pays, and has time for enough of the text.
        sentence: the estimate as a sentence for the user.
    """

    full_s: float
    scoring_s: float
    short_s: float
    limit_s: float
    worth: bool
    sentence: str


def estimate(
    tokens: int, budget: int, prefill_rate: float, score_rate: float | None, limit_s: float = float("inf")
) -> Estimate:
    """Estimate the gain of shortening `tokens` to `budget` tokens.

    Args:
        tokens: tokens of the prompt.
        budget: tokens after compression.
        prefill_rate: tokens per second of the model's prefill; infinite if unknown or of no account.
        score_rate: tokens per second of the scorer; None without one.
        limit_s: time limit of scoring in seconds.

    Raises:
        ValueError: a rate or the limit is not above 0, or a number of tokens is below 0.
    """
    if min(tokens, budget) < 0 or min(prefill_rate, limit_s) <= 0 or (score_rate is not None and score_rate <= 0):
        raise ValueError(f"no estimate for {tokens} tokens to {budget} at {prefill_rate} and {score_rate} a second")
    full = tokens / prefill_rate
    if tokens <= budget:
        return Estimate(full, 0.0, full, 0.0, False, f"All {tokens:,} tokens fit: {_seconds(full)} to read.")
    saved = full - budget / prefill_rate
    limit = min(limit_s, _GAIN_SHARE * saved) if full > 0.0 else limit_s
    needed = tokens / score_rate if score_rate else 0.0
    worth = needed * LEAST_SHARE <= limit
    scoring = min(needed, limit) if worth else needed
    short = scoring + budget / prefill_rate
    how = f"{_seconds(scoring)} of scoring and {_seconds(short - scoring)} of reading {budget:,} tokens"
    verdict = "worth it" if worth else "not worth it"
    words = f"Shortened: {how}; whole: {_seconds(full)} for {tokens:,} tokens; {verdict}."
    return Estimate(full, scoring, short, limit, worth, words)


_BATCH_S = 1.0
"""Seconds of work that are begun at once: the rate is measured again after each batch."""

_FIRST_SHARE = 0.25
"""Share of the limit that the first batch may take by the rate measured before, which may be of another length."""


def score_in_time(
    scorer: "Scorer",
    texts: Sequence[str],
    query: str,
    seconds: float,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[float], None] = lambda share: None,
    clock: Callable[[], float] = time.monotonic,
) -> list[Scores]:
    """Return one `Scores` per text, `UNSCORED` where there was no time.

    Args:
        texts: the most promising first: a text is scored if the measured rate says that it is done in time.
        query: the question.
        seconds: time limit.
        should_stop: as for `Scorer.score`; what was scored before it said so counts.
        progress: called with the share of the texts, or of the time, that is over, whichever is more.
        clock: seconds that only grow.

    Raises:
        Stopped: `should_stop` returned True before anything was scored.
    """
    began = clock()
    rate = scorer.rate or scorer.measure()
    found = [UNSCORED] * len(texts)
    sizes = [max(scorer.count(text), 1) for text in texts]
    whole = max(sum(sizes), 1)
    done, at = 0, 0

    def report(part: float) -> None:
        """Report a finished share of the newest batch."""
        over = (clock() - began) / seconds if seconds > 0.0 else 1.0
        progress(min(1.0, max((done + part * taken) / whole, over)))

    while at < len(texts):
        left = seconds - (clock() - began)
        most = rate * min(_BATCH_S, left if done else left * _FIRST_SHARE)
        batch: list[int] = []
        taken = 0
        while at < len(texts) and (taken + sizes[at] <= most or (not batch and sizes[at] <= rate * left)):
            batch.append(at)
            taken += sizes[at]
            at += 1
        if not batch:
            # Too long for the time that is left; a shorter one behind it may not be.
            at += 1
            continue
        try:
            scored = scorer.score([texts[index] for index in batch], query, should_stop, report)
        except Stopped:
            if done:
                return found
            raise
        for index, score in zip(batch, scored, strict=True):
            found[index] = score
        done += taken
        rate = scorer.rate or rate
    progress(1.0)
    return found


def _seconds(value: float) -> str:
    return f"{value:,.1f} s" if value < 100 else f"{value:,.0f} s"
