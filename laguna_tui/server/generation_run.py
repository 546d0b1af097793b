"""One generation for a client, in slices: it waits for its turn, yields to the user and to others, and resumes exactly.

A sampled token depends on nothing but the seed, the position and the tokens before it, so an interrupted generation is
resumed by a request with its tokens after the prompt. The queue of events has no limit: a client that reads slowly
holds up nobody, and an answer is no longer than the context.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from laguna_engine.config import Request
from laguna_engine.constrain.base import Continued
from laguna_engine.detokenizer import StopTextFilter
from laguna_engine.errors import EngineError, NativeAbort
from laguna_engine.events import ConstraintFailed, Finished, FinishReason, Prefill, Stats, Token
from laguna_engine.stream import AsyncEventStream
from laguna_tui.server.api_error import ApiError
from laguna_tui.server.fair_queue import FairQueue
from laguna_tui.session.shared_model import SharedModel

SLICE_TOKENS = 512
"""Tokens of an answer that are generated before another waiting client has its turn."""
_TAIL_CHARS = 4096
"""Longer than any stop text and the token that completes it."""

_MODEL_LOST = (
    "{what}. The model is being opened again for other requests; send this one once more, and report the message if it "
    "appears again."
)
_NOT_ENFORCED = "The request's JSON schemas cannot be enforced ({problem}); simplify them, or leave them out."


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The last event of a run.

    Attributes:
        reason: Why it ended.
        stats: Of all its slices.
        recomputed: Prompt tokens that were computed twice.
        stop: The stop text that ended it; empty for none.
    """

    reason: FinishReason
    stats: Stats
    recomputed: int = 0
    stop: str = ""


RunEvent = Prefill | Token | RunFinished


class EngineTurns:
    """Starts the server's generations when the engine is free. Used on one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._free = asyncio.Event()

    def watch(self, model: SharedModel) -> None:
        """Get notified when this engine's generations end."""
        model.engine.when_free(self._notify)

    async def start(self, wait_for_model: Callable[[], Awaitable[SharedModel]], request: Request) -> AsyncEventStream:
        """Start a generation as soon as no other runs."""
        while True:
            model = await wait_for_model()
            self._free.clear()
            try:
                stream = model.engine.agenerate_guest(request)
            except NativeAbort:
                # Another request caused it.
                continue
            if stream is not None:
                return stream
            await self._free.wait()

    def _notify(self) -> None:
        # The loop is closed when the server has stopped.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._free.set)


