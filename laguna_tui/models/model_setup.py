"""Model setup: which model suits this machine, and its download. Sockets are opened only by a running download."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.network import Network
from laguna_tui.base.settings import Settings
from laguna_tui.base.units import size
from laguna_tui.models.catalogue import load_catalogue, named_entry
from laguna_tui.models.download_progress import DownloadProgress
from laguna_tui.models.entry import ModelEntry
from laguna_tui.models.store import ModelState, Store

if TYPE_CHECKING:
    from laguna_engine.fit.plan import Plan
    from laguna_tui.models.download import Download

RECOMMENDED = "xs-2.1"
_WHOLE = (ModelState.COMPLETE, ModelState.BUNDLED)


@dataclass(frozen=True, slots=True)
class SetupOffer:
    """A model offered for download. All texts are unsanitised.

    Attributes:
        machine: The detected machine, in a line.
        name: Of the model; "" when none is recommended.
        title: Name to show.
        why: Sentences.
        size: Bytes of the model and its drafter; None if unknown.
        have: Bytes of them on this machine.
        ready: Whether it can be opened now.
        offline: Whether the network must not be used.
    """

    machine: str
    name: str
    title: str
    why: tuple[str, ...]
    size: int | None = None
    have: int = 0
    ready: bool = False
    offline: bool = False


class ModelSetup:
    """Model setup on the catalogue, the store and the hub. Callable from any thread."""

    def __init__(self, settings: Settings, store: Store | None = None, endpoint: str | None = None) -> None:
        """endpoint: URL of a hub in place of HF_ENDPOINT's."""
        self._settings, self._store = settings, store or Store()
        self._endpoint, self._network = endpoint, Network(offline=settings.offline)

    def describe(self, name: str = "") -> SetupOffer:
        """Describe a model, the recommended one without a name. Opens no socket."""
        from laguna_engine.errors import EngineError
        from laguna_engine.fit.devices import read_machine
        from laguna_engine.fit.plan import choose_plan
        from laguna_tui.models.fit import model_to_fit

        catalogue, machine = load_catalogue(), read_machine()
        entry = catalogue[name or RECOMMENDED]
        found = [self._store.status(each) for each in self._entries(entry.name, catalogue)]
        sizes = [status.bytes_total for status in found]
        offer = SetupOffer(
            machine=machine.description,
            name=entry.name,
            title=entry.title,
            why=(),
            size=sum(size or 0 for size in sizes) or None,
            have=sum(status.bytes_have for status in found),
            ready=all(status.state in _WHOLE for status in found),
            offline=self._network.offline,
        )
        try:
            model = model_to_fit(entry.name, catalogue, replace(self._settings, model=entry.name, drafter=None))
            plan = choose_plan(model.shape, model.drafter, machine)
        except (EngineError, UserError) as error:
            return _unsuited(offer, str(error), by_name=bool(name))
        if plan.paged:
            return _unsuited(offer, f"{entry.title} would run from disk here, at a word a minute", by_name=bool(name))
        return replace(offer, why=_reasons(plan))

    def larger_model(self, current: str) -> str:
        """Return what the recommended model would need on this machine, as a sentence; empty if one like it is open.

        Opens no socket.
        """
        entry = load_catalogue().get(current)
        if entry is None or self._store.status(entry).state is not ModelState.BUNDLED:
            return ""
        offer = self.describe(RECOMMENDED)
        if offer.ready:
            return f"{offer.title}, a larger model, is downloaded. F8 switches to it."
        return f"A larger model: {offer.title}, {size(offer.size or 0)} to download. {offer.why[0]} F8 says more."

    def fits(self, name: str, width: int) -> list[str]:
        """Return the fit of a model on this machine, for every context and KV cache, in lines of at most `width` cells.

        Args:
            name: Of the model; empty for the recommended one.

        Raises:
            EngineError, UserError: It cannot be computed.
        """
        from laguna_tui.models.fit import fit_lines

        return fit_lines(name or RECOMMENDED, self._settings, width)

    def fetch(self, name: str, progress: Callable[[DownloadProgress], None]) -> "Download":
        """Prepare a download of a model and its drafter; `progress` is called on the thread of its `run`."""
        from laguna_tui.models.download import Download
        from laguna_tui.models.hub import Hub

        entries = self._entries(name, load_catalogue())
        return Download(entries, progress, store=self._store, hub=Hub(self._endpoint, network=self._network))

    def discard(self, name: str) -> None:
        """Remove the received bytes of an incomplete model."""
        for entry in self._entries(name, load_catalogue()):
            if self._store.status(entry).state is ModelState.PARTIAL:
                self._store.remove(entry)

    def _entries(self, name: str, catalogue: Mapping[str, ModelEntry]) -> list[ModelEntry]:
        """Return the model and its recommended drafter."""
        from laguna_tui.models.download import with_drafters

        return with_drafters([named_entry(name, catalogue)], catalogue, self._store)


def _reasons(plan: "Plan") -> tuple[str, ...]:
    """Return the reasons that decide speed and usability, a sentence each."""
    from laguna_tui.models.fit import plan_in_words

    weighty = [reason for reason in plan.reasons if reason.subject in ("layers", "KV cache", "drafter")]
    return (f"It {plan_in_words(plan)}.", *(f"{each.subject}: {each.choice}. {each.text}" for each in weighty))


def _unsuited(offer: SetupOffer, why: str, *, by_name: bool) -> SetupOffer:
    """Return the offer with the reason against it. A model requested by name can be downloaded all the same."""
    small = "This machine can only run small models, such as the bundled one."
    return replace(offer, name=offer.name if by_name else "", why=(f"{why}.", *(() if by_name else (small,))))
