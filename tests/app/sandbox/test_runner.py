"""Commands run without a terminal, are stopped in time with all they started, and say what became of them."""

import itertools
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from laguna_tui.sandbox import runner as runner_module
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus, probe_sandbox
from laguna_tui.sandbox.runner import MAX_BACKGROUND, CommandRunner
from laguna_tui.sandbox.running_command import CommandNotRun

PATIENCE_S = 60.0
STOP_S = 30.0
"""A stop takes no longer on a busy machine, however the command resists; the commands would run for a minute."""

NO_SANDBOX = SandboxStatus(SandboxKind.NONE, "There is none.")

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems end the process group alone")


@pytest.fixture(params=[lambda: NO_SANDBOX, probe_sandbox], ids=["without a sandbox", "in the sandbox"])
def runner(request, tmp_path):
    """Runs commands in `tmp_path / "work"`."""
    (tmp_path / "work").mkdir()
    made = CommandRunner(tmp_path / "work", results=tmp_path / "results", probe=request.param)
    yield made
    made.close()


@pytest.fixture
def work(tmp_path):
    return tmp_path / "work"


@pytest.fixture
def run(runner, work):
    """Runs a command and waits for its end."""

    def run(command: str, **options: object):
        return runner.run(command, **{"folder": work, "timeout_s": PATIENCE_S, **options})

    return run


_numbers = itertools.count()


@pytest.fixture
def nap():
    """Seconds to sleep that tell this test's processes from those of all others."""
    return f"600.{os.getpid()}{next(_numbers):03}"


