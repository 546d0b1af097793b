"""Acceptance of drafters: the same questions to the same model, once with each drafter.

Decoding is greedy and every round drafts as many tokens as the drafter can, so that the numbers are the drafters' own:
neither timing nor the draft policy affects them. The answers are the same each time, up to rounding.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.events import Source
from laguna_engine.speculate.metrics import DrafterRecord, SpeculationMetrics
from laguna_tui.base.errors import UserError

if TYPE_CHECKING:
    from laguna_engine.engine import Engine
    from laguna_tui.base.settings import Settings
    from laguna_tui.models.entry import ModelEntry


_MEASURED = Source("dflash")
"""Who drafts with the file that is measured."""

QUESTIONS = (
    "Where is parse_config defined?",
    "Who calls load_settings, and what do they do with what it returns?",
    "Write a Python function that reads a CSV file and returns its rows as dictionaries.",
    "Write a class Stack with push, pop and peek, and a unit test for each of them.",
    "Write as a comprehension:\n\nshort = []\nfor word in words:\n    if len(word) < 4:\n        short.append(word)",
    "Explain in three sentences what a context manager is.",
)
"""Looking things up, writing and changing code, prose: acceptance is highest for the first and lowest for the last."""

ANSWER_TOKENS = 128
"""Most tokens of each answer: 768 in all, so that differences of a few in 100 drafts show."""

CONTEXT = 8192
"""Tokens; fits the app's prompt with any model's tools, a question and an answer."""


def measure(
    model: Path, drafter: Path, settings: "Settings", progress: Callable[[int, int], None] = lambda done, total: None
) -> DrafterRecord:
    """Measure the acceptance of `drafter` for the GGUF `model`.

    Args:
        model: The target.
        drafter: The drafter.
        settings: Devices, threads and thinking.
        progress: Called with the questions answered and their number.

    Raises:
        EngineError: They cannot be opened.
        UserError: Nothing was drafted.
    """
    from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
    from laguna_engine.gguf import drafter_header as drafter_file
    from laguna_tui.models.catalogue import load_catalogue, resolve
    from laguna_tui.session.opening import open_engine

    entry = resolve(str(model), load_catalogue())
    # The acceptance rate in thoughts differs from that in answers.
    thinking = entry.thinking if settings.thinking is None else settings.thinking
    length = drafter_file.read(drafter).longest
    # The drafter is being measured, so no plan may leave it out.
    settings = replace(settings, context=None, drafter=str(drafter))
    layers = -1 if settings.gpu_layers is None else settings.gpu_layers
    options = EngineOptions(model, n_ctx=CONTEXT, gpu_layers=layers, threads=settings.threads or 0, drafter=drafter)
    metrics = SpeculationMetrics()
    engine, _, _ = open_engine(options, settings, model.stem, CONTEXT, None, Engine.open)
    with engine:
        prompts, stop_tokens = _prompts(engine, entry, thinking=thinking)
        drafting = Drafting(sources=frozenset({_MEASURED}), length=length)
        for done, prompt in enumerate(prompts):
            progress(done, len(prompts))
            request = Request(prompt, stop_tokens=stop_tokens, max_tokens=ANSWER_TOKENS, drafting=drafting)
            metrics.extend(engine.generate(request))
    record = metrics.summary().drafters.get(_MEASURED)
    if record is None:
        raise UserError(f"{drafter}: drafted nothing for {model}; its context is too small for the questions")
    return record


def table(records: Sequence[tuple[str, DrafterRecord]]) -> list[str]:
    """Return the lines of a table that compares drafters by name."""
    width = max(len(name) for name, _ in records)
    head = f"{'':{width}}  accepted  tokens a round  by position"
    return [head, *(_row(name.ljust(width), record) for name, record in records)]


def _row(name: str, record: DrafterRecord) -> str:
    # Every round emits the accepted drafts and the target's own token.
    per_round = 1 + record.accepted / record.rounds
    positions = " ".join(f"{share:.0%}" for share in record.by_position)
    return f"{name}  {record.acceptance or 0:8.1%}  {per_round:14.2f}  {positions}"


def _prompts(engine: "Engine", entry: "ModelEntry", *, thinking: bool) -> tuple[list[list[int]], frozenset[int]]:
    """Return the questions as the app sends them to this model, with its template and tools, and the stop tokens."""
    from laguna_tui.agent.conversation import Conversation
    from laguna_tui.agent.profile import profile_of
    from laguna_tui.backends.base import Options
    from laguna_tui.backends.local.backend import LocalBackend, family_of
    from laguna_tui.base.messages import ChatMessage

    backend = LocalBackend(engine, family_of(entry, engine.info))
    chat = Conversation(backend, profile_of(entry, writes_calls=backend.writes_calls), thinking=thinking)
    requests = [backend.request(chat.prompt(ChatMessage.asked(question)), Options()) for question in QUESTIONS]
    return [list(request.tokens) for request in requests], requests[0].stop_tokens
