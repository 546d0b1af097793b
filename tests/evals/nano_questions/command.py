"""`python -m tests.evals nano-questions`: the bundled model's answers to questions in people's own words."""

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from laguna_tui.base.errors import UserError
from laguna_tui.base.markdown_table import markdown_table
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import Settings
from laguna_tui.cli.console import say
from laguna_tui.evals.estimates import mean_interval
from laguna_tui.headless.outcome import TurnOutcome
from laguna_tui.session.session import Session
from laguna_tui.session.session_pool import SharedEngine
from laguna_tui.session.values import SessionOptions
from tests.evals.nano_questions.grading import Grade, Verdict, grade
from tests.evals.nano_questions.questions import Question, folders, read_questions, sets

_CHATS, _PAIRS = 10, 15
_SEED = 7
_HEAD = ("kind", "questions", "right", "declined", "wrong", "false absence")
_OPTIONS = SessionOptions(undoable=False)


class Answer(NamedTuple):
    """An answer with its verdict, and how long it took."""

    question: Question
    text: str
    verdict: Verdict
    seconds: float


class Leak(NamedTuple):
    """A name of an earlier question in the answer to a later one, which alone has no such name in its answer."""

    question: Question
    name: str


class Chats(NamedTuple):
    """What many chats came to: leaks, and the questions whose early and late grades differ, of all pairs."""

    leaks: list[Leak]
    differing: list[Question]
    pairs: int


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `nano-questions` to the command line."""
    parser = commands.add_parser(
        "nano-questions",
        help="ask the bundled model a frozen set of questions, and grade the answers",
        description="Ask the bundled model questions in people's own words about packages that it never saw, each in a"
        " chat of its own, and then many of them in ten long chats; grade the answers as right, declined or wrong.",
    )
    parser.add_argument("--set", default="dev", choices=sets(), help="which questions (default: dev)")
    parser.add_argument("--kind", help="only the questions of this kind; no long chats")
    parser.add_argument("--show", action="store_true", help="print every answer, not only the wrong ones")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Ask and report; returns the exit code."""
    found = folders(arguments.set)
    asked = [each for each in read_questions(arguments.set) if arguments.kind in (None, each.kind)]
    questions = [each for each in asked if each.package in found]
    if not questions:
        raise UserError("No question of this kind, or no package, is at hand.")
    if missing := len(asked) - len(questions):
        sys.stderr.write(f"{missing} questions are about packages that cannot be downloaded here\n")
    with _Asker(found) as asker, ProgressLine() as progress:
        answers = []
        for number, question in enumerate(questions, 1):
            progress.show(f"{number} of {len(questions)} questions")
            answers.append(asker.answer(question))
        chats = (
            None if arguments.kind else asker.chats(questions, {each.question.id: each for each in answers}, progress)
        )
        progress.clear()
    say(report(answers, chats, show=arguments.show).splitlines())
    return 0


def report(answers: Sequence[Answer], chats: Chats | None, *, show: bool) -> str:
    """Return the table by kind with intervals of 95 %, the answers, and what the chats came to."""
    kinds = list(dict.fromkeys(each.question.kind for each in answers))
    rows = [_row(kind, [each for each in answers if each.question.kind == kind]) for kind in kinds]
    lines = [*markdown_table(_HEAD, [*rows, _row("all", answers)]), ""]
    milliseconds = [1000 * each.seconds for each in answers]
    slow = sorted(milliseconds)[int(0.95 * (len(milliseconds) - 1))]
    lines.append(f"An answer took {statistics.median(milliseconds):.0f} ms (median), {slow:.0f} ms (p95).")
    if chats is not None:
        lines.append(
            f"{_CHATS} chats of {2 * _PAIRS}: {len(chats.leaks)} leaks of a name;"
            f" early and late grades differ in {len(chats.differing)} of {chats.pairs} pairs."
        )
        lines += [f"  leak of {each.name}: {each.question.id} {each.question.ask}" for each in chats.leaks]
        lines += [f"  differs: {each.id} {each.ask}" for each in chats.differing]
    for each in answers:
        if show or each.verdict.grade is Grade.WRONG:
            lines += ["", f"{each.question.id} ({each.question.package}) {each.question.ask}"]
            lines += [f"  {each.verdict.grade.value} {each.verdict.reason}".rstrip()]
            lines += [f"  | {line}" for line in each.text.splitlines()[:6]]
    return "\n".join(lines) + "\n"


