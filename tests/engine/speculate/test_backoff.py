"""While nothing pays the drafters are asked less often, in proportion to what asking costs."""

from laguna_engine.draft.base import Offer
from laguna_engine.draft.suffix import SuffixDrafter, kind
from laguna_engine.speculate.draft_policy import Backoff, DraftChoice, Purpose

OFF = DraftChoice(None, 0, "off: would cost 12 % here")


def resting(rest: Backoff) -> int:
    """Rounds until somebody is asked again."""
    count = 0
    while rest.choice() is not None:
        count += 1
    return count


def test_asking_that_costs_next_to_nothing_happens_every_round() -> None:
    rest = Backoff()
    rest.after(OFF, asking_s=60e-6, plain_s=6e-3)
    assert resting(rest) == 0


def test_asking_that_costs_a_tenth_happens_every_sixth_round() -> None:
    rest = Backoff()
    rest.after(OFF, asking_s=50e-6, plain_s=490e-6)
    assert resting(rest) == 5


def test_nobody_is_forgotten() -> None:
    rest = Backoff()
    rest.after(OFF, asking_s=1.0, plain_s=1e-6)
    assert resting(rest) == 16


def test_the_reason_stays_the_same_meanwhile() -> None:
    rest = Backoff()
    rest.after(OFF, asking_s=1e-4, plain_s=1e-3)
    assert rest.choice() is OFF


def test_a_round_with_a_draft_is_followed_by_another() -> None:
    rest = Backoff()
    offer = Offer(SuffixDrafter.source, kind(SuffixDrafter.source, 8), 9)
    rest.after(DraftChoice(offer, 9, "copying 9 tokens"), asking_s=1e-4, plain_s=1e-4)
    assert resting(rest) == 0


def test_a_fixed_length_and_a_measurement_are_no_rest() -> None:
    rest = Backoff()
    for purpose in (Purpose.FIXED, Purpose.BASELINE):
        rest.after(DraftChoice(None, 0, "", purpose), asking_s=1e-4, plain_s=1e-4)
    assert resting(rest) == 0


def test_a_new_request_ends_it() -> None:
    rest = Backoff()
    rest.after(OFF, asking_s=1e-4, plain_s=1e-4)
    rest.end()
    assert rest.choice() is None
