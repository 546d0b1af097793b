"""A model behind an OpenAI-compatible endpoint: vLLM, SGLang, llama-server, Ollama, or another laguna-tui.

A generation is one request; nothing is sent twice without the user. Its answer is read on a thread of its own, so that
`cancel` ends it at once, also while the endpoint is silent; the connection is closed then, which stops the work there.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx2

from laguna_engine.chat.messages import ToolSpec
from laguna_engine.errors import EngineClosed
from laguna_engine.events import FinishReason, LoadProgress
from laguna_tui import __version__
from laguna_tui.backends.base import Message, Options, Prompt, PromptCost, answer_message
from laguna_tui.backends.chat_format import (
    Answered,
    AnswerReader,
    ChatEvent,
    EndpointRequest,
    GarbageError,
    ReportedError,
    request_body,
)
from laguna_tui.backends.endpoint_key import KEY_VARIABLE, NO_KEY, EndpointKey
from laguna_tui.backends.estimated_vocabulary import EstimatedVocabulary
from laguna_tui.backends.remote_answer import RemoteAnswer
from laguna_tui.backends.remote_errors import RemoteError, RemoteProblem, of_exception, of_status, of_stream
from laguna_tui.backends.served_models import ServedModel, choose_model, served_models
from laguna_tui.base.async_thread import AsyncThread
from laguna_tui.base.messages import Trace

ASSUMED_CONTEXT = 8192
"""Tokens of context of an endpoint that does not say how many it has."""
_CONNECT_S, _ASK_S = 10.0, 15.0
_MARKERS = 5
"""Tokens of a message's markers in most templates."""
_SILENCE_S = 600.0
"""A long prompt is read for minutes, during which some endpoints send nothing."""
_LINE_BYTES, _BODY_BYTES, _ERROR_BYTES = 8 << 20, 16 << 20, 64 << 10
_NOT_ASSUMED = (
    "{host} does not say how many tokens of context it has, so {context:,} are assumed; say more with --context N, or "
    "context = N in config.toml."
)
_CUT = "The connection to {host} was lost in the middle of the answer"
_READABLE = "The key for {host} goes over the network for anybody to read; use https."


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """Which endpoint is asked, and how.

    Attributes:
        url: of the endpoint, up to its /v1.
        model: what it calls the model; empty for the only one it has.
        key: its key.
        key_variable: the variable that the key is looked for in.
        context: tokens of its context; None asks it.
        sampling: what is to be other than it has it, by the names of its requests.
        thinking: whether the model thinks first; None as the endpoint has it.
        max_tokens: of a generation; None for no limit of ours.
        loopback: whether it is on this machine.
    """

    url: str
    model: str = ""
    key: EndpointKey = NO_KEY
    key_variable: str = KEY_VARIABLE
    context: int | None = None
    sampling: Mapping[str, float] = field(default_factory=dict)
    thinking: bool | None = None
    max_tokens: int | None = None
    loopback: bool = False

    @property
    def host(self) -> str:
        """Where it is, for sentences."""
        return urlsplit(self.url).netloc


