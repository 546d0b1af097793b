"""Runs one request: prefill, then rounds of decoding, with events published as they occur.

A round decodes the committed tokens that are not yet in the KV cache and commits the token sampled from the target. A
`NullSpeculator` commits one token per round; a `Speculator` adds a draft and also commits its accepted part.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from laguna_engine.checkpoints import CheckpointPolicy
from laguna_engine.config import Request
from laguna_engine.constrain.base import Constraint, Constraints
from laguna_engine.constrain.repetition import NoRepeat
from laguna_engine.constrain.thinking import ThinkingBudget
from laguna_engine.detokenizer import Detokenizer, StopTextFilter
from laguna_engine.events import (
    ConstraintFailed,
    ContextOverflow,
    Event,
    Finished,
    FinishReason,
    Logprobs,
    Prefill,
    Source,
    Stats,
    Token,
)
from laguna_engine.gguf.laguna import END_TOOL_CALL, TOOL_CALL
from laguna_engine.llama.context import Context, DecodeStatus, Outputs
from laguna_engine.llama.sampler import LOGITS, LogprobRecorder, Readout, SamplerChain
from laguna_engine.llama.vocab import Vocab
from laguna_engine.sequence import TokenSequence
from laguna_engine.speculate.speculator import Committed, NullSpeculator
from laguna_engine.stream import Channel, EventBatcher

_CHANNEL_CAPACITY = 4096
"""Unread events before the engine blocks: seconds of the fastest stream, under 1 MB."""

_INTERRUPTED = {DecodeStatus.FULL: FinishReason.CONTEXT_FULL, DecodeStatus.ABORTED: FinishReason.CANCELLED}


class Generation:
    """One request, run on the engine thread.

    Attributes:
        channel: carries its events to the reader.
    """

    def __init__(
        self,
        sequence: TokenSequence,
        speculator: NullSpeculator,
        request: Request,
        prompt: list[int],
        leave: "Leave",
    ) -> None:
        """Prepare a request with the validated `prompt`; `leave` is called just before the last event can be read."""
        self.channel: Channel[Event] = Channel(_CHANNEL_CAPACITY)
        self._sequence = sequence
        self._speculator = speculator
        self._request = request
        self._drafting = request.drafting
        self._sampling = request.sampling.seeded()
        self._limit = request.max_tokens
        self._prompt = prompt
        self._constraints: Constraints | None = None
        self._thinking: ThinkingBudget | None = None
        self._ends_thinking = False
        self._thought: int | None = None
        self._leave = leave
        self._cancellation = Cancellation(sequence.context)
        self._batcher = EventBatcher(self.channel)
        self._checkpoint_policy = CheckpointPolicy(
            sequence.checkpoints,
            sequence.rate.seconds_for,
            lambda: sequence.timed_checkpoint(speculator.snapshot),
        )
        self._emitter = Emitter(sequence.model.vocab, request, self._batcher.put)
        self._cached = self._read = 0
        self._rounds = self._drafted = self._accepted = 0
        self._began = time.perf_counter()
        self._prompt_read: float | None = None

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled; it may still be finishing. Thread-safe."""
        return self._cancellation.requested

    def cancel(self) -> None:
        """Stop within one micro-batch. Thread-safe; no effect after the end."""
        self._cancellation.request()
        self.channel.hurry()

    def end_thinking(self) -> None:
        """Have the next round close the thinking, where the request limits it. Thread-safe."""
        self._ends_thinking = True

    def end(self, error: BaseException | None = None) -> None:
        """End the channel after the events put so far, optionally with an error. Idempotent."""
        self._leave(self)
        self.channel.end(self._batcher.batch, error)

    def run(self) -> None:
        """Generate. Never raises: errors go to the reader."""
        before = list(self._sequence.tokens) if self._request.aside else []
        try:
            with self._cancellation.armed():
                reason = self._generate()
            if before:
                self._sequence.take_back(before, min(self._cached, len(before) - 1))
            self._sequence.settle()
            self._emitter.finish()
            self._batcher.put(Finished(reason, self._stats(), self._thought))
        except BaseException as error:
            self.end(error)
        else:
            self.end()

    def _generate(self) -> FinishReason:
        # Room for one more token, because a prompt is prefilled only to be continued.
        needed, capacity = len(self._prompt) + 1, self._sequence.capacity
        if needed > capacity:
            self._batcher.put(ContextOverflow(needed, capacity))
            return FinishReason.CONTEXT_FULL
        if self.cancelled:
            return FinishReason.CANCELLED
        self._began = time.perf_counter()
        if self._limit == 0:
            return self._prefill_ahead()
        vocab = self._sequence.model.vocab
        self._thinking = thinking_budget(self._request, vocab)
        self._constraints = constraints_of(self._request, vocab, self._thinking)
        recorder = None if self._request.logprobs is None else LogprobRecorder(self._request.logprobs)
        self._sequence.context.read_out(LOGITS if recorder is not None else Readout.of(self._sampling))
        size, position = self._sequence.model.vocab.size, len(self._prompt)
        with closing(SamplerChain(self._sampling, size, position, self._constraints)) as chain:
            chain.recorder = recorder
            return self._prefill(chain) or self._decode(chain)

    def _prefill_ahead(self) -> FinishReason:
        """Prefill the prompt without sampling. A cache that begins with it is left unchanged, for later reuse."""
        if self._sequence.holds(self._prompt):
            self._read = self._cached = len(self._prompt)
            self._report_prefill()
            return FinishReason.MAX_TOKENS
        interrupted = self._prefill()
        if interrupted is not None:
            return interrupted
        # Devices compute in the background, and no token is sampled here, which would wait for them.
        self._sequence.context.synchronize()
        self._note_prompt_read()
        return FinishReason.MAX_TOKENS

    def _prefill(self, chain: SamplerChain | None = None) -> FinishReason | None:
        """Decode the part of the prompt that is not cached, one micro-batch at a time so that it can be stopped."""
        reuse = self._speculator.begin(self._prompt, self._drafting, chain)
        self._read = self._cached = reuse.keep
        if self._request.aside and reuse.keep and self._sequence.checkpoints.wanted:
            self._sequence.save_checkpoint(self._speculator.snapshot())
        end = self._sequence.last_checkpoint(self._prompt)
        self._checkpoint_policy.begin(reuse.boundary, reuse.keep, end)
        self._report_prefill()
        while self._read < len(self._prompt):
            if self.cancelled:
                return FinishReason.CANCELLED
            status = self._prefill_part()
            if status is not DecodeStatus.OK:
                return _INTERRUPTED[status]
            self._report_prefill()
        return None

    def _prefill_part(self) -> DecodeStatus:
        """Decode the next part of the prompt."""
        size, every_row = self._speculator.part(self._sequence.context.n_ubatch)
        size = self._checkpoint_policy.part(self._read, size)
        is_picked_from = self._read + size >= len(self._prompt) and self._limit != 0
        outputs = Outputs.ALL if every_row else Outputs.LAST if is_picked_from else Outputs.NONE
        status = self._sequence.decode(size, outputs)
        if status is DecodeStatus.OK:
            self._read = self._sequence.position
            self._checkpoint_policy.read(self._read)
        return status

    def _decode(self, chain: SamplerChain) -> FinishReason:
        for token in self._prompt[max(0, len(self._prompt) - self._sampling.remembered) :]:
            chain.accept(token)
        outcome = Committed([self._sequence.sample(chain)])
        self._sequence.commit(outcome.tokens)
        # Only now: devices compute in the background, and sampling a token waits for them.
        self._note_prompt_read()
        while True:
            masked = [] if self._constraints is None else self._constraints.take_masked()
            for place, token in enumerate(outcome.tokens, 1 - len(outcome.tokens)):
                narrowed = bool(masked) and masked[place - 1]
                noted = None if chain.recorder is None else chain.recorder.take()
                reason = self._emitter.commit(token, outcome.source if place else Source.TARGET, narrowed, noted)
                if reason is not None:
                    return reason
            if self._batcher.due():
                # The sliding window has moved; `preview` must see that before the reader calls it.
                self._sequence.settle()
                self._batcher.publish()
            following = self._round(chain)
            if isinstance(following, FinishReason):
                return following
            outcome = following

    def _round(self, chain: SamplerChain) -> Committed | FinishReason:
        """Return the result of the next round, or the reason to finish."""
        if self.cancelled:
            return FinishReason.CANCELLED
        if self._sequence.room <= 0:
            return FinishReason.CONTEXT_FULL
        if self._ends_thinking and self._thinking is not None:
            # Between two rounds, so that no draft contradicts it.
            self._ends_thinking, self._thought = False, self._thinking.end()
        room = None if self._limit is None else self._limit - self._emitter.count
        outcome = self._speculator.round(chain, room)
        self._report_failures()
        if not isinstance(outcome, Committed):
            return _INTERRUPTED[outcome]
        if outcome.report is not None:
            self._rounds += 1
            self._drafted += outcome.report.drafted
            self._accepted += outcome.report.accepted
            self._batcher.put(outcome.report)
        return outcome

    def _report_prefill(self) -> None:
        self._report_failures()
        self._sequence.settle()
        elapsed = time.perf_counter() - self._began
        self._batcher.publish_now(Prefill(self._read, len(self._prompt), self._cached, elapsed))

    def _report_failures(self) -> None:
        """Report failed drafters, except in a prefill ahead or a replay, whose events are not shown."""
        if self._limit != 0 and self._drafting.script is None:
            for failure in self._speculator.failures():
                self._batcher.put(failure)
        for problem in () if self._constraints is None else self._constraints.failures():
            self._batcher.put(ConstraintFailed(problem))

    def _note_prompt_read(self) -> None:
        self._prompt_read = time.perf_counter()
        self._sequence.rate.record(len(self._prompt) - self._cached, self._prompt_read - self._began)

    def _stats(self) -> Stats:
        now = time.perf_counter()
        first = self._prompt_read or now
        return Stats(
            prompt_tokens=self._read,
            cached_tokens=self._cached,
            prefill_s=first - self._began,
            generated_tokens=self._emitter.count,
            decode_s=now - first,
            rounds=self._rounds,
            drafted=self._drafted,
            accepted=self._accepted,
            seed=self._sampling.seed,
            constrained=0 if self._constraints is None else self._constraints.constrained,
            dropped=0 if self._constraints is None else self._constraints.dropped,
        )


