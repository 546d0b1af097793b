"""Rollouts from an OpenAI-compatible endpoint: many requests at a time, sent again where it fails for a while."""

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue

import httpx2
import msgspec

from laguna_engine.chat.messages import Role
from laguna_engine.errors import EngineError
from laguna_tui.backends.base import Message, Prompt
from laguna_tui.backends.chat_format import EndpointRequest, request_body
from laguna_tui.backends.endpoint import RemoteOptions, ask_whole, choose_model, endpoint_client, list_served
from laguna_tui.backends.remote_errors import RemoteError, RemoteProblem
from laguna_tui.base.async_thread import AsyncThread
from laguna_tui.base.units import plural
from laguna_tui.evals.samples import TokenTurn
from tests.evals.rollouts.rollout import Answer, Draw, Rollout

_PASSING = frozenset(
    {
        *(RemoteProblem.UNREACHABLE, RemoteProblem.BUSY, RemoteProblem.FAILED),
        *(RemoteProblem.LOST, RemoteProblem.SILENT, RemoteProblem.GARBAGE),
    }
)
"""What may be over when it is asked again."""
_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0
_METRICS_EVERY_S = 1.0
_DRAFTED = ("vllm:spec_decode_num_draft_tokens_total", "laguna_tui_drafted_tokens_total")
_ACCEPTED = ("vllm:spec_decode_num_accepted_tokens_total", "laguna_tui_accepted_tokens_total")
_ENDS = {"stop": "answered", "length": "max_tokens"}


class _Message(msgspec.Struct):
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    token_ids: list[int] | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None
    prompt_token_ids: list[int] | None = None


_DECODER = msgspec.json.Decoder(_Completion)


