"""Committed tokens become events, and end the generation when they should."""

from collections.abc import Callable

from laguna_engine.events import Event, FinishReason, Source, Token
from laguna_engine.generation.detokenize import TextDecoder
from laguna_engine.generation.stoptext import StopTextFilter
from laguna_engine.llama.vocab import Vocab
from laguna_engine.request import Request


class Committer:
    """Tells the tokens of one generation, and knows what ends it. `count` tokens were committed so far."""

    def __init__(self, vocab: Vocab, request: Request, put: Callable[[Event], None]) -> None:
        """Events go to `put`."""
        self.count = 0
        self._put = put
        self._limit = request.max_tokens
        self._stops = vocab.eog | request.stop_tokens
        self._text = TextDecoder(vocab.piece, self._stops)
        self._filter = StopTextFilter(request.stop_texts) if request.stop_texts else None

    def commit(self, token: int, source: Source) -> FinishReason | None:
        """Tell `token`; why the generation ends with it, or None."""
        event = Token(token, self._text.feed(token), source, self.count)
        self.count += 1
        if self._filter is None:
            self._put(event)
        elif self._show(event, self._filter):
            return FinishReason.STOP_TEXT
        if token in self._stops:
            return FinishReason.STOP_TOKEN
        return FinishReason.MAX_TOKENS if self.count == self._limit else None

    def finish(self) -> None:
        """Tell what was held back as the possible beginning of a stop text that never came."""
        if self._filter is not None:
            self._put_all(self._filter.flush())

    def _show(self, event: Token, watch: StopTextFilter) -> bool:
        """Tell `event` unless it must wait; whether a stop text is complete."""
        released, stopped = watch.push(event)
        self._put_all(released)
        return stopped

    def _put_all(self, events: list[Token]) -> None:
        for event in events:
            self._put(event)
