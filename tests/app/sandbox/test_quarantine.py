"""Names that git, assistants, editors and shells execute cannot be created by commands: they are moved away."""

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from laguna_tui.base.own_changes import announce
from laguna_tui.repo.files.protected_paths import protected_names
from laguna_tui.repo.files.source_writer import create_file
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.repo.git.plain_repository import has_known_settings
from laguna_tui.sandbox.launch import prepare
from laguna_tui.sandbox.protected import protected_files
from laguna_tui.sandbox.quarantine import MAX_ATTEMPTS, RETENTION_DAYS, Quarantine, delete_old
from laguna_tui.sandbox.runner import CommandRunner
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy
from tests.app.sandbox.world import run_inside

PATIENCE_S = 30.0
NAMES = [name.replace("*", "x") for name in (*protected_names(), ".git", ".GIT", "Agents.MD", ".vscode.")]


def shell(status, folder, code, **policy):
    return run_inside(status, ("/bin/sh", "-c", code), folder, policy=SandboxPolicy(folder, **policy))


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if ".git" not in path.parts)


def paths(findings):
    return [each.path for each in findings.moved]


def wait_for(done, what):
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.01)


@pytest.fixture
def plain(place, repository):
    """A folder that is no repository, with the user's settings elsewhere."""
    folder = place / "plain"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    return folder


@pytest.fixture
def watched(plain):
    """A watched folder in which no command runs: what the test does there counts as a command's."""
    quarantine = Quarantine(plain)
    command = quarantine.add(protected_files(plain))
    yield quarantine, command
    quarantine.remove(command)


def test_a_command_sees_exactly_the_folder(repository, status):
    subprocess.run(["git", "add", "-A"], cwd=repository, check=True)
    subprocess.run(["git", "commit", "-qm", "first"], cwd=repository, check=True)
    code = "ls -A; git status --short; git clean -ndx; cp -r . /tmp/copy; ls -A /tmp/copy"
    output, findings = shell(status, repository, code.replace("/tmp/copy", '"$TMPDIR/copy"'))
    assert output == ".git\na.txt\n" * 2
    assert not findings.moved


def test_no_mount_point_is_on_the_users_disk_while_a_command_runs(plain, status):
    with prepare(status, SandboxPolicy(plain), ("true",)):
        assert [path.name for path in plain.iterdir()] == ["a.txt"]


MADE_BY = {
    "create": "echo evil > {name}",
    "mkdir": "mkdir -p {name}; echo evil > {name}/x",
    "rename": "echo evil > plain; mv plain {name}",
    "link": "echo evil > plain; ln plain {name}",
    "symlink": "echo evil > plain; ln -s plain {name}",
    "folder": "mkdir plain; echo evil > plain/x; mv plain {name}",
}


def test_what_a_command_creates_at_the_top_is_moved(plain, status):
    for name in (".vscode", "AGENTS.md", ".git"):
        _, findings = shell(status, plain, f"mkdir plain; echo evil > plain/x; mv plain {name}")
        assert paths(findings) == [name]
        assert (findings.moved[0].stored / "x").read_text() == "evil\n"
    assert tree(plain) == ["a.txt"]


def test_what_a_command_creates_in_a_folder_at_the_top_is_moved(plain, status):
    _, findings = shell(status, plain, "mkdir -p .github/workflows; echo evil > .github/workflows/x.yml")
    assert paths(findings) == [".github/workflows"]
    assert tree(plain) == [".github", "a.txt"]


@pytest.mark.parametrize("way", MADE_BY)
@pytest.mark.sampled(3)
def test_no_protected_name_is_left_however_it_was_made(watched, plain, way):
    quarantine, command = watched
    lines = [f"mkdir -p {name.rpartition('/')[0] or '.'}; {MADE_BY[way].format(name=name)}" for name in NAMES]
    subprocess.run(["/bin/sh"], input="\n".join(lines), text=True, cwd=plain, check=False, stderr=subprocess.DEVNULL)
    quarantine.walk()
    # A name in a folder that is protected as a whole is moved with it.
    whole = {name for name in NAMES if not any(name.startswith(f"{other}/") for other in NAMES)}
    assert {each.path for each in command.moved} >= whole
    assert not [name for name in NAMES if os.path.lexists(plain / name)]


