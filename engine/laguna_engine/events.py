"""What the engine says while it works: frozen values, produced on the engine thread, safe to share.

`Engine.generate` yields `Prefill`* then (`Token` | `Round`)* and ends with exactly one `Finished`; a request that
does not fit yields `ContextOverflow` right before its `Finished`. `DrafterFailed` may come anywhere before that. Times
are seconds, counts are tokens.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Source:
    """Who proposed a token: a drafter, or the target, which alone decides what is accepted.

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


class FinishReason(Enum):
    """Why a generation ended."""

    STOP_TOKEN = "stop_token"
    STOP_TEXT = "stop_text"
    MAX_TOKENS = "max_tokens"
    CONTEXT_FULL = "context_full"
    CANCELLED = "cancelled"


class Cause(Enum):
    """What was computed in batches of another width: a draft and the token before it, or the prompt (`replay`)."""

    VERIFIED = "verified"
    READ = "read"


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far opening the engine has come; `fraction` is of the named stage, 0 to 1."""

    stage: str
    fraction: float


@dataclass(frozen=True, slots=True)
class Prefill:
    """How much of the prompt is in the KV cache: `cached` was there already, `done` of `total` is there now."""

    done: int
    total: int
    cached: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Token:
    """One committed token.

    `text` is what this token completes: empty while a multi-byte character is still open, and never a
    half character. A token that ends the generation has no text; other special tokens have their literal
    text (their bytes are `Vocab.piece(id)`). `index` counts from 0 within the generation.
    """

    id: int
    text: str
    source: Source
    index: int


@dataclass(frozen=True, slots=True)
class Round:
    """One draft-verify round; it comes before the tokens it committed. Without speculation none are reported.

    drafter: who drafted, None when nobody did. drafted, accepted: tokens proposed, and how many of them (a prefix)
    stand; the round commits one more, which is the target's own. draft_s: making the draft, taking in features
    included. verify_s: the target's computation. sample_s: picking tokens from its rows. total_s: the whole round; the
    rest of it is the engine's own. rejected: the text of what was drafted and does not stand. reason: why this drafter
    and this length, or why none, as a sentence fragment for the user ("off: would cost 12 % here").
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


@dataclass(frozen=True, slots=True)
class DrafterFailed:
    """A drafter failed and drafts no more until the model is opened again; the answer goes on, and is the same.

    problem: what it failed of, as a sentence fragment.
    """

    drafter: Source
    problem: str

    @property
    def sentence(self) -> str:
        """What the user is told; a front end adds what to do there."""
        return f"{self.drafter.title} failed ({self.problem}) and is switched off; answers are the same, only slower."


@dataclass(frozen=True, slots=True)
class ContextOverflow:
    """The prompt (`needed` tokens, with room for at least one more) does not fit in `capacity`."""

    needed: int
    capacity: int


@dataclass(frozen=True, slots=True)
class Stats:
    """What one generation cost. Rates are derived, so that they cannot disagree with the counts.

    rounds, drafted, accepted: of speculative decoding; rounds is 0 without it. seed: the one that was used, so that the
    answer can be made again; None when nothing was drawn.
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

    @property
    def prefill_rate(self) -> float | None:
        """Prompt tokens computed per second, or None when everything was cached."""
        new = self.prompt_tokens - self.cached_tokens
        return new / self.prefill_s if new > 0 and self.prefill_s > 0 else None

    @property
    def decode_rate(self) -> float | None:
        """Generated tokens per second after the first, or None when fewer than two were generated."""
        later = self.generated_tokens - 1
        return later / self.decode_s if later > 0 and self.decode_s > 0 else None

    @property
    def tokens_per_round(self) -> float | None:
        """Mean tokens committed by one round, or None without speculation."""
        return (self.accepted + self.rounds) / self.rounds if self.rounds else None

    @property
    def acceptance(self) -> float | None:
        """Share of the drafted tokens that stood, or None when nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else None


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of every generation."""

    reason: FinishReason
    stats: Stats


Event = Prefill | Token | Round | DrafterFailed | ContextOverflow | Finished
