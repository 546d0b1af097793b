"""Who drafts and how many, over whole simulated sessions: close to the best there is, never much worse than plain."""

import re
from itertools import pairwise

import pytest

from laguna_engine.draft.base import MAX_DRAFT, Draft, Offer
from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import FileDrafter, SuffixDrafter
from laguna_engine.speculate.draft_policy import DraftChoice, DraftPolicy, Purpose
from tests.engine.speculate.simulation import MEMORY_BOUND, PLAIN_S, STAIRCASE, Simulated, best_fixed, kind_of, play

SEEDS = range(4)
STEEP = [1 + 0.25 * length for length in range(33)]
"""A machine that computes as slowly as it reads: every verified token costs a quarter of a round."""

COSTS = pytest.mark.parametrize("verify", [MEMORY_BOUND, STAIRCASE, STEEP], ids=["memory-bound", "staircase", "steep"])
DFLASH = Offer(DFlash.source, kind_of("dflash"), 16)
ADAPTER = Offer(DFlash.source, kind_of("dflash/a-very-long-adapter-name"), 16)
LONG_COPY = Offer(SuffixDrafter.source, kind_of("suffix/8+"), 32)
FILE_COPY = Offer(FileDrafter.source, kind_of("file/5-7"), 12)


def always(acceptance: float, **settings) -> Simulated:
    return Simulated(acceptance=lambda _: acceptance, **settings)


def copier(kind: str, acceptance: float, **settings) -> Simulated:
    return always(acceptance, kind=kind, cost=0.0005, longest=32, source=SuffixDrafter.source, **settings)


def settled(*drafters: Simulated, verify: list[float] = MEMORY_BOUND, rounds: int = 600) -> DraftPolicy:
    policy = DraftPolicy()
    play(policy, list(drafters), rounds, verify)
    return policy


@COSTS
@pytest.mark.parametrize("cost", [0.02, 0.1])
def test_a_drafter_that_is_always_wrong_costs_at_most_two_percent(verify, cost):
    for seed in SEEDS:
        assert play(DraftPolicy(), [always(0.0, cost=cost)], 400, verify, seed=seed).rate > 0.98


@COSTS
def test_drafters_that_are_all_always_wrong_cost_at_most_two_percent_together(verify):
    copies = [copier(f"suffix/{match}", 0.0, offered=lambda i, at=at: i % 4 == at) for at, match in enumerate(MATCHES)]
    for seed in SEEDS:
        assert play(DraftPolicy(), [always(0.0), *copies], 1000, verify, seed=seed).rate > 0.98


MATCHES = ("1-2", "3-4", "5-7", "8+")


@COSTS
@pytest.mark.parametrize("acceptance", [0.65, 0.8, 0.95])
def test_the_length_ends_within_five_percent_of_the_best_fixed_one(verify, acceptance):
    policy = settled(always(acceptance), verify=verify)
    later = play(policy, [always(acceptance)], 2000, verify, seed=5)
    assert later.rate > 0.95 * best_fixed(acceptance, 0.1, verify)


@COSTS
def test_learning_what_pays_costs_little(verify):
    rates = [play(DraftPolicy(), [always(0.8)], 400, verify, seed=seed).rate for seed in SEEDS]
    assert sum(rates) / len(rates) > 0.9 * best_fixed(0.8, 0.1, verify)


def test_stairs_are_found_and_stood_on():
    policy = settled(always(0.8), verify=STAIRCASE)
    lengths = play(policy, [always(0.8)], 300, STAIRCASE).lengths(300)
    assert lengths.count(7) > 280


def test_the_length_does_not_flap():
    policy = settled(always(0.8))
    lengths = play(policy, [always(0.8)], 500).lengths(500)
    changes = sum(before != after for before, after in pairwise(lengths))
    assert changes < 50


def test_a_drafter_that_recovers_is_noticed():
    policy = settled(always(0.0))
    assert play(policy, [always(0.0)], 100).lengths(100).count(0) > 90
    lengths = play(policy, [always(0.9)], 600).lengths(600)
    assert all(length > 4 for length in lengths[-50:] if length)
    assert lengths[-50:].count(0) <= 2


