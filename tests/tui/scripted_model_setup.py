"""A scripted model setup in place of catalogue, store and hub. A download proceeds as far as the test lets it."""

import threading
from collections.abc import Callable
from dataclasses import replace

from laguna_tui.base.errors import UserError
from laguna_tui.models.download import DownloadOutcome
from laguna_tui.models.download_progress import DownloadPhase, DownloadProgress
from laguna_tui.models.model_setup import SetupOffer

GB = 10**9
OFFER = SetupOffer(
    machine="RTX 3090, 22.1 of 23.6 GiB free; 55.0 of 62.7 GiB of RAM free; 8 cores",
    name="xs-2.1",
    title="Laguna XS 2.1",
    why="It fits on the GPU with 64 K tokens of context.",
    details=("layers: all on CUDA0. All 40 layers fit there: 18.9 GiB.", "drafter: on. It takes 0.9 GiB."),
    memory=21 << 30,
    rate=84.0,
    design="mixture of experts",
    license="OpenMDW-1.1",
    size=21 * GB,
    folder="/home/user/.local/share/laguna-tui/models",
    free=90 * GB,
)
LARGER = "A larger model: Laguna XS 2.1, 21.0 GB to download. /setup has details."
HALFWAY = DownloadProgress(DownloadPhase.TRANSFER, 7 * GB, 21 * GB, 42e6, 333.0, "Laguna-XS-2.1-Q4_K_M.gguf")


class ScriptedModelSetup:
    """Each fetch tells `HALFWAY` and waits for `go_on`, then ends as the next of `ends` says (the last one again)."""

    def __init__(self, offer: SetupOffer = OFFER, *ends: Exception | None) -> None:
        self.offer = offer
        self.fetched: list[str] = []
        self.discarded: list[str] = []
        self.go_on = threading.Event()
        self.unfit: Exception | None = None
        # BackgroundDownload and discarding wait for it, and fetching may fail before there is a download at all.
        self.opens = threading.Event()
        self.opens.set()
        self.closed: Exception | None = None
        self._ends = ends or (None,)

    def larger_model(self, current: str) -> str:
        return LARGER

    def describe(self, name: str = "") -> SetupOffer:
        return self.offer

    def is_missing(self, name: str) -> bool:
        return name == self.offer.name and not self.offer.ready

    def fits(self, name: str, width: int) -> list[str]:
        if self.unfit is not None:
            raise self.unfit
        return [f"{name or self.offer.name} on this machine", "", "  context   f16", "      8 K  *2.5 GiB free"]

    def fetch(self, name: str, progress: Callable[[DownloadProgress], None]) -> "ScriptedWork":
        if not self.opens.wait(60):
            raise TimeoutError
        if self.closed is not None:
            raise self.closed
        end = self._ends[min(len(self.fetched), len(self._ends) - 1)]
        self.fetched.append(name)
        return ScriptedWork(self, progress, end)

    def discard(self, name: str) -> None:
        if not self.opens.wait(60):
            raise TimeoutError
        self.discarded.append(name)
        self.offer = replace(self.offer, have=0)


class ScriptedWork:
    """One sitting of a download."""

    def __init__(
        self, model_setup: ScriptedModelSetup, progress: Callable[[DownloadProgress], None], end: Exception | None
    ) -> None:
        self._model_setup, self._progress, self._end = model_setup, progress, end
        self._stopped: DownloadOutcome | None = None

    def run(self) -> DownloadOutcome:
        self._progress(HALFWAY)
        self._model_setup.offer = replace(self._model_setup.offer, have=HALFWAY.bytes_done)
        if self._end is not None:
            raise self._end
        while not self._model_setup.go_on.wait(0.01):
            if self._stopped is not None:
                return self._stopped
        self._model_setup.offer = replace(self._model_setup.offer, have=OFFER.size or 0, ready=True)
        return DownloadOutcome.DONE

    def pause(self) -> None:
        self._stopped = DownloadOutcome.PAUSED

    def cancel(self) -> None:
        self._model_setup.offer = replace(self._model_setup.offer, have=0)
        self._stopped = DownloadOutcome.CANCELLED


STALLED = UserError("the hub cannot be reached; what has arrived is kept: check the network, then go on")
