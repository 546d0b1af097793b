"""`python -m tests.evals eval`: the forecast, the energy and the page of plots."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from laguna_tui.cli import main as cli
from laguna_tui.evals.samples import Sample
from laguna_tui.evals.task import SOLUTION, TaskSet, load_tasks
from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox
from tests.evals import measured_eval
from tests.evals.__main__ import main
from tests.evals.energy import EnergyCounter
from tests.evals.expected_length import ExpectedLength, timed_first
from tests.evals.measured_eval import energy_note
from tests.evals.test_energy import Cards
from tests.scripted_model import Script, Seen
from tests.scripted_model.ask import run

SANDBOXED = pytest.mark.skipif(probe_sandbox().kind is SandboxKind.NONE, reason="no sandbox works here")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", *(f"XDG_{kind}_HOME" for kind in ("CACHE", "CONFIG", "DATA", "STATE"))):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path


def solves_run_lengths(seen: Seen):
    while True:
        yield f"```python\n{load_tasks()['run_lengths'].reference[SOLUTION]}```"


def line(out: Path, *more: str) -> list[str]:
    return ["eval", "--task", "caesar_shift", "--task", "run_lengths", "--out", str(out), "--threads", "1", *more]


def samples_of(out: Path) -> list[dict]:
    return [json.loads(each) for each in out.read_text().splitlines()[1:]]


def sample(task: str, kind: str, seconds: float, tokens: int = 100, joules: float | None = None) -> Sample:
    return Sample(
        task, kind, 0, 1, 1.0, "answered", 1, 10, tokens, 0, 0, seconds / 2, seconds, "", "", (), joules
    )  # fmt: skip


@SANDBOXED
def test_the_report_is_written_as_a_page_with_plots(home: Path, capsys: pytest.CaptureFixture[str]):
    page = home / "report.html"
    more = ("--context", "4096", "--quiet", "--html", str(page))
    assert run(Script(solves_run_lengths), line(home / "samples.jsonl", *more), home, main) == 0
    said = capsys.readouterr()
    assert "50.0 [" in said.out and said.err == ""
    written = page.read_text()
    assert "<svg" in written and "functions pass@1</text>" in written
    assert "<td>run_lengths</td><td>1 of 1</td>" in written


@SANDBOXED
def test_some_tasks_are_timed_and_the_length_of_the_rest_is_said_before_it_begins(
    home: Path, capsys: pytest.CaptureFixture[str]
):
    out = home / "samples.jsonl"
    words = line(out, "--samples", "3", "--temperature", "0.5")
    assert run(Script(solves_run_lengths), words, home, main) == 0
    forecast = r"2 samples of [\d,]+ tokens at .+ tok/s and .+ s for the rest of each: about "
    assert re.match(forecast, capsys.readouterr().err)
    out.write_bytes(b"".join(out.read_bytes().splitlines(keepends=True)[:6]))
    assert run(Script(solves_run_lengths), words, home, main) == 0
    # What is in the file is measured already.
    assert re.match(r"1 sample of [\d,]+ tokens at ", capsys.readouterr().err)


@SANDBOXED
def test_every_sample_has_its_energy_and_eval_reads_the_file(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    cards = Cards(1500, 2500)

    class Busy(EnergyCounter):
        """Each look at the cards finds that they took another joule."""

        def joules(self) -> float | None:
            cards.energies[0] += 1000
            return super().joules()

    monkeypatch.setattr(measured_eval.EnergyCounter, "open", lambda: Busy(cards))
    out = home / "samples.jsonl"
    assert run(Script(solves_run_lengths), line(out, "--quiet"), home, main) == 0
    assert [each["joules"] for each in samples_of(out)] == [1.0, 1.0]
    assert "Energy of this machine's NVIDIA cards: functions 2 J." in capsys.readouterr().out
    assert cards.open == 0
    assert run(Script(solves_run_lengths), line(out, "--quiet"), home) == 0
    assert cli.main(["eval", "--compare", str(out), str(out), "--points", "100"]) == 0


def test_energy_is_added_up_where_every_sample_has_it_and_else_said_to_be_unknown():
    samples = [sample("a", "functions", 1, joules=1500.0), sample("b", "functions", 1, joules=500.0)]
    assert energy_note(samples) == "Energy of this machine's NVIDIA cards: functions 2.0 kJ."
    edit = sample("c", "edits", 1, joules=3.6e6)
    assert energy_note([*samples, edit]).endswith(": functions 2.0 kJ, edits 1.00 kWh, all 1.00 kWh.")
    assert energy_note([*samples, sample("c", "edits", 1)]).endswith(" cards: functions 2.0 kJ.")
    assert energy_note([*samples, sample("c", "functions", 1)]) == (
        "Energy is unknown: no NVIDIA card here reports it, or the model runs elsewhere."
    )


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
    order = timed_first(wanted, [sample("x", "edits", 1)])
    expected = dict.fromkeys(TaskSet, 4) | {TaskSet.EDITS: 3}
    assert Counter(task.set for task, _ in order[: sum(expected.values())]) == expected
    assert sorted((task.name, index) for task, index in order) == sorted((task.name, index) for task, index in wanted)


def test_a_missing_command_and_a_misspelt_option_are_named(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main([])
    there_are = "missing command; choose from eval, nano-questions, rollouts; see: python -m tests.evals --help"
    assert capsys.readouterr().err == f"python -m tests.evals: {there_are}\n"
    with pytest.raises(SystemExit):
        main(["eval", "--tasks", "run_lengths"])
    unknown = "unknown argument '--tasks' (did you mean --task?); see: python -m tests.evals eval --help"
    assert capsys.readouterr().err == f"python -m tests.evals eval: {unknown}\n"
