"""Model setup: which model suits this machine, and its download. Sockets are opened only by a running download."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from laguna_tui.base import units
from laguna_tui.base.network import Network
from laguna_tui.base.settings import Settings
from laguna_tui.base.units import memory, size
from laguna_tui.models.catalogue import load_catalogue, named_entry
from laguna_tui.models.download_progress import DownloadProgress
from laguna_tui.models.entry import ModelEntry
from laguna_tui.models.store import ModelState, Store, free_bytes

if TYPE_CHECKING:
    from laguna_tui.models.download import Download
    from laguna_tui.models.fit import ModelVerdict

_WHOLE = (ModelState.COMPLETE, ModelState.BUNDLED)
_TOO_SLOW = " At this speed answers come slower than you read them."


@dataclass(frozen=True, slots=True)
class SetupOffer:
    """A model offered for download. All texts are unsanitised.

    Attributes:
        machine: The detected machine, in a line.
        name: Of the model.
        title: Name to show.
        recommended: Whether it suits this machine.
        slow: Whether its answers would come slower than they are read; False if unknown.
        why: A sentence about how it runs here, or why it does not suit this machine.
        details: How it would be opened and why, a sentence each.
        memory: Bytes of memory that it takes while it is open; 0 if unknown.
        rate: Tokens per second; None if unknown.
        measured: Whether the rate is that of answers given here, and not computed.
        design: How its layers are built, in words; empty if unknown.
        pinned: Whether the catalogue gives the file's hash.
        others: The other models that suit this machine, each with its size and speed.
        license: Its licence.
        size: Bytes of the model and its drafter; None if unknown.
        have: Bytes of them on this machine.
        ready: Whether it can be opened now.
        offline: Whether the network must not be used.
        folder: The folder that it is downloaded to.
        free: Free bytes on the disk of that folder.
        has_room: Whether that is enough.
    """

    machine: str
    name: str
    title: str
    recommended: bool = True
    slow: bool = False
    why: str = ""
    details: tuple[str, ...] = ()
    memory: int = 0
    rate: float | None = None
    measured: bool = False
    design: str = ""
    pinned: bool = True
    others: tuple[str, ...] = ()
    license: str = ""
    size: int | None = None
    have: int = 0
    ready: bool = False
    offline: bool = False
    folder: str = ""
    free: int = 0
    has_room: bool = True

    @property
    def left(self) -> int | None:
        """Bytes that are still to be downloaded; None if unknown."""
        return None if self.size is None else max(self.size - self.have, 0)


def _alternative(found: "ModelVerdict") -> str:
    """Return a model in a line: its name, size, design and speed."""
    entry = found.entry
    return ", ".join(filter(None, (entry.title, size(entry.size) if entry.size else "", entry.design, found.speed)))


class ModelSetup:
    """Model setup on the catalogue, the store and the hub. Callable from any thread."""

    def __init__(self, settings: Settings, store: Store | None = None, endpoint: str | None = None) -> None:
        """endpoint: URL of a hub in place of HF_ENDPOINT's."""
        self._settings, self._store = settings, store or Store()
        self._endpoint, self._network = endpoint, Network(offline=settings.offline)

    def describe(self, name: str = "", *, measure: bool = True) -> SetupOffer:
        """Describe a model, without a name the one of the catalogue that suits this machine. Opens no socket.

        measure: Measure what the expected speed depends on, which takes two seconds once; else it may be unknown.
        """
        from laguna_engine.fit.decode_speed import known_rates, measured_rates
        from laguna_engine.fit.devices import read_machine
        from laguna_tui.models.download import RESERVE_BYTES
        from laguna_tui.models.fit import compared, plan_in_words

        catalogue, machine = load_catalogue(), read_machine()
        entry = named_entry(name, catalogue) if name else None
        rates = measured_rates(machine) if measure else known_rates(machine)
        verdicts = compared(catalogue, self._settings, machine, rates)
        chosen = next((each for each in verdicts if entry is None or each.entry.name == entry.name), verdicts[0])
        entry, plan = entry or chosen.entry, chosen.plan
        found = [self._store.status(each) for each in self._entries(entry.name, catalogue)]
        offer = SetupOffer(
            machine=machine.description,
            name=entry.name,
            title=entry.title,
            design=entry.design,
            license=entry.license,
            size=sum(status.bytes_total or 0 for status in found) or None,
            have=sum(status.bytes_have for status in found),
            ready=all(status.state in _WHOLE for status in found),
            offline=self._network.offline,
            folder=str(self._store.folder),
            free=free_bytes(self._store.folder),
            pinned=entry.source is None or entry.source.pinned,
            others=tuple(_alternative(each) for each in verdicts if each.suits and each.entry.name != entry.name),
        )
        offer = replace(offer, has_room=offer.free >= (offer.left or 0) + RESERVE_BYTES)
        if plan is None:
            return replace(offer, recommended=False, why=f"{chosen.refusal}.")
        return replace(
            offer,
            recommended=chosen.suits,
            slow=chosen.slow,
            why=f"It {plan_in_words(plan)}.{_TOO_SLOW if chosen.slow and not plan.paged else ''}",
            details=tuple(f"{each.subject}: {each.choice}. {each.text}" for each in plan.reasons),
            memory=plan.memory.total,
            rate=chosen.rate,
            measured=chosen.measured,
        )

    def is_missing(self, name: str) -> bool:
        """Return whether this is a model of the catalogue that can be downloaded and is not on this machine."""
        entry = load_catalogue().get(name)
        return entry is not None and entry.source is not None and self._store.path(entry) is None

    def larger_model(self, current: str) -> str:
        """Return what the model that suits this machine would need on it, as a sentence; empty if one like it is open.

        Opens no socket, and measures nothing: as long as the speed of other models may change which one suits, none is
        named.
        """
        from laguna_tui.models.fit import RECOMMENDED

        entry = load_catalogue().get(current)
        if entry is None or self._store.status(entry).state is not ModelState.BUNDLED:
            return ""
        offer = self.describe(measure=False)
        if offer.ready:
            return f"{offer.title}, a larger model, is downloaded: /setup switches to it."
        if not offer.memory:
            return f"For a larger model this machine has too little memory: {offer.why} /setup has details."
        if offer.rate is None and not (offer.recommended and offer.name == RECOMMENDED):
            return "/setup shows which larger model suits this machine, and how fast it would be."
        need = f"a download of {size(offer.size or 0)} and {memory(offer.memory)} of memory"
        speed = "" if offer.rate is None else f", at {'' if offer.measured else 'about '}{units.rate(offer.rate)}"
        fit = "; it suits this machine" if offer.recommended else "; it would be slow here" if offer.slow else ""
        return f"A larger model, {offer.title}, needs {need}{fit}{speed}. /setup has details."

    def fits(self, name: str, width: int) -> list[str]:
        """Return the fit of a model on this machine, for every context and KV cache, in lines of at most `width` cells.

        Args:
            name: Of the model; empty for the recommended one.

        Raises:
            EngineError, UserError: It cannot be computed.
        """
        from laguna_tui.models.fit import RECOMMENDED, fit_lines

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
