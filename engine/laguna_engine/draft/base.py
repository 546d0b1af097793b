"""The drafter protocol: what is requested of a drafter, what is reported to it, and how it is opened.

Deals in token ids; a drafter never decides whether its tokens are accepted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from laguna_engine.events import Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from laguna_engine.checkpoints import DrafterSnapshot
    from laguna_engine.config import EngineOptions
    from laguna_engine.constrain.base import Constraints
    from laguna_engine.ggml.device import ComputeBackend
    from laguna_engine.ggml.tensor import Tensor
    from laguna_engine.gguf.header import Header
    from laguna_engine.sequence import TokenSequence

MAX_DRAFT = 16
"""Most tokens of any draft, and so of what one computation verifies beside the newest token. The widest block that
drafters are trained on; of copies after the best matches in code, 10 of 100 drafts of 16 are accepted to the end."""

PRIOR = 0.7
"""First guess at how often the first token of a draft is accepted, for drafters that make none themselves."""

CATCH_UP = 1024
"""Tokens to read beside each micro-batch of a prompt, and after a round while behind: 7 ms of a suffix automaton."""

Choose = Callable[["NDArray[np.int32]", "NDArray[np.float32]", int], int]
"""Draws one of the candidates for a position; takes their ids and logits, most likely first, and returns the id."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of draft: one drafter may make several, each with its own costs and acceptance.

    Attributes:
        name: key of its statistics, also from session to session; it begins with the drafter's name.
        prior: first guess at how often its first token is accepted, 0 to 1, until that was measured.
        alone: accepted so often that no other drafter is considered beside it.
        label: what is tried, in "trying LABEL again"; `name` if empty.
        drafting: what is done, in "DRAFTING: 1.3x expected", where {count} is the draft's length and {tokens} the same
            with its noun ("1 token", "2 tokens"); the label and {tokens} if empty.
    """

    name: str
    prior: float = PRIOR
    alone: bool = False
    label: str = ""
    drafting: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a drafter could draft now, before it has done any work.

    Attributes:
        longest: the most tokens it could draft.
    """

    source: Source
    kind: Kind
    longest: int


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens.

    Attributes:
        confidence: for each token the chance that it is accepted if those before it are; None if unknown.
        doubted: the confidence in the first token that was cut off; None if none was.
    """

    tokens: list[int]
    confidence: list[float] | None = None
    doubted: float | None = None


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """A request as a drafter sees it.

    Attributes:
        keep: tokens of the prompt that are in the KV cache.
        length: tokens of the whole prompt.
        adapter: the adapter to draft with, None for the drafter as it is.
        files: tokens of the files that are open or were read, latest last.
        choose: draws a token with the answer's own noise, if drafts are to be sampled; None for the most likely tokens.
        snapshot: this drafter's own at the last checkpoint up to `keep`, if there is one.
        constraints: what the answer's tokens may be; None for anything.
    """

    keep: int
    length: int
    adapter: str | None = None
    files: tuple[Sequence[int], ...] = ()
    choose: Choose | None = None
    snapshot: "DrafterSnapshot | None" = None
    constraints: "Constraints | None" = None


class Drafter(Protocol):
    """Proposes the tokens that may follow the committed ones.

    Only `source`, `offer` and `draft` are needed; a class that inherits from this one does nothing in the other hooks.
    All run on the engine thread. A hook that raises switches the drafter off: the answer continues, with a warning.

    Attributes:
        source: its name, label and colour.
        description: one line about what was opened, such as "DFlash, 5 layers"; empty if there is nothing to say.
    """

    source: Source
    description: str = ""

    @property
    def nbytes(self) -> int:
        """Bytes on the target's device; 0 for a drafter that computes nothing there."""
        return 0

    def offer(self) -> Offer | None:
        """Return what it could draft now, None for nothing. Called nearly every round: it should take microseconds."""
        ...

    def draft(self, length: int) -> Draft:
        """Return at most `length` tokens."""
        ...

    def extend(self, tokens: Sequence[int]) -> None:
        """Follow the commit of `tokens`, at least one: those of a prompt, or those of a round."""
        return

    def truncate(self, length: int) -> None:
        """Follow a cut: positions from `length` on left the KV cache, and tokens from there on are not committed.

        After a rejected draft `length` is beyond what is committed: `extend` comes next, with the accepted part.
        """
        return

    def begin(self, request: DraftRequest) -> int:
        """Start a request, whose prompt `truncate` and `extend` have brought; return how many cached tokens to keep.

        Less than `request.keep` makes the target compute the others once more. RequestError if the request needs what
        the drafter cannot do.
        """
        return request.keep

    def pause(self, request: DraftRequest) -> None:
        """Start a request without drafts."""
        return

    def prefill_part(self, position: int, size: int) -> tuple[int, bool]:
        """Return how many prompt tokens to compute at once from `position` on, and whether all of them need outputs.

        At most `size`. Unless `position` is 0, a device is busy with the part before meanwhile.
        """
        return size, False

    def make_room(self, rows: int) -> None:
        """Prepare for the features of the next `rows` positions, which overwrite the oldest rows of the ring."""
        return

    def observe(self, start: int, count: int, rows: int) -> None:
        """Follow a computation of `count` tokens from position `start` on, which wrote `rows` rows of features.

        Those beyond `count` are of no use.
        """
        return

    def after_round(self) -> None:
        """Do what should not count as the cost of a draft, after a round."""
        return

    def snapshot(self, length: int) -> "DrafterSnapshot | None":
        """Return what it knows of `length` cached positions, for a checkpoint; None unless that is all that matters."""
        return None

    def restored(self, length: int, snapshot: "DrafterSnapshot | None") -> None:
        """Follow a restore of `length` positions from outside, without features, after `truncate(0)` and `extend`.

        Args:
            length: positions in the KV cache.
            snapshot: this drafter's own of those positions, None if it was not saved.
        """
        return

    def close(self) -> None:
        """Free what it holds. Idempotent. Also called when it is switched off."""
        return


@dataclass(frozen=True, slots=True)
class DraftTarget:
    """The open target, as far as a drafter may use it.

    Attributes:
        header: of its file.
        sequence: its committed tokens and their position, which drafters read there and do not copy.
        backend: the device of its logits.
        head: its output matrix on that device, where it is known.
        features: F32 [n_embd * layers, rows], outputs of the layers that were requested; None if none were. Position p
            is row p % rows.
        outputs: if its last layer was requested, how many rows with outputs one decode may have.
        warn: reports a sentence to the user.
    """

    header: "Header"
    sequence: "TokenSequence"
    backend: "ComputeBackend"
    head: "Tensor | None"
    features: "Tensor | None"
    outputs: int | None
    warn: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class DrafterPlan:
    """A drafter that is to be opened as soon as its target is.

    Attributes:
        open: opens it; None if it is left out after all, with a warning.
        layers: the target's layers whose outputs it reads. One drafter of an engine can read any.
        spare_rows: rows of features to hold beside those of one micro-batch.
        last_layer_outputs: rows of a prompt that need outputs at once if it reads the last layer.
    """

    open: Callable[[DraftTarget], Drafter | None]
    layers: tuple[int, ...] = ()
    spare_rows: int = 0
    last_layer_outputs: int = MAX_DRAFT + 1


@dataclass(frozen=True, slots=True)
class DrafterEntry:
    """A drafter in `loader.DRAFTERS`.

    Attributes:
        source: its name.
        plan: returns what is to be opened for some options and a target; None where it does not apply. ModelFileError
            if the user named a file that does not belong to the target.
    """

    source: Source
    plan: Callable[["EngineOptions", "Header"], DrafterPlan | None]
