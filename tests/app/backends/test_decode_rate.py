"""The live rate follows the last moments and is told about ten times a second."""

import pytest

from laguna_tui.backends.base import RATE_INTERVAL_S, RATE_WINDOW_S, DecodeRateMeter


def rates(times):
    meter = DecodeRateMeter()
    return [(now, rate) for now in times if (rate := meter.count(now)) is not None]


def test_it_is_told_about_ten_times_a_second():
    told = rates(n / 200 for n in range(1, 401))
    assert len(told) == pytest.approx(2 / RATE_INTERVAL_S, abs=2)
    assert all(rate == pytest.approx(200, rel=0.01) for _, rate in told)


def test_it_follows_a_change_within_its_window():
    slow_then_fast = [n / 10 for n in range(50)] + [5 + n / 100 for n in range(400)]
    assert rates(slow_then_fast)[-1][1] == pytest.approx(100, rel=0.05)
    assert RATE_WINDOW_S < 4


def test_tokens_that_arrive_together_divide_by_no_zero():
    assert rates([1.0] * 50) == []
