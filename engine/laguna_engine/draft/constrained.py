"""Drafts where a constraint leaves hardly any choice: the rest of a name, a path or a quoted text, the tags between."""

from laguna_engine.constrain.base import Constraints
from laguna_engine.draft.base import MAX_DRAFT, Draft, Drafter, DrafterEntry, DrafterPlan, DraftRequest, Kind, Offer
from laguna_engine.events import CONSTRAINED

_KIND = Kind("constrained", prior=0.8, label="constraint", drafting="what the constraint leaves, {tokens}")


class ConstrainedDrafter(Drafter):
    """Proposes what the request's constraints say comes next."""

    source = CONSTRAINED

    def __init__(self) -> None:
        self._constraints: Constraints | None = None
        self._coming: list[int] = []

    def begin(self, request: DraftRequest) -> int:
        self._constraints = request.constraints
        return request.keep

    def pause(self, request: DraftRequest) -> None:
        self._constraints = None

    def offer(self) -> Offer | None:
        if self._constraints is None:
            return None
        self._coming = self._constraints.draft(MAX_DRAFT)
        return Offer(self.source, _KIND, len(self._coming)) if self._coming else None

    def draft(self, length: int) -> Draft:
        return Draft(self._coming[:length])


ENTRY = DrafterEntry(
    ConstrainedDrafter.source, lambda _options, _header: DrafterPlan(lambda _target: ConstrainedDrafter())
)