class RemoteBackend:
    """A `Backend`.

    Attributes:
        options: how it was opened.
        model: what the endpoint calls the model.
        n_ctx: tokens of its context, as it says, as the user says, or as is assumed.
        warnings: sentences for the user.
        lost: never: nothing of it is in this process that llama.cpp could abort.
    """

    lost = False

    def __init__(self, options: RemoteOptions, served: ServedModel) -> None:
        """Use `RemoteBackend.open`."""
        self.options, self.model = options, served.name
        self.n_ctx = options.context or served.context or ASSUMED_CONTEXT
        self._vocab = EstimatedVocabulary()
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
            RemoteError: it cannot be asked, or has not this model.
        """
        progress(LoadProgress(f"asking {options.host}", 0.0))
        thread = AsyncThread("laguna-remote-opening")
        try:
            served = thread.start(list_served(options)).result()
        finally:
            thread.close()
        progress(LoadProgress(f"asking {options.host}", 1.0))
        return cls(options, choose_model(served, options.model, options.host))

    def generate(self, prompt: Prompt, options: Options) -> RemoteAnswer:
        """See `Backend`; the endpoint samples, drafts and constrains as it does, and nothing is sent twice."""
        request = EndpointRequest(
            prompt, options.max_tokens if options.aside else None, False if options.aside else None
        )
        tokens = self.cost(prompt).total
        return RemoteAnswer(
            lambda: self.chat(request), self.cancel, self._tokenize, tokens, lambda: self.n_ctx, aside=options.aside
        )

    def cost(self, prompt: Prompt) -> PromptCost:
        """See `Backend`: estimated, and nothing is known of the endpoint's cache."""
        sizes = self.sizes(prompt)
        tokens = sum(map(sum, sizes)) + _MARKERS
        return PromptCost(sizes, tokens, None, None, tokens < self.n_ctx)

    def count(self, text: str) -> int:
        """See `Backend`."""
        return len(self._tokenize(text))

    def sizes(self, prompt: Prompt) -> tuple[tuple[int, ...], ...]:
        """See `Backend`."""
        system = prompt.system, prompt.tools
        if self._system is None or self._system[0] != system:
            self._system = system, self.count(_system_text(prompt)) + _MARKERS
        return ((self._system[1],), *map(self._size, prompt.messages))

    def rendered(self, prompt: Prompt) -> tuple[tuple[str, ...], ...]:
        """See `Backend`: about what a template makes of it, which only the endpoint knows."""
        return ((_system_text(prompt),), *map(_text_parts, prompt.messages))

    def prefetch(self, prompt: Prompt, options: Options) -> Iterator[object]:
        """See `Backend`: nothing is sent anywhere before the user says so."""
        return iter(())

    def recovered(self, prompt: Prompt, trace: Trace) -> Message:
        """See `Backend`: no trace is a remote model's."""
        return answer_message(())

    def chat(self, request: EndpointRequest) -> Generator[ChatEvent, None, None]:
        """One generation. Errors are `RemoteError`; EngineClosed after `close`."""
        events: SimpleQueue[ChatEvent | Exception] = SimpleQueue()
        with self._lock:
            if self._closed:
                raise EngineClosed("the remote model is closed; open a model again")
            self._running = running = self._thread.start(self._stream(request, events.put))
        # However it ends, also before it began.
        running.add_done_callback(lambda done: events.put(self._last(done)))
        try:
            while True:
                event = events.get()
                if isinstance(event, Exception):
                    self._learn(event)
                    raise event
                yield event
                if isinstance(event, Answered):
                    return
        finally:
            running.cancel()
            with suppress(CancelledError, Exception):
                running.result()

    def cancel(self) -> None:
        """End the running generation. Any thread, and a signal's handler."""
        running = self._running
        if running is not None:
            running.cancel()

    def prefill_seconds(self, tokens: int) -> float | None:
        """How long reading so many tokens takes: nobody knows here."""
        return None

    def close(self) -> None:
        """Cancel what runs and end the thread. Idempotent."""
        with self._lock:
            self._closed = True
        self.cancel()
        self._thread.close()

    def _tokenize(self, text: str) -> Sequence[int]:
        return self._vocab.tokenize(text, special=False)

    def _size(self, message: Message) -> tuple[int, ...]:
        size = self._sizes.get(message)
        if size is None:
            first, *others = map(self.count, _text_parts(message) or ("",))
            self._sizes[message] = size = (first + _MARKERS, *others)
        return size

    def _last(self, done: "Future[None]") -> Answered | RemoteError:
        """What comes last where nothing else did."""
        error = None if done.cancelled() else done.exception()
        if error is None:
            return Answered(FinishReason.CANCELLED)
        return RemoteError(RemoteProblem.GARBAGE, f"{self.options.host} cannot be read ({type(error).__name__})")

    def _learn(self, error: Exception) -> None:
        """Believe what the endpoint says about its context, unless the user said it."""
        if isinstance(error, RemoteError) and error.n_ctx is not None and self.options.context is None:
            self.n_ctx = min(self.n_ctx, error.n_ctx)

    async def _stream(self, request: EndpointRequest, put: Callable[[ChatEvent | Exception], None]) -> None:
        """Send the request and pass on what comes; the last is `Answered` or what went wrong."""
        reader = AnswerReader(request.prompt.tools)
        try:
            await self._send(request, reader, put)
        except (RemoteError, GarbageError, ReportedError, httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            for text in reader.finish():
                put(text)
            put(self._failure(error, begun=reader.begun))
            return
        for event in (*reader.finish(), *reader.calls()):
            put(event)
        put(Answered(self._reason(reader.ended, request), reader.usage))

    async def _send(
        self, request: EndpointRequest, reader: AnswerReader, put: Callable[[ChatEvent | Exception], None]
    ) -> None:
        url, body = f"{self.options.url}/chat/completions", self._body(request)
        async with (
            endpoint_client(self.options, _SILENCE_S) as client,
            client.stream("POST", url, content=body, headers=_JSON) as response,
        ):
            if response.status_code != httpx2.codes.OK:
                raise await _refusal(response, self.options)
            async for data in _pieces(response):
                for event in reader.take(data):
                    put(event)
        if reader.ended is None:
            raise RemoteError(RemoteProblem.LOST, _CUT.format(host=self.options.host))

    def _failure(self, error: Exception, *, begun: bool) -> RemoteError:
        """What went wrong, as the user is told."""
        host, key = self.options.host, self.options.key
        match error:
            case RemoteError():
                return error
            case GarbageError():
                said = key.hidden_in(str(error))
                return RemoteError(RemoteProblem.GARBAGE, f"{host} sent something that is no answer: “{said}”")
            case ReportedError():
                return of_stream(json.loads(key.hidden_in(json.dumps(error.error))), host)
            case _:
                return of_exception(error, host, begun=begun)

    def _body(self, request: EndpointRequest) -> bytes:
        options = self.options
        if request.thinking is None and options.thinking is not None:
            request = EndpointRequest(request.prompt, request.max_tokens, options.thinking)
        body = request_body(request, self.model, options.sampling)
        if options.max_tokens is not None:
            body["max_tokens"] = min(options.max_tokens, body.get("max_tokens", options.max_tokens))
        # Lone surrogates, such as undecodable bytes of a file's name, have no UTF-8.
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")

    def _reason(self, ended: FinishReason | None, request: EndpointRequest) -> FinishReason:
        """Why it ended: a limit that is not ours is the context's."""
        if ended is FinishReason.MAX_TOKENS and request.max_tokens is None and self.options.max_tokens is None:
            return FinishReason.CONTEXT_FULL
        return ended or FinishReason.CANCELLED


def _system_text(prompt: Prompt) -> str:
    tools = "".join(f"{json.dumps(tool.as_openai(), ensure_ascii=False)}\n" for tool in prompt.tools)
    return f"{prompt.system}\n\n{tools}"


def _text_parts(message: Message) -> tuple[str, ...]:
    if message.answer is None:
        return message.parts
    answer = message.answer
    calls = "".join(json.dumps([call.name, call.arguments], ensure_ascii=False) for call in answer.calls)
    return (f"{answer.reasoning}{answer.text}{calls}",)


_JSON = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}


