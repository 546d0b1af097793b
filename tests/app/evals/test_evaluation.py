"""`laguna-tui eval` from the command line, with models whose score is known."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from laguna_tui.base.errors import UserError
from laguna_tui.cli import main as cli
from laguna_tui.evals import evaluation
from laguna_tui.evals.samples import RunFacts, RunFile, Sample
from laguna_tui.evals.task import SOLUTION, TaskSet, load_tasks
from laguna_tui.evals.verdict import TASKS
from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox
from tests.scripted_endpoint import answer, endpoint, status
from tests.scripted_model import Script, Seen, call
from tests.scripted_model.ask import TOP, run

pytestmark = pytest.mark.skipif(probe_sandbox().kind is SandboxKind.NONE, reason="no sandbox works here")
RIGHT = ("caesar_shift", "run_lengths")
HOLDS = """
import sys
from pathlib import Path
from laguna_tui.evals.samples import RunFile, Sample, read_samples
out = Path(sys.argv[1])
kept = RunFile.open(out, read_samples(out)[0], Sample)
print("held", flush=True)
sys.stdin.read()
"""
"""A process that writes to the file until it is killed."""


def knows(*names: str) -> Script:
    """A model that solves these functions, and answers all others with one that is wrong."""

    def answer(seen: Seen) -> str:
        functions = [task for task in load_tasks().values() if task.set is TaskSet.FUNCTIONS]
        task = next(each for each in functions if f"def {each.entry}(" in seen.text)
        code = (task.reference if task.name in names else task.mutants[0])[SOLUTION]
        return f"```python\n{code}```"

    def lines(seen: Seen):
        while True:
            seen = yield answer(seen)

    return Script(lines)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", *(f"XDG_{kind}_HOME" for kind in ("CACHE", "CONFIG", "DATA", "STATE"))):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def arguments(out: Path, *more: str) -> list[str]:
    names = [word for name in RIGHT for word in ("--task", name)]
    return ["eval", *names, "--out", str(out), "--threads", "1", "--quiet", *more]


def test_a_known_score_is_found_and_every_sample_has_its_tokens(home: Path, capsys: pytest.CaptureFixture[str]):
    out = home / "samples.jsonl"
    assert run(knows("run_lengths"), arguments(out, "--context", "4096"), home) == 0
    assert "50.0 [" in capsys.readouterr().out
    facts, *samples = lines_of(out)
    assert {sample["task"]: sample["reward"] for sample in samples} == {"caesar_shift": 0.0, "run_lengths": 1.0}
    assert facts["settings"]["context"] == 4096
    for sample in samples:
        (turn,) = sample["tokens"]
        assert len(turn["prompt"]) == sample["prompt_tokens"]
        assert len(turn["generated"]) == sample["generated_tokens"] > 50
        assert sample["steps"] == 1


def test_a_run_goes_on_with_what_is_missing_after_a_torn_line(home: Path, capsys: pytest.CaptureFixture[str]):
    out = home / "samples.jsonl"
    assert run(knows(*RIGHT), arguments(out, "--samples", "3", "--temperature", "0.5"), home) == 0
    whole = out.read_bytes()
    kept = whole.splitlines(keepends=True)
    assert len(kept) == 7
    out.write_bytes(b"".join(kept[:4]) + kept[4][:-20])
    assert run(knows(*RIGHT), arguments(out, "--samples", "3", "--temperature", "0.5"), home) == 0
    ids = [(sample["task"], sample["index"], sample["seed"]) for sample in lines_of(out)[1:]]
    assert ids == [(s["task"], s["index"], s["seed"]) for s in map(json.loads, kept[1:])]
    assert "100.0 [" in capsys.readouterr().out


def test_a_file_of_another_run_is_not_gone_on_with(home: Path, capsys: pytest.CaptureFixture[str]):
    out = home / "samples.jsonl"
    assert run(knows(*RIGHT), arguments(out), home) == 0
    before = out.read_bytes()
    assert run(knows(*RIGHT), arguments(out, "--kv", "q8_0"), home) == 2
    assert "its samples were made with other options (kv: None there, q8_0 now)" in capsys.readouterr().err
    assert out.read_bytes() == before


def test_a_file_that_another_run_writes_to_is_left_alone(home: Path, capsys: pytest.CaptureFixture[str]):
    out = home / "samples.jsonl"
    assert run(knows(*RIGHT), arguments(out), home) == 0
    before = out.read_bytes()
    other = [sys.executable, "-c", HOLDS, str(out)]
    with subprocess.Popen(other, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=TOP) as held:
        assert held.stdout.readline() == b"held\n"
        assert run(knows(*RIGHT), arguments(out), home) == 2
        assert f"{out}: another laguna-tui is writing to it; wait until it ends, or" in capsys.readouterr().err
        held.kill()
    assert out.read_bytes() == before
    assert run(knows(*RIGHT), arguments(out), home) == 0


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


class QuarterHours:
    """A clock that says another quarter of an hour each time that it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def monotonic(self) -> float:
        self.asked += 1
        return 900.0 * self.asked


