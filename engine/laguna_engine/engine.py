"""The engine's one public face: open a model, ask for generations, know what they would cost, close it.

Everything native happens on one thread per engine, so every method here may be called from any thread. A model that
makes llama.cpp abort loses its engine, not the process: whoever waits gets NativeAbort, and a fresh engine works.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Self

from laguna_engine.cache.preview import Preview, preview
from laguna_engine.events import LoadProgress
from laguna_engine.generation.generation import Generation
from laguna_engine.llama.vocab import Vocab
from laguna_engine.opening import Opened, Opening
from laguna_engine.options import EngineInfo, EngineOptions
from laguna_engine.replay import Divergence, Replay, replay
from laguna_engine.request import Drafting, Request, checked_tokens
from laguna_engine.sampling import GREEDY, Sampling
from laguna_engine.stream import AsyncEventStream, EventStream
from laguna_engine.thread import EngineThread
from laguna_engine.turnstile import Turnstile

__all__ = ["Divergence", "Drafting", "Engine", "EngineInfo", "EngineOptions", "Preview", "Replay", "Request"]


class Engine:
    """An open model with one KV cache, which holds one transcript at a time.

    info: what was opened. vocab: text to tokens and back, usable from any thread while the engine is open.
    n_ctx: tokens of prompt and answer that fit.
    """

    def __init__(self, thread: EngineThread, opened: Opened) -> None:
        """Use `Engine.open`."""
        self.info = opened.info
        self.vocab: Vocab = opened.target.model.vocab
        self.n_ctx = opened.info.n_ctx
        self._thread = thread
        self._target = opened.target
        self._speculator = opened.speculator
        self._turnstile = Turnstile()
        # Also runs at exit: freeing a model under a thread that still computes would crash the interpreter's end.
        self._finalizer = weakref.finalize(self, _shut_down, self._turnstile, thread, opened)

    @classmethod
    def open(cls, options: EngineOptions, progress: Callable[[LoadProgress], None] | None = None) -> Self:
        """Open a model and wait for it; an EngineError says why it cannot be opened.

        `progress` is called on the engine's thread; an exception in it stops the loading and is raised here.
        """
        opening, thread = Opening(options, progress), EngineThread()
        try:
            opened = thread.call(opening.run)
        except BaseException:
            opening.give_up()
            thread.stop(opening.undo)
            raise
        return cls(thread, opened)

    def generate(self, request: Request) -> EventStream:
        """Start to continue the request's tokens; iterate the result for `Prefill`*, `Token`*, `Finished`.

        Letting go of the iterator cancels. RequestError if the request is wrong or another generation is running; one
        that was cancelled or let go may still be winding up, and is waited for.
        """
        return EventStream(*self._start(request))

    def agenerate(self, request: Request) -> AsyncEventStream:
        """The same for an event loop: iterate the result with `async for`."""
        return AsyncEventStream(*self._start(request))

    def cancel(self) -> None:
        """Stop the running generation within one micro-batch; nothing if there is none. The cache stays good."""
        self._turnstile.cancel()

    def preview(self, tokens: Sequence[int]) -> Preview:
        """What a request with `tokens` would cost now. Does not wait, not even for a running generation."""
        self._turnstile.require_open()
        return preview(self._target.cache, self._target.rate, checked_tokens(tokens, self.vocab.size), self.n_ctx)

    def prefill_seconds(self, tokens: int) -> float | None:
        """What reading so many new prompt tokens will probably take; None before anything was measured."""
        return self._target.rate.seconds_for(tokens)

    def replay(
        self,
        prompt: Sequence[int],
        answer: Sequence[int],
        sampling: Sampling = GREEDY,
        progress: Callable[[int], None] | None = None,
        rounds: Sequence[tuple[int, int]] | None = None,
    ) -> Replay:
        """Decode an `answer` to `prompt` once more without drafts, and say whether it comes out the same.

        sampling: as it was, with the seed of the answer's `Stats`. progress: is told the number of equal tokens so far.
        rounds: tokens drafted and accepted in each `Round` of the answer, which tell why it differs if it does.
        Waits for the end; `cancel` cuts it short. Errors as for `generate`.
        """
        return replay(self.generate, self._margin, prompt, answer, sampling, progress or (lambda _: None), rounds)

    def economy(self) -> dict[str, object]:
        """What was learned about which drafts pay here, JSON-able; for `EngineOptions.economy` of a later session."""
        speculator = self._speculator
        return {} if speculator is None else self._thread.call(speculator.arbiter.state)

    def clear(self) -> None:
        """Forget what is cached; RequestError while a generation is running."""
        self._turnstile.require_free()
        self._thread.call(self._target.clear)

    def close(self) -> None:
        """Cancel what is running and free everything; harmless when repeated."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _margin(self, tokens: list[int], expected: int, found: int) -> float:
        """How much better than `expected` the target finds `found` behind `tokens`, as a difference of logits."""
        self._turnstile.cancel()
        return self._thread.call(lambda: self._target.margin(tokens, expected, found))

    def _start(self, request: Request) -> tuple[Generation, Self]:
        tokens = checked_tokens(request.tokens, self.vocab.size)
        generation = Generation(self._target, self._speculator, request, tokens, self._turnstile.leave)
        self._turnstile.enter(generation)
        try:
            self._thread.post(generation.run, lost=generation.end)
        except BaseException:
            self._turnstile.leave(generation)
            raise
        return generation, self


def _shut_down(turnstile: Turnstile, thread: EngineThread, opened: Opened) -> None:
    turnstile.close()
    thread.stop(opened.close)
