"""`laguna-tui selfcheck` checks the bundled model whole, survives what crashes, and gives away nothing of its user."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from laguna_engine.fit.memory import DeviceMemory
from laguna_engine.native.child import Output
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import Settings
from laguna_tui.bench.parity import AnswerDifference, Parity, ReplayResult
from laguna_tui.bench.workload import DFLASH
from laguna_tui.cli.main import main
from laguna_tui.machine.child_check import CheckFailed, answer, read_answer
from laguna_tui.machine.doctor.findings import Finding, FindingStatus, fail, ok, warn
from laguna_tui.machine.doctor.host import Host
from laguna_tui.machine.selfcheck import check_report, check_runner, engine_checks
from laguna_tui.machine.selfcheck.check_report import UNFINISHED, WORKS, WRONG, anonymous, markdown, verdict
from laguna_tui.machine.selfcheck.check_runner import (
    BUNDLED,
    CheckStep,
    SelfCheck,
    models_to_check,
    run_selfcheck,
    steps_for,
)
from laguna_tui.machine.selfcheck.engine_checks import CHECKS, checked_settings
from laguna_tui.models.model_selection import ModelSelection, select_model
from tests.app.bench.samples import sample, spun
from tests.engine import generic

SPEED = CheckStep("speed", BUNDLED)


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of this test only, so that no model of the machine's user is found."""
    monkeypatch.delenv("LAGUNA_TUI_MODELS", raising=False)
    for name in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that was examined already."""
    monkeypatch.setattr(check_runner, "examine_machine", lambda _: [ok("system", "a machine")])


def child(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Run this program in place of a check's."""
    monkeypatch.setattr(check_runner, "python_command", lambda *_: (sys.executable, "-c", program))


@pytest.mark.timeout(900)
def test_the_bundled_model_is_checked_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.md"
    assert main(["selfcheck", "--report", str(target)]) == 0
    shown, written = capsys.readouterr().out, target.read_text(encoding="utf-8")
    assert shown.endswith(f"{WORKS}\n")
    assert WORKS in written
    rows = [line.split(" | ") for line in written.splitlines() if line.startswith("| ok | nano: ")]
    names = ["memory, CPU", "taps", "drafter, CPU", "strict parity"]
    names += [f"KV cache {kind}" for kind in ("f16", "q8_0", "q4_0")] + ["snapshots", "speed", "verifying"]
    assert [row[1] for row in rows] == [f"nano: {name}" for name in names]
    assert str(tmp_path) not in written
    assert sys.prefix not in written
    assert str(Path.home()) + "/" not in written


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crashed with SIGSEGV"),
        ("raise SystemExit('libcuda: no device')", "libcuda: no device"),
        ("print('[1')", "without an error message"),
    ],
)
@pytest.mark.usefixtures("quick")
def test_a_check_that_crashes_is_a_finding_and_the_next_one_runs(
    program: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    child(monkeypatch, program)
    result = run_selfcheck([SPEED, SPEED], {}, Host(), ProgressLine(quiet=True))
    crashed = result.findings[1:]
    assert [finding.status for finding in crashed] == [FindingStatus.FAIL] * 2
    assert all(found in finding.found for finding in crashed)
    assert verdict(result) == WRONG


def test_a_check_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    child(monkeypatch, "import time; time.sleep(3600)")
    (finding,) = check_runner._run(SPEED, {}, 0.5, lambda: None)
    assert finding.status is FindingStatus.WARN
    assert "not finished within" in finding.found


@pytest.mark.usefixtures("quick")
def test_what_there_is_no_time_for_is_left_out() -> None:
    result = run_selfcheck([SPEED], {}, Host(), ProgressLine(quiet=True), limit_s=0)
    assert result.findings[1:] == [Finding("nano: speed", FindingStatus.SKIP, "there was no time left")]


class Interrupting(ProgressLine):
    """Ctrl-C comes while the second check runs."""

    def show(self, text: str, *, at_once: bool = False) -> None:
        if text.startswith("2 of 2") and not at_once:
            raise KeyboardInterrupt


@pytest.mark.usefixtures("quick")
def test_an_interruption_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.dumps([asdict(ok("speed", "fast"))])
    child(monkeypatch, f"print({told!r}); import time; time.sleep(1)")
    result = run_selfcheck([SPEED, SPEED], {}, Host(), Interrupting(quiet=True))
    assert result.interrupted
    assert [finding.check for finding in result.findings] == ["system", "nano: speed"]
    assert list(result.seconds) == ["nano: speed"]
    assert verdict(result) == UNFINISHED


def test_findings_survive_the_way_from_a_child(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    findings = [ok("speed", "fast"), fail("taps", "wrong\n| here", "mend it")]
    monkeypatch.setattr(sys, "argv", ["check", "speed"])
    answer(lambda check: findings if check == "speed" else [])
    assert read_answer(Output(0, f"noise\n{capsys.readouterr().out}\n"), list[Finding]) == findings
    with pytest.raises(CheckFailed, match=r"^it ended without an error message$"):
        read_answer(Output(0), list[Finding])


def test_every_step_has_its_check_and_strict_parity_is_for_the_bundled_model() -> None:
    steps = steps_for([BUNDLED, "/models/big.gguf"])
    assert {step.check for step in steps} == set(CHECKS)
    assert [step.model for step in steps if step.check == "strict parity"] == [BUNDLED]
    assert steps[-1].label == "big.gguf: speed"


def test_a_chosen_model_is_checked_beside_the_bundled_one(tiny_model_path: Path) -> None:
    assert models_to_check(Settings()) == [BUNDLED]
    assert models_to_check(Settings(model=str(tiny_model_path))) == [BUNDLED, str(tiny_model_path)]


def test_settings_for_a_larger_model_do_not_reach_the_bundled_one() -> None:
    chosen: dict[str, object] = {"context": 65536, "gpu_layers": 40, "threads": 1}
    assert checked_settings(BUNDLED, chosen) == Settings(threads=1)
    assert checked_settings("xs-2.1", chosen).context == 65536


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--report", "nowhere/at/all.md"], "its folder does not exist or is not writable"),
        (["--model", "nope.gguf"], "no such file"),
    ],
)
def test_what_cannot_work_is_reported_before_minutes_pass(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["selfcheck", *arguments]) == 2
    assert part in capsys.readouterr().err