def endpoint_client(options: RemoteOptions, silence_s: float, connections: int = 1) -> httpx2.AsyncClient:
    """A client of an endpoint: it follows nobody elsewhere with the key, and asks no proxy for this machine."""
    return httpx2.AsyncClient(
        headers={"User-Agent": f"laguna-tui/{__version__}", **options.key.headers},
        timeout=httpx2.Timeout(silence_s, connect=_CONNECT_S),
        follow_redirects=False,
        trust_env=not options.loopback,
        limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
    )


async def ask_whole(client: httpx2.AsyncClient, options: RemoteOptions, url: str, body: object = None) -> bytes:
    """One request and its whole answer. body: sent as JSON; None for a GET. RemoteError where there is no answer."""
    try:
        sent = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        async with client.stream("GET" if body is None else "POST", url, content=sent, headers=_JSON) as response:
            if response.status_code != httpx2.codes.OK:
                raise await _refusal(response, options)
            return await _limited(response)
    except GarbageError as error:
        raise RemoteError(RemoteProblem.GARBAGE, f"{options.host} sent {error}") from error
    except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
        raise of_exception(error, options.host, begun=False) from error


async def _refusal(response: httpx2.Response, options: RemoteOptions) -> RemoteError:
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _ERROR_BYTES:
            break
    said = options.key.hidden_in(body[:_ERROR_BYTES].decode("utf-8", "replace"))
    headers = {name.lower(): options.key.hidden_in(value) for name, value in response.headers.items()}
    variable = options.key_variable
    return of_status(response.status_code, said.encode(), headers, options.host, variable)


async def _pieces(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The JSON texts of an answer: the data of its server-sent events, or the whole body where it does not stream."""
    if "text/event-stream" not in response.headers.get("content-type", ""):
        yield await _limited(response)
        return
    held = b""
    async for chunk in response.aiter_bytes():
        *lines, held = (held + chunk).replace(b"\r\n", b"\n").split(b"\n")
        if len(held) > _LINE_BYTES:
            raise GarbageError("a line without end")
        for line in lines:
            # Comments keep the connection alive; other fields say nothing here.
            if line.startswith(b"data:") and (data := line[5:].strip()):
                if data == b"[DONE]":
                    return
                yield data
    if held.startswith(b"data:") and held[5:].strip() not in (b"", b"[DONE]"):
        with suppress(ValueError, RecursionError):
            json.loads(held[5:])
            yield held[5:].strip()


async def _limited(response: httpx2.Response) -> bytes:
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _BODY_BYTES:
            raise GarbageError("an answer without end")
    return body


async def list_served(options: RemoteOptions) -> Sequence[ServedModel]:
    """The models that an endpoint has; none where it does not list them. RemoteError where it cannot be asked."""

    async def get(url: str) -> Any:
        async with asyncio.timeout(_ASK_S), client.stream("GET", url) as response:
            if response.status_code != httpx2.codes.OK:
                raise await _refusal(response, options)
            body = await _limited(response)
        try:
            return json.loads(body)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error

    host = options.host
    try:
        async with endpoint_client(options, _ASK_S) as client:
            return await served_models(get, options.url)
    except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
        if isinstance(error, TimeoutError):
            raise RemoteError(RemoteProblem.UNREACHABLE, f"Nobody answers at {host} in {_ASK_S:.0f} seconds") from None
        raise of_exception(error, host, begun=False) from None
    except ValueError as error:
        raise RemoteError(RemoteProblem.GARBAGE, f"{host} answers with something that is no list of models") from error


def _warnings(options: RemoteOptions, served: ServedModel) -> Iterator[str]:
    if not options.context and not served.context:
        yield _NOT_ASSUMED.format(host=options.host, context=ASSUMED_CONTEXT)
    if options.key.secret and not options.loopback and urlsplit(options.url).scheme == "http":
        yield _READABLE.format(host=options.host)
