"""`ask` with a scripted model that changes files and runs commands: streams, exit codes, and what is left behind."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from threading import Event

import psutil
import pytest

from laguna_tui.base.events import TextDelta, TurnEnd, TurnFinished
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.headless.time_limit import TimeLimit
from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox
from tests.scripted_model import call, say
from tests.scripted_model.ask import TOP, command, run

pytestmark = pytest.mark.usefixtures("unasked")
SANDBOXED = pytest.mark.skipif(probe_sandbox().kind is SandboxKind.NONE, reason="no sandbox works here")
RUNS = [say(call("shell", cmd="seq 3")), say("Counted.")]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A project, and nothing of the user's."""
    for kind in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/cart.py").write_text("total = 1\n")
    return tmp_path / "shop"


@pytest.fixture
def ask(shop, tmp_path, capsys):
    """Asks a model of a script; its exit code, stdout and stderr."""

    def asked(script, *flags):
        code = run(script, ["ask", "--folder", str(shop), *flags, "Do it."], tmp_path)
        return (code, *capsys.readouterr())

    return asked


def test_without_a_terminal_a_command_is_denied_and_the_flag_is_named(ask):
    code, out, err = ask([say(call("shell", cmd="touch made")), say("I could not.")])
    assert (code, out) == (ExitCode.DENIED, "I could not.\n")
    assert "1 action was not permitted, because nobody could be asked. To allow it, add: --" in err


def test_what_cannot_be_used_of_the_users_mcp_servers_is_named(ask, tmp_path):
    file = tmp_path / "home/laguna-tui/mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {"web": {"type": "http", "url": "https://example.org/mcp"}}}')
    code, out, err = ask(["Done."])
    assert (code, out) == (ExitCode.ANSWERED, "Done.\n")
    assert err == (
        f"laguna-tui: {file}: the server 'web' is left out: it is at a URL, which is not supported; give its command,"
        ' or set "disabled": true.\n'
    )


@SANDBOXED
def test_a_home_that_is_not_a_folder_does_not_prevent_an_answer(ask, monkeypatch, tmp_path):
    for kind in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.delenv(f"XDG_{kind}_HOME")
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, out, err = ask(RUNS, "--mode", "auto")
    assert (code, out) == (ExitCode.ANSWERED, "Counted.\n")
    assert "· $ seq 3  exit code 0, " in err


@SANDBOXED
@pytest.mark.parametrize("flags", [("--allow", "shell(seq …)"), ("--mode", "auto")])
def test_a_command_runs_where_a_rule_or_the_mode_allows_it(ask, flags):
    code, out, err = ask(RUNS, *flags)
    assert (code, out) == (ExitCode.ANSWERED, "Counted.\n")
    assert "· $ seq 3  exit code 0, " in err
    assert "\n2\n" not in err


@SANDBOXED
def test_what_a_command_puts_out_is_shown_on_request(ask):
    assert "· $ seq 3\n1\n2\n3\n  exit code 0, " in ask(RUNS, "--mode", "auto", "--verbose")[2]


@SANDBOXED
def test_a_rule_that_denies_is_stronger_than_one_that_allows(ask):
    code, out, _ = ask(RUNS, "--json", "--mode", "auto", "--allow", "shell(seq …)", "--deny", "shell(seq …)")
    told = json.loads(out)
    assert code == ExitCode.ANSWERED
    (decided,) = told["permissions"]
    assert (decided["allowed"], decided["rule"], decided["flag"]) == (False, "shell(seq …)", None)
    assert "exit_code" not in told["tools"][0]


@SANDBOXED
def test_json_tells_which_rule_allowed_a_command_and_how_it_ended(ask):
    told = json.loads(ask(RUNS, "--json", "--allow", "shell(seq …)")[1])
    (decided,), (tool,) = told["permissions"], told["tools"]
    assert (decided["asked"], decided["allowed"], decided["rule"]) == (False, True, "shell(seq …)")
    assert (tool["exit_code"], json.loads(tool["output"])["stdout"]) == (0, "1\n2\n3\n")
    assert told["denied"] == ""


def test_plan_mode_changes_nothing(ask, shop):
    script = [
        say(call("edit", path="cart.py", old="total", new="amount")),
        say(call("shell", cmd="touch made")),
        say("A plan."),
    ]
    code, out, _ = ask(script, "--mode", "plan", "--allow", "edit", "--allow", "shell")
    assert (code, out) == (ExitCode.ANSWERED, "A plan.\n")
    assert [path.name for path in shop.iterdir()] == ["cart.py"]
    assert (shop / "cart.py").read_text() == "total = 1\n"


