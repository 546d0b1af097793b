"""The seam between a constraint and the sampler: one mask for each row, in the order in which tokens are sampled.

Rows of a draft need no state of their own. The target's token of one row is sampled before that of the next, and every
sampled token is committed, so a constraint that is advanced by each sampled token always describes the next row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RowMask:
    """What one row allows.

    Attributes:
        forced: the only token allowed; it needs no logits. None if others are allowed too.
        banned: the tokens that are not allowed.
    """

    forced: int | None = None
    banned: frozenset[int] = frozenset()


FREE = RowMask()
"""Every token is allowed."""


class Constraint(Protocol):
    """What the next token may be, after the tokens before it. Engine thread only.

    Attributes:
        most_banned: the most tokens that a mask bans: so many candidates are read besides those that sampling needs.
    """

    most_banned: int

    def mask(self) -> RowMask:
        """What the next token may be."""
        ...

    def advance(self, token: int) -> None:
        """`token` is the next one."""
        ...

    def free_rows(self) -> int | None:
        """Tokens until one is forced, if none of them opens or closes anything; None for no such token.

        A longer draft is cut there, because what follows a forced token was drafted after another one.
        """
        ...


def combined(constraints: Sequence[Constraint]) -> Constraint | None:
    """One constraint that holds all of them; a token that an earlier one forces is not banned by a later one."""
    return _Combined(constraints) if len(constraints) > 1 else next(iter(constraints), None)


class _Combined:
    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self._constraints = tuple(constraints)
        self.most_banned = sum(each.most_banned for each in constraints)

    def mask(self) -> RowMask:
        masks = [each.mask() for each in self._constraints]
        forced = next((mask.forced for mask in masks if mask.forced is not None), None)
        return RowMask(forced, frozenset().union(*(mask.banned for mask in masks)))

    def advance(self, token: int) -> None:
        for each in self._constraints:
            each.advance(token)

    def free_rows(self) -> int | None:
        limits = [limit for each in self._constraints if (limit := each.free_rows()) is not None]
        return min(limits, default=None)
