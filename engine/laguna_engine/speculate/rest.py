"""While nothing pays, even asking costs: on a tiny model the drafters' offers take a tenth of a token's time.

So after a round in which nobody drafts nobody is asked for as many rounds as make the asking cheap. On a model whose
tokens take milliseconds that is none.
"""

from laguna_engine.speculate.arbiter import Choice, Purpose

_SHARE = 0.02
"""What asking may cost of plain decoding."""

_MOST = 16
"""Rounds without asking, at most: what could be copied must not be overlooked for long."""


class Rest:
    """Counts the rounds until the drafters are asked again."""

    def __init__(self) -> None:
        self._left = 0
        self._choice: Choice | None = None

    def choice(self) -> Choice | None:
        """To decode plainly and for the same reason as before, or None when it is time to ask."""
        if not self._left:
            return None
        self._left -= 1
        return self._choice

    def after(self, choice: Choice, asking_s: float, plain_s: float) -> None:
        """A round was asked about, which took `asking_s`; it was computed in `plain_s` if nobody drafted."""
        if choice.offer is None and choice.purpose is Purpose.BEST and plain_s > 0:
            self._left = min(_MOST, int(asking_s / (_SHARE * plain_s)))
            self._choice = choice

    def end(self) -> None:
        """Something changed: ask in the next round."""
        self._left = 0
