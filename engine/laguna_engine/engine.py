"""The engine's public interface: open a model, generate, preview the cost of a prompt, close.

Everything native happens on one thread per engine, so every method here may be called from any thread. A model that
makes llama.cpp abort loses its engine, not the process: waiting calls raise NativeAbort, and a new engine works.
"""

import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from laguna_engine.config import GREEDY, Drafting, EngineInfo, EngineOptions, Request, Sampling, checked_tokens
from laguna_engine.constrain.base import ConstraintSpec
from laguna_engine.errors import EngineClosed, RequestError
from laguna_engine.events import Event, LoadProgress
from laguna_engine.generation import Generation
from laguna_engine.llama.vocab import Vocab
from laguna_engine.loader import LoadedModel, Loader
from laguna_engine.parity import Divergence, Replay, replay
from laguna_engine.sequence import Preview
from laguna_engine.snapshot.saver import Saved
from laguna_engine.snapshot.snapshots import EngineSnapshots, Restorable, Restored
from laguna_engine.snapshot.state_pool import PoolFigures, StatePool
from laguna_engine.stream import AsyncEventStream, Channel, EventStream
from laguna_engine.worker import EngineWorker


class RequestGate:
    """Admits one generation at a time; a guest's ends when anybody else comes. Thread-safe.

    Attributes:
        waiting: is called whenever the gate is free again; it must neither block nor raise.
    """

    def __init__(self) -> None:
        self.waiting: Callable[[], None] | None = None
        self._inside: Generation | None = None
        self._guest = False
        self._open = True
        # Reentrant, because the garbage collector may close an engine at any point.
        self._lock = threading.RLock()

    def require_open(self) -> None:
        """Raise EngineClosed after `close`."""
        if not self._open:
            raise EngineClosed("the engine is closed; open the model again")

    def require_free(self) -> None:
        """Raise RequestError while a generation is running that was not cancelled, and EngineClosed after `close`.

        A guest's generation is cancelled instead.
        """
        with self._lock:
            self.require_open()
            if self._inside is None or self._inside.cancelled:
                return
            if not self._guest:
                raise RequestError("a generation is running; read it to its end, or cancel it first")
            self._inside.cancel()

    def enter(self, generation: Generation, *, guest: bool = False) -> bool:
        """Admit `generation`; errors as for `require_free`. A cancelled one may still be finishing.

        Returns:
            Whether it may be run: a guest may not while there is any other.
        """
        with self._lock:
            self.require_open()
            if guest and self._inside is not None:
                return False
            self.require_free()
            self._inside, self._guest = generation, guest
            return True

    def leave(self, generation: Generation) -> None:
        """End `generation`; no effect if another one was admitted."""
        with self._lock:
            if self._inside is not generation:
                return
            self._inside = None
            waiting = self.waiting
        if waiting is not None:
            waiting()

    def cancel(self, *, guests: bool = False) -> None:
        """Cancel the admitted generation; a guest's only with `guests`."""
        with self._lock:
            if self._inside is not None and (guests or not self._guest):
                self._inside.cancel()

    def close(self) -> None:
        """Cancel the admitted generation and admit no more."""
        with self._lock:
            self._open = False
            self.cancel(guests=True)


__all__ = [
    "Divergence",
    "Drafting",
    "Engine",
    "EngineInfo",
    "EngineOptions",
    "PoolFigures",
    "Preview",
    "Replay",
    "Request",
    "Restorable",
    "Restored",
    "Saved",
]


