"""Runs tasks many times with one model, and saves every sample as soon as it is judged."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from zlib import crc32

from laguna_engine.config import MAX_SEED
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.base.spelling import did_you_mean
from laguna_tui.evals.attempt import EvaluatedModel
from laguna_tui.evals.samples import RunFacts, RunFile, Sample
from laguna_tui.evals.task import Task, TaskSet, load_tasks
from laguna_tui.evals.verdict import missing_program, require_sandbox
from laguna_tui.models.entry import ModelKind
from laguna_tui.models.model_selection import select_model

_HOUR_S = 3600
DECISIVE = (
    *("model", "context", "kv", "thinking", "thinking_budget", "temperature", "top_k", "top_p", "min_p"),
    *("repeat_penalty", "max_tokens", "max_steps", "constrain", "speculation", "drafter", "draft_length"),
    *("sample_drafts", "adapter", "scorer", "pack"),
)
"""The settings that decide what is generated, if only by rounding; the seed is the run's own."""
_SKIPPED = "Skipped: {number} in {language}, because {program} is not installed."
_ALWAYS_THE_SAME = "--samples {count}: at temperature 0 every sample is the same; add --temperature 1"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What is to be run.

    Attributes:
        tasks: whose language's programs are here.
        skipped: a sentence for each language whose programs are not.
        samples: of each task.
        seed: the run's; every sample's is made of it.
        limit_s: seconds of an attempt.
        settings: the user's, with what the model is.
        keep: share of a look-up's files that its prompt holds; None lets the agent look with its tools.
    """

    tasks: Sequence[Task]
    skipped: Sequence[str]
    samples: int
    seed: int
    limit_s: float
    settings: Settings
    keep: float | None = None

    @classmethod
    def chosen(
        cls,
        settings: Settings,
        sets: Sequence[str],
        names: Sequence[str],
        samples: int,
        limit_s: float,
        keep: float | None,
    ) -> Self:
        """Choose tasks by sets and names; all without either.

        Raises:
            UserError: there is no such task, the samples would all be the same, or no sandbox works here.
        """
        require_sandbox()
        wanted = chosen_tasks(sets, names)
        missing = {language: missing_program(language) for language in dict.fromkeys(task.language for task in wanted)}
        skipped = [
            _SKIPPED.format(
                number=sum(task.language == language for task in wanted), language=language, program=program
            )
            for language, program in missing.items()
            if program
        ]
        tasks = [task for task in wanted if not missing[task.language]]
        selection = select_model(settings)
        temperature = settings.temperature
        if temperature is None:
            temperature = selection.entry.sampling.get("temperature", 0.0)
        if samples > 1 and temperature == 0 and selection.entry.kind is not ModelKind.REMOTE:
            raise UserError(_ALWAYS_THE_SAME.format(count=samples))
        return cls(tasks, skipped, samples, 1 if settings.seed is None else settings.seed, limit_s, settings, keep)

    @property
    def facts(self) -> RunFacts:
        """Return how the samples are made."""
        title = select_model(self.settings).entry.title
        named = {**{key: getattr(self.settings, key) for key in DECISIVE}, "keep": self.keep}
        return RunFacts(title, {key: value for key, value in named.items() if value is not None}, self.seed)

    def missing(self, done: Sequence[Sample]) -> list[tuple[Task, int]]:
        """Return the attempts not done yet, one of every task first, so that a run cut short covers all tasks."""
        known = {(sample.task, sample.index) for sample in done}
        wanted = ((task, index) for index in range(self.samples) for task in self.tasks)
        return [(task, index) for task, index in wanted if (task.name, index) not in known]

    def open_model(self) -> EvaluatedModel:
        """Return the model that makes the attempts; the caller closes it."""
        return EvaluatedModel(self.settings, self.keep)

    def run(
        self, file: Path | None, on_progress: Callable[[Sequence[Sample], int], None], hours: float | None = None
    ) -> Iterator[Sample]:
        """Yield all samples, those of the file first; each new one is in the file before it is yielded.

        Args:
            file: where they are saved; None saves none.
            on_progress: gets the samples so far, and how many there will be.
            hours: after which no attempt begins; None for no limit.

        Raises:
            UserError, EngineError: the file, or the model; what is in the file stays.
        """
        saved = None if file is None else RunFile.open(file, self.facts, Sample)
        try:
            before = [] if saved is None else self._wanted(saved.records)
            yield from before
            todo = self.missing(before)
            samples, total = [*before], len(before) + len(todo)
            on_progress(samples, total)
            end = math.inf if hours is None else time.monotonic() + hours * _HOUR_S
            with closing(self.open_model()) as model:
                for task, index in todo:
                    if time.monotonic() >= end:
                        return
                    sample = model.attempt(task, index, self._seed_of(task, index), self.limit_s)
                    if saved is not None:
                        saved.add(sample)
                    samples.append(sample)
                    on_progress(samples, total)
                    yield sample
        finally:
            if saved is not None:
                saved.close()

    def _wanted(self, samples: Sequence[Sample]) -> list[Sample]:
        names = {task.name for task in self.tasks}
        return [sample for sample in samples if sample.task in names and sample.index < self.samples]

    def _seed_of(self, task: Task, index: int) -> int:
        return (self.seed + crc32(f"{task.name} {index}".encode())) % (MAX_SEED + 1)


def chosen_tasks(sets: Sequence[str], names: Sequence[str]) -> list[Task]:
    """Return the tasks of these sets and names; all without either. Raises UserError for an unknown name."""
    tasks = load_tasks()
    for name in names:
        if name not in tasks:
            near = did_you_mean(name, tasks)
            raise UserError(f"there is no task '{name}'{near}; see them: laguna-tui eval --list")
    kinds = [TaskSet(each) for each in sets] or ([] if names else list(TaskSet))
    return [task for task in tasks.values() if task.set in kinds or task.name in names]
