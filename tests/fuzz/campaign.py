"""Opens thousands of mutants the way the app does, and counts what must never happen: a death, a traceback, an abort.

    python -m tests.fuzz.campaign --count 10000

Each is opened by a process that stands for the app: check of the header, a child for what is not Laguna's
architecture, the engine, a question in the file's own chat template if it has one, a few tokens. A file that kills that
process is named, and another process continues after it.
The children are forked from a process that has everything imported, which is the same trial in a tenth of the time.
With `--unchecked` the check of the header knows nothing of other architectures, so that more is left to the children.
"""

import argparse
import collections
import contextlib
import itertools
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.fuzz import mutants

BATCH = 200
"""Mutants to one process, if all goes well."""

LIMIT_S = 120
"""For one mutant: twice as long as a child may take."""

OPENED, REFUSED = "opened", "refused"
CONTAINED = "contained"
"""Refused because a child died of it."""

DEATH, TRACEBACK, ABORT, HANG = "death", "traceback", "abort", "hang"
BAD = (DEATH, TRACEBACK, ABORT, HANG)

APP = ("-m", "tests.fuzz.campaign", "--app")
"""The process that stands for the app; the folder it works in comes behind."""

_ENDED = "ended"

_UNCHECKED = "MUTANTS_UNCHECKED"
"""An environment variable for the processes that this one starts."""

_deaths: list[str] = []
"""Signals that killed children since the last mutant."""


def run(numbers: Sequence[int], folder: Path) -> Iterator[tuple[int, str, str]]:
    """The outcome of every mutant: its number, one of the words above, and details."""
    left = list(numbers)
    while left:
        batch, left = left[:BATCH], left[BATCH:]
        done = 0
        for number, outcome, details in _batch(batch, folder):
            yield number, outcome, details
            done += 1
        left = batch[done:] + left


