"""How much of what drafters propose stands: the same questions to the same model, once with each drafter.

Greedy, with every round drafting as much as the drafter can, so that the numbers are the drafters' own: neither timing
nor a choice of lengths comes into them. The answers are the same each time, up to rounding.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.events import Event, Round, Source
from laguna_tui.errors import UserError

if TYPE_CHECKING:
    from laguna_engine.engine import Engine
    from laguna_tui.settings import Settings

QUESTIONS = (
    "Where is parse_config defined?",
    "Who calls load_settings, and what do they do with what it returns?",
    "Write a Python function that reads a CSV file and returns its rows as dictionaries.",
    "Write a class Stack with push, pop and peek, and a unit test for each of them.",
    "Write as a comprehension:\n\nshort = []\nfor word in words:\n    if len(word) < 4:\n        short.append(word)",
    "Explain in three sentences what a context manager is.",
)
"""Looking things up, writing and changing code, prose: drafts stand most in the first and least in the last."""

ANSWER_TOKENS = 128
"""Of each answer at most: 768 in all, so that differences of a few in 100 drafts show."""

CONTEXT = 4096
"""Holds the app's prompt with its tools, a question and an answer."""


@dataclass(slots=True)
class Acceptance:
    """What became of a drafter's proposals. drafted, stood: rounds that proposed a token at each position, and those in
    which it stood."""

    drafted: list[int] = field(default_factory=list)
    stood: list[int] = field(default_factory=list)
    rounds: int = 0

    def add(self, told: Round) -> None:
        """Count a round."""
        missing = told.drafted - len(self.drafted)
        self.drafted += [0] * missing
        self.stood += [0] * missing
        for position in range(told.drafted):
            self.drafted[position] += 1
            self.stood[position] += position < told.accepted
        self.rounds += 1

    @property
    def share(self) -> float:
        """Of all drafted tokens, those that stood."""
        return sum(self.stood) / sum(self.drafted)

    @property
    def tokens_per_round(self) -> float:
        """Committed on average, the target's own token included."""
        return 1 + sum(self.stood) / self.rounds

    def by_position(self) -> list[float]:
        """The share that stood, first drafted token first."""
        return [stood / drafted for stood, drafted in zip(self.stood, self.drafted, strict=True)]


def measure(
    model: Path, drafter: Path, settings: "Settings", progress: Callable[[int, int], None] = lambda done, total: None
) -> Acceptance:
    """Let `drafter` draft for the GGUF `model`; EngineError if they cannot be opened, UserError if nothing was drafted.

    progress: told the questions answered and how many there are.
    """
    from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
    from laguna_engine.gguf import drafter as drafter_file

    length = drafter_file.read(drafter).longest
    options = EngineOptions(
        model, n_ctx=CONTEXT, gpu_layers=settings.gpu_layers, threads=settings.threads, drafter=drafter
    )
    found = Acceptance()
    with Engine.open(options) as engine:
        prompts, stop_tokens = _prompts(engine, thinking=bool(settings.thinking))
        drafting = Drafting(sources=frozenset({Source.DFLASH}), length=length)
        for done, prompt in enumerate(prompts):
            progress(done, len(prompts))
            request = Request(prompt, stop_tokens=stop_tokens, max_tokens=ANSWER_TOKENS, drafting=drafting)
            _count(engine.generate(request), found)
    if not found.rounds:
        raise UserError(f"{drafter}: drafted nothing for {model}; its context is too small for the questions")
    return found


def table(found: Sequence[tuple[str, Acceptance]]) -> list[str]:
    """Lines that compare drafters, by name."""
    width = max(len(name) for name, _ in found)
    head = f"{'':{width}}  stands  tokens a round  by position"
    return [head, *(_row(name.ljust(width), acceptance) for name, acceptance in found)]


def _row(name: str, found: Acceptance) -> str:
    positions = " ".join(f"{share:.0%}" for share in found.by_position())
    return f"{name}  {found.share:6.1%}  {found.tokens_per_round:14.2f}  {positions}"


def _prompts(engine: "Engine", *, thinking: bool) -> tuple[list[list[int]], frozenset[int]]:
    """The questions as the app asks them, and the tokens that end an answer."""
    from laguna_engine.chat.template import family_for
    from laguna_tui.agent.conversation import Conversation
    from laguna_tui.agent.prompt import system_prompt
    from laguna_tui.agent.tools.registry import TOOL_SPECS

    family = family_for(engine.info.name, engine.info.chat_template)
    chat = Conversation(engine.vocab, family, thinking=thinking, prompt=system_prompt(), tools=TOOL_SPECS)
    return [chat.with_message(question) for question in QUESTIONS], chat.stop_tokens


def _count(events: Iterable[Event], into: Acceptance) -> None:
    for event in events:
        if isinstance(event, Round) and event.drafted:
            into.add(event)
