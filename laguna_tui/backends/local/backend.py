"""The engine behind the port: prompts become tokens that only ever grow, so that its KV cache stays good."""

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Self

from laguna_engine.chat.template import Family, family_for
from laguna_engine.config import EngineInfo, Request
from laguna_engine.events import Event, Prefill
from laguna_engine.gguf.laguna import ARCHITECTURE
from laguna_tui.backends.base import Message, Options, Prompt, PromptCost, answer_message
from laguna_tui.backends.local.answer import Decoding, GenerationRecord, LocalAnswer, Stream
from laguna_tui.backends.local.laguna_format import LagunaFormat, Parts
from laguna_tui.backends.local.template_format import TemplateFormat
from laguna_tui.base.messages import Trace
from laguna_tui.models.entry import ModelEntry

if TYPE_CHECKING:
    from laguna_engine.engine import Engine, Restorable, Restored, Saved

MAX_SOURCE_TOKENS = 16_384
"""About 1,500 lines of code: what a conversation is about now. More would only make wrong matches likelier."""
NO_CALLS = "This model's chat format has no tool calls, so it changes no files and runs no commands."
_POLL_S = 0.1
"""Seconds between two chances to cancel a generation that waits for its turn."""


class LocalBackend:
    """A `Backend` over an engine.

    Attributes:
        engine: The engine.
        warnings: Sentences about the model's chat format.
        last: The newest request that generated something and was not beside the conversation; None before one.
    """

    def __init__(
        self, engine: "Engine", family: Family | None, model: str = "", turn: "threading.Lock | None" = None
    ) -> None:
        """Take an engine.

        Args:
            engine: Open.
            family: The Laguna template its model was trained on; None for the template in its file.
            model: Identifies what token IDs depend on: the model's file, its template, whether it thinks.
            turn: Held while this backend generates, where several share the engine; None for its only one.

        Raises:
            ModelFileError: The model cannot chat.
        """
        self.engine = engine
        self.last: GenerationRecord | None = None
        self._format = template_format(engine, model) if family is None else LagunaFormat(engine.vocab, family, model)
        self.warnings = tuple(filter(None, [self._format.warning, "" if self._format.writes_calls else NO_CALLS]))
        self._model, self._turn = model, turn
        self._stop: Callable[[], None] = lambda: None
        self._sources: dict[str, Sequence[int]] = {}

    @property
    def n_ctx(self) -> int:
        """Tokens of context."""
        return self.engine.n_ctx

    @property
    def writes_calls(self) -> bool:
        """Whether the model's chat format has tool calls."""
        return self._format.writes_calls

    @property
    def lost(self) -> bool:
        """Whether llama.cpp aborted."""
        return self.engine.lost

    def request(self, prompt: Prompt, options: Options) -> Request:
        """Return the request of an answer."""
        answering = _answering(prompt, options)
        return Request(
            self.tokens(prompt) + self._format.opening_after(answering),
            sampling=options.sampling,
            stop_tokens=self._format.stop_tokens,
            max_tokens=options.max_tokens,
            drafting=replace(options.drafting, files=self._source_tokens(options.sources)),
            thinking_budget=options.thinking_budget,
            thinking_tags=self._format.turn.thinking_tokens,
            constraints=self._format.constraints(answering, options),
            aside=options.aside,
        )

    def generate(self, prompt: Prompt, options: Options) -> LocalAnswer:
        decoding = Decoding(
            self._start,
            self.engine.vocab.piece,
            self.n_ctx,
            self._model,
            (lambda record: None) if options.aside else self._note,
        )
        answer = LocalAnswer(
            decoding,
            self.request(prompt, options),
            lambda: self._format.parser_after(_answering(prompt, options)),
            options.loops_broken,
            self._new_warnings(),
        )
        self._stop = answer.cancel
        return answer

    def cancel(self) -> None:
        if self._turn is None:
            self.engine.cancel()
        else:
            self._stop()

    def tokens(self, prompt: Prompt) -> list[int]:
        """Return the tokens of a prompt, without those that open the answer. Any thread."""
        return _flat(self._format.render(prompt))

    def cost(self, prompt: Prompt) -> PromptCost:
        rendered = self._format.render(prompt)
        preview = self.engine.preview(_flat(rendered) + self._format.opening_after(prompt))
        sizes = tuple(tuple(map(len, parts)) for parts in rendered)
        return PromptCost(sizes, preview.new, preview.cached, preview.seconds, preview.fits, self._format.rewrites)

    def count(self, text: str) -> int:
        return len(self.engine.vocab.tokenize(text, special=False))

    def sizes(self, prompt: Prompt) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(map(len, parts)) for parts in self._format.render(prompt))

    def prefill_seconds(self, tokens: int) -> float | None:
        return self.engine.prefill_seconds(tokens)

    def rendered(self, prompt: Prompt) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(map(self.text, parts)) for parts in self._format.render(prompt))

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens, markers included."""
        return b"".join(map(self.engine.vocab.piece, tokens)).decode("utf-8", errors="replace")

    def prefetch(self, prompt: Prompt, options: Options) -> Iterator[Event]:
        *before, last = self._format.render(prompt)
        tokens = _flat([*before, last[:-1]])
        if len(tokens) >= self.n_ctx:
            tokens = _flat(before)
        if self.engine.preview(tokens).new > 1:
            stream = self._start(Request(tokens, max_tokens=0, drafting=options.drafting))
            self._stop = stream.stop
            yield from stream

    def recovered(self, prompt: Prompt, trace: Trace) -> Message:
        parser = self._format.parser_after(prompt)
        events = [event for token in trace.tokens for event in parser.feed(token, self.engine.vocab.piece(token))]
        return answer_message([*events, *parser.finish()], trace)

    # -- snapshots

    def snapshot(self, folder: Path, prompt: Prompt | None = None, *, last: bool = False) -> "Saved":
        """Save what is new in the KV cache, as `Engine.snapshot` does.

        Args:
            folder: The conversation's alone.
            prompt: The conversation, where others share the engine; None for its only one.
            last: The engine is closed next.
        """
        return self.engine.snapshot(folder, of=None if prompt is None else self.tokens(prompt), last=last)

    def restore(self, folder: Path, prompt: Prompt) -> "Restored":
        """Restore as much of a prompt as the snapshots in a folder have, as `Engine.restore` does."""
        if self._turn is None:
            return self.engine.restore(folder, self.tokens(prompt))
        with self._turn:
            return self.engine.restore(folder, self.tokens(prompt))

    def restorable(self, folder: Path, prompt: Prompt) -> "Restorable | None":
        """Return what `restore` would restore and how long it would take; None for nothing."""
        return self.engine.restorable(folder, self.tokens(prompt))

    # -- requests

    def _new_warnings(self) -> tuple[str, ...]:
        """Return the sentence about a template that was given up in the middle of a conversation, once."""
        warning = self._format.warning
        if not warning or warning in self.warnings:
            return ()
        self.warnings += (warning,)
        return (warning,)

    def _note(self, record: GenerationRecord) -> None:
        self.last = record

    def _start(self, request: Request) -> Stream:
        if self._turn is None:
            return self.engine.generate(request)
        return _InTurn(self.engine, self._turn, request)

    def _source_tokens(self, sources: Sequence[str]) -> tuple[Sequence[int], ...]:
        """Return the tokens of texts to copy from, the latest last: the same object for the same text, which drafters
        rely on.
        """
        known, room = self._sources, MAX_SOURCE_TOKENS
        wanted = dict[str, Sequence[int]]()
        for text in reversed(sources):
            if text not in known:
                known[text] = tuple(self.engine.vocab.tokenize(text, special=False)[-MAX_SOURCE_TOKENS:])
            room -= len(known[text])
            if room < 0:
                break
            wanted[text] = known[text]
        self._sources = wanted
        return tuple(reversed(wanted.values()))


def _answering(prompt: Prompt, options: Options) -> Prompt:
    """Return the prompt as the answer is opened after it: an aside does not think, though what it follows may have."""
    return replace(prompt, thinking=prompt.thinking and not options.aside)


def _flat(rendered: Iterable[Parts]) -> list[int]:
    return list(chain.from_iterable(chain.from_iterable(rendered)))


def template_format(engine: "Engine", model: str) -> TemplateFormat:
    """Return the format of a model that brings its own template."""
    return TemplateFormat(engine.vocab, engine.info.chat_template, engine.n_ctx, model)


def family_of(entry: ModelEntry, info: EngineInfo) -> Family | None:
    """Return the Laguna template of an open model: its catalogue entry's, else its file's; None for other models."""
    if entry.template:
        return Family[entry.template]
    return family_for(info.name, info.chat_template) if info.architecture == ARCHITECTURE else None


class _InTurn:
    """A request on a shared engine; it begins once no other one generates.

    While it waits it yields that nothing is prefilled yet, so that it can be cancelled; then no event follows.
    """

    def __init__(self, engine: "Engine", turn: threading.Lock, request: Request) -> None:
        self._engine, self._turn, self._request = engine, turn, request
        self._events = self._generate()
        self._stream: Stream | None = None
        self._cancelled = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        return next(self._events)

    def stop(self) -> None:
        self._cancelled = True
        # It may end meanwhile.
        if (stream := self._stream) is not None:
            stream.stop()

    def end_thinking(self) -> None:
        if (stream := self._stream) is not None:
            stream.end_thinking()

    def close(self) -> None:
        self.stop()
        self._events.close()

    def _generate(self) -> Generator[Event, None, None]:
        begun = time.monotonic()
        while not self._turn.acquire(timeout=_POLL_S):
            yield Prefill(0, len(self._request.tokens), 0, time.monotonic() - begun)
            if self._cancelled:
                return
        try:
            with closing(self._engine.generate(self._request)) as stream:
                self._stream = stream
                if self._cancelled:
                    stream.stop()
                yield from stream
        finally:
            self._stream = None
            self._turn.release()
