"""The endpoints: which path is answered by what, in the shape of which API."""

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
from laguna_tui.server.chat_prompts import check_size
from laguna_tui.server.model_service import ModelService
from laguna_tui.server.openai_shared import now, sse
from laguna_tui.server.request_body import RequestBody, refuse
from laguna_tui.server.responses import ClientGone, EventStreamResponse, unless_gone
from laguna_tui.session.shared_model import SharedModel

B = TypeVar("B", bound=Struct)
T = TypeVar("T")

KEEP_ALIVE_S = 10.0
SEND_S = 60.0
_NAME_CHARS = 60


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds: nothing sent before a comment is; a client may read nothing."""

    keep_alive_s: float = KEEP_ALIVE_S
    send_s: float = SEND_S


DEFAULT_TIMING = Timing()


class Written(Protocol):
    """An answer in the shape of one API."""

    async def whole(self) -> dict[str, object]:
        """In one object."""
        ...

    def stream(self) -> AsyncIterator[bytes]:
        """As server-sent events."""
        ...


Service = Callable[[], ModelService]
Endpoint = Callable[[Request], Awaitable[Response]]


def http_app(service: Service, rules: AccessRules, timing: Timing = DEFAULT_TIMING) -> ASGIApp:
    """The application.

    Args:
        service: of the running event loop.
        rules: who may ask.
        timing: of streams.
    """
    endpoints = Endpoints(service, timing)
    get, post = endpoints.get, endpoints.post
    routes = [
        Route("/health", get(endpoints.health)),
        Route("/v1/health", get(endpoints.health)),
        Route("/v1/models", get(endpoints.models)),
        Route("/models", get(endpoints.models)),
        Route("/v1/models/{name:path}", get(endpoints.model)),
        Route("/props", get(endpoints.props)),
        Route("/metrics", get(endpoints.metrics)),
        Route("/tokenize", post(endpoints.tokenize), methods=["POST"]),
        Route("/detokenize", post(endpoints.detokenize), methods=["POST"]),
        Route("/apply-template", post(endpoints.apply_template), methods=["POST"]),
        *(
            Route(path, post(endpoint), methods=["POST"])
            for prefix in ("/v1", "")
            for path, endpoint in (
                (f"{prefix}/chat/completions", endpoints.chat),
                (f"{prefix}/completions", endpoints.completions),
                (f"{prefix}/responses", endpoints.responses),
            )
        ),
        Route("/v1/messages", post(endpoints.messages), methods=["POST"]),
        Route("/v1/messages/count_tokens", post(endpoints.count_tokens), methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _not_found})
    return AccessControl(app, rules)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "registered for it alone"
    about = {404: f"There is no {request.url.path} here.", 405: f"{request.url.path} is not asked like this."}
    found = ApiError(error.status_code, about.get(error.status_code, str(error.detail)), kind="not_found_error")
    return JSONResponse(error_body(request.url.path, found), error.status_code)


class Endpoints:
    """What answers each path."""

    def __init__(self, service: Service, timing: Timing) -> None:
        self._find, self._timing = service, timing

    @property
    def _service(self) -> ModelService:
        return self._find()

    def get(self, endpoint: Endpoint) -> Endpoint:
        """An endpoint whose errors are answers too."""

        async def answered(request: Request) -> Response:
            path = request.scope["route"].path
            try:
                response = await endpoint(request)
            except ClientGone:
                # Nobody reads it.
                response = Response(status_code=499)
            except (ApiError, EngineError) as error:
                response = _error(request.url.path, _api_error(error))
            self._service.metrics.answered(path, response.status_code)
            return response

        return answered

    post = get

    async def health(self, request: Request) -> Response:
        """Whether the server is there."""
        return JSONResponse({"status": "ok"})

    async def models(self, request: Request) -> Response:
        """The one model, with its context, which clients believe only from here."""
        entry = self._entry()
        return JSONResponse({"object": "list", "data": [entry], "has_more": False})

    async def model(self, request: Request) -> Response:
        """The same for one name."""
        name = request.path_params["name"]
        if name != self._service.model.name:
            raise ApiError(
                404, f"There is no model {name} here, only {self._service.model.name}.", kind="not_found_error"
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
        """What is open, and how it answers unless a request says otherwise."""
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
                "chat_template": model.family.value,
                "thinking": model.thinking,
                "modalities": {"vision": False, "audio": False},
                "speculation": info.speculation.value,
                "drafter": info.drafter,
                "is_processing": bool(service.queue.now),
                "requests_waiting": service.queue.waiting,
            }
        )

    async def metrics(self, request: Request) -> Response:
        """The counters, for Prometheus."""
        service = self._service
        text = service.metrics.text(service.queue.waiting, bool(service.queue.now), service.held)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def tokenize(self, request: Request) -> Response:
        """A text as tokens."""
        _, response = await self._parsed(request, TokenizeBody, _tokenized)
        return response

    async def detokenize(self, request: Request) -> Response:
        """Tokens as a text."""
        _, response = await self._parsed(request, DetokenizeBody, _detokenized)
        return response

    async def apply_template(self, request: Request) -> Response:
        """A chat as the text that the model reads."""
        prompts = self._service.prompts

        def rendered(body: openai_chat.ChatBody, model: SharedModel) -> Response:
            prompt = prompts.prompt(openai_chat.parse(body, model))
            return JSONResponse({"prompt": prompts.encoder.decode(prompt.tokens)})

        _, response = await self._parsed(request, openai_chat.ChatBody, rendered)
        return response

    async def chat(self, request: Request) -> Response:
        """OpenAI's chat completions."""
        model = self._service.model
        _, wanted = await self._parsed(request, openai_chat.ChatBody, openai_chat.parse)
        answer = await self._service.answer(model, wanted, _client(request))
        written = openai_chat.ChatCompletion(wanted, answer, model)
        return await self._written(request, written, stream=wanted.wanted.stream)

    async def completions(self, request: Request) -> Response:
        """OpenAI's completions."""
        model = self._service.model
        _, text = await self._parsed(request, openai_completions.CompletionBody, openai_completions.parse)
        run = self._service.run(model, text.tokens, text.wanted, _client(request), constraints=text.constraints)
        written = openai_completions.TextCompletion(text.wanted, run, model)
        return await self._written(request, written, stream=text.wanted.stream)

    async def responses(self, request: Request) -> Response:
        """OpenAI's responses."""
        model = self._service.model
        values, wanted = await self._parsed(request, openai_responses.ResponsesBody, openai_responses.parse)
        answer = await self._service.answer(model, wanted, _client(request))
        written = openai_responses.ModelResponse(wanted, answer, values)
        return await self._written(request, written, stream=wanted.wanted.stream)

    async def messages(self, request: Request) -> Response:
        """Anthropic's messages."""
        model = self._service.model
        _, wanted = await self._parsed(request, anthropic_messages.MessagesBody, anthropic_messages.parse)
        answer = await self._service.answer(model, wanted, _client(request))
        written = anthropic_messages.AnthropicMessage(wanted, answer)
        return await self._written(request, written, stream=wanted.wanted.stream)

    async def count_tokens(self, request: Request) -> Response:
        """How many tokens a message would be."""
        prompts = self._service.prompts

        def counted(body: anthropic_messages.MessagesBody, model: SharedModel) -> Response:
            prompt = prompts.prompt(anthropic_messages.parse(body, model, counting=True))
            return JSONResponse({"input_tokens": len(prompt.tokens)})

        _, response = await self._parsed(request, anthropic_messages.MessagesBody, counted)
        return response

    async def _parsed(
        self, request: Request, kind: type[B], parse: Callable[[B, SharedModel], T]
    ) -> tuple[Mapping[str, object], T]:
        """Read a request's body on a thread, because a large one takes seconds."""
        body, model = await request.body(), self._service.model

        def parsed() -> tuple[RequestBody, T]:
            found = RequestBody.of(body)
            return found, parse(found.read(kind), model)

        found, result = await asyncio.to_thread(parsed)
        self._service.report_unknown(request.url.path, found.unknown(kind))
        return found.values, result

    async def _written(self, request: Request, written: Written, *, stream: bool) -> Response:
        if not stream:
            return JSONResponse(await unless_gone(request, written.whole()))
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
    """Who asks: the machine and the program, which says its own name."""
    host = request.client.host if request.client is not None else "unix"
    program = request.headers.get("user-agent", "").split(" ")[0]
    user = request.headers.get("x-client-name", "")
    return " ".join(filter(None, (host, program[:_NAME_CHARS], user[:_NAME_CHARS])))


def _error(path: str, error: ApiError) -> Response:
    headers = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    return JSONResponse(error_body(path, error), error.status, headers=headers)


def _api_error(error: Exception) -> ApiError:
    """The answer to a request that failed: a request that the engine refuses is the client's mistake."""
    if isinstance(error, ApiError):
        return error
    sentence = str(error) or type(error).__name__
    return ApiError(400, sentence) if isinstance(error, RequestError) else ApiError(500, sentence, kind="server_error")


def _piece(piece: bytes) -> object:
    """A piece as text; as a list of bytes where it is a part of a character."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)
