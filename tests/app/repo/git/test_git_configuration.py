"""The files that git reads or runs because its configuration names them, or because a rebase was left unfinished."""

import os
import subprocess

import pytest

from laguna_tui.repo.git.git_programs import configured_paths, resumed_programs
from tests.app.repo.conftest import git, write


@pytest.fixture
def top(tmp_path, monkeypatch):
    """A repository with a script, of a user with an empty home folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "home").mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init")
    write(folder, {"tools/run.sh": "x", "tools/a b.sh": "x", "run.py": "x"})
    return folder


def named(top):
    """The paths within the repository, without what the system's configuration names."""
    found = configured_paths(top)
    return sorted(os.path.relpath(path, top) for path in found if path.is_relative_to(top))


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("core.fsmonitor", "tools/run.sh", "tools/run.sh"),
        ("core.sshCommand", "./tools/run.sh -v", "tools/run.sh"),
        ("core.editor", "'tools/a b.sh' --wait", "tools/a b.sh"),
        ("core.pager", "less | tools/run.sh", "tools/run.sh"),
        ("sequence.editor", "python3 run.py", "run.py"),
        ("credential.helper", "!tools/run.sh", "tools/run.sh"),
        ("credential.https://host.helper", "!tools/run.sh", "tools/run.sh"),
        ("filter.x.clean", "python3 run.py %f", "run.py"),
        ("filter.x.process", "tools/run.sh", "tools/run.sh"),
        ("diff.external", "tools/run.sh", "tools/run.sh"),
        ("diff.x.textconv", "sh -c 'tools/run.sh \"$1\"' -", "tools/run.sh"),
        ("merge.x.driver", "tools/run.sh %O %A %B", "tools/run.sh"),
        ("alias.x", "!f() { tools/run.sh; }; f", "tools/run.sh"),
        ("alias.x", "!echo 'unbalanced; tools/run.sh", "tools/run.sh"),
        ("submodule.a.update", "!tools/run.sh", "tools/run.sh"),
        ("gpg.program", "tools/run.sh", "tools/run.sh"),
        ("gpg.ssh.program", "tools/run.sh", "tools/run.sh"),
        ("mergetool.x.cmd", "tools/run.sh $MERGED", "tools/run.sh"),
        ("core.attributesFile", "absent", "absent"),
        ("core.hooksPath", "absent", "absent"),
        ("init.templateDir", "absent", "absent"),
    ],
)
def test_what_a_setting_names_is_found(top, key, value, path):
    git(top, "config", "--add", key, value)
    assert named(top) == [path]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.hooksPath", os.devnull),
        ("alias.x", "log tools/run.sh"),
        ("blame.ignoreRevsFile", "run.py"),
        ("core.editor", "vim"),
        ("core.editor", "tools"),
        ("core.editor", f"tools/{'x' * 5_000}"),
        ("user.name", "run.py"),
    ],
)
def test_other_settings_name_nothing(top, key, value):
    git(top, "config", key, value)
    assert named(top) == []


@pytest.mark.parametrize("condition", ["include.path", "includeIf.onbranch:other.path", "includeif.gitdir:/x/.path"])
def test_included_files_are_found_whether_the_condition_holds_or_not(top, condition):
    git(top, "config", condition, "../conf/more")
    git(top, "config", "--global", condition, str(top / "conf/mine"))
    assert named(top) == ["conf/mine", "conf/more"]


def test_what_an_included_file_names_is_found(top):
    write(top, {"conf/more": "[include]\n\tpath = further\n[core]\n\tsshCommand = tools/run.sh\n"})
    git(top, "config", "include.path", "../conf/more")
    assert named(top) == ["conf/further", "conf/more", "tools/run.sh"]


def test_a_broken_configuration_is_no_answer(top):
    write(top, {".git/config": "[broken"})
    assert configured_paths(top) is None


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("rebase-merge/git-rebase-todo", "pick 1234567 x\nexec make test\n"),
        ("rebase-merge/git-rebase-todo", " \tx\ttouch y"),
        ("rebase-merge/git-rebase-todo", "pick 1\n" * 1_000_000),
        ("rebase-merge/strategy", "../evil\n"),
        ("sequencer/opts", "[options]\n\tstrategy = ../evil\n"),
        ("sequencer/opts", "[options]\n\tstrategy = x\\\n"),
    ],
    ids=["exec", "x", "too large", "strategy", "options", "a continued line"],
)
def test_a_state_that_runs_a_program_is_found(top, path, text):
    write(top, {f".git/{path}": text})
    assert resumed_programs(top) == (top / ".git" / path,)


def test_a_state_that_runs_none_is_not(top):
    write(
        top,
        {
            ".git/rebase-merge/git-rebase-todo": "pick 1234567 exec\n# x, exec <command>\nlabel x\nedit 1 x\n",
            ".git/rebase-merge/strategy": "ort\n",
            ".git/sequencer/opts": "[options]\n\tstrategy = recursive\n\tsignoff = true\n",
        },
    )
    assert resumed_programs(top) == ()


def test_git_runs_a_program_for_such_a_strategy(top):
    """What the rule for strategies is for."""
    for name in ("a", "b", "c"):
        write(top, {name: name})
        git(top, "add", name)
        git(top, "commit", "-m", name)
    git(top, "branch", "other")
    git(top, "reset", "--hard", "HEAD~2")
    head = (top / ".git/refs/heads/main").read_text()
    other = (top / ".git/refs/heads/other").read_text().strip()
    state = {"head-name": "refs/heads/main", "onto": head, "orig-head": head, "interactive": "", "done": ""}
    state |= {"msgnum": "1", "end": "1", "strategy": "../evil", "git-rebase-todo": f"pick {other} c\n"}
    write(top, {f".git/rebase-merge/{name}": text for name, text in state.items()})
    write(top, {"git-merge-../evil": f"#!/bin/sh\ntouch {top}/ran\nexit 1\n"})
    (top / "git-merge-../evil").chmod(0o755)
    subprocess.run(["git", "rebase", "--continue"], cwd=top, capture_output=True, check=False)
    assert (top / "ran").exists()
