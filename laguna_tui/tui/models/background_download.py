"""The download in the background of the chat. A thread updates the values; the screen polls them."""

import asyncio
import threading
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from laguna_tui.models.download_progress import DownloadProgress
from laguna_tui.models.model_setup import ModelSetup, SetupOffer
from laguna_tui.tui.event_sanitizer import error_sentence

if TYPE_CHECKING:
    from laguna_tui.models.download import Download

_LEAVE_S = 1.5
"""How long leaving waits until the download's state is saved."""


class DownloadStage(Enum):
    """The stage of the download. FAILED and PAUSED resume with the same key."""

    NOTHING = "nothing"
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    READY = "ready"


_ENDS = {"done": DownloadStage.READY, "paused": DownloadStage.PAUSED, "cancelled": DownloadStage.NOTHING}
"""By the value of `Outcome`: importing the download code would delay the first screen."""


class BackgroundDownload:
    """Downloads one model at a time.

    Attributes:
        stage: the stage of the download.
        offer: the model that is downloaded, if any.
        progress: its progress, once known.
        problem: why it failed, sanitised.
    """

    def __init__(self, model_setup: ModelSetup) -> None:
        self._lock = threading.Lock()
        self.stage = DownloadStage.NOTHING
        self.offer: SetupOffer | None = None
        self.progress: DownloadProgress | None = None
        self.problem = ""
        self._model_setup = model_setup
        self._work: Download | None = None
        # Pause or cancel, requested before the download is prepared.
        self._requested: Callable[[Download], None] | None = None
        self._discarding = False
        self._ended = threading.Event()
        self._ended.set()

    @property
    def busy(self) -> bool:
        """Whether a download or its removal is running."""
        return self.stage is DownloadStage.RUNNING or self._discarding

    def begin(self, offer: SetupOffer) -> None:
        """Start or resume the download; ignored while busy."""
        if self.busy:
            return
        self.offer, self.problem, self.stage = offer, "", DownloadStage.RUNNING
        self._work, self._requested = None, None
        self._start(lambda: self._run(offer))

    def pause(self) -> None:
        """Stop and keep the downloaded part."""
        if self.stage is DownloadStage.RUNNING:
            self._request(lambda work: work.pause())

    def cancel(self) -> None:
        """Stop and delete the downloaded part, which takes a while for a large model."""
        if self.stage is DownloadStage.RUNNING:
            self._request(lambda work: work.cancel())
        elif (
            self.offer is not None
            and self.stage in (DownloadStage.PAUSED, DownloadStage.FAILED)
            and not self._discarding
        ):
            self._discarding, offer = True, self.offer
            self._start(lambda: self._discard(offer))

    def leave(self) -> None:
        """Pause when the app ends, and wait a moment until it is done."""
        self.pause()
        self._ended.wait(_LEAVE_S)

    def taken(self) -> None:
        """Reset after the app has switched to the downloaded model."""
        if self.stage is DownloadStage.READY:
            self._reset()

    def _reset(self) -> None:
        self.stage, self.offer, self.progress = DownloadStage.NOTHING, None, None

    def _update(self, progress: DownloadProgress) -> None:
        self.progress = progress

    def _start(self, job: Callable[[], None]) -> None:
        self._ended.clear()
        asyncio.get_running_loop().run_in_executor(None, self._do, job)

    def _do(self, job: Callable[[], None]) -> None:
        try:
            job()
        finally:
            self._ended.set()

    def _request(self, request: Callable[["Download"], None]) -> None:
        """Apply `request` to the download as soon as it is prepared."""
        with self._lock:
            work, self._requested = self._work, request
        if work is not None:
            request(work)

    def _run(self, offer: SetupOffer) -> None:
        try:
            work = self._model_setup.fetch(offer.name, self._update)
            with self._lock:
                self._work, requested = work, self._requested
            if requested is not None:
                requested(work)
            ended = _ENDS[work.run().value]
        except Exception as error:
            self.problem, ended = error_sentence(error), DownloadStage.FAILED
        if ended is DownloadStage.NOTHING:
            self._reset()
        self.stage = ended

    def _discard(self, offer: SetupOffer) -> None:
        try:
            self._model_setup.discard(offer.name)
        except Exception as error:
            self.problem, self.stage = error_sentence(error), DownloadStage.FAILED
        else:
            self._reset()
        finally:
            self._discarding = False
