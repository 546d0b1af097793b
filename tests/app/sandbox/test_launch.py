"""What a command can do in the sandbox, and that nothing is left of it."""

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import islice

import pytest

from laguna_tui.sandbox.folder_walk import FolderWalk
from laguna_tui.sandbox.launch import MAX_BEYOND, Findings, LimitReachedError, prepare
from laguna_tui.sandbox.native.landlock_ruleset import LEAST_ABI, landlock_abi
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy
from laguna_tui.sandbox.stubs import remove_leftovers
from tests.app.sandbox.world import PYTHON, run_inside
from tests.tui.job import Job


def shell(status, folder, code, **policy):
    return run_inside(status, ("/bin/sh", "-c", code), folder, policy=SandboxPolicy(folder, **policy))


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if "objects" not in path.parts)


def test_a_commit_succeeds(repository, status):
    output, _ = shell(
        status, repository, "git add -A && git commit -qm first && git log --oneline && git status --short"
    )
    assert output.endswith(" first\n"), output
    assert output.count("\n") == 1


def test_a_commit_succeeds_in_a_repository_that_a_group_shares(repository, status):
    subprocess.run(["git", "init", "-q", "--shared=group"], cwd=repository, check=True)
    output, _ = shell(status, repository, "umask 022; git add a.txt && git commit -qm first && git log --oneline")
    assert output.endswith(" first\n"), output


def test_a_branch_is_made_and_left_again(repository, status):
    code = "git add -A; git commit -qm 1; git switch -qc other; echo b > b; git add b; git commit -qm 2"
    output, _ = shell(
        status, repository, f"{code}; git switch -q main && git branch --list && git stash list && git gc -q"
    )
    assert output == "* main\n  other\n"


def test_a_commit_in_a_worktree_reaches_its_repository(repository, status):
    git = ["git", "-C", str(repository)]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "0"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", "../other"], check=True, capture_output=True)
    folder = repository.parent / "other"
    (folder / "x").write_text("x")
    output, _ = shell(status, folder, "git add -A && git commit -qm second && git log --oneline | head -1")
    assert output.endswith(" second\n"), output


def test_a_git_file_that_leads_elsewhere_makes_nothing_writable(repository, status):
    victim = repository.parent / "victim"
    victim.mkdir()
    for name in ("objects", "refs"):
        (victim / name).mkdir()
    (victim / "HEAD").write_text("ref: refs/heads/main\n")
    workspace = repository.parent / "hostile"
    workspace.mkdir()
    (workspace / ".git").write_text("gitdir: ../victim\n")
    shell(status, workspace, "echo x > ../victim/refs/x")
    assert tree(victim) == ["HEAD", "refs"]


def _commit(repository, *paths):
    for command in (("add", *paths), ("commit", "-qm", "first")):
        subprocess.run(["git", *command], cwd=repository, check=True)


def _secrets(repository):
    files = {".env": "geheim", "deep/er/prod.env": "geheim", ".aws/credentials": "geheim", "known.pem": "test key"}
    files |= {"changed.pem": "test key", "process.env": "plain"}
    for path, text in files.items():
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text(text)
    (repository / "linked").symlink_to(".env")
    _commit(repository, "known.pem", "changed.pem")
    (repository / "changed.pem").write_text("geheim")


_READ_ALL = "cat .env linked deep/er/prod.env .aws/* changed.pem; cat known.pem process.env"


def test_files_with_secrets_are_not_read_but_those_that_are_committed(repository, bubblewrap):
    _secrets(repository)
    with prepare(bubblewrap, SandboxPolicy(repository), ("true",)) as prepared:
        assert prepared.secrets == 4
    output, _ = shell(bubblewrap, repository, _READ_ALL)
    assert "geheim" not in output
    assert "test keytest keyplain" in output
    shell(bubblewrap, repository, "mv .env plain; ln .env other; cp -r . /tmp/x; rm -rf .aws; git add -f .env")
    assert (repository / ".env").read_text() == "geheim"
    assert not (repository / "plain").exists()


