"""`laguna-tui eval --gate`: the pairs that are run, and what is said of each."""

from pathlib import Path

import pytest

from laguna_tui.cli import main as cli
from laguna_tui.evals.samples import read_samples
from laguna_tui.evals.task import ANSWER, load_tasks
from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox
from tests.scripted_model import Script, Seen
from tests.scripted_model.ask import run

pytestmark = pytest.mark.skipif(probe_sandbox().kind is SandboxKind.NONE, reason="no sandbox works here")
ASKED = ("where_reserve_oar_0", "takes_sum_salvage_2")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", *(f"XDG_{kind}_HOME" for kind in ("CACHE", "CONFIG", "DATA", "STATE"))):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path


def knows(name: str) -> Script:
    """A model that knows the answer of one look-up."""
    task = load_tasks()[name]

    def lines(seen: Seen):
        while True:
            seen = yield task.reference[ANSWER] if task.question in seen.text else "I do not know."

    return Script(lines)


def gate(folder: Path, *more: str) -> list[str]:
    asked = [word for name in ASKED for word in ("--task", name)]
    return ["eval", *asked, "--gate", str(folder), "--threads", "1", "--context", "16384", "--quiet", *more]


def rows(said: str) -> dict[str, list[str]]:
    """The cells of each pair."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in said.splitlines() if line[:1] == "|"]
    return {name: rest for name, *rest in cells[2:]}


def test_pairs_share_a_run_and_each_has_a_verdict(home: Path, capsys: pytest.CaptureFixture[str]):
    words = gate(home / "runs", "--vary", "speculation", "--vary", "constrain", "--points", "100")
    assert run(knows(ASKED[0]), words, home) == 0
    found = rows(capsys.readouterr().out)
    assert list(found) == ["speculation: off, then fast", "constrain: off, then on"]
    for cells in found.values():
        assert cells[:3] == ["2", "50.0", "50.0"]
        assert cells[5] == "2 of 2"
        assert cells[-1] == "equal within 100 points"
    # The script's own settings hold it to nothing.
    assert {file.stem for file in (home / "runs").glob("*.jsonl")} == {"base", "speculation-off", "constrain-on"}


def test_lookups_with_their_files_in_the_prompt_get_the_share_that_is_kept(
    home: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(knows(ASKED[1]), gate(home / "runs", "--vary", "keep", "--points", "100"), home) == 0
    assert list(rows(capsys.readouterr().out)) == ["keep: 1.0, then 0.3", "keep: 1.0, then 0.1"]
    prompts = {}
    for keep in (1.0, 0.3, 0.1):
        facts, samples = read_samples(home / "runs" / f"keep-{keep}.jsonl")
        assert facts.settings["keep"] == keep
        assert [sample.reward for sample in samples] == [0.0, 1.0]
        prompts[keep] = sum(sample.prompt_tokens for sample in samples)
    assert prompts[1.0] > 2 * prompts[0.3] > 3 * prompts[0.1]


def test_a_gate_that_is_run_again_runs_nothing_and_says_the_same(home: Path, capsys: pytest.CaptureFixture[str]):
    words = gate(home / "runs", "--vary", "speculation")
    # Two tasks that never differ do not show that thousands would not.
    assert run(knows(ASKED[0]), words, home) == 1
    before = capsys.readouterr().out
    assert "not shown to be equal within 3 points" in before
    kept = {file: file.read_bytes() for file in (home / "runs").iterdir()}
    assert run(knows(ASKED[0]), words, home) == 1
    assert capsys.readouterr().out == before
    assert {file: file.read_bytes() for file in (home / "runs").iterdir()} == kept


def test_a_run_that_cannot_be_made_does_not_pass_and_the_others_go_on(home: Path, capsys: pytest.CaptureFixture[str]):
    # The scripted model's heads are too narrow for these types of the cache.
    words = gate(home / "runs", "--vary", "kv", "--vary", "constrain", "--points", "100")
    assert run(knows(ASKED[0]), words, home) == 1
    found = rows(capsys.readouterr().out)
    assert found["kv: f16, then q8_0"][-1].startswith("not run: a context of 16384 tokens could not be created")
    assert found["kv: f16, then q4_0"][-1].startswith("not run: ")
    assert found["constrain: off, then on"][-1] == "equal within 100 points"


def test_what_cannot_be_varied_is_refused(home: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["eval", "--task", "run_lengths", "--gate", str(home / "runs"), "--vary", "keep"]) == 2
    assert (
        "--vary keep: only look-ups can vary it, and there are none among the tasks; add --set lookups"
        in capsys.readouterr().err
    )
    (home / "file").write_text("")
    assert cli.main(["eval", "--task", "run_lengths", "--gate", str(home / "file")]) == 2
    assert "give a folder that can be written" in capsys.readouterr().err
    assert cli.main(["eval", "--task", "run_lengths", "--keep", "0.3"]) == 2
    assert "add --set lookups" in capsys.readouterr().err
