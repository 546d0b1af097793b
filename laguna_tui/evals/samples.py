"""Samples and the file that keeps them: its first line is about the run, each other one a sample.

The tokens are the model's own, for training on them: each turn says how much of the turn before stays in
the prompt, what was added to it, and what was generated behind that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from laguna_tui.base.errors import UserError
from laguna_tui.evals.record_file import RecordFile, read_records

FORMAT = 1
_OTHER_FORMAT = "{path}: it is of format {found}, not {known}; give another file with --out"
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


class SampleFile:
    """The open file of a run; nobody else can write to it meanwhile.

    Attributes:
        samples: what it holds, in the order of its lines.
    """

    def __init__(self, file: RecordFile[RunFacts, Sample]) -> None:
        """Use `SampleFile.open`."""
        self._file = file
        self.samples: Sequence[Sample] = file.records

    @classmethod
    def open(cls, path: Path, facts: RunFacts) -> Self:
        """Open a file to continue, or a new one.

        Raises:
            UserError: another process writes it, it cannot be written, is no such file, or its samples were made
                otherwise.
        """

        def check(found: RunFacts) -> None:
            _check_format(path, found)
            if other := differing(found, facts):
                raise UserError(_OTHER_RUN.format(path=path, what=", ".join(other)))

        return cls(RecordFile.open(path, facts, Sample, check))

    def add(self, sample: Sample) -> None:
        """Keep a sample; it is on the disk when this returns."""
        self._file.add(sample)

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()


def read_samples(path: Path) -> tuple[RunFacts, list[Sample]]:
    """The facts and the samples of a file; a torn last line is left out. UserError if it is no such file."""
    facts, samples = read_records(path, RunFacts, Sample, "laguna-tui eval --out")
    _check_format(path, facts)
    return facts, samples


def _check_format(path: Path, facts: RunFacts) -> None:
    if facts.format != FORMAT:
        raise UserError(_OTHER_FORMAT.format(path=path, found=facts.format, known=FORMAT))


def differing(found: RunFacts, wanted: RunFacts) -> list[str]:
    """What differs between two runs, a clause each."""
    pairs = [("model", found.model, wanted.model), ("seed", found.seed, wanted.seed)]
    names = sorted({*found.settings, *wanted.settings})
    pairs += [(name, found.settings.get(name), wanted.settings.get(name)) for name in names]
    return [f"{name} {before} there, {now} here" for name, before, now in pairs if before != now]