def _row(kind: str, answers: Sequence[Answer]) -> list[str]:
    shares = []
    for wanted in Grade:
        values = [float(each.verdict.grade is wanted) for each in answers]
        found = mean_interval(values, len(values))
        shares.append(f"{100 * found.value:.0f} % [{100 * found.low:.0f}, {100 * found.high:.0f}]")
    return [kind, str(len(answers)), *shares, str(sum(each.verdict.false_absence for each in answers))]


class _Asker:
    """Asks the bundled model, whose engine stays open; a context manager."""

    def __init__(self, found: Mapping[str, Path]) -> None:
        self._folders = found
        # Nobody is asked about an edit, which is made in a copy.
        self._settings = Settings(model="nano", threads=1).merged({"mode": "auto"})
        self._engines = SharedEngine(0)

    def __enter__(self) -> "_Asker":
        return self

    def __exit__(self, *error: object) -> None:
        self._engines.end()

    def answer(self, question: Question) -> Answer:
        """Return the answer in a chat of its own."""
        with self._folder(question) as folder, self._session(folder) as session:
            for earlier in question.before:
                _ask(session, earlier)
            before = _texts(folder) if question.changes else {}
            text, seconds = _ask(session, question.ask)
            after = _texts(folder) if question.changes else {}
        changed = {path: found for path, found in after.items() if before.get(path) != found}
        return Answer(question, text, grade(question, text, changed), seconds)

    def chats(self, questions: Sequence[Question], alone: Mapping[str, Answer], progress: ProgressLine) -> Chats:
        """Ask the same questions early and late in each of ten chats, each about one package."""
        by_package: dict[str, list[Question]] = {}
        for question in questions:
            if question.alone:
                by_package.setdefault(question.package, []).append(question)
        enough = sorted(name for name, found in by_package.items() if len(found) >= _PAIRS)
        chats = Chats([], [], 0)
        for number in range(_CHATS if enough else 0):
            progress.show(f"{number + 1} of {_CHATS} chats")
            rng = random.Random(_SEED + number)
            name = enough[number % len(enough)]
            chosen = rng.sample(by_package[name], _PAIRS)
            late = rng.sample(chosen, _PAIRS)
            with self._session(self._folders[name]) as session:
                said = [(question, _ask(session, question.ask)[0]) for question in [*chosen, *late]]
            grades = [
                {each.id: grade(each, text).grade for each, text in part} for part in (said[:_PAIRS], said[_PAIRS:])
            ]
            chats.leaks.extend(leaks(said, {key: each.text for key, each in alone.items()}))
            chats.differing.extend(each for each in chosen if grades[0][each.id] is not grades[1][each.id])
            chats = chats._replace(pairs=chats.pairs + _PAIRS)
        return chats

    @contextmanager
    def _folder(self, question: Question) -> Iterator[Path]:
        folder = self._folders[question.package]
        if not question.changes:
            yield folder
            return
        with tempfile.TemporaryDirectory() as aside:
            yield Path(shutil.copytree(folder, Path(aside).resolve() / folder.name))

    @contextmanager
    def _session(self, folder: Path) -> Iterator[Session]:
        session = Session(self._settings, folder, None, _OPTIONS, source=self._engines)
        with closing(session):
            session.open(lambda progress: None)
            yield session


def leaks(said: Sequence[tuple[Question, str]], alone: Mapping[str, str]) -> Iterator[Leak]:
    """Yield the names of earlier questions that answers of a chat have.

    Args:
        said: the questions of the chat and their answers, in order.
        alone: the answers to them in chats of their own, by the question's id.
    """
    earlier: dict[str, None] = {}
    for question, text in said:
        own = f"{question.ask} {question.name} {alone.get(question.id, '')}"
        yield from (Leak(question, name) for name in earlier if name in text and name not in own)
        if question.name:
            earlier[question.name] = None


def _ask(session: Session, question: str) -> tuple[str, float]:
    outcome, begun = TurnOutcome(), time.perf_counter()
    for event in session.chat.ask(question):
        outcome.add(event)
    return "".join(outcome.text).strip(), time.perf_counter() - begun


def _texts(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(errors="replace") for path in files}
