"""The line of figures at the end of a turn."""

from laguna_engine.events import Stats
from laguna_tui.base.events import StepFinished
from laguna_tui.base.turn_figures import TurnFigures

FIRST = StepFinished(Stats(9316, 8112, 2.0, 101, 1.5, rounds=40, drafted=80, accepted=60), 9417, 32768)
SECOND = StepFinished(Stats(9500, 9417, 0.2, 112, 2.0, rounds=60, drafted=70, accepted=45), 9612, 32768)


def test_a_turn_reads_what_is_new_in_each_generation_and_reuses_what_was_cached_at_its_beginning() -> None:
    assert TurnFigures([FIRST, SECOND]).lines() == (
        "1,287 tokens read, 8,112 cached · 6 s · 213 tokens written · 60 tok/s · 70 % accepted",
        "1,287 read, 8,112 cached · 6 s · 213 written · 60 tok/s · 70 % accepted",
        "1,287 read · 6 s · 213 written · 60 tok/s",
        "1,287 read · 213 written · 60 tok/s",
        "213 written · 60 tok/s",
    )


def test_nothing_is_stated_that_was_not_measured() -> None:
    assert TurnFigures([StepFinished(Stats(500, 0, 0.5, 1, 0.0), 501, 4096)]).lines()[0] == (
        "500 tokens read, 0 cached · 0.5 s · 1 token written"
    )


def test_an_endpoint_that_counts_nothing_has_estimated_figures() -> None:
    remote = StepFinished(Stats(500, 0, 0.0, 41, 2.0), 541, 4096, cache_known=False, estimated=True, waited_s=3.0)
    assert TurnFigures([remote]).lines()[0] == "about 500 tokens sent · 5 s · 41 tokens written · 20 tok/s"


def test_a_turn_without_a_generation_has_no_line() -> None:
    assert TurnFigures().lines() == ()