Leave = Callable[[Generation], None]


def thinking_budget(request: Request, vocab: Vocab) -> ThinkingBudget | None:
    """Return the limit of the answer's thinking; None for a request or a model without one."""
    opens, closes = request.thinking_tags
    closing = vocab.id_of(closes)
    # Where words are only text the model may spell them otherwise.
    opening = vocab.tokenize(opens, special=True) if closing is not None else []
    if request.thinking_budget is None or closing is None or not opening or not vocab.is_control(opening[0]):
        return None
    call = vocab.id_of(TOOL_CALL), vocab.id_of(END_TOOL_CALL)
    return ThinkingBudget(request.thinking_budget, opening, closing, request.tokens, call)


def constraints_of(request: Request, vocab: Vocab, thinking: ThinkingBudget | None) -> Constraints | None:
    """Return what the tokens of the answer may be; None allows all."""
    constraints: list[Constraint] = [NoRepeat(stretch, request.tokens) for stretch in request.no_repeat]
    if thinking is not None:
        constraints.insert(0, thinking)
    if not constraints and not request.constraints:
        return None
    return Constraints.begun(constraints, request.constraints, vocab, request.tokens)


class Emitter:
    """Emits the tokens of one generation and detects its end.

    Attributes:
        count: tokens committed so far.
    """

    def __init__(self, vocab: Vocab, request: Request, put: Callable[[Event], None]) -> None:
        """Emit events to `put`."""
        self.count = 0
        self._put = put
        self._limit = request.max_tokens
        self._stops = vocab.eog | request.stop_tokens
        self._text = Detokenizer(vocab.piece, self._stops, request.tokens)
        self._filter = StopTextFilter(request.stop_texts) if request.stop_texts else None

    def commit(
        self, token: int, source: Source, constrained: bool = False, logprobs: Logprobs | None = None
    ) -> FinishReason | None:
        """Emit `token`; returns why the generation ends with it, or None."""
        event = Token(token, self._text.feed(token), source, self.count, constrained, logprobs)
        self.count += 1
        if self._filter is None:
            self._put(event)
        else:
            released, stopped = self._filter.push(event)
            for each in released:
                self._put(each)
            if stopped:
                return FinishReason.STOP_TEXT
        if token in self._stops:
            return FinishReason.STOP_TOKEN
        return FinishReason.MAX_TOKENS if self.count == self._limit else None

    def finish(self) -> None:
        """Emit the tokens held back as a possible beginning of a stop text."""
        for event in [] if self._filter is None else self._filter.flush():
            self._put(event)


class Cancellation:
    """Cancellation of one generation.

    Attributes:
        requested: whether it was requested.
    """

    def __init__(self, context: Context) -> None:
        self.requested = False
        self._context = context
        self._armed = False
        # Reentrant, because the garbage collector may abandon a stream at any point of the engine thread.
        self._lock = threading.RLock()

    def request(self) -> None:
        """Stop as soon as possible. Idempotent; may be called before the start and after the end."""
        with self._lock:
            self.requested = True
            if self._armed:
                self._context.request_abort()

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Stop the running computation too on a request, inside the block. Engine thread only."""
        with self._lock:
            self._armed = True
            if self.requested:
                self._context.request_abort()
        try:
            yield
        finally:
            with self._lock:
                self._armed = False
                self._context.clear_abort()