def test_a_secret_behind_many_files_of_git_is_hidden(repository, bubblewrap):
    for number in range(1_100):
        (repository / f"{number}.pem").write_text("test key")
    _commit(repository, ".")
    (repository / "deep/er").mkdir(parents=True)
    for number in range(250):
        (repository / f"deep/er/{number}.env").write_text("geheim")
    output, _ = shell(bubblewrap, repository, "grep -rs geheim deep; cat 7.pem")
    assert output == "test key"


def test_files_with_secrets_that_may_be_shown_are_shown(repository, bubblewrap):
    _secrets(repository)
    output, _ = shell(bubblewrap, repository, "cat .env deep/er/prod.env", shows=lambda path: path == ".env")
    assert output == "geheimcat: deep/er/prod.env: Permission denied\n"


RULED = {"data/x": "geheim", "sub/Deep/A.Note": "geheim", "a.note": "geheim", "migrations/1.sql": "old"}
KEPT = {"unreadable": ("data/**", "*.note"), "unwritable": ("migrations/**", "sub/*/keep.txt")}


def _ruled(repository):
    for path, text in {**RULED, "sub/Deep/keep.txt": "old", "other/x": "plain"}.items():
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text(text)
    (repository / "linked").symlink_to("data/x")


def test_what_rules_keep_from_being_read_is_not_read(repository, bubblewrap):
    _ruled(repository)
    before = tree(repository)
    output, _ = shell(
        bubblewrap, repository, "cat a.note linked data/x sub/*/*.Note; grep -r geheim .; ls data", **KEPT
    )
    assert "geheim" not in output
    output, _ = shell(bubblewrap, repository, "cat other/x; echo more > other/y; echo > sub/new; cat sub/new", **KEPT)
    assert output == "plain\n"
    for code in ("mv data d", "mv sub s", "mv a.note b", "ln a.note b", "rm -rf data sub/Deep", "cp -r . /tmp/x"):
        shell(bubblewrap, repository, code, **KEPT)
    assert tree(repository) == sorted([*before, "other/y", "sub/new"])
    assert {path: (repository / path).read_text() for path in RULED} == RULED


MOVES = {
    "the file": "mv {path} plain",
    "its folder": "mv $(dirname {path}) a/plain",
    "the folder above": "mv a plain",
    "another name": "ln {path} plain",
    "an exchange": "cp -r a b; mv a plain; mv b a",
}


@pytest.mark.parametrize("how", MOVES)
@pytest.mark.parametrize(
    ("path", "rule"), [("a/.docker/config.json", ()), ("a/b/data.txt", ("a/b/*.txt",))], ids=["a secret", "a rule"]
)
def test_what_must_not_be_read_is_not_read_after_a_move(repository, bubblewrap, path, rule, how):
    (repository / path).parent.mkdir(parents=True)
    (repository / path).write_text("the key\n")
    shell(bubblewrap, repository, MOVES[how].format(path=path), unreadable=rule)
    output, _ = shell(bubblewrap, repository, "grep -rs 'the key' . && echo READ", unreadable=rule)
    assert "READ" not in output
    assert (repository / path).read_text() == "the key\n"


def test_what_rules_keep_from_being_changed_is_read_only(repository, bubblewrap):
    _ruled(repository)
    for code in (
        "echo new > migrations/1.sql",
        "echo new > migrations/2.sql",
        "rm -rf migrations",
        "mv migrations gone; mkdir migrations; echo new > migrations/1.sql",
        "echo new > sub/Deep/keep.txt",
        "mv sub gone; mkdir -p sub/Deep; echo new > sub/Deep/keep.txt",
        "chmod 777 migrations/1.sql",
    ):
        shell(bubblewrap, repository, code, **KEPT)
        assert [path.name for path in (repository / "migrations").iterdir()] == ["1.sql"]
        assert (repository / "migrations/1.sql").read_text() == (repository / "sub/Deep/keep.txt").read_text() == "old"
    output, _ = shell(bubblewrap, repository, "cat migrations/1.sql; git add migrations && git commit -qm 1", **KEPT)
    assert output == "old"


def test_no_file_that_a_rule_hides_is_read_even_if_there_are_many(repository, bubblewrap):
    for number in range(201):
        (repository / f"{number}.note").write_text("geheim")
    output, _ = shell(bubblewrap, repository, "cat *.note 2>/dev/null; ls *.note | wc -l", unreadable=("*.note",))
    assert output.strip() == "201"


