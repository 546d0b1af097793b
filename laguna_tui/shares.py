"""Whose tokens an answer is made of, for every front end."""

from laguna_engine.events import Source
from laguna_engine.speculate.tally import Summary


def shares(told: Summary) -> dict[Source, float]:
    """The part of the tokens that each proposed, by the rounds that were told; empty when there were none."""
    counts = {source: record.accepted for source, record in told.drafters.items()}
    # Every round commits one token of the target's own.
    counts[Source.TARGET] = told.rounds
    return {source: count / sum(counts.values()) for source, count in counts.items()} if told.rounds else {}
