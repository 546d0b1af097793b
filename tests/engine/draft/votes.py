"""The copy drafters' rules again, by brute force: every occurrence is looked for and every vote counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from laguna_engine.draft.suffix_automaton import MAX_MATCH, SEPARATOR


@dataclass(frozen=True)
class Vote:
    """Outcome after the longest match: its length, the token chosen, its votes and how many were cast."""

    match: int
    token: int
    wins: int
    votes: int


def vote(text: Sequence[int], end: Sequence[int]) -> Vote | None:
    """What `text` says after the longest end of `end` that something follows in it; None if nothing matches."""
    for match in range(min(MAX_MATCH, len(end)), 0, -1):
        followers = _followers(text, end[len(end) - match :])
        counts = {token: followers.count(token) for token in followers if token != SEPARATOR}
        if counts:
            # Of several with the same count the one seen last.
            token = max(counts, key=lambda token: (counts[token], _last_index(followers, token)))
            return Vote(match, token, counts[token], len(followers))
    return None


def path(text: Sequence[int], end: Sequence[int], count: int, shortest: int = 1) -> list[Vote]:
    """Up to `count` votes, each cast with the tokens chosen before it behind `end`."""
    votes: list[Vote] = []
    for _ in range(count):
        outcome = vote(text, [*end, *(past.token for past in votes)])
        if outcome is None or outcome.match < shortest:
            break
        votes.append(outcome)
    return votes


def _followers(text: Sequence[int], part: Sequence[int]) -> list[int]:
    size = len(part)
    return [text[at + size] for at in range(len(text) - size) if list(text[at : at + size]) == list(part)]


def _last_index(values: list[int], value: int) -> int:
    return len(values) - 1 - values[::-1].index(value)
