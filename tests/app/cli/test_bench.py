"""`laguna-tui bench` as a user meets it, on a tiny pair of random weights."""

import hashlib
import json
import os
import re
import subprocess
import sys

import pytest

from laguna_tui.bench.answer_runs import Runner
from laguna_tui.cli.main import main
from laguna_tui.session import opening

SHORT = ["--threads", "1", "--context", "8192", "--tokens", "12", "--repeats", "1", "--quiet"]


def bench(kind, pair, *options):
    target, drafter = pair
    return main(["bench", kind, "--model", str(target), "--drafter", str(drafter), *SHORT, *options])


def columns(text):
    return [line.count("|") for line in text.splitlines() if line.startswith("|")]


def test_one_well_formed_table_is_printed(pair, messages, capsys):
    assert bench("ab", pair, "--prompts", str(messages)) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert len(set(columns(told.out))) == 1
    rows = [line.split("|")[1].strip() for line in told.out.splitlines() if line.startswith("|")][2:]
    assert rows == ["plain", "dflash", "copy", "both"]
    assert "load average" in told.out


def test_json_has_the_machine_the_files_and_every_answer(pair, messages, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert bench("ab", pair, "--prompts", str(messages), "--json", str(out)) == 0
    assert "| plain" in capsys.readouterr().out
    found = json.loads(out.read_text())
    assert {"cpu", "cores", "memory", "devices", "ggml", "llama_cpp_python", "app", "load_before", "load_after"} <= set(
        found["machine"]
    )
    for part, path in zip(("model", "drafter"), pair, strict=True):
        assert found[part]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert found[part]["size"] == path.stat().st_size
    assert [row["way"] for row in found["rows"]] == ["plain", "dflash", "copy", "both"]
    assert found["rows"][1]["parity"]["prompts"] == 2
    assert len(found["samples"]) == 2 * 4
    assert (found["bench"], found["interrupted"]) == ("ab", False)


def test_json_on_stdout_comes_without_the_table(pair, messages, capsys):
    assert bench("ab", pair, "--prompts", str(messages), "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["bench"] == "ab"


def test_without_prompts_of_ones_own_the_agents_requests_are_measured(pair, capsys):
    assert bench("ab", pair, "--json", "-") == 0
    names = [prompt["name"] for prompt in json.loads(capsys.readouterr().out)["prompts"]]
    assert names[-1] == "continue"
    assert "where 1" in names


def test_a_pair_without_drafter_is_compared_with_copying_only(pair, messages, capsys):
    target, _ = pair
    options = [*SHORT, "--prompts", str(messages)]
    assert main(["bench", "ab", "--model", str(target), "--drafter", "none", *options]) == 0
    told = capsys.readouterr().out
    assert re.findall(r"^\| (\w+)", told, re.MULTILINE) == ["plain", "copy"]
    assert "to add dflash and both: --drafter FILE.gguf" in told


@pytest.mark.parametrize("form", ["table", "json"])
def test_ctrl_c_reports_what_was_measured_until_then(pair, messages, capsys, monkeypatch, form):
    answer, asked = Runner.answer, []

    def interrupted_in_the_second_round_of_turns(self, prompt, way, repeat):
        asked.append(repeat)
        if asked.count(0) == 6:
            raise KeyboardInterrupt
        return answer(self, prompt, way, repeat)

    monkeypatch.setattr(Runner, "answer", interrupted_in_the_second_round_of_turns)
    assert bench("ab", pair, "--prompts", str(messages), *(["--json", "-"] if form == "json" else [])) == 130
    told = capsys.readouterr().out
    if form == "table":
        assert "interrupted" in told.splitlines()[0]
        assert re.findall(r"^\| (\w+)", told, re.MULTILINE) == ["plain", "dflash", "copy", "both"]
        return
    found = json.loads(told)
    assert found["interrupted"] is True
    assert len(found["samples"]) == 5
    assert found["rows"][1]["parity"]["prompts"] == 1


def test_ctrl_c_before_the_first_answer_reports_that_nothing_was_measured(pair, messages, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "answer", interrupted)
    assert bench("ab", pair, "--prompts", str(messages)) == 130
    assert "Nothing was measured." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("ab", "--model", "nope.gguf"), "no such file"),
        (("ab", "--drafter", "nope.gguf"), "give the path of a GGUF, or none"),
        (("ab", "--drafter", "{target}"), "not a DFlash drafter"),
        (("ab", "--tokens", "1"), "it must be 2 or more"),
        (("ab", "--repeats", "0"), "it must be 1 or more"),
        (("ab", "--kv", "q9"), "it must be one of f16, q8_0, q4_0"),
        (("ab", "--speculation", "off"), "nothing to compare"),
        (("ab", "--prompts", "nowhere.txt"), "No such file"),
        (("ab", "--prompts", "{empty}"), "it is empty"),
        (("ab", "--context", "1024", "--tokens", "900"), "no prompt fits"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(arguments, part, pair, tmp_path, capsys):
    (tmp_path / "empty.txt").write_text("\n\n")
    words = {"target": pair[0], "empty": tmp_path / "empty.txt"}
    kind, *options = (argument.format(**words) for argument in arguments)
    defaults = ["--model", str(pair[0]), "--drafter", str(pair[1]), "--threads", "1", "--context", "8192"]
    assert main(["bench", kind, *defaults, *options]) == 2
    told = capsys.readouterr()
    assert part in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""


def test_a_wrong_path_for_json_does_not_lose_the_table(pair, messages, tmp_path, capsys):
    target = tmp_path / "no" / "out.json"
    assert bench("ab", pair, "--prompts", str(messages), "--json", str(target)) == 2
    told = capsys.readouterr()
    assert "| plain" in told.out
    assert "choose a file that can be written" in told.err


def test_the_model_is_opened_with_the_threads_that_the_app_plans(pair, messages, capsys, monkeypatch):
    """llama.cpp with a thread on every core waits for whatever else runs there: plain decoding was 81 times slower."""
    monkeypatch.setattr(opening, "all_cores_but_one", lambda: 1)
    command = ["bench", "ab", "--model", str(pair[0]), "--drafter", str(pair[1]), "--prompts", str(messages)]
    options = ["--context", "8192", "--tokens", "4", "--repeats", "1", "--quiet", "--json", "-"]
    assert main([*command, *options]) == 0
    assert json.loads(capsys.readouterr().out)["options"]["threads"] == 1


def test_strict_answers_are_all_the_same():
    """In a process that has computed nothing yet, on the bundled model and the app's own prompts."""
    options = ("--speculation", "strict", "--tokens", "40", "--repeats", "1", "--quiet", "--json", "-")
    environment = {name: value for name, value in os.environ.items() if name != "GGML_CPU_TILED_MM"}
    command = [sys.executable, "-m", "laguna_tui", "bench", "ab", *options]
    told = json.loads(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)
    parities = [row["parity"] for row in told["rows"][1:]]
    assert len(parities) == 3
    assert all(parity["same"] == parity["prompts"] > 5 for parity in parities)
