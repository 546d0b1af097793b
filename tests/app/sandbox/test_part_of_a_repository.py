"""In a folder that is only a part of a repository git reads all of it, and refuses what would change it by halves."""

import shutil
import subprocess
from itertools import product

import pytest

from laguna_tui.sandbox.launch import prepare
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy
from tests.app.sandbox.world import run_inside

STATES = ("clean", "changed", "staged")
REFUSED = (
    "git add -A",
    "git commit -qm x",
    "git commit -qam x",
    "git switch -q other",
    "git checkout -qf other",
    "git checkout -- :/",
    "git stash -u",
    "git merge -q other",
    "git rebase -q other",
    "git reset -q --hard",
    "git reset -q --hard other",
    "git restore --source other :/",
    "git cherry-pick other",
    "git rm -rqf .",
    "git branch x",
    "git config a.b c",
    "git update-ref HEAD other",
    "git gc -q",
    "git worktree add ../w",
    "rm -rf ../.git",
    "rm -f ../a.txt",
    "mv ../.git ../gone",
)


def shell(status, folder, code, **policy):
    output, _ = run_inside(status, ("/bin/bash", "-c", code), folder, policy=SandboxPolicy(folder, **policy))
    return output


def git(folder, *words):
    return subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture(params=["elsewhere", "below /tmp"])