def test_a_drafter_that_fails_is_dropped():
    policy = settled(always(0.8))
    failing = play(policy, [always(0.0)], 300)
    assert failing.lengths(200).count(0) > 190
    assert failing.rate > 0.95


@pytest.mark.parametrize("better, worse", [(0.9, 0.5), (0.5, 0.0)])
def test_the_better_of_two_drafters_wins(better, worse):
    good, bad = always(better, kind="good"), always(worse, kind="bad")
    for drafters in ([good, bad], [bad, good]):
        kinds = play(settled(*drafters), drafters, 300).kinds(300)
        assert kinds.count("good") > 280


def test_a_cheap_copy_beats_a_dear_draft_of_the_same_quality():
    copy, draft = copier("suffix/5-7", 0.8), always(0.8, cost=0.5)
    assert play(settled(copy, draft), [copy, draft], 300).kinds(300).count("suffix/5-7") > 280


def test_a_long_match_is_taken_alone_even_where_the_model_drafts_better():
    copy, draft = copier("suffix/8+", 0.6), always(0.9)
    assert set(play(settled(copy, draft), [copy, draft], 100).kinds(100)) == {"suffix/8+"}


def test_a_drafter_that_gains_is_found_though_others_lost_before_it():
    copies = [copier(f"suffix/{match}", 0.0) for match in MATCHES]
    policy = settled(*copies, always(0.9), rounds=100)
    assert play(policy, [*copies, always(0.9)], 200).kinds(200).count("dflash") > 160


def test_a_long_match_that_does_not_pay_is_left_alone():
    copy, draft = copier("suffix/8+", 0.0), always(0.9)
    assert play(settled(copy, draft), [copy, draft], 200).kinds(200).count("dflash") > 190


def test_drafting_may_pay_in_short_contexts_and_not_in_long_ones():
    policy = settled(always(0.5))
    play(policy, [always(0.5)], 600, [1 + 0.6 * length for length in range(33)], context=50_000)
    assert play(policy, [always(0.5)], 50).lengths(50).count(0) <= 2
    far = play(policy, [always(0.5)], 50, [1 + 0.6 * length for length in range(33)], context=50_000)
    assert far.lengths(50).count(0) >= 45


def test_without_an_offer_or_without_room_nothing_is_drafted():
    for offers in ([], [Offer(DFlash.source, kind_of("dflash"), 0)]):
        choice = DraftPolicy().choose(offers, 100)
        assert (choice.offer, choice.length, choice.reason) == (None, 0, "nothing to draft from")


def test_the_speed_of_plain_decoding_is_measured_first_and_again_from_time_to_time():
    purposes = [choice.purpose for choice in play(DraftPolicy(), [always(0.9)], 600).choices]
    assert purposes[:2] == [Purpose.BASELINE] * 2
    assert Purpose.BASELINE not in purposes[2:50]
    assert 2 <= purposes[50:].count(Purpose.BASELINE) <= 8


def test_an_offer_is_never_asked_for_more_than_it_has():
    policy = settled(always(0.95))
    assert policy.choose([Offer(DFlash.source, kind_of("dflash"), 3)], 100).length == 3


def test_a_fixed_length_is_kept_from_the_first_round_on():
    session = play(DraftPolicy(), [always(0.0)], 50, fixed=4)
    assert set(session.lengths(50)) == {4}
    assert {choice.reason for choice in session.choices} == {"fixed at 4"}


def test_a_fixed_length_is_cut_to_what_is_offered_and_zero_means_none():
    policy = DraftPolicy()
    assert policy.choose([Offer(FileDrafter.source, kind_of("file/1-2"), 3)], 100, fixed=8).length == 3
    nobody = policy.choose([DFLASH], 100, fixed=0)
    assert (nobody.offer, nobody.length, nobody.reason) == (None, 0, "fixed at 0")
    assert policy.choose([], 100, fixed=8).offer is None


def test_nothing_longer_is_planned_than_can_be_drafted():
    session = play(DraftPolicy(), [copier("suffix/8+", 1.0)], 200)
    assert max(choice.length for choice in session.choices) == MAX_DRAFT
    assert DraftPolicy().choose([LONG_COPY], 100, fixed=32).length == MAX_DRAFT


