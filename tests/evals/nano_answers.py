"""What a model still answers rightly after compression: `python -m tests.evals.nano_answers [--scorer FILE]`.

Run by hand; nothing is asserted. Laguna Nano is asked about packages that it never saw, in wordings that it never saw,
and calls the app's real tools. It cannot answer from code that merely stands in its prompt (see the README), so
compression is put where it does read: of what a tool answers, it gets those lines that compression of the files for
this question left. The right answer is the tool's whole answer, which Nano is trained to repeat.
"""

import argparse
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from laguna_engine.chat.encoding import SafeEncoder
from laguna_engine.chat.template import Family, Renderer
from laguna_engine.config import Speculation
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Token
from laguna_tui.agent.tools.nano.profile import NANO as PROFILE
from tests.evals.compression import HELD, sources
from tests.evals.corpora import HERE
from tests.evals.keepers import BASELINES, NANO, Keeper, Ranges, Task, line_span, measure, missing
from tests.evals.ours import ours

sys.path.insert(0, str(HERE / "assets/nano/recipe"))

from answers import looking
from apptools import Tools
from cases import parsed
from collect import defined_names, file_patterns
from questions import HELD_OUT, TOOL, Skill
from results import LINE, OUTLINED

SKILLS = (Skill.WHERE, Skill.TAKES, Skill.USES, Skill.OUTLINE)
KEEPS = (0.1, 0.3)
SIZE = 32_768
QUESTIONS = 30
_SEED = 31
_CONTEXT, _LONGEST = 4096, 200
_OUTLINE_OF = re.compile(r"`(\S+)` defines:$")
_OPENING = "[folder {} · 2026-11-20 · git main, 2 changed]\n\n"


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
        self._head = self._renderer.system(PROFILE.system_prompt, PROFILE.specs)

    def answer(self, question: Question, folder: Path, left: Ranges | None) -> str:
        """Return what it says in the end, having looked once; `left` of the folder's files, None for all."""
        ids = [*self._head, *self._renderer.user(_OPENING.format(question.package) + question.text)]
        said = self._said(ids)
        called = parsed(said)
        if not called:
            return said.strip()
        result = Tools(folder).run(called.tool, called.arguments)
        if left is not None:
            result = thinned(result, question.pattern, dict(question.files), left)
        ids += self._renderer.tool_response(result)
        return self._said(ids).strip()

    def _said(self, ids: list[int]) -> str:
        """Return its next turn, which is added to `ids`."""
        ids += self._renderer.generation_prompt()
        request = Request(tuple(ids), stop_tokens=self._renderer.stop_tokens, max_tokens=_LONGEST)
        said = [event.id for event in self._engine.generate(request) if isinstance(event, Token)]
        said = said[:-1] if said and said[-1] in self._renderer.stop_tokens else said
        ids += said + self._renderer.close_assistant(said)
        return self._engine.vocab.detokenize(said).decode("utf-8", "replace")


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


def thinned(result: str, pattern: str, files: Mapping[str, str], left: Ranges) -> str:
    """Return a tool's answer without the lines of code that were not kept."""
    lines = result.split("\n")
    of = _OUTLINE_OF.match(lines[0])
    places = [_place(line, of[1] if of else "") for line in lines]
    stays = [place is None or _stays(*place, files, left) for place in places]
    told = [line for line, stay in zip(lines, stays, strict=True) if stay]
    some = any(place and stay for place, stay in zip(places, stays, strict=True))
    return "\n".join(told) if some or not any(places) else f"Nothing matches `{pattern}`."


def _place(line: str, outlined: str) -> tuple[str, int] | None:
    """Return the file and the line that a line of a list names; `outlined` is the file of an outline."""
    if found := LINE.match(line):
        return found[2], int(found[3])
    found = OUTLINED.match(line) if outlined else None
    return (outlined, int(found[2])) if found else None


def _stays(path: str, number: int, files: Mapping[str, str], left: Ranges) -> bool:
    return path not in files or not missing(files[path], *line_span(files[path], number, number), left.get(path, ()))


def outcomes(nano: Nano, asked: Sequence[Question], keeper: Keeper | None, keep: float) -> Iterator[tuple[Skill, bool]]:
    """Yield whether Nano says of what is kept what is right about the whole."""
    for question in asked:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), question.files)
            task = Task(question.text, question.files)
            left = keeper(task, task.budget(keep)) if keeper else None
            right = Tools(Path(folder)).run(TOOL[question.skill], looking(question.skill, question.pattern))
            yield question.skill, nano.answer(question, Path(folder), left) == right


def main() -> None:
    parser = argparse.ArgumentParser(description=re.sub(r"\s+", " ", __doc__ or ""))
    parser.add_argument("--scorer", type=Path, help="a GGUF that scores; without one, words only")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each kind")
    options = parser.parse_args()
    nano, asked = Nano(), list(questions(options.questions))
    print(f"{options.questions} questions each, {SIZE:,} tokens of files\n")
    print("| files | " + " | ".join(skill.value for skill in SKILLS) + " |\n" + "|---" * (1 + len(SKILLS)) + "|")
    keepers: dict[str, Keeper] = {"ours": ours(options.scorer), **BASELINES}
    rows: list[tuple[str, Keeper | None, float]] = [("whole", None, 1.0)]
    rows += [(f"{name}, keep {keep}", keeper, keep) for name, keeper in keepers.items() for keep in KEEPS]
    rows.append(("nothing kept", lambda task, budget: {}, 0.0))
    for name, keeper, keep in rows:
        hits = list(outcomes(nano, asked, keeper, keep))
        shares = [sum(hit for s, hit in hits if s is skill) / options.questions for skill in SKILLS]
        print(f"| {name} | " + " | ".join(f"{share:.0%}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main()
