"""Samples and the file that keeps them: JSON lines, the first about the run, each other one a sample.

A line is written once its sample is judged, so a run that ended in any way continues with what is missing; a torn last
line is cut. The tokens are the model's own, for training on them: each turn says how much of the turn before stays in
the prompt, what was added to it, and what was generated behind that.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from io import BufferedRandom
from pathlib import Path
from typing import Any, Self

import msgspec

from laguna_tui.base.errors import UserError

FORMAT = 1
_NOT_READABLE = "{path}: {why}; give another file with --out"
_OTHER_RUN = (
    "{path}: its samples were made otherwise ({what}); run it with the same options, or give another file with --out"
)


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


class SampleFile:
    """The open file of a run; nobody else may write to it meanwhile.

    Attributes:
        samples: what it holds, in the order of its lines.
    """

    def __init__(self, file: BufferedRandom, samples: Iterable[Sample]) -> None:
        """Use `SampleFile.open`."""
        self._file = file
        self.samples = list(samples)

    @classmethod
    def open(cls, path: Path, facts: RunFacts) -> Self:
        """Open a file to go on with, or a new one.

        Raises:
            UserError: it cannot be written, is no such file, or its samples were made otherwise.
        """
        try:
            file = path.open("r+b" if path.exists() else "w+b")
        except OSError as error:
            raise UserError(_NOT_READABLE.format(path=path, why=error.strerror or error)) from error
        try:
            data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            found, samples = _parsed(path, whole) if whole else (None, [])
            if found is None and data:
                raise UserError(_NOT_READABLE.format(path=path, why="it is no file of samples"))
            if found is not None and (other := _differing(found, facts)):
                raise UserError(_OTHER_RUN.format(path=path, what=", ".join(other)))
            file.seek(len(whole))
            file.truncate()
            opened = cls(file, samples)
            if found is None:
                opened._write(facts)
        except BaseException:
            file.close()
            raise
        return opened

    def add(self, sample: Sample) -> None:
        """Keep a sample; it is on the disk when this returns."""
        self._write(sample)
        self.samples.append(sample)

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()

    def _write(self, value: Sample | RunFacts) -> None:
        self._file.write(json.dumps(asdict(value), ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        with suppress(OSError):  # a pipe has no disk
            os.fsync(self._file.fileno())


def read_samples(path: Path) -> tuple[RunFacts, list[Sample]]:
    """The facts and the samples of a file; a torn last line is left out. UserError if it is no such file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}; give a file that `laguna-tui eval --out` wrote") from error
    return _parsed(path, data[: data.rfind(b"\n") + 1])


def _parsed(path: Path, data: bytes) -> tuple[RunFacts, list[Sample]]:
    lines = data.splitlines()
    try:
        facts = msgspec.json.decode(lines[0], type=RunFacts)
        samples = [msgspec.json.decode(line, type=Sample) for line in lines[1:]]
    except (IndexError, ValueError) as error:
        raise UserError(_NOT_READABLE.format(path=path, why=f"it is no file of samples ({error})")) from error
    if facts.format != FORMAT:
        raise UserError(_NOT_READABLE.format(path=path, why=f"it is of format {facts.format}, not {FORMAT}"))
    return facts, samples


def _differing(found: RunFacts, wanted: RunFacts) -> list[str]:
    """What differs between two runs, a clause each."""
    pairs = [("model", found.model, wanted.model), ("seed", found.seed, wanted.seed)]
    names = sorted({*found.settings, *wanted.settings})
    pairs += [(name, found.settings.get(name), wanted.settings.get(name)) for name in names]
    return [f"{name} {before} there, {now} here" for name, before, now in pairs if before != now]