def around(request, repository, tmp_path):
    """A repository with the folders `sub` and `more`, and two branches; below /tmp there is a sandbox's own folder."""
    folder = repository
    if request.param == "below /tmp":
        assert tmp_path.is_relative_to("/tmp")
        folder = tmp_path / "repository"
        shutil.move(repository, folder)
    for path in ("sub/a.txt", "more/a.txt"):
        (folder / path).parent.mkdir()
        (folder / path).write_text("1\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    git(folder, "switch", "-qc", "other")
    for path in ("sub/a.txt", "more/a.txt"):
        (folder / path).write_text("2\n")
    git(folder, "commit", "-qam", "second")
    git(folder, "switch", "-q", "main")
    return folder


def put_into(folder, state):
    if state != "clean":
        (folder / "a.txt").write_text("3\n")
        (folder / "new.txt").write_text("3\n")
    if state == "staged":
        git(folder, "add", "-A", ".")


def contents(folder):
    return {
        path: path.readlink() if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if not path.is_dir() or path.is_symlink()
    }


@pytest.mark.parametrize(("inside", "outside"), product(STATES, STATES))
def test_what_would_change_the_repository_is_refused_and_moves_nothing(around, status, inside, outside):
    put_into(around / "more", outside)
    put_into(around / "sub", inside)
    before = contents(around)
    code = "\n".join(f'{command} >/dev/null 2>&1 && echo "{command}"' for command in REFUSED)
    assert shell(status, around / "sub", code) == ""
    assert contents(around) == before


def test_the_whole_repository_is_read(around, status):
    put_into(around / "more", "changed")
    code = "git status --short; git log --format=%s other; cat ../more/a.txt"
    expected = subprocess.run(["sh", "-c", code], cwd=around / "sub", capture_output=True, text=True, check=True)
    assert shell(status, around / "sub", code) == expected.stdout


def test_the_reason_names_the_root(around, status):
    with prepare(status, SandboxPolicy(around / "sub"), ("true",)) as prepared:
        assert prepared.git_read_only == (
            "git cannot change the repository, because this session's folder is only a part of it; the user can commit"
            f" the folder with /commit, and for everything else start in the repository's root, {around}"
        )


def test_a_commit_of_the_users_reaches_the_repository(around, status):
    put_into(around / "sub", "changed")
    code = "git add -A . && git commit -qm third && git log -1 --format=%s; echo x > ../.git/config; echo x > ../a.txt"
    before = contents(around / "more")
    output = shell(status, around / "sub", code, committed=frozenset())
    assert output.startswith("third\n")
    assert "/.git/config: " in output or status.kind.value == "landlock"
    assert (around / "a.txt").read_text() == "a\n"
    assert contents(around / "more") == before


def test_a_folder_behind_a_link_is_the_same_part(around, status):
    (around.parent / "link").symlink_to(around / "sub")
    put_into(around / "sub", "changed")
    before = contents(around)
    assert "lock': " in shell(status, around.parent / "link", "git add -A")
    assert contents(around) == before


def test_a_folder_in_a_worktree_is_a_part_of_it(around, status):
    git(around, "worktree", "add", "-q", "../tree", "other")
    folder = around.parent / "tree"
    put_into(folder / "sub", "changed")
    before = contents(around)
    assert "lock': " in shell(status, folder / "sub", "git commit -qam x")
    assert shell(status, folder / "sub", "git status --short") == " M a.txt\n?? new.txt\n"
    assert shell(status, folder / "sub", "git add . && git commit -qm x", committed=frozenset()) == ""
    assert contents(around).keys() > before.keys()
    assert git(folder, "log", "-1", "--format=%s") == "x\n"


@pytest.fixture
def submodule(around):
    git(around, "clone", "-q", "--bare", ".", "../upstream.git")
    git(around, "submodule", "add", "-q", "../upstream.git", "module")
    git(around, "commit", "-qm", "with a submodule")
    for key in ("user.name", "user.email"):
        git(around / "module", "config", key, "t@t")
    return around / "module"


def test_a_session_in_a_submodule_commits_to_it(submodule, status):
    put_into(submodule, "changed")
    before = contents(submodule.parent)
    assert shell(status, submodule, "git add -A && git commit -qm x && git status --short") == ""
    assert git(submodule, "log", "-1", "--format=%s") == "x\n"
    data = submodule.parent / ".git/modules/module"
    after = contents(submodule.parent)
    assert {path for path in after if after[path] != before.get(path)} == {
        path for path in after if path.is_relative_to(data) and path not in before
    } | {data / name for name in ("index", "logs/HEAD", "logs/refs/heads/main", "refs/heads/main")} | (
        {data / "COMMIT_EDITMSG"}
    )


def test_what_git_executes_in_a_submodule_stays(submodule, bubblewrap):
    data = submodule.parent / ".git/modules/module"
    before = contents(data)
    shell(bubblewrap, submodule, f"git config a.b c; echo x > {data}/hooks/pre-commit; echo . > {data}/commondir")
    assert contents(data) == before


def test_a_session_around_a_submodule_does_not_change_it(submodule, bubblewrap):
    put_into(submodule, "changed")
    before = contents(submodule.parent)
    assert "/.git/modules/module/index.lock': Read-only" in shell(bubblewrap, submodule.parent, "git -C module add -A")
    assert contents(submodule.parent) == before


def test_a_git_folder_elsewhere_that_does_not_name_this_one_stays(repository, status):
    git(repository, "init", "-q", "--separate-git-dir", "../data")
    before = contents(repository.parent / "data")
    assert "fatal: " in shell(status, repository, "git add -A")
    assert contents(repository.parent / "data") == before
    with prepare(status, SandboxPolicy(repository), ("true",)) as prepared:
        assert f"its data is in {repository.parent}/data, which does not name this folder" in prepared.git_read_only


def test_a_repository_of_another_work_tree_stays(repository, bubblewrap):
    other = repository.parent / "other"
    other.mkdir()
    (other / "a.txt").write_text("other\n")
    git(repository, "config", "core.worktree", str(other))
    before = contents(repository.parent)
    for command in ("git add -A", "git -C ../other status", "git --work-tree . add -A", "git rm --cached a.txt"):
        shell(bubblewrap, repository, command)
    assert contents(repository.parent) == before
    with prepare(bubblewrap, SandboxPolicy(repository), ("true",)) as prepared:
        assert "core.worktree names another folder" in prepared.git_read_only


def test_a_nested_repository_and_a_sparse_one_are_whole(repository, status):
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "first")
    nested = repository / "sub/nested"
    nested.mkdir(parents=True)
    git(nested, "init", "-q")
    (nested / "x").touch()
    config = "-c user.name=t -c user.email=t@t"
    assert shell(status, nested, f"git add -A && git {config} commit -qm x") == ""
    assert shell(status, repository / "sub", f"cd nested && git {config} commit -q --allow-empty -m y") == ""
    for folder in ("in", "out"):
        (repository / folder).mkdir()
        (repository / folder / "x").touch()
    git(repository, "add", "in", "out")
    git(repository, "commit", "-qm", "second")
    git(repository, "sparse-checkout", "set", "in")
    assert not (repository / "out").exists()
    (repository / "in/x").write_text("1")
    shell(status, repository, "git add -A in && git commit -qm third")
    assert git(repository, "show", "--format=", "--name-only") == "in/x\n"
