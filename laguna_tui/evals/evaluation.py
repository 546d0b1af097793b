"""Runs tasks many times with one model, and keeps every sample as soon as it is judged."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

from laguna_engine.config import MAX_SEED
from laguna_engine.native.nvml import EnergyCounter
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.base.spelling import did_you_mean
from laguna_tui.evals.attempt import EvaluatedModel
from laguna_tui.evals.expected_length import ExpectedLength, timed_first
from laguna_tui.evals.samples import RunFacts, Sample, SampleFile
from laguna_tui.evals.task import Task, TaskSet, load_tasks
from laguna_tui.evals.verdict import missing_program, require_sandbox
from laguna_tui.models.entry import ModelKind
from laguna_tui.models.model_selection import select_model
from laguna_tui.models.remote_entry import is_loopback

_HOUR_S = 3600
LIMIT_S = 1800.0
"""Most seconds of an attempt, unless the user says otherwise: many steps of a model that thinks."""

DECISIVE = (
    *("model", "context", "kv", "thinking", "thinking_budget", "temperature", "top_k", "top_p", "min_p"),
    *("repeat_penalty", "max_tokens", "max_steps", "constrain", "speculation", "drafter", "draft_length"),
    *("sample_drafts", "adapter", "scorer", "pack"),
)
"""The settings that decide what is generated, if only by rounding; the seed is the run's own."""
_ALWAYS_THE_SAME = "--samples {count}: at temperature 0 every sample is the same; give --temperature 1 too"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What is to be run.

    Attributes:
        tasks: whose language's programs are here.
        skipped: languages whose programs are not, each with the first of them that is missing and its tasks' number.
        samples: of each task.
        seed: the run's; every sample's is made of it.
        limit_s: seconds of an attempt.
        settings: the user's, with what the model is.
        keep: share of a look-up's files that its prompt holds; None lets the agent look with its tools.
    """

    tasks: Sequence[Task]
    skipped: Sequence[tuple[str, str, int]]
    samples: int
    seed: int
    limit_s: float
    settings: Settings
    keep: float | None = None

    @classmethod
    def chosen(
        cls,
        settings: Settings,
        sets: Sequence[str] = (),
        names: Sequence[str] = (),
        samples: int = 1,
        limit_s: float = LIMIT_S,
        keep: float | None = None,
    ) -> "Evaluation":
        """Choose tasks by sets and names; all without either.

        Raises:
            UserError: there is no such task, the samples would all be the same, or no sandbox works here.
        """
        require_sandbox()
        wanted = chosen_tasks(sets, names)
        missing = {language: missing_program(language) for language in dict.fromkeys(task.language for task in wanted)}
        skipped = [
            (language, program, sum(task.language == language for task in wanted))
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
        """How the samples are made."""
        title = select_model(self.settings).entry.title
        named = {**{key: getattr(self.settings, key) for key in DECISIVE}, "keep": self.keep}
        return RunFacts(title, {key: value for key, value in named.items() if value is not None}, self.seed)

    def missing(self, done: Sequence[Sample]) -> list[tuple[Task, int]]:
        """The attempts that are not among those: first one of every task, so that a run cut short is of all."""
        known = {(sample.task, sample.index) for sample in done}
        wanted = ((task, index) for index in range(self.samples) for task in self.tasks)
        return [(task, index) for task, index in wanted if (task.name, index) not in known]

    def run(
        self,
        file: Path | None,
        told: Callable[[int, int, Sample | None], None],
        expects: Callable[[ExpectedLength], None] = lambda expected: None,
        hours: float | None = None,
    ) -> Iterator[Sample]:
        """All samples, those of the file first; each new one is in the file before it is yielded.

        Args:
            file: that keeps them; None keeps none.
            told: how many attempts are done, how many there are, and the newest sample.
            expects: is told how long the rest will take, once some tasks of every set are timed.
            hours: after which no attempt is begun any more; None for no limit.

        Raises:
            UserError, EngineError: the file, or the model; what is in the file stays.
        """
        kept = None if file is None else SampleFile.open(file, self.facts)
        try:
            before = [] if kept is None else self._wanted(kept.samples)
            yield from before
            todo, timed = timed_first(self.missing(before), before)
            total = len(before) + len(todo)
            told(len(before), total, None)
            yield from self._attempts(todo, timed, before, kept, told, expects, hours)
        finally:
            if kept is not None:
                kept.close()

    def _attempts(
        self,
        todo: Sequence[tuple[Task, int]],
        timed: int,
        before: Sequence[Sample],
        kept: SampleFile | None,
        told: Callable[[int, int, Sample | None], None],
        expects: Callable[[ExpectedLength], None],
        hours: float | None,
    ) -> Iterator[Sample]:
        """Make the attempts. timed: how many of them are timed before `expects` is told."""
        begun, known, here, checks_s = time.monotonic(), list(before), self._is_here, 0.0
        with closing(EvaluatedModel(self.settings, self.keep)) as model, closing(EnergyCounter.open()) as energy:
            for number, (task, index) in enumerate(todo):
                begins = time.monotonic()
                if hours is not None and begins - begun >= hours * _HOUR_S:
                    return
                if number == timed and known:
                    left = [each.set.value for each, _ in todo[number:]]
                    expects(ExpectedLength.of(known, left, checks_s / max(1, number - 1)))
                joules = energy.joules() if here else None
                sample = model.attempt(task, index, self._seed_of(task, index), self.limit_s)
                if joules is not None and (after := energy.joules()) is not None:
                    sample = replace(sample, joules=round(after - joules, 3))
                if kept is not None:
                    kept.add(sample)
                known.append(sample)
                if number > 0:  # the first one opens the model
                    checks_s += max(0.0, time.monotonic() - begins - sample.seconds)
                told(len(before) + number + 1, len(before) + len(todo), sample)
                yield sample

    @property
    def _is_here(self) -> bool:
        """Whether the model runs on this machine."""
        entry = select_model(self.settings).entry
        return entry.kind is not ModelKind.REMOTE or is_loopback(entry.url)

    def _wanted(self, samples: Sequence[Sample]) -> list[Sample]:
        names = {task.name for task in self.tasks}
        return [sample for sample in samples if sample.task in names and sample.index < self.samples]

    def _seed_of(self, task: Task, index: int) -> int:
        return (self.seed + crc32(f"{task.name} {index}".encode())) % (MAX_SEED + 1)


def chosen_tasks(sets: Sequence[str], names: Sequence[str]) -> list[Task]:
    """The tasks of these sets and with these names; all without either. UserError where there is none of a name."""
    tasks = load_tasks()
    for name in names:
        if name not in tasks:
            near = did_you_mean(name, tasks)
            raise UserError(f"there is no task '{name}'{near}; see them: laguna-tui eval --list")
    kinds = [TaskSet(each) for each in sets] or ([] if names else list(TaskSet))
    return [task for task in tasks.values() if task.set in kinds or task.name in names]
