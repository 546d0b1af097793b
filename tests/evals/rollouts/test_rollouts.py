"""`python -m tests.evals rollouts`, against an endpoint on loopback and with a model in the process."""

import fcntl
import json
import math
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.evals.samples import RunFacts
from laguna_tui.evals.task import SOLUTION, load_tasks
from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox
from tests.app.odd_files import odd
from tests.evals.__main__ import main
from tests.evals.rollouts.rollout import Prompt, Rollout, RolloutFile
from tests.evals.rollouts.rollout_endpoint import speculation_counters
from tests.evals.rollouts.rollout_table import wall_seconds
from tests.evals.rollouts.verifier import Verifier
from tests.scripted_endpoint import dies, endpoint, sends, status, whole
from tests.scripted_model import Script, Seen
from tests.scripted_model.ask import TOP, run

SANDBOXED = pytest.mark.skipif(probe_sandbox().kind is SandboxKind.NONE, reason="no sandbox works here")
CHECK = """
import json, sys
answer = sys.stdin.read()
print(answer == open("answer.txt").read())
if answer == json.load(open("prompt.json"))["half"]:
    print("reward", 0.25)
sys.exit(0 if answer else 3)
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", *(f"XDG_{kind}_HOME" for kind in ("CACHE", "CONFIG", "DATA", "STATE"))):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path


def prompts(folder: Path, *lines: dict) -> Path:
    path = folder / "prompts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def numbered(folder: Path, count: int) -> Path:
    return prompts(folder, *({"name": f"p{at}", "prompt": f"question {at}"} for at in range(count)))


def asked(body: dict) -> str:
    return body["messages"][-1]["content"]


def echoed(body: dict):
    """An answer that says what was asked, and with which seed."""
    return whole(f"{asked(body)} by {body['seed']}")


def rollouts_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def words(url: str, path: Path, out: Path, *more: str) -> list[str]:
    return ["rollouts", "--model", url, "--prompts", str(path), "--out", str(out), "--quiet", *more]


def test_every_prompt_gets_its_group_with_seeds_of_their_own_in_the_order_of_the_prompts(home: Path):
    out, path = home / "out.jsonl", numbered(home, 5)
    with endpoint(otherwise=echoed) as served:
        assert main(words(served.url, path, out, "--samples", "3", "--temperatures", "0.5,1")) == 0
        bodies = served.asked
    found = rollouts_of(out)
    order = [(t, f"p{prompt}", index) for t in (0.5, 1.0) for prompt in range(5) for index in range(3)]
    assert [(each["temperature"], each["prompt"], each["index"]) for each in found] == order
    assert all(each["answer"] == f"question {each['prompt'][1:]} by {each['seed']}" for each in found)
    assert len({each["seed"] for each in found}) == 15
    assert sorted(body["temperature"] for body in bodies) == [0.5] * 15 + [1.0] * 15


def test_what_fails_for_a_while_is_asked_again_and_nothing_else_is(home: Path, capsys: pytest.CaptureFixture[str]):
    out, path = home / "out.jsonl", numbered(home, 1)
    garbage = sends(b'{"choices": []}', "application/json")
    with endpoint([status(503, retry_after=0), dies("tor"), garbage], otherwise=echoed) as served:
        assert main(words(served.url, path, out)) == 0
        assert len({json.dumps(body) for body in served.asked}) == 1
    assert [each["retries"] for each in rollouts_of(out)] == [3]
    assert "Requests sent again: 3." in capsys.readouterr().out
    with endpoint([status(401)] * 2, otherwise=echoed) as served:
        assert main(words(served.url, path, home / "other.jsonl")) == 4
        assert len(served.asked) == 1


def test_a_run_that_an_endpoint_ended_is_resumed(home: Path, capsys: pytest.CaptureFixture[str]):
    out, path = home / "out.jsonl", numbered(home, 4)
    with endpoint([whole("first")], otherwise=lambda body: status(500)) as served:
        line = words(served.url, path, out, "--retries", "0", "--concurrency", "1")
        assert main(line) == 4
        said = capsys.readouterr().err
        assert "failed (500): “no”, also after 0 retries" in said and "the same command resumes" in said
        assert [each["prompt"] for each in rollouts_of(out)] == ["p0"]
        served.otherwise = echoed
        before = len(served.asked)
        assert main(line) == 0
        assert [asked(body) for body in served.asked[before:]] == ["question 1", "question 2", "question 3"]
    assert [each["prompt"] for each in rollouts_of(out)] == ["p0", "p1", "p2", "p3"]
    assert main([*line, "--seed", "2"]) == 2
    assert "its rollouts were made with other options (seed: 1 there, 2 now)" in capsys.readouterr().err


def test_a_run_killed_in_the_middle_goes_on_without_loss_or_repetition(home: Path):
    out, path, enough = home / "out.jsonl", numbered(home, 20), threading.Event()

    def counted(body: dict):
        if len(served.asked) >= 50:
            enough.set()
        return echoed(body)

    with endpoint(otherwise=counted) as served:
        line = words(served.url, path, out, "--samples", "10", "--concurrency", "8")
        with subprocess.Popen([sys.executable, "-m", "tests.evals", *line], cwd=TOP) as running:
            assert enough.wait(60)
            running.send_signal(signal.SIGKILL)
        kept = {(each["prompt"], each["index"]): each for each in whole_lines(out)}
        assert main(line) == 0
    found = rollouts_of(out)
    assert len(kept) >= 34
    assert [(each["prompt"], each["index"]) for each in found] == [(f"p{p}", i) for p in range(20) for i in range(10)]
    assert all(kept.get((each["prompt"], each["index"]), each) == each for each in found)
    # What was under way when it was killed is all that was asked twice.
    assert len(served.asked) <= 200 + 8


def whole_lines(path: Path) -> list[dict]:
    """The rollouts of a file whose last line may be torn."""
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True)[1:] if line.endswith("\n")]


def test_token_ids_are_kept_where_the_endpoint_tells_them_and_not_asked_of_one_that_refuses(home: Path):
    path = numbered(home, 1)
    with endpoint([whole("yes", [1, 2], [3, 4, 5])]) as served:
        assert main(words(served.url, path, home / "a.jsonl")) == 0
        assert served.asked[0]["return_token_ids"] is True
    assert rollouts_of(home / "a.jsonl")[0]["tokens"] == [{"kept": 0, "prompt": [1, 2], "generated": [3, 4, 5]}]
    with endpoint([status(400, "unknown field")], otherwise=echoed) as served:
        assert main(words(served.url, path, home / "b.jsonl")) == 0
        assert ["return_token_ids" in body for body in served.asked] == [True, False]
    (found,) = rollouts_of(home / "b.jsonl")
    assert (found["tokens"], found["retries"]) == ([], 0)


def test_acceptance_is_what_the_metrics_counted_meanwhile(home: Path, capsys: pytest.CaptureFixture[str]):
    def metrics() -> str:
        answers = len(served.asked)
        return (
            "# TYPE vllm:spec_decode_num_draft_tokens_total counter\n"
            f'vllm:spec_decode_num_draft_tokens_total{{engine="0",model_name="a b"}} {1000 + 8.0 * answers}\n'
            f'vllm:spec_decode_num_accepted_tokens_total{{engine="0",model_name="a b"}} {500 + 6.0 * answers}\n'
        )

    out = home / "out.jsonl"
    with endpoint(otherwise=echoed, metrics=metrics) as served:
        assert main(words(served.url, numbered(home, 4), out, "--samples", "1,2")) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("| its own")]
    assert [(row[4], row[-3:-1]) for row in rows] == [("1", ["75", "%"]), ("2", ["75", "%"])]
    found = rollouts_of(out)
    assert (sum(each["drafted"] for each in found), sum(each["accepted"] for each in found)) == (8 * 12, 6 * 12)


def test_the_counters_of_this_apps_server_are_read_too_and_others_are_none():
    text = "laguna_tui_drafted_tokens_total 12\nlaguna_tui_accepted_tokens_total 1e+01\nlaguna_tui_requests_total 5\n"
    assert speculation_counters(text) == (12, 10)
    assert speculation_counters("laguna_tui_requests_total 5\n") is None


@SANDBOXED
def test_a_verifier_reads_the_answer_and_the_prompt_and_says_the_reward(home: Path):
    check, out = home / "check.py", home / "out.jsonl"
    check.write_text(CHECK)
    path = prompts(home, *({"prompt": text, "half": "b"} for text in ("a", "b", "")))
    line = words("URL", path, out, "--verify", "{python} check.py", "--verify-file", str(check))
    with endpoint(otherwise=lambda body: whole(asked(body))) as served:
        line[2] = served.url
        assert main(line) == 0
    assert [(each["reward"], each["check"].split()[0]) for each in rollouts_of(out)] == [
        (1.0, "True"),
        (0.25, "True"),
        (0.0, "True"),
    ]


@SANDBOXED
def test_a_verifier_that_is_not_there_ends_the_run_instead_of_giving_no_reward(
    home: Path, capsys: pytest.CaptureFixture[str]
):
    out = home / "out.jsonl"
    with endpoint(otherwise=echoed) as served:
        assert main(words(served.url, numbered(home, 2), out, "--verify", "no-such-program")) == 2
    assert "the verifier cannot be run" in capsys.readouterr().err
    assert rollouts_of(out) == []


@SANDBOXED
def test_a_verifier_in_a_hidden_folder_is_named_with_the_folder(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    verifier = tmp_path / ".claude/verify"
    verifier.parent.mkdir()
    verifier.write_text("#!/bin/sh\n")
    verifier.chmod(0o755)
    with endpoint(otherwise=echoed) as served:
        assert main(words(served.url, numbered(home, 2), home / "out.jsonl", "--verify", str(verifier))) == 2
    assert (
        f"; commands cannot read {verifier}, because {tmp_path}/.claude is hidden from them; move it to another folder"
    ) in capsys.readouterr().err


@SANDBOXED
def test_the_model_in_this_process_solves_functions_and_all_tokens_are_kept(
    home: Path, capsys: pytest.CaptureFixture[str]
):
    out = home / "out.jsonl"

    def lines(seen: Seen):
        while True:
            yield f"```python\n{load_tasks()['run_lengths'].reference[SOLUTION]}```"

    options = ["--task", "run_lengths", "--task", "caesar_shift", "--context", "4096", "--threads", "1"]
    assert run(Script(lines), ["rollouts", *options, "--out", str(out), "--quiet"], home, main) == 0
    found = rollouts_of(out)
    assert [(each["prompt"], each["reward"]) for each in found] == [("caesar_shift", 0.0), ("run_lengths", 1.0)]
    for each in found:
        (turn,) = each["tokens"]
        assert (len(turn["prompt"]), len(turn["generated"])) == (each["prompt_tokens"], each["generated_tokens"])
    assert "0.500" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("[1]\n", "line 1: it is no object"),
        ('{"prompt": "a"}\n{"prompt": 3}\n', "line 2: 'prompt' is no text"),
        ('{"prompt": "a", "name": "2"}\n{"prompt": "b"}\n', "line 2: the name 2 is taken"),
        ("\n", "it holds no prompt"),
    ],
)
def test_a_line_that_is_no_prompt_is_named(home: Path, capsys: pytest.CaptureFixture[str], lines: str, said: str):
    path = home / "prompts.jsonl"
    path.write_text(lines)
    assert main(["rollouts", "--model", "http://127.0.0.1:9", "--prompts", str(path)]) == 2
    assert said in capsys.readouterr().err


def test_a_task_about_files_is_for_eval(capsys: pytest.CaptureFixture[str]):
    assert main(["rollouts", "--task", "average_of_nothing"]) == 2
    assert "laguna-tui eval --task average_of_nothing" in capsys.readouterr().err


def test_the_wall_time_is_that_with_a_request_under_way():
    assert wall_seconds([(0.0, 2.0), (1.0, 3.0), (1.5, 1.8), (10.0, 11.0)]) == pytest.approx(4.0)


@SANDBOXED
@pytest.mark.parametrize("said", ["nan", "inf", "-inf", "1e999", "NaN", "Infinity", "one", "", "0x1", "1 2", "None"])
def test_a_reward_that_is_not_a_finite_number_is_refused(said):
    reward, text = Verifier(f"echo 'reward {said}'").reward(Prompt("a", "", "why?"), "because")
    assert reward == 0.0
    assert text.endswith("refused: the last line names no finite number, so the reward is 0")


@SANDBOXED
@pytest.mark.parametrize(("said", "reward"), [("reward 0.25", 0.25), ("reward -1e2", -100.0), ("rewarding", 1.0)])
def test_a_reward_that_is_a_number_counts(said, reward):
    found, text = Verifier(f"echo '{said}'").reward(Prompt("a", "", "why?"), "because")
    assert found == reward
    assert math.isfinite(found)
    assert text == said


OPTIONS = {
    "--prompts": ("--model", "nano", "--prompts", "{file}"),
    "--verify-file": ("--prompts", "{prompts}", "--verify", "true", "--verify-file", "{file}"),
    "--out": ("--model", "http://127.0.0.1:9", "--prompts", "{prompts}", "--out", "{file}"),
}


def refusal(option: str, home: Path, capsys: pytest.CaptureFixture[str], file: str) -> str:
    line = [word.format(file=file, prompts=numbered(home, 1)) for word in OPTIONS[option]]
    assert main(["rollouts", *line]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


@pytest.mark.timeout(60)
@pytest.mark.parametrize("option", OPTIONS)
@odd
def test_a_file_that_is_no_small_regular_one_is_refused(option: str, make, home: Path, capsys):
    make(home / "odd")
    assert str(home / "odd") in refusal(option, home, capsys, str(home / "odd"))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("option", ["--prompts", "--verify-file"])  # a lock is made beside that of --out
@pytest.mark.parametrize("file", ["/proc/self/mem", "/proc/kmsg", "/dev/tty", "/", "/nowhere"])
def test_a_file_of_the_system_a_folder_and_a_missing_file_are_refused(option: str, file: str, home: Path, capsys):
    assert file in refusal(option, home, capsys, file)


def test_rollouts_are_sorted_in_the_file_that_a_link_leads_to(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/out.jsonl").symlink_to(tmp_path / "rollouts.jsonl")
    file = RolloutFile.open(tmp_path / "folder/out.jsonl", RunFacts("tiny", {}, 1), Rollout)
    file.sort(lambda rollout: rollout.index)
    file.close()
    assert (tmp_path / "folder/out.jsonl").is_symlink()
    assert (tmp_path / "rollouts.jsonl").read_text().count("\n") == 1


@pytest.mark.parametrize("sorted_", [False, True], ids=["a rollout was added", "the file was sorted"])
def test_where_locks_exclude_nobody_a_second_process_is_refused(tmp_path: Path, monkeypatch, sorted_: bool):
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, operation: None)
    path = tmp_path / "out.jsonl"
    one, other = (RolloutFile.open(path, RunFacts("tiny", {}, 1), Rollout) for _ in range(2))
    rollout = Rollout("p", 0.5, 1, 0, 1, 1.0, "answered", "yes", "", "", 1, 1, 0, 0, 0, 1.0, 0.1)
    if sorted_:
        one.sort(lambda each: each.index)
    else:
        one.add(rollout)
    before = path.read_bytes()
    said = f"{path}: another laguna-tui is writing to it; wait until it ends, or give another file with --out"
    with pytest.raises(UserError) as refused:
        other.add(rollout)
    assert str(refused.value) == said
    with pytest.raises(UserError) as refused:
        other.sort(lambda each: each.index)
    assert str(refused.value) == said
    assert path.read_bytes() == before
    one.close()
    other.close()
