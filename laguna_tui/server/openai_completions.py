"""OpenAI's completions, which continue a text: `/v1/completions`."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from laguna_engine.constrain.base import ConstraintSpec
from laguna_engine.constrain.json_schema import JsonSchema
from laguna_engine.errors import RequestError
from laguna_engine.events import FinishReason, Token
from laguna_tui.server.api_error import ApiError
from laguna_tui.server.chat_answer import TokenUsage
from laguna_tui.server.chat_prompts import check_size
from laguna_tui.server.chat_request import AnswerOptions, GenerationBody, Limit, Logprobs, Stops
from laguna_tui.server.generation_run import GenerationRun, RunFinished
from laguna_tui.server.openai_shared import DONE, FINGERPRINT, ResponseFormat, new_id, now, schema_of, sse, usage_of
from laguna_tui.server.request_body import refuse
from laguna_tui.server.shown_tokens import ShownToken, ShownTokens
from laguna_tui.session.shared_model import SharedModel

_ENDS = {FinishReason.STOP_TOKEN: "stop", FinishReason.STOP_TEXT: "stop"}


class CompletionBody(GenerationBody, kw_only=True):
    """A request. The prompt is a text, tokens, or a list of both."""

    prompt: str | list[int | str | list[int | str]]
    max_tokens: Limit | None = None
    n_predict: Limit | None = None
    stop: Stops = None
    logprobs: Logprobs | None = None
    response_format: ResponseFormat | None = None
    json_schema: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TextRequest:
    """A text to continue.

    Attributes:
        tokens: Of the text.
        options: How it is continued.
        constraints: What holds the continuation to a schema.
    """

    tokens: list[int]
    options: AnswerOptions
    constraints: tuple[ConstraintSpec, ...] = ()


def parse(body: CompletionBody, model: SharedModel) -> TextRequest:
    """Return the text to continue. ApiError if something is wrong with the request."""
    limit = body.n_predict if body.max_tokens is None else body.max_tokens
    options = replace(body.options(model, limit, body.stop), logprobs=body.logprobs)
    schema, place = schema_of(body.json_schema, body.response_format)
    try:
        held = () if schema is None else (JsonSchema.checked(schema),)
    except RequestError as error:
        raise ApiError(400, str(error), param=place) from error
    return TextRequest(_prompt(body, model), options, held)


def _prompt(body: CompletionBody, model: SharedModel) -> list[int]:
    """Return the prompt's tokens; markup in a text is the client's own, so it becomes special tokens."""
    parts: Sequence[object] = body.prompt if isinstance(body.prompt, list) else [body.prompt]
    if len(parts) == 1 and isinstance(parts[0], list):
        parts = parts[0]
    vocab = model.engine.vocab
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) == len(parts) > 1:
        refuse("prompt", "one text: this server answers one prompt per request; send each in its own request")
    check_size(texts, model, more=len(parts) - len(texts))
    tokens: list[int] = []
    for part in parts:
        if isinstance(part, str):
            tokens += vocab.tokenize(part.encode("utf-8", "replace").decode(), special=True)
        elif isinstance(part, int) and 0 <= part < vocab.size:
            tokens.append(part)
        else:
            refuse("prompt", f"a string, or a list of strings and of tokens below {vocab.size}")
    if vocab.bos is not None and vocab.add_bos and tokens[:1] != [vocab.bos]:
        tokens.insert(0, vocab.bos)
    return tokens


class TextCompletion:
    """Writes one continuation."""

    def __init__(self, options: AnswerOptions, run: GenerationRun, model: SharedModel) -> None:
        self._options, self._run, self._vocab = options, run, model.engine.vocab
        self._shown = ShownTokens(self._vocab.piece)
        self._id, self._created = new_id("cmpl-"), now()

    async def whole(self) -> dict[str, object]:
        """Return the continuation in one object."""
        texts: list[str] = []
        shown: list[ShownToken] = []
        finished: RunFinished | None = None
        async for event in self._run.events():
            if isinstance(event, Token):
                texts.append(event.text)
                shown += self._take(event)
            elif isinstance(event, RunFinished):
                finished = event
        assert finished is not None, "every run ends"
        shown += self._shown.rest()
        usage = TokenUsage(finished.stats, 0, finished.recomputed)
        choice = self._choice("".join(texts), shown, _ENDS.get(finished.reason, "length"))
        return self._head() | {"choices": [choice], "usage": usage_of(usage), "timings": usage.timings}

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the continuation as server-sent events."""
        async for event in self._run.events():
            if isinstance(event, Token):
                shown = self._take(event)
                if event.text:
                    yield sse(self._head() | {"choices": [self._choice(event.text, shown, None)]})
            elif isinstance(event, RunFinished):
                usage = TokenUsage(event.stats, 0, event.recomputed)
                choice = self._choice("", self._shown.rest(), _ENDS.get(event.reason, "length"))
                yield sse(self._head() | {"choices": [choice], "timings": usage.timings})
                if self._options.usage:
                    yield sse(self._head() | {"choices": [], "usage": usage_of(usage)})
        yield DONE

    def _take(self, token: Token) -> list[ShownToken]:
        if self._options.logprobs is None:
            return []
        self._shown.add(token)
        return self._shown.take(token.text) if token.text else []

    def _head(self) -> dict[str, object]:
        own = {"id": self._id, "object": "text_completion", "created": self._created, "model": self._options.model}
        return own | {"system_fingerprint": FINGERPRINT}

    def _choice(self, text: str, shown: Sequence[ShownToken], finish: str | None) -> dict[str, object]:
        found = None if self._options.logprobs is None else self._logprobs(shown)
        return {"index": 0, "text": text, "logprobs": found, "finish_reason": finish}

    def _logprobs(self, shown: Sequence[ShownToken]) -> dict[str, object]:
        def text(token: int) -> str:
            return self._vocab.piece(token).decode("utf-8", "replace")

        noted = [(each, each.token.logprobs) for each in shown if each.token.logprobs is not None]
        return {
            "tokens": [each.shown.decode("utf-8", "replace") for each, _ in noted],
            "bytes": [list(each.shown) for each, _ in noted],
            "token_logprobs": [chance.chosen for _, chance in noted],
            "top_logprobs": [{text(each): value for each, value in chance.top} for _, chance in noted],
        }
