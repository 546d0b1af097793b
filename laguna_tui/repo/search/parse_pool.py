"""Parsing of many files in worker processes; of few files in this one, because starting a worker takes longer.

Results come in any order. A file that crashes its worker (a fault in a grammar) costs only itself: its outcome has
`refused` set and no `parsed`. When no worker can be started at all, no file is to blame.

A request is the root and a list of tasks, an answer the list of results, both as MessagePack. Workers read hostile
files, so an answer is checked against the types of a result.
"""

import faulthandler
import os
import selectors
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from laguna_engine.native.child import Worker, serve
from laguna_engine.native.control_groups import usable_processors
from laguna_tui.base.errors import UserError
from laguna_tui.repo.search.file_parsing import ParsedFile, ParseTask, parse_file

# With fewer files, this process is faster than workers that have to start first.
ALONE_FILES = 64
# A longer file could keep a grammar busy for minutes; a worker can be killed, this process cannot.
HERE_BYTES = 64 * 1024
# A file takes less than a second; one that takes this long is given up, together with its worker.
_STUCK_S = 20.0
_BATCH_FILES = 24
# Batches queued per worker, so that the next one is there when one is done.
_BATCHES_AHEAD = 2
# The disk and the single writer do not keep up with more.
_MAX_WORKERS = 8
# Poll interval for a stop by the user.
_POLL_S = 0.1
_NICE = 5
# This module, run as a program.
_WORKER = "laguna_tui.repo.search.parse_pool"
NO_WORKERS = "no process can be started to read the files with; free some memory, or allow more processes (ulimit -u)"
_REQUEST = msgspec.msgpack.Decoder(tuple[bytes, list[tuple[bytes, bytes | None]]])
_ANSWER = msgspec.msgpack.Decoder(list[ParsedFile | None])


class ParseOutcome(NamedTuple):
    """Outcome of one task: `parsed` is None when the file is gone, or when `refused`."""

    task: ParseTask
    parsed: ParsedFile | None
    refused: bool = False


def worker_count(files: int) -> int:
    """Return the number of processes to parse with; 0 means this one."""
    if files < ALONE_FILES:
        return 0
    return max(1, min(_MAX_WORKERS, usable_processors()))


def parse_all(
    root: Path, tasks: Sequence[ParseTask], should_stop: Callable[[], bool], workers: int | None = None
) -> Iterator[ParseOutcome]:
    """Yield every task's outcome, until the user stops.

    Args:
        root: The folder.
        tasks: Files to parse.
        should_stop: Polled.
        workers: Number of processes; None chooses by the number of tasks.

    Raises:
        UserError: No worker can be started.
    """
    count = worker_count(len(tasks)) if workers is None else workers
    if count == 0:
        yield from _here(root, [task for task in tasks if task.size <= HERE_BYTES], should_stop)
        tasks = [task for task in tasks if task.size > HERE_BYTES]
        count = 1
    batches = [list(tasks[at : at + _BATCH_FILES]) for at in range(0, len(tasks), _BATCH_FILES)]
    broken: list[ParseTask] = []
    yield from _in_processes(root, batches, count, _BATCHES_AHEAD, should_stop, broken)
    # One file at a time: the one that crashes its worker now is the one at fault.
    refused: list[ParseTask] = []
    yield from _in_processes(root, [[task] for task in broken], count, 1, should_stop, refused)
    for task in refused:
        yield ParseOutcome(task, None, refused=True)


def _here(root: Path, tasks: Sequence[ParseTask], should_stop: Callable[[], bool]) -> Iterator[ParseOutcome]:
    for task in tasks:
        if should_stop():
            return
        yield ParseOutcome(task, parse_file(root, task))


