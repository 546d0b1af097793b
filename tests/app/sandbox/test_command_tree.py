"""A command is ended with all that it has started, however that tried to get away."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path

import pytest

from laguna_tui.sandbox.native.command_tree import CommandTree

PATIENCE_S = 60.0

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems end the process group alone")

DETACHED = "setsid sh -c 'env -i sh -c \"echo \\$\\$ >detached; exec sleep 60\" & wait' </dev/null >/dev/null 2>&1 &"
"""Leaves the group, the session, its parent and its environment."""


@pytest.fixture
def start(tmp_path):
    """Starts a line of shell in the test's folder; what it has not closed is closed."""
    trees = []

    def start(line: str, **options: object) -> CommandTree:
        trees.append(CommandTree(["/bin/sh", "-c", line], tmp_path, dict(os.environ), **options))
        return trees[-1]

    yield start
    for tree in trees:
        tree.close()


def ended(tree: CommandTree) -> CommandTree:
    while tree.code is None and not tree.gone:
        tree.read_status()
    return tree


def number_in(path: Path) -> int:
    deadline = time.monotonic() + PATIENCE_S
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < deadline, f"no {path}"
        time.sleep(0.01)
    return int(path.read_text())


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until_dead(process: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while is_alive(process):
        assert time.monotonic() < deadline, f"{process} is alive"
        time.sleep(0.01)


@pytest.mark.parametrize(("line", "code"), [("exit 3", 3), ("kill -9 $$", -9), ("true", 0)])
def test_the_exit_code_is_reported(start, line, code):
    assert ended(start(line)).code == code


def test_a_program_that_is_missing_is_reported(tmp_path):
    with closing(CommandTree([str(tmp_path / "missing")], tmp_path, {})) as tree:
        while tree.problem is None and not tree.gone:
            tree.read_status()
        assert os.strerror(tree.problem) == "No such file or directory"


def test_output_and_errors_are_one_stream_in_order(start):
    tree = ended(start("echo one; echo two >&2; echo three"))
    assert os.read(tree.output, 100) == b"one\ntwo\nthree\n"


def test_a_command_reads_nothing_and_has_no_terminal(start):
    tree = ended(start("cat; tty; (: </dev/tty) 2>/dev/null || echo none"))
    assert os.read(tree.output, 100) == b"not a tty\nnone\n"


def test_a_command_is_the_leader_of_its_own_session(start):
    tree = ended(start("ps -o sid= -p $$; echo $$"))
    session, process = os.read(tree.output, 100).split()
    assert session == process == str(tree.pid).encode()


def test_signals_that_this_process_ignores_are_obeyed_by_a_command(start):
    assert ended(start("kill -PIPE $$")).code == -signal.SIGPIPE


@linux
def test_a_command_inherits_what_it_is_given_and_nothing_else(start):
    given, writes = os.pipe()
    with os.fdopen(given), os.fdopen(writes):
        tree = ended(start("ls /proc/$$/fd; :", inherited=[given]))
    names = os.read(tree.output, 1000).split()
    assert {int(name) for name in names} - {0, 1, 2} == {given}


@linux
def test_a_command_does_not_get_what_is_held_for_it(start, tmp_path):
    with (tmp_path / "lock").open("w") as lock:
        tree = ended(start("ls /proc/$$/fd; :", held=[lock.fileno()]))
    names = os.read(tree.output, 1000).split()
    assert {int(name) for name in names} == {0, 1, 2}


@linux
def test_a_process_that_left_group_session_and_environment_is_killed(start, tmp_path):
    tree = start(f"{DETACHED} sleep 60")
    detached = number_in(tmp_path / "detached")
    tree.close()
    assert not is_alive(detached)


@linux
def test_what_a_command_has_left_running_is_counted(start, tmp_path):
    tree = ended(start(f"{DETACHED} while ! [ -s detached ]; do sleep 0.01; done"))
    assert tree.left >= 1
    tree.close()
    assert not is_alive(number_in(tmp_path / "detached"))


@linux
def test_a_launcher_that_ends_a_little_later_is_not_counted_as_left_running(start, tmp_path):
    (tmp_path / "bwrap").symlink_to(shutil.which("sleep"))
    tree = ended(start("./bwrap 60 & while ! grep -qx bwrap /proc/$!/comm; do sleep 0.01; done"))
    assert (tree.code, tree.left) == (0, 0)


@linux
def test_what_the_user_left_running_on_purpose_is_left_alone(start, tmp_path):
    tree = ended(start(f"{DETACHED} while ! [ -s detached ]; do sleep 0.01; done", leave=True))
    tree.close()
    detached = number_in(tmp_path / "detached")
    assert is_alive(detached)
    os.kill(detached, signal.SIGKILL)


@linux
def test_stopping_also_ends_what_would_be_left_running(start, tmp_path):
    tree = start(f"{DETACHED} sleep 60", leave=True)
    detached = number_in(tmp_path / "detached")
    tree.terminate()
    tree.close()
    assert not is_alive(detached)


@linux
def test_processes_that_keep_starting_others_are_killed(start, tmp_path):
    # Eight that are each replaced by a child of theirs a hundred times a second.
    (tmp_path / "again").write_text("sleep 0.01; setsid sh again &")
    tree = start("for i in 1 2 3 4 5 6 7 8; do setsid sh again & done; echo ready; sleep 60")
    assert os.read(tree.output, 10) == b"ready\n"
    tree.close()
    found = subprocess.run(["pgrep", "-f", "^sh again"], check=False, capture_output=True, text=True).stdout.split()
    assert not [each for each in found if os.path.realpath(f"/proc/{each}/cwd") == str(tmp_path)]


def test_a_terminated_command_may_clean_up(start):
    tree = start("trap 'echo tidy; exit 5' TERM; echo ready; while :; do sleep 0.01; done")
    assert os.read(tree.output, 10) == b"ready\n"
    tree.terminate()
    assert ended(tree).code == 5
    assert os.read(tree.output, 100).endswith(b"tidy\n")


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_command_that_kills_or_stops_its_subreaper_is_ended(start, number):
    tree = start(f"echo $$; kill -{int(number)} $PPID; exec sleep 60")
    command = int(os.read(tree.output, 20))
    tree.close()
    wait_until_dead(command)


PARENT = """
    import os, sys
    from laguna_tui.sandbox.native.command_tree import CommandTree
    tree = CommandTree(["/bin/sh", "-c", sys.argv[1]], sys.argv[2], dict(os.environ))
    print(flush=True)
    while True:
        tree.read_status()
"""


@linux
def test_a_command_does_not_outlive_the_process_that_started_it(tmp_path):
    arguments = [f"{DETACHED} echo $$ >command; exec sleep 60", str(tmp_path)]
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(PARENT), *arguments], stdout=subprocess.PIPE)
    with parent:
        both = [number_in(tmp_path / name) for name in ("command", "detached")]
        parent.kill()
    for process in both:
        wait_until_dead(process)


