"""`laguna-tui eval --compare`: equal runs are let through, and a run that is worse is not."""

from dataclasses import asdict, replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from laguna_tui.cli import main as cli
from laguna_tui.evals.gate import compare
from laguna_tui.evals.samples import RunFacts, Sample, TokenTurn

FACTS = RunFacts("A model", {"speculation": "fast"}, 1)
FIXED = replace(FACTS, settings={"speculation": "fast", "draft_length": 4})
PLAIN = replace(FACTS, settings={"speculation": "off"})
TASKS = 180


def sample(
    task: int, *, passed: bool, index: int = 0, tokens: tuple[int, ...] = (1, 2), drafts: tuple[int, int] = (0, 0)
) -> Sample:
    turn, (drafted, accepted) = TokenTurn(0, (7,), tokens), drafts
    return Sample(
        f"task{task}", "functions", index, 1, float(passed), "answered", 1, 1, 2, drafted, accepted, 0.1, 0.1, "", "",
        (turn,),
    )  # fmt: skip


def written(path: Path, facts: RunFacts, samples: list[Sample]) -> str:
    lines = [msgspec.json.encode(asdict(each)) for each in (facts, *samples)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return str(path)


def answers(generator: np.random.Generator, chance: float) -> list[bool]:
    return [bool(each) for each in generator.random(TASKS) < chance]


def test_the_same_answers_are_equal_within_three_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    samples = [sample(task, passed=task % 3 == 0) for task in range(TASKS)]
    first, second = written(tmp_path / "a", PLAIN, samples), written(tmp_path / "b", FACTS, samples)
    assert cli.main(["eval", "--compare", first, second]) == 0
    said = capsys.readouterr().out
    assert "speculation: off, then fast" in said
    assert "same tokens: 180 of 180" in said
    assert "Equal within 3 points." in said


def test_a_run_that_loses_tasks_is_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    before = [sample(task, passed=task % 2 == 0) for task in range(TASKS)]
    after = [sample(task, passed=task % 2 == 0 and task % 10 != 0, tokens=(3,)) for task in range(TASKS)]
    files = written(tmp_path / "a", PLAIN, before), written(tmp_path / "b", FACTS, after)
    assert cli.main(["eval", "--compare", *files]) == 1
    said = capsys.readouterr().out
    assert "-10.0 [" in said
    assert "same tokens: 0 of 180" in said
    assert "Not equal: not shown to be equal within 3 points, and different beyond chance." in said


@pytest.mark.parametrize("loss", [0.1, 0.2])
def test_simulated_runs_that_are_worse_pass_as_equal_in_at_most_five_of_a_hundred(loss: float):
    generator, let_through = np.random.default_rng(4), 0
    for _ in range(100):
        right, lost = answers(generator, 0.7), answers(generator, loss / 0.7)
        before = [sample(task, passed=right[task]) for task in range(TASKS)]
        after = [sample(task, passed=right[task] and not lost[task]) for task in range(TASKS)]
        found = compare((PLAIN, before), (FACTS, after))
        let_through += found.all.equal_within(loss - 0.01)
    assert let_through <= 5


def test_runs_with_other_numbers_of_samples_are_paired_by_what_both_have(tmp_path: Path):
    first = [sample(task, passed=True, index=index) for task in range(6) for index in range(3)]
    second = [sample(task, passed=task != 5, index=index) for task in range(6) for index in range(2)]
    found = compare((FACTS, first), (FACTS, second))
    assert (found.pairs, found.changed) == (12, [("task5", -2)])
    assert found.shares["all"] == (1.0, pytest.approx(5 / 6))


def test_a_run_that_accepts_less_of_its_drafts_is_caught_though_every_answer_is_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    before = [sample(task, passed=True, drafts=(40, 30 + task % 7)) for task in range(TASKS)]
    after = [sample(task, passed=True, drafts=(60, 10 + task % 7)) for task in range(TASKS)]
    files = written(tmp_path / "a", FIXED, before), written(tmp_path / "b", FIXED, after)
    assert cli.main(["eval", "--compare", *files]) == 1
    said = capsys.readouterr().out
    assert "same tokens: 180 of 180" in said
    assert "Accepted drafts: 82.4 %, then 21.6 %" in said
    assert "Not equal: accepts less of its drafts, by more than 10 points." in said
    assert cli.main(["eval", "--compare", *reversed(files)]) == 0


def test_drafts_for_other_text_may_be_accepted_less(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    before = [sample(task, passed=True, drafts=(40, 30)) for task in range(TASKS)]
    after = [sample(task, passed=True, drafts=(40, 10)) for task in range(TASKS)]
    thinking = replace(FIXED, settings={"speculation": "fast", "draft_length": 4, "thinking": True})
    files = written(tmp_path / "a", FIXED, before), written(tmp_path / "b", thinking, after)
    assert cli.main(["eval", "--compare", *files]) == 0
    assert (
        "This has no effect on the result: the drafts are for other text, or their lengths depend on timing."
        in capsys.readouterr().out
    )


def test_drafts_whose_lengths_timing_decides_may_be_accepted_less(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    before = [sample(task, passed=True, drafts=(40, 30)) for task in range(TASKS)]
    after = [sample(task, passed=True, drafts=(40, 10)) for task in range(TASKS)]
    files = written(tmp_path / "a", FACTS, before), written(tmp_path / "b", FACTS, after)
    assert cli.main(["eval", "--compare", *files]) == 0
    assert "This has no effect on the result" in capsys.readouterr().out


def test_simulated_runs_with_the_same_acceptance_are_seldom_taken_for_worse():
    generator, caught = np.random.default_rng(5), 0
    for _ in range(100):
        first, second = ([int(each) for each in generator.binomial(40, 0.6, 40)] for _ in range(2))
        before, after = (
            [sample(task, passed=True, drafts=(40, accepted)) for task, accepted in enumerate(run)]
            for run in (first, second)
        )
        caught += compare((FIXED, before), (FIXED, after)).accepts_less
    assert caught <= 5


def test_runs_in_which_no_task_passed_show_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    samples = [sample(task, passed=False) for task in range(TASKS)]
    files = written(tmp_path / "a", PLAIN, samples), written(tmp_path / "b", FACTS, samples)
    assert cli.main(["eval", "--compare", *files]) == 1
    assert (
        "Not equal: no task passed in either run, so they cannot be compared; choose a set that the model can solve."
        in capsys.readouterr().out
    )


def test_runs_of_other_tasks_cannot_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    first = written(tmp_path / "a", FACTS, [sample(1, passed=True)])
    second = written(tmp_path / "b", FACTS, [sample(2, passed=True)])
    assert cli.main(["eval", "--compare", first, second]) == 2
    assert "the two files have no sample of the same task; compare runs of the same tasks" in capsys.readouterr().err


def test_a_file_that_is_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a").write_text("no\n")
    assert cli.main(["eval", "--compare", str(tmp_path / "a"), str(tmp_path / "missing")]) == 2
    assert "not a file of samples" in capsys.readouterr().err