def test_an_answer_changed_by_more_than_rounding_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def differing(margin: float) -> FindingStatus:
        difference = AnswerDifference("4", "code", 3, "a", "b", ReplayResult(margin))
        monkeypatch.setattr(engine_checks, "compare", lambda *_: Parity("4", 3, 2, (difference,)))
        (finding,) = engine_checks._kv(select_model(Settings()), "f16")
        return finding.status

    assert differing(7.0) is FindingStatus.FAIL
    assert differing(0.01) is FindingStatus.OK


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see /home/jane/models/My Laguna.gguf", "see .../My Laguna.gguf"),
        ("'/Volumes/work/a.gguf': damaged", "'.../a.gguf': damaged"),
        ("/mnt/c/Users/jane/x.gguf, /opt/jane/lib/libcuda.so", ".../x.gguf, .../libcuda.so"),
        ("/usr/lib/libcuda.so and 3/4 of and/or", "/usr/lib/libcuda.so and 3/4 of and/or"),
        ("HF_TOKEN=hf_" + "a1" * 20, "HF_TOKEN=[redacted]"),
        ("jane on tower-7 says no", "<name> on <name> says no"),
    ],
)
def test_paths_names_and_secrets_are_left_out(text: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_report.getpass, "getuser", lambda: "jane")
    monkeypatch.setattr(check_report.platform, "node", lambda: "tower-7.local")
    assert anonymous(text) == shown


def test_a_report_keeps_its_table_whatever_a_finding_says() -> None:
    text = markdown(SelfCheck([fail("taps", "a | b\nc", "")]))
    assert "| fail | taps | a \\| b" in text
    assert text.count("\n| fail") == 1


def test_a_file_is_checked_wherever_the_checks_run(tmp_path, quick, monkeypatch, capsys) -> None:
    (tmp_path / "mine.gguf").write_bytes(Path(select_model(Settings(model=BUNDLED)).entry.file).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check_runner, "MODEL_CHECKS", ("drafter",))
    assert main(["selfcheck", "--model", "mine.gguf"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    todo = "to check this file's drafter: laguna-tui --drafter FILE selfcheck"
    assert f"skip mine.gguf: drafter not on this machine -> {todo}" in shown


def test_no_drafter_is_missed_of_a_model_for_which_there_is_none(tmp_path) -> None:
    file = generic.model("qwen2").write(tmp_path / "other.gguf")
    (finding,) = engine_checks.check_drafter(select_model(Settings(model=str(file))))
    assert (finding.status, finding.found, finding.todo) == (
        FindingStatus.SKIP,
        "there is none for this model; text is drafted by copying",
        "",
    )


def test_memory_that_was_not_measured_does_not_confirm_the_plan() -> None:
    planned = DeviceMemory("CPU", weights=188_700_000, kv=4 << 20, compute=4 << 20)
    buffers = {"CPU": {"kv": 4 << 20, "compute": 4 << 20}}
    finding = engine_checks._device_memory(SimpleNamespace(buffers=buffers, taken={}), planned)
    assert finding.status is FindingStatus.WARN
    assert finding.found == (
        "weights 188.7 MB planned, 0 B used, kv 4.2 MB planned, 4.2 MB used, compute 4.2 MB planned, 4.2 MB used:"
        " llama.cpp did not log what it uses, so the plan was not checked"
    )


DOUBT = "it was trained for other weights"
COMPARE = "compare it with another one: laguna-tui bench ab --drafter NAME"


@pytest.mark.parametrize(
    ("accepted", "doubt", "found"),
    [
        ([7, 3], "", [ok("acceptance", "62% of the drafted tokens accepted")]),
        ([2, 0], "", [warn("acceptance", "12% of the drafted tokens accepted, below 30%", COMPARE)]),
        ([2, 0], DOUBT, [warn("acceptance", f"12% of the drafted tokens accepted, below 30%; {DOUBT}", COMPARE)]),
        ([8, 8], DOUBT, [warn("acceptance", f"100% of the drafted tokens accepted, at least 30%; {DOUBT}", COMPARE)]),
        ([], "", []),
        ([], DOUBT, [warn("acceptance", DOUBT, COMPARE)]),
    ],
)
def test_a_drafter_is_reported_whose_tokens_are_seldom_accepted_or_that_is_another_models(
    accepted: list[int], doubt: str, found: list[Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_checks, "weights_doubt", lambda *_: doubt)
    answered = sample(DFLASH, "code", rounds=[spun(8, each) for each in accepted])
    selection = cast(ModelSelection, SimpleNamespace(entry=None))
    assert engine_checks._acceptance(selection, Path("drafter.gguf"), [answered]) == found
