"""What a commit would take is read without running anything; the commit itself is a command for the sandbox."""

import subprocess

import pytest

from laguna_tui.repo.git_commit import PendingChanges, commit_command, pending_changes, recent_subjects

GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]


def run_git(folder, *command):
    return subprocess.run([*GIT, *command], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    run_git(root, "init")
    run_git(root, "config", "user.name", "t")
    run_git(root, "config", "user.email", "t@t")
    (root / "a.py").write_text("one\n")
    (root / "b.py").write_text("one\n")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-m", "First\n\nWith a body.")
    return root


def commit(project, *arguments, **named):
    """Run the command as the sandbox's shell does."""
    subprocess.run(["/bin/sh", "-c", commit_command(*arguments, **named)], cwd=project, check=True, timeout=30)
    message = run_git(project, "log", "-1", "--format=%B").strip()
    return message, run_git(project, "show", "--format=", "--name-only").splitlines()


def test_staged_unstaged_and_new_files_are_told_apart(project):
    (project / "a.py").write_text("two\n")
    run_git(project, "add", "a.py")
    (project / "b.py").write_text("three\n")
    (project / "new.py").write_text("")
    found = pending_changes(project)
    assert found is not None
    assert ("+two" in found.staged, "+three" in found.staged) == (True, False)
    assert ("+two" in found.unstaged, "+three" in found.unstaged) == (False, True)
    assert found.untracked == ("new.py",)


def test_nothing_to_commit_is_empty(project):
    assert pending_changes(project) == PendingChanges("", "", ())


def test_no_repository_has_no_changes(tmp_path):
    assert pending_changes(tmp_path) is None


def test_a_long_diff_is_cut_at_a_line_and_says_so(project):
    (project / "a.py").write_text("line\n" * 10_000)
    found = pending_changes(project, limit=1_000)
    assert found is not None
    assert found.unstaged.endswith("+line\n\n[the rest of the diff is left out]\n")
    assert len(found.unstaged) < 1_100


def test_recent_subjects_are_the_first_lines_newest_first(project):
    run_git(project, "commit", "--allow-empty", "-m", "Second")
    assert recent_subjects(project) == ("Second", "First")
    assert recent_subjects(project, 1) == ("Second",)


def test_a_repository_without_commits_has_no_subjects(tmp_path):
    run_git(tmp_path, "init")
    assert recent_subjects(tmp_path) == ()


def trap(project, tmp_path):
    """A repository that names a program wherever git would start one to show a diff or a log."""
    sprung = tmp_path / "sprung"
    program = tmp_path / "trap.sh"
    program.write_text(f"#!/bin/sh\ntouch {sprung}\ncat\n")
    program.chmod(0o755)
    (project / ".gitattributes").write_text("*.py diff=evil filter=evil\n")
    for key in ("diff.evil.command", "diff.evil.textconv", "diff.external", "filter.evil.clean", "gpg.program"):
        run_git(project, "config", key, str(program))
    for key in ("core.fsmonitor", "core.pager", "pager.diff", "pager.log"):
        run_git(project, "config", key, str(program))
    run_git(project, "config", "log.showSignature", "true")
    (project / "a.py").write_text("changed\n")
    return sprung


def test_the_queries_run_nothing_that_a_hostile_repository_names(project, tmp_path):
    sprung = trap(project, tmp_path)
    found = pending_changes(project)
    assert found is not None
    assert "+changed" in found.unstaged
    assert recent_subjects(project) == ("First",)
    assert not sprung.exists()


def test_the_trap_would_have_sprung(project, tmp_path):
    sprung = trap(project, tmp_path)
    run_git(project, "diff")
    assert sprung.exists()


def test_what_is_staged_is_committed_with_the_whole_message(project):
    (project / "a.py").write_text("two\n")
    (project / "b.py").write_text("two\n")
    run_git(project, "add", "a.py")
    message, files = commit(project, 'It\'s "new" $(touch x)\n`touch y`')
    assert message == 'It\'s "new" $(touch x)\n`touch y`'
    assert files == ["a.py"]
    assert sorted(path.name for path in project.iterdir()) == [".git", "a.py", "b.py"]


def test_named_paths_are_committed_whatever_else_is_staged(project):
    (project / "a.py").write_text("two\n")
    run_git(project, "add", "a.py")
    (project / "-odd *.py").write_text("new\n")
    (project / "b.py").unlink()
    _, files = commit(project, "Two", ["-odd *.py", "b.py"])
    assert sorted(files) == ["-odd *.py", "b.py"]


def test_everything_is_committed_when_asked(project):
    (project / "a.py").write_text("two\n")
    (project / "new.py").write_text("new\n")
    _, files = commit(project, "All", stage_all=True)
    assert files == ["a.py", "new.py"]


def test_hooks_run_and_can_refuse(project):
    hook = project / ".git/hooks/commit-msg"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    (project / "a.py").write_text("two\n")
    with pytest.raises(subprocess.CalledProcessError):
        commit(project, "Refused", stage_all=True)
    assert recent_subjects(project) == ("First",)


@pytest.mark.parametrize("message", ["", " \n", "a\0b"])
def test_a_message_that_git_would_refuse_is_refused_before(message):
    with pytest.raises(ValueError, match="message"):
        commit_command(message)
