"""Transfer of one file from the hub to the disk: request the missing bytes, check the response, write, retry."""

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
"""At most 18 digits: no file is larger, and Python refuses to parse integers of thousands of digits."""
_OK, _PARTIAL, _NOT_SATISFIABLE = 200, 206, 416


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
        """Seconds to wait after `failures` failures in a row, with jitter so that clients do not retry in step."""
        longest = min(self.first_s * 2.0 ** (failures - 1), self.longest_s)
        return longest * random.uniform(0.5, 1.0)


class UnsteadyAfterProgress(Unsteady):
    """The connection broke after new bytes had been received."""


def retry(
    work: Callable[[], _T], policy: RetryPolicy, cancellation: Cancellation, note: Callable[[str], None], subject: str
) -> _T:
    """Return the result of `work`. Retry while it raises Unsteady.

    Args:
        work: The call to retry.
        policy: Waits and number of tries.
        cancellation: Ends a wait at once.
        note: Called with what happened and when the next try is.
        subject: Start of the error sentence.

    Raises:
        DownloadError: It failed `policy.tries` times in a row; `UnsteadyAfterProgress` restarts the count.
    """
    failures = 0
    while True:
        try:
            return work()
        except Unsteady as fault:
            failures = 1 if isinstance(fault, UnsteadyAfterProgress) else failures + 1
            if failures >= policy.tries:
                raise DownloadError(
                    f"{subject}: {fault.reason}, {failures} times in a row; what was downloaded is kept: check the "
                    "network, then try again"
                ) from fault
            wait = fault.wait_s if fault.wait_s is not None else policy.wait_s(failures)
            note(f"{fault.reason}; trying again in {wait:.0f} s")
        cancellation.sleep(wait)


class Transfer:
    """Transfer of the missing bytes of one file. `arrived` is called with bytes written, negative for lost ones."""

    def __init__(
        self,
        hub: Hub,
        source: HubSource,
        commit: str,
        remote: RemoteFile,
        part: PartialFile,
        cancellation: Cancellation,
        policy: RetryPolicy,
        arrived: Callable[[int], None],
        note: Callable[[str], None],
    ) -> None:
        self._hub, self._source, self._commit, self._remote = hub, source, commit, remote
        self._part, self._cancellation, self._policy = part, cancellation, policy
        self._arrived, self._note = arrived, note
        self._high_water = part.have

    def run(self) -> None:
        """Transfer all of it. Raises Paused, Cancelled, DownloadError, or OSError from the disk."""
        retry(
            self._attempt,
            self._policy,
            self._cancellation,
            self._note,
            f"{self._source.repository}/{self._remote.name}",
        )

    def _attempt(self) -> None:
        """Use one connection. Raises Unsteady when it ends before the file does."""
        if self._part.have >= self._remote.size:
            return
        before = self._high_water
        stream = self._hub.stream(self._source, self._commit, self._remote.name, self._part.have)
        try:
            self._check_start(self._next(stream))
            self._note("")
            while self._part.have < self._remote.size:
                self._write(self._next(stream))
        except Unsteady as fault:
            self._part.checkpoint()
            if self._high_water > before:
                raise UnsteadyAfterProgress(fault.reason, fault.wait_s) from fault
            raise
        finally:
            stream.close()

    def _next(self, stream: ResponseStream) -> ResponseStart | bytes | ResponseEnd:
        """The next item. Raises Unsteady after a stall, Paused or Cancelled within `_POLL_S`."""
        deadline = time.monotonic() + self._policy.stall_s
        while True:
            self._cancellation.check()
            item = stream.read(min(_POLL_S, self._policy.stall_s))
            if item is not None:
                return item
            self._arrived(0)
            if time.monotonic() >= deadline:
                raise Unsteady(f"nothing received for {self._policy.stall_s:.0f} s")

    def _check_start(self, item: ResponseStart | bytes | ResponseEnd) -> None:
        if not isinstance(item, ResponseStart):
            raise connection_error(item)
        if item.status == _NOT_SATISFIABLE and self._part.have:
            self._restart()
            raise Unsteady("the server refused to resume the file")
        if item.status not in (_OK, _PARTIAL):
            raise refusal(item.status, item.headers, self._source.repository, by_hub=self._hub.is_at(item.url))
        if item.headers.get("content-encoding", "identity") != "identity":
            raise Unsteady("the server compressed the file, although it was asked not to")
        self._check_etag(item)
        if item.status == _OK:
            self._accept_whole(item.headers)
        else:
            self._accept_range(item.headers)

    def _check_etag(self, item: ResponseStart) -> None:
        """Raise DownloadError when the hub reports another hash. A storage server's ETag is not a hash of the file."""
        etag, known = Fingerprint.from_etag(item.headers.get("etag", "").strip('"')), self._remote.etag
        if etag and known and self._hub.is_at(item.url) and etag.kind == known.kind and etag != known:
            raise DownloadError(
                f"{self._source.repository}/{self._remote.name}: changed on the hub during the download; run the "
                "same again to get the new one"
            )

    def _accept_whole(self, headers: Mapping[str, str]) -> None:
        """Accept a response with the whole file, requested or not: a server that ignores Range starts at byte 0."""
        length = headers.get("content-length")
        if length is not None and length != str(self._remote.size):
            raise Unsteady(f"the response has {length} bytes, not {self._remote.size}")
        if self._part.have:
            self._restart()

    def _accept_range(self, headers: Mapping[str, str]) -> None:
        """Accept a partial response: exactly the requested range of the same file."""
        found = _RANGE.fullmatch(headers.get("content-range", ""))
        if found is None or int(found[1]) != self._part.have or found[3] not in ("*", str(self._remote.size)):
            raise Unsteady("the server sent another range of the file than requested")

    def _write(self, item: ResponseStart | bytes | ResponseEnd) -> None:
        if not isinstance(item, bytes):
            raise connection_error(item)
        if self._part.have + len(item) > self._remote.size:
            self._restart()
            raise Unsteady("the server sent more bytes than the file has")
        self._part.write(item)
        self._arrived(len(item))
        self._high_water = max(self._high_water, self._part.have)

    def _restart(self) -> None:
        self._arrived(-self._part.have)
        self._part.restart()
