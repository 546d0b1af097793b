"""Samples and rounds made by hand."""

from laguna_engine.draft.dflash import DFlash
from laguna_engine.events import Round, Stats
from laguna_tui.bench.answer_runs import AnswerSample


def spun(drafted: int, accepted: int, seconds: tuple[float, float, float, float] = (1.0, 2.0, 0.5, 4.0)) -> Round:
    """A round with these draft, verify, sample and total seconds."""
    return Round(DFlash.source if drafted else None, drafted, accepted, *seconds, rejected="", reason="")


def sample(
    way: str, prompt: str, tokens=(1, 2, 3), *, repeat: int = 0, decode_s: float = 1.0, rounds=()
) -> AnswerSample:
    """An answer whose tokens after the first took `decode_s`."""
    return AnswerSample(way, prompt, repeat, tuple(tokens), Stats(5, 0, 0.1, len(tokens), decode_s), tuple(rounds))
