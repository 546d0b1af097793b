"""Answers, made in turns: the same prompts in several ways, one after the other, so that a busy machine slows all."""

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
    """One way to decode, with the name it has in reports."""

    name: str
    drafting: Drafting


PLAIN_VARIANT = Variant("plain", PLAIN)


def drafted_variant(use: str, length: int | None = None) -> Variant:
    """Who drafts; `length` tokens every round, None to let the engine choose."""
    name = use if length is None else str(length)
    return Variant(name, Drafting(sources=sources_of(use), length=length))


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer. tokens: their ids. rounds: none when it was decoded plainly."""

    way: str
    prompt: str
    repeat: int
    tokens: tuple[int, ...]
    stats: Stats
    rounds: tuple[Round, ...] = ()

    @property
    def seconds(self) -> float:
        """From the first token to the last."""
        return self.stats.decode_s

    @property
    def later(self) -> int:
        """Tokens that took `seconds`: the first one belongs to the prompt."""
        return max(0, self.stats.generated_tokens - 1)

    @property
    def rate(self) -> float | None:
        """Tokens a second."""
        return self.stats.decode_rate


@dataclass(slots=True)
class Runner:
    """An open engine with prompts for it."""

    engine: Engine
    prompts: Sequence[BenchPrompt]
    options: BenchOptions
    progress: ProgressLine
    # What the reader should know about the whole of it, such as "q8_0: ".
    label: str = ""

    def run(self, ways: Sequence[Variant], samples: list[Sample]) -> None:
        """Answer every prompt in every way, as often as asked for, and add each finished answer to `samples`."""
        for way in ways:
            # Untimed: the first answer builds graphs, touches memory, and teaches what pays.
            self.answer(self.prompts[0], way, -1)
        for repeat in range(self.options.repeats):
            for prompt in self.prompts:
                for way in _rotated(ways, repeat):
                    self._tell(prompt, way, repeat)
                    samples.append(self.answer(prompt, way, repeat))

    def answer(self, prompt: BenchPrompt, way: Variant, repeat: int) -> Sample:
        """Decode one answer."""
        request = Request(
            prompt.tokens,
            sampling=self.options.sampling,
            stop_tokens=prompt.stop_tokens,
            max_tokens=self.options.tokens,
            drafting=replace(way.drafting, files=prompt.files),
        )
        return collect_sample(self.engine.generate(request), way.name, prompt.name, repeat)

    def _tell(self, prompt: BenchPrompt, way: Variant, repeat: int) -> None:
        turn = f"{repeat + 1} of {self.options.repeats}"
        self.progress.show(f"{self.label}turn {turn}, {prompt.name}, {way.name}")


def collect_sample(events: Iterator[Event], way: str, prompt: str, repeat: int) -> Sample:
    """What a generation said."""
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
    return Sample(way, prompt, repeat, tuple(tokens), stats, tuple(rounds))


@dataclass(slots=True)
class BenchEngine:
    """What was said about an engine while it was open, for the report. how: what it was opened with."""

    info: EngineInfo | None = None
    how: EngineOptions | None = None
    prompts: list[BenchPrompt] = field(default_factory=list)

    @contextmanager
    def stage(self, options: BenchOptions, progress: ProgressLine, kv: str | None = None) -> Iterator[Runner]:
        """Open the engine, with another type of KV cache if one is given, and prepare the prompts."""
        asked = options.engine(kv)
        tell: Callable[[str], None] = progress.show
        tell(f"opening {asked.model.name}")

        def opened(how: EngineOptions) -> Engine:
            return Engine.open(how, lambda state: tell(f"opening {how.model.name}: {state.fraction:.0%}"))

        # As the app opens it, threads included: llama.cpp with a thread on every core waits for whatever else runs.
        engine, self.how, _ = open_engine(asked, options.fixed(kv), options.entry.title, CONTEXT, None, opened)
        with engine:
            self.info = engine.info
            self.prompts = self.prompts or prepare_prompts(engine, options, tell)
            yield Runner(engine, self.prompts, options, progress, label=f"{kv}: " if kv else "")


def _rotated(ways: Sequence[Variant], repeat: int) -> Sequence[Variant]:
    """Another one first each time: it reads what of the prompt the cache lost."""
    first = repeat % len(ways)
    return [*ways[first:], *ways[:first]]