def test_no_protected_name_is_left_further_down(plain, status):
    code = "mkdir -p sub/deep x/.vscode; echo evil > x/.vscode/tasks.json; mv x sub; echo evil > sub/deep/AGENTS.md"
    _, findings = shell(status, plain, code)
    assert sorted(paths(findings)) == ["sub/deep/AGENTS.md", "sub/x/.vscode"]
    assert tree(plain) == ["a.txt", "sub", "sub/deep", "sub/x"]


def test_names_with_the_shape_of_a_repository_are_moved_if_they_make_git_run_something(plain, status):
    shell(status, plain, "git init -q --bare plain.git")
    assert (plain / "plain.git/HEAD").exists()
    code = "mkdir -p x/objects x/refs; echo > x/HEAD; echo '[core]\n\tfsmonitor = evil' > x/config"
    _, findings = shell(status, plain, code)
    assert set(paths(findings)) == {"x/HEAD", "x/config"}


def test_a_loop_that_keeps_creating_a_name_is_ended(plain, status):
    runner = CommandRunner(plain, results=plain.parent / "results", probe=lambda: status)
    code = "for i in $(seq 1000); do mkdir .vscode 2>/dev/null; sleep 0.01; done; echo survived"
    result = runner.run(code, folder=plain, timeout_s=60)
    assert result.findings.ended
    assert result.exit_code == 128 + signal.SIGKILL
    assert "survived" not in result.stdout
    assert len(result.findings.moved) >= MAX_ATTEMPTS
    assert tree(plain) == ["a.txt"]
    runner.close()


def test_what_a_background_command_creates_is_moved_while_it_runs(plain, status):
    runner = CommandRunner(plain, results=plain.parent / "results", probe=lambda: status)
    number = runner.start_background(
        "mkdir sub .idea; echo evil > sub/AGENTS.md; touch begun; sleep 60", folder=plain, timeout_s=60
    )
    wait_for((plain / "begun").exists, "the command")
    wait_for(lambda: not (plain / ".idea").exists(), "the watch")
    wait_for(lambda: not (plain / "sub/AGENTS.md").exists(), "the walk")
    assert {each.path for each in runner.quarantine.take_pending()} == {".idea", "sub/AGENTS.md"}
    assert runner.background()[number - 1].exit_code is None
    runner.close()


def test_a_worktree_that_a_command_adds_has_no_git_file(repository, status):
    subprocess.run(["git", "add", "-A"], cwd=repository, check=True)
    subprocess.run(["git", "commit", "-qm", "first"], cwd=repository, check=True)
    before = (repository / ".git/config").read_bytes()
    shell(status, repository, "git worktree add -q inside")
    assert not (repository / "inside/.git").exists()
    assert (repository / ".git/config").read_bytes() == before


def test_a_repository_made_further_down_stays_while_it_makes_git_run_nothing(plain, status):
    _, findings = shell(
        status, plain, "mkdir sub; cd sub; git init -q; git config user.name t; git config user.email t@t"
    )
    assert not findings.moved
    subprocess.run(["git", "status"], cwd=plain / "sub", check=True, capture_output=True)


