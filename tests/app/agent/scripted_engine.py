"""A FAKE engine: it says what a test tells it to, in the vocabulary of a real model, and computes nothing.

It stands in where a test needs a model to say a certain thing (a malformed call, nothing at all, the same call again
and again), which no model does on demand. It checks the promise that real engines live on: each prompt continues from
what was said before, so that the cache stays good.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

from laguna_engine.chat.encoding import Tokenizer
from laguna_engine.chat.template import Family
from laguna_engine.config import Request
from laguna_engine.events import ContextOverflow, Event, Finished, FinishReason, Prefill, Round, Source, Stats, Token
from laguna_engine.sequence import Preview
from laguna_tui.agent.conversation import Conversation
from laguna_tui.backends.base import Options
from laguna_tui.backends.local.backend import LocalBackend


@dataclass
class Say:
    """One generation: `text` with its markers, then the end for `reason`; `during` is called before every token.

    rounds: the drafter, how many it drafted, how many were accepted, and the text of the rest, of each round.
    taken_back: part of it at least is expected not to be in the next prompt.
    """

    text: str
    reason: FinishReason = FinishReason.STOP_TOKEN
    during: Callable[[int], None] = lambda index: None
    error: Exception | None = None
    rounds: Sequence[tuple[Source | None, int, int, str]] = ()
    seed: int | None = None
    taken_back: bool = False


class ScriptedEngine:
    """Plays its script, one `Say` a request."""

    lost = False

    def __init__(self, vocabulary: Tokenizer, script: Sequence[Say | str], n_ctx: int = 8192) -> None:
        self.n_ctx = n_ctx
        self.requests: list[Request] = []
        self.vocab = vocabulary
        self._script = [Say(each) if isinstance(each, str) else each for each in script]
        self._cancelled = False
        self._cached: list[int] = []

    def generate(self, request: Request) -> "Stream":
        prompt = list(request.tokens)
        last = self._script[len(self.requests) - 1] if self.requests else None
        if last is None or not last.taken_back:
            assert prompt[: len(self._cached)] == self._cached, "the prompt does not go on from what is cached"
        self.requests.append(request)
        self._cancelled = False
        return Stream(self._play(prompt, self._script[len(self.requests) - 1]), self.cancel)

    def _play(self, prompt: list[int], say: Say) -> Iterator[Event]:
        if len(prompt) >= self.n_ctx:
            yield ContextOverflow(len(prompt) + 1, self.n_ctx)
            yield Finished(FinishReason.CONTEXT_FULL, Stats(0, 0, 0.0, 0, 0.0))
            return
        stats = Stats(len(prompt), len(self._cached), 0.1, 1, 0.1, seed=say.seed)
        yield Prefill(len(prompt), len(prompt), len(self._cached), 0.1)
        self._cached = prompt
        tokens = self.vocab.tokenize(say.text, special=True)
        rounds, sources = _rounds(say, len(tokens))
        for index, token in enumerate(tokens):
            say.during(index)
            if self._cancelled:
                yield Finished(FinishReason.CANCELLED, stats)
                return
            # The newest token is computed with the one after it.
            self._cached = [*prompt, *tokens[:index]]
            if index in rounds:
                yield rounds[index]
            yield Token(token, self.vocab.piece(token).decode(), sources[index], index)
        if say.error:
            raise say.error
        yield Finished(say.reason, stats)

    def cancel(self) -> None:
        self._cancelled = True

    def prefill_seconds(self, tokens: int) -> float | None:
        return None

    def forget(self) -> None:
        """Accept any prompt next."""
        self._cached = []

    def preview(self, tokens: Sequence[int]) -> Preview:
        pairs = zip(self._cached, tokens, strict=False)
        cached = next(
            (at for at, (mine, given) in enumerate(pairs) if mine != given), min(len(self._cached), len(tokens))
        )
        return Preview(cached, len(tokens) - cached, None, False, None, len(tokens) < self.n_ctx)


class Stream:
    """The events of one request."""

    def __init__(self, events: Generator[Event, None, None], stop: Callable[[], None]) -> None:
        self._events, self.stop = events, stop

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        return next(self._events)

    def close(self) -> None:
        self.stop()
        self._events.close()


def backend(
    vocabulary: Tokenizer, script: Sequence[Say | str] = (), n_ctx: int = 8192, model: str = "scripted"
) -> LocalBackend:
    """A backend that plays a script."""
    return LocalBackend(ScriptedEngine(vocabulary, script, n_ctx), Family.XS_2_1, model)


def say(conversation: Conversation, text: Say | str, model: str = "scripted") -> None:
    """Have the model say a text in a conversation."""
    speaker = backend(conversation.backend.engine.vocab, [text], model=model)
    answer = speaker.generate(conversation.prompt(), Options())
    for _ in answer:
        pass
    conversation.record(answer.message)


def tokens(conversation: Conversation) -> list[int]:
    """The tokens of a conversation."""
    return conversation.backend.tokens(conversation.prompt())


def text(conversation: Conversation) -> str:
    """The text of a conversation, markers included."""
    return conversation.backend.text(tokens(conversation))


def _rounds(say: Say, count: int) -> tuple[dict[int, Round], list[Source]]:
    """The rounds by the index of their first token, and who proposed each token."""
    rounds: dict[int, Round] = {}
    sources: list[Source] = []
    for drafter, drafted, accepted, rejected in say.rounds:
        rounds[len(sources)] = Round(drafter, drafted, accepted, 0.001, 0.01, 0.001, 0.013, rejected, "because")
        sources += [*[drafter or Source.TARGET] * accepted, Source.TARGET]
    return rounds, sources + [Source.TARGET] * count


def call(name: str, **arguments: str) -> str:
    """A tool call as a model writes it, with the end of the turn."""
    values = "".join(f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n" for key, value in arguments.items())
    return f"\n<tool_call>{name}\n{values}</tool_call>\n</assistant>"


def answer(text: str) -> str:
    """An answer as a model writes it."""
    return f"\n{text}\n</assistant>"
