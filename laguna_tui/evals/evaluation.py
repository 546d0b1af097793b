"""Runs tasks many times with one model, and keeps every sample as soon as it is judged."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from laguna_engine.config import MAX_SEED
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.base.spelling import did_you_mean
from laguna_tui.evals.attempt import EvaluatedModel
from laguna_tui.evals.samples import RunFacts, Sample, SampleFile
from laguna_tui.evals.task import Task, TaskSet, load_tasks
from laguna_tui.evals.verdict import missing_program, require_sandbox
from laguna_tui.models.entry import ModelKind
from laguna_tui.models.model_selection import select_model

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

    def run(self, file: Path | None, told: Callable[[int, int, Sample | None], None]) -> Iterator[Sample]:
        """All samples, those of the file first; each new one is in the file before it is yielded.

        Args:
            file: that keeps them; None keeps none.
            told: how many attempts are done, how many there are, and the newest sample.

        Raises:
            UserError, EngineError: the file, or the model; what is in the file stays.
        """
        kept = None if file is None else SampleFile.open(file, self.facts)
        try:
            before = [] if kept is None else self._wanted(kept.samples)
            yield from before
            todo = self.missing(before)
            total = len(before) + len(todo)
            told(len(before), total, None)
            with closing(EvaluatedModel(self.settings, self.keep)) as model:
                for done, (task, index) in enumerate(todo, len(before) + 1):
                    sample = model.attempt(task, index, self._seed_of(task, index), self.limit_s)
                    if kept is not None:
                        kept.add(sample)
                    told(done, total, sample)
                    yield sample
        finally:
            if kept is not None:
                kept.close()

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
