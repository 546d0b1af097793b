"""The decoding rate of the last moments, reported about ten times a second."""

from collections import deque

# As often as a number on a screen can be read.
INTERVAL_S = 0.1
# Long enough that one slow round does not make the number jump, short enough to follow a change.
WINDOW_S = 2.0


class DecodeRateMeter:
    """Counts tokens and reports the decoding rate from time to time."""

    def __init__(self) -> None:
        self.tokens = 0
        self._samples: deque[tuple[float, int]] = deque()

    def count(self, now: float) -> float | None:
        """Count one token; returns tokens per second if it is time to report them, else None."""
        self.tokens += 1
        if not self._samples:
            self._samples.append((now, self.tokens))
            return None
        if now - self._samples[-1][0] < INTERVAL_S:
            return None
        while len(self._samples) > 1 and now - self._samples[0][0] > WINDOW_S:
            self._samples.popleft()
        since, tokens = self._samples[0]
        self._samples.append((now, self.tokens))
        return (self.tokens - tokens) / (now - since)
