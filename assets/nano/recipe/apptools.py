"""The seam to the app: its real tools, as plain functions from a pattern to text.

Needs the app's two packages importable: found beside this folder, or installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "engine")]


def open_tools(repository: Path) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """`search` and `find` over one folder, each from a pattern to the text that the model is given."""
    from laguna_tui.agent.tools import Toolbox
    from laguna_tui.repo.workspace import Workspace

    toolbox = Toolbox(Workspace(repository))
    return (
        lambda pattern: toolbox.run("search", {"pattern": pattern}).output,
        lambda pattern: toolbox.run("find", {"pattern": pattern}).output,
    )
