"""A command begins in the sandbox that was planned for it, or not at all."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from laguna_tui.sandbox import bubblewrap as bubblewrap_module
from laguna_tui.sandbox import launch
from laguna_tui.sandbox.bubblewrap import SandboxError, start_checked
from laguna_tui.sandbox.command_output import CommandOutput
from laguna_tui.sandbox.launch import Prepared, prepare
from laguna_tui.sandbox.probe import probe_sandbox
from laguna_tui.sandbox.runner import CommandRunner
from laguna_tui.sandbox.running_command import CommandNotRun, RunningCommand
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy
from tests.app.sandbox.exchanges import Place, attacked, output_of, run, start_unchecked
from tests.app.sandbox.world import SECRET

PATIENCE_S = 60.0


@pytest.fixture
def exchanged(place, monkeypatch, bubblewrap):
    """A home folder and a workspace, whose folder `sub` can be exchanged for a link to the home folder."""
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(place / "home"))
    return Place(place)


def misled(prepared, place):
    """The command line as bubblewrap reads it where it resolves the folder's path while that is a link."""
    at = prepared.argv.index(str(place.folder))
    assert prepared.argv[at - 1 : at + 2] == ("--bind", str(place.folder), str(place.folder))
    return (*prepared.argv[:at], str(place.home), *prepared.argv[at + 1 :])


def wait_for(done, what):
    deadline = time.monotonic() + PATIENCE_S
    while not (value := done()):
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.01)
    return value


def is_alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def processes_of(text):
    """The processes whose command lines contain a text."""
    found = []
    for each in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if each.name.isdigit() and text.encode() in (each / "cmdline").read_bytes() and is_alive(each.name):
                found.append(each.name)
    return found


def test_without_the_check_a_resolved_link_leads_out_of_the_sandbox(exchanged):
    with exchanged.prepare() as prepared:
        prepared.argv = misled(prepared, exchanged)
        assert exchanged.escaped(output_of(start_unchecked(prepared)))


def test_a_source_that_was_resolved_elsewhere_is_found(exchanged):
    with exchanged.prepare() as prepared:
        argv, descriptors = misled(prepared, exchanged), {"inherited": prepared.pass_fds, "held": prepared.held}
        with pytest.raises(SandboxError) as found:
            start_checked(argv, prepared.cwd, prepared.env, prepared.mounts, **descriptors)
    assert str(found.value) == f"{exchanged.folder} is a link, or was replaced meanwhile"
    assert not exchanged.escaped(b"")


def test_what_is_exchanged_after_the_plan_is_planned_again(exchanged):
    with exchanged.prepare() as prepared:
        exchanged.link()
        output = output_of(prepared.start())
    assert output.endswith(b"ran\n")
    assert not exchanged.escaped(output)


def test_a_command_is_refused_after_three_tries_and_the_sentence_says_what_to_do(exchanged, monkeypatch, bubblewrap):
    made = []

    def misleading(command, *arguments, **options):
        at = command.index(str(exchanged.folder))
        made.append(command)
        return start_checked((*command[:at], str(exchanged.home), *command[at + 1 :]), *arguments, **options)

    runner = CommandRunner(exchanged.workspace, results=exchanged.home / "results", probe=lambda: bubblewrap)
    try:
        monkeypatch.setattr(launch, "start_checked", misleading)
        why = f"the sandbox cannot be made ({exchanged.folder} is a link, or was replaced meanwhile)"
        with pytest.raises(CommandNotRun) as refused:
            runner.run("touch ran", folder=exchanged.workspace, timeout_s=30)
        assert str(refused.value) == f"{why}; try again"
        assert len(made) == 3
        monkeypatch.setattr(launch, "start_checked", start_checked)
        runner.start_background("sleep 60", folder=exchanged.workspace)
        monkeypatch.setattr(launch, "start_checked", misleading)
        with pytest.raises(CommandNotRun) as refused:
            runner.run("touch ran", folder=exchanged.workspace, timeout_s=30)
        assert str(refused.value) == f"{why}; stop background command 1, then try again"
    finally:
        runner.close()
    assert not (exchanged.workspace / "ran").exists()


def test_no_command_escapes_while_a_folder_is_exchanged(exchanged):
    """`python -m tests.app.sandbox.exchanges 10000` does it more often."""
    with attacked(exchanged, seed=1):
        seen = run(exchanged, 20)
    assert exchanged.exchanges > 20
    assert seen["escaped"] == seen["failed"] == 0
    assert seen["ran"] + seen["refused"] == 20


