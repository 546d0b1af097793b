"""One attempt of a model at a task: a function is answered in words, a task about files by the agent with its tools.

A look-up is answered by the agent too, unless its files are to be in the prompt: then there are no tools. The engine
stays open from one attempt to the next; every attempt has a session, a folder and a conversation of its own.
"""

import math
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from laguna_engine.chat.messages import AssistantMessage, Role
from laguna_engine.events import FinishReason, LoadProgress, Stats
from laguna_tui.backends.base import Message, Options, Prompt
from laguna_tui.backends.local.answer import GenerationRecord
from laguna_tui.base.events import AgentEvent, StepFinished, TextDelta, TurnFinished
from laguna_tui.base.settings import Settings
from laguna_tui.context.shortening import framed_part, shorten
from laguna_tui.context.source_files import SourceFile
from laguna_tui.context.token_counter import CachedTokenCounter
from laguna_tui.evals.samples import Sample, TokenTurn
from laguna_tui.evals.task import ANSWER, SOLUTION, Task, TaskSet
from laguna_tui.evals.verdict import TASKS, TaskVerdict, check_solution, code_of, read_files, write_files
from laguna_tui.session.session import Session
from laguna_tui.session.session_pool import SharedEngine
from laguna_tui.session.session_scorer import SessionScorer
from laguna_tui.session.values import SessionOptions

CODE_ONLY = "Answer with code that is complete and runs. Explain nothing."
"""No tools are offered and no questions allowed: both cost answers in tasks that need neither."""
_PASSING = SessionOptions(undoable=False)
_READING = "Answer the question about these files in one short sentence."


@dataclass
class Outcome:
    """Result of an attempt so far.

    Attributes:
        answer, reasoning: the text of the last generation; filled at the end.
        solution: files by path; likewise.
    """

    text: list[str] = field(default_factory=list)
    steps: list[Stats] = field(default_factory=list)
    records: list[GenerationRecord] = field(default_factory=list)
    end: str = ""
    answer: str = ""
    reasoning: str = ""
    solution: Mapping[str, str] = field(default_factory=dict)

    def add(self, event: AgentEvent) -> None:
        match event:
            case TextDelta(text):
                self.text.append(text)
            case StepFinished(stats):
                self.steps.append(stats)
            case TurnFinished(end):
                self.end = end.value

    def record(self, session: Session) -> None:
        """Note the newest generation of a model in this process, if it is a new one."""
        newest = None if session.slot.local is None else session.slot.local.last
        if newest is not None and not (self.records and self.records[-1] is newest):
            self.records.append(newest)


class EvaluatedModel:
    """The model that is evaluated; close it. One thread."""

    def __init__(self, settings: Settings, keep: float | None = None) -> None:
        """Open nothing yet.

        Args:
            settings: the user's, with what the model is.
            keep: share of a look-up's files that its prompt holds; None lets the agent look.
        """
        # Nobody is asked: files are changed and commands run unasked, in the sandbox and a folder of the attempt's own.
        self._settings = settings.merged({"mode": "auto"})
        self._engines = SharedEngine(0)
        self._keep = keep
        self._scorer = SessionScorer(self._settings)

    def attempt(self, task: Task, index: int, seed: int, limit_s: float) -> Sample:
        """Let the model try a task, and judge its solution.

        Args:
            index: which sample of the task.
            seed: of its draws.
            limit_s: seconds after which it is stopped; what is there by then is judged.

        Raises:
            EngineError, UserError: the model cannot be opened or fails; there is no sample.
        """
        with self.session(seed) as (session, folder):
            begun = time.monotonic()
            outcome = self._solve(task, session, folder, begun + limit_s)
            seconds = time.monotonic() - begun
        verdict = (
            check_solution(task, outcome.solution) if outcome.solution else TaskVerdict(False, "no code was given")
        )
        return _sample(task, index, seed, outcome, verdict, seconds)

    @contextmanager
    def session(self, seed: int) -> Iterator[tuple[Session, Path]]:
        """Open a session in a new empty folder."""
        with tempfile.TemporaryDirectory(prefix="laguna-eval-") as name:
            folder = Path(name).resolve()
            session = Session(self._settings.merged({"seed": seed}), folder, None, _PASSING, source=self._engines)
            with closing(session):
                session.commands.hidden = (TASKS,)
                session.open(_ignored)
                yield session, folder

    def close(self) -> None:
        """Close the engine and the scorer. Idempotent."""
        self._engines.end()
        self._scorer.close()

    def _solve(self, task: Task, session: Session, folder: Path, deadline: float) -> Outcome:
        if task.set is TaskSet.FUNCTIONS:
            outcome = ask_without_tools(CODE_ONLY, task.question, session, deadline)
            code = code_of(outcome.answer, task.entry)
            outcome.solution = {SOLUTION: code} if code else {}
        elif task.set is TaskSet.LOOKUPS:
            if self._keep is None:
                outcome = _run_agent(task, session, folder, deadline)
            else:
                question = f"{self._shortened(task, session, self._keep)}\n{task.question}"
                outcome = ask_without_tools(_READING, question, session, deadline)
            outcome.solution = {ANSWER: outcome.answer} if outcome.answer else {}
        else:
            outcome = _run_agent(task, session, folder, deadline)
            outcome.solution = read_files(folder)
        return outcome

    def _shortened(self, task: Task, session: Session, keep: float) -> str:
        """Return the files of a task as text for a message, shortened for its question."""
        measure = CachedTokenCounter(session.slot.healthy().count)
        budget = int(keep * sum(map(measure, task.files.values())))
        # Nobody waits, and what is kept is not to depend on the machine's load.
        scorer, files = self._scorer.take(), list(task.files.items())
        found = shorten(files, task.question, budget, measure, scorer, seconds=math.inf)
        self._scorer.release()
        sources = [SourceFile(path, text, 0, 0) for path, text in task.files.items()]
        return "\n".join(framed_part(*each) for each in zip(sources, found.parts, strict=True) if each[1].kept)


