"""The whole recipe in order: from downloads to measured files. `make nano` and `make nano-check` run this.

    python steps.py WORK --training PYTHON --app PYTHON [--device cuda] [--from STEP]
    python steps.py WORK --training PYTHON --app PYTHON --check

Needs nothing but Python: every step is a command in the environment it belongs to, and is printed before it runs. All
files land in WORK (`--out` for the GGUFs), never in the repository. `--check` is the same chain at toy size: it shows
that every step runs and that PyTorch and llama.cpp agree, not that anything is learned.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sources import HELD_OUT

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TOY = ("click", "jinja2", *HELD_OUT)
"""Packages of a check: two to train on, and those that are held out."""
ADAPTED = "httpx"
"""The package that a variant of the drafter is made for."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything; minutes of training are by the clock, so they do not depend on the machine."""

    searches: int
    train: float
    answers: float
    features: float
    drafter: float
    lora: float
    scorer: float
    chats: int
    groups: int
    sessions: int
    cases: int
    questions: int
    samples: int


SIZES = {
    "cpu": Size(150, 72, 11, 6, 33, 2, 31, chats=8000, groups=14, sessions=200, cases=12, questions=20, samples=40),
    "cuda": Size(150, 12, 4, 3, 4, 2, 31, chats=8000, groups=14, sessions=200, cases=12, questions=20, samples=40),
    "check": Size(40, 0.4, 0.15, 0.3, 0.25, 0.1, 0.3, chats=60, groups=1, sessions=10, cases=2, questions=1, samples=1),
}
"""What the shipped files took on a CPU; on a GPU nobody has tried yet, and the scorer has no GPU path."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command: a script of this folder (or a module of the repository), where it runs, and its arguments."""

    name: str
    app: bool
    script: str
    arguments: tuple[object, ...]

    def command(self, training: Path, app: Path) -> list[str]:
        """As it is run from the repository's root."""
        what = [str(HERE / self.script)] if self.script.endswith(".py") else ["-m", self.script]
        return [str(app if self.app else training), *what, *map(str, self.arguments)]


def corpus(options: argparse.Namespace, size: Size) -> Iterator[Step]:
    """Downloads, tokens and the tools' results."""
    work = options.work
    if options.llama_cpp == work / "llama.cpp":
        yield Step("llama.cpp", False, "converter.py", (work,))
    wheels = ("--wheels", options.wheels) if options.wheels else ()
    yield Step("sources", False, "sources.py", (work, *wheels, *(("--only", *TOY) if options.check else ())))
    yield Step("duplicates", False, "duplicates.py", (work, "--remove"))
    yield Step("tokenizer", False, "tokenizer.py", (work,))
    yield Step("collect", False, "collect.py", (work, "--searches", size.searches))


def target(options: argparse.Namespace, size: Size) -> Iterator[Step]:
    """The model itself."""
    work, llama = options.work, ("--llama-cpp", options.llama_cpp)
    run = ("--minutes", size.train, "--device", options.device, *(("--processes", 1) if options.check else ()))
    yield Step("train", False, "train.py", (work, *run))
    yield Step("curve", False, "curves.py", (work / "nano.svg", work / "nano.csv"))
    yield Step("convert", False, "convert.py", (work, work / "nano.pt", work / "nano-f16.gguf", *llama))
    yield Step("pad", False, "pad.py", (work / "nano-f16.gguf", options.nano, *llama))
    float32 = (work, work / "nano.pt", work / "nano-f32.gguf", *llama, "--type", "f32")
    yield Step("convert-f32", False, "convert.py", float32)


def drafter(options: argparse.Namespace, size: Size) -> Iterator[Step]:
    """The drafter, from the model's own words."""
    work, nano, llama = options.work, options.nano, ("--llama-cpp", options.llama_cpp)
    answers = ("--minutes", size.answers, "--groups", size.groups)
    run = ("--minutes", size.drafter, "--device", options.device)
    trained, pictures = work / "drafter/drafter.pt", (work / "drafter.svg", work / "drafter/drafter.csv")
    narrow = work / "drafter/drafter-f16.gguf"
    yield Step("drafter-questions", False, "drafter_questions.py", (work, "--chats", size.chats))
    yield Step("drafter-answers", True, "drafter_answers.py", (work, nano, *answers))
    yield Step("drafter-target", False, "drafter_target.py", (work, nano, *llama, "--minutes", size.features))
    yield Step("drafter-train", False, "drafter_train.py", (work, nano, *llama, *run))
    yield Step("drafter-curve", False, "curves.py", (*pictures, "--x", "seconds"))
    yield Step("drafter-measure", False, "drafter_measure.py", (work, nano, trained, *llama))
    yield Step("drafter-convert", False, "drafter_convert.py", (trained, narrow, *llama))
    yield Step("drafter-pad", False, "pad.py", (narrow, options.dflash, *llama))


