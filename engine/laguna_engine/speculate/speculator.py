"""The draft-verify-accept round, and what is snapshot from one to the next.

A round decodes the newest token together with a draft of what may follow. The target picks at every row by the
request's whole sampling chain and its constraint, and a drafted token is accepted while it is the one picked. That is
exact for any draft, however it was made and wherever it was cut, and for any sampling settings: what is picked depends
on the target's logits, the tokens before, the seed and the position alone (`laguna_engine.llama.sampler`). A round
always commits at least one token, which is the target's own.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, overload

from laguna_engine.checkpoints import DrafterSnapshot
from laguna_engine.config import DRAFTING, Drafting
from laguna_engine.constrain.base import Constraints
from laguna_engine.draft.base import MAX_DRAFT, Draft, Drafter, DraftRequest, Offer
from laguna_engine.errors import RequestError
from laguna_engine.events import DrafterFailed, Round, Source
from laguna_engine.llama.context import DecodeStatus
from laguna_engine.llama.sampler import SamplerChain
from laguna_engine.sequence import Reuse, SequenceObserver, TokenSequence
from laguna_engine.speculate.draft_policy import Backoff, DraftChoice, DraftPolicy, Purpose

_NO_DRAFT = Draft([])

_SCRIPTED = DraftChoice(None, 0, "as it was")
"""The request says what is drafted."""

_FAILED = DraftChoice(None, 0, "the drafter failed", Purpose.FIXED)
"""In place of a choice whose drafter failed."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Committed:
    """What a round brought: `tokens`, of which all but the last were drafted by `source`.

    report: of the round; None without speculation.
    """

    tokens: list[int]
    source: Source = Source.TARGET
    report: Round | None = None


class NullSpeculator:
    """Decodes plainly: every round commits the target's one token. Engine thread only."""

    def __init__(self, sequence: TokenSequence) -> None:
        self._sequence = sequence

    def begin(self, prompt: list[int], _drafting: Drafting, _chain: SamplerChain | None = None) -> Reuse:
        """Rewind the sequence for a request with `prompt`; return what of it is still cached."""
        return self._sequence.rewind(prompt)

    def part(self, size: int) -> tuple[int, bool]:
        """Return how many prompt tokens, at most `size`, to compute at once, and whether all of them need outputs."""
        return size, False

    def round(self, chain: SamplerChain, _room: int | None) -> Committed | DecodeStatus:
        """Commit at least one token and at most `room`; or return how the computation failed."""
        status = self._sequence.decode(1)
        if status is not DecodeStatus.OK:
            return status
        tokens = [self._sequence.sample(chain)]
        self._sequence.commit(tokens)
        return Committed(tokens)

    def snapshot(self) -> DrafterSnapshot | None:
        """Return what the drafter knows of what is cached, for a checkpoint; None if that is not all that matters."""
        return None

    def restored(self, length: int, snapshot: DrafterSnapshot | None) -> None:
        """Follow a restore of `length` positions from outside, with the `snapshot` of a drafter if it was saved."""
        return

    def failures(self) -> list[DrafterFailed]:
        """Return what was switched off since the last call."""
        return []

    def learned(self) -> dict[str, object]:
        """Return what was learned about which drafts pay here, JSON-able."""
        return {}


