"""The cost of a prompt, estimated before it is sent."""

import pytest

from laguna_engine.sequence import PrefillRate, Preview, plan_reuse, prefill_preview


def preview(held: list[int], rate: PrefillRate, prompt: list[int], capacity: int) -> Preview:
    return prefill_preview(plan_reuse(held, prompt), rate, len(prompt), capacity)


def test_the_time_is_unknown_until_a_prompt_was_measured():
    assert preview([], PrefillRate(), [1, 2, 3], 10).seconds is None


def test_the_time_is_that_of_the_new_tokens_at_the_measured_rate():
    rate = PrefillRate()
    rate.record(1000, 2.0)
    cost = preview([1, 2], rate, [1, 2, 3, 4, 5], 10)
    assert (cost.cached, cost.new) == (2, 3)
    assert cost.seconds == pytest.approx(0.006)


def test_a_prompt_of_a_few_tokens_hardly_changes_the_rate():
    rate = PrefillRate()
    rate.record(4000, 4.0)
    rate.record(1, 0.1)
    assert rate.seconds_for(1000) == pytest.approx(1.0, rel=0.05)


def test_newer_measurements_outweigh_older_ones():
    rate = PrefillRate()
    rate.record(4000, 4.0)
    for _ in range(10):
        rate.record(8000, 80.0)
    assert rate.seconds_for(1000) == pytest.approx(10.0, rel=0.05)


@pytest.mark.parametrize(("capacity", "fits"), [(4, True), (3, False)])
def test_a_prompt_fits_only_with_room_for_one_more_token(capacity, fits):
    assert preview([], PrefillRate(), [1, 2, 3], capacity).fits is fits
