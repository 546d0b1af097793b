"""Samples and the file of a run: JSON lines, the first about the run, each other one a sample.

A line is written once its sample is whole, so a run that ended in any way continues with what is missing; a torn last
line is cut. One process writes a file at a time.

The tokens are the model's own, for training on them: each turn says how much of the turn before stays in
the prompt, what was added to it, and what was generated behind that.
"""

import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from io import BufferedRandom
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import msgspec
from filelock import FileLock, Timeout

from laguna_engine.files import read_small_file
from laguna_tui.base.errors import UserError

Record = TypeVar("Record")
FORMAT = 1
_OTHER_FORMAT = "{path}: its format is {found}, not {known}; give another file with --out"
_OTHER_RUN = (
    "{path}: its {records} were made with other options ({what}); use the same options, or give another file with --out"
)
_NOT_READABLE = "{path}: {why}; give another file with --out"
_IN_USE = "{path}: another laguna-tui is writing to it; wait until it ends, or give another file with --out"
_NO_FILE = "not a file of samples"
_RECORDS_BYTES = 8 << 30


@dataclass(frozen=True, slots=True)
class TokenTurn:
    """One generation.

    Attributes:
        kept: tokens of the turn before, its generated ones included, that the prompt begins with.
        prompt: tokens of the prompt behind them.
        generated: tokens that the model generated.
    """

    kept: int
    prompt: Sequence[int]
    generated: Sequence[int]


@dataclass(frozen=True, slots=True)
class Sample:
    """One attempt at a task, judged.

    Attributes:
        task, set: the names of the task and of its set.
        index: which sample of the task, from 0.
        seed: what the draws began with.
        reward: 1 if the check passed, else 0.
        end: how the turn ended, as its events say it.
        steps: generations.
        prompt_tokens, generated_tokens: of all steps; those of an endpoint are its own counts.
        drafted, accepted: tokens; 0 without speculation.
        decode_s: seconds of generating.
        seconds: from the question to the end of the answer, tools included.
        answer: the model's text.
        check: the end of what the check wrote.
        tokens: of every step; empty for an endpoint, whose tokens are not seen.
        joules: energy of this machine's GPUs, where it was measured: `python -m tests.evals eval` does.
    """

    task: str
    set: str
    index: int
    seed: int
    reward: float
    end: str
    steps: int
    prompt_tokens: int
    generated_tokens: int
    drafted: int
    accepted: int
    decode_s: float
    seconds: float
    answer: str
    check: str
    tokens: Sequence[TokenTurn] = field(default_factory=tuple)
    joules: float | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """How all samples of a file were made; the first line. A run continues only where all of it is the same.

    Attributes:
        model: its title.
        settings: the settings that decide what is generated, by name.
        seed: the run's.
        format: of the file.
    """

    model: str
    settings: Mapping[str, Any]
    seed: int
    format: int = FORMAT

    def differing(self, other: "RunFacts") -> list[tuple[str, object, object]]:
        """Return what differs from another run: the name, the value here, and the value there."""
        pairs: list[tuple[str, object, object]] = [
            ("title", self.model, other.model),
            ("seed", self.seed, other.seed),
            *(
                (name, self.settings.get(name), other.settings.get(name))
                for name in sorted({*self.settings, *other.settings})
            ),
        ]
        return [pair for pair in pairs if pair[1] != pair[2]]