class Speculator(NullSpeculator, SequenceObserver):
    """Drafts for one target, over many requests, and has its drafters follow the sequence. Engine thread only."""

    def __init__(
        self, sequence: TokenSequence, drafters: Iterable[Drafter], policy: DraftPolicy, adapters: Collection[str] = ()
    ) -> None:
        """Follow `sequence`; `adapters` may be requested even if the drafter that they adapt is switched off."""
        super().__init__(sequence)
        self.policy = policy
        self._drafters = {drafter.source: drafter for drafter in drafters}
        self._order = list(self._drafters)
        # The drafters' own hooks, looked up once a request: a round calls four of them, of every drafter.
        self._hooks: dict[str, tuple[tuple[Source, Callable[..., object]], ...]] = {}
        self._adapters = adapters
        self._failures: list[DrafterFailed] = []
        self._drafting = DRAFTING
        self._script: Iterator[Sequence[int]] = iter(())
        self._backoff = Backoff()
        # A draft is verified in one micro-batch, together with the token before it, and may be rejected as a whole.
        context = sequence.context
        self._longest = min(MAX_DRAFT, context.n_ubatch - 1, context.rollback if context.recurrent else MAX_DRAFT)
        sequence.attach(self)

    def failures(self) -> list[DrafterFailed]:
        """Return what was switched off since the last call; nothing while decoding is plain."""
        failures = self._failures if self._drafting.enabled else []
        if failures:
            self._failures = []
        return failures

    def learned(self) -> dict[str, object]:
        return self.policy.state()

    def begin(self, prompt: list[int], drafting: Drafting, chain: SamplerChain | None = None) -> Reuse:
        """Rewind the sequence for a request with `prompt`; return what of it is still cached.

        chain: what the answer's tokens are picked by, and those of a drafter that samples; None if nothing is picked.
        Less is kept than could be when a drafter has lost what it needs to draft well behind the prompt. RequestError
        if the request asks for an adapter that there is not.
        """
        self._drafting = drafting
        self._hooks = {}
        self._script = iter(drafting.script or ())
        self._backoff.end()
        reuse = self._sequence.rewind(prompt)
        choose = chain.propose if chain is not None and chain.draws and drafting.sampled else None
        constraints = None if chain is None else chain.constraints
        for_drafters = DraftRequest(
            reuse.keep, len(prompt), drafting.adapter, drafting.files, choose, reuse.drafter, constraints
        )
        if not drafting.enabled:
            for source, drafter in self._drafters.items():
                self._try(source, partial(drafter.pause, _own(for_drafters, source)))
            return reuse
        keep = reuse.keep
        for source, drafter in self._drafters.items():
            call = partial(drafter.begin, _own(for_drafters, source))
            keep = min(keep, self._try(source, call, keep, passed=(RequestError,)))
        if drafting.adapter is not None and drafting.adapter not in self._adapters:
            raise RequestError(f"there is no drafter that {drafting.adapter!r} could adapt; open one with the model")
        return reuse if keep == reuse.keep else replace(self._sequence.rewind(prompt, keep), boundary=reuse.boundary)

    def snapshot(self) -> DrafterSnapshot | None:
        """Return what a drafter knows of what is cached, for a checkpoint; None if that is not all that matters.

        There is room for one drafter's: the first that gives any.
        """
        for source, drafter in self._drafters.items():
            snapshot = self._try(source, partial(drafter.snapshot, self._sequence.position))
            if snapshot is not None:
                return replace(snapshot, drafter=source)
        return None

    @property
    def drafters(self) -> Collection[Drafter]:
        """Those that may draft."""
        return self._drafters.values()

    def take_out(self, source: Source) -> DrafterSnapshot | None:
        """Stop asking this drafter until `put_back`; return its snapshot, as from `snapshot`."""
        drafter = self._drafters[source]
        snapshot = self._try(source, partial(drafter.snapshot, self._sequence.position))
        self._use({other: each for other, each in self._drafters.items() if other != source})
        return snapshot if snapshot is None else replace(snapshot, drafter=source)

    def put_back(self, drafter: Drafter, snapshot: DrafterSnapshot | None) -> None:
        """Ask a drafter that was just opened, with the snapshot of the one before it."""
        found = {**self._drafters, drafter.source: drafter}
        self._use({source: found[source] for source in self._order if source in found})
        self._try(drafter.source, partial(drafter.restored, self._sequence.position, snapshot))

    def report(self, failure: DrafterFailed) -> None:
        """Add the failure of a drafter that is already removed to `failures`."""
        self._failures.append(failure)

    def restored(self, length: int, snapshot: DrafterSnapshot | None) -> None:
        for source, drafter in self._drafters.items():
            own = snapshot if snapshot is not None and snapshot.drafter == source else None
            self._try(source, partial(drafter.restored, length, own))

    def part(self, size: int) -> tuple[int, bool]:
        every_row = False
        for source, drafter in self._drafters.items() if self._drafting.enabled else ():
            call = partial(drafter.prefill_part, self._sequence.position, size)
            size, wanted = self._try(source, call, (size, False))
            every_row |= wanted
        return size, every_row

    def committed(self, tokens: Sequence[int]) -> None:
        self._each("extend", tokens)

    def truncated(self, length: int) -> None:
        self._each("truncate", length)

    def writing(self, rows: int) -> None:
        self._each("make_room", rows)

    def written(self, start: int, count: int, rows: int) -> None:
        self._each("observe", start, count, rows)

    def round(self, chain: SamplerChain, room: int | None) -> Committed | DecodeStatus:
        """Commit at least one token and at most `room`; or return how the computation failed."""
        if not self._drafting.enabled:
            return super().round(chain, room)
        began = time.perf_counter()
        start = self._sequence.position
        resting = _SCRIPTED if self._drafting.script is not None else self._backoff.choice()
        choice = resting or self._choose(start, _longest_draft(chain, room))
        if resting is _SCRIPTED:
            # As much of the script's next draft as there is room for.
            draft = Draft(list(next(self._script, ())[: min(self._longest, max(0, self._sequence.room - 1))]))
        else:
            draft = self._draft(choice)
        if choice.offer is not None and choice.offer.source not in self._drafters:
            choice = _FAILED
        counted = choice
        if draft.tokens and resting is not _SCRIPTED:
            counted, draft = self._admitted(choice, draft, chain.constraints)
        drafted = time.perf_counter()
        status = self._sequence.verify(draft.tokens)
        if status is not DecodeStatus.OK:
            return status
        self._sequence.context.synchronize()
        verified = time.perf_counter()
        tokens = accept(draft.tokens, lambda row: self._sequence.context.sample(chain, row))
        picked = time.perf_counter()
        self._sequence.commit(tokens)
        accepted = len(tokens) - 1
        if resting is None:
            spent = drafted - began, verified - drafted
            self.policy.record(counted, start, len(draft.tokens), accepted, *spent, draft.doubted)
            asking_s = time.perf_counter() - picked + drafted - began
            self._backoff.after(choice, asking_s, verified - drafted)
        report = Round(
            drafter=choice.offer.source if choice.offer else None,
            drafted=len(draft.tokens),
            accepted=accepted,
            draft_s=drafted - began,
            verify_s=verified - drafted,
            sample_s=picked - verified,
            total_s=time.perf_counter() - began,
            rejected=self._text(draft.tokens[accepted:]),
            reason=choice.reason,
        )
        self._each("after_round")
        return Committed(tokens, report.drafter or Source.TARGET, report)

    def _choose(self, start: int, longest: int) -> DraftChoice:
        longest = min(self._longest, self._sequence.room - 1, longest)
        offers: list[Offer] = []
        for source, drafter in self._drafters.items() if longest > 0 else ():
            offer = self._try(source, drafter.offer) if self._asked(source) else None
            if offer is not None and offer.longest > 0:
                offers.append(offer if offer.longest <= longest else replace(offer, longest=longest))
        return self.policy.choose(offers, start, fixed=self._drafting.length)

    def _asked(self, source: Source) -> bool:
        """Return whether this drafter may draft for the request."""
        return self._drafting.sources is None or source in self._drafting.sources

    def _draft(self, choice: DraftChoice) -> Draft:
        if choice.offer is None or choice.length == 0:
            return _NO_DRAFT
        source = choice.offer.source
        draft = self._try(source, partial(self._drafters[source].draft, choice.length), _NO_DRAFT)
        kept = self.policy.cut(choice, draft)
        return draft if kept >= len(draft.tokens) else _shortened(draft, kept)

    def _admitted(
        self, choice: DraftChoice, draft: Draft, constraints: Constraints | None
    ) -> tuple[DraftChoice, Draft]:
        """Cut `draft` where it leaves what is allowed or ends the answer; also return the choice to learn from.

        Nothing of a cut draft is held against its drafter. Beyond the end it would leave tokens in the memory that the
        next prompt does not have, and a recurrent state cannot drop them.
        """
        tokens, ends = draft.tokens, self._sequence.model.vocab.eog
        allowed = len(tokens) if constraints is None else constraints.admitted(tokens)
        if not ends.isdisjoint(tokens):
            allowed = min(allowed, next(place for place, token in enumerate(tokens) if token in ends))
        if allowed == len(tokens):
            return choice, draft
        confidence = None if draft.confidence is None else draft.confidence[:allowed]
        return replace(choice, offer=None, length=allowed), Draft(tokens[:allowed], confidence)

    def _each(self, hook: str, *arguments: object) -> None:
        """Call `hook` of every drafter that has one of its own; `after_round` of those that may draft."""
        hooks = self._hooks.get(hook)
        if hooks is None:
            nothing = getattr(Drafter, hook)
            found = [each for each in self._drafters.values() if getattr(type(each), hook) is not nothing]
            asked = [each for each in found if hook != "after_round" or self._asked(each.source)]
            hooks = self._hooks[hook] = tuple((each.source, getattr(each, hook)) for each in asked)
        for source, call in hooks:
            try:
                call(*arguments)
            except Exception as error:
                self._switch_off(source, error)

    @overload
    def _try(self, source: Source, call: Callable[[], _Result]) -> _Result | None: ...

    @overload
    def _try(
        self, source: Source, call: Callable[[], _Result], otherwise: _Result, passed: tuple[type[Exception], ...] = ()
    ) -> _Result: ...

    def _try(
        self,
        source: Source,
        call: Callable[[], _Result],
        otherwise: _Result | None = None,
        passed: tuple[type[Exception], ...] = (),
    ) -> _Result | None:
        """Return what `call`, a hook of a drafter, returns; `otherwise` if it fails, and switch the drafter off.

        passed: errors that are the request's own fault, and raised.
        """
        try:
            return call()
        except passed:
            raise
        except Exception as error:
            self._switch_off(source, error)
            return otherwise

    def _switch_off(self, source: Source, error: Exception) -> None:
        problem = " ".join(filter(None, (type(error).__name__, str(error) and f"- {error}")))
        self.report(DrafterFailed(source, problem))
        failed = self._drafters[source]
        self._use({other: drafter for other, drafter in self._drafters.items() if other != source})
        with suppress(Exception):
            failed.close()

    def _use(self, drafters: dict[Source, Drafter]) -> None:
        """Ask these from now on; in another dict, as the old one may be iterated over."""
        self._drafters, self._hooks = drafters, {}
        self._backoff.end()

    def _text(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self._sequence.model.vocab.piece, tokens)).decode("utf-8", "replace")