def test_a_protected_file_in_each_of_many_folders_is_read_only(repository, bubblewrap):
    for number in range(210):
        (repository / f"p{number}").mkdir()
        (repository / f"p{number}/AGENTS.md").write_text("mine")
    code = "for each in p*; do echo evil > $each/AGENTS.md; rm -f $each/AGENTS.md; mv $each gone$each; done 2>/dev/null"
    shell(bubblewrap, repository, code)
    assert {(repository / f"p{number}/AGENTS.md").read_text() for number in range(210)} == {"mine"}


def test_a_file_that_is_protected_and_hidden_is_hidden(repository, bubblewrap):
    for path in (".envrc", "AGENTS.md", "data/AGENTS.md", "data/.vscode/x", "both"):
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text("geheim")
    rules = {"unreadable": ("AGENTS.md", "data/**", "both"), "unwritable": ("both",)}
    output, _ = shell(bubblewrap, repository, "cat .envrc AGENTS.md both && ls data; echo evil > AGENTS.md", **rules)
    assert "geheim" not in output
    assert "No such" not in output
    assert (repository / "AGENTS.md").read_text() == "geheim"


def _many_keys(repository):
    (repository / "config").mkdir()
    (repository / "keys").mkdir()
    (repository / "config/.env").write_text("geheim")
    for number in range(1_010):
        (repository / f"keys/k{number}.pem").write_text("geheim")


def test_behind_more_secrets_than_can_be_hidden_no_command_runs_unasked(repository, bubblewrap):
    _many_keys(repository)
    with pytest.raises(LimitReachedError) as refused:
        prepare(bubblewrap, SandboxPolicy(repository), ("true",))
    assert str(refused.value) == (
        "more than 1,000 files and folders here are protected, hold secrets or match your rules, and a command cannot"
        " be kept from more; most of them are in keys, so hide that folder: laguna-tui permissions deny 'read(keys/**)'"
    )
    output, _ = shell(
        bubblewrap, repository, "cat config/.env 2>/dev/null; ls -A keys 2>/dev/null", unreadable=("keys/**",)
    )
    assert output == ""


def test_with_approval_it_runs_without_the_nearest_of_them(repository, bubblewrap):
    _many_keys(repository)
    (repository / ".env").write_text("geheim")
    with prepare(bubblewrap, SandboxPolicy(repository), ("true",), beyond_limits=True) as prepared:
        assert prepared.secrets == MAX_BEYOND
        assert str(repository / ".env") in prepared.argv


@pytest.mark.parametrize("most", [350, 1_000_000])
def test_what_was_there_beyond_a_limit_is_not_taken_for_what_a_command_created(repository, bubblewrap, most):
    (repository / "full").mkdir()
    for number in range(MAX_BEYOND + 50):
        (repository / f"full/{number}").mkdir()
        (repository / f"full/{number}/AGENTS.md").touch()
    before = tree(repository)
    walk = FolderWalk(repository, max_entries=most)
    with prepare(bubblewrap, SandboxPolicy(repository), ("true",), walk=walk, beyond_limits=True) as prepared:
        for path in islice(walk.read().protected, 1, 3):
            path.unlink()
        assert prepared.cleanup().moved == ()
    assert len(tree(repository)) == len(before) - 2


def test_in_a_folder_with_more_files_than_are_read_no_command_runs_unasked(repository, bubblewrap):
    (repository / "full").mkdir()
    for number in range(20):
        (repository / f"full/{number}").touch()
    walk = FolderWalk(repository, max_entries=20)
    with pytest.raises(LimitReachedError) as refused:
        prepare(bubblewrap, SandboxPolicy(repository), ("true",), walk=walk)
    assert str(refused.value) == (
        "this folder contains 1,000,000 files and folders or more, most of them in full, and a command is kept from"
        " secrets and protected files among the first 1,000,000 only; move full elsewhere"
    )


def test_nothing_is_left_in_the_workspace(repository, status):
    before = tree(repository)
    shell(status, repository, "true")
    assert tree(repository) == before


def test_an_empty_folder_of_the_users_stays(repository, status):
    (repository / ".vscode").mkdir()
    shell(status, repository, "true")
    assert (repository / ".vscode").is_dir()


