"""`laguna-tui models` as a user and a script meet it: real processes, a real hub, real exit codes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from laguna_tui.cli.main import main
from laguna_tui.models.store import Store
from tests.app.models.loopback_hub import Cut, LoopbackHub, Repository, Stall, Status
from tests.app.models.sample_model import DATA, FILE, REPOSITORY

DRAFTER = "a/drafter"
OWN = f"""
[models.small]
title = "Small"
summary = "a model of the tests"
repository = "{REPOSITORY}"
file = "{FILE}"
size = {len(DATA)}
license = "MIT"
template = "XS_2"
thinking = false
context = 2048
sampling = {{}}
match = []

[models.small-dflash]
kind = "drafter"
title = "Small's drafter"
summary = "drafts"
repository = "{DRAFTER}"
file = "*.gguf"
belongs = ["small"]
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environment(hub: LoopbackHub, tmp_path: Path) -> dict[str, str]:
    """A home of its own, with a catalogue of its own, whose hub is the loopback's."""
    hub.repositories[DRAFTER] = Repository({"d.gguf": DATA[:5000]})
    config = tmp_path / "config" / "laguna-tui"
    config.mkdir(parents=True)
    (config / "models.toml").write_text(OWN)
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "LAGUNA_TUI_MODELS": str(tmp_path / "store"),
        "HF_HOME": str(tmp_path / "hf"),
        "HF_ENDPOINT": hub.url,
    }


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "laguna_tui", "models", *arguments]


