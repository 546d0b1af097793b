"""What the agent says while it answers: frozen values that every front end matches on.

One user message gives: `TurnStarted`, then any mix of the middle events, then exactly one `TurnFinished`.
All text in them is raw (model, files, tools): a front end passes it through `laguna_tui.text` before showing it.
"""

from dataclasses import dataclass, field
from enum import Enum

from laguna_engine.events import Prefill, Stats


class TurnEnd(Enum):
    """Why the agent stopped working on a message."""

    ANSWERED = "answered"
    CANCELLED = "cancelled"
    CONTEXT_FULL = "context_full"
    MAX_TOKENS = "max_tokens"
    TOO_MANY_STEPS = "too_many_steps"
    MALFORMED_CALL = "malformed_call"
    EMPTY_ANSWER = "empty_answer"
    REPEATING = "repeating"


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The message was appended; `prompt_tokens` are about to be processed, `cached` of them for free."""

    prompt_tokens: int
    cached: int


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the model's thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer, in Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """The model called a tool and it is about to run."""

    call_id: int
    name: str
    arguments: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool ran. `output` is exactly what the model is given; `full_output` names the file with all of it."""

    call_id: int
    name: str
    output: str
    ok: bool
    seconds: float
    full_output: str | None = None


@dataclass(frozen=True, slots=True)
class CallRejected:
    """The model wrote a tool call that cannot be run; it is told why and may try again."""

    raw: str
    problem: str


@dataclass(frozen=True, slots=True)
class StepFinished:
    """One generation of the model ended (a turn has one per tool round, plus the answer)."""

    stats: Stats
    context_used: int
    context_size: int


@dataclass(frozen=True, slots=True)
class Rate:
    """Live decoding speed, about ten times a second while tokens arrive."""

    tokens: int
    tokens_per_second: float
    context_used: int


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The last event of every turn; `detail` is a sentence for the user when there is something to say."""

    end: TurnEnd
    detail: str = ""


AgentEvent = (
    TurnStarted
    | Prefill
    | ReasoningDelta
    | TextDelta
    | ToolStarted
    | ToolFinished
    | CallRejected
    | Rate
    | StepFinished
    | TurnFinished
)
