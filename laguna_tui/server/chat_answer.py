"""The answer to a chat, whichever API it is written for: reasoning, text, calls, and how it ended."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import Enum

from laguna_engine.chat.messages import (
    AssistantMessage,
    CallFinished,
    Malformed,
    ParserEvent,
    Reasoning,
    Text,
    ToolCall,
)
from laguna_engine.events import FinishReason, Prefill, Stats, Token
from laguna_engine.llama.vocab import Vocab
from laguna_tui.backends.base import answer_message
from laguna_tui.server.chat_prompts import ChatPrompt, ChatPrompts
from laguna_tui.server.chat_request import ChatRequest
from laguna_tui.server.generation_run import GenerationRun, RunFinished
from laguna_tui.server.shown_tokens import ShownToken, ShownTokens


@dataclass(frozen=True, slots=True)
class Progress:
    """The prompt is being read: `done` of `total` tokens; `cached` were in the KV cache."""

    done: int
    total: int
    cached: int


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """More of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class TextPiece:
    """More of the text. tokens: Those that it completes, if the request wants their logprobs."""

    text: str
    tokens: Sequence[ShownToken] = ()


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A whole call. index: From 0."""

    index: int
    call: ToolCall

    @property
    def arguments(self) -> str:
        """The arguments as JSON."""
        return json.dumps(self.call.arguments, ensure_ascii=False)


class Ending(Enum):
    """Why the answer ended."""

    STOP = "stop"
    LENGTH = "length"
    CALLS = "tool_calls"


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What an answer took.

    Attributes:
        stats: The engine's counts.
        reasoning: Tokens of thinking.
        recomputed: Prompt tokens that were computed twice, because others had their turn.
    """

    stats: Stats
    reasoning: int = 0
    recomputed: int = 0

    @property
    def speculation(self) -> dict[str, object]:
        """What the drafts gained."""
        stats = self.stats
        rate = stats.acceptance
        return {
            "drafted": stats.drafted,
            "accepted": stats.accepted,
            "acceptance": None if rate is None else round(rate, 4),
            "rounds": stats.rounds,
        }

    @property
    def timings(self) -> dict[str, object]:
        """The times, as llama.cpp's server reports them, in milliseconds."""
        stats = self.stats
        read = stats.prompt_tokens - stats.cached_tokens
        return {
            "cache_n": stats.cached_tokens,
            "prompt_n": read,
            "prompt_ms": stats.prefill_s * 1e3,
            "prompt_per_token_ms": stats.prefill_s * 1e3 / max(1, read),
            "prompt_per_second": stats.prefill_rate or 0.0,
            "predicted_n": stats.generated_tokens,
            "predicted_ms": stats.decode_s * 1e3,
            # The first token comes with the prompt.
            "predicted_per_token_ms": 1e3 / stats.decode_rate if stats.decode_rate else 0.0,
            "predicted_per_second": stats.decode_rate or 0.0,
            "draft_n": stats.drafted,
            "draft_n_accepted": stats.accepted,
        }


@dataclass(frozen=True, slots=True)
class AnswerEnded:
    """The last piece. stop: The stop text that ended it; empty for none."""

    ending: Ending
    usage: TokenUsage
    stop: str = ""


AnswerPiece = Progress | ReasoningPiece | TextPiece | CallPiece | AnswerEnded


class ChatAnswer:
    """The answer to one chat. Iterate `pieces` once.

    Attributes:
        message: The whole answer, once it has ended.
    """

    def __init__(
        self, request: ChatRequest, prompts: ChatPrompts, prompt: ChatPrompt, run: GenerationRun, vocab: Vocab
    ) -> None:
        self.message = AssistantMessage()
        self._request, self._prompts, self._prompt, self._run = request, prompts, prompt, run
        self._parser = prompts.parser(request, prompt)
        self._generated: list[int] = []
        self._events: list[ParserEvent] = []
        self._shown = None if request.options.logprobs is None else ShownTokens(vocab.piece)
        self._calls = 0

    async def pieces(self) -> AsyncIterator[AnswerPiece]:
        """Yield the pieces as they come; the last one is `AnswerEnded`."""
        async for event in self._run.events():
            match event:
                case Prefill(done=done, total=total, cached=cached):
                    yield Progress(done, total, cached)
                case Token():
                    for piece in self._token(event):
                        yield piece
                    if self._is_over:
                        self._run.stop()
                case RunFinished():
                    for piece in self._finished(event):
                        yield piece

    @property
    def _is_over(self) -> bool:
        return self._parser.ended or (self._request.one_call and self._calls > 0)

    def _token(self, token: Token) -> Sequence[AnswerPiece]:
        if self._is_over:
            return ()
        self._generated.append(token.id)
        # Its text, not its bytes: only a part of the token that completes a stop text is shown.
        events = self._parser.feed(token.id, token.text.encode())
        marker = self._prompts.marker(token.id)
        text = marker is None or any(isinstance(event, Text) and event.text.endswith(marker) for event in events)
        if self._shown is not None and text:
            self._shown.add(token)
        pieces = self._pieces(events)
        if self._shown is not None and not text:
            self._shown.clear()
        return pieces

    def _pieces(self, events: Sequence[ParserEvent], *, cut: bool = False) -> list[AnswerPiece]:
        pieces: list[AnswerPiece] = []
        for event in events:
            match event:
                case Reasoning(text):
                    if self._shown is not None:
                        self._shown.clear()
                    pieces.append(ReasoningPiece(text))
                case Text(text):
                    pieces.append(self._text(text))
                case CallFinished(call) if not (self._request.one_call and self._calls):
                    pieces.append(CallPiece(self._calls, call))
                    self._calls += 1
                case Malformed(raw=raw) if not cut:
                    # It cannot be run; the client gets what the model wrote.
                    pieces.append(self._text(raw))
                case _:
                    continue
            self._events.append(event)
        return pieces

    def _text(self, text: str) -> TextPiece:
        return TextPiece(text, () if self._shown is None else self._shown.take(text))

    def _finished(self, event: RunFinished) -> list[AnswerPiece]:
        whole = event.reason in (FinishReason.STOP_TOKEN, FinishReason.STOP_TEXT)
        over = self._is_over
        pieces = [] if over else self._pieces(self._parser.finish(), cut=not whole)
        self.message = answer_message(self._events).answer or self.message
        self._prompts.remember(self._prompt, self.message, self._generated)
        ending = Ending.CALLS if self._calls else Ending.STOP if whole or over else Ending.LENGTH
        reasoning = sum(isinstance(each, Reasoning) for each in self._events)
        usage = TokenUsage(event.stats, reasoning, event.recomputed)
        rest = [] if self._shown is None else self._shown.rest()
        pieces += [TextPiece("", rest)] if rest else []
        return [*pieces, AnswerEnded(ending, usage, event.stop)]
