"""After a rename in one file: the other files of the folder that still have the old name.

Laguna Nano renames in one file at a time, and what imports the name from there would fail without a word.
"""

import re
from collections.abc import Sequence

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.edit import make_edit
from laguna_tui.agent.tools.base.regex_search import Clock, Hit, collect_hits, prepare
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import ToolServices
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import Notice
from laguna_tui.base.paths import escaped
from laguna_tui.base.units import plural, some_of
from laguna_tui.repo.files.text_files import split_lines
from laguna_tui.repo.files.walk import FileListing
from laguna_tui.repo.syntax.analysis import analyse, file_outline
from laguna_tui.repo.syntax.outline import Definition

STILL_USED = (
    "`{old}` is still in {count} other {files}: {named}. To rename it there too, send: rename {old} to {new} everywhere"
)
# The change is made, and the user waits for the answer.
_BUDGET_S = 3.0
_NAMED = 5
_NAME = re.compile(r"[^\W\d]\w*")


def make_rename(services: ToolServices, run: ToolRun, tool: str, proposal: ChangeProposal) -> ToolResult:
    """Make a change, and list the files that still have a name which it renamed."""
    answer = make_edit(services, run, tool, proposal)
    note = ""
    if renamed := _renamed_definition(proposal):
        hits = _hits(run, proposal.path, renamed[0])
        # A file with its own definition means that one.
        own = {hit.path for hit in hits if hit.defines}
        note = _still_used([hit for hit in hits if hit.path not in own], *renamed)
    elif renamed := _renamed_reference(proposal):
        hits = _hits(run, proposal.path, renamed[0])
        # If the new name is defined, the file was switched to something else.
        if any(hit.defines for hit in hits) and not any(hit.defines for hit in _hits(run, "", renamed[1])):
            note = _still_used(hits, *renamed)
    if note:
        run.emit(Notice(note))
    return answer


def _renamed_definition(proposal: ChangeProposal) -> tuple[str, str] | None:
    """Return the old and the new name, if the change renames something that the file defines."""
    before, after = (_defined(proposal.path, text) for text in (proposal.before, proposal.after))
    gone = [one.name for one in before if one.name not in _NAME.findall(proposal.after)]
    # A rename in place moves no line.
    new = [one.name for one in after if any(one.line == old.line and old.name in gone[:1] for old in before)]
    return (gone[0], new[0]) if gone and new else None


def _renamed_reference(proposal: ChangeProposal) -> tuple[str, str] | None:
    """Return the old and the new name, if the change renames something that the file uses and does not define."""
    before, after = (analyse(proposal.path, text).references for text in (proposal.before, proposal.after))
    gone, new = before.keys() - after.keys(), after.keys() - before.keys()
    return (gone.pop(), new.pop()) if len(gone) == len(new) == 1 else None


def _defined(path: str, text: str) -> tuple[Definition, ...]:
    return file_outline(path, split_lines(text)).definitions


def _hits(run: ToolRun, changed: str, name: str) -> list[Hit]:
    """Return the lines of the other files that have a name as code."""
    clock = Clock(run.cancelled, _BUDGET_S)
    others = tuple(entry for entry in run.workspace.files_below("", clock.is_over).entries if entry.path != changed)
    hits, _ = collect_hits(run.workspace, FileListing(others), prepare(rf"\b{name}\b"), clock, run.readable, name)
    return [hit for hit in hits if hit.in_code]


def _still_used(hits: Sequence[Hit], old: str, new: str) -> str:
    paths = list(dict.fromkeys(escaped(hit.path) for hit in hits))
    if not paths:
        return ""
    files = plural(len(paths), "file")
    return STILL_USED.format(old=old, new=new, count=len(paths), files=files, named=some_of(paths, _NAMED))
