"""The commands with the model: what fits, what it measures, what an editor and a pipe get."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from laguna_tui.base.settings import Settings
from laguna_tui.cli.main import main
from laguna_tui.headless.plain_chat import PlainChat
from tests.app.acp.pipe_client import running
from tests.real_model.sessions import opened

SHORT = ("--threads", "1", "--context", "1024")


@pytest.fixture(autouse=True)
def _default_settings(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("laguna_tui.cli.fit.load_settings", Settings)


def test_fit_says_that_it_runs_and_which_template_it_uses(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["fit", str(model), "--machine", "cpu-8GB"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "It chats with the template in its file." in shown
    assert "It runs on the CPU with 8 K tokens of context." in shown


def test_a_plain_chat_answers_line_by_line(model: Path, tmp_path: Path):
    (tmp_path / "project").mkdir()
    reading, writing = os.pipe()
    os.write(writing, b"/btw Is this French?\n/quit\n")
    os.close(writing)
    out = io.StringIO()
    with opened(model, tmp_path, context=1024) as session:
        PlainChat(session, reading, out).run("Say hello.")
    os.close(reading)
    first, said, *others = out.getvalue().splitlines()
    assert first == f"{model.stem} answers questions about {tmp_path / 'project'}. /help lists commands."
    assert "Hello" in said
    assert any("tokens written" in line for line in others)


def test_an_editor_is_answered(model: Path, tmp_path: Path):
    (tmp_path / "project").mkdir()
    flags = ["--max-tokens", "12", "--temperature", "0", "--pack", "0"]
    program = [sys.executable, "-m", "laguna_tui", "acp", "--model", str(model), *SHORT, *flags]
    with running(program, tmp_path) as client:
        session = client.ask("session/new", cwd=str(tmp_path / "project"), mcpServers=[])["sessionId"]
        assert client.prompt(session, "Say hello.")["stopReason"] in ("end_turn", "max_tokens")
        assert "Hello" in client.text()


def test_bench_compares_copying_with_plain(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("Count from one to ten.\n")
    wanted = ["bench", "ab", "--model", str(model), *SHORT, "--tokens", "24", "--repeats", "1", "--quiet"]
    assert main([*wanted, "--prompts", str(prompts), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["way"] for row in found["rows"]] == ["plain", "copy"]
    assert found["rows"][1]["parity"]["prompts"] == 1


def test_eval_runs_a_task_to_its_verdict(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "samples.jsonl"
    wanted = ["eval", "--task", "chunks_of", "--model", str(model), *SHORT, "--max-tokens", "24", "--out", str(out)]
    assert main([*wanted, "--quiet"]) == 0
    assert f"# {model.stem}: 1 sample\n" in capsys.readouterr().out
    assert len(out.read_text().splitlines()) == 2


@pytest.mark.long
@pytest.mark.timeout(900)
def test_selfcheck_finds_nothing_wrong(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["selfcheck", "--model", str(model), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    own = [each for each in found["findings"] if each["check"].startswith(model.name)]
    assert {each["status"] for each in own} == {"ok", "skip"} and len(own) > 6
