"""Transfer of one file from the hub to the disk: request the missing bytes, watch them arrive, retry."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from laguna_tui.models.cancellation import DownloadCancellation
from laguna_tui.models.download_errors import DownloadError, Unsteady
from laguna_tui.models.entry import HubSource
from laguna_tui.models.hub import Hub
from laguna_tui.models.partial_file import size_of
from laguna_tui.models.records import RemoteFile

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class DownloadItem:
    """One file to download. Items of models that share a file are equal."""

    repository: str
    commit: str
    remote: RemoteFile
    source: HubSource = field(compare=False)

    def __str__(self) -> str:
        return f"{self.repository}/{self.remote.name}"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Timeouts and retries.

    Attributes:
        stall_s: Seconds without a byte after which the connection is given up.
        first_s: Seconds before the first retry; doubled for each further one.
        longest_s: Longest wait between two tries, in seconds.
        tries: Failures in a row without a new byte before the download fails.
    """

    stall_s: float = 30.0
    first_s: float = 1.0
    longest_s: float = 60.0
    tries: int = 8

    def wait_s(self, failures: int) -> float:
        """Return the seconds to wait after some failures in a row, with jitter so that clients do not retry in step."""
        longest = min(self.first_s * 2.0 ** (failures - 1), self.longest_s)
        return longest * random.uniform(0.5, 1.0)


def retry(
    work: Callable[[], _T],
    policy: RetryPolicy,
    cancellation: DownloadCancellation,
    note: Callable[[str], None],
    subject: str,
) -> _T:
    """Return the result of `work`. Retry while it raises Unsteady.

    Args:
        policy: Waits and number of tries.
        cancellation: Ends a wait at once.
        note: Called with what happened and when the next try is.
        subject: Start of the error sentence.

    Raises:
        DownloadError: It failed `policy.tries` times in a row; new bytes restart the count.
    """
    failures = 0
    while True:
        try:
            return work()
        except Unsteady as fault:
            failures = 1 if fault.progressed else failures + 1
            if failures >= policy.tries:
                raise DownloadError(
                    f"{subject}: {fault.reason}, {failures} times in a row; the download so far is kept: check the "
                    "network, then try again"
                ) from fault
            wait = fault.wait_s if fault.wait_s is not None else policy.wait_s(failures)
            note(f"{fault.reason}; trying again in {wait:.0f} s")
        cancellation.sleep(wait)


class Transfer:
    """Transfer of the missing bytes of one file to its partial file.

    `arrived` is called about ten times a second with the number of new bytes, negative for lost ones; `note` with what
    happened when a connection broke, and with "" when bytes arrive again.
    """

    def __init__(
        self,
        hub: Hub,
        item: DownloadItem,
        part: Path,
        cancellation: DownloadCancellation,
        policy: RetryPolicy,
        arrived: Callable[[int], None],
        note: Callable[[str], None],
    ) -> None:
        self._hub, self._item, self._part = hub, item, part
        self._cancellation, self._policy = cancellation, policy
        self._arrived, self._note = arrived, note
        self._have = self._high_water = size_of(part)
        self._moved_at = 0.0

    def run(self) -> None:
        """Transfer all of it. Raises Paused, Cancelled, DownloadError, or OSError from the disk."""
        retry(self._attempt, self._policy, self._cancellation, self._note, str(self._item))

    def _attempt(self) -> None:
        """Use one connection. Raises Unsteady when it ends before the file does."""
        if self._have == self._item.remote.size and self._part.exists():
            return
        if self._have > self._item.remote.size:
            self._part.unlink()
        before = self._high_water
        self._hub.start(self._item.source, self._cancellation.check)
        self._moved_at = time.monotonic()
        try:
            self._hub.fetch(self._item.source, self._item.commit, self._item.remote, self._part, self._tick)
        except Unsteady as fault:
            self._count()
            fault.progressed = self._high_water > before
            raise
        self._count()

    def _tick(self) -> None:
        """Report what has arrived. Raises Unsteady after a stall, Paused or Cancelled."""
        self._cancellation.check()
        self._count()
        if time.monotonic() - self._moved_at > self._policy.stall_s:
            raise Unsteady(f"nothing received for {self._policy.stall_s:.0f} s")

    def _count(self) -> None:
        now = size_of(self._part)
        new, self._have = now - self._have, now
        if new:
            self._moved_at = time.monotonic()
        if new > 0:
            self._note("")
        self._high_water = max(self._high_water, self._have)
        self._arrived(new)