def test_after_its_hours_a_run_begins_nothing_and_the_same_command_resumes(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    out = home / "samples.jsonl"
    line = arguments(out, "--samples", "3", "--temperature", "0.5", "--hours", "1")
    with monkeypatch.context() as patched:
        patched.setattr(evaluation, "time", QuarterHours())
        assert run(knows(*RIGHT), line, home) == 0
    assert "run the same command again to resume" in said(capsys)
    made = len(lines_of(out)) - 1
    assert 0 < made < 6
    assert run(knows(*RIGHT), line, home) == 0
    assert len(lines_of(out)) == 7
    with pytest.raises(SystemExit):
        cli.main(arguments(out, "--hours", "0"))
    assert "argument --hours: must be a number above 0 and at most 10,000" in said(capsys)


def test_samples_that_would_all_be_the_same_are_refused(home: Path, capsys: pytest.CaptureFixture[str]):
    assert run(knows(*RIGHT), arguments(home / "a.jsonl", "--samples", "2", "--temperature", "0"), home) == 2
    assert "at temperature 0 every sample is the same" in capsys.readouterr().err


def test_the_bundled_model_gets_a_low_score_and_no_error(home: Path, capsys: pytest.CaptureFixture[str]):
    out = home / "samples.jsonl"
    assert cli.main(arguments(out)) == 0
    assert [sample["reward"] for sample in lines_of(out)[1:]] == [0.0, 0.0]
    assert "0.0 [0.0," in capsys.readouterr().out


def test_the_tasks_are_listed_and_a_misspelt_one_is_named(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["eval", "--list", "--set", "functions"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in RIGHT)
    assert cli.main(["eval", "--task", "run_length"]) == 2
    assert "there is no task 'run_length' (did you mean run_lengths?)" in capsys.readouterr().err


def test_the_agent_works_on_a_task_about_files_and_is_judged_by_hidden_tests(home: Path):
    out = home / "samples.jsonl"
    right = load_tasks()["average_of_nothing"].reference["stats.py"]

    def lines(seen: Seen):
        yield call("read", path="stats.py")
        yield call("write", path="stats.py", content=right)
        yield "Done."

    words = ["eval", "--task", "average_of_nothing", "--out", str(out), "--threads", "1", "--quiet"]
    assert run(Script(lines), [*words, "--context", "16384"], home) == 0
    (sample,) = lines_of(out)[1:]
    assert (sample["reward"], sample["end"]) == (1.0, "answered")
    assert sample["steps"] == len(sample["tokens"]) == 3
    first, *others = sample["tokens"]
    # What was generated stays in the prompt of the next generation.
    assert others[0]["kept"] >= len(first["prompt"]) + len(first["generated"]) - 1


def test_the_agents_commands_cannot_read_the_tasks(home: Path):
    results = []

    def lines(seen: Seen):
        # It only reads, so that it is not asked about under any sandbox.
        seen = yield call("shell", cmd=f"cat {TASKS}/edits/*.toml {TASKS}/task.py")
        results.append(seen.result)
        yield "Done."

    words = ["eval", "--task", "average_of_nothing", "--threads", "1", "--quiet", "--context", "16384"]
    assert run(Script(lines), words, home) == 0
    assert "cat: " in results[0]
    assert "No such file" in results[0] or "ermission denied" in results[0]
    assert "reference" not in results[0]


def test_a_model_behind_an_endpoint_is_judged_the_same_and_an_end_of_it_loses_no_sample(
    home: Path, capsys: pytest.CaptureFixture[str]
):
    out = home / "samples.jsonl"
    right, wrong = (
        f"```python\n{code}```" for code in (solution("caesar_shift"), "def run_lengths(text):\n    pass\n")
    )
    with endpoint([answer(right), status(500)]) as served:
        words = arguments(out, "--model", served.url, "--samples", "1")
        assert cli.main(words) == 4
        assert "run the same command again to resume" in capsys.readouterr().err
        assert [sample["reward"] for sample in lines_of(out)[1:]] == [1.0]
        served.script.append(answer(wrong))
        assert cli.main(words) == 0
    assert [sample["reward"] for sample in lines_of(out)[1:]] == [1.0, 0.0]
    assert all(sample["tokens"] == [] for sample in lines_of(out)[1:])


def solution(name: str) -> str:
    return load_tasks()[name].reference[SOLUTION]


def test_a_file_that_cannot_be_written_is_not_left_locked(tmp_path: Path):
    (tmp_path / "out.jsonl").write_bytes(b"notes")
    # The error keeps what was open alive.
    with pytest.raises(UserError, match="not a file of samples") as refused:
        RunFile.open(tmp_path / "out.jsonl", RunFacts("tiny", {}, 1), Sample)
    with FileLock(tmp_path / "out.jsonl.lock", timeout=0):
        assert refused.value.__traceback__ is not None
