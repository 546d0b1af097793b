"""What a model still answers rightly after compression: `python -m tests.evals.nano_answers [--scorer FILE]`.

Run by hand; nothing is asserted. Laguna Nano is asked about packages that it never saw, in wordings that it never saw,
and looks with the app's real tools at what compression left of them. It cannot answer from code that merely stands in
its prompt (see the README), so the compressed files take the folder's place: what was left out is blank there, and
every line keeps its number. The right answer is the one that the whole files give.
"""

import argparse
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from laguna_engine.chat.template import Family, Renderer
from laguna_engine.chat.vocabulary import SafeEncoder
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Token
from laguna_engine.options import Speculation
from laguna_tui.agent.prompt import system_prompt
from laguna_tui.agent.tools import TOOL_SPECS, Toolbox
from laguna_tui.repo.workspace import Workspace
from tests.evals.compression import HELD, sources
from tests.evals.corpora import HERE
from tests.evals.keepers import BASELINES, NANO, Keeper, Ranges, Task, measure
from tests.evals.ours import ours

sys.path.insert(0, str(HERE / "assets/nano/recipe"))

from answers import ANSWER, text_of
from collect import defined_names, file_patterns
from questions import HELD_OUT, TOOL, Skill

SKILLS = (Skill.WHERE, Skill.TAKES, Skill.USES, Skill.OUTLINE)
KEEPS = (0.1, 0.2, 0.3)
SIZE = 32_768
QUESTIONS = 30
_SEED = 31
_CONTEXT, _LONGEST = 4096, 200
_OPENING = "[folder {} · 2026-11-20 · git main, 2 changed]\n\n"
_CALL = re.compile(r"<tool_call>(\w+)\n<arg_key>pattern</arg_key>\n<arg_value>(.*?)</arg_value>", re.S)


class Question(NamedTuple):
    """What is asked of which files, and the tool call that Nano was trained to make."""

    skill: Skill
    package: str
    text: str
    pattern: str
    files: tuple[tuple[str, str], ...]


class Nano:
    """Laguna Nano in one conversation at a time."""

    def __init__(self) -> None:
        options = EngineOptions(NANO, n_ctx=_CONTEXT, threads=1, swa_full=True, speculation=Speculation.OFF)
        self._engine = Engine.open(options)
        self._renderer = Renderer(SafeEncoder(self._engine.vocab), Family.XS_2_1, thinking=False)
        self._head = self._renderer.system(system_prompt(), TOOL_SPECS)

    def answer(self, question: Question, folder: Path) -> str:
        """What it says in the end, having looked into the folder once."""
        ids = [*self._head, *self._renderer.user(_OPENING.format(question.package) + question.text)]
        said = self._said(ids)
        called = _CALL.search(said)
        if not called:
            return said
        ids += self._renderer.tool_response(Toolbox(Workspace(folder)).run(called[1], {"pattern": called[2]}).output)
        return self._said(ids)

    def _said(self, ids: list[int]) -> str:
        """Its next turn, which is added to `ids`."""
        ids += self._renderer.generation_prompt()
        request = Request(tuple(ids), stop_tokens=self._renderer.stop_tokens, max_tokens=_LONGEST)
        said = [event.id for event in self._engine.generate(request) if isinstance(event, Token)]
        said = said[:-1] if said and said[-1] in self._renderer.stop_tokens else said
        ids += said + self._renderer.close_assistant(said)
        return self._engine.vocab.detokenize(said).decode("utf-8", "replace").strip()


def questions(number: int) -> Iterator[Question]:
    """`number` of each skill, evenly from the packages."""
    rng = random.Random(_SEED)
    for turn in range(number):
        package = HELD[turn % len(HELD)]
        files = _corpus(sources(*package), rng)
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), files)
            names = sorted({name for name in defined_names(Path(folder)) if name[:2] != "__"})
            patterns = file_patterns(Path(folder), rng)
        for skill in SKILLS:
            pattern = rng.choice(patterns if skill is Skill.OUTLINE else names)
            shown = rng.choice([f"`{pattern}`", pattern])
            text = rng.choice(HELD_OUT[skill]).replace("{n}", shown).replace("{f}", shown)
            yield Question(skill, package[0], text, pattern, files)


def _corpus(files: dict[str, str], rng: random.Random) -> tuple[tuple[str, str], ...]:
    chosen, left = {}, SIZE
    for path in rng.sample(sorted(files), len(files)):
        if (cost := measure(files[path])) <= left:
            chosen[path] = files[path]
            left -= cost
    return tuple(sorted(chosen.items()))


def write(folder: Path, files: Sequence[tuple[str, str]]) -> None:
    for path, text in files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def blanked(text: str, ranges: Sequence[tuple[int, int]]) -> str:
    """The text with a blank for every character that is not kept; newlines stay."""
    shown = [character if character == "\n" else " " for character in text]
    for start, stop in ranges:
        shown[start:stop] = text[start:stop]
    return "".join(shown)


def left_over(question: Question, keeper: Keeper, keep: float) -> list[tuple[str, str]]:
    """The files after compression for this question."""
    task = Task(question.text, question.files)
    ranges: Ranges = keeper(task, task.budget(keep))
    return [(path, blanked(text, ranges.get(path, ()))) for path, text in question.files]


def right_answer(question: Question, folder: Path) -> str:
    """What Nano was trained to say about the whole files."""
    result = Toolbox(Workspace(folder)).run(TOOL[question.skill], {"pattern": question.pattern}).output
    return text_of(ANSWER[question.skill](question.pattern, result))


def outcome(nano: Nano, question: Question, files: Sequence[tuple[str, str]]) -> bool:
    """Whether Nano says of these files what is right about the whole ones."""
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as folder:
        write(Path(whole), question.files)
        write(Path(folder), files)
        return nano.answer(question, Path(folder)) == right_answer(question, Path(whole))


def main() -> None:
    parser = argparse.ArgumentParser(description=re.sub(r"\s+", " ", __doc__ or ""))
    parser.add_argument("--scorer", type=Path, help="a GGUF that scores; without one, words only")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each kind")
    options = parser.parse_args()
    nano, asked = Nano(), list(questions(options.questions))
    print(f"{options.questions} questions each, {SIZE:,} tokens of files\n")
    print("| files | " + " | ".join(skill.value for skill in SKILLS) + " |\n" + "|---" * (1 + len(SKILLS)) + "|")
    rows = {"whole": [list(question.files) for question in asked]}
    keepers: dict[str, Keeper] = {"ours": ours(options.scorer), "BM25": BASELINES["BM25"], "tail": BASELINES["tail"]}
    rows |= {
        f"{name}, keep {keep}": [left_over(question, keeper, keep) for question in asked]
        for name, keeper in keepers.items()
        for keep in reversed(KEEPS)
    }
    rows["none"] = [[(path, blanked(text, ())) for path, text in question.files] for question in asked]
    for name, folders in rows.items():
        hits = [(q.skill, outcome(nano, q, files)) for q, files in zip(asked, folders, strict=True)]
        shares = [sum(hit for s, hit in hits if s is skill) / options.questions for skill in SKILLS]
        print(f"| {name} | " + " | ".join(f"{share:.0%}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main()
