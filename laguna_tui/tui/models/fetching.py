"""The one download that runs behind the chat: begun, paused, failed, gone on with. Knows nothing of the screen.

A thread does the work and leaves values here; the screen reads them as often as it draws.
"""

import threading
from enum import Enum

from laguna_tui.models.progress import DownloadProgress
from laguna_tui.tui.models.shop import ModelShop, Offer, Work
from laguna_tui.tui.turns import sentence

_LEAVE_S = 1.5
"""How long leaving waits for what has arrived to be written down."""


class Stage(Enum):
    """Where the download is. FAILED and PAUSED go on with the same key."""

    NOTHING = "nothing"
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    READY = "ready"


_ENDS = {"done": Stage.READY, "paused": Stage.PAUSED, "cancelled": Stage.NOTHING}
"""By the value of `Outcome`: importing what downloads would hold up the first screen."""


class Fetching:
    """offer: what is being got. progress: how far it is. problem: why it failed, safe to show."""

    def __init__(self, shop: ModelShop) -> None:
        self.stage = Stage.NOTHING
        self.offer: Offer | None = None
        self.progress: DownloadProgress | None = None
        self.problem = ""
        self._shop = shop
        self._work: Work | None = None
        self._thread: threading.Thread | None = None

    def begin(self, offer: Offer) -> None:
        """Start, or go on; nothing while something runs."""
        if self.stage is Stage.RUNNING:
            return
        self.offer, self.problem, self.stage = offer, "", Stage.RUNNING
        self._work = self._shop.fetch(offer.name, self._heard)
        self._thread = threading.Thread(target=self._run, args=(self._work,), name="laguna-download", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Stop; what has arrived is kept."""
        if self._work is not None and self.stage is Stage.RUNNING:
            self._work.pause()

    def cancel(self) -> None:
        """Stop, and let go what has arrived."""
        if self._work is not None and self.stage is Stage.RUNNING:
            self._work.cancel()
        elif self.offer is not None and self.stage in (Stage.PAUSED, Stage.FAILED):
            try:
                self._shop.discard(self.offer.name)
            except Exception as error:
                self.problem, self.stage = sentence(error), Stage.FAILED
            else:
                self._forget()

    def leave(self) -> None:
        """The program ends: pause, and wait a moment until that is done."""
        self.pause()
        if self._thread is not None:
            self._thread.join(_LEAVE_S)

    def taken(self) -> None:
        """What was got is used now; there is nothing more to say about it."""
        if self.stage is Stage.READY:
            self._forget()

    def _forget(self) -> None:
        self.stage, self.offer, self.progress = Stage.NOTHING, None, None

    def _heard(self, progress: DownloadProgress) -> None:
        self.progress = progress

    def _run(self, work: Work) -> None:
        try:
            ended = _ENDS[work.run().value]
        except Exception as error:
            self.problem, ended = sentence(error), Stage.FAILED
        if ended is Stage.NOTHING:
            self._forget()
        self.stage = ended
