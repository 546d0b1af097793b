"""The seam to the app: the bundled model's real tools over a folder.

Needs the app's two packages importable: found beside this folder, or installed.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "engine")]

OWN = "laguna-tui"
"""The project itself as a repository to ask about: unlike a wheel it has its tests with it."""
OWN_PARTS = ("laguna_tui", "engine", "tests")


class Tools:
    """`search`, `find` and `edit` over one folder, as the bundled model is given them; every edit is made."""

    def __init__(self, repository: Path) -> None:
        from laguna_tui.agent.permission_gate import PermissionGate
        from laguna_tui.agent.permissions.policy import Permissions
        from laguna_tui.agent.tool_run import ToolRun
        from laguna_tui.agent.tools.nano.profile import NANO
        from laguna_tui.agent.tools.registry import Toolbox
        from laguna_tui.base.permission_request import Decision, Mode, PermissionAnswer
        from laguna_tui.repo.files.workspace import Workspace

        workspace, yes = Workspace(repository), PermissionAnswer(Decision.YES)
        allowed = PermissionGate(Permissions(workspace.root, mode=Mode.ACCEPT_EDITS))
        self._toolbox = Toolbox(NANO, workspace, permissions=allowed)
        self._events: list[object] = []
        self._run = ToolRun(workspace, 0, self._events.append, lambda request: yes, lambda: False)

    def run(self, tool: str, arguments: Mapping[str, str]) -> str:
        """What the model is given back."""
        return self._toolbox.run(tool, arguments, self._run).output

    def restore(self) -> None:
        """Take back every edit."""
        from laguna_tui.base.events import ChangeMade

        while self._events:
            event = self._events.pop()
            if isinstance(event, ChangeMade):
                (event.change.root / event.change.path).write_bytes(event.change.old)


@contextmanager
def copies(repositories: Mapping[str, Path]) -> Iterator[dict[str, Path]]:
    """Copies of repositories that edits may be made in, and the project's own; gone afterwards."""
    with TemporaryDirectory(prefix="nano-repositories-") as folder:
        copied = {name: Path(folder) / name for name in (*repositories, OWN)}
        for name, path in repositories.items():
            shutil.copytree(path, copied[name])
        for part in OWN_PARTS:
            shutil.copytree(ROOT / part, copied[OWN] / part, ignore=shutil.ignore_patterns("__pycache__", "_cache*"))
        yield copied
