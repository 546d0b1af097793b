"""Chooses the drafter of a round and the length, none and 0 included: whatever commits the most tokens per second.

Every round is measured, and what was measured decides. What is not known yet is tried, as far as a small allowance of
lost time goes, and what did not pay is tried again ever more rarely; so a drafter that is always wrong costs next to
nothing, and one that gets better is noticed. Runs every round: plain Python, microseconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from laguna_engine.draft.base import MAX_DRAFT
from laguna_engine.speculate.cost_model import (
    FIRST_INTERVAL,
    LAST_INTERVAL,
    CostModel,
    Costs,
    DraftPlan,
    KindRecord,
    best_length,
    bucket_of,
    cut_length,
)
from laguna_engine.speculate.cost_profile import load_profile, profile_of

if TYPE_CHECKING:
    from laguna_engine.draft.base import Draft, Offer


_WORTH_IT = 1.03
"""A change of the length, or from plain decoding to drafting, must promise this much: each makes llama.cpp build its
graph again, and estimates wobble."""

_BASELINE_ROUNDS = 2
"""Plain rounds before anything is drafted; the first after a prompt is slower than those that follow."""

_FIRST_BASELINE, _LAST_BASELINE = 64, 512
"""Rounds after which the speed of plain decoding is measured again while drafts pay."""

_TRUSTED = 4
"""Rounds after which a kind's acceptance is believed; until then nothing else is tried beside it."""

_FREE = 2
"""Rounds that a new kind gets even if others have used up what trials may lose."""

_GAIN_MEMORY = 64
"""Rounds over which a kind must have gained time; one that has not drafts only as long as trials may lose some."""

_TRIAL_ROUNDS, _LUCKY_TRIAL_ROUNDS = 2, 8
"""A trial lasts two rounds, as the first pays for the change, and longer while tokens are accepted."""

_LENGTH_EVERY = 8
"""Rounds between trials of another length for a drafter that pays."""

_LOYAL = 32
"""Chosen so often, a drafter gets its next trial twice as soon if it ever stops paying."""

_LOSS_ROUNDS, _LOSS_SHARE, _LOSS_MEMORY = 1.5, 0.01, 4096
"""Time that trials may lose: that of this many plain rounds, and a hundredth of what the latest 4096 rounds took."""


class Purpose(Enum):
    """Why a choice was made."""

    BEST = "best"
    DRAFTER = "drafter"
    LENGTH = "length"
    BASELINE = "baseline"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class DraftChoice:
    """What to do this round: ask `offer`'s drafter for `length` tokens, or decode plainly when there is none.

    reason: a sentence fragment for the user, 40 characters at most. rate: expected tokens per second, 0 when unknown.
    otherwise: seconds a token would be expected to take had the choice been made without curiosity.
    """

    offer: "Offer | None"
    length: int
    reason: str
    purpose: Purpose = Purpose.BEST
    rate: float = 0.0
    otherwise: float = 0.0


@dataclass(slots=True)
class _Option:
    """An offer weighed: `plan` is the best that can be drafted, `pays` whether that beats drafting nothing."""

    offer: "Offer"
    kind: KindRecord
    draft: Costs
    longest: int
    plan: DraftPlan
    pays: bool