@pytest.fixture
def run(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command: a download in a process of its own, which asks the hub of its environment; the rest here."""

    def here(*arguments: str) -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as patch:
            for name in ("HOME", "XDG_CONFIG_HOME", "LAGUNA_TUI_MODELS"):
                patch.setenv(name, environment[name])
            capsys.readouterr()
            try:
                code = main(["models", *arguments])
            except SystemExit as wrong:
                code = wrong.code
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, shown.out, shown.err)

    def call(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        if arguments[:1] != ("download",):
            return here(*arguments)
        known = {**environment, **more}
        return subprocess.run(command(*arguments), env=known, capture_output=True, text=True, timeout=60, check=False)

    return call


def test_a_model_comes_with_its_drafter_and_is_then_here(run: Run, hub: LoopbackHub):
    got = run("download", "small")
    assert got.returncode == 0
    assert "Small from poolside/Laguna-GGUF, 300 kB, license: MIT" in got.stderr
    listed = json.loads(run("list", "--json").stdout)
    states = {model["name"]: model["state"] for model in listed["models"]}
    assert (states["small"], states["small-dflash"], states["nano"]) == ("complete", "complete", "bundled")
    path = run("path", "small").stdout.strip()
    assert Path(path).read_bytes() == DATA
    assert got.stdout.splitlines()[0].split(": ") == ["small", path]
    hub.requests.clear()
    assert run("download", "small").returncode == 0
    assert hub.requests == []


def test_only_leaves_the_drafter_out(run: Run, hub: LoopbackHub):
    assert run("download", "small", "--only", "--quiet").stderr == ""
    assert not [request for request in hub.requests if DRAFTER in request.path]


def test_json_has_every_step_and_the_end(run: Run):
    got = run("download", "small", "--only", "--json")
    events = [json.loads(line) for line in got.stdout.splitlines()]
    assert got.stderr == ""
    assert {event["phase"] for event in events if event["event"] == "progress"} >= {"metadata", "transfer", "done"}
    assert events[-1]["event"] == "finished"
    assert events[-1]["outcome"] == "done"
    assert events[-1]["models"]["small"].endswith(FILE)


def test_a_failure_is_a_sentence_an_event_and_exit_code_1(run: Run, hub: LoopbackHub):
    hub.faults["api"] = [Status(401, {"X-Error-Code": "GatedRepo"})]
    got = run("download", "small", "--only", "--json")
    assert got.returncode == 1
    last = json.loads(got.stdout.splitlines()[-1])
    assert last["event"] == "failed"
    assert last["error"] in got.stderr
    assert "requires you to accept terms" in last["error"]
    assert "Traceback" not in got.stderr


def test_an_unavailable_drafter_can_be_left_out(run: Run, hub: LoopbackHub):
    del hub.repositories[DRAFTER]
    got = run("download", "small")
    assert got.returncode == 1
    assert "the repository does not exist" in got.stderr
    assert "to leave the drafter out, add --only" in got.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_has_arrived(environment, run: Run, hub: LoopbackHub, tmp_path, number):
    hub.faults["storage"] = [Stall(200_000)]
    with subprocess.Popen(
        command("download", "small", "--only", "--json"),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        for line in process.stdout:
            if json.loads(line).get("bytes_done", 0) >= 200_000:
                break
        process.send_signal(number)
        # The hub stays silent for 20 s, and the download would be patient for 30.
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert json.loads(out.splitlines()[-1])["outcome"] == "paused"
    assert b"Traceback" not in err
    model = next(one for one in json.loads(run("list", "--json").stdout)["models"] if one["name"] == "small")
    assert (model["state"], model["bytes_have"], model["path"]) == ("partial", 200_000, None)
    assert run("path", "small").returncode == 1
    assert run("download", "small", "--only").returncode == 0
    assert hub.asked("storage")[-1].start == 200_000


def test_on_a_terminal_one_line_shows_the_progress(environment, hub: LoopbackHub):
    hub.faults["storage"] = [Stall(200_000)]
    program, *arguments = command("download", "small", "--only")
    shown = pexpect.spawn(program, arguments, env=environment, timeout=20, dimensions=(24, 60), encoding="utf-8")
    shown.expect(r"\r\x1b\[Kdownloading laguna-Q4_K_M.gguf, 200 kB of 300 kB \(67%\)")
    hub.go_on.set()
    shown.expect(r"\r\x1b\[Ksmall: .*laguna-Q4_K_M.gguf")
    shown.expect(pexpect.EOF)
    assert shown.wait() == 0


def test_an_interrupted_download_shows_how_far_it_is(run: Run, hub: LoopbackHub):
    hub.faults["storage"] = [Cut(150_000)] + [Status(404, {"X-Error-Code": "EntryNotFound"})] * 20
    hub.faults["file"] = [*[None], Status(404, {"X-Error-Code": "EntryNotFound"})]
    assert run("download", "small", "--only").returncode == 1
    assert " 50% " in next(line for line in run("list").stdout.splitlines() if line.startswith("small "))


def test_the_token_and_the_proxy_of_the_environment_are_used(run: Run, hub: LoopbackHub):
    hub.repositories[REPOSITORY].token = "hf_secret"
    got = run(
        "download",
        "small",
        "--only",
        HF_ENDPOINT="http://hub.invalid",
        HTTP_PROXY=hub.url,
        NO_PROXY="",
        HF_TOKEN="hf_secret",
    )
    assert got.returncode == 0, got.stderr
    assert {request.path.split("/")[2] for request in hub.requests} == {"hub.invalid"}
    assert hub.asked("file")[0].headers["authorization"] == "Bearer hf_secret"


def test_verify_tells_good_from_bad_and_takes_the_bad_back(run: Run):
    run("download", "small", "--only")
    # It is no GGUF, and that is told too; its bytes are what the hub announced.
    first = json.loads(run("verify", "small", "--json").stdout)["models"][0]
    assert first["files"][0]["problem"] == ""
    assert "is not a GGUF file" in first["files"][1]["problem"]
    path = Path(run("path", "small").stdout.strip())
    path.write_bytes(DATA[::-1])
    got = run("verify", "small")
    assert got.returncode == 1
    assert "it has changed since the download; run: laguna-tui models download small" in got.stdout
    assert run("path", "small").returncode == 1
    assert run("download", "small", "--only").returncode == 0
    assert path.read_bytes() == DATA


def test_the_bundled_model_is_what_the_catalogue_says(run: Run):
    got = run("verify", "nano")
    assert (got.returncode, got.stdout) == (0, "nano: ok\n")


def test_remove_deletes_and_reports_the_size(run: Run, tmp_path):
    run("download", "small", "--only")
    assert run("remove", "small").stdout == "small: removed, 300 kB freed\n"
    assert not list((tmp_path / "store").rglob("*.gguf"))
    assert json.loads(run("path", "small", "--json").stdout) == {"name": "small", "path": None}


def test_info_names_licence_companions_and_defects(run: Run):
    text = run("info", "xs.2").stdout
    for part in ("Lucebox/Laguna-XS.2-GGUF", "license: Apache-2.0", "companions: xs.2-dflash", "names no end-of-turn"):
        assert part in text
    assert "drafter: xs.2-dflash (recommended, not here): Poolside's own drafter" in text
    assert "drafter: xs.2-dflash-lucebox (not here): " in text
    assert "to use another drafter than the recommended one: --drafter NAME" in text
    record = json.loads(run("info", "small", "--json").stdout)
    assert (record["companions"], record["state"], record["bytes_total"]) == (["small-dflash"], "missing", len(DATA))


def test_info_says_whether_the_reasoning_stays(run: Run):
    assert "thinking: on, and the reasoning stays in the conversation" in run("info", "xs-2.1").stdout
    assert "thinking: off" in run("info", "nano").stdout
    assert "thinking" not in run("info", "xs-2.1-dflash").stdout


@pytest.mark.parametrize(
    "arguments", [("info", "nope"), ("download", "nope"), ("verify", "nope"), ("remove", "nano"), ()]
)
def test_a_mistake_is_a_sentence_and_exit_code_2(run: Run, arguments):
    got = run(*arguments)
    assert got.returncode == 2
    assert "Traceback" not in got.stderr


WATCHED = """
import sys
asked = []
def hook(event, arguments):
    child = event == "subprocess.Popen" and "laguna_tui.models.hub_requests" in arguments[1]
    if child or event.startswith("socket."):
        asked.append(event)
        raise OSError("no socket was to be opened")
sys.addaudithook(hook)
from laguna_tui.cli.main import main
codes = [main(["models", *line.split()]) for line in sys.argv[1].split(";")]
print(codes, asked)
"""


def watched(environment: dict[str, str], lines: str) -> str:
    """Exit codes of commands in a process where every touch of a socket fails, and the child that would open one."""
    run = subprocess.run(
        [sys.executable, "-c", WATCHED, lines],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return run.stdout.splitlines()[-1]


def test_not_one_socket_is_opened_offline_nor_by_anything_but_a_download(environment):
    everything = "list;info small;path small;verify;remove small;download small --offline"
    assert watched(environment, everything) == "[0, 0, 1, 0, 0, 1] []"
    assert watched({**environment, "HF_HUB_OFFLINE": "1"}, "download small") == "[1] []"
    assert watched(environment, "download small").startswith("[1] ['subprocess.Popen'")


def test_the_store_is_where_the_environment_says(environment, monkeypatch):
    monkeypatch.setenv("LAGUNA_TUI_MODELS", environment["LAGUNA_TUI_MODELS"])
    assert Store().folder == Path(environment["LAGUNA_TUI_MODELS"])
    monkeypatch.delenv("LAGUNA_TUI_MODELS")
    assert Store().folder.name == "models"