def adapter(options: argparse.Namespace, size: Size) -> Iterator[Step]:
    """A variant of the drafter for one repository, and whether it helps there."""
    work, nano, about = options.work, options.nano, ("--repository", ADAPTED)
    run = ("--llama-cpp", options.llama_cpp, "--minutes", size.lora)
    yield Step("lora-sessions", True, "drafter_lora_sessions.py", (work, nano, *about, "--sessions", size.sessions))
    yield Step("lora-train", False, "drafter_lora.py", (work, nano, *about, *run))
    yield Step("lora-engine", True, "drafter_lora_engine.py", (work, nano, options.dflash, *about))


def scorer(options: argparse.Namespace, size: Size) -> Iterator[Step]:
    """The scorer of prompt compression, with the model's tokenizer."""
    work, llama = options.work, ("--llama-cpp", options.llama_cpp)
    trained, float32 = work / "scorer.pt", work / "scorer-f32.gguf"
    rate = ("--minutes", size.scorer, "--muon-rate", 0.008)
    yield Step("scorer-train", False, "scorer_train.py", (work, *rate))
    yield Step("scorer-convert", False, "scorer_convert.py", (trained, options.nano, options.scorer, *llama))
    yield Step("scorer-f32", False, "scorer_convert.py", (trained, options.nano, float32, *llama, "--type", "f32"))
    yield Step("scorer-cases", False, "scorer_cases.py", (work, "--each", size.cases))
    yield Step("scorer-logits", False, "scorer_check.py", (work, "--checkpoint", trained))
    yield Step("scorer-compare", True, "scorer_check.py", (work, "--model", float32))
    yield Step("scorer-engine", True, "scorer_engine.py", (work, options.scorer))


def judged(options: argparse.Namespace, size: Size) -> Iterator[Step]:
    """What the files are worth, and whether they are what was trained."""
    work, number = options.work, size.samples
    files = ("--model", options.nano, "--drafter", options.dflash, "--work", work)
    asked = ("--questions", size.questions, "--groups", -(-number // 10))
    yield Step("overlap", True, "overlap.py", (work, options.nano, "--chats", number, "--pieces", number))
    yield Step("evaluate", True, "tests.evals.nano", (*files, *asked))
    yield Step("logits", False, "logits.py", (work, "--checkpoint", work / "nano.pt"))
    yield Step("compare", True, "logits.py", (work, "--model", work / "nano-f32.gguf"))


def steps(options: argparse.Namespace) -> list[Step]:
    """Everything, in order."""
    size = SIZES["check" if options.check else options.device]
    parts = (
        corpus(options, size),
        target(options, size),
        drafter(options, size),
        adapter(options, size),
        scorer(options, size),
    )
    return [step for part in (*parts, judged(options, size)) for step in part]


def main() -> None:
    """Run from the first step, or from the named one; the first failure ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, help="a folder for everything; its space: some 3 GB")
    parser.add_argument("--llama-cpp", type=Path, help="its sources; fetched into WORK without it")
    parser.add_argument("--training", type=Path, required=True, help="python of the training environment")
    parser.add_argument("--app", type=Path, required=True, help="python of the app's environment")
    parser.add_argument("--out", type=Path, help="for the GGUFs; WORK without it")
    parser.add_argument("--wheels", type=Path, help="a folder of downloaded wheels")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="to train on")
    parser.add_argument("--from", dest="first", metavar="STEP", help="leave out the steps before this one")
    parser.add_argument("--check", action="store_true", help="toy size, some minutes")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.llama_cpp = (options.llama_cpp or options.work / "llama.cpp").resolve()
    out = (options.out or options.work).resolve()
    for folder in (options.work, out):
        folder.mkdir(parents=True, exist_ok=True)
    names = ("laguna-nano.gguf", "laguna-nano-dflash.gguf", "laguna-nano-scorer.gguf")
    options.nano, options.dflash, options.scorer = (out / name for name in names)
    todo = steps(options)
    if options.first:
        known = [step.name for step in todo]
        if options.first not in known:
            parser.error(f"no step {options.first!r}; there are {', '.join(known)}")
        todo = todo[known.index(options.first) :]
    start = time.monotonic()
    for step in todo:
        command = step.command(options.training.absolute(), options.app.absolute())
        print(f"\n[{time.monotonic() - start:.0f} s] {step.name}: {' '.join(command)}", flush=True)
        subprocess.run(command, cwd=ROOT, check=True)
    print(f"\n[{time.monotonic() - start:.0f} s] all {len(todo)} steps done; the models are in {out}", flush=True)


if __name__ == "__main__":
    main()