class DraftPolicy:
    """Chooses, and learns from what is reported to it. One for the life of an engine: experience outlasts requests."""

    def __init__(self) -> None:
        self._cost_model = CostModel()
        self._round = 0
        self._previous = -1
        self._verify = self._cost_model.verify(0)
        self._plain_round, self._plain_interval = 0, _FIRST_BASELINE
        self._length_round = 0
        self._again: DraftChoice | None = None
        self._trial_rounds = 0
        self._lost = self._elapsed = 0.0

    def choose(self, offers: Sequence["Offer"], context: int, fixed: int | None = None) -> DraftChoice:
        """Choose what to do after `context` committed tokens, given the offers; `fixed` is the user's length."""
        bucket = bucket_of(context)
        self._verify = self._cost_model.verify(bucket)
        if fixed == 0:
            return DraftChoice(None, 0, "fixed at 0", Purpose.FIXED)
        options = [self._weighed(offer, bucket) for offer in offers if offer.longest > 0]
        if not options:
            return DraftChoice(None, 0, _NOTHING_STATUS)
        if fixed is not None:
            return self._fixed(options, fixed)
        return self._repeated(options) or self._baseline() or self._best(options)

    def cut(self, choice: DraftChoice, draft: "Draft") -> int:
        """Return how many of the draft's tokens to verify.

        Fewer when the drafter itself doubts them, but not in a trial.
        """
        count = min(len(draft.tokens), MAX_DRAFT)
        if draft.confidence is None or choice.purpose is not Purpose.BEST or not choice.rate:
            return count
        return cut_length(draft.confidence[:count], self._verify.expected, choice.rate)

    def record(
        self,
        choice: DraftChoice,
        context: int,
        drafted: int,
        accepted: int,
        draft_s: float,
        verify_s: float,
        doubted: float | None = None,
    ) -> None:
        """Record the result of `choice`: `drafted` tokens were verified in `verify_s` and `accepted` of them accepted.

        doubted: if `cut` left tokens out, the drafter's own confidence in the first of those.
        draft_s includes all that only drafting needs, such as taking in features. Not to be called for a round that was
        interrupted.
        """
        self._round += 1
        bucket = bucket_of(context)
        cold, self._previous = drafted != self._previous, drafted
        self._cost_model.verify(bucket).add(min(drafted, MAX_DRAFT), verify_s, cold)
        self._elapsed += draft_s + verify_s - self._elapsed / _LOSS_MEMORY
        self._lost -= self._lost / _LOSS_MEMORY
        if drafted == 0 and choice.length == 0 and not cold:
            self._plain_round = self._round
        if choice.offer is not None:
            self._learn(
                choice,
                choice.offer,
                bucket,
                accepted,
                draft_s,
                draft_s + verify_s,
                doubted if accepted == drafted else None,
            )
        elif choice.purpose is Purpose.BASELINE and not cold:
            self._plain_interval = min(_LAST_BASELINE, 2 * self._plain_interval)

    def state(self) -> dict[str, object]:
        """Return what was learned, JSON-able, for `load` in a later session with the same model on the same device."""
        return profile_of(self._cost_model)

    def load(self, state: Mapping[str, object]) -> bool:
        """Start with what an earlier session learned, distrusting its seconds; False if it cannot be read."""
        return load_profile(self._cost_model, state)

    def _learn(
        self,
        choice: DraftChoice,
        offer: "Offer",
        bucket: int,
        accepted: int,
        draft_s: float,
        total_s: float,
        doubted: float | None,
    ) -> None:
        kind = self._cost_model.kind(offer.kind.name, offer.kind.prior)
        kind.draft(bucket).add(choice.length, max(draft_s, 1e-9))
        if choice.purpose is Purpose.DRAFTER:
            kind.acceptance.reconsider(accepted)
        kind.acceptance.add(choice.length, accepted, doubted)
        gain_s = (accepted + 1) * self._verify.expected[0] - total_s
        kind.gain_s += gain_s - kind.gain_s / _GAIN_MEMORY
        if choice.otherwise:
            self._lost = max(0.0, self._lost + total_s - (accepted + 1) * choice.otherwise)
        if choice.purpose in (Purpose.DRAFTER, Purpose.LENGTH):
            self._after_trial(choice, kind, accepted)
        elif choice.purpose is Purpose.BEST:
            kind.wins += 1
            if kind.wins % _LOYAL == 0:
                kind.interval = max(FIRST_INTERVAL, kind.interval // 2)

    def _after_trial(self, choice: DraftChoice, kind: KindRecord, accepted: int) -> None:
        self._trial_rounds = 1 if self._again is None else self._trial_rounds + 1
        rounds = _TRIAL_ROUNDS
        if choice.purpose is Purpose.DRAFTER:
            kind.tried = self._round
            if self._trial_rounds == 1:
                kind.interval = min(LAST_INTERVAL, 2 * kind.interval)
            if accepted:
                rounds = _LUCKY_TRIAL_ROUNDS
        self._again = choice if self._trial_rounds < rounds else None

    def _weighed(self, offer: "Offer", bucket: int) -> _Option:
        kind = self._cost_model.kind(offer.kind.name, offer.kind.prior)
        draft = kind.draft(bucket)
        verify, committed = self._verify.expected, kind.acceptance.committed
        longest = min(offer.longest, MAX_DRAFT, self._verify.reach)
        plan = best_length(committed, verify, draft.expected, longest)
        usual = kind.length
        if usual and usual <= longest and usual != plan.length:
            rate = committed[usual] / (verify[usual] + draft.expected[usual])
            plan = DraftPlan(usual, rate) if rate * _WORTH_IT >= plan.rate else plan
        pays = plan.rate * verify[0] > (1.0 if usual else _WORTH_IT)
        if pays and kind.gain_s <= 0 and kind.acceptance.samples >= _FREE:
            pays = self._affordable()
        kind.length = plan.length if pays else 0
        return _Option(offer, kind, draft, longest, plan, pays)

    def _affordable(self) -> bool:
        return self._lost <= _LOSS_ROUNDS * self._verify.expected[0] + _LOSS_SHARE * self._elapsed

    def _fixed(self, options: list[_Option], length: int) -> DraftChoice:
        long = [option for option in options if option.offer.kind.alone]
        offer = max(long or options, key=lambda option: option.plan.rate).offer
        return DraftChoice(offer, min(length, offer.longest, MAX_DRAFT), f"fixed at {length}", Purpose.FIXED)

    def _repeated(self, options: list[_Option]) -> DraftChoice | None:
        """Return the trial that is not over, if its drafter can continue it."""
        again = self._again
        if again is None or again.offer is None:
            return None
        for option in options:
            if option.offer.kind == again.offer.kind and option.offer.longest >= again.length:
                return DraftChoice(option.offer, again.length, again.reason, again.purpose, 0.0, again.otherwise)
        self._again = None
        return None

    def _baseline(self) -> DraftChoice | None:
        fresh = self._verify.counts[0] < _BASELINE_ROUNDS and not self._verify.inherited
        if fresh or self._round - self._plain_round >= self._plain_interval:
            return DraftChoice(None, 0, _BASELINE_STATUS, Purpose.BASELINE)
        return None

    def _best(self, options: list[_Option]) -> DraftChoice:
        paying = [option for option in options if option.pays]
        plain = self._verify.expected[0]
        alone = [option for option in paying if option.offer.kind.alone]
        best = max(alone or paying, key=lambda option: option.plan.rate) if paying else None
        certain = best is None or best.kind.acceptance.samples >= _TRUSTED
        trial = self._trial(options, best) if certain and not alone and self._affordable() else None
        if trial is not None:
            return trial
        if best is None:
            nearest = max(options, key=lambda option: option.plan.rate)
            speedup = nearest.plan.rate * plain
            cost = round(100 / speedup - 100) if speedup > 0 else 0
            reason = f"off: would cost {cost} % here" if cost > 0 else "off: would gain nothing here"
            return DraftChoice(None, 0, reason, rate=1 / plain)
        rate, length = best.plan.rate, best.plan.length
        trying = _trying_status(best.offer, length)
        reason = f"{_what(best.offer, length)}: {rate * plain:.1f}x expected" if certain else trying
        return DraftChoice(best.offer, length, reason, Purpose.BEST, rate, plain)

    def _trial(self, options: list[_Option], best: _Option | None) -> DraftChoice | None:
        """Return a trial when one is due.

        Of a drafter that is not chosen otherwise, or of another length for the one that is.
        """
        otherwise = self._verify.expected[0] if best is None else 1 / best.plan.rate
        due = [option for option in options if option is not best and self._overdue(option) >= 1]
        if due:
            option = max(due, key=self._overdue)
            length = self._hoped(option).length
            reason = _trying_status(option.offer, length, again=option.kind.acceptance.samples > 0)
            return DraftChoice(option.offer, length, reason, Purpose.DRAFTER, 0.0, otherwise)
        if best is None or self._round - self._length_round < _LENGTH_EVERY:
            return None
        self._length_round = self._round
        hoped = self._hoped(best)
        if hoped.length == best.plan.length or hoped.rate < best.plan.rate * _WORTH_IT:
            return None
        return DraftChoice(
            best.offer, hoped.length, _trying_status(best.offer, hoped.length), Purpose.LENGTH, 0.0, otherwise
        )

    def _overdue(self, option: _Option) -> float:
        return (self._round - option.kind.tried) / option.kind.interval

    def _hoped(self, option: _Option) -> DraftPlan:
        committed = option.kind.acceptance.committed
        return best_length(committed, self._verify.hopeful(), option.draft.hopeful(), option.longest)


_NOTHING_STATUS = "nothing to draft from"
_BASELINE_STATUS = "measuring plain speed"

_NAME_LENGTH = 14
"""Of a drafter's name, so that the whole stays readable."""


def _trying_status(offer: "Offer", length: int, again: bool = False) -> str:
    return f"trying {_name(offer)} again" if again else f"trying {_what(offer, length)}"


def _what(offer: "Offer", length: int) -> str:
    if offer.kind.drafting:
        return offer.kind.drafting.format(count=length, tokens=_tokens(length))
    return f"{_name(offer)}, {_tokens(length)}"


def _name(offer: "Offer") -> str:
    return offer.kind.label or offer.kind.name[:_NAME_LENGTH]


def _tokens(count: int) -> str:
    return f"{count} token" if count == 1 else f"{count} tokens"


_ASKING_SHARE = 0.02
"""What asking may cost of plain decoding."""

_LONGEST_BACKOFF = 16
"""Rounds without asking, at most: what could be copied must not be overlooked for long."""


class Backoff:
    """Counts the rounds until the drafters are consulted again.

    While nothing pays, even consulting them costs: on a tiny model a tenth of a token's time. On one whose tokens take
    milliseconds no round goes by without asking.
    """

    def __init__(self) -> None:
        self._left = 0
        self._choice: DraftChoice | None = None

    def choice(self) -> DraftChoice | None:
        """Return the previous choice to decode plainly, or None when it is time to ask the drafters."""
        if not self._left:
            return None
        self._left -= 1
        return self._choice

    def after(self, choice: DraftChoice, asking_s: float, plain_s: float) -> None:
        """Report a round: choosing took `asking_s`, and computing it `plain_s` if nothing was drafted."""
        if choice.offer is None and choice.purpose is Purpose.BEST and plain_s > 0:
            self._left = min(_LONGEST_BACKOFF, int(asking_s / (_ASKING_SHARE * plain_s)))
            self._choice = choice

    def end(self) -> None:
        """Ask in the next round: something changed."""
        self._left = 0
