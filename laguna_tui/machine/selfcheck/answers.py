"""Answers to measure and compare: fixed prompts, short answers, one engine at a time."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from laguna_engine.config import PLAIN, Drafting, Request, Speculation
from laguna_engine.engine import Engine
from laguna_engine.events import Finished, Round, Token
from laguna_tui.base.progress import ProgressLine
from laguna_tui.bench.answer_runs import AnswerSample, Runner, Variant
from laguna_tui.bench.workload import BenchOptions, BenchPrompt
from laguna_tui.models.model_selection import ModelSelection
from laguna_tui.session.model_options import engine_options
from laguna_tui.session.opening import open_engine

CONTEXT = 2048
"""Tokens; holds every prompt with its answer, and the prompt whose prefill is timed."""

TOKENS = 40
"""Most tokens of an answer: on a machine that decodes one token a second a check takes minutes."""

PREFILL_TOKENS = 1024
"""Tokens of the prompt whose prefill is timed: two micro-batches."""

DRAFT_LENGTHS = (1, 3, 7, 15)
"""Draft lengths for which verifying is timed; a step in the costs shows where kernels change."""

_ROUNDS = 8

_TEXTS = {
    "code": "class Inventory:\n    def __init__(self) -> None:\n        self.items: dict[str, int] = {}\n\n"
    "    def add_item(self, name: str, count: int) -> None:\n        self.items[name] = count\n\n"
    "    def take_item(self, name: str, count: int) -> None:\n",
    "list": "".join(
        f"{number}. The file shop/part_{number}.py defines load_part_{number}.\n" for number in range(1, 9)
    ),
    "prose": "A context manager is an object that prepares something when a block of code begins and cleans up when it "
    "ends, whatever happens in between. A common example is",
}
"""By name: code, a text that continues by copying, prose."""


@dataclass(frozen=True, slots=True)
class RestoredAnswer:
    """An answer after a restored snapshot beside the one before.

    Attributes:
        tokens: Of the prompt.
        restored: Of these, those that were restored.
        written: Bytes of the snapshot.
        seconds: Of restoring.
        same: Whether both answers are the same.
        refused: Why files were not used; empty if all were.
    """

    tokens: int
    restored: int
    written: int
    seconds: float
    same: bool
    refused: str


@contextmanager
def opened_runner(
    selection: ModelSelection, mode: Speculation, *, kv: str | None = None, gpu_layers: int | None = None
) -> Iterator[Runner]:
    """Open the model as the app does, with a small context.

    Args:
        kv: Type of the KV cache; None for the planned one.
        gpu_layers: Layers on the GPU; None for the planned ones.

    Raises:
        EngineError: It cannot be opened.
    """
    chosen = selection.settings
    settings = replace(
        chosen,
        speculation=mode.value,
        kv=kv or chosen.kv,
        gpu_layers=chosen.gpu_layers if gpu_layers is None else gpu_layers,
        context=CONTEXT,
        temperature=0.0,
        seed=1,
    )
    requested = engine_options(settings, selection.entry, selection.drafter, mode)
    engine, _, _ = open_engine(requested, settings, selection.entry.title, CONTEXT, None, Engine.open)
    with engine:
        options = BenchOptions(settings, selection.entry, selection.drafter, None, TOKENS, 1, "")
        # An answer as long as all others has no stop token that a draft could hide.
        prompts = [
            BenchPrompt(name, tuple(engine.vocab.tokenize(text, special=False)), frozenset())
            for name, text in _TEXTS.items()
        ]
        yield Runner(engine, prompts, options, ProgressLine(quiet=True))


def measure(runner: Runner, variants: Sequence[Variant]) -> list[AnswerSample]:
    """Return one answer to each prompt in each variant."""
    samples: list[AnswerSample] = []
    runner.run(variants, samples)
    return samples


def prefill_rate(runner: Runner) -> float:
    """Return the tokens read per second, without the first ones, for which buffers are touched the first time."""
    engine = runner.engine
    tokens = _text(runner, PREFILL_TOKENS)
    rate = 0.0
    for count in (PREFILL_TOKENS // 2, PREFILL_TOKENS):
        engine.clear()
        for event in engine.generate(Request(tokens[:count], max_tokens=1, drafting=PLAIN)):
            if isinstance(event, Finished) and event.stats.prefill_s > 0:
                rate = (event.stats.prompt_tokens - event.stats.cached_tokens) / event.stats.prefill_s
    return rate


def verify_costs(runner: Runner) -> list[tuple[int, float]]:
    """Return for each of some numbers of tokens the median seconds of verifying them at once."""
    found = []
    prompt = runner.prompts[0].tokens
    for length in DRAFT_LENGTHS:
        # The drafts make no sense, so nearly every round computes all of one and emits one token.
        script = tuple([prompt[0]] * length for _ in range(_ROUNDS))
        request = Request(prompt, max_tokens=_ROUNDS, drafting=Drafting(script=script))
        times = [
            event.verify_s
            for event in runner.engine.generate(request)
            if isinstance(event, Round) and event.drafted == length
        ]
        # The first round of a width builds its graph.
        if times[1:]:
            found.append((length + 1, median(times[1:])))
    return found


def restored_answer(runner: Runner, folder: Path) -> RestoredAnswer:
    """Write a snapshot of a prompt into `folder`, forget the prompt, restore it, and answer it both ways.

    Raises:
        SnapshotError: Nothing was written.
    """
    engine = runner.engine
    tokens = _text(runner, PREFILL_TOKENS)
    for _ in engine.generate(Request(tokens, max_tokens=0, drafting=PLAIN)):
        pass
    written = engine.snapshot(folder).nbytes
    before = _answer(runner, tokens)
    engine.clear()
    found = engine.restore(folder, tokens)
    after = _answer(runner, tokens)
    refused = "; ".join(str(each) for each in found.refused)
    return RestoredAnswer(len(tokens), found.tokens, written, found.seconds, before == after, refused)


def _answer(runner: Runner, tokens: Sequence[int]) -> list[int]:
    request = Request(tokens, max_tokens=TOKENS, drafting=PLAIN)
    return [event.id for event in runner.engine.generate(request) if isinstance(event, Token)]


def _text(runner: Runner, count: int) -> list[int]:
    text = [token for prompt in runner.prompts for token in prompt.tokens]
    return (text * (count // len(text) + 1))[:count]
