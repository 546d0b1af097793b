"""A text is read a little at a time, however it changes, and in the end all of it is."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from laguna_engine.draft.suffix import READ_WITH_OFFER, SuffixReader
from laguna_engine.draft.suffix_automaton import SuffixAutomaton
from tests.engine.draft.transcripts import FileCopy, TranscriptCopy

STEP = 5
TOKENS = st.lists(st.integers(0, 2), max_size=60)


@contextmanager
def counted() -> Iterator[list[int]]:
    """How many tokens went into or out of automata, a call each."""
    moved: list[int] = []
    extend, truncate = SuffixAutomaton.extend, SuffixAutomaton.truncate

    def extended(automaton: SuffixAutomaton, tokens: list[int]) -> None:
        moved.append(len(tokens))
        extend(automaton, tokens)

    def truncated(automaton: SuffixAutomaton, length: int) -> None:
        moved.append(max(0, len(automaton) - length))
        truncate(automaton, length)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SuffixAutomaton, "extend", extended)
        patch.setattr(SuffixAutomaton, "truncate", truncated)
        yield moved


def fresh(tokens: list[int]) -> SuffixAutomaton:
    automaton = SuffixAutomaton()
    automaton.extend(tokens)
    return automaton


class Changing(RuleBasedStateMachine):
    """Whatever happens to the text, a call moves a few tokens only, and once none is left all of it is held."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[int] = []
        self.start = 0
        self.reader = SuffixReader(self.text)

    @rule(tokens=TOKENS)
    def grow(self, tokens: list[int]) -> None:
        self.text += tokens

    @rule(part=st.floats(0, 1))
    def cut(self, part: float) -> None:
        length = max(self.start, round(part * len(self.text)))
        del self.text[length:]
        self.reader.cut(length)

    @rule(part=st.floats(0, 1))
    def forget(self, part: float) -> None:
        self.start = round(part * len(self.text))
        self.reader.read_from(self.start, self.text)

    @rule(tokens=TOKENS)
    def replace(self, tokens: list[int]) -> None:
        self.text, self.start = tokens.copy(), 0
        self.reader.read_from(0, self.text)

    @rule()
    def advance(self) -> None:
        with counted() as moved:
            self.reader.advance(STEP)
        assert sum(moved) <= STEP

    @invariant()
    def what_it_holds_can_be_asked(self) -> None:
        self.reader.automaton.find([0, 1, 2])

    def teardown(self) -> None:
        most = 2 * (len(self.text) + 200)
        while not self.reader.advance(STEP):
            most -= 1
            assert most
        expected = fresh(self.text[self.start :])
        assert self.reader.at_end
        assert len(self.reader.automaton) == len(expected)
        for match in ([], self.text[-3:], [0, 1], [2, 2]):
            state, length = self.reader.automaton.find(match)
            wanted, same = expected.find(match)
            assert (length, self.reader.automaton.follow(state, length, 8, 1)) == (
                same,
                expected.follow(wanted, same, 8, 1),
            )


TestChanging = Changing.TestCase


def cycle(count: int, words: int = 97) -> list[int]:
    """A text in which everything recurs after some `words` tokens."""
    return [(index * index + index // words) % words for index in range(count)]


def test_no_offer_waits_for_a_whole_transcript() -> None:
    drafter = TranscriptCopy(4096)
    text = cycle(12_000)
    with counted() as moved:
        for change in (text[:4000], text[4000:4100], text[4100:5300], text[5300:]):
            drafter.extend(change)
            del moved[:]
            drafter.offer()
            assert sum(moved) <= READ_WITH_OFFER
        drafter.truncate(6000)
        del moved[:]
        drafter.offer()
        assert sum(moved) <= READ_WITH_OFFER


def test_no_offer_waits_for_whole_files() -> None:
    drafter = FileCopy(4096)
    drafter.extend([1, 2, 3])
    with counted() as moved:
        for index in range(4):
            drafter.add_files([tuple(cycle(2000 + index))])
            del moved[:]
            drafter.offer()
            assert sum(moved) <= READ_WITH_OFFER


def test_what_was_read_is_copied_from_while_the_rest_is_not_read_yet() -> None:
    drafter = TranscriptCopy()
    drafter.extend([1, 2, 3, 4, 5, 6, 7, 8, *range(1000, 3000), 1, 2, 3, 4])
    assert drafter.draft(3).tokens == [5, 6, 7]


def test_what_was_read_is_copied_from_until_the_rest_has_been_read_afresh() -> None:
    """The beginning is to be forgotten: until the rest is read without it, drafts come from what is held."""
    drafter = TranscriptCopy(2000)
    drafter.extend(range(10, 2000))
    while not drafter.catch_up(100):
        pass
    drafter.extend([*range(5000, 5020), 800, 801, 802, 803])
    offers = []
    done = False
    while not done:
        offers.append(drafter.draft(2).tokens)
        done = drafter.catch_up(100)
    assert len(offers) > 3
    assert offers == [[804, 805]] * len(offers)


def test_an_automaton_that_is_done_with_is_freed_a_little_at_a_time() -> None:
    automaton = fresh(cycle(1000))
    states = automaton.states
    assert automaton.shed(100) == 100
    assert automaton.states == states - 100
    assert automaton.shed(states) == states - 100
    assert automaton.states == 0
