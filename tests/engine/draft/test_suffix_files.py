"""What the files' copy drafter offers, which files it remembers, and that naming them again costs nothing."""

from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.draft.base import Offer
from laguna_engine.draft.suffix import SHORTEST, kind
from laguna_engine.draft.suffix_automaton import SEPARATOR, SuffixAutomaton
from tests.engine.draft.transcripts import FileCopy
from tests.engine.draft.votes import path

TOKENS = st.lists(st.integers(0, 3), max_size=30)


def reading(*files: list[int], limit: int = 1000) -> FileCopy:
    drafter = FileCopy(limit)
    drafter.add_files(files)
    return drafter


def copies_from(drafter: FileCopy, file: list[int]) -> bool:
    """Whether the beginning of `file` makes the drafter propose what comes next in it."""
    drafter.truncate(0)
    drafter.extend(file[:3])
    return drafter.draft(1).tokens == file[3:4]


def numbered(start: int, size: int) -> list[int]:
    return list(range(start, start + size))


def test_it_goes_on_as_the_file_does():
    drafter = reading([1, 2, 3, 4, 5, 6])
    drafter.extend([9, 9, 2, 3, 4])
    assert drafter.offer() == Offer(FileCopy.source, kind(FileCopy.source, 3), 2)
    assert drafter.draft(5).tokens == [5, 6]


def test_the_transcript_itself_is_not_copied_from():
    drafter = reading([1, 2, 3])
    drafter.extend([7, 8, 9, 7, 8])
    assert drafter.offer() is None


def test_a_draft_does_not_run_from_one_file_into_the_next():
    drafter = reading([1, 2, 3], [4, 5, 6])
    drafter.extend([1, 2])
    assert drafter.draft(9).tokens == [3]


def test_files_vote_together():
    drafter = reading([1, 2, 3], [0, 1, 2, 3], [1, 2, 4])
    drafter.extend([1, 2])
    assert drafter.draft(1).tokens == [3]


def test_a_file_named_twice_votes_once():
    drafter = reading([1, 2, 3], [1, 2, 4])
    drafter.add_files([[1, 2, 3]])
    drafter.extend([1, 2])
    assert drafter.draft(1).tokens == [4]


@given(st.lists(TOKENS, max_size=4), TOKENS, TOKENS, TOKENS)
def test_it_drafts_what_brute_force_finds_in_all_files(
    files: list[list[int]], late: list[int], start: list[int], end: list[int]
):
    drafter = reading(*files)
    drafter.extend(start)
    drafter.offer()
    drafter.add_files([late])
    drafter.extend(end)
    distinct = list(dict.fromkeys(map(tuple, [*files, late])))
    text = [token for file in distinct for token in (*file, SEPARATOR)]
    expected = path(text, start + end, 16, SHORTEST)
    assert drafter.draft(16).tokens == [step.token for step in expected]


@given(TOKENS, TOKENS, TOKENS, st.integers(0, 30))
def test_a_transcript_that_was_cut_and_continued_is_the_same_as_a_fresh_one(
    file: list[int], before: list[int], after: list[int], kept: int
):
    cut, fresh = reading(file), reading(file)
    cut.extend(before)
    cut.offer()
    cut.truncate(min(kept, len(before)))
    cut.extend(after)
    fresh.extend(before[:kept] + after)
    assert cut.draft(16) == fresh.draft(16)


def test_the_file_named_longest_ago_is_forgotten_first():
    files = [numbered(100 * index, 30) for index in range(1, 5)]
    drafter = reading(*files[:3], limit=100)
    drafter.add_files([files[0]])
    drafter.add_files([files[3]])
    assert [copies_from(drafter, file) for file in files] == [True, False, False, True]


def test_of_a_file_that_is_too_long_the_beginning_is_kept():
    file = numbered(1, 200)
    drafter = reading(limit=100)
    drafter.add_files([file])
    assert copies_from(drafter, file[:70])
    assert not copies_from(drafter, file[80:])


def test_of_more_files_than_fit_the_last_are_kept():
    files = [numbered(100 * index, 30) for index in range(1, 5)]
    drafter = reading(*files, limit=100)
    assert [copies_from(drafter, file) for file in files] == [False, False, True, True]


def test_files_that_are_named_again_are_not_read_again(monkeypatch):
    files = (numbered(1, 30), numbered(100, 30))
    drafter = reading(*files)
    drafter.offer()
    monkeypatch.delattr(SuffixAutomaton, "extend")
    drafter.add_files([list(file) for file in files])
    drafter.extend([1, 2])
    assert drafter.draft(1).tokens == [3]
