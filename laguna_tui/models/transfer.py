"""One file from the hub to the disk: ask for the rest, check what answers, write, and try again when it breaks off."""

import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from laguna_tui.models.cancellation import Cancellation
from laguna_tui.models.download_errors import DownloadError, Unsteady, refusal
from laguna_tui.models.entry import HubSource
from laguna_tui.models.hub import Hub, ResponseEnd, ResponseStart, ResponseStream, connection_error
from laguna_tui.models.partial_file import PartialFile
from laguna_tui.models.records import Fingerprint, RemoteFile

_T = TypeVar("_T")
_POLL_S = 0.1
_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")
"""Of 18 digits at most: no file is larger, and Python refuses to read numbers of thousands."""
_OK, _PARTIAL, _NOT_SATISFIABLE = 200, 206, 416


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to wait for what.

    stall_s: without a single byte the connection is given up. first_s, longest_s: between two tries; it doubles.
    tries: in a row without a new byte, before the user is told.
    """

    stall_s: float = 30.0
    first_s: float = 1.0
    longest_s: float = 60.0
    tries: int = 8

    def wait_s(self, failures: int) -> float:
        """How long to wait after so many failures in a row, with some luck in it: clients must not march in step."""
        longest = min(self.first_s * 2.0 ** (failures - 1), self.longest_s)
        return longest * random.uniform(0.5, 1.0)


class UnsteadyAfterProgress(Unsteady):
    """It broke off after new bytes had come."""


def retry(
    work: Callable[[], _T], patience: RetryPolicy, cancellation: Cancellation, note: Callable[[str], None], who: str
) -> _T:
    """What `work` returns. Retry while it raises Unsteady.

    note: is told what happened and when it is tried again. who: begins the sentence when it is not.

    Raises:
        DownloadError: it failed `patience.tries` times in a row; `UnsteadyAfterProgress` starts the count again.
    """
    failures = 0
    while True:
        try:
            return work()
        except Unsteady as fault:
            failures = 1 if isinstance(fault, UnsteadyAfterProgress) else failures + 1
            if failures >= patience.tries:
                raise DownloadError(
                    f"{who}: {fault.reason}, {failures} times in a row; what has arrived is kept: check the network, "
                    "then try again"
                ) from fault
            wait = fault.wait_s if fault.wait_s is not None else patience.wait_s(failures)
            note(f"{fault.reason}; trying again in {wait:.0f} s")
        cancellation.sleep(wait)


class Transfer:
    """Brings the rest of one file. `arrived` is told of every byte that was written, negative when bytes were lost."""

    def __init__(
        self,
        hub: Hub,
        source: HubSource,
        commit: str,
        remote: RemoteFile,
        part: PartialFile,
        cancellation: Cancellation,
        patience: RetryPolicy,
        arrived: Callable[[int], None],
        note: Callable[[str], None],
    ) -> None:
        self._hub, self._source, self._commit, self._remote = hub, source, commit, remote
        self._part, self._cancellation, self._patience = part, cancellation, patience
        self._arrived, self._note = arrived, note
        self._most = part.have

    def run(self) -> None:
        """Bring all of it; Paused, Cancelled or DownloadError when that is not to be. OSError: from the disk."""
        retry(
            self._try, self._patience, self._cancellation, self._note, f"{self._source.repository}/{self._remote.name}"
        )

    def _try(self) -> None:
        """One connection. Unsteady when it ended before the file did."""
        if self._part.have >= self._remote.size:
            return
        before = self._most
        stream = self._hub.stream(self._source, self._commit, self._remote.name, self._part.have)
        try:
            self._begin(self._next(stream))
            self._note("")
            while self._part.have < self._remote.size:
                self._take(self._next(stream))
        except Unsteady as fault:
            self._part.checkpoint()
            if self._most > before:
                raise UnsteadyAfterProgress(fault.reason, fault.wait_s) from fault
            raise
        finally:
            stream.leave()

    def _next(self, stream: ResponseStream) -> ResponseStart | bytes | ResponseEnd:
        """What comes next; Unsteady when nothing does, Paused or Cancelled within `_POLL_S`."""
        deadline = time.monotonic() + self._patience.stall_s
        while True:
            self._cancellation.check()
            item = stream.take(min(_POLL_S, self._patience.stall_s))
            if item is not None:
                return item
            self._arrived(0)
            if time.monotonic() >= deadline:
                raise Unsteady(f"nothing came for {self._patience.stall_s:.0f} s")

    def _begin(self, item: ResponseStart | bytes | ResponseEnd) -> None:
        if not isinstance(item, ResponseStart):
            raise connection_error(item)
        if item.status == _NOT_SATISFIABLE and self._part.have:
            self._restart()
            raise Unsteady("the server would not go on where it stopped")
        if item.status not in (_OK, _PARTIAL):
            raise refusal(item.status, item.headers, self._source.repository, by_hub=self._hub.is_at(item.url))
        if item.headers.get("content-encoding", "identity") != "identity":
            raise Unsteady("the server packed the file in a way nobody asked for")
        self._same(item)
        if item.status == _OK:
            self._whole(item.headers)
        else:
            self._backoff(item.headers)

    def _same(self, item: ResponseStart) -> None:
        """DownloadError when the hub itself says that this is another file. What its storage says is its own affair."""
        said, known = Fingerprint.of(item.headers.get("etag", "").strip('"')), self._remote.etag
        if said and known and self._hub.is_at(item.url) and said.kind == known.kind and said != known:
            raise DownloadError(
                f"{self._source.repository}/{self._remote.name}: changed on the hub while it was on its way; run the "
                "same again to get the new one"
            )

    def _whole(self, headers: Mapping[str, str]) -> None:
        """An answer with the whole file, asked for or not: a server that ignores Range begins at the beginning."""
        length = headers.get("content-length")
        if length is not None and length != str(self._remote.size):
            raise Unsteady(f"what answered has {length} bytes, not {self._remote.size}")
        if self._part.have:
            self._restart()

    def _backoff(self, headers: Mapping[str, str]) -> None:
        """An answer with a part of it: exactly the part that was asked for, of the same file."""
        found = _RANGE.fullmatch(headers.get("content-range", ""))
        if found is None or int(found[1]) != self._part.have or found[3] not in ("*", str(self._remote.size)):
            raise Unsteady("the server sent another part of the file than was asked for")

    def _take(self, item: ResponseStart | bytes | ResponseEnd) -> None:
        if not isinstance(item, bytes):
            raise connection_error(item)
        if self._part.have + len(item) > self._remote.size:
            self._restart()
            raise Unsteady("the server sent more than the file has")
        self._part.write(item)
        self._arrived(len(item))
        self._most = max(self._most, self._part.have)

    def _restart(self) -> None:
        self._arrived(-self._part.have)
        self._part.restart()
