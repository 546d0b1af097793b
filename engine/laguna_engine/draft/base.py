"""The seam between who drafts and who decides: offers, drafts, and the two things every drafter does.

Deals in token ids; a drafter never decides whether its tokens stand.
"""

from dataclasses import dataclass
from typing import Protocol

from laguna_engine.events import Source

MAX_DRAFT = 16
"""Most tokens of any draft, and so of what one computation verifies beside the newest token. The widest block that
drafters are trained on; of copies after the best matches in code, 10 of 100 drafts of 16 are accepted to the end."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a drafter could do now, before it has done any work.

    kind: which record of experience applies, such as "dflash" or "suffix/8+". longest: the most tokens it could draft.
    """

    source: Source
    kind: str
    longest: int


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens.

    confidence: for each token the chance that it stands if those before it do, when the drafter knows. doubted: that of
    the first token that was left out for it, when some were.
    """

    tokens: list[int]
    confidence: list[float] | None = None
    doubted: float | None = None


class Drafter(Protocol):
    """Proposes the tokens that may follow what is committed. Engine thread only."""

    def offer(self) -> Offer | None:
        """What it could draft now; None for nothing."""
        ...

    def draft(self, length: int) -> Draft:
        """At most `length` tokens."""
        ...