def _batch(numbers: list[int], folder: Path) -> Iterator[tuple[int, str, str]]:
    """Outcomes until the process dies, which is the last one's."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, *APP, str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{number}\n" for number in numbers))
        process.stdin.close()
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            for number in numbers:
                line = process.stdout.readline() if waiting.select(LIMIT_S) else None
                if not line:
                    process.kill()
                    code = process.wait()
                    errors.seek(0)
                    said = errors.read()[-600:].decode("utf-8", "replace")
                    yield number, HANG if line is None else DEATH, f"exit {code}: {said}"
                    return
                yield number, *json.loads(line)
        process.wait()


def app(folder: Path) -> None:
    """The process that stands for the app: a number a line comes in, an outcome a line goes out."""
    _know_nothing()
    with _forked_trials(folder):
        for line in sys.stdin:
            number = int(line)
            print(json.dumps(outcome(mutants.mutant(number), mutants.kind_of(number).role, folder)), flush=True)


def _know_nothing() -> None:
    """Let every file of another architecture through, as far as its dimensions allow."""
    from laguna_engine.gguf import target_check, vocabulary

    if os.environ.get(_UNCHECKED):
        target_check.check = vocabulary._check_bytes = lambda *_: None


def outcome(file: bytes, role: str, folder: Path) -> tuple[str, str]:
    """What comes of opening and using a file with these contents, and why."""
    from laguna_engine.errors import EngineError, NativeAbort

    _deaths.clear()
    path = folder / f"{os.getpid()}.gguf"
    path.write_bytes(file)
    try:
        _use(role, path, folder)
    except NativeAbort as error:
        return ABORT, str(error)
    except EngineError as error:
        return (CONTAINED if _deaths else REFUSED), str(error)
    except BaseException:
        return TRACEBACK, traceback.format_exc()[-1500:]
    finally:
        path.unlink()
    return OPENED, ""


def _use(role: str, path: Path, folder: Path) -> None:
    """Open the file as what it is to be, and use it a little."""
    from laguna_engine.chat.messages import Role
    from laguna_engine.compress.scorer import Scorer
    from laguna_engine.engine import Engine, EngineOptions, Request
    from laguna_engine.fit.devices import read_machine
    from laguna_engine.fit.model_shape import ModelShape
    from laguna_engine.fit.plan import choose_plan
    from laguna_engine.fit.plan_search import PlanConstraints
    from laguna_engine.gguf import drafter_header as drafter_files
    from laguna_engine.gguf import header
    from laguna_tui.backends.base import Message, Options, Prompt
    from laguna_tui.backends.local.backend import LocalBackend

    if role == mutants.SCORER:
        with Scorer.open(path, threads=1, window=128) as scorer:
            scorer.score(["def add(a, b):\n    return a + b"], "where is it?")
        return
    target = path if role == mutants.TARGET else folder / "target.gguf"
    drafter = {mutants.DRAFTER: path, mutants.ADAPTER: folder / "drafter.gguf"}.get(role)
    adapters = (("mine", path),) if role == mutants.ADAPTER else ()
    shape = ModelShape.of(header.check(target))
    choose_plan(shape, None if drafter is None else drafter_files.read(drafter), read_machine(), PlanConstraints())
    options = EngineOptions(target, n_ctx=1024, n_ubatch=64, threads=1, drafter=drafter, adapters=adapters)
    with Engine.open(options) as engine:
        if engine.info.chat_template:
            asked = Prompt("Be brief.", (), (Message(Role.USER, ("Hello?",)),))
            list(LocalBackend(engine, None).generate(asked, Options(max_tokens=4)))
        tokens = engine.vocab.tokenize("def add(a, b):\n    return a + b\n\u00e9\u4e2d\x01", special=True)
        list(engine.generate(Request(tokens or [0], max_tokens=4)))


@contextlib.contextmanager
def _forked_trials(folder: Path) -> Iterator[None]:
    """Has `child.run` ask a process that forks for each trial."""
    from laguna_engine.llama import trial
    from laguna_engine.native import child

    forks = subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.campaign", "--forks", str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert forks.stdin is not None
    assert forks.stdout is not None
    real, pipe, answers = child.run, forks.stdin, forks.stdout

    def run(command: tuple[str, ...], *arguments: object) -> child.Output:
        if trial.TRIAL not in command:
            return real(command, *arguments)
        pipe.write(command[-1] + "\n")
        pipe.flush()
        code, text, errors = json.loads(answers.readline())
        ended = child.Output(None if code == _ENDED else code, text, errors, timed_out=code == _ENDED)
        _deaths.extend(filter(None, [ended.signal]))
        return ended

    child.run = run
    yield
    pipe.close()
    forks.wait()


def forks(folder: Path) -> None:
    """The process that forks: a path a line comes in, how its trial ended goes out."""
    import signal

    from laguna_engine.llama import context, model, trial_child

    assert context is not None
    assert model is not None
    _know_nothing()
    with tempfile.TemporaryFile(dir=folder) as out, tempfile.TemporaryFile(dir=folder) as errors:
        for line in sys.stdin:
            for file in (out, errors):
                file.seek(0)
                file.truncate()
            child = os.fork()
            if not child:
                os.dup2(out.fileno(), 1)
                os.dup2(errors.fileno(), 2)
                with contextlib.suppress(BaseException):
                    os._exit(trial_child.main(Path(line.rstrip("\n"))))
                os._exit(1)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            texts = [(file.seek(0), file.read())[1].decode("utf-8", "replace") for file in (out, errors)]
            print(json.dumps([_ENDED if code == -signal.SIGALRM else code, *texts]), flush=True)


def prepare(folder: Path) -> None:
    """The whole files that drafters and adapters are opened with."""
    mutants.tiny.laguna().write(folder / "target.gguf")
    mutants.drafters.make(mutants.drafters.Variant()).write(folder / "drafter.gguf")


def main() -> int:
    """Run a campaign; the exit code says whether anything happened that must not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="how many mutants")
    parser.add_argument(
        "--first", type=int, default=0, help="the number of the first one; the same number is the same file"
    )
    parser.add_argument("--keep", type=Path, help="a folder for the files of what must not happen")
    parser.add_argument("--only", default="", help="mutants of these kinds alone, such as laguna or qwen3/llama")
    parser.add_argument("--unchecked", action="store_true", help="let more files through to the children")
    for hidden in ("--app", "--forks"):
        parser.add_argument(hidden, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.app or arguments.forks:
        app(arguments.app) if arguments.app else forks(arguments.forks)
        return 0
    if arguments.unchecked:
        os.environ[_UNCHECKED] = "1"
    folder = Path(tempfile.mkdtemp(prefix="mutants"))
    try:
        prepare(folder)
        numbers = (number for number in itertools.count(arguments.first) if _is_of(number, arguments.only))
        return _campaign(list(itertools.islice(numbers, arguments.count)), folder, arguments.keep)
    finally:
        shutil.rmtree(folder)


def _is_of(number: int, kind: str) -> bool:
    return mutants.kind_of(number).name.startswith(kind)


def _campaign(numbers: Sequence[int], folder: Path, keep: Path | None) -> int:
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    bad, started = 0, time.perf_counter()
    for done, (number, outcome, details) in enumerate(run(numbers, folder), 1):
        name = mutants.kind_of(number).name
        counts[name][outcome] += 1
        if outcome == CONTAINED:
            print(f"{number} {name} {outcome}: {details}", flush=True)
        if outcome in BAD:
            bad += 1
            print(f"{number} {name} {outcome}: {details}", flush=True)
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{number}.gguf").write_bytes(mutants.mutant(number))
        if done % 500 == 0:
            print(f"{done} of {len(numbers)} in {time.perf_counter() - started:.0f} s, {bad} bad", flush=True)
    for name, found in sorted(counts.items()):
        print(f"{name:<24} " + "  ".join(f"{outcome} {count}" for outcome, count in found.most_common()))
    whole = sum(counts.values(), collections.Counter())
    print(
        f"{len(numbers)} mutants: " + ", ".join(f"{whole[word]} {word}" for word in (OPENED, REFUSED, CONTAINED, *BAD))
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
