"""Estimates whether compressing a prompt is faster than prefilling all of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds until the first token.

    Attributes:
        full_s: prefilling everything.
        scoring_s: scoring alone.
        short_s: scoring and prefilling the rest.
        worth: whether `short_s` is less than `full_s`.
        sentence: the estimate as a sentence for the user.
    """

    full_s: float
    scoring_s: float
    short_s: float
    worth: bool
    sentence: str


def estimate(tokens: int, budget: int, prefill_rate: float, score_rate: float | None) -> Estimate:
    """Estimate the gain of shortening `tokens` to `budget` tokens.

    Args:
        tokens: tokens of the prompt.
        budget: tokens after compression.
        prefill_rate: tokens per second of the model's prefill.
        score_rate: tokens per second of the scorer; None without one.

    Raises:
        ValueError: a rate is not above 0, or a number of tokens is below 0.
    """
    if min(tokens, budget) < 0 or prefill_rate <= 0 or (score_rate is not None and score_rate <= 0):
        raise ValueError(f"no estimate for {tokens} tokens to {budget} at {prefill_rate} and {score_rate} a second")
    full = tokens / prefill_rate
    if tokens <= budget:
        return Estimate(full, 0.0, full, False, f"All {tokens:,} tokens fit: {_seconds(full)} to read.")
    scoring = tokens / score_rate if score_rate else 0.0
    short = scoring + budget / prefill_rate
    how = f"{_seconds(scoring)} of scoring and {_seconds(short - scoring)} of reading {budget:,} tokens"
    verdict = "worth it" if short < full else "not worth it"
    words = f"Shortened: {how}; whole: {_seconds(full)} for {tokens:,} tokens; {verdict}."
    return Estimate(full, scoring, short, short < full, words)


def _seconds(value: float) -> str:
    return f"{value:,.1f} s" if value < 100 else f"{value:,.0f} s"
