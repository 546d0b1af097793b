"""What a commit would take is read without running anything; the commit itself is a command for the sandbox."""

import subprocess

import pytest

from laguna_tui.repo.files.sensitive_paths import sensitive_reason
from laguna_tui.repo.git.git_commit import (
    CannotCommitError,
    PendingChanges,
    commit_command,
    commit_made,
    pending_changes,
    recent_subjects,
)

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


def commit(project, message="A message"):
    """Commit what is pending as the sandbox's shell does; returns the message, the paths, and how it differs."""
    pending = pending_changes(project, sensitive_reason)
    assert pending is not None
    subprocess.run(["/bin/sh", "-c", commit_command(message, pending)], cwd=project, check=True, timeout=30)
    written = run_git(project, "log", "-1", "--format=%B").strip()
    return written, run_git(project, "show", "--format=", "--name-only").splitlines(), commit_made(project, pending)


def test_staged_unstaged_and_new_files_are_told_apart(project):
    (project / "a.py").write_text("two\n")
    run_git(project, "add", "a.py")
    (project / "b.py").write_text("three\n")
    (project / "new.py").write_text("")
    found = pending_changes(project, sensitive_reason)
    assert found is not None
    assert ("+two" in found.staged, "+three" in found.staged) == (True, False)
    assert ("+two" in found.unstaged, "+three" in found.unstaged) == (False, True)
    assert found.untracked == ("new.py",)


def test_nothing_to_commit_is_empty(project):
    found = pending_changes(project, sensitive_reason)
    assert found == PendingChanges(head=run_git(project, "rev-parse", "HEAD").strip())
    assert found.is_empty


def test_no_repository_has_no_changes(tmp_path):
    assert pending_changes(tmp_path, sensitive_reason) is None


def test_a_long_diff_is_cut_at_a_line_and_says_so(project):
    (project / "a.py").write_text("line\n" * 10_000)
    found = pending_changes(project, sensitive_reason, limit=1_000)
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
    found = pending_changes(project, sensitive_reason)
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
    message, files, different = commit(project, 'It\'s "new" $(touch x)\n`touch y`')
    assert message == 'It\'s "new" $(touch x)\n`touch y`'
    assert (files, different) == (["a.py"], ())
    assert sorted(path.name for path in project.iterdir()) == [".git", "a.py", "b.py"]
    assert run_git(project, "status", "--short") == " M b.py\n"


def test_everything_is_committed_when_nothing_is_staged(project):
    (project / "a.py").unlink()
    (project / "-odd *.py").write_text("new\n")
    (project / "link").symlink_to("b.py")
    (project / "b.py").chmod(0o755)
    assert commit(project)[1:] == (["-odd *.py", "a.py", "b.py", "link"], ())
    assert run_git(project, "status", "--short") == ""


def test_the_first_commit_of_a_repository_is_made(tmp_path):
    run_git(tmp_path, "init", "--object-format=sha256")
    for key in ("user.name", "user.email"):
        run_git(tmp_path, "config", key, "t@t")
    (tmp_path / "a.py").write_text("one\n")
    assert commit(tmp_path)[1:] == (["a.py"], ())


def hook(project, name, code):
    path = project / f".git/hooks/{name}"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("name", ["pre-commit", "prepare-commit-msg", "commit-msg"])
@pytest.mark.parametrize("staged", [(), ("a.py",), ("a.py", "new.py")])
def test_a_hook_that_refuses_leaves_the_index_as_it_is(project, name, staged):
    hook(project, name, "exit 1")
    (project / "a.py").write_text("two\n")
    (project / "new.py").write_text("new\n")
    if staged:
        run_git(project, "add", *staged)
    before = (project / ".git/index").read_bytes()
    with pytest.raises(subprocess.CalledProcessError):
        commit(project)
    assert (project / ".git/index").read_bytes() == before
    assert recent_subjects(project) == ("First",)
    pending = pending_changes(project, sensitive_reason)
    assert commit_made(project, pending) is None


CHANGING_HOOKS = {
    "echo three > a.py; git add a.py": ("a.py: committed with other contents",),
    "echo x > c.py; git add c.py": ("c.py: committed without being shown",),
    "git rm -q --cached b.py": ("b.py: committed without being shown",),
    "git reset -q a.py": ("a.py: not committed",),
    "chmod +x a.py; git add a.py": ("a.py: committed with other contents",),
}


