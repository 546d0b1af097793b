"""The report's table, and how long the rest of a run is expected to take."""

from collections import Counter

import pytest

from laguna_tui.evals.expected_length import ExpectedLength, timed_first
from laguna_tui.evals.samples import RunFacts, Sample
from laguna_tui.evals.score_report import markdown_report
from laguna_tui.evals.task import TaskSet, load_tasks

FACTS = RunFacts("A model", {"speculation": "fast"}, 1)


def sample(task: str, kind: str, seconds: float, tokens: int = 100, joules: float | None = None) -> Sample:
    return Sample(
        task, kind, 0, 1, 1.0, "answered", 1, 10, tokens, 0, 0, seconds / 2, seconds, "", "", (), joules
    )  # fmt: skip


def test_energy_is_added_up_where_every_sample_has_it_and_else_said_to_be_unknown():
    cells = [sample("a", "functions", 1, joules=1500.0), sample("b", "functions", 1, joules=500.0)]
    told = markdown_report(FACTS, cells)
    assert " 2.0 kJ |" in told and "Energy is what all NVIDIA cards of this machine took meanwhile." in told
    told = markdown_report(FACTS, [*cells, sample("c", "functions", 1)])
    assert "kJ" not in told and "Energy is not known" in told


def test_what_is_left_takes_what_the_samples_of_its_set_took():
    known = [sample("a", "functions", 2), sample("b", "functions", 4), sample("c", "edits", 20, 1000)]
    left = ["functions"] * 10 + ["edits"] * 5
    expected = ExpectedLength.of(known, left, checks_s=1.0)
    assert expected.seconds == pytest.approx(10 * 3 + 5 * 20 + 15)
    assert expected.tokens == pytest.approx((10 * 100 + 5 * 1000) / 15)
    assert expected.per_second == pytest.approx(6000 / (10 * 1.5 + 5 * 10))
    assert expected.sentence() == "15 samples of 400 tokens at 92 tok/s and 5.3 s for the rest of each: about 2 min"


def test_of_a_set_that_was_not_measured_the_average_of_all_is_expected():
    assert ExpectedLength.of([sample("a", "functions", 2)], ["edits"] * 3).seconds == pytest.approx(6)


def test_four_tasks_of_each_set_are_timed_first_and_none_is_left_out():
    wanted = [(task, index) for index in range(2) for task in load_tasks().values()]
    order, timed = timed_first(wanted, [sample("x", "edits", 1)])
    assert Counter(task.set for task, _ in order[:timed]) == {
        TaskSet.FUNCTIONS: 4,
        TaskSet.EDITS: 3,
        TaskSet.REPOSITORIES: 4,
        TaskSet.LOOKUPS: 4,
    }
    assert sorted((task.name, index) for task, index in order) == sorted((task.name, index) for task, index in wanted)
