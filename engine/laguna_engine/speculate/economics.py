"""Whether drafting pays, and how many tokens: pure arithmetic on acceptance and seconds.

A round drafts k tokens in d(k) seconds, verifies them in v(k) and commits the accepted ones and one more. Positions
accept in order, so with conditional acceptance a1, a2, … it commits 1 + a1 + a1·a2 + … tokens on average. The best k
has the most committed tokens a second; k = 0 is plain decoding, one token in v(0). With constant acceptance a, equal
verify costs and a draft cost of k·c this is Leviathan et al., arXiv 2211.17192, theorem 3.8.
"""

from collections.abc import Sequence
from itertools import accumulate
from operator import add, mul, truediv
from typing import NamedTuple


class Plan(NamedTuple):
    """How many tokens to draft, and the committed tokens a second that are expected of it."""

    length: int
    rate: float


def expected_tokens(acceptance: Sequence[float]) -> list[float]:
    """Committed tokens a round on average, for drafts of 0, 1, … `len(acceptance)` tokens.

    acceptance: for each position the chance that it stands given that those before it do.
    """
    return list(accumulate(accumulate(acceptance, mul), initial=1.0))


def constant_acceptance_tokens(acceptance: float, length: int) -> float:
    """Committed tokens a round when every position accepts alike: (1 - a^(k+1)) / (1 - a)."""
    if acceptance >= 1:
        return length + 1.0
    return float((1 - acceptance ** (length + 1)) / (1 - acceptance))


def speedup(committed: float, round_s: float, plain_s: float) -> float:
    """How many times faster than plain decoding: `committed` tokens in `round_s` against one in `plain_s` seconds."""
    return committed * plain_s / round_s


def best_length(committed: Sequence[float], verify_s: Sequence[float], draft_s: Sequence[float], longest: int) -> Plan:
    """The best of the lengths 1 to `longest`, which is 1 or more; each sequence is indexed by length.

    Plain decoding, `Plan(0, 1 / verify_s[0])`, is the caller's to compare with.
    """
    end = longest + 1
    rates = list(map(truediv, committed[1:end], map(add, verify_s[1:end], draft_s[1:end])))
    best = max(rates)
    return Plan(rates.index(best) + 1, best)


def cut_length(confidence: Sequence[float], verify_s: Sequence[float], rate: float) -> int:
    """How many tokens of a finished draft to verify, 0 included.

    The draft is paid for; every further token must bring more than its verification costs at `rate` tokens a second,
    which is what the time is otherwise worth.
    """
    best, best_value = 0, 1 - verify_s[0] * rate
    for length, committed in enumerate(expected_tokens(confidence)):
        value = committed - verify_s[length] * rate
        if value > best_value:
            best, best_value = length, value
    return best
