"""What a client reads of an answer, whichever API it speaks: reasoning, text, calls, and how it ended."""

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
from laguna_tui.server.chat_prompts import ChatPrompt, ChatPrompts
from laguna_tui.server.chat_request import ChatRequest
from laguna_tui.server.generation_run import GenerationRun, RunFinished
from laguna_tui.server.shown_tokens import ShownToken, ShownTokens


@dataclass(frozen=True, slots=True)
class Progress:
    """The prompt is being read: `done` of `total` tokens, `cached` of them for free."""

    done: int
    total: int
    cached: int


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """More of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class TextPiece:
    """More of the text. tokens: those that it completes, for their logprobs; empty unless they are wanted."""

    text: str
    tokens: Sequence[ShownToken] = ()


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A whole call. index: from 0."""

    index: int
    call: ToolCall

    @property
    def arguments(self) -> str:
        """As JSON."""
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
        stats: as the engine counted.
        reasoning: tokens of thinking.
        read_again: prompt tokens that were computed twice, because others had their turn.
    """

    stats: Stats
    reasoning: int = 0
    read_again: int = 0

    @property
    def speculation(self) -> dict[str, object]:
        """Its drafts."""
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
        """As llama.cpp's server names them; milliseconds."""
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
    """The last piece. stop: the text that ended it, empty for none."""

    ending: Ending
    usage: TokenUsage
    stop: str = ""


AnswerPiece = Progress | ReasoningPiece | TextPiece | CallPiece | AnswerEnded


class ChatAnswer:
    """The answer to one chat. Iterate `pieces` once.

    Attributes:
        said: all of it, once it has ended.
    """

    def __init__(self, request: ChatRequest, prompts: ChatPrompts, prompt: ChatPrompt, run: GenerationRun) -> None:
        self.said = AssistantMessage()
        self._request, self._prompts, self._prompt, self._run = request, prompts, prompt, run
        self._parser = prompts.parser(request, prompt)
        self._generated: list[int] = []
        self._shown = None if request.wanted.logprobs is None else ShownTokens(prompts.piece)
        self._calls: list[ToolCall] = []
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._reasoning = 0

    async def pieces(self) -> AsyncIterator[AnswerPiece]:
        """What there is to send, up to and with `AnswerEnded`."""
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

    def cancel(self) -> None:
        """End it now."""
        self._run.cancel()

    @property
    def _is_over(self) -> bool:
        return self._parser.ended or (self._request.one_call and bool(self._calls))

    def _token(self, token: Token) -> Sequence[AnswerPiece]:
        if self._is_over:
            return ()
        self._generated.append(token.id)
        # Its text and not its bytes: of the token that completes a stop text only a part is shown.
        events = self._parser.feed(token.id, token.text.encode())
        marker = self._prompts.encoder.markers.get(token.id)
        text = marker is None or any(isinstance(event, Text) and event.text.endswith(marker) for event in events)
        if self._shown is not None and text:
            self._shown.add(token)
        pieces = self._heard(events)
        if self._shown is not None and not text:
            self._shown.clear()
        return pieces

    def _heard(self, events: Sequence[ParserEvent], *, cut: bool = False) -> list[AnswerPiece]:
        pieces: list[AnswerPiece] = []
        for event in events:
            match event:
                case Reasoning(text):
                    self._reasoning += 1
                    self._thoughts.append(text)
                    if self._shown is not None:
                        self._shown.clear()
                    pieces.append(ReasoningPiece(text))
                case Text(text):
                    pieces.append(self._text(text))
                case CallFinished(call) if not (self._request.one_call and self._calls):
                    pieces.append(CallPiece(len(self._calls), call))
                    self._calls.append(call)
                case Malformed(raw=raw) if not cut:
                    # It cannot be run; the client sees what the model wrote.
                    pieces.append(self._text(raw))
                case _:
                    pass
        return pieces

    def _text(self, text: str) -> TextPiece:
        self._texts.append(text)
        return TextPiece(text, () if self._shown is None else self._shown.take(text))

    def _finished(self, event: RunFinished) -> list[AnswerPiece]:
        whole = event.reason in (FinishReason.STOP_TOKEN, FinishReason.STOP_TEXT)
        over = self._is_over
        pieces = [] if over else self._heard(self._parser.finish(), cut=not whole)
        self.said = AssistantMessage("".join(self._texts), "".join(self._thoughts), tuple(self._calls))
        self._prompts.remember(self._prompt, self.said, self._generated)
        ending = Ending.CALLS if self._calls else Ending.STOP if whole or over else Ending.LENGTH
        usage = TokenUsage(event.stats, self._reasoning, event.read_again)
        rest = [] if self._shown is None else self._shown.rest()
        pieces += [TextPiece("", rest)] if rest else []
        return [*pieces, AnswerEnded(ending, usage, event.stop)]
