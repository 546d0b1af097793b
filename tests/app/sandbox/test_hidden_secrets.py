"""Secrets are read by no command, and no command commits something else in their place."""

import json
import os
import subprocess

import pytest

from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy
from tests.app.sandbox.world import NOBODY, Forked, run_inside

COMMITTED, SECRET = "KEY=public\n", "KEY=geheim\n"


def shell(status, folder, code, **policy):
    output, _ = run_inside(status, ("/bin/sh", "-c", code), folder, policy=SandboxPolicy(folder, **policy))
    return output


def git(folder, *words, **more):
    ran = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True, **more)
    return ran.stdout.strip()


def commit(folder, path=".env", text=COMMITTED):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)
    git(folder, "add", "-f", "a.txt", path)
    git(folder, "commit", "-qm", "first")


@pytest.fixture
def changed(repository):
    """A repository with a committed secret that is different now."""
    commit(repository)
    (repository / ".env").write_text(SECRET)
    return repository


def assume_unchanged(folder):
    git(folder, "update-index", "--assume-unchanged", ".env")


def skip_worktree(folder):
    git(folder, "update-index", "--skip-worktree", ".env")


def stage_the_same_contents(folder):
    git(folder, "add", ".env")


def commit_a_decoy(folder):
    (folder / ".env").rename(folder / "real")
    (folder / ".env").write_text("KEY=decoy\n")
    git(folder, "commit", "-qam", "decoy")
    (folder / "real").rename(folder / ".env")
    git(folder, "update-index", "--assume-unchanged", ".env")


def replace_the_committed_object(folder):
    real = git(folder, "hash-object", "-w", ".env")
    git(folder, "replace", git(folder, "rev-parse", "HEAD:.env"), real)


def clean_by_a_filter(folder):
    git(folder, "config", "filter.x.clean", "echo KEY=public")
    (folder / ".gitattributes").write_text(".env filter=x\n")


def begin_an_empty_branch(folder):
    git(folder, "checkout", "-q", "--orphan", "empty")


HIDING_THE_CHANGE = (
    assume_unchanged,
    skip_worktree,
    stage_the_same_contents,
    commit_a_decoy,
    replace_the_committed_object,
    clean_by_a_filter,
    begin_an_empty_branch,
)


@pytest.mark.parametrize("hide", HIDING_THE_CHANGE, ids=lambda hide: hide.__name__)
def test_only_bytes_of_the_last_commit_are_shown(changed, bubblewrap, hide):
    hide(changed)
    assert "geheim" not in shell(bubblewrap, changed, "cat .env")
    assert (changed / ".env").read_text() == SECRET


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_committed_secret_is_shown_in_either_object_format(repository, bubblewrap, object_format):
    folder = repository / object_format
    folder.mkdir()
    git(folder, "init", "-q", f"--object-format={object_format}")
    for key in ("user.name", "user.email"):
        git(folder, "config", key, "t@t")
    (folder / "a.txt").touch()
    commit(folder)
    assert shell(bubblewrap, folder, "cat .env; git status --short") == COMMITTED
    (folder / ".env").write_text(SECRET)
    assert shell(bubblewrap, folder, "cat .env; git status --short") == COMMITTED


def _commits(base):
    """What commits of a command contain while a tracked secret is changed: as that user."""
    folder = base / "repository"
    folder.mkdir()
    (base / "home").mkdir()
    git(folder, "init", "-q")
    for key in ("user.name", "user.email"):
        git(folder, "config", key, "t@t")
    (folder / "a.txt").touch()
    commit(folder)
    (folder / ".env").write_text(SECRET)
    (folder / ".env").chmod(0o755)
    status = SandboxStatus(SandboxKind.BUBBLEWRAP, "", program="/usr/bin/bwrap")
    seen = [shell(status, folder, "git status --short && echo b > a.txt && git add -A && git commit -qm 2")]
    seen.append(shell(status, folder, "echo c > a.txt; git commit -qam 3; echo d > a.txt; git stash -q; cat a.txt"))
    seen += [git(folder, "show", f"HEAD~{back}:.env") for back in (0, 1)]
    (folder / ".env.local").write_text(SECRET)
    seen.append(shell(status, folder, "cat .env.local; git add -A; echo $?; chmod 600 .env.local"))
    return [*seen, git(folder, "status", "--short"), (folder / ".env").read_text()]


@pytest.mark.parametrize("uid", [None, pytest.param(NOBODY, marks=pytest.mark.skipif(os.getuid() != 0, reason="root"))])
def test_a_changed_secret_is_as_committed_for_git_and_a_new_one_cannot_be_added(bubblewrap, uid):
    mode_change, stash, third, second, new, status, kept = json.loads(Forked(uid, _commits).text())
    assert mode_change == " M .env\n"
    assert stash == "c\n"
    assert [second, third] == [COMMITTED.strip()] * 2
    assert "geheim" not in new
    assert ".env.local: Permission denied" in new
    assert "\n128\n" in new
    assert "chmod: changing permissions of '.env.local': Read-only file system" in new
    assert status == "M .env\n?? .env.local"
    assert kept == SECRET