def test_a_fixed_length_goes_to_the_long_match_or_else_to_the_better_drafter():
    policy = settled(always(0.9, kind="good"), always(0.1, kind="bad"))
    good, bad = Offer(DFlash.source, kind_of("good"), 16), Offer(DFlash.source, kind_of("bad"), 16)
    assert policy.choose([bad, good], 100, fixed=4).offer is good
    assert policy.choose([good, LONG_COPY], 100, fixed=4).offer is LONG_COPY


def test_choosing_twice_gives_the_same():
    policy = settled(always(0.8))
    assert policy.choose([DFLASH], 100) == policy.choose([DFLASH], 100)


def test_a_draft_that_its_drafter_doubts_is_cut_short():
    policy = settled(always(0.8))
    choice = policy.choose([DFLASH], 100)
    assert choice.purpose is Purpose.BEST
    assert policy.cut(choice, Draft([1] * 8, [0.95] * 8)) == 8
    assert policy.cut(choice, Draft([1] * 8, [0.95, 0.95, 0.95, 0.005, 0.1, 0.1, 0.1, 0.1])) in (3, 4)
    assert policy.cut(choice, Draft([1] * 8, [0.001] * 8)) == 0
    assert policy.cut(choice, Draft([1] * 8)) == 8


@pytest.mark.parametrize("purpose", [Purpose.FIXED, Purpose.DRAFTER, Purpose.LENGTH])
def test_a_length_that_was_asked_for_or_is_on_trial_is_not_cut(purpose):
    choice = DraftChoice(DFLASH, 8, "", purpose, rate=100.0)
    assert settled(always(0.8)).cut(choice, Draft([1] * 8, [0.001] * 8)) == 8


def test_one_very_slow_round_changes_nothing():
    policy = settled(always(0.8))
    before = policy.choose([DFLASH], 100)
    policy.record(before, 100, before.length, before.length, PLAIN_S, 100 * PLAIN_S)
    after = policy.choose([DFLASH], 100)
    assert after.offer is DFLASH
    assert abs(after.length - before.length) <= 3


@pytest.mark.parametrize(
    "offer, acceptance, expected",
    [
        (DFLASH, 0.9, r"dflash, \d+ tokens: \d\.\dx expected"),
        (ADAPTER, 0.9, r"dflash/a-very-, \d+ tokens: \d\.\dx expected"),
        (LONG_COPY, 0.9, r"copying \d+ tokens: \d\.\dx expected"),
        (FILE_COPY, 0.9, r"copying \d+ from a file: \d\.\dx expected"),
        (DFLASH, 0.0, r"off: would cost \d+ % here"),
    ],
    ids=lambda value: value.kind.name if isinstance(value, Offer) else None,
)
def test_the_reason_can_be_read(offer, acceptance, expected):
    drafter = always(acceptance, kind=offer.kind.name, source=offer.source, longest=offer.longest)
    session = play(DraftPolicy(), [drafter], 400)
    reasons = {choice.reason for choice in session.choices}
    usual = [choice.reason for choice in session.choices if choice.purpose is Purpose.BEST][-1]
    assert re.fullmatch(expected, usual)
    assert "measuring plain speed" in reasons
    assert any(reason.startswith("trying ") for reason in reasons)
    assert max(map(len, reasons)) <= 40


def test_a_draft_cut_by_its_drafters_doubts_is_not_scored_as_rejected():
    """Of eight tokens two are verified and accepted every time; a rejection before the cut stays one."""
    beliefs = []
    for accepted, doubted in ((2, 0.5), (2, None), (1, 0.5)):
        policy = DraftPolicy()
        choice = DraftChoice(DFLASH, 8, "", Purpose.BEST)
        for _ in range(100):
            policy.record(choice, 100, 2, accepted, 0.1 * PLAIN_S, PLAIN_S, doubted)
        beliefs.append(policy._cost_model.kind("dflash").acceptance.chances[accepted])
    cut, short, rejected = beliefs
    assert cut == pytest.approx(0.5, abs=0.05)
    assert max(short, rejected) < 0.05
