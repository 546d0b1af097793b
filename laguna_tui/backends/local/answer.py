"""One generation of a model in this process: the engine's events become the app's, and its tokens a trace."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from laguna_engine.chat.messages import Malformed, ParserEvent, Reasoning, Text
from laguna_engine.config import Request, Sampling
from laguna_engine.constrain.base import ConstraintSpec, Continued
from laguna_engine.events import (
    CONSTRAINED,
    ConstraintFailed,
    DrafterFailed,
    Event,
    Finished,
    FinishReason,
    Prefill,
    Round,
    Source,
    Token,
)
from laguna_tui.backends.base import Answer, answer_message
from laguna_tui.backends.token_loop import Loop, find_loop
from laguna_tui.base.events import DraftRound, Notice, StepFinished
from laguna_tui.base.messages import Trace

_THINKING_ENDED = "You ended the thinking."
_LOOP_BROKEN = "The model began to repeat itself. The repetition was removed, and it continues."
# How far ahead the next character is searched for: more than any tag that is left out.
_REACH = 32


class TurnParser(Protocol):
    """Parses a model's turn: `StreamParser` for Laguna, `FormParser` for other families."""

    ended: bool

    @property
    def in_call(self) -> bool:
        """Whether a call is open."""
        ...

    def feed(self, token_id: int, piece: bytes, /) -> list[ParserEvent]:
        """Return the events of a token."""
        ...

    def finish(self) -> list[ParserEvent]:
        """End of the generation: the text held back, and an open call as malformed."""
        ...


class Stream(Protocol):
    """The events of one request: an engine's `EventStream`, or one that waits for its turn on a shared engine."""

    def __iter__(self) -> Iterator[Event]: ...

    def __next__(self) -> Event: ...

    @property
    def end_thinking(self) -> Callable[[], None]:
        """Has the next token close the thinking, if there is any now. Any thread."""
        ...

    def stop(self) -> None:
        """Cancel it; the events up to its end can still be read. Any thread."""
        ...

    def close(self) -> None:
        """Cancel it, and read no more."""
        ...


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    """A finished request, with what its replay needs.

    Attributes:
        prompt: Tokens given to the engine; where the answer continues after a loop, its beginning is part of them.
        tokens: Tokens generated.
        sampling: How they were drawn, seed included.
        rounds: Tokens drafted and accepted per round; empty if it was decoded plainly.
        thinking_budget, no_repeat, constraints, thinking_tags: The request's.
    """

    prompt: Sequence[int]
    tokens: Sequence[int]
    sampling: Sampling
    rounds: Sequence[tuple[int, int]] = ()
    thinking_budget: int | None = None
    no_repeat: tuple[tuple[int, ...], ...] = ()
    constraints: tuple[ConstraintSpec, ...] = ()
    thinking_tags: tuple[str, str] = ("<think>", "</think>")


class RoundReporter:
    """Holds a round back until its tokens have arrived. Text outside the answer (tool calls) counts too."""

    def __init__(self) -> None:
        self._round: Round | None = None
        self._texts: list[str] = []

    def begin(self, new: Round) -> DraftRound | None:
        """Begin a round; return the one before it if unreported (it may commit fewer tokens at the very end)."""
        before = self.finish()
        self._round = new
        return before

    def take(self, token: Token) -> DraftRound | None:
        """Take a token of the round; return the round if it was the last one."""
        if self._round is None:
            return None
        self._texts.append(token.text)
        return self.finish() if len(self._texts) > self._round.accepted else None

    def finish(self) -> DraftRound | None:
        """Return the unreported round, if there is one."""
        ended, texts = self._round, self._texts
        self._round, self._texts = None, []
        if ended is None:
            return None
        return DraftRound(ended, "".join(texts[: ended.accepted]), "".join(texts[ended.accepted :]))