@pytest.mark.parametrize("code", CHANGING_HOOKS)
@pytest.mark.parametrize("stage", [True, False])
def test_what_a_hook_commits_otherwise_is_reported_and_the_index_is_as_committed(project, code, stage):
    hook(project, "pre-commit", code)
    (project / "a.py").write_text("two\n")
    (project / "new.py").write_text("new\n")
    if stage:
        run_git(project, "add", "-A")
    assert commit(project)[2] == CHANGING_HOOKS[code]
    # What was staged and is not in the commit stays staged.
    assert run_git(project, "diff", "--cached", "--name-only") == ("a.py\n" if stage and "reset" in code else "")


def test_a_file_that_changes_after_it_was_shown_is_reported(project):
    (project / "a.py").write_text("two\n")
    pending = pending_changes(project, sensitive_reason)
    (project / "a.py").write_text("raced\n")
    (project / "late.py").write_text("raced\n")
    subprocess.run(["/bin/sh", "-c", commit_command("x", pending)], cwd=project, check=True)
    assert commit_made(project, pending) == (
        "a.py: committed with other contents",
        "late.py: committed without being shown",
    )


def test_a_commit_on_top_of_another_one_than_shown_is_reported(project):
    (project / "a.py").write_text("two\n")
    pending = pending_changes(project, sensitive_reason)
    run_git(project, "commit", "--allow-empty", "-m", "Meanwhile")
    subprocess.run(["/bin/sh", "-c", commit_command("x", pending)], cwd=project, check=True)
    assert commit_made(project, pending) == ("the last commit does not follow the one that was the last",)


@pytest.mark.parametrize(
    ("attributes", "written"),
    [("*.py text", "one\r\ntwo\r\n"), ("*.py filter=x", "one\n"), ("*.py ident", "$Id: x$\n")],
)
def test_what_git_converts_is_not_taken_for_another_content(project, attributes, written):
    run_git(project, "config", "filter.x.clean", "tr a-z A-Z")
    (project / ".gitattributes").write_text(attributes)
    run_git(project, "add", "-A")
    run_git(project, "add", "--renormalize", ".")
    run_git(project, "commit", "-m", "With attributes")
    (project / "b.py").touch()
    for name in ("a.py", "new.py"):
        (project / name).write_bytes(b"more\r\n" + written.encode())
    assert commit(project)[1:] == (["a.py", "new.py"], ())


def test_a_replaced_object_does_not_change_what_is_shown(project):
    (project / "other").write_text("two\n")
    other = run_git(project, "hash-object", "-w", "other").strip()
    (project / "other").unlink()
    run_git(project, "replace", run_git(project, "rev-parse", "HEAD:a.py").strip(), other)
    (project / "a.py").write_text("two\n")
    assert "-one\n+two" in pending_changes(project, sensitive_reason).unstaged


def test_the_diff_of_a_file_with_secrets_is_left_out_but_the_file_is_listed(project):
    (project / ".env").write_text("KEY=old\n")
    run_git(project, "add", ".env")
    run_git(project, "commit", "-m", "Second")
    (project / ".env").write_text("KEY=geheim\n")
    (project / "a.py").write_text("two\n")
    pending = pending_changes(project, sensitive_reason)
    assert "geheim" not in pending.unstaged
    assert "+two" in pending.unstaged
    assert [*pending.files] == [".env", "a.py"]


def test_conflicts_are_not_committed(project):
    run_git(project, "switch", "-c", "other")
    for branch, text in (("other", "two\n"), ("main", "three\n")):
        run_git(project, "switch", branch)
        (project / "a.py").write_text(text)
        run_git(project, "commit", "-am", branch)
    subprocess.run([*GIT, "merge", "other"], cwd=project, check=False, capture_output=True)
    with pytest.raises(CannotCommitError) as error:
        pending_changes(project, sensitive_reason)
    assert str(error.value) == "Files are in conflict. Resolve the conflicts and stage the files first."
    (project / "a.py").write_text("four\n")
    run_git(project, "add", "a.py")
    assert commit(project)[2] == ()
    assert len(run_git(project, "log", "-1", "--format=%P").split()) == 2


