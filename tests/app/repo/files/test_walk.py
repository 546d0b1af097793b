"""The walk sees what a developer would call the files of a project, and nothing that could hurt."""

import os
import shutil
import subprocess
import sys

import psutil
import pytest

from laguna_tui.repo.files.root_folder import MAX_DEPTH
from laguna_tui.repo.files.unsearched import Unsearched
from laguna_tui.repo.files.walk import FileListing, list_tree, walk
from laguna_tui.repo.git import repository

GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]


def run_git(folder, *command):
    subprocess.run([*GIT, *command], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    for path in ("src/main.py", "src/util.py", "build/out.py", "notes.log", "keep.log", "node_modules/x/index.js"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x = 1\n")
    (root / ".gitignore").write_text("build/\nnode_modules/\n*.log\n!keep.log\n")
    return root


def paths(root):
    return [entry.path for entry in walk(root).entries]


EXPECTED = [".gitignore", "keep.log", "src/main.py", "src/util.py"]


def test_without_git_the_ignore_files_are_obeyed(project):
    assert paths(project) == EXPECTED


def test_with_git_tracked_and_new_files_are_listed(project):
    run_git(project, "init")
    run_git(project, "add", "src/main.py")
    assert paths(project) == EXPECTED


def test_a_tracked_file_that_was_deleted_is_not_listed(project):
    run_git(project, "init")
    run_git(project, "add", ".")
    (project / "src/util.py").unlink()
    assert "src/util.py" not in paths(project)


def test_a_folder_that_its_repository_ignores_can_still_be_looked_at(project):
    run_git(project, "init")
    assert paths(project / "build") == ["out.py"]


def test_a_deeper_ignore_file_speaks_last(project):
    (project / "src/.gitignore").write_text("util.py\n!*.log\n")
    (project / "src/seen.log").write_text("x")
    assert paths(project) == [".gitignore", "keep.log", "src/.gitignore", "src/main.py", "src/seen.log"]


@pytest.fixture
def library(tmp_path):
    """Another repository, with one commit."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "lib.py").write_text("def needle(): pass\n")
    run_git(library, "init")
    run_git(library, "add", ".")
    run_git(library, "commit", "-m", "begin")
    return library


def test_repositories_inside_and_missing_submodules_are_named(project, library):
    run_git(project, "init")
    for path in ("lib", "absent"):
        run_git(project, "-c", "protocol.file.allow=always", "submodule", "add", str(library), path)
    run_git(project, "submodule", "deinit", "--force", "absent")
    run_git(project, "clone", str(library), "nested")
    (project / "empty").mkdir()
    listing = walk(project)
    assert [entry.path for entry in listing.entries] == [".gitignore", ".gitmodules", *EXPECTED[1:]]
    assert listing.unsearched == Unsearched(repositories=("lib", "nested"), absent=("absent",))


def test_what_a_sparse_checkout_leaves_out_is_named_and_what_was_deleted_is_not(project):
    for path in ("docs/guide/start.md", "docs/index.md", "src/old/one.py", "src/old/two.py", "src/gone.py"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text("x")
    run_git(project, "init")
    run_git(project, "add", ".")
    run_git(project, "commit", "-m", "begin")
    run_git(project, "sparse-checkout", "set", "--no-cone", "/*", "!/docs/", "!/src/old/", "!/src/util.py")
    (project / "src/gone.py").unlink()
    listing = walk(project)
    assert [entry.path for entry in listing.entries] == [".gitignore", "keep.log", "src/main.py"]
    assert listing.unsearched == Unsearched(sparse=("docs", "src/old", "src/util.py"))
    run_git(project, "sparse-checkout", "disable")
    assert walk(project).unsearched == Unsearched()


@pytest.mark.parametrize("name", ["bare.git", "folder/.git"])
def test_a_bare_repository_has_no_files(tmp_path, library, name):
    run_git(tmp_path, "clone", "--bare", str(library), name)
    assert walk(tmp_path / name.removesuffix("/.git")) == FileListing((), unsearched=Unsearched(bare=("",)))


def test_beside_the_work_trees_of_a_bare_repository_only_they_are_listed(tmp_path, library):
    root = tmp_path / "trees"
    run_git(tmp_path, "clone", "--bare", str(library), str(root / ".bare"))
    (root / ".git").write_text("gitdir: ./.bare\n")
    run_git(root, "worktree", "add", "main", "main")
    assert (paths(root), walk(root).unsearched) == (["main/lib.py"], Unsearched(bare=(".bare",)))


@pytest.mark.parametrize("with_git", [False, True])
def test_links_pipes_and_sockets_are_left_out(project, tmp_path, with_git):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("secret")
    (project / "link.txt").symlink_to(tmp_path / "outside/secret.txt")
    (project / "linked").symlink_to(tmp_path / "outside")
    (project / "loop").symlink_to(project)
    os.mkfifo(project / "pipe")
    if with_git:
        run_git(project, "init")
        run_git(project, "add", ".")
    assert paths(project) == EXPECTED


@pytest.mark.parametrize("with_git", [False, True])
def test_more_files_than_can_be_looked_at_are_said_to_be_more(project, monkeypatch, with_git):
    if with_git:
        run_git(project, "init")
    assert walk(project).complete
    monkeypatch.setattr("laguna_tui.repo.files.walk.MAX_FILES", 3)
    listing = walk(project)
    assert not listing.complete
    assert len(listing.entries) == 3


@pytest.mark.timeout(10)
def test_a_hostile_ignore_file_takes_no_time(project):
    (project / ".gitignore").write_text("*a" * 60 + "b\n" + "**/a/" * 60 + "b\n" + "*.log\n")
    (project / ("a" * 200)).touch()
    (project / "/".join("a" * 60)).mkdir(parents=True)
    assert "notes.log" not in paths(project)


@pytest.mark.parametrize("with_git", [False, True])
def test_a_folder_deeper_than_there_are_descriptors_takes_few_of_them(project, with_git):
    """Each part of a path holds one while it is looked at."""
    deep = "/".join("d" * 2 * MAX_DEPTH)
    (project / deep).mkdir(parents=True)
    (project / deep / "deep.py").touch()
    (project / "d/near.py").touch()
    if with_git:
        run_git(project, "init")
    before, most = psutil.Process().num_fds(), []
    listing = walk(project, lambda: bool(most.append(psutil.Process().num_fds())))
    assert [entry.path for entry in listing.entries] == sorted([*EXPECTED, "d/near.py"])
    assert max(most) - before <= 2 * MAX_DEPTH + 10
    assert psutil.Process().num_fds() == before


def many_ignore_files(project):
    for number in range(50):
        (project / f"m{number:02}").mkdir()
        (project / f"m{number:02}/x1").touch()
        (project / f"m{number:02}/.gitignore").write_text("".join(f"x{each}\n" for each in range(100)))


def test_ignore_files_that_are_too_long_together_are_passed_over(project, monkeypatch):
    """Each is small enough to be obeyed; together they would take hours to make."""
    monkeypatch.setattr("laguna_tui.repo.files.walk._IGNORE_PATTERNS", 1_000)
    many_ignore_files(project)
    shown = [path for path in paths(project) if path.endswith("/x1")]
    assert "m05/x1" not in shown
    assert "m20/x1" in shown
    assert 40 <= len(shown) < 50


def test_patterns_are_not_tried_for_ever(project, monkeypatch):
    monkeypatch.setattr("laguna_tui.repo.files.walk._IGNORE_TRIES", 2_000)
    many_ignore_files(project)
    listing = walk(project)
    assert not listing.complete
    assert "m49/.gitignore" not in [entry.path for entry in listing.entries]
    assert "keep.log" in [entry.path for entry in listing.entries]


def test_ignore_files_within_their_budget_leave_the_listing_complete(project):
    for number in range(50):
        (project / f"m{number:02}").mkdir()
        (project / f"m{number:02}/.gitignore").write_text("*.log\n")
    assert walk(project).complete


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_folder_is_passed_over(project):
    (project / "closed").mkdir(mode=0o000)
    assert paths(project) == EXPECTED


def test_git_says_branch_and_changes(project):
    run_git(project, "init")
    run_git(project, "add", ".")
    run_git(project, "commit", "-m", "x")
    (project / "src/main.py").write_text("y = 2\n")
    (project / "src/new.py").write_text("")
    assert repository.state(project) == repository.GitState("main", 2)


def test_a_detached_head_is_named_by_its_commit(project):
    run_git(project, "init")
    run_git(project, "add", ".")
    run_git(project, "commit", "-m", "x")
    run_git(project, "checkout", "--detach")
    commit = (project / ".git/HEAD").read_text()
    assert repository.state(project) == repository.GitState(commit[:8], 0)


def test_no_repository_has_no_state(tmp_path):
    assert repository.state(tmp_path) is None


def test_nothing_that_a_hostile_repository_configures_is_run(project, tmp_path):
    run_git(project, "init")
    trap = tmp_path / "trap.sh"
    sprung = tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch {sprung}\ncat\n")
    trap.chmod(0o755)
    (project / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    run_git(project, "add", ".")
    run_git(project, "commit", "-m", "x")
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "diff.evil.textconv"):
        run_git(project, "config", key, str(trap))
    run_git(project, "config", "filter.evil.clean", str(trap))
    run_git(project, "config", "filter.evil.process", str(trap))
    run_git(project, "config", "core.hooksPath", str(tmp_path))
    for hook in ("post-index-change", "fsmonitor-watchman"):
        (tmp_path / hook).write_text(trap.read_text())
        (tmp_path / hook).chmod(0o755)
    # The same size, so that git has to look inside to see whether it changed.
    (project / "src/main.py").write_text("x = 2\n")
    assert repository.state(project) == repository.GitState("main", 1)
    assert "src/main.py" in paths(project)
    assert not sprung.exists()


def test_the_trap_would_have_sprung(project, tmp_path):
    """The test above means nothing unless plain git falls for it."""
    run_git(project, "init")
    (project / ".gitattributes").write_text("*.py filter=evil\n")
    run_git(project, "add", ".")
    sprung = tmp_path / "sprung"
    run_git(project, "config", "filter.evil.clean", f"touch {sprung}; cat")
    (project / "src/main.py").write_text("x = 2\n")
    subprocess.run(["git", "status"], cwd=project, check=True, capture_output=True)
    assert sprung.exists()


def test_settings_from_outside_do_not_redirect_git(project, tmp_path, monkeypatch):
    run_git(project, "init")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert paths(project) == EXPECTED


@pytest.mark.parametrize("with_git", [False, True])
def test_a_walk_that_the_user_stops_says_that_it_is_not_complete(project, with_git):
    if with_git:
        run_git(project, "init")
    listing = walk(project, lambda: True)
    assert (listing.entries, listing.complete) == ((), False)


@pytest.mark.parametrize("with_git", [False, True])
def test_a_stop_in_the_middle_keeps_what_was_found(project, monkeypatch, with_git):
    monkeypatch.setattr("laguna_tui.repo.files.walk._STRIDE", 1)
    if with_git:
        run_git(project, "init")
    found = []
    file = (project / EXPECTED[0]).stat()
    monkeypatch.setattr("laguna_tui.repo.files.walk._status", lambda tree, path: found.append(path) or file)
    listing = walk(project, lambda: len(found) == 2)
    assert [entry.path for entry in listing.entries] == EXPECTED[:2]
    assert not listing.complete


def test_git_that_takes_too_long_is_ended_and_the_folder_walked(project, monkeypatch, tmp_path):
    slow = tmp_path / "bin/git"
    slow.parent.mkdir()
    slow.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    slow.chmod(0o755)
    run_git(project, "init")
    monkeypatch.setenv("PATH", str(slow.parent), prepend=os.pathsep)
    monkeypatch.setattr(repository, "LIST_TIMEOUT_S", 0.5)
    assert paths(project) == EXPECTED
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.fixture
def asked_git(tmp_path, monkeypatch):
    """Whether git was started: a file that it leaves."""
    real, asked = shutil.which("git"), tmp_path / "asked"
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ntouch {asked}\nexec {real} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    return asked


def put_a_pipe(path):
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "name", ["HEAD", "config", "index", "packed-refs", "refs/heads/main", "info/exclude", "info/attributes"]
)
def test_git_is_not_asked_where_it_would_wait_for_a_pipe(project, asked_git, name):
    run_git(project, "init")
    run_git(project, "add", ".")
    asked_git.unlink()
    put_a_pipe(project / ".git" / name)
    assert paths(project) == EXPECTED
    assert repository.state(project) is None
    assert not asked_git.exists()


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", [".gitignore", ".gitattributes"])
def test_a_pipe_instead_of_gits_files_in_the_folder_is_passed_over(project, asked_git, name):
    run_git(project, "init")
    asked_git.unlink()
    put_a_pipe(project / name)
    assert "src/main.py" in paths(project)
    assert not asked_git.exists()


@pytest.mark.timeout(30)
def test_a_device_without_an_end_is_not_read_by_git(project, asked_git):
    run_git(project, "init")
    asked_git.unlink()
    (project / ".git/HEAD").unlink()
    (project / ".git/HEAD").symlink_to("/dev/zero")
    assert paths(project) == EXPECTED
    assert not asked_git.exists()


@pytest.mark.timeout(30)
def test_a_worktree_of_a_repository_with_a_pipe_is_not_asked_about(project, asked_git, tmp_path):
    run_git(project, "init")
    run_git(project, "add", ".")
    run_git(project, "commit", "-m", "x")
    run_git(project, "worktree", "add", str(tmp_path / "tree"), "-b", "other")
    asked_git.unlink()
    put_a_pipe(project / ".git/refs/heads/other")
    assert "src/main.py" in paths(tmp_path / "tree")
    assert not asked_git.exists()


@pytest.mark.timeout(30)
def test_git_that_waits_for_a_pipe_somewhere_else_is_given_up_early(project, monkeypatch):
    """`LIST_TIMEOUT_S` is a minute, and longer than this test may take."""
    monkeypatch.setattr(repository, "_STALLED_S", 0.2)
    run_git(project, "init")
    put_a_pipe(project / "src/.gitignore")
    assert paths(project) == EXPECTED


@pytest.mark.timeout(30)
def test_git_that_works_for_long_is_not_given_up(project, monkeypatch, tmp_path):
    monkeypatch.setattr(repository, "_STALLED_S", 1.0)
    busy = tmp_path / "bin/git"
    busy.parent.mkdir()
    # Twice as long as it may do nothing, and never idle.
    busy.write_text(f"#!{sys.executable}\nimport time\nfor _ in range(200): time.sleep(0.01)\nprint(end='a\\0b\\0')\n")
    busy.chmod(0o755)
    run_git(project, "init")
    monkeypatch.setenv("PATH", str(busy.parent), prepend=os.pathsep)
    assert repository.list_files(project) == ["a", "b"]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "zero"])
def test_an_ignore_file_that_is_none_is_passed_over_without_git(project, make):
    (project / "src/.gitignore").unlink(missing_ok=True)
    make(project / "src/.gitignore")
    assert paths(project) == EXPECTED


@pytest.fixture(params=[False, True], ids=["without git", "with git"])
def tree(project, request):
    """A project with all that a walk leaves out and an undo needs: links, pipes, empty folders, a repository inside."""
    if request.param:
        run_git(project, "init")
        run_git(project, "add", "src", ".gitignore")
        (project / "build/kept.py").write_text("")
        run_git(project, "add", "-f", "build/kept.py")
        run_git(project, "commit", "-m", "x")
    (project / "empty/within").mkdir(parents=True)
    (project / "link").symlink_to("src")
    os.mkfifo(project / "pipe")
    (project / "logs").mkdir()
    (project / "logs/a.log").write_text("")
    (project / "vendored").mkdir()
    (project / "vendored/f.c").write_text("")
    (project / "vendored/f.o").write_text("")
    (project / "vendored/.gitignore").write_text("*.o\n")
    run_git(project / "vendored", "init")
    return project


def test_a_tree_has_links_pipes_empty_folders_and_the_files_of_repositories_inside(tree):
    listing = list_tree(tree)
    kept = ("build/kept.py",) if (tree / ".git").exists() else ()
    assert listing.paths == (*sorted((*EXPECTED, *kept, "link", "pipe", "vendored/.gitignore", "vendored/f.c")),)
    assert listing.folders == (*(["build"] if kept else []), "empty", "empty/within", "logs", "src", "vendored")
    assert listing.complete


def test_a_tree_says_what_was_ignored_and_ignored_folders_as_a_whole(tree):
    build = {"build/out.py"} if (tree / ".git").exists() else {"build/"}
    assert list_tree(tree).ignored == {*build, "node_modules/", "notes.log", "logs/a.log", "vendored/f.o"}


def test_a_tree_in_a_folder_that_its_repository_ignores_has_its_files(tree):
    assert list_tree(tree / "node_modules").paths == ("x/index.js",)


def test_a_tree_runs_nothing_that_a_repository_inside_names(tree, tmp_path):
    sprung = tmp_path / "sprung"
    run_git(tree / "vendored", "config", "core.fsmonitor", f"touch {sprung}; false")
    assert "vendored/f.c" in list_tree(tree).paths
    assert not sprung.exists()


def test_a_name_that_only_the_index_spells_otherwise_is_not_a_second_file(project):
    run_git(project, "init")
    empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    run_git(project, "update-index", "--add", "--cacheinfo", "100644", empty, "SRC/Main.py")
    assert [path for path in list_tree(project).paths if "main" in path.casefold()] == ["src/main.py"]


def test_a_tree_that_the_user_stops_is_not_complete(tree):
    assert not list_tree(tree, lambda: True).complete


def test_a_part_of_a_repository_is_listed_and_counted_alone(project):
    run_git(project, "init")
    run_git(project, "add", ".")
    run_git(project, "commit", "-m", "x")
    for path in ("src/main.py", "keep.log", "src/new.log", "src/new.py"):
        (project / path).write_text("changed\n")
    part = project / "src"
    assert paths(part) == ["main.py", "new.py", "util.py"]
    tree = list_tree(part)
    assert (tree.paths, tree.ignored) == (("main.py", "new.py", "util.py"), frozenset({"new.log"}))
    assert repository.state(part) == repository.GitState("main", 2)
    assert repository.state(project) == repository.GitState("main", 3)


def test_a_repository_whose_files_are_in_another_folder_does_not_list_them(project, tmp_path):
    run_git(project, "init")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/main.py").touch()
    run_git(project, "config", "core.worktree", str(tmp_path / "other"))
    assert paths(project) == EXPECTED
    assert "build/" in list_tree(project).ignored
