"""`list`: what lies in one folder."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.regex_search import BUDGET_S, Clock
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import Tool, ToolServices
from laguna_tui.base.paths import escaped
from laguna_tui.base.schema import declared
from laguna_tui.base.units import plural, size
from laguna_tui.repo.files.protected_paths import is_git_name
from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.repo.files.workspace import UnreadableError, Workspace

# A longer listing is not read; `find` narrows it down.
MAX_ENTRIES = 200
# A folder with more is not meant for people.
_MAX_LOOKED_AT = 20_000


@dataclass(frozen=True, slots=True)
class ListArguments:
    """A folder; empty for the workspace itself."""

    path: str = declared("")


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    """A name in a folder; `what` is its size or a clause about it."""

    is_file: bool
    name: str
    what: str


def list_folder(services: ToolServices, run: ToolRun, wanted: ListArguments) -> ToolResult:
    """Return the folders in a folder, then its files with their sizes; what git ignores is marked.

    Raises:
        WorkspaceError: The path is not a folder in the workspace.
    """
    inside = run.workspace.locate(wanted.path)
    if inside and not run.workspace.is_folder(inside):
        raise UnreadableError(f"{escaped(inside)} is a file; read it, or list the folder that it is in")
    entries = sorted(_entries(run.workspace, inside))
    if not entries:
        return ToolResult(f"{escaped(inside) or 'this folder'} is empty")
    listing = run.workspace.files(Clock(run.cancelled, BUDGET_S).is_over)
    prefix = f"{inside}/" if inside else ""
    listed = [*(entry.path for entry in listing.entries), *listing.unsearched.repositories]
    known = {path[len(prefix) :].partition("/")[0] for path in listed if path.startswith(prefix)}
    lines = [_line(entry, ignored=listing.complete and entry.name not in known) for entry in entries]
    more = len(lines) - MAX_ENTRIES
    counted = [f"… {more:,} more {plural(more, 'entry', 'entries')}; use find"] if more > 0 else []
    return ToolResult("\n".join([*lines[:MAX_ENTRIES], *counted]), whole="\n".join(lines) if counted else None)


def _entries(workspace: Workspace, inside: str) -> Iterator[_Entry]:
    """Yield what is in a folder, except git's own."""
    try:
        with RootFolder(workspace.root, workspace.identity) as tree:
            held = tree.folder(inside)
            with os.scandir(held) as found:
                for number, entry in enumerate(found):
                    if number >= _MAX_LOOKED_AT:
                        break
                    if not is_git_name(entry.name):
                        yield _entry(entry, held)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnreadableError(f"{escaped(inside) or 'this folder'} cannot be listed ({reason})") from error


def _entry(entry: "os.DirEntry[str]", held: int) -> _Entry:
    if entry.is_dir(follow_symlinks=False):
        return _Entry(False, entry.name, "")
    try:
        if entry.is_symlink():
            return _Entry(True, entry.name, f"link to {escaped(os.readlink(entry.name, dir_fd=held))}")
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return _Entry(True, entry.name, "gone")
    return _Entry(True, entry.name, size(status.st_size) if stat.S_ISREG(status.st_mode) else "not a regular file")


def _line(entry: _Entry, *, ignored: bool) -> str:
    # Empty folders, links and pipes are in no listing of files either; only folders and files are marked.
    what = [entry.what] if entry.what else []
    if ignored and (not entry.is_file or entry.what[:1].isdigit()):
        what.append("ignored" if entry.is_file else "empty or ignored")
    name = escaped(entry.name) + ("" if entry.is_file else "/")
    return f"{name} ({', '.join(what)})" if what else name


LIST = Tool("list", "List what is in a folder.", ListArguments, list_folder, read_only=True)
