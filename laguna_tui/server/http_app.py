"""The endpoints: what answers each path, in the shape of which API."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from laguna_engine.errors import EngineError, RequestError
from laguna_tui import __version__
from laguna_tui.server import anthropic_messages, openai_chat, openai_completions, openai_responses
from laguna_tui.server.access_control import AccessControl, AccessRules, error_body
from laguna_tui.server.api_error import ApiError
from laguna_tui.server.chat_answer import ChatAnswer
from laguna_tui.server.chat_prompts import check_size
from laguna_tui.server.chat_request import ChatRequest
from laguna_tui.server.event_stream import ClientDisconnected, EventStreamResponse, unless_disconnected
from laguna_tui.server.model_service import ModelService
from laguna_tui.server.openai_shared import now, sse
from laguna_tui.server.request_body import RequestBody, refuse
from laguna_tui.session.shared_model import SharedModel

B = TypeVar("B", bound=Struct)
T = TypeVar("T")

KEEP_ALIVE_S = 10.0
SEND_S = 60.0
_NAME_CHARS = 60


@dataclass(frozen=True, slots=True)
class Timing:
    """Time limits of streams.

    Attributes:
        keep_alive_s: Seconds without an event before a comment is sent.
        send_s: Seconds for which a client may read nothing.
    """

    keep_alive_s: float = KEEP_ALIVE_S
    send_s: float = SEND_S


DEFAULT_TIMING = Timing()


class Written(Protocol):
    """An answer in the shape of one API."""

    async def whole(self) -> dict[str, object]:
        """Return it in one object."""
        ...

    def stream(self) -> AsyncIterator[bytes]:
        """Yield it as server-sent events."""
        ...


Service = Callable[[], ModelService]
Endpoint = Callable[[Request], Awaitable[Response]]


def http_app(service: Service, rules: AccessRules, timing: Timing = DEFAULT_TIMING) -> ASGIApp:
    """Return the application.

    Args:
        service: Returns the service of the running event loop.
        rules: Which requests are answered.
        timing: Of streams.
    """
    endpoints = Endpoints(service, timing)
    get = {
        "/health": endpoints.health,
        "/v1/health": endpoints.health,
        "/v1/models": endpoints.models,
        "/models": endpoints.models,
        "/v1/models/{name:path}": endpoints.model,
        "/props": endpoints.props,
        "/metrics": endpoints.metrics,
    }
    post = {
        "/tokenize": endpoints.tokenize,
        "/detokenize": endpoints.detokenize,
        "/apply-template": endpoints.apply_template,
        "/v1/chat/completions": endpoints.chat,
        "/v1/completions": endpoints.completions,
        "/v1/responses": endpoints.responses,
        "/chat/completions": endpoints.chat,
        "/completions": endpoints.completions,
        "/responses": endpoints.responses,
        "/v1/messages": endpoints.messages,
        "/v1/messages/count_tokens": endpoints.count_tokens,
    }
    routes = [
        Route(path, endpoints.with_errors(endpoint), methods=[method])
        for method, paths in (("GET", get), ("POST", post))
        for path, endpoint in paths.items()
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _not_found})
    return AccessControl(app, rules)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "registered for it alone"
    about = {404: f"There is no {request.url.path} here.", 405: f"{request.url.path} does not take this method."}
    found = ApiError(error.status_code, about.get(error.status_code, str(error.detail)), kind="not_found_error")
    return JSONResponse(error_body(request.url.path, found), error.status_code)


class Endpoints:
    """What answers each path."""

    def __init__(self, service: Service, timing: Timing) -> None:
        self._find, self._timing = service, timing

    @property
    def _service(self) -> ModelService:
        return self._find()

    def with_errors(self, endpoint: Endpoint) -> Endpoint:
        """Return an endpoint that answers with errors too, and counts its answers."""

        async def answered(request: Request) -> Response:
            path = request.scope["route"].path
            try:
                response = await endpoint(request)
            except ClientDisconnected:
                # Nobody reads this.
                response = Response(status_code=499)
            except (ApiError, EngineError) as error:
                response = _error(request.url.path, _api_error(error))
            self._service.metrics.answered(path, response.status_code)
            return response

        return answered

    async def health(self, request: Request) -> Response:
        """Answer that the server is running."""
        return JSONResponse({"status": "ok"})

    async def models(self, request: Request) -> Response:
        """List the one model, with its context size, which clients take from here only."""
        entry = self._entry()
        return JSONResponse({"object": "list", "data": [entry], "has_more": False})

    async def model(self, request: Request) -> Response:
        """Describe the model of one name."""
        name = request.path_params["name"]
        if name != self._service.model.name:
            raise ApiError(
                404, f"There is no model {name} here; use {self._service.model.name}.", kind="not_found_error"
            )
        return JSONResponse(self._entry())

    def _entry(self) -> dict[str, object]:
        model = self._service.model
        info = model.engine.info
        meta = {
            "n_vocab": model.engine.vocab.size,
            "n_ctx": info.n_ctx,
            "n_ctx_train": info.n_ctx_train,
            "n_params": info.n_params,
            "size": info.size_bytes,
        }
        return {
            "id": model.name,
            "object": "model",
            "type": "model",
            "display_name": model.title,
            "created": now(),
            "owned_by": "laguna-tui",
            "max_model_len": info.n_ctx,
            "context_length": info.n_ctx,
            "meta": meta,
        }

    async def props(self, request: Request) -> Response:
        """Describe the open model and its default settings."""
        service = self._service
        model, info = service.model, service.model.engine.info
        sampling = model.sampling
        settings = {
            "n_ctx": info.n_ctx,
            "params": {
                "temperature": sampling.temperature,
                "top_k": sampling.top_k,
                "top_p": sampling.top_p,
                "min_p": sampling.min_p,
                "repeat_penalty": sampling.repeat_penalty,
            },
        }
        return JSONResponse(
            {
                "model_alias": model.name,
                "model_description": info.description,
                "build_info": f"laguna-tui {__version__}",
                "total_slots": 1,
                "default_generation_settings": settings,
                "chat_template": model.template,
                "thinking": model.thinking,
                "modalities": {"vision": False, "audio": False},
                "speculation": info.speculation.value,
                "drafter": info.drafter,
                "is_processing": bool(service.queue.now),
                "requests_waiting": service.queue.waiting,
            }
        )

    async def metrics(self, request: Request) -> Response:
        """Return the counters, for Prometheus."""
        service = self._service
        text = service.metrics.text(service.queue.waiting, bool(service.queue.now), service.held)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def tokenize(self, request: Request) -> Response:
        """Return a text as tokens."""
        _, response = await self._parsed(request, TokenizeBody, _tokenized)
        return response

    async def detokenize(self, request: Request) -> Response:
        """Return tokens as a text."""
        _, response = await self._parsed(request, DetokenizeBody, _detokenized)
        return response

    async def apply_template(self, request: Request) -> Response:
        """Return a chat as the text that the model reads."""
        prompts = self._service.prompts

        def rendered(body: openai_chat.ChatBody, model: SharedModel) -> Response:
            prompt = prompts.prompt(openai_chat.parse(body, model))
            return JSONResponse({"prompt": prompts.text(prompt)})

        _, response = await self._parsed(request, openai_chat.ChatBody, rendered)
        return response

    async def chat(self, request: Request) -> Response:
        """Answer a chat completion of OpenAI's."""
        return await self._answered(
            request,
            openai_chat.ChatBody,
            openai_chat.parse,
            lambda chat, answer, _: openai_chat.ChatCompletion(chat, answer, self._service.model),
        )

    async def responses(self, request: Request) -> Response:
        """Answer a request of OpenAI's responses."""
        return await self._answered(
            request, openai_responses.ResponsesBody, openai_responses.parse, openai_responses.ModelResponse
        )

    async def messages(self, request: Request) -> Response:
        """Answer a request of Anthropic's messages."""
        return await self._answered(
            request,
            anthropic_messages.MessagesBody,
            anthropic_messages.parse,
            lambda chat, answer, _: anthropic_messages.AnthropicMessage(chat, answer),
        )

    async def completions(self, request: Request) -> Response:
        """Answer a completion of OpenAI's."""
        model = self._service.model
        _, text = await self._parsed(request, openai_completions.CompletionBody, openai_completions.parse)
        run = self._service.run(model, text.tokens, text.options, _client(request), constraints=text.constraints)
        written = openai_completions.TextCompletion(text.options, run, model)
        return await self._sent(request, written, stream=text.options.stream)

    async def count_tokens(self, request: Request) -> Response:
        """Count the tokens of a chat."""
        prompts = self._service.prompts

        def counted(body: anthropic_messages.MessagesBody, model: SharedModel) -> Response:
            prompt = prompts.prompt(anthropic_messages.parse(body, model, counting=True))
            return JSONResponse({"input_tokens": len(prompt.tokens)})

        _, response = await self._parsed(request, anthropic_messages.MessagesBody, counted)
        return response

    async def _answered(
        self,
        request: Request,
        kind: type[B],
        parse: Callable[[B, SharedModel], ChatRequest],
        write: Callable[[ChatRequest, ChatAnswer, Mapping[str, object]], Written],
    ) -> Response:
        """Answer a chat. write: Takes the chat, its answer and the fields of the request."""
        model = self._service.model
        values, chat = await self._parsed(request, kind, parse)
        answer = await self._service.answer(model, chat, _client(request))
        return await self._sent(request, write(chat, answer, values), stream=chat.options.stream)

    async def _parsed(
        self, request: Request, kind: type[B], parse: Callable[[B, SharedModel], T]
    ) -> tuple[Mapping[str, object], T]:
        """Parse the body of a request on a thread, because a large one takes seconds."""
        body, model = await request.body(), self._service.model

        def parsed() -> tuple[RequestBody, T]:
            found = RequestBody.of(body)
            return found, parse(found.read(kind), model)

        found, result = await asyncio.to_thread(parsed)
        self._service.report_unknown(request.url.path, found.unknown(kind))
        return found.values, result

    async def _sent(self, request: Request, written: Written, *, stream: bool) -> Response:
        if not stream:
            return JSONResponse(await unless_disconnected(request, written.whole()))
        path = request.url.path

        def failed(error: Exception) -> bytes:
            return sse(error_body(path, _api_error(error)), "error" if path.startswith("/v1/messages") else "")

        return EventStreamResponse(written.stream(), self._timing.keep_alive_s, self._timing.send_s, failed)


