"""A model behind an OpenAI-compatible endpoint: vLLM, SGLang, llama-server, Ollama, or another laguna-tui.

A generation is one request, and no request is repeated without the user. Its answer is read on a separate thread, so
that `cancel` ends it at once even while the endpoint is silent; closing the connection stops the work there.

Token counts are estimates: only the endpoint knows the vocabulary, and which tokens are drafted or cached.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from queue import SimpleQueue
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx2

from laguna_engine.chat.messages import Reasoning, Text, ToolSpec
from laguna_engine.errors import EngineClosed
from laguna_engine.events import FinishReason, LoadProgress, Stats
from laguna_tui.backends.base import Answer, Message, Options, Prompt, PromptCost, answer_message
from laguna_tui.backends.chat_format import (
    Answered,
    AnswerReader,
    ChatEvent,
    EndpointRequest,
    GarbageError,
    ReportedError,
    request_body,
)
from laguna_tui.backends.endpoint import (
    RemoteOptions,
    ServedModel,
    choose_model,
    endpoint_client,
    list_served,
    stream_answer,
)
from laguna_tui.backends.remote_errors import RemoteError, RemoteProblem, of_exception, of_stream
from laguna_tui.backends.token_loop import find_loop
from laguna_tui.base.async_thread import AsyncThread
from laguna_tui.base.events import Notice, StepFinished
from laguna_tui.base.messages import Trace

ASSUMED_CONTEXT = 8192
"""Tokens of context of an endpoint that does not say how many it has."""
_MARKERS = 5
"""Tokens of a message's markers in most templates."""
_SILENCE_S = 600.0
"""Reading a long prompt takes minutes, during which some endpoints send nothing."""
_ASSUMED = (
    "{host} does not say how many tokens of context it has, so {context:,} are assumed; set it with --context N, or "
    "context = N in config.toml."
)
_CUT = "The connection to {host} was lost in the middle of the answer"
_READABLE = "The key for {host} is sent over the network unencrypted; use https."
_AS_TEXT = ("<tool_call>", "<think>")
_NOT_PARSED = (
    "The endpoint sends {tag} as text, so it does not parse this model's format; start it with the matching parsers: "
    "laguna-tui help remote"
)
# Words of up to seven letters are mostly one token, digits come in threes, indentation as a whole: vocabularies of code
# models count within about a fifth of this, for code and English.
_TOKEN = re.compile(r" ?[^\W\d_]{1,7}|\d{1,3}|\r?\n[ \t]*|[ \t]+(?=\S)|[ \t]+|[^\w\s]{1,2}|.", re.DOTALL)


def estimated_tokens(text: str) -> list[str]:
    """Cut a text into about as many tokens as a model's vocabulary would."""
    return _TOKEN.findall(text)


