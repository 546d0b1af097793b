"""An OpenAI-compatible endpoint over HTTP: how it is reached, which models it serves, and the bytes of its answers."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2

from laguna_engine.errors import EngineError
from laguna_tui import __version__
from laguna_tui.backends.chat_format import GarbageError
from laguna_tui.backends.endpoint_key import KEY_VARIABLE, NO_KEY, EndpointKey
from laguna_tui.backends.remote_errors import RemoteError, RemoteProblem, of_exception, of_status
from laguna_tui.base.async_thread import AsyncThread

_CONNECT_S, _LIST_S = 10.0, 15.0
_LINE_BYTES, _BODY_BYTES, _ERROR_BYTES = 8 << 20, 16 << 20, 64 << 10
_JSON = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
# vLLM and SGLang; LM Studio; OpenRouter and others.
_CONTEXT_KEYS = ("max_model_len", "loaded_context_length", "context_length", "context_window")
_NAMES_SHOWN = 8

LOOPBACK_PORTS: Mapping[int, str] = {8080: "llama-server", 11434: "Ollama", 1234: "LM Studio", 8000: "vLLM"}
"""The default ports of model servers, with the program that usually listens there."""
_LOOPBACK_S = 2.0
_LOOPBACK_MODELS = 32


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """How an endpoint is reached, and what is asked of it.

    Attributes:
        url: Up to its /v1.
        model: The endpoint's name of the model; empty for the only one it has.
        key: Authorises requests.
        key_variable: The environment variable with the key, for error messages.
        context: Tokens of context; None for what the endpoint says.
        sampling: Sampling parameters that override the endpoint's, by the names of its API.
        thinking: Whether the model thinks first; None for the endpoint's default.
        max_tokens: Token limit of an answer; None for no limit of ours.
        loopback: Whether it is on this machine.
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
        """Host and port, for messages."""
        return urlsplit(self.url).netloc


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model of an endpoint. context: tokens; None if the endpoint does not say."""

    name: str
    context: int | None = None


@dataclass(frozen=True, slots=True)
class LoopbackModel:
    """A model served on this machine. owner: the program that usually listens on its port."""

    url: str
    name: str
    owner: str


def endpoint_client(options: RemoteOptions, silence_s: float, connections: int = 1) -> httpx2.AsyncClient:
    """Return a client that never follows a redirect with the key, and uses no proxy for this machine.

    silence_s: Seconds without a byte after which a request fails.
    """
    return httpx2.AsyncClient(
        headers={"User-Agent": f"laguna-tui/{__version__}", **options.key.headers},
        timeout=httpx2.Timeout(silence_s, connect=_CONNECT_S),
        follow_redirects=False,
        trust_env=not options.loopback,
        limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
    )


async def stream_answer(client: httpx2.AsyncClient, options: RemoteOptions, body: object) -> AsyncIterator[bytes]:
    """Post a chat request and yield the JSON texts of its answer.

    These are the data of server-sent events, or the whole body if the endpoint does not stream.

    Raises:
        RemoteError: The endpoint refuses the request.
        GarbageError: It sends a line or a body without end.
        httpx2.HTTPError, httpx2.StreamError, OSError: The connection fails.
    """
    url = f"{options.url}/chat/completions"
    async with client.stream("POST", url, content=_encoded(body), headers=_JSON) as response:
        if response.status_code != httpx2.codes.OK:
            raise await _refusal(response, options)
        if "text/event-stream" not in response.headers.get("content-type", ""):
            yield await _limited(response)
            return
        held = b""
        async for chunk in response.aiter_bytes():
            *lines, held = (held + chunk).replace(b"\r\n", b"\n").split(b"\n")
            if len(held) > _LINE_BYTES:
                raise GarbageError("a line without end")
            for line in lines:
                # Comments keep the connection alive; other fields are not used here.
                if line.startswith(b"data:") and (data := line[5:].strip()):
                    if data == b"[DONE]":
                        return
                    yield data
        if held.startswith(b"data:") and held[5:].strip() not in (b"", b"[DONE]"):
            with suppress(ValueError, RecursionError):
                json.loads(held[5:])
                yield held[5:].strip()


async def ask_whole(client: httpx2.AsyncClient, options: RemoteOptions, url: str, body: object = None) -> bytes:
    """Send one request and return its whole answer.

    body: Sent as JSON; None for a GET.

    Raises:
        RemoteError: There is no answer.
    """
    try:
        sent = None if body is None else _encoded(body)
        async with client.stream("GET" if body is None else "POST", url, content=sent, headers=_JSON) as response:
            if response.status_code != httpx2.codes.OK:
                raise await _refusal(response, options)
            return await _limited(response)
    except GarbageError as error:
        raise RemoteError(RemoteProblem.GARBAGE, f"{options.host} sent {error}") from error
    except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
        raise of_exception(error, options.host, begun=False) from error


def _encoded(body: object) -> bytes:
    # Lone surrogates, such as undecodable bytes of a file's name, have no UTF-8.
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


async def _limited(response: httpx2.Response) -> bytes:
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _BODY_BYTES:
            raise GarbageError("an answer without end")
    return body


async def _refusal(response: httpx2.Response, options: RemoteOptions) -> RemoteError:
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _ERROR_BYTES:
            break
    said = options.key.hidden_in(body[:_ERROR_BYTES].decode("utf-8", "replace"))
    headers = {name.lower(): options.key.hidden_in(value) for name, value in response.headers.items()}
    return of_status(response.status_code, said.encode(), headers, options.host, options.key_variable)


# -- models


async def list_served(options: RemoteOptions) -> Sequence[ServedModel]:
    """Return the models that an endpoint lists; none if it has no list.

    Raises:
        RemoteError: It cannot be reached, or refuses.
    """
    host = options.host
    try:
        async with endpoint_client(options, _LIST_S) as client, asyncio.timeout(_LIST_S):
            try:
                listed = await _get(client, options, f"{options.url}/models")
            except RemoteError as error:
                if error.problem is RemoteProblem.URL and "/v1" in options.url:
                    return ()
                raise
            models = _listed_models(listed)
            if not any(each.get("owned_by") == "llamacpp" for each in models):
                return [ServedModel(each["id"], _context(each)) for each in models]
            # llama.cpp's list has the context that the model was trained with; its properties, the one in use.
            n_ctx = None
            with suppress(RemoteError, ValueError):
                n_ctx = _slot_context(await _get(client, options, f"{options.url.removesuffix('/v1')}/props"))
            return [ServedModel(each["id"], n_ctx or _context(each)) for each in models]
    except TimeoutError:
        what = f"No answer from {host} within {_LIST_S:.0f} seconds"
        raise RemoteError(RemoteProblem.UNREACHABLE, what) from None
    except ValueError as error:
        what = f"{host} answered with something that is not a list of models"
        raise RemoteError(RemoteProblem.GARBAGE, what) from error


async def _get(client: httpx2.AsyncClient, options: RemoteOptions, url: str) -> Any:
    """Return the JSON at a URL; ValueError if it is none."""
    try:
        return json.loads(await ask_whole(client, options, url))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _listed_models(listed: Any) -> Sequence[Mapping[str, Any]]:
    found = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(found, list):
        raise ValueError("not a list of models")
    return [each for each in found if isinstance(each, dict) and isinstance(each.get("id"), str)]


def _context(model: Mapping[str, Any]) -> int | None:
    meta = model.get("meta")
    values = [*(model.get(key) for key in _CONTEXT_KEYS), *([meta.get("n_ctx")] if isinstance(meta, dict) else [])]
    return next((value for value in values if isinstance(value, int) and value > 0), None)


def _slot_context(properties: Any) -> int | None:
    settings = properties.get("default_generation_settings") if isinstance(properties, dict) else None
    value = settings.get("n_ctx") if isinstance(settings, dict) else None
    return value if isinstance(value, int) and value > 0 else None


def choose_model(served: Sequence[ServedModel], wanted: str, host: str) -> ServedModel:
    """Return the model of this name, or the only one if none is wanted.

    Raises:
        RemoteError: It is not there, or there are several to choose from.
    """
    names = ", ".join(each.name for each in served[:_NAMES_SHOWN]) + (", …" if len(served) > _NAMES_SHOWN else "")
    if wanted:
        # Ollama calls a model without a tag `latest`.
        found = next((each for each in served if each.name in (wanted, f"{wanted}:latest")), None)
        if found is None and served:
            raise RemoteError(RemoteProblem.MODEL, f"{host} has no model {wanted}; it has {names}")
        return found or ServedModel(wanted)
    if len(served) == 1:
        return served[0]
    if served:
        raise RemoteError(RemoteProblem.MODEL, f"{host} has several models: {names}")
    raise RemoteError(RemoteProblem.MODEL, f"{host} does not list its models")


def loopback_models(
    ports: Mapping[int, str] = LOOPBACK_PORTS, wait_s: float = _LOOPBACK_S
) -> tuple[LoopbackModel, ...]:
    """Return the models served on this machine. Asks each port without a key; takes at most `wait_s` seconds."""

    async def served(port: int, owner: str) -> Sequence[LoopbackModel]:
        options = RemoteOptions(f"http://127.0.0.1:{port}/v1", loopback=True)
        with suppress(EngineError, TimeoutError):
            async with asyncio.timeout(wait_s):
                models = await list_served(options)
            return [LoopbackModel(options.url, each.name, owner) for each in models[:_LOOPBACK_MODELS]]
        return []

    async def all_served() -> tuple[LoopbackModel, ...]:
        found = await asyncio.gather(*(served(port, owner) for port, owner in ports.items()))
        return tuple(model for models in found for model in models)

    thread = AsyncThread("laguna-loopback")
    try:
        return thread.start(all_served()).result()
    finally:
        thread.close()
