"""`laguna-tui fit`: what it says, for this machine and for others, in every width."""

import json
from pathlib import Path

import pytest

from laguna_engine.fit.decode_speed import DeviceRate
from laguna_tui.base.settings import Settings
from laguna_tui.cli import main
from tests.engine import families

NANO = Path(__file__).parents[3] / "assets/nano/laguna-nano.gguf"


@pytest.fixture(autouse=True)
def _default_settings(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("laguna_tui.cli.fit.load_settings", Settings)


def fit(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main.main(["fit", *arguments])
    captured = capsys.readouterr()
    return code, captured.out or captured.err


def test_the_bundled_model_runs_on_this_machine(capsys, monkeypatch):
    monkeypatch.setattr("laguna_tui.models.fit.measured_rates", lambda machine: {"CPU": DeviceRate(20e9, 2e-6)})
    code, out = fit(capsys, "nano")
    assert code == 0
    assert "Laguna Nano on this machine: " in out and "It runs on the CPU with 4 K tokens of context, about" in out


def test_a_speed_that_could_not_be_measured_is_left_out_with_the_reason(capsys, monkeypatch):
    monkeypatch.setattr("laguna_tui.models.fit.measured_rates", lambda machine: {})
    monkeypatch.setattr("laguna_tui.cli.fit.measured_rates", lambda machine: {})
    sentence = (
        "Other programs use the processor, so the speed cannot be measured; run it again when they have finished."
    )
    _, out = fit(capsys, "nano")
    paragraph = " ".join(out.split("\n\n")[1].splitlines())
    assert paragraph == f"It runs on the CPU with 4 K tokens of context. {sentence}"
    _, out = fit(capsys)
    assert " ".join(out.splitlines()).endswith(sentence)


def test_a_file_is_checked_like_a_name(capsys):
    code, out = fit(capsys, str(NANO), "--machine", "cpu-8GB")
    assert code == 0 and "It runs on the CPU with 4 K tokens of context." in out


def test_a_model_that_cannot_chat_is_refused_by_fit_and_serve(capsys, tmp_path: Path):
    mute = tmp_path / "mute.gguf"
    mute.write_bytes(NANO.read_bytes().replace("〈|EOS|〉".encode(), b"X" * 11))
    sentence = "the vocabulary has no 〈|EOS|〉 token, so this is not a Laguna model; choose one"
    code, said = fit(capsys, str(mute))
    assert (code, said) == (2, f"laguna-tui: {mute}: {sentence}\n")
    code = main.main(["serve", "--model", str(mute), "--port", "0"])
    said = capsys.readouterr()
    assert (code, said.out, said.err) == (3, "", f"laguna-tui: {sentence}\n")


def test_a_model_is_judged_before_its_download(capsys):
    code, out = fit(capsys, "xs-2.1", "--machine", "24GB desktop")
    assert code == 0
    assert "It fits on the GPU with 64 K tokens of context." in " ".join(out.split())
    assert "It is not downloaded yet; the sizes are those of its published description." in " ".join(out.split())


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("machine", ["16GB", "2x12GB desktop", "cpu-16GB", "cpu-4GB"])
def test_no_line_is_wider_than_the_terminal(capsys, monkeypatch, columns: int, machine: str):
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out = fit(capsys, "xs-2.1", "--machine", machine)
    assert max(map(len, out.splitlines())) <= columns


@pytest.mark.parametrize("columns", [40, 80])
def test_one_cell_is_marked_and_the_mark_explained(capsys, monkeypatch, columns: int):
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out = fit(capsys, "xs-2.1", "--machine", "24GB desktop")
    rows = [line for line in out.splitlines() if line.strip().startswith(("8 K", "16 K", "32 K", "64 K", "128 K"))]
    marked = [line for line in rows if "*" in line]
    assert len(rows) == 5 and len(marked) == 1 and marked[0].strip().startswith("64 K")
    assert "* chosen" in out


def test_a_context_between_the_rows_gets_a_row_of_its_own(capsys):
    _, out = fit(capsys, "xs-2.1", "--machine", "24GB")
    assert any(line.strip().startswith("96 K") and "*" in line for line in out.splitlines())


def test_reasons_and_the_next_step_follow(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    _, out = fit(capsys, "xs-2.1", "--machine", "24GB desktop")
    assert "KV cache: q8_0. Half the size of f16 with almost no loss: 21.25 KiB per token." in out
    assert "next step: A context of 96 K would take" in out


def test_constraints_are_met(capsys):
    _, out = fit(capsys, "xs-2.1", "--machine", "24GB", "--context", "32768", "--kv", "f16", "--json")
    plan = json.loads(out)["plan"]
    assert (plan["context"], plan["kv"]) == (32_768, "f16")


def test_quality_first_is_another_plan(capsys):
    _, out = fit(capsys, "xs-2.1", "--machine", "16GB", "--first", "quality", "--json")
    assert json.loads(out)["plan"]["kv"] == "f16"


@pytest.mark.parametrize(
    ("family", "sentence"),
    [
        ("lfm2", "There is no drafter for this model here; text is still drafted by copying."),
        ("granitehybrid", "Drafts are off: the recurrent layers' memory cannot go back after a rejected one."),
    ],
)
def test_a_model_without_a_drafter_is_explained(capsys, monkeypatch, tmp_path: Path, family: str, sentence: str):
    monkeypatch.setenv("COLUMNS", "120")
    code, out = fit(capsys, str(families.model(family).write(tmp_path / "other.gguf")), "--machine", "cpu-8GB")
    assert code == 0
    assert f"drafter: none. {sentence}" in out


def test_what_does_not_fit_is_refused_with_the_numbers_and_exit_code_1(capsys):
    code, out = fit(capsys, "xs-2.1", "--machine", "cpu-4GB")
    assert code == 1
    assert "needs at least 19.2 GiB" in " ".join(out.split())


def test_the_object_has_the_machine_the_plan_and_the_table(capsys):
    code, out = fit(capsys, "xs-2.1", "--machine", "2x12GB", "--json")
    told = json.loads(out)
    assert code == 0 and told["machine"]["simulated"] == "2x12GB" and told["file"] is None
    assert len(told["plan"]["split"]) == 2 and set(told["plan"]["memory"]) == {"CUDA0", "CUDA1", "CPU"}
    assert {"context", "kv", "fits", "left", "drafter", "layers_in_ram", "from_disk"} == set(told["table"][0])


def test_without_a_model_there_is_a_line_for_each(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    code, out = fit(capsys, "--machine", "24GB desktop")
    assert code == 0
    lines = out.splitlines()
    assert lines[lines.index("xs-2.1: mixture of experts, 20.3 GB, OpenMDW-1.1") + 1] == (
        "  fits on the GPU with 64 K tokens of context"
    )
    assert lines[lines.index("s-2.1: mixture of experts, 68.2 GB, OpenMDW-1.1") + 1] == (
        "  Laguna S 2.1 has a file of 68.2 GB; whether it runs here can be computed when it is downloaded"
    )


def test_without_a_model_the_object_has_them_all(capsys):
    _, out = fit(capsys, "--machine", "24GB", "--json")
    models = json.loads(out)["models"]
    assert models["nano"]["plan"]["context"] == 4096 and models["xs-2.1"]["refused"] == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nano", "--machine", "toaster"), "--machine: 'toaster' is not part of a machine"),
        (("nano", "--kv", "q5_0"), "--kv q5_0: choose one of f16, q8_0, q4_0"),
        (("nano", "--context", "12"), "--context 12: it must be at least 1024"),
        (("nano", "--context", "8192"), "can use 4 K tokens of context, not 8 K"),
        (("no-such-model",), "there is no model"),
        (("s-2.1",), "whether it runs here can be computed when it is downloaded"),
    ],
)
def test_invalid_arguments_are_refused_with_a_sentence(capsys, arguments: tuple[str, ...], sentence: str):
    code, out = fit(capsys, *arguments)
    assert code in (1, 2) and sentence in " ".join(out.split())
