"""The bundled pair in numbers: `python -m tests.evals.nano [--questions 20] [--seeds 7 8] [--free | --only-answers]`.

Run by hand; nothing is asserted. All of it is about packages that Laguna Nano never saw, asked in wordings that it
never saw: answers that are right word for word, bits per byte of code, and how much of what its drafter proposes is
accepted (where all before it is). Answers are held to the constraints that the app holds them to, unless `--free`. A
copy is wrong when what an answer has between backticks is between none in what the tools said. The questions and the
right answers are the recipe's (`assets/nano/recipe/cases.py`); tools and engine are the app's.
"""

import argparse
import logging
import random
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import mean

from laguna_engine.chat.messages import ToolCall
from laguna_engine.chat.template import Family
from laguna_engine.config import GREEDY, Sampling
from laguna_engine.constrain.base import ConstraintSpec
from laguna_engine.draft.dflash import DFlash
from laguna_engine.speculate.metrics import SpeculationMetrics
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.nano.profile import NANO as PROFILE
from laguna_tui.backends.base import Options, Prompt
from laguna_tui.backends.local.laguna_format import LagunaFormat
from tests.evals.corpora import CACHE, HERE

sys.path.insert(0, str(HERE / "assets/nano/recipe"))

from apptools import OWN, Tools, copies
from bits import bits_per_byte
from cases import COLUMNS, SEED, Cases, Score, converse, pairs
from drafter_answers import continued, excerpt, sorted_pairs, source_files
from sources import HELD_OUT, fetch, manifest, unpacked
from speaker import TEMPERATURE, TOP_K, Chat, Speaker, sampled

NANO = HERE / "assets/nano"
QUOTED = re.compile(r"`([^`\n]*)`")
STRETCHES = 60
"""Pieces of held-out code that bits per byte are counted over."""
CODE = 9
"""Of which so many are continued for each group of chats."""


def held_out(work: Path) -> list[str]:
    """Return the packages that were kept from training, fetched if they are not there."""
    if missing := [name for name in HELD_OUT if not (work / "repos" / name).is_dir()]:
        fetch(work, missing, work / "wheels", manifest())
    return unpacked(work, held_out=True)


class Copies:
    """Counts answers about what tools said, and those of them with a wrong copy."""

    def __init__(self) -> None:
        self.answers = self.wrong = 0

    def add(self, reply: str, results: Sequence[str]) -> None:
        """One reply after `results`; a call is no answer."""
        if results and "<tool_call>" not in reply:
            self.answers += 1
            there = {quoted for result in results for quoted in QUOTED.findall(result)}
            self.wrong += not there.issuperset(QUOTED.findall(reply))


class HeldChat(Chat):
    """A chat that is held to what the app holds it to, unless `free`; its copies are counted."""

    def __init__(self, speaker: Speaker, copies: Copies, *, free: bool) -> None:
        super().__init__(speaker)
        self._copies, self._free = copies, free
        self._format = LagunaFormat(speaker.vocab, Family.XS_2_1, "")
        self._results: list[str] = []
        self._guard = PROFILE.guard("", str)

    def constraints(self) -> tuple[ConstraintSpec, ...]:
        held = Options(rules=self._guard.rules, quotable=self._guard.quotable)
        return () if self._free else self._format.constraints(Prompt("", PROFILE.specs), held)

    def ask(self, question: str) -> str:
        before = self.speaker.encoder.decode(self.ids[self.header :])
        self._results, self._guard = [], PROFILE.guard(question, lambda: before)
        return super().ask(question)

    def give(self, result: str) -> str:
        self._results.append(result)
        self._guard.take(ToolCall("", {}), ToolResult(result))
        reply = super().give(result)
        self._copies.add(reply, self._results)
        return reply


def answers(
    speaker: Speaker, repositories: Mapping[str, Path], questions: int, seed: int, copied: Copies, *, free: bool
) -> Score:
    """Return how many calls and answers were right, of `questions` of each kind."""
    tools = {name: Tools(path) for name, path in repositories.items()}
    cases, score = Cases(seed, repositories, OWN), Score()
    for index in range(questions):
        for first, second in pairs(cases.group(index)):
            chat = HeldChat(speaker, copied, free=free)
            for case, turn, outcome in converse(chat, first, second, tools):
                score.add(case, turn, outcome)
                if not outcome.right:
                    logging.info("%s, turn %d: %s\n    %r", case.kind, turn, case.question, outcome.reply)
    return score


def code_of(work: Path, number: int, seed: int) -> list[str]:
    rng, files = random.Random(seed), source_files(work / "repos", held_out(work))
    return [excerpt(files, rng) for _ in range(number)]


