"""The longest match is the longest, the votes are what brute force counts, and taking back leaves no trace."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from laguna_engine.draft.suffix_automaton import MAX_MATCH, ROOT, SEPARATOR, SuffixAutomaton
from tests.engine.draft.votes import path, vote

TEXTS = st.one_of(
    st.lists(st.integers(0, 1), max_size=90),
    st.lists(st.integers(0, 4), max_size=90),
    # Repetition longer than the longest match, where states split and votes are capped.
    st.builds(
        lambda unit, times, rest: unit * times + rest,
        *[st.lists(st.integers(0, 2), max_size=5)],
        *[st.integers(1, 24)],
        *[st.lists(st.integers(0, 2), max_size=9)],
    ),
)


def automaton(text: list[int]) -> SuffixAutomaton:
    made = SuffixAutomaton()
    made.extend(text)
    return made


def followed(text: list[int], count: int) -> tuple[int, list[int]]:
    made = automaton(text)
    state, match = made.longest()
    return match, made.follow(state, match, count, shortest=1)[0]


@given(TEXTS)
def test_the_longest_match_and_its_vote_are_those_of_brute_force(text: list[int]):
    expected = vote(text, text)
    match, tokens = followed(text, 1)
    assert (match, tokens) == ((expected.match, [expected.token]) if expected else (0, []))


@settings(max_examples=60)
@given(TEXTS)
def test_every_step_of_a_draft_is_voted_on_with_the_tokens_before_it(text: list[int]):
    assert followed(text, 8)[1] == [step.token for step in path(text, text, 8)]


@given(TEXTS)
def test_confidence_ranks_tokens_as_their_share_of_the_votes_does(text: list[int]):
    made = automaton(text)
    chances = made.follow(*made.longest(), 4, shortest=1)[1]
    for chance, step in zip(chances, path(text, text, 4), strict=True):
        assert step.wins / (step.votes + 0.5) < chance < step.wins / step.votes


@given(TEXTS, TEXTS, st.data())
def test_a_text_that_was_cut_and_continued_is_the_same_as_a_fresh_one(text: list[int], more: list[int], data):
    kept = data.draw(st.integers(0, len(text)))
    cut = automaton(text)
    cut.truncate(kept)
    cut.extend(more)
    assert vars(cut) == vars(automaton(text[:kept] + more))


@given(st.lists(TEXTS, max_size=4), TEXTS)
@example([[0], [0], [0, 0]], [0])
def test_a_place_followed_token_by_token_is_the_longest_match_in_another_text(
    texts: list[list[int]], spoken: list[int]
):
    text = [token for part in texts for token in [*part, SEPARATOR]]
    made, place = automaton(text), (ROOT, 0)
    for token in spoken:
        place = made.step(*place, token)
    expected = vote(text, spoken)
    state, match = made.followed(*place)
    tokens = made.follow(state, match, 1, shortest=1)[0]
    assert (match, tokens) == ((expected.match, [expected.token]) if expected else (0, []))


def test_the_more_frequent_continuation_wins_over_the_later_one():
    assert followed([1, 2, 3, 1, 2, 3, 1, 2, 4, 1, 2], 1) == (2, [3])


def test_of_equally_frequent_continuations_the_later_one_wins():
    assert followed([1, 2, 3, 1, 2, 4, 1, 2], 1) == (2, [4])


def test_a_separator_is_never_proposed():
    assert followed([1, 2, SEPARATOR, 1, 2], 1) == (0, [])


def test_a_repetition_goes_on_beyond_the_end_of_the_text():
    assert followed([1, 2, 3] * 4, 9)[1] == [1, 2, 3] * 3


def test_a_match_is_no_longer_than_the_cap():
    assert followed([7] * (3 * MAX_MATCH), 1) == (MAX_MATCH, [7])


def test_a_draft_ends_where_matches_become_too_short():
    made = automaton([1, 2, 3, 9, 1, 2])
    state, match = made.longest()
    assert made.follow(state, match, 16, shortest=2)[0] == [3, 9, 1, 2, 3, 9, 1, 2, 3, 9, 1, 2, 3, 9, 1, 2]
    assert made.follow(state, match, 16, shortest=3)[0] == []