def test_git_outside_is_not_disturbed_while_a_command_runs(repository, bubblewrap):
    with prepare(bubblewrap, SandboxPolicy(repository), ("true",)):
        shown = subprocess.run(
            ["git", "status", "--short"], check=False, cwd=repository, capture_output=True, text=True
        )
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "?? a.txt\n", "")


def test_the_last_of_two_commands_removes_the_mount_points(repository, bubblewrap):
    before = tree(repository)
    first = prepare(bubblewrap, SandboxPolicy(repository), ("true",))
    second = prepare(bubblewrap, SandboxPolicy(repository), ("true",))
    first.cleanup()
    assert (repository / ".git/modules").is_dir()
    second.cleanup()
    assert tree(repository) == before


def test_mount_points_of_a_killed_app_are_removed_by_the_next_one(repository, bubblewrap):
    before = tree(repository)
    pid = os.fork()
    if pid == 0:
        prepare(bubblewrap, SandboxPolicy(repository), ("true",))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert (repository / ".git/modules").is_dir()
    (repository / ".git/commondir").unlink()
    (repository / ".git/commondir").write_text("the user's")
    (repository / ".git/modules/m").write_text("the user's")
    remove_leftovers()
    assert tree(repository) == sorted([*before, ".git/commondir", ".git/modules", ".git/modules/m"])