def _own(request: DraftRequest, source: Source) -> DraftRequest:
    """Return the request without another drafter's snapshot."""
    snapshot = request.snapshot
    foreign = snapshot is not None and snapshot.drafter != source
    return replace(request, snapshot=None) if foreign else request


def _shortened(draft: Draft, length: int) -> Draft:
    confidence = draft.confidence
    if confidence is None:
        return Draft(draft.tokens[:length])
    return Draft(draft.tokens[:length], confidence[:length], confidence[length])


def _longest_draft(chain: SamplerChain, room: int | None) -> int:
    """Return the most tokens that can be accepted: fewer than there is `room` for, none beyond a forced one."""
    longest = MAX_DRAFT if room is None else room - 1
    free = None if chain.constraints is None else chain.constraints.free_rows()
    return longest if free is None else min(longest, free)


def accept(draft: Sequence[int], pick: Callable[[int], int]) -> list[int]:
    """Return the tokens to commit: the draft up to where the target picks otherwise, and what it picks there.

    draft: proposed token ids. pick: runs the whole sampling chain on a verify row and lets it remember the token; it is
    called for rows 0, 1, … in order, `len(draft)` at most, and for none after the first that differs.
    """
    committed: list[int] = []
    for row, proposed in enumerate(draft):
        token = pick(row)
        committed.append(token)
        if token != proposed:
            return committed
    committed.append(pick(len(draft)))
    return committed
