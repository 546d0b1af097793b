"""A folder, with and without git, and the history of a session in it."""

import subprocess

import pytest

from laguna_tui.undo.undo import UndoHistory


def run_git(folder, *command):
    named = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *named, *command], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(params=[False, True], ids=["without git", "with git"])
def root(request, tmp_path):
    """A small project: two files, a script, a link, and what git ignores."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/main.py").write_text("one\ntwo\nthree\n")
    (root / "README.md").write_text("Read me\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("src/main.py")
    (root / ".gitignore").write_text("build/\n*.log\n")
    (root / "build").mkdir()
    (root / "build/out").write_text("built\n")
    (root / "old.log").write_text("logged\n")
    if request.param:
        run_git(root, "init")
        run_git(root, "add", "-A")
        run_git(root, "commit", "-m", "x")
    return root


@pytest.fixture
def history(root, tmp_path):
    made = UndoHistory(root, tmp_path / "state/undo/one")
    yield made
    made.close()
