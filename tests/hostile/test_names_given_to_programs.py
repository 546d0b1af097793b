"""Names of files that a shell would run or a program would take for an option reach programs as names only."""

import os
import pty
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_engine.native.child import run_on_terminal
from laguna_tui.agent.permission_gate import PermissionGate
from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.change_proposal import ChangeKind
from laguna_tui.base.external_editor import edit_text
from laguna_tui.base.permission_request import Mode
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.sensitive_paths import sensitive_reason
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.repo.git import git_objects, repository
from laguna_tui.repo.git.git_commit import commit_command, pending_changes
from laguna_tui.sandbox.runner import CommandRunner
from tests.app.agent.permissions.requests import change
from tests.app.approvers import run_tool
from tests.hostile.case import Case, Refusing
from tests.hostile.file_cases import read
from tests.hostile.test_hostile_repositories import entered
from tests.hostile.world import World

NAMES = (
    "$(touch owned).txt",
    "`touch owned`.txt",
    "a;touch owned;.txt",
    "a\ntouch owned\n.txt",
    "a' touch owned '.txt",
    'a" touch owned ".txt',
    "--output=owned",
    "-oowned",
    "-rf",
    "--",
    "-",
    ":(top)owned",
    "*",
    "!touch owned",
)
COMPLETIONS = Path(__file__).parents[2] / "assets/shell/laguna-tui.bash"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A repository that has a file of each of these names, and none of them committed."""

    def plant(made: World) -> None:
        made.plant("a.txt", "plain\n")
        for name in NAMES:
            made.plant(name, "plain\n")

    with entered(Case("names", [[read("a.txt")]], plant), monkeypatch) as made:
        yield made


def _untouched(world: World) -> bool:
    """Whether nobody ran a name: nothing was made or removed, in the repository or outside."""
    return sorted(each.name for each in world.folder.iterdir()) == sorted(
        [*NAMES, "a.txt", "README.md", ".git"]
    ) and not world.harm("", inside=True)


def test_the_app_asks_git_about_them(world: World) -> None:
    assert set(repository.list_files(world.folder) or ()) == {*NAMES, "a.txt", "README.md"}
    assert git_objects.head_entries(world.folder, NAMES) == {}
    assert git_objects.ignored_files(world.folder, NAMES) == frozenset()
    changes = pending_changes(world.folder, sensitive_reason)
    assert changes is not None
    assert set(NAMES) <= set(changes.untracked)
    assert repository.state(world.folder) is not None
    assert _untouched(world)


def test_they_are_committed_under_their_names(world: World) -> None:
    """The command runs in a shell, as it does in the sandbox."""
    changes = pending_changes(world.folder, sensitive_reason)
    assert changes is not None
    command = commit_command("a message; touch owned $(touch owned)", changes)
    subprocess.run(["bash", "-c", command], cwd=world.folder, check=True)
    listed = subprocess.run(
        ["git", "ls-tree", "-rz", "--name-only", "HEAD"], cwd=world.folder, capture_output=True, check=True
    )
    assert set(listed.stdout.decode().rstrip("\0").split("\0")) == {*NAMES, "a.txt", "README.md"}
    assert not (world.folder / "owned").exists()


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_an_editor_gets_a_file_of_another_name(world: World, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = world.outside / "editor"
    editor.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {world.outside}/named; echo edited > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    user, program = pty.openpty()
    try:
        assert edit_text("text", name, lambda words, folder: run_on_terminal(words, program, folder)) == "edited\n"
    finally:
        os.close(user)
        os.close(program)
    named = Path((world.outside / "named").read_text()).name
    assert re.fullmatch(r"[a-z0-9_]+\.txt", named)
    assert not (world.folder / "owned").exists()


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_tools_take_them_for_names(world: World, name: str) -> None:
    codebase = Codebase(world.folder)
    gate = PermissionGate(Permissions(world.folder, mode=Mode.ACCEPT_EDITS), Refusing())
    tools = Toolbox(FULL, Workspace(world.folder), codebase=codebase, permissions=gate, state=world.app)
    try:
        for tool, arguments in (
            ("read", {"path": name}),
            ("list", {"path": name}),
            ("find", {"pattern": name}),
            ("search", {"pattern": name}),
            ("search", {"pattern": "plain", "path": name}),
            ("search", {"query": name}),
        ):
            run_tool(tools, tool, arguments)
        assert _untouched(world)
        run_tool(tools, "edit", {"path": name, "old": "plain", "new": "changed"})
    finally:
        tools.close()
        codebase.close()
    changed = [each for each in NAMES if (world.folder / each).read_text() == "changed\n"]
    assert changed in ([], [name])
    assert not (world.folder / "owned").exists()


def test_a_shell_completes_them(world: World) -> None:
    """The function that a user's bash calls for `laguna-tui ask --prompt-file <Tab>` and its kind."""
    script = (
        f"source {COMPLETIONS}\n"
        "for words in 'ask --schema' 'compress' 'permissions check --folder' 'help'; do\n"
        '  for typed in "" "\\$(touch owned)" "-" "a"; do\n'
        '    COMP_WORDS=(laguna-tui $words "$typed"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()\n'
        '    _shtab_laguna_tui; printf "%s\\0" "${COMPREPLY[@]}"\n'
        "  done\n"
        "done\n"
    )
    done = subprocess.run(["bash", "-c", script], cwd=world.folder, capture_output=True, check=False, timeout=60)
    assert b"$(touch owned).txt" in done.stdout
    assert _untouched(world)


@pytest.mark.parametrize("text", ["-c 'touch owned'", "-i", "--rcfile=run.sh", "-x touch owned", "--"])
def test_a_command_that_begins_with_a_hyphen_is_not_an_option_of_the_shell(world: World, text: str) -> None:
    runner = CommandRunner(world.folder, results=world.app / "results")
    result = runner.run(text, folder=world.folder, timeout_s=20, cancelled=lambda: False)
    assert result.exit_code not in (0, None)
    assert not (world.folder / "owned").exists()
    runner.close()


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_no_rule_for_good_is_made_of_more_than_the_name(name: str) -> None:
    """What ALWAYS would write about a file of that name allows that file and no other one."""
    here = Permissions(Path("/srv/shop"))
    rule = here.suggest(change(name))
    assert rule in ("", f"edit({name})")
    if rule:
        allowed = Permissions(Path("/srv/shop"), allow=[rule])
        assert allowed.suggest(change("owned")) == "edit(owned)"
        assert allowed.suggest(change(name, ChangeKind.DELETE)) in ("", f"delete({name})")