@SANDBOXED
def test_json_has_changes_of_every_kind_and_the_models_steps(ask, shop):
    script = [
        say(call("write", path="new.py", content="x = 1\n")),
        say(call("move", path="new.py", new_path="newer.py")),
        say(call("delete", path="cart.py")),
        say(call("todo", items="[x] look\n[~] write")),
        say("Done."),
    ]
    told = json.loads(ask(script, "--json", "--mode", "auto", "--allow", "delete")[1])
    assert [tool["output"] for tool in told["tools"] if not tool["ok"]] == []
    assert [edit["kind"] for edit in told["edits"]] == ["create", "move", "delete"]
    assert told["edits"][1]["target"] == "newer.py"
    assert told["todo"] == [{"text": "look", "state": "done"}, {"text": "write", "state": "active"}]
    assert (shop / "newer.py").exists()


def test_a_limit_of_steps_ends_the_turn(ask):
    script = [say(call("read", path="cart.py")), say(call("list", path=".")), say("Done.")]
    code, out, err = ask(script, "--max-steps", "2")
    assert (code, out) == (ExitCode.UNFINISHED, "")
    assert "Raise --max-steps." in err


@SANDBOXED
def test_a_time_limit_ends_the_command_and_the_turn(ask):
    begun = time.monotonic()
    script = [say(call("shell", cmd="sleep 300")), say("Done.")]
    code, out, err = ask(script, "--mode", "auto", "--timeout", "2")
    assert (code, out) == (ExitCode.UNFINISHED, "")
    assert "The time limit was reached, so the turn was stopped. Raise --timeout." in err
    assert time.monotonic() - begun < 200
    assert not sleeping("300")


STDIN_OPEN = (
    "The time limit was reached before stdin ended (to send nothing: < /dev/null), so nothing was asked. "
    "Raise --timeout."
)
NOT_OPENED = "The time limit was reached before the model was open, so nothing was asked. Raise --timeout."


@pytest.mark.parametrize("question", ["hi", "-"])
def test_a_time_limit_counts_waiting_for_the_end_of_stdin(tmp_path, question):
    with stuck(tmp_path, "--timeout", "1", question) as process:
        assert process.wait(120) == ExitCode.UNFINISHED
        assert process.stdout.read() == ""
        assert process.stderr.read() == f"laguna-tui: {STDIN_OPEN}\n"


def test_a_time_limit_before_the_turn_is_an_object_as_well(tmp_path):
    with stuck(tmp_path, "--timeout", "1", "--json", "hi") as process:
        ended = json.loads(process.stdout.read())
        assert process.wait(120) == ExitCode.UNFINISHED
    assert (ended["end"], ended["detail"], ended["answer"]) == ("timed_out", STDIN_OPEN, "")
    with stuck(tmp_path, "--timeout", "1", "--stream-json", "hi") as process:
        ended = json.loads(process.stdout.read())
        assert process.wait(120) == ExitCode.UNFINISHED
    assert ended == {"type": "turn_finished", "end": "timed_out", "detail": STDIN_OPEN, "error": None}


