"""OpenAI's completions, the plain continuation of a text: `/v1/completions`."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from laguna_engine.events import FinishReason, Token
from laguna_tui.server.chat_answer import Usage
from laguna_tui.server.chat_prompts import check_size
from laguna_tui.server.chat_request import MAX_LOGPROBS, Wanted, wanted_of
from laguna_tui.server.generation_run import GenerationRun, RunFinished
from laguna_tui.server.json_fields import Fields
from laguna_tui.server.openai_shared import DONE, FINGERPRINT, new_id, now, sse, usage_of
from laguna_tui.session.shared_model import SharedModel

_ENDS = {FinishReason.STOP_TOKEN: "stop", FinishReason.STOP_TEXT: "stop"}


def parse(fields: Fields, model: SharedModel) -> tuple[list[int], Wanted]:
    """The prompt's tokens, and how it is continued."""
    wanted = wanted_of(fields, model.sampling, limits=("max_tokens", "n_predict"), stops="stop")
    logprobs = fields.whole("logprobs", 0, MAX_LOGPROBS)
    if fields.flag("echo"):
        fields.wrong("echo", "false: this server does not repeat the prompt")
    if fields.has("suffix"):
        fields.wrong("suffix", "left out: this model was not trained to fill in the middle")
    return _prompt(fields, model), wanted if logprobs is None else replace(wanted, logprobs=logprobs)


def _prompt(fields: Fields, model: SharedModel) -> list[int]:
    """Of a text, of tokens, or of a list of both; markup in a text is the client's own, so it counts."""
    value = fields.values.get("prompt")
    if not isinstance(value, str | list):
        fields.wrong("prompt", "a string or a list")
    parts: Sequence[object] = value if isinstance(value, list) else [value]
    if len(parts) == 1 and isinstance(parts[0], list):
        parts = parts[0]
    vocab = model.engine.vocab
    texts = [part for part in parts if isinstance(part, str)]
    check_size(texts, model, more=len(parts) - len(texts))
    tokens: list[int] = []
    for part in parts:
        if isinstance(part, str):
            tokens += vocab.tokenize(part.encode("utf-8", "replace").decode(), special=True)
        elif isinstance(part, int) and not isinstance(part, bool) and 0 <= part < vocab.size:
            tokens.append(part)
        else:
            fields.wrong("prompt", f"a string, or a list of strings and of tokens below {vocab.size}")
    if vocab.bos is not None and vocab.add_bos and tokens[:1] != [vocab.bos]:
        tokens.insert(0, vocab.bos)
    return tokens


class TextCompletion:
    """Writes one continuation."""

    def __init__(self, wanted: Wanted, run: GenerationRun, model: SharedModel, fields: Fields) -> None:
        self._wanted, self._run, self._vocab = wanted, run, model.engine.vocab
        self._id, self._created = new_id("cmpl"), now()
        self._model = fields.text("model", model.name)

    async def whole(self) -> dict[str, object]:
        """The continuation in one object."""
        tokens: list[Token] = []
        finished: RunFinished | None = None
        async for event in self._run.events():
            if isinstance(event, Token):
                tokens.append(event)
            elif isinstance(event, RunFinished):
                finished = event
        assert finished is not None, "every run ends"
        text = "".join(token.text for token in tokens)
        usage = Usage(finished.stats, 0, finished.read_again)
        choice = self._choice(text, tokens, _ENDS.get(finished.reason, "length"))
        return self._head() | {"choices": [choice], "usage": usage_of(usage), "timings": usage.timings}

    async def stream(self) -> AsyncIterator[bytes]:
        """The continuation as server-sent events."""
        async for event in self._run.events():
            if isinstance(event, Token) and event.text:
                yield sse(self._head() | {"choices": [self._choice(event.text, [event], None)]})
            elif isinstance(event, RunFinished):
                usage = Usage(event.stats, 0, event.read_again)
                choice = self._choice("", [], _ENDS.get(event.reason, "length"))
                yield sse(self._head() | {"choices": [choice], "timings": usage.timings})
                if self._wanted.usage:
                    yield sse(self._head() | {"choices": [], "usage": usage_of(usage)})
        yield DONE

    def _head(self) -> dict[str, object]:
        own = {"id": self._id, "object": "text_completion", "created": self._created, "model": self._model}
        return own | {"system_fingerprint": FINGERPRINT}

    def _choice(self, text: str, tokens: Sequence[Token], finish: str | None) -> dict[str, object]:
        found = None if self._wanted.logprobs is None else self._logprobs(tokens)
        return {"index": 0, "text": text, "logprobs": found, "finish_reason": finish}

    def _logprobs(self, tokens: Sequence[Token]) -> dict[str, object]:
        def text(token: int) -> str:
            return self._vocab.piece(token).decode("utf-8", "replace")

        noted = [(token, token.logprobs) for token in tokens if token.logprobs is not None]
        return {
            "tokens": [text(token.id) for token, _ in noted],
            "token_logprobs": [chance.chosen for _, chance in noted],
            "top_logprobs": [{text(each): value for each, value in chance.top} for _, chance in noted],
        }
