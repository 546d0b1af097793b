"""One generation at a time: who is inside, and who may come in.

The engine's one public face: open a model, ask for generations, know what they would cost, close it.

Everything native happens on one thread per engine, so every method here may be called from any thread. A model that
makes llama.cpp abort loses its engine, not the process: whoever waits gets NativeAbort, and a fresh engine works.
"""

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Self

from laguna_engine.config import GREEDY, Drafting, EngineInfo, EngineOptions, Request, Sampling, checked_tokens
from laguna_engine.errors import EngineClosed, RequestError
from laguna_engine.events import Event, LoadProgress
from laguna_engine.generation import Generation
from laguna_engine.llama.vocab import Vocab
from laguna_engine.loader import LoadedModel, Loader
from laguna_engine.parity import Divergence, Replay, replay
from laguna_engine.sequence import Preview
from laguna_engine.stream import AsyncEventStream, Channel, EventStream
from laguna_engine.worker import EngineWorker


class RequestGate:
    """Lets one generation in. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._inside: Generation | None = None
        self._open = True
        # Reentrant, because the garbage collector may close an engine at any point.
        self._lock = threading.RLock()

    def require_open(self) -> None:
        """EngineClosed after `close`."""
        if not self._open:
            raise EngineClosed("the engine is closed; open the model again")

    def require_free(self) -> None:
        """RequestError while a generation is inside that was not cancelled; EngineClosed after `close`."""
        with self._lock:
            self.require_open()
            if self._inside is not None and not self._inside.cancelled:
                raise RequestError("a generation is running; read it to its end, or cancel it first")

    def enter(self, generation: Generation) -> None:
        """Let `generation` in; errors as for `require_free`. One that was cancelled may still be winding up."""
        with self._lock:
            self.require_free()
            self._inside = generation

    def leave(self, generation: Generation) -> None:
        """`generation` is over; harmless if another one is inside."""
        with self._lock:
            if self._inside is generation:
                self._inside = None

    def cancel(self) -> None:
        """Cancel who is inside."""
        with self._lock:
            if self._inside is not None:
                self._inside.cancel()

    def close(self) -> None:
        """Cancel who is inside and let nobody in any more."""
        with self._lock:
            self._open = False
            self.cancel()


__all__ = ["Divergence", "Drafting", "Engine", "EngineInfo", "EngineOptions", "Preview", "Replay", "Request"]


class Engine:
    """An open model with one KV cache, which holds one transcript at a time.

    info: what was opened. vocab: text to tokens and back, usable from any thread while the engine is open.
    n_ctx: tokens of prompt and answer that fit.
    """

    def __init__(self, thread: EngineWorker, opened: LoadedModel) -> None:
        """Use `Engine.open`."""
        self.info = opened.info
        self.vocab: Vocab = opened.sequence.model.vocab
        self.n_ctx = opened.info.n_ctx
        self._thread = thread
        self._sequence = opened.sequence
        self._speculator = opened.speculator
        self._gate = RequestGate()
        # Also runs at exit: freeing a model under a thread that still computes would crash the interpreter's end.
        self._finalizer = weakref.finalize(self, _shut_down, self._gate, thread, opened)

    @classmethod
    def open(cls, options: EngineOptions, progress: Callable[[LoadProgress], None] | None = None) -> Self:
        """Open a model and wait for it; an EngineError says why it cannot be opened.

        `progress` is called on the engine's thread; an exception in it stops the loading and is raised here.
        """
        opening, thread = Loader(options, progress), EngineWorker()
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
        self._gate.cancel()

    def preview(self, tokens: Sequence[int]) -> Preview:
        """What a request with `tokens` would cost now. Does not wait, not even for a running generation."""
        self._gate.require_open()
        return self._sequence.preview(checked_tokens(tokens, self.vocab.size))

    def prefill_seconds(self, tokens: int) -> float | None:
        """What reading so many new prompt tokens will probably take; None before anything was measured."""
        return self._sequence.rate.seconds_for(tokens)

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
        return self._thread.call(self._speculator.learned)

    def clear(self) -> None:
        """Forget what is cached; RequestError while a generation is running."""
        self._gate.require_free()
        self._thread.call(self._sequence.clear)

    def close(self) -> None:
        """Cancel what is running and free everything; harmless when repeated."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _margin(self, tokens: list[int], expected: int, found: int) -> float:
        """How much better than `expected` the target finds `found` behind `tokens`, as a difference of logits."""
        self._gate.cancel()
        return self._thread.call(lambda: self._sequence.margin(tokens, expected, found))

    def _start(self, request: Request) -> tuple[Channel[Event], Callable[[], None], Self]:
        tokens = checked_tokens(request.tokens, self.vocab.size)
        generation = Generation(self._sequence, self._speculator, request, tokens, self._gate.leave)
        self._gate.enter(generation)
        try:
            self._thread.post(generation.run, lost=generation.end)
        except BaseException:
            self._gate.leave(generation)
            raise
        return generation.channel, generation.cancel, self


def _shut_down(gate: RequestGate, thread: EngineWorker, opened: LoadedModel) -> None:
    gate.close()
    thread.stop(opened.close)
