"""The drafter protocol: what a drafter is asked, what it hears of the sequence, and how it is opened.

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
"""Draws one of the candidates, whose ids and logits come likeliest first, for a position; returns its id."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of draft: one drafter may make several, each with costs and an acceptance of its own.

    Attributes:
        name: what its statistics are kept under, also from session to session; it begins with the drafter's name.
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
    """What a drafter could do now, before it has done any work. longest: the most tokens it could draft."""

    source: Source
    kind: Kind
    longest: int


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens.

    confidence: for each token the chance that it is accepted if those before it are, when the drafter knows. doubted:
    that of the first token that was left out for it, when some were.
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
        choose: draws a token with the answer's own noise, if drafts are to be sampled; None for the likeliest tokens.
        remembered: what this drafter remembered at the last checkpoint up to `keep`, if it did.
        constraints: what the answer's tokens may be; None for anything.
    """

    keep: int
    length: int
    adapter: str | None = None
    files: tuple[Sequence[int], ...] = ()
    choose: Choose | None = None
    remembered: "DrafterSnapshot | None" = None
    constraints: "Constraints | None" = None


class Drafter(Protocol):
    """Proposes the tokens that may follow those committed.

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
        """What it could draft now; None for nothing. Asked nearly every round, so it should take microseconds."""
        ...

    def draft(self, length: int) -> Draft:
        """At most `length` tokens."""
        ...

    def extend(self, tokens: Sequence[int]) -> None:
        """`tokens`, at least one, were committed: those of a prompt, or those of a round."""
        return

    def truncate(self, length: int) -> None:
        """Positions from `length` on left the KV cache, and tokens from there on are no longer committed.

        After a rejected draft that is beyond what is committed: `extend` comes next, with the accepted part.
        """
        return

    def begin(self, request: DraftRequest) -> int:
        """A request comes, after `truncate` and `extend` have brought the prompt: how many cached tokens to keep.

        Less than `request.keep` makes the target compute the others once more. RequestError if the request asks for
        what the drafter cannot do.
        """
        return request.keep

    def pause(self, request: DraftRequest) -> None:
        """A request without drafts begins."""
        return

    def prefill_part(self, position: int, size: int) -> tuple[int, bool]:
        """How many tokens of a prompt to compute at once from `position` on, at most `size`, and whether all of them
        need outputs. Unless `position` is 0, a device is busy with the part before meanwhile."""
        return size, False

    def make_room(self, rows: int) -> None:
        """The features of the next `rows` positions are about to be written: over others, `rows` of the ring before."""
        return

    def observe(self, start: int, count: int, rows: int) -> None:
        """The target computed `count` tokens from position `start` on, and wrote `rows` rows of features: those beyond
        `count` are of no use."""
        return

    def after_round(self) -> None:
        """A round is over; what is done here is not counted as the cost of a draft."""
        return

    def remember(self, length: int) -> "DrafterSnapshot | None":
        """What it knows of `length` cached positions, for a checkpoint; None unless that is all that matters."""
        return None

    def restored(self, length: int, remembered: "DrafterSnapshot | None") -> None:
        """The KV cache was filled with `length` positions from outside, without features of them, after `truncate(0)`
        and `extend`. remembered: what this drafter once remembered of them, None if that was not kept."""
        return

    def close(self) -> None:
        """Free what it holds; harmless when repeated. Also called when it is switched off."""
        return


@dataclass(frozen=True, slots=True)
class DraftTarget:
    """The open target, as far as a drafter may use it.

    Attributes:
        header: of its file.
        sequence: its committed tokens and their position, which drafters read there and keep no copy of.
        backend: the device that its logits lie on.
        head: its output matrix on that device, where that is known.
        features: F32 [n_embd * layers, rows], outputs of the layers that were asked for; None for whoever asked for
            none. Position p lies in row p % rows.
        outputs: if its last layer was asked for, how many rows with outputs one decode may have.
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
    """A drafter in the registry.

    Attributes:
        source: its name.
        plan: from the options and the target's header to what is to be opened; None where it does not apply.
            ModelFileError if the user named a file that does not belong to the target.
    """

    source: Source
    plan: Callable[["EngineOptions", "Header"], DrafterPlan | None]
