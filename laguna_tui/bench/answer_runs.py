"""Generation of the answers: every variant answers a prompt in turn, so that other load slows all of them alike."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from laguna_engine.config import PLAIN, Drafting
from laguna_engine.engine import Engine, EngineInfo, EngineOptions, Request
from laguna_engine.events import Event, Finished, Round, Stats, Token
from laguna_tui.base.progress import ProgressLine
from laguna_tui.bench.workload import CONTEXT, BenchOptions, BenchPrompt, prepare_prompts, sources_of
from laguna_tui.session.opening import open_engine


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to decode. name: as in reports."""

    name: str
    drafting: Drafting


PLAIN_VARIANT = Variant("plain", PLAIN)


def drafted_variant(use: str, length: int | None = None) -> Variant:
    """Return the variant with this drafter. length: tokens per round, None to let the engine choose."""
    name = use if length is None else str(length)
    return Variant(name, Drafting(sources=sources_of(use), length=length))


@dataclass(frozen=True, slots=True)
class AnswerSample:
    """One answer.

    Attributes:
        way: Name of the variant.
        prompt: Name of the prompt.
        repeat: From 0; -1 for the untimed first answer.
        tokens: Token ids.
        stats: Counts and times of the engine.
        rounds: Empty for plain decoding.
    """

    way: str
    prompt: str
    repeat: int
    tokens: tuple[int, ...]
    stats: Stats
    rounds: tuple[Round, ...] = ()

    @property
    def seconds(self) -> float:
        """Return the seconds from the first token to the last."""
        return self.stats.decode_s

    @property
    def decoded(self) -> int:
        """Return the tokens that took `seconds`: the first one is part of the prefill."""
        return max(0, self.stats.generated_tokens - 1)

    @property
    def rate(self) -> float | None:
        """Return the tokens per second."""
        return self.stats.decode_rate


@dataclass(slots=True)
class Runner:
    """An open engine with its prompts.

    Attributes:
        engine: The engine.
        prompts: Prompts tokenized for its model.
        options: Options of the benchmark.
        progress: Where progress is shown.
        label: Prefix of the progress line, such as "q8_0: ".
    """

    engine: Engine
    prompts: Sequence[BenchPrompt]
    options: BenchOptions
    progress: ProgressLine
    label: str = ""

    def run(self, variants: Sequence[Variant], samples: list[AnswerSample]) -> None:
        """Answer every prompt in every variant, `repeats` times; append each finished answer to `samples`."""
        for variant in variants:
            # Untimed: the first answer builds graphs, touches memory, and trains the draft policy.
            self.answer(self.prompts[0], variant, -1)
        for repeat in range(self.options.repeats):
            for prompt in self.prompts:
                for variant in _rotated(variants, repeat):
                    self._show(prompt, variant, repeat)
                    samples.append(self.answer(prompt, variant, repeat))

    def answer(self, prompt: BenchPrompt, variant: Variant, repeat: int) -> AnswerSample:
        """Generate one answer."""
        request = Request(
            prompt.tokens,
            sampling=self.options.sampling,
            stop_tokens=prompt.stop_tokens,
            max_tokens=self.options.tokens,
            drafting=replace(variant.drafting, files=prompt.files),
        )
        return collect_sample(self.engine.generate(request), variant.name, prompt.name, repeat)

    def _show(self, prompt: BenchPrompt, variant: Variant, repeat: int) -> None:
        turn = f"{repeat + 1} of {self.options.repeats}"
        self.progress.show(f"{self.label}turn {turn}, {prompt.name}, {variant.name}")


def collect_sample(events: Iterator[Event], way: str, prompt: str, repeat: int) -> AnswerSample:
    """Return the sample of a generation's events."""
    tokens: list[int] = []
    rounds: list[Round] = []
    stats = Stats(0, 0, 0.0, 0, 0.0)
    for event in events:
        match event:
            case Token(id=token):
                tokens.append(token)
            case Round():
                rounds.append(event)
            case Finished(stats=stats):
                pass
            case _:
                pass
    return AnswerSample(way, prompt, repeat, tuple(tokens), stats, tuple(rounds))


@dataclass(slots=True)
class BenchEngine:
    """The engine of a benchmark and what the report needs after it was closed.

    Attributes:
        info: Facts about the open engine.
        options: Options it was opened with.
        prompts: Prompts tokenized for its model.
    """

    info: EngineInfo | None = None
    options: EngineOptions | None = None
    prompts: list[BenchPrompt] = field(default_factory=list)

    @contextmanager
    def stage(self, options: BenchOptions, progress: ProgressLine, kv: str | None = None) -> Iterator[Runner]:
        """Open the engine, with another KV cache type if one is given, and prepare the prompts."""
        wanted = options.engine(kv)
        show: Callable[[str], None] = progress.show
        show(f"opening {wanted.model.name}")

        def opened(chosen: EngineOptions) -> Engine:
            return Engine.open(chosen, lambda state: show(f"opening {chosen.model.name}: {state.fraction:.0%}"))

        # Opened as the app does, threads included: with a thread on every core llama.cpp waits for other programs.
        engine, self.options, _ = open_engine(wanted, options.fixed(kv), options.entry.title, CONTEXT, None, opened)
        with engine:
            self.info = engine.info
            self.prompts = self.prompts or prepare_prompts(engine, options, show)
            yield Runner(engine, self.prompts, options, progress, label=f"{kv}: " if kv else "")


def _rotated(variants: Sequence[Variant], repeat: int) -> Sequence[Variant]:
    """Return the variants, another one first each time: the first prefills what the cache lost of the prompt."""
    first = repeat % len(variants)
    return [*variants[first:], *variants[:first]]