def drafted(speaker: Speaker, work: Path, repositories: Mapping[str, Path], groups: int, seed: int) -> Iterator[str]:
    """A row for each kind of text: tokens that a round commits, and how often each proposal stands once reached."""
    tools = {name: Tools(path) for name, path in repositories.items()}
    for sampling in (GREEDY, sampled(seed)):
        cases = Cases(seed, repositories, OWN)
        chats = [pair for index in range(groups) for pair in sorted_pairs(cases.group(index))]
        for kind, title in (("chat", "look-ups and talk"), ("edit", "edits")):
            for _, first, second in (chat for chat in chats if chat[0] == kind):
                list(converse(Chat(speaker, sampling), first, second, tools))
            yield row(speaker, title, sampling)
        for text in code_of(work, CODE * groups, seed):
            continued(speaker, text, sampling)
        yield row(speaker, "code", sampling)


def row(speaker: Speaker, kind: str, sampling: Sampling) -> str:
    """Return what the rounds since the last row add up to."""
    how = f"temperature {TEMPERATURE}, top-k {TOP_K}" if sampling.temperature else "greedy"
    tally = SpeculationMetrics()
    tally.extend(speaker.rounds)
    found = tally.summary().drafters[DFlash.source]
    per_round, rounds = speaker.committed / len(speaker.rounds), len(speaker.rounds)
    speaker.rounds, speaker.committed = [], 0
    shares = [accepted / max(1, reached) for accepted, reached in zip(found.accepted_at, found.reached, strict=True)]
    return f"| {kind}, {how} | {rounds} | {per_round:.2f} | " + " | ".join(f"{share:.0%}" for share in shares) + " |"


def seeds_apart(found: Sequence[Score]) -> str:
    """Return all answers of each seed together: how much the choice of questions moves the numbers."""
    wanted = [(turn, what) for turn in (1, 2) for what in ("call", "answer")]
    shares = [[score.total(turn, what) for turn, what in wanted] for score in found]
    return "; ".join(
        f"{column} {mean(values):.1%} ({min(values):.1%} to {max(values):.1%})"
        for column, values in zip(COLUMNS, zip(*shares, strict=True), strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=re.sub(r"\s+", " ", __doc__ or ""))
    parser.add_argument("--model", type=Path, default=NANO / "laguna-nano.gguf")
    parser.add_argument("--drafter", type=Path, default=NANO / "laguna-nano-dflash.gguf")
    parser.add_argument("--work", type=Path, default=CACHE / "nano", help="where repos/ with the held-out packages is")
    parser.add_argument("--questions", type=int, default=20, help="of each kind, for each seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[SEED, SEED + 1], help="that questions are drawn with")
    parser.add_argument("--groups", type=int, default=4, help="of a dozen chats that acceptance is counted over")
    parser.add_argument("--free", action="store_true", help="answers are held to nothing")
    parser.add_argument("--only-answers", action="store_true", help="leave out code and drafts")
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO if options.show else logging.WARNING, format="%(message)s")
    start = time.monotonic()
    with copies({name: options.work / "repos" / name for name in held_out(options.work)}) as repositories:
        report(options, repositories)
    print(f"\n{time.monotonic() - start:.0f} s")


def report(options: argparse.Namespace, repositories: Mapping[str, Path]) -> None:
    """Everything, as it is found."""
    speaker = Speaker(options.model)
    copied = Copies()
    found = [
        answers(speaker, repositories, options.questions, seed, copied, free=options.free) for seed in options.seeds
    ]
    print(sum(found, Score()).table())
    print(f"\nAll kinds, mean of {len(found)} seeds: {seeds_apart(found)}")
    print(f"Wrong copies: {copied.wrong} of {copied.answers} answers")
    if options.only_answers:
        return
    # In a process of its own: llama-cpp-python and the engine would fight over llama.cpp's log.
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        texts = code_of(options.work, STRETCHES, options.seeds[0])
        bits = alone.submit(bits_per_byte, options.model, texts).result()
    print(f"\nHeld-out code: {bits:.2f} bits per byte over {STRETCHES} pieces\n", flush=True)
    print("| drafted | rounds | tokens a round | 1 | 2 | 3 | 4 | 5 | 6 | 7 |\n|" + "---|" * 10)
    drafter = Speaker(options.model, options.drafter)
    for line in drafted(drafter, options.work, repositories, options.groups, options.seeds[0]):
        print(line, flush=True)


if __name__ == "__main__":
    main()