@pytest.mark.parametrize(
    "planted",
    [
        "git config core.fsmonitor ./evil",
        "git config core.hooksPath .",
        "git config remote.origin.url ext::evil",
        "echo evil > .git/hooks/pre-commit",
        "ln -s ../../evil .git/hooks/post-checkout",
        "echo '* filter=x' > .git/info/attributes",
        "echo ../elsewhere > .git/commondir",
        "mkdir -p .git/modules/m",
        "printf '[include]\\n\\tpath = ../evil\\n' >> .git/config",
        "printf '[core] fsmonitor = evil\\n' >> .git/config",
        "rm .git/config; ln -s ../evil .git/config",
        "rm -rf .git; echo 'gitdir: ../elsewhere' > .git",
    ],
)
def test_a_repository_made_further_down_is_moved_if_it_makes_git_run_something(plain, status, planted):
    _, findings = shell(status, plain, f"mkdir sub; cd sub; git init -q; {planted}")
    assert paths(findings) == ["sub/.git"]
    assert not os.path.lexists(plain / "sub/.git")


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (
            '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://x/y.git\n\tfetch = +refs/heads/*:refs/x/*\n',
            True,
        ),
        ("# comment\n[core]\n\tfilemode\n", True),
        ("[core]\n\tpager = evil\n", False),
        ("[core]\n\tbare = false \\\n\tpager = evil\n", False),
        ("[core]bare = false\n", False),
        ('[remote "o"]\n\turl = ext::sh\n', False),
        ('[remote "o"]\n\tuploadpack = evil\n', False),
        ("[unknown]\n\tbare = false\n", False),
        ("bare = false\n", False),
    ],
)
def test_only_settings_that_name_no_program_are_known(text, known):
    assert has_known_settings(text) is known


@pytest.mark.parametrize("deed", ["replace", "edit", "retarget"])
def test_a_protected_link_is_put_back(repository, status, deed):
    (repository / "AGENTS.md").write_text("mine")
    (repository / "CLAUDE.md").symlink_to("AGENTS.md")
    code = {
        "replace": "rm CLAUDE.md; echo other > CLAUDE.md",
        "edit": "rm CLAUDE.md",
        "retarget": "ln -sf /etc/passwd CLAUDE.md",
    }[deed]
    _, findings = shell(status, repository, code)
    assert (repository / "CLAUDE.md").readlink() == Path("AGENTS.md")
    assert (repository / "AGENTS.md").read_text() == "mine"
    assert paths(findings) == ([] if deed == "edit" else ["CLAUDE.md"])


EXCHANGES = {
    "a link": "mv nested gone && ln -s {home} nested",
    "another folder": "mv nested gone && mkdir nested && echo evil > nested/.bashrc",
    "nothing": "mv nested gone",
}


@pytest.mark.parametrize("commands", [1, 2])
@pytest.mark.parametrize("by", EXCHANGES)
def test_nothing_is_put_back_into_a_folder_that_was_exchanged(repository, status, place, by, commands):
    home = place / "home"
    (home / ".bashrc").write_text("# mine\n")
    (repository / "nested").mkdir()
    (repository / "nested/.bashrc").symlink_to("proj/evil.sh")
    before = tree(home)
    code = EXCHANGES[by].format(home=home)
    if commands == 2:
        shell(status, repository, "true")
    _, findings = shell(status, repository, code)
    if commands == 2:
        shell(status, repository, "true")
    assert findings.failed == ("nested/.bashrc",)
    assert [path for path in tree(home) if not path.startswith("laguna-tui")] == before
    assert (home / ".bashrc").read_text() == "# mine\n"
    assert not (home / ".bashrc").is_symlink()
    assert by == "a link" or not (repository / "nested/.bashrc").exists()


def test_a_folder_that_is_exchanged_while_it_is_searched_leads_nowhere(watched, plain, place):
    quarantine, command = watched
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "AGENTS.md").write_text("mine")
    for number in range(200):
        sub = plain / "sub"
        sub.mkdir()
        (sub / "AGENTS.md").write_text("evil")
        (sub.rename(plain / "gone"), sub.symlink_to(elsewhere)) if number % 2 else None
        quarantine.walk()
        assert (elsewhere / "AGENTS.md").read_text() == "mine"
        for each in (sub, plain / "gone"):
            each.unlink() if each.is_symlink() else shutil.rmtree(each, ignore_errors=True)
    assert {each.path for each in command.moved} <= {"sub/AGENTS.md", "gone/AGENTS.md"}
    assert len(command.moved) == 200


def test_what_a_command_made_hard_to_move_is_moved_anyway(plain, status):
    _, findings = shell(status, plain, "mkdir .vscode; echo x > .vscode/y; chmod 0 .vscode; chmod 555 .")
    assert paths(findings) == [".vscode"]
    assert [path.name for path in plain.iterdir()] == ["a.txt"]


