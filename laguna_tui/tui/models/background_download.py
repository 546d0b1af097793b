"""The one download that runs behind the chat: begun, paused, failed, gone on with. Knows nothing of the screen.

A thread does the work and leaves values here; the screen reads them as often as it draws.
"""

import threading
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from laguna_tui.models.download_progress import DownloadProgress
from laguna_tui.models.model_setup import ModelSetup, SetupOffer
from laguna_tui.tui.session_messages import error_sentence

if TYPE_CHECKING:
    from laguna_tui.models.download import Download

_LEAVE_S = 1.5
"""How long leaving waits for what has arrived to be written down."""


class DownloadStage(Enum):
    """Where the download is. FAILED and PAUSED go on with the same key."""

    NOTHING = "nothing"
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    READY = "ready"


_ENDS = {"done": DownloadStage.READY, "paused": DownloadStage.PAUSED, "cancelled": DownloadStage.NOTHING}
"""By the value of `Outcome`: importing what downloads would hold up the first screen."""


class BackgroundDownload:
    """offer: what is being got. progress: how far it is. problem: why it failed, safe to show."""

    def __init__(self, model_setup: ModelSetup) -> None:
        self._lock = threading.Lock()
        self.stage = DownloadStage.NOTHING
        self.offer: SetupOffer | None = None
        self.progress: DownloadProgress | None = None
        self.problem = ""
        self._model_setup = model_setup
        self._work: Download | None = None
        # What the user wants of a download that is not there yet.
        self._wanted: Callable[[Download], None] | None = None
        self._discarding = False
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether something goes on that ends by itself."""
        return self.stage is DownloadStage.RUNNING or self._discarding

    def begin(self, offer: SetupOffer) -> None:
        """Start, or go on; nothing while something runs."""
        if self.busy:
            return
        self.offer, self.problem, self.stage = offer, "", DownloadStage.RUNNING
        self._work, self._wanted = None, None
        self._start(lambda: self._run(offer))

    def pause(self) -> None:
        """Stop; what has arrived is kept."""
        if self.stage is DownloadStage.RUNNING:
            self._tell(lambda work: work.pause())

    def cancel(self) -> None:
        """Stop, and let go what has arrived; of a large model that takes a while."""
        if self.stage is DownloadStage.RUNNING:
            self._tell(lambda work: work.cancel())
        elif (
            self.offer is not None
            and self.stage in (DownloadStage.PAUSED, DownloadStage.FAILED)
            and not self._discarding
        ):
            self._discarding, offer = True, self.offer
            self._start(lambda: self._discard(offer))

    def leave(self) -> None:
        """The program ends: pause, and wait a moment until that is done."""
        self.pause()
        if self._thread is not None:
            self._thread.join(_LEAVE_S)

    def taken(self) -> None:
        """What was got is used now; there is nothing more to say about it."""
        if self.stage is DownloadStage.READY:
            self._forget()

    def _forget(self) -> None:
        self.stage, self.offer, self.progress = DownloadStage.NOTHING, None, None

    def _heard(self, progress: DownloadProgress) -> None:
        self.progress = progress

    def _start(self, job: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=job, name="laguna-download", daemon=True)
        self._thread.start()

    def _tell(self, wanted: Callable[["Download"], None]) -> None:
        """Do this to the download, as soon as it is there."""
        with self._lock:
            work, self._wanted = self._work, wanted
        if work is not None:
            wanted(work)

    def _run(self, offer: SetupOffer) -> None:
        try:
            work = self._model_setup.fetch(offer.name, self._heard)
            with self._lock:
                self._work, wanted = work, self._wanted
            if wanted is not None:
                wanted(work)
            ended = _ENDS[work.run().value]
        except Exception as error:
            self.problem, ended = error_sentence(error), DownloadStage.FAILED
        if ended is DownloadStage.NOTHING:
            self._forget()
        self.stage = ended

    def _discard(self, offer: SetupOffer) -> None:
        try:
            self._model_setup.discard(offer.name)
        except Exception as error:
            self.problem, self.stage = error_sentence(error), DownloadStage.FAILED
        else:
            self._forget()
        finally:
            self._discarding = False
