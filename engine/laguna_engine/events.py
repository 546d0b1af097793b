"""The engine's events: frozen values, created on the engine thread, safe to share between threads.

`Engine.generate` yields `Prefill`* then (`Token` | `Round`)* and ends with exactly one `Finished`; a request that
does not fit yields `ContextOverflow` right before its `Finished`. `DrafterFailed` and `ConstraintFailed`
may come anywhere before that. Times
are seconds, counts are tokens.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from msgspec import Struct


@dataclass(frozen=True, slots=True)
class Source:
    """The model or drafter that proposed a token. The target alone decides what is accepted.

    Two are equal if their `value` is, so `Source("dflash")` names a drafter wherever only its name matters.

    Attributes:
        value: the name in JSON, in `Drafting.sources` and in saved statistics; it never changes.
        label: the name on the screen, `value` if empty.
        colour: key of the colour it has on the screen (`teal`, `amber`, `violet`, `rose`); any other is shown as rose.
        title: the subject of a sentence about it, `label` if empty.
    """

    value: str
    label: str = field(default="", compare=False)
    colour: str = field(default="", compare=False)
    title: str = field(default="", compare=False)
    TARGET: ClassVar["Source"]

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.value)
        object.__setattr__(self, "title", self.title or self.label)


Source.TARGET = Source("target")

CONSTRAINED = Source("constrained", label="constraint", colour="rose", title="The constraint")
"""What a constraint leaves: the drafter of it, and on the screen all tokens where only some were allowed."""


class FinishReason(Enum):
    """Why a generation ended."""

    STOP_TOKEN = "stop_token"
    STOP_TEXT = "stop_text"
    MAX_TOKENS = "max_tokens"
    CONTEXT_FULL = "context_full"
    CANCELLED = "cancelled"


class Cause(Enum):
    """What was computed in batches of another width (`replay`).

    Attributes:
        VERIFIED: a draft and the token before it.
        READ: the prompt.
    """

    VERIFIED = "verified"
    READ = "read"


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """Progress of opening the engine.

    Attributes:
        stage: name of the stage.
        fraction: finished share of the stage, 0 to 1.
    """

    stage: str
    fraction: float


class Prefill(Struct, frozen=True, tag=True, tag_field="type"):
    """Progress of the prefill.

    Attributes:
        done: prompt tokens in the KV cache now.
        total: prompt tokens.
        cached: prompt tokens that were in the KV cache at the start.
        seconds: time since the start.
    """

    done: int
    total: int
    cached: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Logprobs:
    """Natural logarithms of probabilities, of the logits alone.

    Attributes:
        chosen: of the token that was committed.
        top: the most likely tokens, as many as were requested, each with its own; most likely first.
    """

    chosen: float
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Token:
    """One committed token.

    Attributes:
        id: the token.
        text: the characters that this token completes, empty while a multi-byte character is incomplete. A token that
            ends the generation has no text; other special tokens have their literal text (`Vocab.piece(id)`).
        source: where the token was proposed.
        index: position in the generation, from 0.
        constrained: whether a constraint allowed only some tokens here.
        logprobs: how likely it was; None unless requested.
    """

    id: int
    text: str
    source: Source
    index: int
    constrained: bool = False
    logprobs: Logprobs | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """One draft-verify round, reported before the tokens it committed. None are reported without speculation.

    Attributes:
        drafter: the drafter, None for a round without a draft.
        drafted: tokens proposed.
        accepted: tokens of the draft's accepted prefix; the round commits one more, sampled from the target.
        draft_s: drafting, the injection of features included.
        verify_s: the target's computation.
        sample_s: sampling from the target's rows.
        total_s: the whole round; the remainder is the engine's overhead.
        rejected: text of the rejected draft tokens.
        reason: why this drafter and length, or why none, as a sentence fragment for the user ("off: would cost 12 %
            here").
    """

    drafter: Source | None
    drafted: int
    accepted: int
    draft_s: float
    verify_s: float
    sample_s: float
    total_s: float
    rejected: str
    reason: str


class DrafterFailed(Struct, frozen=True, tag=True, tag_field="type"):
    """A drafter failed and is switched off until the model is opened again; the answer continues and is the same.

    Attributes:
        drafter: the drafter.
        problem: the failure, as a sentence fragment.
    """

    drafter: Source
    problem: str

    @property
    def sentence(self) -> str:
        """The message for the user; a front end adds what to do there."""
        return f"{self.drafter.title} failed ({self.problem}) and is switched off; answers are the same, only slower."


@dataclass(frozen=True, slots=True)
class ConstraintFailed:
    """A constraint of the request failed and is left out for the rest of the answer.

    Attributes:
        problem: the failure, as a sentence fragment.
    """

    problem: str

    @property
    def sentence(self) -> str:
        """The message for the user."""
        return f"A constraint failed ({self.problem}); the answer continues without it, so check what it says."


@dataclass(frozen=True, slots=True)
class ContextOverflow:
    """The prompt does not fit into the context.

    Attributes:
        needed: tokens of the prompt and at least one more.
        capacity: tokens of context.
    """

    needed: int
    capacity: int


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of one generation. Rates are derived from the counts.

    Attributes:
        prompt_tokens: tokens of the prompt.
        cached_tokens: prompt tokens that were in the KV cache.
        prefill_s: time of the prefill.
        generated_tokens: tokens of the answer.
        decode_s: time of decoding.
        rounds: rounds of speculative decoding, 0 without it.
        drafted: tokens proposed.
        accepted: tokens accepted.
        seed: the seed used, to reproduce the answer; None if nothing was sampled.
        constrained: tokens of the answer where a constraint allowed only some.
        dropped: how often a constraint was relaxed, because what it allowed was not what the model meant.
    """

    prompt_tokens: int
    cached_tokens: int
    prefill_s: float
    generated_tokens: int
    decode_s: float
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    seed: int | None = None
    constrained: int = 0
    dropped: int = 0

    @property
    def prefill_rate(self) -> float | None:
        """Prompt tokens prefilled per second, or None if all were cached."""
        new = self.prompt_tokens - self.cached_tokens
        return new / self.prefill_s if new > 0 and self.prefill_s > 0 else None

    @property
    def decode_rate(self) -> float | None:
        """Generated tokens per second after the first, or None if fewer than two were generated."""
        later = self.generated_tokens - 1
        return later / self.decode_s if later > 0 and self.decode_s > 0 else None

    @property
    def tokens_per_round(self) -> float | None:
        """Mean tokens committed per round, or None without speculation."""
        return (self.accepted + self.rounds) / self.rounds if self.rounds else None

    @property
    def acceptance(self) -> float | None:
        """Acceptance rate: accepted per drafted token, or None if nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else None


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of every generation.

    Attributes:
        reason: why it ended.
        stats: its statistics.
        thinking_budget: the budget that gives the same answer where the thinking was ended early, else None.
    """

    reason: FinishReason
    stats: Stats
    thinking_budget: int | None = None


Event = Prefill | Token | Round | DrafterFailed | ConstraintFailed | ContextOverflow | Finished