def test_an_ignored_secret_is_empty(repository, bubblewrap):
    (repository / ".gitignore").write_text(".env\n")
    (repository / ".env").write_text(SECRET)
    output = shell(bubblewrap, repository, "cat .env; git add -A && git commit -qm first && git status --short")
    assert output == ""
    assert git(repository, "ls-files").split() == [".gitignore", "a.txt"]


def test_a_staged_secret_stays_staged(changed, bubblewrap):
    git(changed, "add", ".env")
    (changed / ".env").write_text("KEY=later\n")
    output = shell(bubblewrap, changed, "cat .env; echo b > a.txt; git commit -qam 2; echo $?")
    assert "later" not in output
    assert output.endswith("128\n")
    assert git(changed, "show", ":.env") == SECRET.strip()


def test_a_secret_that_is_converted_by_a_filter_is_unreadable(changed, bubblewrap):
    clean_by_a_filter(changed)
    assert "Permission denied" in shell(bubblewrap, changed, "cat .env")


def test_each_repository_in_the_workspace_has_its_own_secrets(changed, bubblewrap):
    nested = changed / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    (nested / "a.txt").touch()
    for key in ("user.name", "user.email"):
        git(nested, "config", key, "t@t")
    commit(nested, "prod.env", "NESTED=public\n")
    (nested / "prod.env").write_text(SECRET)
    assert shell(bubblewrap, changed, "cat .env nested/prod.env; git -C nested status --short") == (
        f"{COMMITTED}NESTED=public\n"
    )


def test_a_tracked_folder_of_secrets_is_not_committed_as_deleted(repository, bubblewrap):
    for name in ("same", "other"):
        commit(repository, f".aws/{name}", COMMITTED)
    (repository / ".aws/other").write_text(SECRET)
    (repository / ".aws/new").write_text(SECRET)
    output = shell(bubblewrap, repository, "cat .aws/same .aws/other; echo b > a.txt; git commit -qam 2")
    assert output == COMMITTED * 2
    assert git(repository, "show", "--format=", "--name-only") == "a.txt"
    assert "Permission denied" in shell(bubblewrap, repository, "cat .aws/new")


def test_a_link_to_a_tracked_file_does_not_empty_it(repository, bubblewrap):
    commit(repository, "settings", COMMITTED)
    (repository / ".env").symlink_to("settings")
    assert shell(bubblewrap, repository, "cat .env settings; git add -A; git commit -qm 2") == COMMITTED * 2
    assert git(repository, "show", "HEAD:settings") == COMMITTED.strip()


def test_objects_that_a_command_cannot_read_are_not_copied_for_it(repository, bubblewrap, place):
    """A repository may name a branch and objects of another one, here one in a folder of credentials."""
    hidden = place / "home/.ssh"
    hidden.mkdir()
    git(hidden, "init", "-q")
    for key in ("user.name", "user.email"):
        git(hidden, "config", key, "t@t")
    (hidden / "a.txt").touch()
    commit(hidden, "x.pem", SECRET)
    nested = repository / "nested"
    nested.mkdir()
    git(nested, "init", "-q", "-b", "main")
    (nested / ".git/objects/info/alternates").write_text(f"{hidden}/.git/objects\n")
    branch = git(hidden, "symbolic-ref", "HEAD")
    (nested / ".git/refs/heads/main").symlink_to(hidden / ".git" / branch)
    (nested / "x.pem").write_text("guess")
    git(nested, "read-tree", "HEAD")
    assert git(nested, "show", "HEAD:x.pem") == SECRET.strip()
    assert "Permission denied" in shell(bubblewrap, repository, "cat nested/x.pem")


def test_what_a_rule_keeps_from_being_read_is_not_committed_as_empty_or_deleted(repository, bubblewrap):
    for path in ("data/x", "data/deep/AGENTS.md", "a.note"):
        commit(repository, path, COMMITTED)
    (repository / "data/x").write_text(SECRET)
    rules = {"unreadable": ("data", "*.note")}
    output = shell(
        bubblewrap, repository, "echo b > a.txt; git commit -qam 2; ls data; git add -A; cat a.note", **rules
    )
    assert "KEY" not in output
    assert "a.note: Permission denied" in output
    shell(bubblewrap, repository, "git add a.txt; git commit -qm 2", **rules)
    assert git(repository, "show", "--format=", "--name-only", "HEAD") == "a.txt"