@linux
def test_a_lock_is_held_until_all_of_a_command_has_ended(tmp_path):
    lines = [
        "import fcntl, os, sys",
        "from laguna_tui.sandbox.native.command_tree import CommandTree",
        "lock = os.open(sys.argv[2] + '/lock', os.O_RDWR | os.O_CREAT)",
        "fcntl.flock(lock, fcntl.LOCK_EX)",
        "tree = CommandTree(['/bin/sh', '-c', sys.argv[1]], sys.argv[2], dict(os.environ), held=[lock])",
        "while True: tree.read_status()",
    ]
    arguments = [f"{DETACHED} echo $$ >command; exec sleep 60", str(tmp_path)]
    with subprocess.Popen([sys.executable, "-c", "\n".join(lines), *arguments]) as parent:
        both = [number_in(tmp_path / name) for name in ("command", "detached")]
        parent.kill()
    with (tmp_path / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    assert not any(map(is_alive, both))


def test_a_folder_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        CommandTree(["/bin/sh"], tmp_path / "gone", {})


@linux
def test_a_command_does_not_begin_before_it_is_let_through_its_gate(tmp_path):
    waits, gate = os.pipe()
    command = ("/bin/sh", "-c", f"head -c 1 /dev/fd/{waits} >/dev/null; echo begun")
    with closing(CommandTree(command, tmp_path, dict(os.environ), inherited=(waits,), gate=gate)) as tree:
        os.close(waits)
        assert tree.wait(0.2) is None
        tree.begin()
        assert tree.wait(PATIENCE_S) == 0
        assert os.read(tree.output, 10) == b"begun\n"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(gate)


@linux
@pytest.mark.parametrize("killed", ["nobody", "the program that ends it"])
def test_a_command_never_begins_if_it_is_closed_before_its_gate_was_opened(tmp_path, killed):
    waits, gate = os.pipe()
    command = ("/bin/sh", "-c", f"(head -c 1 /dev/fd/{waits} >/dev/null; echo >begun) & echo $! >waiting; wait")
    tree = CommandTree(command, tmp_path, dict(os.environ), inherited=(waits,), gate=gate)
    os.close(waits)
    process = number_in(tmp_path / "waiting")
    if killed != "nobody":
        tree._process.kill()
    tree.close()
    wait_until_dead(process)
    assert not (tmp_path / "begun").exists()
