"""A rule about a path holds whatever name the path has: links, slashes, dots, case, normal forms, hidden characters."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_tui.agent.permission_gate import PermissionGate
from laguna_tui.agent.permissions.modes import Effect
from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.permission_request import Mode, PermissionRequest
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError
from tests.app.agent.permissions.requests import command
from tests.app.approvers import run_tool
from tests.hostile.case import Case, Refusing
from tests.hostile.file_cases import read
from tests.hostile.test_hostile_repositories import entered
from tests.hostile.world import World

KEPT = "kept from the model\n"
RULES = ("read(data/**)", "edit(data/**)", "read(linked/**)", "edit(linked/**)")
# Where the rules' folders are, by any name.
NAMES = (
    "data/a.txt",
    "./data//a.txt",
    "data/./a.txt",
    "x/../data/a.txt",
    "@WS@/data/a.txt",
    " data/a.txt ",
    "data/a.txt/",
    "folder/a.txt",
    "file.txt",
    "folder/../data/a.txt",
    "linked/a.txt",
    "real/a.txt",
    "again/a.txt",
    "data/cafe\u0301.txt",
    "data/caf\u00e9.txt",
    "DATA/a.txt",
    "Data/A.TXT",
    "data/a.txt\u200b",
    "d\u0430ta/a.txt",
    "\uff44ata/a.txt",
    "data\\a.txt",
    "data/a.txt\0",
    "/proc/self/cwd/data/a.txt",
    "/dev/fd/../../@WS@/data/a.txt",
    "file://@WS@/data/a.txt",
    "~/../work/data/a.txt",
)


def _plant(world: World) -> None:
    for path in ("data/a.txt", "data/caf\u00e9.txt", "real/a.txt"):
        world.plant(path, KEPT)
    world.plant("plain.txt", "plain\n")
    world.link("folder", "data")
    world.link("file.txt", "data/a.txt")
    world.link("linked", "real")
    world.link("again", "linked")


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[World, Toolbox, Permissions]]:
    with entered(Case("names", [[read("plain.txt")]], _plant), monkeypatch) as world:
        codebase = Codebase(world.folder)
        permissions = Permissions(world.folder, mode=Mode.ACCEPT_EDITS, deny=RULES, sandboxed=lambda: True)
        gate = PermissionGate(permissions, Refusing())
        toolbox = Toolbox(FULL, Workspace(world.folder), codebase=codebase, permissions=gate, state=world.app)
        yield world, toolbox, permissions
        toolbox.close()
        codebase.close()


def _readable(permissions: Permissions, workspace: Workspace, path: str) -> bool:
    try:
        inside = workspace.locate(path)
    except WorkspaceError:
        return False
    return (workspace.root / inside).is_file() and not permissions.readable(inside)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_what_a_rule_keeps_is_neither_read_nor_changed_by_any_name(tools, name: str):
    world, toolbox, permissions = tools
    path = world.filled(name)
    assert not _readable(permissions, toolbox.workspace, path)
    for tool, arguments in (
        ("edit", {"path": path, "old": "kept", "new": "owned"}),
        ("move", {"path": path, "new_path": "moved.txt"}),
        ("delete", {"path": path}),
        ("write", {"path": path, "content": "owned\n"}),
    ):
        run_tool(toolbox, tool, arguments)
    for kept in ("data/a.txt", "data/caf\u00e9.txt", "real/a.txt"):
        assert (world.folder / kept).read_text() == KEPT
    assert not (world.folder / "moved.txt").exists()


def test_another_file_is_read_and_changed(tools):
    world, toolbox, permissions = tools
    assert _readable(permissions, toolbox.workspace, "plain.txt")
    run_tool(toolbox, "edit", {"path": "plain.txt", "old": "plain", "new": "changed"})
    assert (world.folder / "plain.txt").read_text() == "changed\n"


def test_a_rule_follows_a_link_that_changes(tools):
    world, toolbox, permissions = tools
    world.plant("other/a.txt", KEPT)
    assert _readable(permissions, toolbox.workspace, "other/a.txt")
    (world.folder / "linked").unlink()
    world.link("linked", "other")
    assert not _readable(permissions, toolbox.workspace, "other/a.txt")


def test_commands_are_kept_from_what_a_rule_names_by_a_link(tools):
    permissions = tools[2]
    unread, unchanged = permissions.command_path_rules()
    assert {"data/**", "linked/**", "real/**"} == set(unread) == set(unchanged)
    assert permissions.decide(command("cat real/a.txt")).effect is Effect.DENY


def test_what_a_rule_allows_is_the_file_itself_and_not_what_a_link_names(monkeypatch: pytest.MonkeyPatch):
    def plant(world: World) -> None:
        world.plant("src/a.py", "a = 1\n")
        world.plant("run.py", "a = 1\n")
        world.link("src/b.py", "../run.py")
        world.link("src/top", world.folder)

    with entered(Case("allowed", [[read("run.py")]], plant), monkeypatch) as world:
        user = Refusing()
        permissions = Permissions(world.folder, allow=["edit(src/**)"])
        gate = PermissionGate(permissions, user)
        codebase = Codebase(world.folder)
        toolbox = Toolbox(FULL, Workspace(world.folder), codebase=codebase, permissions=gate, state=world.app)
        for path in ("src/a.py", "src/b.py", "src/top/run.py", "src/../run.py"):
            run_tool(toolbox, "edit", {"path": path, "old": "a = 1", "new": "a = 2"})
        toolbox.close()
        codebase.close()
        assert (world.folder / "src/a.py").read_text() == "a = 2\n"
        assert (world.folder / "run.py").read_text() == "a = 1\n"
        assert [_path(request) for request in user.asked] == ["run.py"] * 3


def _path(request: PermissionRequest) -> str:
    return Path(request.proposal.path).as_posix()
