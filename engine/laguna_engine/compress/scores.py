"""A scorer model's opinion of a text."""

from typing import NamedTuple


class Scores(NamedTuple):
    """A scorer model's scores of one text; higher is better.

    Attributes:
        attention: attention of the query's last tokens to the text; the maximum over layers, heads and tokens.
        gain: reduction of the query's loss by the text, in nats per token.
    """

    attention: float
    gain: float


UNSCORED = Scores(float("-inf"), float("-inf"))
"""Of a text that the scorer had no time for: no opinion."""