class Engine:
    """An open model with one KV cache, which holds one transcript at a time.

    Attributes:
        info: properties of the open model.
        vocab: text to tokens and back; thread-safe while the engine is open.
        n_ctx: tokens of context, prompt and answer together.
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
        self._snapshots = EngineSnapshots(opened.sequence, opened.speculator, opened.info, thread.call)
        self._pool = StatePool(opened.sequence, opened.speculator)
        self._factory = opened.factory
        self._own: Sequence[int] = ()
        # Also runs at exit: freeing a model under a thread that still computes would crash the interpreter's end.
        self._finalizer = weakref.finalize(self, _shut_down, self._gate, thread, opened)

    @classmethod
    def open(cls, options: EngineOptions, progress: Callable[[LoadProgress], None] | None = None) -> Self:
        """Open a model and wait for it; raises EngineError if it cannot be opened.

        `progress` is called on the engine's thread; an exception from it stops the loading and is raised here.
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
        """Start a generation; iterate the result for `Prefill`*, (`Token` | `Round`)*, `Finished`.

        Dropping the iterator cancels. RequestError if the request is invalid or another generation is running; one that
        was cancelled or dropped may still be finishing, and is waited for.
        """
        return EventStream(*self._start(request))

    def agenerate(self, request: Request) -> AsyncEventStream:
        """Start a generation as `generate` does, for an event loop: iterate the result with `async for`."""
        return AsyncEventStream(*self._start(request))

    def agenerate_guest(self, request: Request) -> AsyncEventStream | None:
        """Start a generation as `agenerate` does, for another program: None while one is running.

        Cancelled when one begins.

        A request with what was generated so far after its prompt, and with the seed of its `Stats`, continues as if
        nothing had happened. `when_free` says when to try again.
        """
        started = self._try_start(request, guest=True)
        return None if started is None else AsyncEventStream(*started)

    def when_free(self, call: Callable[[], None] | None) -> None:
        """Call this whenever a generation has ended, from the engine's thread; it must neither block nor raise."""
        self._gate.waiting = call

    def hold_conversations(self, nbytes: int) -> None:
        """Hold the states of other conversations in `nbytes` of memory; 0, as at first, holds none.

        What a prompt cuts off is then copied first, and copied back when a prompt continues from it.
        """
        self._pool.budget = nbytes
        if not nbytes:
            self._thread.call(self._pool.clear)

    @property
    def lost(self) -> bool:
        """Whether llama.cpp aborted: every request fails, and another engine has to be opened. Any thread."""
        return self._thread.failure() is not None

    @property
    def held(self) -> PoolFigures:
        """What `hold_conversations` holds. Any thread."""
        return self._pool.figures

    def prepare_constraints(self) -> None:
        """Prepare the vocabulary for constraints on the engine's thread, so that no answer has to wait for it."""

        def run() -> None:
            from laguna_engine.constrain.matcher import prepare

            # What is wrong is reported when a constraint begins.
            with suppress(Exception):
                prepare(self.vocab)

        self._thread.post(run, lost=lambda error: None)

    def cancel(self, *, guests: bool = False) -> None:
        """Stop the running generation within one micro-batch; a guest's only with `guests`. The cache stays valid."""
        self._gate.cancel(guests=guests)

    def preview(self, tokens: Sequence[int]) -> Preview:
        """Estimate the cost of a request with `tokens` now. Does not wait, not even for a running generation."""
        self._gate.require_open()
        return self._sequence.preview(checked_tokens(tokens, self.vocab.size))

    def prefill_seconds(self, tokens: int) -> float | None:
        """Return the estimated prefill time of `tokens` new prompt tokens, in seconds.

        None before anything was measured.
        """
        return self._sequence.rate.seconds_for(tokens)

    def replay(
        self,
        prompt: Sequence[int],
        answer: Sequence[int],
        sampling: Sampling = GREEDY,
        progress: Callable[[int], None] | None = None,
        rounds: Sequence[tuple[int, int]] | None = None,
        thinking_budget: int | None = None,
        no_repeat: tuple[tuple[int, ...], ...] = (),
        constraints: tuple[ConstraintSpec, ...] = (),
        thinking_tags: tuple[str, str] = ("<think>", "</think>"),
    ) -> Replay:
        """Decode the `answer` to `prompt` again without drafts, and compare. Waits for the end; `cancel` ends it early.

        Args:
            prompt: tokens of the prompt.
            answer: tokens of the answer.
            sampling: settings of the answer, with the seed of its `Stats`.
            progress: called with the number of equal tokens so far.
            rounds: tokens drafted and accepted in each `Round` of the answer, to find the cause of a difference.
            thinking_budget: that of the answer's request.
            no_repeat: that of the answer's request.
            constraints: those of the answer's request.
            thinking_tags: those of the answer's request.

        Raises:
            RequestError: as for `generate`.
        """
        request = Request(
            prompt,
            sampling,
            thinking_budget=thinking_budget,
            thinking_tags=thinking_tags,
            no_repeat=no_repeat,
            constraints=constraints,
        )
        return replay(self.generate, self._margin, request, answer, progress or (lambda _: None), rounds)

    def snapshot(self, folder: Path, *, of: Sequence[int] | None = None, last: bool = False) -> Saved:
        """Write what was appended to the cache since its last snapshot into `folder`, which is made if need be.

        Call it from a thread of its own, right after a generation: it copies on the engine thread only between
        requests, 8 MB at a time (and once the sliding window and the drafter's part), and writes on the calling one. It
        writes nothing when nothing is new, or when over the session more than twice the final state would be written.

        Args:
            folder: this conversation's alone.
            of: its tokens, where conversations take turns; None for that of the last request that was no guest's.
            last: the engine is closed next, so the reserve for that may be used.

        Raises:
            SnapshotError: nothing was written; `problem` says why.
            EngineClosed: the engine was closed meanwhile.
        """
        self._gate.require_open()
        if own := list(self._own if of is None else of):
            # Another conversation may be in the cache, which is not for this folder.
            self._thread.call(lambda: self._pool.meet(own))
        return self._snapshots.save(folder, None if of is None else own, last=last)

    def restore(self, folder: Path, tokens: Sequence[int]) -> Restored:
        """Restore as much of the prompt `tokens` into the cache as the snapshots in `folder` have.

        What is cached already stays if it is as much. Files that cannot be used are refused before llama.cpp sees
        them, and named in the result; whatever happens, the next request gives the right answer.

        Raises:
            RequestError: a generation is running.
        """
        self._gate.require_free()
        prompt = checked_tokens(tokens, self.vocab.size)
        # What is in the cache waits in memory, where conversations take turns.
        self._thread.call(lambda: self._pool.meet(prompt))
        return self._snapshots.restore(folder, prompt)

    def restorable(self, folder: Path, tokens: Sequence[int]) -> Restorable | None:
        """Return what `restore` would do, from the files' headers alone; None if nothing.

        Any thread; waits for no request.
        """
        self._gate.require_open()
        return self._snapshots.restorable(folder, checked_tokens(tokens, self.vocab.size))

    def economy(self) -> dict[str, object]:
        """Return learned costs and acceptance of drafts, JSON-able, for `EngineOptions.economy` of a later session."""
        return self._thread.call(self._speculator.learned)

    @property
    def drafter_nbytes(self) -> int:
        """Bytes that the drafters take on the target's device."""
        return self._thread.call(lambda: self._factory.nbytes)

    def rest_drafters(self) -> int:
        """Free what the drafters have on the target's device, for whatever else needs it; returns how many bytes.

        Answers stay the same and cost more, until `resume_drafters`. Waits for the running generation.
        """
        return self._thread.call(self._factory.rest)

    def resume_drafters(self) -> None:
        """Reopen the drafters; one that no longer fits into memory is reported with the next answer."""
        self._thread.call(self._factory.resume)

    def clear(self) -> None:
        """Clear the KV cache; RequestError while a generation is running."""
        self._gate.require_free()
        self._thread.call(self._sequence.clear)

    def close(self) -> None:
        """Cancel the running generation and free everything. Idempotent."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _margin(self, tokens: list[int], expected: int, found: int) -> float:
        self._gate.cancel()
        return self._thread.call(lambda: self._sequence.margin(tokens, expected, found))

    def _start(self, request: Request) -> "_Started":
        started = self._try_start(request)
        assert started is not None, "only a guest is not let in without an error"
        return started

    def _try_start(self, request: Request, *, guest: bool = False) -> "_Started | None":
        self._gate.require_open()
        tokens = checked_tokens(request.tokens, self.vocab.size)
        generation = Generation(self._sequence, self._speculator, request, tokens, self._gate.leave)
        if not self._gate.enter(generation, guest=guest):
            return None
        if not guest and not request.aside:
            self._own = request.tokens

        def run() -> None:
            try:
                self._pool.meet(tokens)
            except Exception as error:
                generation.end(error)
            else:
                generation.run()

        try:
            self._thread.post(run, lost=generation.end)
        except BaseException:
            self._gate.leave(generation)
            raise
        return generation.channel, generation.cancel, generation.end_thinking, self


_Started = tuple[Channel[Event], Callable[[], None], Callable[[], None], Engine]
"""The arguments of an event stream."""


def _shut_down(gate: RequestGate, thread: EngineWorker, opened: LoadedModel) -> None:
    gate.close()
    thread.stop(opened.close)