@pytest.mark.parametrize("network", [False, True], ids=["no network", "network"])
@pytest.mark.parametrize("where", ["worktree", "below tmp", "another file system"])
def test_no_command_is_refused_without_an_attack(repository, bubblewrap, tmp_path, monkeypatch, network, where):
    tries = []

    def counted(*arguments, **options):
        tries.append(arguments)
        return start_checked(*arguments, **options)

    folder = repository
    if where == "worktree":
        subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], cwd=repository, check=True)
        subprocess.run(["git", "worktree", "add", "-q", str(repository.parent / "tree")], cwd=repository, check=True)
        folder = repository.parent / "tree"
    elif where == "below tmp":
        folder = tmp_path
    elif (other := Path("/dev/shm")).is_dir() and os.access(other, os.W_OK):
        folder = other / repository.parent.name
        folder.mkdir()
    for name in ("sub/.env", "sub/deep/AGENTS.md", "a b\tc\nd\\e/.env", ".vscode/tasks.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    monkeypatch.setattr(launch, "start_checked", counted)
    with prepare(bubblewrap, SandboxPolicy(folder, network=network), ("echo", "ran")) as prepared:
        assert output_of(prepared.start()) == b"ran\n"
    assert len(tries) == 1


FAKES = {
    "nothing": ("pass", "bubblewrap gives no reason"),
    "no JSON": ("os.write(info, b'x')", "bubblewrap does not report its process"),
    "no object": ("os.write(info, b'[1]')", "bubblewrap does not report its process"),
    "no number": ("os.write(info, b'{\"child-pid\": true}')", "bubblewrap does not report its process"),
    "every process": ("os.write(info, b'{\"child-pid\": -1}')", "bubblewrap does not report its process"),
    "the first process": ("os.write(info, b'{\"child-pid\": 1}')", "bubblewrap does not report its process"),
    "a flood": ("os.write(info, b' ' * 70000)", "bubblewrap does not report its process"),
    "no process": ("os.write(info, b'{\"child-pid\": 4194304}')", "its process cannot be seen"),
    "an error": ("sys.exit('bwrap: no space')", "no space"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap runs on Linux")
@pytest.mark.parametrize("fake", FAKES)
def test_a_bubblewrap_that_reports_anything_else_is_ended(tmp_path, monkeypatch, fake):
    code, reason = FAKES[fake]
    program = tmp_path / "bwrap"
    wait = "" if fake in ("nothing", "an error") else "os.close(info); os.read(int(sys.argv[4]), 1); open('ran', 'w')"
    program.write_text(f"#!{sys.executable} -I\nimport os, sys\ninfo = int(sys.argv[2])\n{code}\n{wait}\n")
    program.chmod(0o755)
    monkeypatch.setattr(bubblewrap_module, "_GONE_S", 0.1)
    with pytest.raises(SandboxError, match=f"^{reason}$"):
        start_checked((str(program),), str(tmp_path), dict(os.environ), ())
    assert not processes_of(str(program))
    assert not (tmp_path / "ran").exists()


def test_a_bubblewrap_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(SandboxError, match=r"^bubblewrap cannot be started: No such file or directory$"):
        start_checked((str(tmp_path / "bwrap"),), str(tmp_path), dict(os.environ), ())


def test_a_bubblewrap_that_is_never_ready_is_ended(exchanged, monkeypatch):
    monkeypatch.setattr(bubblewrap_module, "READY_S", 0.2)
    monkeypatch.setattr(bubblewrap_module, "_has_no_capabilities", lambda process: False)
    with exchanged.prepare() as prepared, pytest.raises(SandboxError, match=r"^bubblewrap was not ready within 0 s$"):
        prepared.start()
    assert not processes_of(str(exchanged.workspace))


def test_a_process_that_is_killed_before_the_command_begins_is_replaced(exchanged, monkeypatch):
    killed = []
    check = bubblewrap_module._check

    def kill_first(process, mounts):
        if not killed:
            killed.append(process)
            os.kill(process, signal.SIGKILL)
            wait_for(lambda: not is_alive(process), "its end")
        check(process, mounts)

    monkeypatch.setattr(bubblewrap_module, "_check", kill_first)
    with exchanged.prepare() as prepared:
        assert output_of(prepared.start()).endswith(b"ran\n")


def test_a_command_does_not_begin_if_the_program_that_ends_it_is_killed(exchanged, monkeypatch):
    seen = []

    def kill_the_subreaper(process, mounts):
        launcher = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        subreaper = int(Path(f"/proc/{launcher}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(subreaper, signal.SIGKILL)
        wait_for(lambda: not is_alive(launcher), "the launcher's end")
        assert is_alive(process)
        seen.append(process)
        raise SandboxError("stop")

    monkeypatch.setattr(bubblewrap_module, "_check", kill_the_subreaper)
    with exchanged.prepare() as prepared, pytest.raises(SandboxError):
        prepared.start()
    assert len(seen) == 3
    for process in seen:
        wait_for(lambda process=process: not is_alive(process), "its end")
    assert not exchanged.escaped(b"")


APP = """
    import os, sys, time
    from pathlib import Path
    from laguna_tui.sandbox import bubblewrap
    from laguna_tui.sandbox.launch import prepare
    from laguna_tui.sandbox.probe import probe_sandbox
    from laguna_tui.sandbox.sandbox_policy import SandboxPolicy

    def check(process, mounts):
        print(process, flush=True)
        time.sleep(600)

    status = probe_sandbox()
    bubblewrap._check = check
    prepare(status, SandboxPolicy(Path(sys.argv[1])), ("touch", "ran")).start()
"""


def test_an_app_that_is_killed_while_a_command_waits_leaves_nothing_and_runs_nothing(exchanged):
    command = [sys.executable, "-c", textwrap.dedent(APP), str(exchanged.workspace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as app:
        process = int(app.stdout.readline())
        app.kill()
    wait_for(lambda: not is_alive(process), "its end")
    wait_for(lambda: not processes_of(str(exchanged.workspace)), "the end of all of it")
    assert not (exchanged.workspace / "ran").exists()


@pytest.mark.parametrize("inside", [False, True])
def test_a_folder_of_git_that_is_a_link_leads_nowhere(repository, bubblewrap, place, inside):
    target = repository / "info" if inside else place / "home"
    target.mkdir(exist_ok=True)
    (repository / ".git/info").rename(place / "info")
    (repository / ".git/info").symlink_to(os.path.relpath(target, repository / ".git"))
    code = f"echo evil > .git/info/attributes; echo evil > {target}/attributes; echo ran"
    with prepare(bubblewrap, SandboxPolicy(repository), ("/bin/sh", "-c", code)) as prepared:
        assert output_of(prepared.start()).endswith(b"ran\n")
    assert not (target / "attributes").exists()


def test_a_command_is_watched_while_it_runs(exchanged, monkeypatch):
    watched = []
    monkeypatch.setattr(Prepared, "watch", lambda prepared, pid: watched.append(pid))
    prepared = prepare(probe_sandbox(), SandboxPolicy(exchanged.workspace), ("sleep", "60"))
    running = RunningCommand(prepared, CommandOutput(1000, exchanged.workspace))
    wait_for(lambda: running.step() or watched, "the watch")
    assert is_alive(watched[0])
    assert running.exit_code is None
    running.close()


def test_nothing_starts_a_command_past_the_check():
    sources = Path(launch.__file__).parents[1].rglob("*.py")
    assert {path.name for path in sources if "CommandTree(" in path.read_text()} == {"bubblewrap.py", "launch.py"}


def test_a_folder_above_a_secret_cannot_be_moved_to_where_nothing_is_hidden(repository, bubblewrap):
    (repository / "config").mkdir()
    (repository / "config/.env").write_text(SECRET)
    code = "mkdir -p node_modules; mv config node_modules; cat node_modules/config/.env config/.env"
    for _ in range(2):
        with prepare(bubblewrap, SandboxPolicy(repository), ("/bin/sh", "-c", code)) as prepared:
            assert SECRET.encode() not in output_of(prepared.start())
    assert (repository / "config/.env").read_text() == SECRET


def test_what_programs_execute_in_a_hidden_folder_is_hidden_with_it(repository, bubblewrap):
    (repository / "data").mkdir()
    for name in ("data/AGENTS.md", "data/x", "CLAUDE.md"):
        (repository / name).write_text(SECRET)
    policy = SandboxPolicy(repository, unreadable=("data/**", "CLAUDE.md"))
    with prepare(bubblewrap, policy, ("/bin/sh", "-c", "cat data/* CLAUDE.md; echo ran")) as prepared:
        output = output_of(prepared.start())
    assert SECRET.encode() not in output
    assert output.endswith(b"ran\n")