def _ignored(progress: LoadProgress) -> None:
    del progress


def ask_without_tools(system: str, question: str, session: Session, deadline: float) -> Outcome:
    """Return how the model of a session answered one question. deadline: of the monotonic clock."""
    outcome, timed_out = Outcome(), False
    options, backend = session.opened().agent.options, session.slot.healthy()
    prompt = Prompt(system, messages=(Message(Role.USER, (question,)),), thinking=options.thinking)
    wanted = Options(
        sampling=options.sampling,
        max_tokens=options.max_tokens,
        drafting=options.drafting,
        thinking_budget=options.thinking_limit(backend.n_ctx),
    )
    with closing(backend.generate(prompt, wanted)) as answer:
        for event in answer:
            outcome.add(event)
            if time.monotonic() >= deadline:
                timed_out = True
                answer.cancel()
    outcome.record(session)
    outcome.end = "timed_out" if timed_out else "repeating" if answer.repeating else _ENDS[answer.reason]
    message = answer.message.answer or AssistantMessage()
    outcome.answer, outcome.reasoning = message.text, message.reasoning
    return outcome


_ENDS = {
    FinishReason.STOP_TOKEN: "answered",
    FinishReason.STOP_TEXT: "answered",
    FinishReason.MAX_TOKENS: "max_tokens",
    FinishReason.CONTEXT_FULL: "context_full",
    FinishReason.CANCELLED: "answered",
}
"""As a turn of the agent ends. What is cancelled without a reason of ours ended in a way that only the parser sees."""


def _run_agent(task: Task, session: Session, folder: Path, deadline: float) -> Outcome:
    """Let the agent work in the folder."""
    outcome, timed_out = Outcome(), False
    write_files(folder, task.files)
    conversation = session.opened().agent.conversation
    with closing(session.chat.ask(task.question)) as events:
        for event in events:
            outcome.add(event)
            outcome.record(session)
            if time.monotonic() >= deadline:
                timed_out = True
                session.chat.cancel()
    outcome.end = "timed_out" if timed_out else outcome.end
    answers = (each.answer.text for each in reversed(conversation.items()) if each.answer is not None)
    outcome.answer = next(answers, "")
    return outcome


def _sample(task: Task, index: int, seed: int, outcome: Outcome, verdict: TaskVerdict, seconds: float) -> Sample:
    steps = outcome.steps
    return Sample(
        task=task.name,
        set=task.set.value,
        index=index,
        seed=seed,
        reward=float(verdict.passed),
        end=outcome.end,
        steps=len(steps),
        prompt_tokens=sum(step.prompt_tokens for step in steps),
        generated_tokens=sum(step.generated_tokens for step in steps),
        drafted=sum(step.drafted for step in steps),
        accepted=sum(step.accepted for step in steps),
        decode_s=round(sum(step.decode_s for step in steps), 4),
        seconds=round(seconds, 3),
        answer="".join(outcome.text),
        check=verdict.output,
        tokens=tuple(token_turns(outcome.records)),
    )


def token_turns(records: list[GenerationRecord]) -> Iterator[TokenTurn]:
    """Yield the tokens of each generation, without those that the one before had."""
    before: list[int] = []
    for record in records:
        prompt = list(record.prompt)
        kept = next((at for at, (old, new) in enumerate(zip(before, prompt, strict=False)) if old != new), None)
        kept = min(len(before), len(prompt)) if kept is None else kept
        yield TokenTurn(kept, prompt[kept:], list(record.tokens))
        before = [*prompt, *record.tokens]