class RunFile(Generic[Record]):
    """The open file of a run, locked for this process.

    Attributes:
        records: its samples, in the order of its lines.
    """

    def __init__(
        self, path: Path, lock: FileLock, file: BufferedRandom, facts: RunFacts, records: list[Record]
    ) -> None:
        """Use `RunFile.open`."""
        self._path, self._lock, self._file, self._facts = path, lock, file, facts
        self.records = records

    @classmethod
    def open(cls, path: Path, facts: RunFacts, kind: type[Record], called: str = "samples") -> Self:
        """Open a file to continue, or a new one.

        Args:
            path: of the file; its lock is `.lock` beside it.
            facts: of the run.
            kind: the type of its records.
            called: what they are called in the error's sentence.

        Raises:
            UserError: another process writes it, it cannot be written, is no such file, or is of another run.
        """
        # Before a lock is created beside a device.
        if path.exists() and not path.is_file():
            raise UserError(_NOT_READABLE.format(path=path, why=_NO_FILE))
        # Links to a file share its lock, and sorting replaces the file, not a link to it.
        path = Path(os.path.realpath(path)) if path.is_symlink() else path
        # A lock of the process, whichever thread lets it go.
        lock = FileLock(f"{path}.lock", timeout=0, thread_local=False)
        try:
            lock.acquire()
            try:
                return cls._locked(path, lock, facts, kind, called)
            except BaseException:
                lock.release()
                raise
        except Timeout as error:
            raise UserError(_IN_USE.format(path=path)) from error
        except OSError as error:
            raise UserError(_NOT_READABLE.format(path=path, why=error.strerror or error)) from error

    @classmethod
    def _locked(cls, path: Path, lock: FileLock, facts: RunFacts, kind: type[Record], called: str) -> Self:
        # Opening a pipe would otherwise wait, and reading a device would never end.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _RECORDS_BYTES:
            os.close(descriptor)
            raise UserError(_NOT_READABLE.format(path=path, why=_NO_FILE))
        file = os.fdopen(descriptor, "r+b")
        try:
            data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            if data and not whole:
                raise UserError(_NOT_READABLE.format(path=path, why=_NO_FILE))
            records: list[Record] = []
            if whole:
                found, records = _parsed(path, whole, kind)
                if other := found.differing(facts):
                    what = ", ".join(f"{name}: {there} there, {here} now" for name, there, here in other)
                    raise UserError(_OTHER_RUN.format(path=path, records=called, what=what))
            file.seek(len(whole))
            file.truncate()
            opened = cls(path, lock, file, facts, records)
            if not whole:
                opened._write(facts)
        except BaseException:
            file.close()
            raise
        return opened

    def add(self, record: Record) -> None:
        """Add a sample; it is on the disk when this returns."""
        self._write(record)
        self.records.append(record)

    def close(self) -> None:
        """Close the file, and let others write to it. Idempotent."""
        self._file.close()
        # The lock's own file stays: who removes it may let two others in.
        self._lock.release()

    def _check_alone(self) -> None:
        """Raise UserError if another process wrote to the file or replaced it: some disks have no locks."""
        status = os.fstat(self._file.fileno())
        there = self._path.stat() if self._path.exists() else None
        if status.st_size != self._file.tell() or there is None or not os.path.samestat(status, there):
            raise UserError(_IN_USE.format(path=self._path))

    def _write(self, value: RunFacts | Record) -> None:
        self._check_alone()
        self._file.write(line_of(value))
        self._file.flush()
        os.fsync(self._file.fileno())


def line_of(value: Any) -> bytes:
    """Return a line of the file."""
    return json.dumps(asdict(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def read_samples(path: Path) -> tuple[RunFacts, list[Sample]]:
    """Return the facts and the samples of a file without a torn last line. Raises UserError for another file."""
    try:
        data = read_small_file(path, _RECORDS_BYTES)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}; give a file that `laguna-tui eval --out` wrote") from error
    return _parsed(path, data[: data.rfind(b"\n") + 1], Sample)


def _parsed(path: Path, data: bytes, kind: type[Record]) -> tuple[RunFacts, list[Record]]:
    """Return the first line and the records of whole lines. Raises UserError for other lines or another format."""
    lines = data.splitlines()
    decoder = msgspec.json.Decoder(kind)
    try:
        facts = msgspec.json.decode(lines[0], type=RunFacts)
        records = [decoder.decode(line) for line in lines[1:]]
    except (IndexError, ValueError) as error:
        raise UserError(_NOT_READABLE.format(path=path, why=f"{_NO_FILE} ({error})")) from error
    if facts.format != FORMAT:
        raise UserError(_OTHER_FORMAT.format(path=path, found=facts.format, known=FORMAT))
    return facts, records