def _in_processes(
    root: Path,
    batches: Sequence[list[ParseTask]],
    workers: int,
    ahead: int,
    should_stop: Callable[[], bool],
    broken: list[ParseTask],
) -> Iterator[ParseOutcome]:
    """Yield the batches' outcomes; tasks lost with their worker are added to `broken`."""
    pool = _WorkerPool(root, batches, workers, ahead)
    try:
        while pool.busy() and not should_stop():
            for batch, results in pool.answers():
                if results is None:
                    broken += batch
                else:
                    yield from map(ParseOutcome, batch, results)
    finally:
        pool.close()


class _WorkerPool:
    """Workers and the batches queued for each. A worker that dies is replaced, unless it never worked."""

    def __init__(self, root: Path, batches: Sequence[list[ParseTask]], workers: int, ahead: int) -> None:
        self._root = os.fsencode(root)
        self._waiting = deque(batches)
        self._size = workers
        self._ahead = ahead
        self._queued: dict[Worker, deque[list[ParseTask]]] = {}
        # An empty batch comes first: its answer shows that the worker works.
        self._ready: set[Worker] = set()
        self._startable = True
        self._selector = selectors.DefaultSelector()

    def busy(self) -> bool:
        """Queue batches; returns whether an answer is expected. Raises UserError when no worker can be started."""
        while self._startable and self._waiting and len(self._queued) < min(self._size, len(self._waiting)):
            self._start()
        for worker in self._ready:
            while self._waiting and len(self._queued[worker]) < self._ahead:
                self._give(worker, self._waiting.popleft())
        if self._waiting and not self._queued:
            raise UserError(NO_WORKERS)
        return bool(self._waiting) or any(self._queued.values())

    def answers(self) -> Iterator[tuple[list[ParseTask], list[ParsedFile | None] | None]]:
        """Yield the answers that arrive soon, each with its batch; None for a batch that crashed its worker."""
        for key, _ in self._selector.select(_POLL_S):
            worker = key.fileobj
            assert isinstance(worker, Worker)
            results = _results(worker.receive())
            if results is not None:
                self._ready.add(worker)
                yield self._queued[worker].popleft(), results
                continue
            self._startable &= worker in self._ready
            for batch in self._end(worker):
                yield batch, None

    def close(self) -> None:
        """Kill all workers."""
        for worker in list(self._queued):
            self._end(worker)
        self._selector.close()

    def _start(self) -> None:
        try:
            worker = Worker(_WORKER)
        except OSError:
            self._startable = False
            return
        self._queued[worker] = deque()
        self._selector.register(worker, selectors.EVENT_READ)
        self._give(worker, [])

    def _give(self, worker: Worker, batch: list[ParseTask]) -> None:
        self._queued[worker].append(batch)
        # Paths may have bytes that are not text.
        tasks = [(os.fsencode(task.path), task.digest) for task in batch]
        worker.send(msgspec.msgpack.encode((self._root, tasks)))

    def _end(self, worker: Worker) -> deque[list[ParseTask]]:
        """Kill a worker; returns the batches queued for it."""
        self._selector.unregister(worker)
        self._ready.discard(worker)
        worker.close()
        return self._queued.pop(worker)


def _results(answer: bytes | None) -> list[ParsedFile | None] | None:
    """Return the results of a worker; None when it died, or gave an invalid answer."""
    try:
        return None if answer is None else _ANSWER.decode(answer)
    except msgspec.DecodeError:
        return None


def _parse_watched(request: bytes) -> bytes:
    """Parse a batch in a worker, which kills itself when a file takes too long: a grammar cannot be stopped."""
    root, tasks = _REQUEST.decode(request)
    found = []
    with Path(os.devnull).open("w") as nowhere:
        for path, digest in tasks:
            faulthandler.dump_traceback_later(_STUCK_S, exit=True, file=nowhere)
            found.append(parse_file(Path(os.fsdecode(root)), ParseTask(os.fsdecode(path), digest)))
        faulthandler.cancel_dump_traceback_later()
    return msgspec.msgpack.encode(found)


if __name__ == "__main__":
    # Programs that people are waiting for take precedence.
    os.nice(_NICE)
    serve(_parse_watched)
