"""A transcript is append-only, and every token has a label."""

import pytest

from laguna_engine.chat.transcript import Block, Role, Transcript


def two_blocks() -> Transcript:
    transcript = Transcript()
    transcript.append(Role.SYSTEM, [2, 7, 7])
    transcript.append(Role.USER, [8, 9], "question 1")
    return transcript


def test_blocks_lie_end_to_end():
    assert two_blocks().blocks == (Block(Role.SYSTEM, 0, 3, ""), Block(Role.USER, 3, 5, "question 1"))


def test_a_view_keeps_what_it_showed_while_the_transcript_grows():
    transcript = two_blocks()
    view = transcript.tokens
    transcript.extend([10, 11])
    assert list(view) == [2, 7, 7, 8, 9]
    assert (len(view), view[-1], view[3:], view[::-2]) == (5, 9, [8, 9], [9, 7, 2])
    assert list(transcript.tokens) == [2, 7, 7, 8, 9, 10, 11]


def test_a_view_has_no_token_past_its_end():
    transcript = two_blocks()
    view = transcript.tokens
    transcript.extend([10])
    with pytest.raises(IndexError):
        view[5]


def test_extending_grows_the_last_block():
    transcript = two_blocks()
    assert transcript.extend(iter([10])) == Block(Role.USER, 3, 6, "question 1")
    assert transcript.blocks[-1].end == len(transcript) == 6


def test_there_is_nothing_to_extend_in_an_empty_transcript():
    transcript = Transcript()
    with pytest.raises(IndexError):
        transcript.extend([1])
    assert len(transcript) == 0


@pytest.mark.parametrize(("index", "label"), [(0, ""), (2, ""), (3, "question 1"), (4, "question 1")])
def test_a_position_is_named_by_its_block(index, label):
    block = two_blocks().block_at(index)
    assert block is not None
    assert block.label == label


@pytest.mark.parametrize("index", [-1, 5])
def test_no_block_holds_a_position_outside(index):
    assert two_blocks().block_at(index) is None


def test_an_empty_block_holds_no_position():
    transcript = two_blocks()
    transcript.append(Role.TOOL, [], "nothing")
    transcript.append(Role.ASSISTANT, [1], "answer")
    block = transcript.block_at(5)
    assert block is not None
    assert block.label == "answer"