def test_the_private_folder_of_a_killed_app_is_removed_by_the_next_one(repository, status, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pid = os.fork()
    if pid == 0:
        prepare(status, SandboxPolicy(repository), ("true",))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    (left,) = tmp_path.glob("laguna-tui-*")
    (left / "tmp/built").mkdir()
    with prepare(status, SandboxPolicy(repository), ("true",)):
        assert not left.exists()
    assert not list(tmp_path.glob("laguna-tui-*"))


KILLED_APP = """
import os, signal, sys, time
from pathlib import Path
from laguna_tui import supervise
from laguna_tui.sandbox.command_output import CommandOutput
from laguna_tui.sandbox.launch import prepare
from laguna_tui.sandbox.probe import probe_sandbox
from laguna_tui.sandbox.running_command import RunningCommand
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy

def app(start, report):
    folder = Path(sys.argv[1])
    command = ("/bin/sh", "-c", "(setsid sleep 60 &) ; touch begun; sleep 60")
    prepared = prepare(probe_sandbox(), SandboxPolicy(folder), command)
    running = RunningCommand(prepared, CommandOutput(1000, folder))
    while not (folder / "begun").exists():
        time.sleep(0.01)
    assert (folder / ".git/modules").is_dir()
    os.kill(os.getpid(), signal.SIGKILL)

sys.exit(supervise.run_supervised(app))
"""


def test_mount_points_of_a_killed_app_are_removed_by_its_parent_process(repository, bubblewrap):
    before = tree(repository)
    with Job(sys.executable, "-c", KILLED_APP, str(repository)) as job:
        assert job.expect("ended") == 128 + signal.SIGKILL
    assert tree(repository) == sorted([*before, "begun"])


def test_a_command_ends_with_the_one_that_started_it(repository, bubblewrap):
    code = "(until [ -e go ]; do sleep 0.05; done; echo late > late) & touch begun; sleep 60"
    with prepare(bubblewrap, SandboxPolicy(repository), ("/bin/sh", "-c", code)) as made:
        process = subprocess.Popen(
            made.argv,
            env=made.env,
            cwd=made.cwd,
            pass_fds=made.pass_fds,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 20
        while not (repository / "begun").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        (repository / "go").touch()
    time.sleep(0.5)
    assert not (repository / "late").exists()


def test_under_landlock_what_changed_in_protected_files_is_reported(repository):
    if landlock_abi() < LEAST_ABI:
        pytest.skip("this kernel has no Landlock")
    landlock = SandboxStatus(SandboxKind.LANDLOCK, "")
    (repository / "AGENTS.md").write_text("mine")
    assert shell(landlock, repository, "git add -A; git commit -qm first") == ("", Findings())
    code = "git config a.b c; echo x > .git/hooks/pre-commit; echo . > .git/commondir"
    _, findings = shell(landlock, repository, f"{code}; echo x >> AGENTS.md; echo x > .envrc")
    assert set(findings.changed) == {".git/config", ".git/hooks", "AGENTS.md", ".git/commondir"}
    assert [each.path for each in findings.moved] == [".envrc"]


def _conflict(folder):
    """Two branches, of which each changes the same line; the first is checked out."""
    code = (
        "git add -A && git commit -qm 1 && git switch -qc other && echo b > a.txt && git commit -qam 2"
        " && git switch -q main && echo c > a.txt && git commit -qam 3"
    )
    subprocess.run(["sh", "-c", code], cwd=folder, check=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rebase-merge/git-rebase-todo", "exec touch owned"),
        ("rebase-merge/strategy", "../x"),
        ("sequencer/opts", "[options]\n\tstrategy = ../x"),
    ],
)
def test_an_unfinished_rebase_that_would_run_a_program_is_moved_away(repository, status, name, text):
    code = f"mkdir .git/{name.split('/')[0]}; echo '{text}' > .git/{name}"
    assert [each.path for each in shell(status, repository, code)[1].moved] == [f".git/{name}"]


def test_a_rebase_with_a_conflict_is_continued_by_another_command(repository, status):
    _conflict(repository)
    output, findings = shell(status, repository, "git rebase other; cat a.txt")
    assert "<<<<<<<" in output
    assert not findings.moved
    output, findings = shell(
        status, repository, "echo d > a.txt; git add a.txt; GIT_EDITOR=true git rebase --continue; git log --format=%s"
    )
    assert output.endswith("3\n2\n1\n"), output
    assert not findings.moved


def test_a_rebase_may_run_programs_while_the_command_runs(repository, status):
    _conflict(repository)
    output, findings = shell(status, repository, "git rebase -q -X theirs -x 'echo checked' other; git status --short")
    assert "checked\n" in output
    assert not findings.moved


def test_the_programs_of_the_users_unfinished_rebase_are_not_changed(repository, bubblewrap):
    _conflict(repository)
    subprocess.run(["git", "rebase", "-q", "-x", "true", "other"], cwd=repository, check=False, capture_output=True)
    todo = repository / ".git/rebase-merge/git-rebase-todo"
    before = todo.read_text()
    assert "exec true" in before
    shell(bubblewrap, repository, f"echo exec owned > {todo}; rm -rf .git/rebase-merge; mv .git/rebase-merge .git/x")
    assert todo.read_text() == before


def test_the_temporary_folder_is_private_and_new_each_time(repository, status):
    output, _ = shell(status, repository, 'echo x > "$TMPDIR/x" && cat "$TMPDIR/x"')
    assert output == "x\n"
    output, _ = shell(status, repository, 'cat "$TMPDIR/x"')
    assert "No such file" in output


def test_a_given_temporary_folder_is_not_removed(repository, status, place):
    (place / "tmp").mkdir()
    shell(status, repository, 'echo x > "$TMPDIR/x"', tmp=place / "tmp")
    assert (place / "tmp/x").read_text() == "x\n"


_CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), 2).send(b'x'); print('sent')"


def test_with_network_a_connection_succeeds_but_not_to_a_unix_socket(repository, status):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        (repository / "go.py").write_text(_CONNECT.format(port=server.getsockname()[1]))
        output, _ = shell(status, repository, f"{PYTHON} go.py", network=True)
    assert output == "sent\n"
    output, _ = shell(status, repository, f"{PYTHON} -c 'import socket; socket.socket(socket.AF_UNIX)'", network=True)
    assert "Operation not permitted" in output


def test_a_server_of_the_commands_own_is_reachable_in_it(repository, bubblewrap):
    code = "from socket import *; s = create_server(('127.0.0.1', 0)); create_connection(s.getsockname()); print('met')"
    assert shell(bubblewrap, repository, f'{PYTHON} -c "{code}"')[0] == "met\n"


