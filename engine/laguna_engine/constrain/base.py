"""The seam between a constraint and the sampler: one mask for each row, in the order in which tokens are sampled.

The target's token of one row is sampled before that of the next, and every sampled token is committed, so a constraint
that is advanced by each sampled token always describes the next row, also inside a draft: nothing has to be taken back.
A `fork` describes what a draft would lead to before it is verified.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from laguna_engine.errors import RequestError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_Result = TypeVar("_Result")


class AllowedTokens(Protocol):
    """The tokens allowed in a row. Valid until the constraint advances."""

    def passing(self, candidates: "NDArray[np.int32]") -> "NDArray[np.bool_]":
        """Return whether each of `candidates` is allowed, bool of the same shape [n]."""
        ...

    def every(self) -> "NDArray[np.int32]":
        """Return all allowed tokens, without duplicates; slow."""
        ...


@dataclass(frozen=True, slots=True)
class RowMask:
    """The tokens that a row of logits allows.

    Attributes:
        forced: the only token allowed; it needs no logits. None if others are allowed too.
        banned: tokens that are not allowed.
        allowed: the only tokens allowed; None for all.
        least: share of the probability that `allowed` must have; 0 for none. If it has less, the constraint has to
            `relax`, because the model means something else.
        wide: whether `allowed` is nearly everything, so that the row does not count as constrained.
    """

    forced: int | None = None
    banned: frozenset[int] = frozenset()
    allowed: AllowedTokens | None = None
    least: float = 0.0
    wide: bool = False


FREE = RowMask()
"""Every token is allowed."""


class Vocabulary(Protocol):
    """The vocabulary as constraints see it."""

    size: int

    @property
    def eog(self) -> frozenset[int]:
        """Tokens that end an answer."""
        ...

    @property
    def pieces(self) -> Sequence[bytes]:
        """The bytes of every token, by id; empty for special tokens."""
        ...

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token; for a special token, its text."""
        ...

    def is_control(self, token: int) -> bool:
        """Return whether `token` is special rather than text."""
        ...

    def id_of(self, text: str) -> int | None:
        """Return the special token whose text is exactly `text`, or None."""
        ...

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Return the tokens of `text`, special ones only if `special`."""
        ...


class Constraint(Protocol):
    """Restricts the next token by the tokens before it. Engine thread only.

    Only `mask`, `advance` and `fork` are needed. A method that raises ends the constraint with a warning; the answer
    continues without it.
    """

    def mask(self) -> RowMask:
        """Return the tokens that may come next."""
        ...

    def advance(self, token: int) -> None:
        """Follow the sampled `token`, which may not have been allowed if another constraint was relaxed."""
        ...

    def fork(self) -> "Constraint":
        """Return a copy that is advanced on its own."""
        ...

    def relax(self) -> None:
        """Allow more from now on, because the last mask allowed too little of the probability or no token."""
        return

    def free_rows(self) -> int | None:
        """Return the number of tokens until one is forced; None if none will be. Drafts are not longer than that."""
        return None

    def draft(self, most: int) -> list[int]:
        """Return up to `most` likely next tokens if there is little choice."""
        return []


class ConstraintSpec(Protocol):
    """A constraint of a request, before the request runs: an immutable value, shared between threads."""

    def begin(self, vocabulary: Vocabulary, prompt: Sequence[int]) -> Constraint:
        """Begin the constraint after `prompt`, for one generation; RequestError if that is impossible."""
        ...


@dataclass(frozen=True, slots=True)
class Continued:
    """A constraint of an answer whose beginning is already in the prompt.

    Attributes:
        spec: the constraint.
        tokens: of the answer, at the end of the prompt.
    """

    spec: ConstraintSpec
    tokens: int

    def begin(self, vocabulary: Vocabulary, prompt: Sequence[int]) -> Constraint:
        begins = len(prompt) - self.tokens
        constraint = self.spec.begin(vocabulary, prompt[:begins])
        for token in prompt[begins:]:
            constraint.advance(token)
        return constraint


class ConstraintError(Exception):
    """A constraint failed while a row was masked by it."""


class Constraints:
    """All constraints of a request as one; a token that an earlier one forces is not banned by a later one.

    One that raises is left out from then on, and reported once by `failures`.

    Attributes:
        constrained: sampled tokens of rows in which only some tokens were allowed.
        dropped: how often a constraint was relaxed.
    """

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self._constraints = tuple(constraints)
        self._failures: list[str] = []
        self._masked: list[bool] = []
        self.constrained = self.dropped = 0

    @classmethod
    def begun(
        cls,
        constraints: Sequence[Constraint],
        specs: Sequence[ConstraintSpec],
        vocabulary: Vocabulary,
        prompt: Sequence[int],
    ) -> Self:
        """Begin `constraints` and those of `specs` after `prompt`; RequestError for one that is impossible."""
        begun, failures = list(constraints), []
        for spec in specs:
            try:
                begun.append(spec.begin(vocabulary, prompt))
            except RequestError:
                raise
            except Exception as error:
                failures.append(_described(spec, error))
        made = cls(begun)
        made._failures += failures
        return made

    def mask(self) -> RowMask:
        found = [self._try(each, each.mask) for each in self._constraints]
        masks = [mask for mask in found if mask is not None and mask is not FREE]
        if not masks:
            return FREE
        return masks[0] if len(masks) == 1 else _combined(masks)

    def advance(self, token: int) -> None:
        for each in self._constraints:
            self._try(each, each.advance, token)

    def sampled(self, token: int, mask: RowMask) -> None:
        """Follow `token`, which was sampled under `mask`."""
        narrowed = mask.allowed is not None and not mask.wide
        self._masked.append(narrowed)
        self.constrained += narrowed
        self.advance(token)

    def take_masked(self) -> list[bool]:
        """Return for each token sampled since the last call whether only some were allowed in its row."""
        masked, self._masked = self._masked, []
        return masked

    def relax(self) -> None:
        """Have the constraints that allow only some tokens allow more."""
        self.dropped += 1
        for each in self._constraints:
            before = self._try(each, each.mask)
            if before is None or before.allowed is None:
                continue
            self._try(each, each.relax)
            after = self._try(each, each.mask)
            if after is not None and after.allowed is not None and after.least >= before.least:
                self._fail(each, ConstraintError("it allows no token"))

    def fail(self, error: Exception) -> None:
        """Leave out the constraints that allow only some tokens, because asking for these raised `error`."""
        for each in self._constraints:
            mask = self._try(each, each.mask)
            if mask is not None and mask.allowed is not None:
                self._fail(each, error)

    def fork(self) -> Self:
        forks = [fork for each in self._constraints if (fork := self._try(each, each.fork)) is not None]
        return type(self)(forks)

    def admitted(self, draft: Sequence[int]) -> int:
        """Return how many tokens of `draft` may be accepted: up to the first that is not allowed."""
        ahead = self.fork()
        for place, token in enumerate(draft):
            if not _admits(ahead.mask(), token):
                return place
            ahead.advance(token)
        return len(draft)

    def free_rows(self) -> int | None:
        """Return the number of tokens until one is forced; None if none will be."""
        limits = [rows for each in self._constraints if (rows := self._try(each, each.free_rows)) is not None]
        return min(limits, default=None)

    def draft(self, most: int) -> list[int]:
        """Return up to `most` tokens that probably come next; empty where no constraint knows."""
        drafts = (self._try(each, each.draft, most) for each in self._constraints)
        return next((draft for draft in drafts if draft), [])

    def failures(self) -> list[str]:
        """Return what failed since the last call, as sentence fragments."""
        failures, self._failures = self._failures, []
        return failures

    def _try(self, constraint: Constraint, call: Callable[..., _Result], *given: object) -> _Result | None:
        try:
            return call(*given)
        except Exception as error:
            self._fail(constraint, error)
            return None

    def _fail(self, constraint: Constraint, error: Exception) -> None:
        self._constraints = tuple(each for each in self._constraints if each is not constraint)
        self._failures.append(_described(constraint, error))


def _described(failed: object, error: Exception) -> str:
    cause = error.__cause__ or error
    return f"{type(failed).__name__}: {str(cause) or type(cause).__name__}"


def _admits(mask: RowMask, token: int) -> bool:
    """Return whether `mask` allows `token`, as far as that is known without logits."""
    if mask.forced is not None:
        return token == mask.forced
    if token in mask.banned:
        return False
    return mask.allowed is None or _passes(mask.allowed, token)


def _passes(allowed: AllowedTokens, token: int) -> bool:
    import numpy as np

    try:
        return bool(allowed.passing(np.array([token], np.int32))[0])
    except Exception:
        # A broken constraint is found out where its row is sampled.
        return False


def _combined(masks: Sequence[RowMask]) -> RowMask:
    forced = next((mask.forced for mask in masks if mask.forced is not None), None)
    narrow = [mask.allowed for mask in masks if mask.allowed is not None]
    allowed = None if not narrow else narrow[0] if len(narrow) == 1 else _Intersection(narrow)
    banned = frozenset().union(*(mask.banned for mask in masks))
    wide = all(mask.wide for mask in masks if mask.allowed is not None)
    return RowMask(forced, banned, allowed, max(mask.least for mask in masks), wide)


class _Intersection:
    """The tokens that all of several sets allow."""

    def __init__(self, parts: Sequence[AllowedTokens]) -> None:
        self._parts = parts

    def passing(self, candidates: "NDArray[np.int32]") -> "NDArray[np.bool_]":
        first, *others = (part.passing(candidates) for part in self._parts)
        for other in others:
            first = first & other
        return first

    def every(self) -> "NDArray[np.int32]":
        tokens = self._parts[0].every()
        return tokens[self.passing(tokens)]