class TokenizeBody(Struct):
    """A text to tokenize."""

    content: str
    parse_special: bool | None = None
    add_special: bool | None = None
    with_pieces: bool | None = None


class DetokenizeBody(Struct):
    """Tokens of a text."""

    tokens: list[int]


def _tokenized(body: TokenizeBody, model: SharedModel) -> Response:
    vocab = model.engine.vocab
    check_size([body.content], model)
    tokens = vocab.tokenize(body.content, special=body.parse_special is not False)
    if body.add_special and vocab.bos is not None:
        tokens.insert(0, vocab.bos)
    if not body.with_pieces:
        return JSONResponse({"tokens": tokens})
    return JSONResponse({"tokens": [{"id": token, "piece": _piece(vocab.piece(token))} for token in tokens]})


def _detokenized(body: DetokenizeBody, model: SharedModel) -> Response:
    vocab = model.engine.vocab
    if not all(0 <= each < vocab.size for each in body.tokens):
        refuse("tokens", f"a list of tokens below {vocab.size}")
    return JSONResponse({"content": vocab.detokenize(body.tokens).decode("utf-8", "replace")})


def _client(request: Request) -> str:
    """Return who sent a request: the machine, and the name that the program gives itself."""
    host = request.client.host if request.client is not None else "unix"
    program = request.headers.get("user-agent", "").split(" ")[0]
    user = request.headers.get("x-client-name", "")
    return " ".join(filter(None, (host, program[:_NAME_CHARS], user[:_NAME_CHARS])))


def _error(path: str, error: ApiError) -> Response:
    headers = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    return JSONResponse(error_body(path, error), error.status, headers=headers)


def _api_error(error: Exception) -> ApiError:
    """Return the API's error for an exception: a request that the engine refuses is the client's mistake."""
    if isinstance(error, ApiError):
        return error
    sentence = str(error) or type(error).__name__
    return ApiError(400, sentence) if isinstance(error, RequestError) else ApiError(500, sentence, kind="server_error")


def _piece(piece: bytes) -> object:
    """Return a token's piece as text, or as a list of bytes if it is part of a character."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)