def test_a_new_commit_of_a_submodule_is_shown_and_committed(project, tmp_path):
    run_git(project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(project), "module")
    run_git(project, "commit", "-m", "Second")
    run_git(project / "module", "commit", "--allow-empty", "-m", "In it")
    assert commit(project)[1:] == (["module"], ())


@pytest.mark.parametrize("message", ["", " \n", "a\0b"])
def test_a_message_that_git_would_refuse_is_refused_before(message):
    with pytest.raises(ValueError, match="message"):
        commit_command(message, PendingChanges())


STATES = ("clean", "changed", "staged", "both")


def put_into(folder, state):
    if state != "clean":
        (folder / "x.py").write_text("two\n")
        (folder / "new.py").write_text("new\n")
    if state in ("staged", "both"):
        run_git(folder, "add", "-A", ".")
    if state == "both":
        (folder / "x.py").write_text("three\n")


@pytest.fixture
def parts(project):
    for name in ("sub", "more"):
        (project / name).mkdir()
        (project / name / "x.py").write_text("one\n")
    run_git(project, "add", "-A")
    run_git(project, "commit", "-m", "Parts")
    return project


def staged(project):
    return run_git(project, "diff", "--cached", "--name-status", "--no-renames").splitlines()


@pytest.mark.parametrize("outside", STATES)
@pytest.mark.parametrize("inside", STATES[1:])
@pytest.mark.parametrize("fails", [False, True])
def test_a_part_of_a_repository_is_committed_alone(parts, inside, outside, fails):
    put_into(parts / "more", outside)
    put_into(parts / "sub", inside)
    status = run_git(parts, "status", "--short", "-uall").splitlines()
    before, tracked = staged(parts), {path: path.read_bytes() for path in parts.rglob("*.py")}
    if fails:
        hook(parts, "pre-commit", "exit 1")
        with pytest.raises(subprocess.CalledProcessError):
            commit(parts / "sub")
        assert run_git(parts, "status", "--short", "-uall").splitlines() == status
    else:
        _, files, different = commit(parts / "sub")
        assert (files, different) == (["sub/new.py", "sub/x.py"], ())
        assert run_git(parts, "show", "HEAD:sub/x.py") == "two\n"
        assert staged(parts) == [line for line in before if "\tmore/" in line]
        left = [" M sub/x.py"] if inside == "both" else []
        assert run_git(parts, "status", "--short", "-uall").splitlines() == sorted(
            [*left, *(line for line in status if " more/" in line)], key=lambda line: (line.startswith("??"), line[3:])
        )
    assert {path: path.read_bytes() for path in parts.rglob("*.py")} == tracked


def test_what_is_staged_outside_a_part_is_named(parts):
    put_into(parts / "more", "staged")
    found = pending_changes(parts / "sub", sensitive_reason)
    assert found.is_empty
    assert found.staged_outside == ("more/new.py", "more/x.py")


def test_a_part_is_not_committed_during_a_merge(parts):
    (parts / ".git/MERGE_HEAD").write_text(run_git(parts, "rev-parse", "HEAD"))
    put_into(parts / "sub", "staged")
    with pytest.raises(CannotCommitError) as error:
        pending_changes(parts / "sub", sensitive_reason)
    assert str(error.value) == (
        f"A merge or rebase is in progress, and this folder is only a part of the repository. Finish it in {parts}."
    )


def test_files_that_a_sparse_checkout_leaves_out_are_not_committed_as_deleted(parts):
    run_git(parts, "sparse-checkout", "set", "sub")
    assert not (parts / "more").exists()
    put_into(parts / "sub", "changed")
    assert commit(parts)[1:] == (["sub/new.py", "sub/x.py"], ())
    assert run_git(parts, "ls-files", "more") == "more/x.py\n"


def test_another_work_tree_is_not_committed(project):
    (project / "other").mkdir()
    run_git(project, "config", "core.worktree", str(project / "other"))
    for folder in (project, project / "other"):
        with pytest.raises(CannotCommitError, match=r"core\.worktree names another folder"):
            pending_changes(folder, sensitive_reason)