class RolloutEndpoint:
    """Answers draws, several at a time."""

    def __init__(self, options: RemoteOptions, concurrency: int, retries: int, limit_s: float) -> None:
        """Connect to nothing yet.

        Args:
            options: which endpoint, and how it is asked.
            concurrency: most rollouts at a time, their checks included.
            retries: how often a request is sent again before the run ends.
            limit_s: seconds of an answer.
        """
        self._options, self._concurrency, self._retries = options, concurrency, retries
        self._limit_s = limit_s
        self._model = ""
        self._token_ids = True
        self._figures = _SpeculationFigures(options)

    def rollouts(self, draws: Sequence[Draw], made: Callable[[Draw, Answer], Rollout]) -> Iterator[Rollout]:
        """Make the rollouts, in the order in which they end; drop it to end it.

        Args:
            made: judges and keeps an answer; called in several threads at a time.

        Raises:
            UserError, EngineError: the endpoint or the check failed; what is on its way then is given up.
        """
        ended: SimpleQueue[Rollout | Exception | None] = SimpleQueue()
        thread = AsyncThread("laguna-rollouts")
        running = thread.start(self._all(draws, made, ended.put))
        running.add_done_callback(lambda _: ended.put(None))
        try:
            while (item := ended.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            running.cancel()
            thread.close()

    async def _all(
        self,
        draws: Sequence[Draw],
        made: Callable[[Draw, Answer], Rollout],
        put: Callable[[Rollout | Exception], None],
    ) -> None:
        left = iter(draws)
        self._figures.expect(len(draws))

        async def work(client: httpx2.AsyncClient) -> None:
            for draw in left:
                answer = await self._asked(client, draw)
                put(await asyncio.to_thread(made, draw, answer))

        try:
            async with endpoint_client(self._options, self._limit_s, self._concurrency + 1) as client:
                await self._choose_model()
                await self._figures.begin(client)
                # Whoever fails is heard at once, and ends the others.
                await asyncio.gather(*(work(client) for _ in range(min(self._concurrency, len(draws)))))
        except Exception as error:
            put(error)

    async def _choose_model(self) -> None:
        for attempt in range(self._retries + 1):
            if self._model:
                return
            try:
                served = await list_served(self._options)
                self._model = choose_model(served, self._options.model, self._options.host).name
            except RemoteError as error:
                await self._wait(error, attempt, 0)

    async def _asked(self, client: httpx2.AsyncClient, draw: Draw) -> Answer:
        """Ask until there is an answer."""
        attempt = 0
        while True:
            with_ids = self._token_ids
            try:
                return await self._once(client, draw, attempt, with_ids=with_ids)
            except RemoteError as error:
                if error.problem is RemoteProblem.CONTEXT:
                    return Answer("", "", "context_full", 0, 0, *await self._figures.since(client), 0.0, attempt)
                if error.problem is RemoteProblem.REFUSED and with_ids:
                    # Some refuse every field that they do not know.
                    self._token_ids = False
                    continue
                await self._wait(error, attempt, draw.seed)
                attempt += 1

    async def _wait(self, error: RemoteError, attempt: int, seed: int) -> None:
        """Wait before asking again; raises the error where that is of no use."""
        if error.problem not in _PASSING:
            raise error
        if attempt >= self._retries:
            times = f"{self._retries} {plural(self._retries, 'retry', 'retries')}"
            raise EngineError(f"{error.what}, also after {times}; see its own log") from error
        # Those that failed together are not sent again together.
        pause_s = min(_LONGEST_PAUSE_S, _PAUSE_S * 2**attempt) * random.Random(seed + attempt).uniform(0.5, 1.0)
        await asyncio.sleep(max(pause_s, error.wait_s))

    async def _once(self, client: httpx2.AsyncClient, draw: Draw, attempt: int, *, with_ids: bool) -> Answer:
        options = self._options
        begun = time.monotonic()
        request = EndpointRequest(
            Prompt(draw.prompt.system, messages=(Message(Role.USER, (draw.prompt.question,)),)),
            max_tokens=options.max_tokens,
            thinking=options.thinking,
        )
        body = request_body(request, self._model, options.sampling) | {"seed": draw.seed}
        del body["stream"], body["stream_options"]
        if draw.group.temperature is not None:
            body["temperature"] = draw.group.temperature
        if with_ids:
            # vLLM's.
            body["return_token_ids"] = True
        try:
            async with asyncio.timeout(self._limit_s):
                data = await ask_whole(client, options, f"{options.url}/chat/completions", body)
        except TimeoutError as error:
            what = f"{options.host} gave no answer in {self._limit_s:g} seconds (--timeout)"
            raise RemoteError(RemoteProblem.SILENT, what) from error
        seconds = time.monotonic() - begun
        try:
            found = _DECODER.decode(data)
            choice = found.choices[0]
        except (msgspec.DecodeError, UnicodeDecodeError, IndexError, RecursionError) as error:
            raise RemoteError(RemoteProblem.GARBAGE, f"{options.host} sent something that is no answer") from error
        usage = found.usage or _Usage()
        tokens = [TokenTurn(0, found.prompt_token_ids or [], choice.token_ids)] if choice.token_ids is not None else []
        return Answer(
            choice.message.content or "",
            choice.message.reasoning_content or choice.message.reasoning or "",
            _ENDS.get(choice.finish_reason or "", choice.finish_reason or ""),
            usage.prompt_tokens,
            usage.completion_tokens,
            *await self._figures.since(client),
            seconds,
            attempt,
            tokens,
        )


class _SpeculationFigures:
    """What an endpoint's `/metrics` say of drafted and accepted tokens. Of one event loop."""

    def __init__(self, options: RemoteOptions) -> None:
        self._options = options
        self._before: tuple[int, int] | None = None
        self._read_at = 0.0
        self._left = 0
        self._lock = asyncio.Lock()

    def expect(self, answers: int) -> None:
        """So many answers are to come; the figures are read behind the last one."""
        self._left = answers

    async def begin(self, client: httpx2.AsyncClient) -> None:
        """Note where the counters stand."""
        self._before = await self._read(client)

    async def since(self, client: httpx2.AsyncClient) -> tuple[int, int]:
        """Another answer came: tokens drafted and accepted since the last time that this said some."""
        self._left -= 1
        if self._before is None or (self._left > 0 and time.monotonic() - self._read_at < _METRICS_EVERY_S):
            return 0, 0
        async with self._lock:
            now, before = await self._read(client), self._before
            if now is None:
                return 0, 0
            self._before = now
        # Counters that fell are of a server that was started again.
        begun_again = now[0] < before[0] or now[1] < before[1]
        return now if begun_again else (now[0] - before[0], now[1] - before[1])

    async def _read(self, client: httpx2.AsyncClient) -> tuple[int, int] | None:
        self._read_at = time.monotonic()
        try:
            url = f"{self._options.url.removesuffix('/v1')}/metrics"
            text = (await ask_whole(client, self._options, url)).decode("utf-8", "replace")
        except RemoteError:
            return None
        return speculation_counters(text)


def speculation_counters(text: str) -> tuple[int, int] | None:
    """Return drafted and accepted tokens in Prometheus' text format, of all engines together; None without them."""
    sums = {False: 0.0, True: 0.0}
    seen = False
    for line in text.splitlines():
        name, _, value = line.replace("{", " {", 1).rpartition(" ")
        name = name.split(" ", 1)[0]
        if name in (*_DRAFTED, *_ACCEPTED):
            try:
                sums[name in _ACCEPTED] += float(value)
            except ValueError:
                continue
            seen = True
    return (int(sums[False]), int(sums[True])) if seen else None
