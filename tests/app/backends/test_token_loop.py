"""A model that goes in circles is noticed; one that lists things is not."""

import random
import time

import pytest

from laguna_tui.backends.token_loop import MIN_STRETCH, find_loop


def noticed_at(tokens):
    return next((n for n in range(1, len(tokens) + 1) if find_loop(tokens[:n]) is not None), None)


@pytest.mark.parametrize("length", [1, 2, 7, 64, 300, 512])
def test_words_that_repeat_are_noticed_after_three_rounds(length):
    chaos = random.Random(1)
    start = [chaos.randrange(5000) for _ in range(100)]
    stretch = [chaos.randrange(5000) for _ in range(length)]
    noticed = noticed_at(start + stretch * (2000 // length + 4))
    rounds = max(160, 3 * length)
    assert 100 + rounds <= noticed < 100 + rounds + 32


@pytest.mark.parametrize("length", [1, 2, 7, 15, 16, 64, 300])
def test_a_loop_is_its_stretch_and_where_the_first_round_of_it_ends(length):
    chaos = random.Random(1)
    start = [chaos.randrange(5000) for _ in range(100)]
    stretch = [chaos.randrange(5000) for _ in range(length)]
    tokens = start + stretch * (2000 // length + 4)
    loop = find_loop(tokens[: noticed_at(tokens)])
    rounds = -(-MIN_STRETCH // length)
    assert loop.stretch == tuple(stretch * rounds)
    assert loop.ends == 100 + length * rounds


def test_what_only_looks_alike_is_no_loop():
    numbered = [token for row in range(400) for token in (5, 6, 7, 1000 + row, 8)]
    assert noticed_at(numbered) is None
    assert noticed_at(list(range(3000))) is None


def test_looking_takes_no_time():
    tokens = [token for row in range(300) for token in ([5] * 20 + [row])][:6400]
    seconds = []
    for _ in range(20):
        begun = time.process_time()
        find_loop(tokens[: 64 * 90])
        seconds.append(time.process_time() - begun)
    assert min(seconds) < 0.01