class Attribution:
    """Remembers which drafter proposed the text that the parser has not emitted yet."""

    def __init__(self) -> None:
        self._text = ""
        self._sources: list[Source] = []
        self._last = Source.TARGET

    def add(self, text: str, source: Source) -> None:
        """Add the text of a token given to the parser."""
        self._text += text
        self._sources.extend([source] * len(text))
        self._last = source

    def clear(self) -> None:
        """Forget what the parser emitted as something other than text."""
        self._text, self._sources = "", []

    def parts(self, text: str) -> list[tuple[str, Source]]:
        """Split a text that the parser emitted where the drafter changes."""
        if self._text == text and len(set(self._sources)) == 1:
            self.clear()
            return [(text, self._last)]
        parts: list[tuple[str, Source]] = []
        at = 0
        for letter in text:
            found = self._text.find(letter, at, at + _REACH)
            at = found + 1 if found >= 0 else at
            source = self._sources[found] if found >= 0 else self._last
            if parts and parts[-1][1] == source:
                parts[-1] = (parts[-1][0] + letter, source)
            else:
                parts.append((letter, source))
        self._text, self._sources = self._text[at:], self._sources[at:]
        return parts


@dataclass(frozen=True, slots=True)
class Decoding:
    """What an answer needs of its model.

    Attributes:
        start: Begins a request.
        piece: The bytes of a token.
        n_ctx: Tokens of context.
        model: Identifies the model in the answer's trace.
        finished: Takes the record of the answer once it ends, complete or not.
    """

    start: Callable[[Request], Stream]
    piece: Callable[[int], bytes]
    n_ctx: int
    model: str
    finished: Callable[[GenerationRecord], None] = lambda record: None