def test_what_is_moved_from_another_disk_stays_beside_it_under_a_harmless_name(watched, plain, monkeypatch, place):
    other = next((path for path in ("/dev/shm", "/run") if Path(path).stat().st_dev != plain.stat().st_dev), None)
    if other is None or not os.access(other, os.W_OK):
        pytest.skip("there is no second disk to write to")
    monkeypatch.setenv("XDG_STATE_HOME", f"{other}/{place.name}")
    quarantine, command = watched
    (plain / "made").mkdir()
    (plain / "made/tasks.json").write_text("evil")
    (plain / "made").rename(plain / ".vscode")
    wait_for(lambda: command.moved, "the watch")
    shutil.rmtree(f"{other}/{place.name}")
    (stored,) = [each.stored for each in command.moved]
    assert stored.parent.parent == plain
    assert (stored / "tasks.json").read_text() == "evil"
    quarantine.walk()
    assert len(command.moved) == 1


def test_the_user_has_it_put_back(plain, status):
    runner = CommandRunner(plain, results=plain.parent / "results", probe=lambda: status)
    runner.run("mkdir v sub; echo x > v/y; mv v .vscode; echo z > sub/AGENTS.md", folder=plain, timeout_s=30)
    moved = runner.quarantine.take_pending()
    (plain / "sub/AGENTS.md").write_text("the user's own by now")
    assert runner.quarantine.put_back(moved) == ("sub/AGENTS.md",)
    assert (plain / ".vscode/y").read_text() == "x\n"
    assert (plain / "sub/AGENTS.md").read_text() == "the user's own by now"
    assert runner.quarantine.take_pending() == ()
    runner.close()


def test_what_the_app_makes_itself_stays(watched, plain):
    _, command = watched
    create_file(Workspace(plain), ".vscode/settings.json", b"{}")
    create_file(Workspace(plain), "sub/AGENTS.md", b"x")
    (plain / ".idea").mkdir()
    wait_for(lambda: command.moved, "the watch")
    assert [each.path for each in command.moved] == [".idea"]
    assert tree(plain) == [".vscode", ".vscode/settings.json", "a.txt", "sub", "sub/AGENTS.md"]


def test_a_repository_that_the_app_makes_stays_while_it_makes_git_run_nothing(watched, plain):
    quarantine, command = watched
    announce(plain / ".git")
    subprocess.run(["git", "init", "-q"], cwd=plain, check=True)
    quarantine.walk()
    assert not command.moved
    (plain / ".git/hooks/pre-commit").write_text("evil")
    quarantine.walk()
    assert [each.path for each in command.moved] == [".git"]


def test_a_name_is_gone_within_a_millisecond_or_so(watched, plain):
    """No limit is asserted: a busy machine is slow. The median of 50 is printed."""
    seen = []
    for _ in range(50):
        began = time.perf_counter()
        (plain / ".vscode").mkdir()
        while (plain / ".vscode").exists():
            pass
        seen.append(time.perf_counter() - began)
    sys.stderr.write(f"moved after {statistics.median(seen) * 1000:.2f} ms, {max(seen) * 1000:.2f} at most\n")
    # Noted a moment after it was moved.
    wait_for(lambda: len(watched[1].moved) == 50, "the last note")
    assert {each.path for each in watched[1].moved} == {".vscode"}


def test_after_a_kill_of_the_app_nothing_is_left_that_the_command_did_not_create(plain, status):
    pid = os.fork()
    if pid == 0:
        prepare(status, SandboxPolicy(plain), ("true",))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert [path.name for path in plain.iterdir()] == ["a.txt"]


def test_old_contents_are_deleted(plain, watched):
    _, command = watched
    (plain / ".idea").mkdir()
    wait_for(lambda: command.moved, "the watch")
    stored = command.moved[0].stored
    delete_old()
    assert stored.exists()
    old = time.time() - (RETENTION_DAYS + 1) * 86_400
    os.utime(stored.parent, (old, old))
    delete_old()
    assert not stored.parent.exists()