class RemoteBackend:
    """A `Backend` that asks an endpoint.

    Attributes:
        options: How the endpoint is reached.
        model: The endpoint's name of the model.
        n_ctx: Tokens of context: the user's setting, what the endpoint says, or an assumption.
        warnings: Sentences for the user.
        lost: Always False: llama.cpp cannot abort in this process.
        writes_calls: Always True: the endpoint renders tools and parses calls.
    """

    lost = False
    writes_calls = True

    def __init__(self, options: RemoteOptions, served: ServedModel) -> None:
        """Use `RemoteBackend.open`."""
        self.options, self.model = options, served.name
        self.n_ctx = options.context or served.context or ASSUMED_CONTEXT
        self._sizes = WeakKeyDictionary[Message, tuple[int, ...]]()
        self._system: tuple[tuple[str, tuple[ToolSpec, ...]], int] | None = None
        self.warnings = tuple(_warnings(options, served))
        self._thread = AsyncThread("laguna-remote")
        self._lock = threading.Lock()
        self._running: Future[None] | None = None
        self._closed = False

    @classmethod
    def open(cls, options: RemoteOptions, progress: Callable[[LoadProgress], None]) -> "RemoteBackend":
        """Ask the endpoint which models it has.

        Raises:
            RemoteError: It cannot be reached, or does not have this model.
        """
        progress(LoadProgress(f"asking {options.host}", 0.0))
        thread = AsyncThread("laguna-remote-opening")
        try:
            served = thread.start(list_served(options)).result()
        finally:
            thread.close()
        progress(LoadProgress(f"asking {options.host}", 1.0))
        return cls(options, choose_model(served, options.model, options.host))

    def generate(self, prompt: Prompt, options: Options) -> "RemoteAnswer":
        """See `Backend`; sampling, drafting and constraints are the endpoint's own."""
        limits = [self.options.max_tokens, options.max_tokens if options.aside else None]
        request = EndpointRequest(
            prompt,
            min((each for each in limits if each is not None), default=None),
            False if options.aside else self.options.thinking,
        )
        return RemoteAnswer(self, request, aside=options.aside)

    def cost(self, prompt: Prompt) -> PromptCost:
        """See `Backend`; what the endpoint has cached is unknown."""
        sizes = self.sizes(prompt)
        tokens = sum(map(sum, sizes)) + _MARKERS
        return PromptCost(sizes, tokens, None, None, tokens < self.n_ctx)

    def count(self, text: str) -> int:
        return len(estimated_tokens(text))

    def sizes(self, prompt: Prompt) -> tuple[tuple[int, ...], ...]:
        system = prompt.system, prompt.tools
        if self._system is None or self._system[0] != system:
            self._system = system, self.count(_system_text(prompt)) + _MARKERS
        return ((self._system[1],), *map(self._size, prompt.messages))

    def rendered(self, prompt: Prompt) -> tuple[tuple[str, ...], ...]:
        """See `Backend`; only the endpoint knows its template, so this is an approximation."""
        return ((_system_text(prompt),), *map(_text_parts, prompt.messages))

    def prefetch(self, prompt: Prompt, options: Options) -> Iterator[object]:
        """See `Backend`; nothing is sent before the user sends it."""
        return iter(())

    def recovered(self, prompt: Prompt, trace: Trace) -> Message:
        """See `Backend`; a remote model has no traces."""
        return answer_message(())

    def start(self, request: EndpointRequest, put: Callable[[ChatEvent | Exception], None]) -> "Future[None]":
        """Send a request. Cancelling the future ends it.

        Args:
            put: Takes the events on another thread; the last is `Answered`, or what went wrong.

        Raises:
            EngineClosed: After `close`.
        """
        with self._lock:
            if self._closed:
                raise EngineClosed("the remote model is closed; open a model again")
            self._running = running = self._thread.start(self._stream(request, put))
        # However it ends, even before it began.
        running.add_done_callback(lambda done: put(self._last(done)))
        return running

    def cancel(self) -> None:
        running = self._running
        if running is not None:
            running.cancel()

    def prefill_seconds(self, tokens: int) -> float | None:
        return None

    def learn(self, error: Exception) -> None:
        """Take the context that an error of the endpoint names, unless the user set one."""
        if isinstance(error, RemoteError) and error.n_ctx is not None and self.options.context is None:
            self.n_ctx = min(self.n_ctx, error.n_ctx)

    def close(self) -> None:
        """Cancel what runs and end the thread. Idempotent."""
        with self._lock:
            self._closed = True
        self.cancel()
        self._thread.close()

    def _size(self, message: Message) -> tuple[int, ...]:
        size = self._sizes.get(message)
        if size is None:
            first, *others = map(self.count, _text_parts(message) or ("",))
            self._sizes[message] = size = (first + _MARKERS, *others)
        return size

    def _last(self, done: "Future[None]") -> Answered | RemoteError:
        """Return what comes last if nothing else did."""
        error = None if done.cancelled() else done.exception()
        if error is None:
            return Answered(FinishReason.CANCELLED)
        return RemoteError(RemoteProblem.GARBAGE, f"{self.options.host} cannot be read ({type(error).__name__})")

    async def _stream(self, request: EndpointRequest, put: Callable[[ChatEvent | Exception], None]) -> None:
        reader = AnswerReader(request.prompt.tools)
        body = request_body(request, self.model, self.options.sampling)
        try:
            async with endpoint_client(self.options, _SILENCE_S) as client:
                async for data in stream_answer(client, self.options, body):
                    for event in reader.take(data):
                        put(event)
            if reader.ended is None:
                raise RemoteError(RemoteProblem.LOST, _CUT.format(host=self.options.host))
        except (RemoteError, GarbageError, ReportedError, httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            for text in reader.finish():
                put(text)
            put(self._failure(error, begun=reader.begun))
            return
        for last in (*reader.finish(), *reader.calls()):
            put(last)
        # A limit that is not ours is the context's.
        full = reader.ended is FinishReason.MAX_TOKENS and request.max_tokens is None
        put(Answered(FinishReason.CONTEXT_FULL if full else reader.ended, reader.usage))

    def _failure(self, error: Exception, *, begun: bool) -> RemoteError:
        host, key = self.options.host, self.options.key
        match error:
            case RemoteError():
                return error
            case GarbageError():
                said = key.hidden_in(str(error))
                return RemoteError(RemoteProblem.GARBAGE, f"{host} sent something that is not an answer: “{said}”")
            case ReportedError():
                return of_stream(json.loads(key.hidden_in(json.dumps(error.error))), host)
            case _:
                return of_exception(error, host, begun=begun)


class RemoteAnswer(Answer):
    """An answer whose events come from an endpoint."""

    def __init__(self, backend: RemoteBackend, request: EndpointRequest, *, aside: bool) -> None:
        """Send nothing yet. aside: Whether the answer is written beside the conversation."""
        super().__init__()
        self._backend, self._request, self._aside = backend, request, aside
        self._prompt_tokens = backend.cost(request.prompt).total
        self._arrived: SimpleQueue[ChatEvent | Exception] = SimpleQueue()
        self._running: Future[None] | None = None
        self._began = self._first = 0.0
        self._tokens: list[str] = []
        self._text = ""
        self._over = False

    def cancel(self) -> None:
        self._backend.cancel()

    def close(self) -> None:
        super().close()
        self._end()

    def _end(self) -> None:
        self._over = True
        if self._running is not None:
            self._running.cancel()
            with suppress(CancelledError, Exception):
                self._running.result()

    def _advance(self) -> None:
        if self._over:
            raise StopIteration
        try:
            if self._running is None:
                self._began = time.monotonic()
                self._running = self._backend.start(self._request, self._arrived.put)
            event = self._arrived.get()
        except BaseException:
            self._end()
            raise
        if isinstance(event, Exception):
            self._backend.learn(event)
            self._end()
            raise event
        self._first = self._first or time.monotonic()
        if isinstance(event, Answered):
            self.reason = event.reason
            self._pending.append(self._finished(event))
        else:
            self._events.append(event)
            self._show(event)
            if isinstance(event, Text):
                self._report_tags(event.text)
            if isinstance(event, Reasoning | Text):
                self._count(event.text)
        if self.repeating or isinstance(event, Answered):
            self._end()

    def _count(self, text: str) -> None:
        """Count the estimated tokens of a text, and stop a model that repeats itself."""
        for token in estimated_tokens(text):
            self._tokens.append(token)
            self.repeating = self.repeating or find_loop(self._tokens) is not None
            self._count_token(self._prompt_tokens + len(self._tokens))

    def _report_tags(self, text: str) -> None:
        """Report once that a tag of the model's format came as text."""
        before, self._text = self._text, (self._text + text)[-2 * max(map(len, _AS_TEXT)) :]
        tag = next((tag for tag in _AS_TEXT if tag in before + text and tag not in before), "")
        if tag and not self.calls and not self._aside:
            self._pending.append(Notice(_NOT_PARSED.format(tag=tag)))

    def _finished(self, event: Answered) -> StepFinished:
        usage, now = event.usage, time.monotonic()
        tokens = (usage.prompt, usage.generated) if usage is not None else (self._prompt_tokens, len(self._tokens))
        cached = usage.cached if usage is not None else None
        # When the endpoint began to read is unknown, so there is no prefill rate.
        stats = Stats(tokens[0], min(cached or 0, tokens[0]), 0.0, tokens[1], now - self._first)
        return StepFinished(
            stats,
            sum(tokens),
            self._backend.n_ctx,
            cache_known=cached is not None,
            estimated=usage is None,
            waited_s=self._first - self._began,
        )


def _system_text(prompt: Prompt) -> str:
    tools = "".join(f"{json.dumps(tool.as_openai(), ensure_ascii=False)}\n" for tool in prompt.tools)
    return f"{prompt.system}\n\n{tools}"


def _text_parts(message: Message) -> tuple[str, ...]:
    if message.answer is None:
        return message.parts
    answer = message.answer
    calls = "".join(json.dumps([call.name, call.arguments], ensure_ascii=False) for call in answer.calls)
    return (f"{answer.reasoning}{answer.text}{calls}",)


def _warnings(options: RemoteOptions, served: ServedModel) -> Iterator[str]:
    if not options.context and not served.context:
        yield _ASSUMED.format(host=options.host, context=ASSUMED_CONTEXT)
    if options.key.secret and not options.loopback and urlsplit(options.url).scheme == "http":
        yield _READABLE.format(host=options.host)