def test_only_the_variables_that_are_allowed_are_passed_on(repository, status, monkeypatch):
    for name in ("GITHUB_TOKEN", "LD_PRELOAD_X", "GIT_DIR", "BASH_ENV", "SSH_AUTH_SOCK", "PYTHONPATH", "NODE_OPTIONS"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("LC_TIME", "C")
    output, _ = shell(status, repository, "env")
    names = {line.partition("=")[0] for line in output.splitlines()}
    assert "LC_TIME" in names
    assert not names & {
        "GITHUB_TOKEN",
        "LD_PRELOAD_X",
        "GIT_DIR",
        "BASH_ENV",
        "SSH_AUTH_SOCK",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "TOKEN",
    }


RUNS = {
    "BASH_ENV": "{script}",
    "ENV": "{script}",
    "PROMPT_COMMAND": "{script}",
    "PS1": "$({script})",
    "PS4": "$({script})",
    "SHELLOPTS": "xtrace",
    "BASH_FUNC_ls%%": "() {{ {script}; }}",
    "PERL5OPT": "-Mmine",
    "PERL5LIB": "{folder}",
    "PYTHONSTARTUP": "{script}",
    "PYTHONPATH": "{folder}",
    "LD_PRELOAD": "{folder}/mine.so",
    "LESSOPEN": "|{script}",
    "EDITOR": "{script}",
    "VISUAL": "{script}",
    "GIT_SSH_COMMAND": "{script}",
    "GIT_EXTERNAL_DIFF": "{script}",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "{script}",
    "GIT_DIR": "{folder}",
    "NODE_OPTIONS": "--require {folder}/mine.js",
    "RUBYOPT": "-rmine",
    "JAVA_TOOL_OPTIONS": "-javaagent:{folder}/mine.jar",
}


def test_no_variable_has_something_run_before_a_command(repository, status, place, monkeypatch):
    (place / "mine").mkdir()
    script = place / "mine/script"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    for name, value in RUNS.items():
        monkeypatch.setenv(name, value.format(script=script, folder=place / "mine"))
    outside = subprocess.run(["bash", "-c", "true"], capture_output=True, text=True, check=True)
    assert "ran" in outside.stdout.split()
    code = "ls; git status --short; bash -c 'set -x; ls' 2>&1; sh -ic ls 2>&1; env"
    with prepare(status, SandboxPolicy(repository), ("bash", "-c", code)) as prepared:
        assert RUNS.keys().isdisjoint(prepared.env)
    output, _ = run_inside(status, ("bash", "-c", code), repository)
    assert "ran" not in output.split()
    assert str(script) not in output


def test_temporary_folders_have_names_that_cannot_be_guessed_and_are_private(repository, status, place, monkeypatch):
    (place / "shared").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place / "shared"))
    seen = []
    for _ in range(2):
        with prepare(status, SandboxPolicy(repository), ("true",)):
            made = [*(place / "shared").iterdir()]
            assert [path.stat().st_mode & 0o777 for path in made] == [0o700]
            seen += made
    assert len(set(seen)) == 2
    assert all(len(path.name.removeprefix("laguna-tui-")) >= 8 for path in seen)


def test_the_exit_code_and_the_folder_are_the_commands(repository, status):
    (repository / "sub").mkdir()
    with prepare(
        status, SandboxPolicy(repository), ("/bin/sh", "-c", "pwd; exit 7"), folder=repository / "sub"
    ) as made:
        done = subprocess.run(
            made.argv, check=False, env=made.env, cwd=made.cwd, pass_fds=made.pass_fds, capture_output=True
        )
    assert (done.returncode, done.stdout.decode()) == (7, f"{repository}/sub\n")


def test_no_descriptor_of_the_app_reaches_a_command(repository, status):
    output, _ = shell(status, repository, "ls /proc/self/fd")
    assert output.split() == ["0", "1", "2", "3"]  # 3 is the folder that ls reads


def test_preparing_in_two_threads_at_once_leaves_nothing(repository, bubblewrap):
    before = tree(repository)

    def work():
        for _ in range(4):
            prepare(bubblewrap, SandboxPolicy(repository), ("true",)).cleanup()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tree(repository) == before


def test_without_a_sandbox_the_variables_are_still_scrubbed(repository, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "x")
    with prepare(SandboxStatus(SandboxKind.NONE, "none"), SandboxPolicy(repository), ("env",)) as made:
        assert made.argv == ("env",)
        assert "GITHUB_TOKEN" not in made.env
