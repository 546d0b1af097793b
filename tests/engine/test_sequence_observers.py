"""What a sequence reports to those who follow it: the tokens that are committed, the rows that are really written."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from laguna_engine.checkpoints import Checkpoints
from laguna_engine.errors import RequestError
from laguna_engine.llama.context import Context, ContextOptions, DecodeStatus, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import LOGITS
from laguna_engine.sequence import TokenSequence
from tests.engine import tiny

WINDOW, UBATCH, CAPACITY = 16, 32, 1024
"""The sliding-window cache has 256 cells, so going back by more than 240 tokens takes a checkpoint."""

PROMPT = list(range(40, 60))
LONG = [30 + (11 * index) % 400 for index in range(700)]

Opened = Callable[..., tuple[TokenSequence, "Record"]]


class Record:
    """Everything that was reported, in order; and a transcript that is kept by reports alone."""

    def __init__(self) -> None:
        self.reports: list[tuple[object, ...]] = []
        self.transcript: list[int] = []

    def committed(self, tokens: Sequence[int]) -> None:
        self.reports.append(("committed", list(tokens)))
        self.transcript += tokens

    def truncated(self, length: int) -> None:
        self.reports.append(("truncated", length))
        del self.transcript[length:]

    def writing(self, rows: int) -> None:
        self.reports.append(("writing", rows))

    def written(self, start: int, count: int, rows: int) -> None:
        self.reports.append(("written", start, count, rows))

    def taken(self) -> list[tuple[object, ...]]:
        """The reports since this was last asked."""
        reports, self.reports = self.reports, []
        return reports


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    shape = tiny.Shape(window=WINDOW, experts_used=4)
    path: Path = tiny.laguna(shape).write(tmp_path_factory.mktemp("models") / "narrow.gguf")
    model = Model.open(path)
    yield model
    model.close()


@pytest.fixture
def opened(model: Model) -> Iterator[Opened]:
    contexts: list[Context] = []

    def sequence(*, paired: bool = False, swa_full: bool = True) -> tuple[TokenSequence, Record]:
        contexts.append(Context(model, ContextOptions(CAPACITY, n_ubatch=UBATCH, swa_full=swa_full, threads=1)))
        made, record = TokenSequence(model, contexts[-1], CAPACITY, paired=paired), Record()
        made.attach(record)
        return made, record

    yield sequence
    for context in contexts:
        context.close()


def read(sequence: TokenSequence, prompt: list[int]) -> None:
    sequence.rewind(prompt)
    while sequence.position < len(prompt):
        assert sequence.decode(UBATCH) is DecodeStatus.OK


def test_a_prompt_is_committed_at_once_and_written_part_by_part(opened: Opened) -> None:
    sequence, record = opened()
    sequence.rewind(PROMPT)
    assert record.taken() == [("truncated", 0), ("committed", PROMPT)]
    sequence.decode(15, Outputs.NONE)
    sequence.decode(15)
    assert record.taken() == [("writing", 15), ("written", 0, 15, 15), ("writing", 5), ("written", 15, 5, 5)]
    assert (sequence.position, list(sequence.tokens)) == (len(PROMPT), PROMPT)


def test_a_plain_round_commits_a_token_that_the_next_one_writes(opened: Opened) -> None:
    sequence, record = opened()
    read(sequence, PROMPT)
    record.taken()
    sequence.commit([70])
    sequence.decode(1)
    sequence.commit([71])
    assert record.taken() == [("committed", [70]), ("writing", 1), ("written", 20, 1, 1), ("committed", [71])]


@pytest.mark.parametrize("outputs", [Outputs.NONE, Outputs.LAST, Outputs.ALL])
def test_in_pairs_one_token_writes_two_rows_of_which_one_counts(opened: Opened, outputs: Outputs) -> None:
    sequence, record = opened(paired=True)
    read(sequence, PROMPT)
    sequence.commit([70])
    record.taken()
    sequence.decode(1, outputs)
    assert record.taken() == [("writing", 2), ("written", 20, 1, 2)]
    assert sequence.position == 21


def test_in_pairs_several_tokens_write_their_own_rows(opened: Opened) -> None:
    sequence, record = opened(paired=True)
    read(sequence, PROMPT)
    assert record.taken()[-1] == ("written", 0, 20, 20)


def test_of_a_draft_all_rows_are_written_and_what_is_rejected_is_truncated(opened: Opened) -> None:
    sequence, record = opened()
    read(sequence, PROMPT)
    sequence.commit([70])
    record.taken()
    assert sequence.verify([71, 72, 73]) is DecodeStatus.OK
    assert record.taken() == [("writing", 4), ("written", 20, 4, 4)]
    assert list(sequence.tokens) == [*PROMPT, 70]
    sequence.commit([71, 99])
    assert record.taken() == [("truncated", 22), ("committed", [71, 99])]
    assert (sequence.position, sequence.context.positions()[1]) == (22, 21)
    assert list(sequence.tokens) == record.transcript == [*PROMPT, 70, 71, 99]


def test_of_a_draft_that_is_accepted_nothing_is_truncated(opened: Opened) -> None:
    sequence, record = opened()
    read(sequence, PROMPT)
    sequence.commit([70])
    sequence.verify([71, 72])
    record.taken()
    sequence.commit([71, 72, 73])
    assert record.taken() == [("committed", [71, 72, 73])]
    assert sequence.position == len(sequence.tokens) - 1 == 23


def test_another_prompt_truncates_to_what_it_shares_and_commits_the_rest(opened: Opened) -> None:
    sequence, record = opened()
    read(sequence, PROMPT)
    record.taken()
    sequence.rewind([*PROMPT[:12], 90, 91])
    assert record.taken() == [("truncated", 12), ("committed", [90, 91])]
    assert sequence.position == 12


def test_a_prompt_that_comes_again_is_truncated_by_the_token_that_is_computed_once_more(opened: Opened) -> None:
    sequence, record = opened()
    read(sequence, PROMPT)
    record.taken()
    sequence.rewind(PROMPT)
    assert record.taken() == [("truncated", 19), ("committed", PROMPT[19:])]


def test_what_was_committed_and_never_computed_is_truncated_too(opened: Opened) -> None:
    sequence, record = opened()
    sequence.rewind(PROMPT)
    sequence.decode(8)
    record.taken()
    sequence.rewind([*PROMPT[:15], 90])
    assert record.taken() == [("truncated", 8), ("committed", [*PROMPT[8:15], 90])]


def test_less_can_be_kept_than_is_there(opened: Opened) -> None:
    sequence, record = opened()
    read(sequence, PROMPT)
    record.taken()
    assert sequence.rewind([*PROMPT, 90], at_most=7).keep == 7
    assert record.taken() == [("truncated", 7), ("committed", [*PROMPT[7:], 90])]


def test_back_at_a_checkpoint_the_report_is_that_of_any_cut(opened: Opened) -> None:
    sequence, record = opened(swa_full=False)
    sequence.checkpoints = Checkpoints(4, 1 << 30)
    read(sequence, LONG[:300])
    sequence.save_checkpoint(None)
    read(sequence, LONG)
    record.taken()
    reuse = sequence.rewind([*LONG[:320], 90])
    assert (reuse.keep, reuse.checkpoint) == (300, 300)
    assert record.taken() == [("truncated", 300), ("committed", [*LONG[300:320], 90])]


def test_where_a_checkpoint_is_refused_all_is_truncated(opened: Opened) -> None:
    sequence, record = opened(swa_full=False)
    sequence.checkpoints = Checkpoints(4, 1 << 30)
    read(sequence, LONG[:300])
    sequence.save_checkpoint(None)
    sequence.checkpoints.at(300).window.words[7] ^= 1
    read(sequence, LONG)
    record.taken()
    assert sequence.rewind([*LONG[:320], 90]).reprefill
    assert record.taken() == [("truncated", 0), ("committed", [*LONG[:320], 90])]
    assert sequence.context.positions() == (-1, -1)


def test_a_cut_forgets_the_checkpoints_behind_it(opened: Opened) -> None:
    sequence, _ = opened(swa_full=False)
    sequence.checkpoints = Checkpoints(4, 1 << 30)
    for length in (100, 200):
        read(sequence, LONG[:length])
        sequence.save_checkpoint(None)
    sequence.rewind([*LONG[:150], 90])
    assert sequence.checkpoints.lengths == (100,)


def test_a_stopped_decode_may_have_written_every_row_and_counts_none(opened: Opened) -> None:
    sequence, record = opened()
    read(sequence, PROMPT)
    sequence.commit([70])
    record.taken()
    sequence.context.request_abort()
    assert sequence.verify([71, 72]) is DecodeStatus.ABORTED
    sequence.context.clear_abort()
    assert record.taken() == [("writing", 3), ("written", 20, 0, 3)]
    assert sequence.decode(1) is DecodeStatus.OK


def test_a_refused_decode_is_reported_like_a_stopped_one(opened: Opened) -> None:
    sequence, record = opened()
    read(sequence, PROMPT)
    sequence.commit([10**6])
    record.taken()
    with pytest.raises(RequestError):
        sequence.decode(1)
    assert record.taken() == [("writing", 1), ("written", 20, 0, 1)]


def test_a_cleared_sequence_has_nothing(opened: Opened) -> None:
    sequence, record = opened()
    read(sequence, PROMPT)
    record.taken()
    sequence.clear()
    assert record.taken() == [("truncated", 0)]
    assert (sequence.position, list(sequence.tokens), sequence.holds(PROMPT[:1])) == (0, [], False)


def test_who_comes_late_hears_first_what_is_committed(opened: Opened) -> None:
    sequence, _ = opened()
    read(sequence, PROMPT)
    late = Record()
    sequence.attach(late)
    sequence.commit([70])
    assert late.taken() == [("committed", PROMPT), ("committed", [70])]


def test_the_tokens_can_be_held_on_to_and_follow(opened: Opened) -> None:
    sequence, _ = opened()
    tokens = sequence.tokens
    read(sequence, PROMPT)
    sequence.commit([70])
    assert list(tokens) == [*PROMPT, 70]
    sequence.rewind([1, 2, 3])
    assert tokens is sequence.tokens
    assert list(tokens) == [1, 2, 3]


def test_two_logits_are_compared_behind_any_text(opened: Opened) -> None:
    sequence, record = opened()
    read(sequence, LONG[:50])
    margin = sequence.margin([*PROMPT, 70], 80, 81)
    assert record.transcript == list(sequence.tokens) == [*PROMPT, 70]
    sequence.context.read_out(LOGITS)
    sequence.rewind([*PROMPT, 70])
    sequence.decode(1)
    logits = sequence.context.logits()
    assert margin == pytest.approx(float(logits[81] - logits[80]), abs=1e-4)
