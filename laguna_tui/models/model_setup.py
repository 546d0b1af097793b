"""Setting up a model: what suits this machine, and its download. Only a download that runs opens a socket."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.network import Network
from laguna_tui.base.settings import Settings
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.download_progress import DownloadProgress
from laguna_tui.models.entry import ModelEntry
from laguna_tui.models.hub import Hub
from laguna_tui.models.store import ModelState, Store

if TYPE_CHECKING:
    from laguna_engine.fit.plan import Plan
    from laguna_tui.models.download import Download

RECOMMENDED = "xs-2.1"
_WHOLE = (ModelState.COMPLETE, ModelState.BUNDLED)


@dataclass(frozen=True, slots=True)
class SetupOffer:
    """A model that could be got. All texts are raw.

    machine: what was found, in a line. name, title: of the model; name is "" when none is recommended. why: sentences.
    size, have: bytes of everything that belongs to it, and those that are here; size is None if nobody knows.
    ready: it can be opened now. offline: nothing may be fetched.
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
    """The catalogue, the store and the hub, for the setup screen. Any thread may call it."""

    def __init__(self, settings: Settings, store: Store | None = None, endpoint: str | None = None) -> None:
        """endpoint: of another hub than the one that HF_ENDPOINT names."""
        self._settings, self._store = settings, store or Store()
        self._hub = Hub(endpoint, network=Network(offline=settings.offline))

    def look(self, name: str = "") -> SetupOffer:
        """What there is to say about a model; without a name, about the one to recommend. Opens no socket."""
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
            offline=self._hub.network.offline,
        )
        try:
            model = model_to_fit(entry.name, catalogue, replace(self._settings, model=entry.name, drafter=None))
            plan = choose_plan(model.shape, model.drafter, machine)
        except (EngineError, UserError) as error:
            return _unsuited(offer, str(error), asked=bool(name))
        if plan.paged:
            return _unsuited(offer, f"{entry.title} would only run from disk here, a word a minute", asked=bool(name))
        return replace(offer, why=_reasons(plan))

    def fits(self, name: str, width: int) -> list[str]:
        """Whether a model fits here, with every context and cache, as lines of at most `width` cells.

        Args:
            name: of the model; empty for the recommended one.

        Raises:
            EngineError, UserError: why that cannot be told.
        """
        from laguna_tui.models.fit_report import fit_lines

        return fit_lines(name or RECOMMENDED, self._settings, width)

    def fetch(self, name: str, progress: Callable[[DownloadProgress], None]) -> "Download":
        """A download of a model and its drafter, as one; `progress` is called on the thread that runs it."""
        from laguna_tui.models.download import Download

        entries = self._entries(name, load_catalogue())
        return Download(entries, progress, store=self._store, hub=self._hub)

    def discard(self, name: str) -> None:
        """Let go what has arrived of a model that is not whole."""
        for entry in self._entries(name, load_catalogue()):
            if self._store.status(entry).state is ModelState.PARTIAL:
                self._store.remove(entry)

    def _entries(self, name: str, catalogue: Mapping[str, ModelEntry]) -> list[ModelEntry]:
        """The model and the drafter that is recommended for it."""
        from laguna_tui.models.download import with_drafters

        if name not in catalogue:
            raise UserError(f"{name}: no model of that name; there are: {', '.join(catalogue)}")
        return with_drafters([catalogue[name]], catalogue, self._store)


def _reasons(plan: "Plan") -> tuple[str, ...]:
    """What decides about speed and use, a sentence each."""
    from laguna_tui.models.fit import plan_in_words

    weighty = [reason for reason in plan.reasons if reason.subject in ("layers", "KV cache", "drafter")]
    return (f"It {plan_in_words(plan)}.", *(f"{each.subject}: {each.choice}. {each.text}" for each in weighty))


def _unsuited(offer: SetupOffer, why: str, *, asked: bool) -> SetupOffer:
    """The honest sentence. A model that was asked for by name can be had all the same."""
    small = "This machine runs only small models, such as the one that is here."
    return replace(offer, name=offer.name if asked else "", why=(f"{why}.", *(() if asked else (small,))))