def stuck(tmp_path, *words):
    """`ask` in a process of its own whose stdin stays open."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-m", "laguna_tui", "ask", *words], cwd=tmp_path, text=True, **pipes)


@SANDBOXED
def test_a_time_limit_counts_waiting_for_an_mcp_server(shop, tmp_path):
    (tmp_path / "home/laguna-tui").mkdir(parents=True)
    servers = {"mcpServers": {"mute": {"command": "sleep", "args": ["303"]}}}
    (tmp_path / "home/laguna-tui/mcp.json").write_text(json.dumps(servers))
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    begun = time.monotonic()
    with start(tmp_path, '["Done."]', "--timeout", "4", **pipes) as process:
        err = process.stderr.read().decode()
        assert process.wait(60) == ExitCode.UNFINISHED, err
    assert time.monotonic() - begun < 15
    assert err == f"laguna-tui: {NOT_OPENED}\n"
    assert not sleeping("303")


def test_a_time_limit_counts_opening_the_model(ask, monkeypatch):
    monkeypatch.setattr("laguna_tui.session.engine_slot.EngineSlot.open", lambda slot, progress: Event().wait(100))
    assert ask(["Done."], "--timeout", "1") == (ExitCode.UNFINISHED, "", f"laguna-tui: {NOT_OPENED}\n")


def test_a_time_limit_ends_a_turn_that_does_not_notice_that_it_is_cancelled(monkeypatch):
    monkeypatch.setattr("laguna_tui.headless.time_limit._GRACE_S", 0.1)
    ends, cancels = [], []

    def turn():
        try:
            yield TextDelta("It is")
            Event().wait(100)
        finally:
            ends.append("in order")

    with TimeLimit(0.2) as limit:
        events = list(limit.of_turn(turn(), lambda: cancels.append("again")))
    assert events == [TextDelta("It is"), TurnFinished(TurnEnd.TIMED_OUT)]
    assert ends == ["in order"]
    assert cancels


def test_nothing_is_interrupted_once_a_limit_has_been_stopped():
    before = signal.getsignal(signal.SIGALRM)
    with TimeLimit(0.05) as limit:
        limit.stop()
        time.sleep(0.2)
    assert not limit.reached
    assert signal.getsignal(signal.SIGALRM) is before


@pytest.mark.parametrize("value", ["0", "-1", "nan", "soon", "1e99"])
def test_an_invalid_time_limit_is_a_sentence(ask, value, capsys):
    with pytest.raises(SystemExit) as ended:
        ask(RUNS, "--timeout", value)
    assert ended.value.code == ExitCode.USAGE
    limits = "must be a number above 0 and at most 604,800"
    assert capsys.readouterr().err == f"laguna-tui ask: argument --timeout: {limits}; see: laguna-tui ask --help\n"


@pytest.mark.parametrize("form", ["--json", "--stream-json"])
def test_a_model_that_cannot_be_opened_is_reported_as_json(shop, tmp_path, capsys, form):
    from laguna_tui.cli.main import main

    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + b"\xff" * 60)
    assert main(["ask", form, "--folder", str(shop), "--model", str(tmp_path / "broken.gguf"), "x"]) == ExitCode.MODEL
    told = json.loads(capsys.readouterr().out)
    assert (told["end"], bool(told["error"])) == ("failed", True)


def sleeping(seconds):
    """Processes that sleep for so long."""
    return [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == ["sleep", seconds]]


# As the fixture `unasked` in this process.
UNASKED = """
from laguna_tui.sandbox import probe
probe.approval_reason = lambda command, status, unhidden=None: ""
"""


def start(tmp_path, script, *flags, **streams):
    """`ask` in a process of its own."""
    (tmp_path / "script.py").write_text(f"{UNASKED}from tests.scripted_model import call, say\nSCRIPT = {script}\n")
    env = {**os.environ, "PYTHONPATH": str(TOP)}
    words = ["ask", "--folder", str(tmp_path / "shop"), *flags, "Do it."]
    return subprocess.Popen(command(tmp_path / "script.py", *words), env=env, **streams)


@SANDBOXED
def test_ctrl_c_in_a_command_ends_it_and_leaves_nothing_running(shop, tmp_path):
    script = '[say(call("shell", cmd="echo begun; sleep 301")), say("Done.")]'
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(tmp_path, script, "--mode", "auto", "--stream-json", **pipes) as process:
        events = [json.loads(process.stdout.readline())]
        while events[-1]["type"] != "tool_progress":
            events.append(json.loads(process.stdout.readline()))
        process.send_signal(signal.SIGINT)
        rest = [json.loads(line) for line in process.stdout.read().splitlines()]
        assert process.wait(60) == ExitCode.INTERRUPTED
    (finished,) = [event for event in rest if event["type"] == "tool_finished"]
    assert "stopped before its end" in finished["output"]
    assert (rest[-1]["type"], rest[-1]["end"]) == ("turn_finished", "cancelled")
    assert not sleeping("301")


@SANDBOXED
def test_a_reader_that_goes_away_in_a_command_leaves_nothing_running(shop, tmp_path):
    script = '[say(call("shell", cmd="while :; do echo more; sleep 0.1; done & sleep 302")), say("Done.")]'
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(tmp_path, script, "--mode", "auto", "--stream-json", **pipes) as process:
        while b"tool_progress" not in process.stdout.readline():
            pass
        process.stdout.close()
        process.stderr.read()
        assert process.wait(60) == 141
    assert not sleeping("302")


ECHO = "lambda seen: seen.user"


def test_what_is_piped_in_goes_along_with_the_question(shop, tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(tmp_path, f"[{ECHO}]", **pipes) as process:
        out, err = process.communicate(b"+def amount():\x1b[2J\xff\n", timeout=120)
    assert process.returncode == 0, err
    assert "Do it." in out.decode()
    assert "The user sent this text along, through a pipe:\n```\n+def amount():␛[2J\N{REPLACEMENT CHARACTER}\n```" in (
        out.decode()
    )
    assert "with the piped text" in err.decode()


def test_binary_input_is_refused(shop, tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(tmp_path, f"[{ECHO}]", **pipes) as process:
        out, err = process.communicate(b"\x7fELF\0\0", timeout=120)
    assert (process.returncode, out) == (ExitCode.USAGE, b"")
    assert b"stdin is not text" in err


def test_the_bundled_model_reads_what_is_piped_in_within_its_question(shop, tmp_path):
    text = "a line that is piped in"
    program = (
        "from laguna_tui import compose\n"
        "class Session:\n"
        "    def attach(self, piece): return 'it reads no pieces'\n"
        f"print(compose._with_piped(Session(), 'What is it?', {text!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("What is it?\n\n")
    assert text in done.stdout


def test_a_pipe_that_stays_silent_is_named_and_waited_for(shop, tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(tmp_path, f"[{ECHO}]", **pipes) as process:
        assert b"waiting for the end of stdin" in process.stderr.readline()
        out, _ = process.communicate(b"late text\n", timeout=120)
    assert process.returncode == 0
    assert b"late text" in out
