"""One generation by a remote model. Tokens are estimates: drafted, cached and drawn ones are known to the endpoint."""

import time
from collections.abc import Callable, Generator, Sequence

from laguna_engine.chat.messages import CallFinished, Malformed, Reasoning, Text
from laguna_engine.events import Source, Stats
from laguna_tui.backends.base import Answer
from laguna_tui.backends.chat_format import Answered, ChatEvent
from laguna_tui.backends.rate_meter import DecodeRateMeter
from laguna_tui.backends.token_loop import find_loop
from laguna_tui.base.events import Notice, Rate, ReasoningDelta, StepFinished, TextDelta

_AS_TEXT = ("<tool_call>", "<think>")
_NOT_PARSED = (
    "The endpoint sends {tag} as text, so it does not read this model's format; start it with the parsers for it: "
    "laguna-tui help remote"
)


class RemoteAnswer(Answer):
    """An answer whose events come from an endpoint."""

    def __init__(
        self,
        chat: Callable[[], Generator[ChatEvent, None, None]],
        cancel: Callable[[], None],
        tokenize: Callable[[str], Sequence[int]],
        prompt_tokens: int,
        n_ctx: Callable[[], int],
        *,
        aside: bool,
    ) -> None:
        """Send nothing yet.

        Args:
            chat: Sends the request; its events end with `Answered`.
            cancel: Ends the request. Any thread.
            tokenize: Estimates the tokens of a text.
            prompt_tokens: The estimated tokens of the prompt.
            n_ctx: Tokens of context, as far as it is known.
            aside: Whether the answer is written beside the conversation.
        """
        super().__init__()
        self._chat, self._cancel, self._tokenize = chat, cancel, tokenize
        self._prompt_tokens, self._n_ctx, self._aside = prompt_tokens, n_ctx, aside
        self._stream: Generator[ChatEvent, None, None] | None = None
        self._meter = DecodeRateMeter()
        self._first = 0.0
        self._pieces: list[int] = []
        self._text = ""
        self._over = False

    def cancel(self) -> None:
        """See `Answer`."""
        self._cancel()

    def close(self) -> None:
        """See `Answer`."""
        super().close()
        self._over = True
        if self._stream is not None:
            self._stream.close()

    def _advance(self) -> None:
        if self._over:
            raise StopIteration
        if self._stream is None:
            self._stream = self._chat()
        try:
            event = next(self._stream)
        except BaseException:
            self._over = True
            raise
        self._first = self._first or time.monotonic()
        self._take(event)
        if self.repeating:
            self._over = True
            self._stream.close()

    def _take(self, event: ChatEvent) -> None:
        match event:
            case Reasoning(text):
                self._events.append(event)
                self._pending.append(ReasoningDelta(text, Source.TARGET))
                self._count(text)
            case Text(text):
                self._events.append(event)
                self._pending.append(TextDelta(text, Source.TARGET))
                self._notice(text)
                self._count(text)
            case CallFinished(call):
                self._events.append(event)
                self.calls.append(call)
            case Malformed():
                self._events.append(event)
                self.calls.append(event)
            case Answered():
                self.reason = event.reason
                self._pending.append(self._finished(event))
                self._over = True

    def _count(self, text: str) -> None:
        """Count the estimated tokens of a text, and notice a model that repeats itself."""
        for piece in self._tokenize(text):
            self._pieces.append(piece)
            self.repeating = self.repeating or find_loop(self._pieces) is not None
            rate = self._meter.count(time.monotonic())
            if rate is not None:
                self._pending.append(Rate(self._meter.tokens, rate, self._prompt_tokens + self._meter.tokens))

    def _notice(self, text: str) -> None:
        """Report once that a tag of the model's format came as text."""
        before, self._text = self._text, (self._text + text)[-2 * max(map(len, _AS_TEXT)) :]
        tag = next((tag for tag in _AS_TEXT if tag in before + text and tag not in before), "")
        if tag and not self.calls and not self._aside:
            self._pending.append(Notice(_NOT_PARSED.format(tag=tag)))

    def _finished(self, event: Answered) -> StepFinished:
        usage, now = event.usage, time.monotonic()
        tokens = (usage.prompt, usage.generated) if usage is not None else (self._prompt_tokens, self._meter.tokens)
        cached = usage.cached if usage is not None else None
        # When the endpoint began to read is unknown, so there is no rate of that.
        stats = Stats(tokens[0], min(cached or 0, tokens[0]), 0.0, tokens[1], now - self._first)
        return StepFinished(stats, sum(tokens), self._n_ctx(), cache_known=cached is not None)