def tagged(tag: str) -> list[str]:
    """The live processes with this in their command line, whatever became of their group and parents."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            if (
                each.name.isdigit()
                and tag.encode() in (each / "cmdline").read_bytes()
                and each.name != str(os.getpid())
            ):
                found.append(each.name)
        except OSError:
            continue
    return found


def wait_for(done, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("shown", "rules", "sentence"),
    [
        ((), (), "it may read files with secrets, such as config/.env"),
        (("config/.env",), (), ""),
        ((), ("data/**",), "it may read files that the rules keep from the model"),
    ],
    ids=["a secret", "a secret that may be shown", "a rule"],
)
def test_what_landlock_cannot_hide_is_named(work, shown, rules, sentence):
    (work / "config").mkdir(parents=True)
    (work / "config/.env").write_text("TOKEN=x\n")
    assert CommandRunner(work, shows=shown.__contains__, path_rules=lambda: (rules, ())).unhidden() == sentence


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("true", 0),
        ("exit 3", 3),
        ("no-such-program", 127),
        ("kill -9 $$", 137),
        ("kill -TERM $$", 143),
        ("( exit 7 )", 7),
    ],
)
def test_the_exit_code_is_the_shells(run, command, code):
    assert run(command).exit_code == code


@pytest.mark.parametrize(
    ("command", "code", "pipe"),
    [
        ("true", 0, (0,)),
        ("exit 3", 3, (0,)),
        ("(exit 5) | (exit 6) | cat", 0, (5, 6, 0)),
        ("(exit 5) | cat; exit", 0, (5, 0)),
        ("(exit 5) | cat && true", 0, (0,)),
        ("set -e; (exit 5) | cat", 0, (5, 0)),
        ("yes | head -1", 0, (141, 0)),
        ("if fi", 2, (2,)),
        ("kill -9 $$", 137, ()),
        ("trap 'echo mine' EXIT; false | true", 0, ()),
        ("sleep 600 & (exit 5) | cat", 0, (5, 0)),
    ],
)
def test_bash_reports_how_each_command_of_the_last_pipe_ended(run, command, code, pipe):
    result = run(command)
    assert (result.exit_code, result.pipe) == (code, pipe)


def test_the_report_on_pipes_changes_nothing_that_a_command_sees(run):
    assert run('echo $# $LINENO\necho $LINENO "$BASH_ENV"').stdout == "0 1\n2 \n"
    result = run("echo one\nif fi")
    assert result.exit_code == 2
    assert "one\n" in result.stdout and "-c: line 2: syntax error" in result.stdout


def test_a_forged_report_on_pipes_is_ignored(run):
    assert run("for fd in /proc/self/fd/*; do echo 'not a number' >&${fd##*/}; done 2>/dev/null").pipe == ()


def test_a_command_that_was_stopped_reports_no_pipe(run):
    assert run("sleep 600 | cat", timeout_s=0.2).pipe == ()


def test_output_and_errors_come_in_order(run):
    assert run("echo one; echo two >&2; echo three").stdout == "one\ntwo\nthree\n"


def test_it_runs_in_its_folder(run, work):
    (work / "inner").mkdir()
    assert run("pwd", folder=work / "inner").stdout.rstrip("\n").endswith("/work/inner")


def test_the_report_on_pipes_comes_out_of_every_sandbox(status, place):
    made = CommandRunner(place, results=place / "results", probe=lambda: status)
    assert made.run("(exit 5) | cat", folder=place, timeout_s=PATIENCE_S).pipe == (5, 0)
    made.close()


@linux
@pytest.mark.parametrize(
    "command", ["sleep {nap} & true", "(sleep {nap} &); (setsid sleep {nap} &)", "sleep {nap} & exit 3", "true | true"]
)
@pytest.mark.sampled(3)
def test_what_is_left_running_is_counted_every_time(status, place, nap, command):
    made = CommandRunner(place, results=place / "results", probe=lambda: status)
    counted = {made.run(command.format(nap=nap), folder=place, timeout_s=PATIENCE_S).left for _ in range(5)}
    made.close()
    assert counted == {command.count("sleep")}


def test_another_shell_reports_no_pipe(run, monkeypatch):
    monkeypatch.setattr(runner_module, "find_program", lambda name: None)
    result = run("(exit 5) | cat")
    assert (result.exit_code, result.pipe) == (0, ())


def test_there_is_nothing_to_read_and_no_terminal(run):
    assert run("cat; tty").stdout == "not a tty\n"


def test_the_models_environment_has_no_secrets_and_no_pager(run, monkeypatch):
    monkeypatch.setenv("API_TOKEN", "geheim")
    monkeypatch.setenv("PYTHONSTARTUP", "/x")
    result = run("env")
    assert "geheim" not in result.stdout
    assert "PYTHONSTARTUP" not in result.stdout
    assert "PAGER=cat\n" in result.stdout


def test_the_users_own_command_has_their_shell_and_environment(run, work, monkeypatch, tmp_path):
    monkeypatch.setenv("API_TOKEN", "geheim")
    shell = tmp_path / "shell"
    shell.write_text('#!/bin/sh\necho "mine: $2"\nexec /bin/sh "$@"\n')
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    outside = tmp_path / "outside"
    result = run(f"echo $API_TOKEN; touch {outside}", own=True)
    assert result.stdout == f"mine: echo $API_TOKEN; touch {outside}\ngeheim\n"
    assert outside.exists()


def test_temporary_files_are_there_for_the_next_command_and_gone_with_the_session(run, runner, tmp_path):
    if runner.status.kind is SandboxKind.NONE:
        pytest.skip("without a sandbox the temporary folder is the system's")
    run("echo kept > $TMPDIR/note")
    assert run("cat $TMPDIR/note").stdout == "kept\n"
    folder = runner._tmp
    assert (folder / "note").exists()
    runner.close()
    assert not folder.exists()


def test_output_is_shown_while_the_command_runs(run, work):
    shown = []

    def show(text: str) -> None:
        shown.append(text)
        (work / "seen").touch()

    result = run("echo first; while ! [ -e seen ]; do sleep 0.01; done; printf '\\33[1msecond'", on_output=show)
    assert "".join(shown) == "first\n\x1b[1msecond"
    assert result.stdout == "first\nsecond"


def test_a_command_is_stopped_at_its_time_limit(run):
    result = run("echo begun; sleep 60", timeout_s=0.3)
    assert (result.stdout, result.exit_code, result.timed_out, result.cancelled) == ("begun\n", 124, True, False)
    assert result.seconds < 0.3 + STOP_S


@linux
def test_a_command_that_resists_is_stopped_with_all_its_processes(run, nap):
    command = f"trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep {nap}' & (sleep {nap} &) ; sleep {nap}"
    began = time.monotonic()
    result = run(command, timeout_s=0.3)
    assert time.monotonic() - began < 0.3 + STOP_S
    assert result.timed_out
    assert not tagged(nap)


def test_a_cancelled_command_is_stopped(run):
    shown = threading.Event()
    began = []

    def cancelled() -> bool:
        if shown.is_set() and not began:
            began.append(time.monotonic())
        return shown.is_set()

    result = run("trap '' TERM; echo begun; sleep 60", on_output=lambda text: shown.set(), cancelled=cancelled)
    assert time.monotonic() - began[0] < STOP_S
    assert (result.exit_code, result.cancelled, result.timed_out) == (130, True, False)


def test_a_command_that_closed_its_output_is_waited_for(run, work):
    result = run("exec >&- 2>&-; sleep 0.3; touch done; exit 4")
    assert result.exit_code == 4
    assert (work / "done").exists()


def test_a_process_that_holds_the_output_does_not_hold_up_the_answer(run, nap):
    result = run(f"sleep {nap} & echo done")
    assert (result.stdout, result.exit_code) == ("done\n", 0)
    assert result.seconds < PATIENCE_S
    if sys.platform == "linux":
        assert not tagged(nap)


@linux
def test_what_the_user_left_running_stays_and_is_counted(run, tmp_path, nap):
    result = run(f"sleep {nap} & echo done", own=True)
    try:
        assert (result.stdout, result.exit_code, result.left) == ("done\n", 0, 1)
        assert tagged(nap)
    finally:
        for process in tagged(nap):
            os.kill(int(process), 9)


def test_a_flood_is_cut_shown_in_part_and_kept(run):
    shown = []
    result = run("yes 0123456789 | head -c 22000000; echo end", on_output=shown.append)
    assert result.truncated
    assert len(result.stdout) < 13_000
    assert result.stdout.startswith("0123456789\n0123456789\n")
    assert result.stdout.endswith("\nend\n")
    assert result.full_output.stat().st_size == result.size == 22_000_004
    assert sum(map(len, shown)) < result.size // 2
    assert shown[-1].endswith("end\n")


def test_a_short_output_leaves_no_file(run, tmp_path):
    assert run("echo short").full_output is None
    assert not [*(tmp_path / "results").glob("*")]


def test_a_closed_runner_leaves_no_file(run, runner, tmp_path):
    kept = run("yes | head -c 100000").full_output
    assert kept.exists()
    runner.close()
    assert not kept.exists()


def test_the_oldest_outputs_are_removed_when_all_take_too_much(run, monkeypatch):
    monkeypatch.setattr(runner_module, "MAX_SAVED_BYTES", 250_000)
    kept = [run("yes | head -c 100000").full_output for _ in range(3)]
    assert [path.exists() for path in kept] == [False, True, True]


@pytest.mark.parametrize("command", ["true\0", "true \udc80\ud800"])
def test_a_command_that_no_process_can_have_is_refused(run, command):
    with pytest.raises(CommandNotRun, match="contains a character"):
        run(command)


def test_a_command_that_is_too_long_is_refused(run):
    with pytest.raises(CommandNotRun, match="too long"):
        run("# " + "x" * 4_000_000)


def test_a_folder_that_is_gone_is_named(run, work):
    with pytest.raises(CommandNotRun, match="folder no longer exists"):
        run("true", folder=work / "gone", own=True)


def test_a_front_end_that_fails_leaves_nothing_running(run, tmp_path, nap):
    def show(text: str) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        run(f"yes {nap} | head -c 1000000; sleep {nap}", on_output=show)
    assert not [*(tmp_path / "results").glob("*")]
    if sys.platform == "linux":
        assert not tagged(nap)


def test_a_background_command_is_listed_read_and_stopped(runner, work):
    number = runner.start_background(
        "echo one; while ! [ -e go ]; do sleep 0.01; done; echo two; sleep 60", folder=work
    )
    assert runner.read(number, PATIENCE_S).stdout == "one\n"
    [listed] = runner.background()
    assert (listed.number, listed.exit_code, listed.unread) == (number, None, False)
    (work / "go").touch()
    read = runner.read(number, PATIENCE_S)
    assert (read.stdout, read.exit_code) == ("two\n", None)
    assert runner.stop(number)
    read = runner.read(number)
    assert (read.stdout, read.exit_code, read.cancelled) == ("", 130, True)
    assert not runner.stop(number)


def test_showing_a_background_command_takes_no_output_from_the_model(runner, work):
    number = runner.start_background("echo done", folder=work)
    deadline = time.monotonic() + 20
    while runner.recent(number) != "done\n":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert runner.read(number).stdout == "done\n"
    assert runner.recent(number) == "done\n"
    assert runner.recent(number + 1) == ""


def test_a_background_command_that_ends_is_read_to_its_end(runner, work):
    number = runner.start_background("echo done; exit 3", folder=work)
    wait_for(lambda: runner.background()[0].exit_code == 3, "the end")
    assert runner.background()[0].unread
    read = runner.read(number)
    assert (read.stdout, read.exit_code, read.cancelled) == ("done\n", 3, False)


def test_waiting_for_a_background_command_ends_when_cancelled(runner, work):
    number = runner.start_background("sleep 60", folder=work)
    assert runner.read(number, PATIENCE_S * 100, cancelled=lambda: True).exit_code is None


def test_unknown_numbers_are_not_commands(runner):
    assert runner.read(7) is None
    assert not runner.stop(7)


def test_the_number_of_running_background_commands_is_limited(runner, work):
    for _ in range(MAX_BACKGROUND):
        runner.start_background("sleep 60", folder=work)
    with pytest.raises(CommandNotRun, match="stop one of them first"):
        runner.start_background("sleep 60", folder=work)
    runner.stop(3)
    assert runner.start_background("sleep 60", folder=work) == MAX_BACKGROUND + 1


def test_the_number_of_remembered_background_commands_is_limited(runner, work, monkeypatch):
    monkeypatch.setattr(runner_module, "MAX_REMEMBERED", 3)
    for _ in range(5):
        runner.read(runner.start_background("true", folder=work), PATIENCE_S)
    assert [each.number for each in runner.background()] == [3, 4, 5]


@linux
def test_a_closed_runner_leaves_nothing_running(runner, work, nap):
    runner.start_background(f"trap '' TERM; setsid sleep {nap} & sleep {nap}", folder=work)
    wait_for(lambda: tagged(nap), "the command")
    runner.close()
    assert not tagged(nap)


PARENT = """
    import sys
    from pathlib import Path
    from laguna_tui.sandbox.runner import CommandRunner
    folder = Path(sys.argv[1])
    runner = CommandRunner(folder)
    runner.start_background("setsid sleep 66.5 & sleep 66.5", folder=folder)
    sys.stdin.read()
"""


@linux
def test_background_commands_end_when_the_app_is_killed(tmp_path, nap):
    command = [sys.executable, "-c", textwrap.dedent(PARENT).replace("66.5", nap), str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as app:
        wait_for(lambda: len(tagged(f"sleep\0{nap}")) == 2, "both processes")
        app.kill()
    wait_for(lambda: not tagged(f"sleep\0{nap}"), "the end of both")