class GenerationRun:
    """One generation. Iterate `events` once; `cancel` ends it early."""

    def __init__(
        self,
        wait_for_model: Callable[[], Awaitable[SharedModel]],
        request: Request,
        stops: tuple[str, ...],
        client: str,
        queue: FairQueue,
        turns: EngineTurns,
        report: Callable[[Stats, int], None],
        *,
        breaks_first: bool = False,
    ) -> None:
        """Nothing runs before `start`.

        Args:
            wait_for_model: Waits until the model is open: it may be lost and opened again meanwhile.
            request: The prompt and how to continue it, without stop texts.
            stops: The stop texts.
            client: Whose turn it takes.
            queue: Whose turn it is.
            turns: When the engine is free.
            report: Called at the end with the statistics, and the number of tokens that were computed twice.
            breaks_first: Line breaks before the first text belong to the template, so no stop text is found in them.
        """
        self._report = report
        self._wait_for_model, self._request, self._client = wait_for_model, request, client
        self._queue, self._turns = queue, turns
        self._stops = stops
        self._filter = StopTextFilter(stops) if stops else None
        self._tail = ""
        self._breaks_first = breaks_first
        self._events: asyncio.Queue[RunEvent | Exception] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._generated: list[int] = []
        self._slices: list[Stats] = []
        self._stopped = False
        self._stream: AsyncEventStream | None = None

    def start(self) -> None:
        """Start to wait for a turn. ApiError if too many requests wait already."""
        self._queue.enter()
        self._task = asyncio.create_task(self._run())
        # Also called for a task that is cancelled before it runs.
        self._task.add_done_callback(lambda _: self._queue.leave())

    def stop(self) -> None:
        """End it with what was generated so far."""
        self._stopped = True
        if self._stream is not None:
            self._stream.stop()

    def cancel(self) -> None:
        """End it now, without `RunFinished`. Idempotent."""
        if self._task is not None:
            self._task.cancel()

    async def events(self) -> AsyncIterator[RunEvent]:
        """Yield the events, the last one `RunFinished`. Raises EngineError if the engine fails."""
        try:
            while True:
                event = await self._events.get()
                if isinstance(event, Exception):
                    raise event
                yield event
                if isinstance(event, RunFinished):
                    return
        finally:
            self.cancel()

    async def _run(self) -> None:
        try:
            reason = None
            while reason is None:
                async with self._queue.turn(self._client):
                    reason = await self._generate_slice()
            self._events.put_nowait(RunFinished(reason, self._stats(), self._recomputed(), self._found_stop()))
        except NativeAbort as error:
            what, _, _ = str(error).partition(";")
            self._events.put_nowait(EngineError(_MODEL_LOST.format(what=what)))
        except (ApiError, EngineError) as error:
            self._events.put_nowait(error)
        finally:
            if self._slices:
                self._report(self._stats(), self._recomputed())

    async def _generate_slice(self) -> FinishReason | None:
        """Generate until the end, or until it is another client's turn; returns None then."""
        stream = self._stream = await self._turns.start(self._wait_for_model, self._continued())
        first = len(self._generated)
        try:
            async for event in stream:
                if isinstance(event, Prefill):
                    if not first:
                        self._events.put_nowait(event)
                elif isinstance(event, Token) and not self._stopped:
                    self._append(event)
                    over = len(self._generated) - first >= SLICE_TOKENS and self._queue.waiting
                    if self._stopped or over:
                        stream.stop()
                elif isinstance(event, ConstraintFailed):
                    raise ApiError(400, _NOT_ENFORCED.format(problem=event.problem))
                elif isinstance(event, Finished):
                    return self._finished(event)
        finally:
            await stream.aclose()
        raise EngineError("the generation ended unexpectedly; send the request again")

    def _finished(self, event: Finished) -> FinishReason | None:
        self._slices.append(event.stats)
        if event.stats.seed is not None:
            sampling = replace(self._request.sampling, seed=event.stats.seed)
            self._request = replace(self._request, sampling=sampling)
        if self._stopped:
            return FinishReason.STOP_TEXT
        remaining = self._remaining()
        if event.reason is FinishReason.CANCELLED and (remaining is None or remaining > 0):
            return None
        if self._filter is not None:
            for token in self._filter.flush():
                self._events.put_nowait(token)
        return FinishReason.MAX_TOKENS if event.reason is FinishReason.CANCELLED else event.reason

    def _append(self, token: Token) -> None:
        token = replace(token, index=len(self._generated))
        self._generated.append(token.id)
        self._breaks_first = self._breaks_first and not token.text.strip("\r\n")
        if self._filter is None or self._breaks_first:
            self._events.put_nowait(token)
            return
        self._tail = (self._tail + token.text)[-_TAIL_CHARS:]
        released, self._stopped = self._filter.push(token)
        for each in released:
            self._events.put_nowait(each)

    def _found_stop(self) -> str:
        """Return the stop text that was found, the one that begins first."""
        found = [(self._tail.rfind(stop), stop) for stop in self._stops if stop in self._tail]
        return min(found)[1] if self._stopped and found else ""

    def _remaining(self) -> int | None:
        limit = self._request.max_tokens
        return None if limit is None else limit - len(self._generated)

    def _continued(self) -> Request:
        if not self._generated:
            return self._request
        tokens = [*self._request.tokens, *self._generated]
        constraints = tuple(Continued(each, len(self._generated)) for each in self._request.constraints)
        return replace(self._request, tokens=tokens, max_tokens=self._remaining(), constraints=constraints)

    def _stats(self) -> Stats:
        first = self._slices[0]
        return replace(
            first,
            prompt_tokens=len(self._request.tokens),
            prefill_s=sum(each.prefill_s for each in self._slices),
            decode_s=sum(each.decode_s for each in self._slices),
            generated_tokens=len(self._generated),
            rounds=sum(each.rounds for each in self._slices),
            drafted=sum(each.drafted for each in self._slices),
            accepted=sum(each.accepted for each in self._slices),
        )

    def _recomputed(self) -> int:
        """Return how many tokens had been computed before a slice and were computed again."""
        return sum(max(0, each.prompt_tokens - each.cached_tokens - 1) for each in self._slices[1:])
