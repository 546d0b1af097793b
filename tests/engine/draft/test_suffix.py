"""What the transcript's copy drafter offers, and that it stays bounded and exact through cuts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from laguna_engine.draft.base import Offer
from laguna_engine.draft.suffix import SHORTEST, kind
from tests.engine.draft.transcripts import TranscriptCopy
from tests.engine.draft.votes import path

TOKENS = st.lists(st.integers(0, 2), max_size=40)
LIMIT = 48


def told(tokens: list[int], limit: int = 1000) -> TranscriptCopy:
    drafter = TranscriptCopy(limit)
    drafter.extend(tokens)
    return drafter


def test_it_offers_what_followed_the_same_words_before():
    drafter = told([5, 6, 7, 8, 9, 5, 6])
    assert drafter.offer() == Offer(TranscriptCopy.source, kind(TranscriptCopy.source, 2), 16)
    assert drafter.draft(3).tokens == [7, 8, 9]


def test_nothing_new_is_offered_without_a_match():
    drafter = told([1, 2, 3, 4])
    assert drafter.offer() is None
    assert drafter.draft(4).tokens == []


def test_a_single_token_that_recurs_is_no_match():
    assert told([1, 2, 3, 4, 1]).offer() is None


@pytest.mark.parametrize(
    ("match", "name"),
    [(2, "1-2"), (3, "3-4"), (4, "3-4"), (5, "5-7"), (7, "5-7"), (8, "8+"), (32, "8+")],
)
def test_the_kind_says_how_long_the_match_is(match: int, name: str):
    words = list(range(100, 100 + match))
    offer = told([*words, 1, 2, 3, *words]).offer()
    assert offer is not None
    assert (offer.kind.name, offer.kind) == (f"suffix/{name}", kind(TranscriptCopy.source, match))


def test_a_draft_has_a_chance_for_every_token():
    draft = told([1, 2, 3, 4, 1, 2, 3, 5, 1, 2]).draft(2)
    assert draft.tokens == [3, 5]
    assert draft.confidence is not None
    sure, torn = draft.confidence
    assert sure > 0.8
    assert torn < 0.5


def test_the_offer_follows_what_is_committed():
    drafter = told([1, 2, 3, 4, 1, 2])
    assert drafter.draft(1).tokens == [3]
    drafter.extend([3])
    assert drafter.draft(1).tokens == [4]


def test_a_prompt_can_be_taken_in_by_parts_without_changing_what_is_offered():
    tokens = [1, 2, 3, 1, 2, 4, 1, 2, 4] * 5
    drafter = told(tokens)
    while not drafter.catch_up(4):
        pass
    assert drafter.draft(8) == told(tokens).draft(8)


def test_a_new_transcript_forgets_everything():
    drafter = told([1, 2, 3, 1, 2])
    drafter.truncate(0)
    drafter.extend([1, 2])
    assert drafter.text == [1, 2]
    assert drafter.offer() is None


@given(st.lists(st.integers(0, 30), min_size=LIMIT + 1, max_size=4 * LIMIT))
def test_of_a_long_transcript_only_the_newest_part_is_copied_from(tokens: list[int]):
    # What is kept is at least three quarters of the limit, and the drafts are those of that part.
    drafts = [
        [step.token for step in path(tokens[-kept:], tokens[-kept:], 16, SHORTEST)]
        for kept in range(LIMIT * 3 // 4, LIMIT + 1)
    ]
    assert told(tokens, LIMIT).draft(16).tokens in drafts


class Rewinding(RuleBasedStateMachine):
    """However a transcript came to be, the drafter says what a fresh one says."""

    def __init__(self) -> None:
        super().__init__()
        self.drafter = TranscriptCopy(LIMIT)
        self.tokens: list[int] = []

    @rule(tokens=TOKENS)
    def extend(self, tokens: list[int]) -> None:
        self.drafter.extend(tokens)
        self.tokens += tokens

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        del self.tokens[round(part * len(self.tokens)) :]
        self.drafter.truncate(len(self.tokens))

    @rule(most=st.integers(0, 30))
    def catch_up(self, most: int) -> None:
        self.drafter.catch_up(most)

    @rule()
    def begin_again(self) -> None:
        self.drafter.truncate(0)
        self.tokens.clear()

    @rule()
    def offer(self) -> None:
        assert self.drafter.offer() == told(self.tokens, LIMIT).offer()

    @invariant()
    def same_text(self) -> None:
        assert self.drafter.text == self.tokens

    def teardown(self) -> None:
        assert self.drafter.draft(16) == told(self.tokens, LIMIT).draft(16)


TestRewinding = Rewinding.TestCase