class LocalAnswer(Answer):
    """Runs a request, and continues it if the model falls into a loop.

    The repetition is then removed but for its first round, and the stretch is banned from starting again.
    """

    def __init__(
        self,
        decoding: Decoding,
        request: Request,
        open_parser: Callable[[], TurnParser],
        loops_broken: int,
        warnings: Sequence[str] = (),
    ) -> None:
        """Generate nothing yet.

        Args:
            decoding: What it needs of the model.
            request: The whole prompt and how to continue it.
            open_parser: Makes a parser for the turn.
            loops_broken: How often it continues after a loop; 0 stops at the first.
            warnings: Sentences for the user, before anything else.
        """
        super().__init__()
        self._pending.extend(map(Notice, warnings))
        self._decoding, self._asked, self._request = decoding, request, request
        self._open_parser, self._parser = open_parser, open_parser()
        self._loops_left = loops_broken
        self._generated: list[int] = []
        self._loop: Loop[int] | None = None
        self._begun = 0
        self._drafted: list[tuple[int, int]] = []
        self._seed: int | None = None
        self._attribution = Attribution()
        self._rounds = RoundReporter()
        self._stream: Stream | None = None
        self._parsed = self._cancelled = self._over = False
        self._thinks = self._ends_thinking = False
        # Of the newest request, where its thinking was ended early.
        self._thought: int | None = None

    @property
    def generated(self) -> Sequence[int] | None:
        return self._generated

    @property
    def _trace(self) -> Trace | None:
        return Trace(self._decoding.model, tuple(self._generated)) if self._generated else None

    @property
    def record(self) -> GenerationRecord:
        """The newest request and its tokens so far."""
        request = self._request
        return GenerationRecord(
            request.tokens,
            tuple(self._generated[self._begun :]),
            request.sampling if self._seed is None else replace(request.sampling, seed=self._seed),
            tuple(self._drafted),
            request.thinking_budget if self._thought is None else self._thought,
            request.no_repeat,
            request.constraints,
            request.thinking_tags,
        )

    def cancel(self) -> None:
        self._cancelled = True
        self._stop()

    def answer_now(self) -> bool:
        stream = self._stream
        if stream is None or not self._thinks:
            return False
        self._ends_thinking = True
        stream.end_thinking()
        return True

    def close(self) -> None:
        self._cancelled = True
        self._pending.clear()
        if self._stream is not None:
            self._stream.close()
        self._end()

    def _end(self) -> None:
        """Take nothing more; what the parser holds back belongs to the answer."""
        if self._over:
            return
        self._over = True
        if not self._parsed:
            self._finish_parsing()
        if self._generated[self._begun :]:
            self._decoding.finished(self.record)

    def _advance(self) -> None:
        if self._over:
            raise StopIteration
        if self._stream is None:
            self._stream = self._decoding.start(self._request)
            if self._cancelled:
                self._stream.stop()
        try:
            event = next(self._stream)
        except StopIteration:
            self._stream = None
            if self._loop is None or self.repeating or self._cancelled:
                self._end()
                raise
            self._continue(self._loop)
        except BaseException:
            self._end()
            raise
        else:
            self._take(event)

    def _continue(self, loop: Loop[int]) -> None:
        """Continue behind the first round of a loop."""
        asked = self._asked
        self._loops_left -= 1
        self._loop = None
        self._begun = begun = len(self._generated)
        self._drafted.clear()
        self._request = replace(
            asked,
            tokens=[*asked.tokens, *self._generated],
            sampling=asked.sampling if self._seed is None else replace(asked.sampling, seed=self._seed),
            max_tokens=None if asked.max_tokens is None else max(1, asked.max_tokens - begun),
            no_repeat=(*self._request.no_repeat, loop.stretch),
            constraints=tuple(Continued(each, begun) for each in asked.constraints),
        )
        self._pending.append(Notice(_LOOP_BROKEN))

    def _take_back(self, loop: Loop[int]) -> None:
        """Parse the turn again, up to the end of the loop's first round. What was shown of the rest stays shown."""
        del self._generated[loop.ends :]
        self._parser, self._attribution = self._open_parser(), Attribution()
        piece = self._decoding.piece
        self._events = [event for token in self._generated for event in self._parser.feed(token, piece(token))]
        self.calls = list(answer_message(self._events).calls)

    def _take(self, event: Event) -> None:
        match event:
            case Token():
                self._take_token(event)
                self._report(self._rounds.take(event))
            case Round(drafted=drafted, accepted=accepted):
                self._drafted.append((drafted, accepted))
                self._report(self._rounds.begin(event))
            case Prefill() | DrafterFailed():
                self._pending.append(event)
            case ConstraintFailed():
                self._pending.append(Notice(event.sentence))
            case Finished():
                self._take_end(event)
            case _:
                pass

    def _take_token(self, token: Token) -> None:
        if self._parser.ended:
            # The turn ended in a way that only the parser sees; nothing after it belongs to the conversation.
            self._stop()
            return
        if self._loop is not None:
            return
        self._generated.append(token.id)
        self._loop = find_loop(self._generated)
        if self._loop is not None:
            self.repeating = not self._loops_left
            self._stop()
            self._take_back(self._loop)
            return
        held = token.constrained and token.source == Source.TARGET
        self._attribution.add(token.text, CONSTRAINED if held else token.source)
        events = self._parser.feed(token.id, self._decoding.piece(token.id))
        if events:
            self._events += events
            self._say(events)
        in_call = self._parser.in_call
        self._thinks &= not in_call
        self._count_token(self._used, in_call=in_call)

    def _take_end(self, event: Finished) -> None:
        self._seed, self._thought = event.stats.seed, event.thinking_budget
        if self._loop is None or self.repeating:
            self.reason = FinishReason.STOP_TOKEN if self._parser.ended else event.reason
            whole = self.reason in (FinishReason.STOP_TOKEN, FinishReason.STOP_TEXT)
            last = self._finish_parsing()
            # A call that was cut off by a limit or by the user is not a mistake; one that repeats itself is.
            if not (whole or self.repeating):
                last = [each for each in last if not isinstance(each, Malformed)]
            self._say(last)
        self._report(self._rounds.finish())
        self._pending.append(StepFinished(event.stats, self._used, self._decoding.n_ctx))

    @property
    def _used(self) -> int:
        """Tokens of the context that prompt and answer take."""
        return len(self._asked.tokens) + len(self._generated)

    def _stop(self) -> None:
        # Another thread may end it meanwhile.
        if (stream := self._stream) is not None:
            stream.stop()

    def _report(self, ended: DraftRound | None) -> None:
        if ended is not None:
            self._pending.append(ended)

    def _finish_parsing(self) -> Sequence[ParserEvent]:
        """Take what the parser held back."""
        self._parsed = True
        last = self._parser.finish()
        self._events += last
        return last

    def _say(self, events: Sequence[ParserEvent]) -> None:
        for event in events:
            self._thinks = isinstance(event, Reasoning)
            if self._ends_thinking and not self._thinks:
                self._ends_thinking = False
                self._pending.append(Notice(_THINKING_ENDED))
            self._show(event)
            if not isinstance(event, Text | Reasoning):
                self._attribution.clear()

    def _attributed(self, text: str) -> Sequence[tuple[str, Source]]:
        return self._attribution.parts(text)
