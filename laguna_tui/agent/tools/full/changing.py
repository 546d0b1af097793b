"""What the tools that change files have in common: a change is permitted, made and answered with what came of it."""

from collections.abc import Iterator
from dataclasses import replace

from laguna_tui.agent.tool_run import ToolError, ToolRun
from laguna_tui.agent.tools.base.results import Answer
from laguna_tui.agent.tools.base.tool import ToolServices
from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.hunks import Sign
from laguna_tui.base.permission_request import PermissionAnswer, PermissionRequest
from laguna_tui.base.units import plural
from laguna_tui.repo.languages import DefinitionKind
from laguna_tui.repo.relative_paths import escaped
from laguna_tui.repo.syntax import analyse
from laguna_tui.repo.text_files import split_lines

# Lines of the result that are shown after a change, and how much of each: the diff is what the user reads.
SNIPPET_LINES = 30
_LINE_CHARS = 200
# Limits of what the model is told: removed definitions, and places that still use each.
_LOST_NAMES = 5
_USES_LOOKED_AT, _USES_SHOWN = 50, 8

_UNREAD = "{path} exists and was not read; read it, then call again if all of it is to be replaced"
_STALE = "{path} changed since you read it; read it again, then call again"


def make_change(services: ToolServices, run: ToolRun, tool: str, proposal: ChangeProposal) -> Answer:
    """Make a change, and say what came of it: its notes, the changed lines with some around them, and new problems.

    Args:
        tool: the name of the call's tool.

    Raises:
        ToolError, WorkspaceError: the change was not made; says why. The files are unchanged.
    """
    seen, diagnostics = services.changes.seen, services.diagnostics
    if proposal.kind is not ChangeKind.CREATE and seen.is_stale(proposal.path, proposal.old):
        raise ToolError(_STALE.format(path=escaped(proposal.path)))

    def ask(request: PermissionRequest) -> PermissionAnswer:
        answer = run.ask(request)
        if diagnostics is not None:
            # Nobody has to wait for checks before deciding; nothing is changed yet.
            diagnostics.before_change(run, proposal)
        return answer

    made = services.changes.make(replace(run, ask=ask), tool, proposal)
    seen.note_change(made)
    problems = [] if diagnostics is None else diagnostics.after_change(run, made)
    snippet = list(_snippet(made)) if made.kind is ChangeKind.EDIT else []
    used = _still_used(services, run, made)
    return Answer("\n".join([_headline(made), *made.notes, *snippet, *problems, *used]), excerpt=_excerpt(made))


def check_read(services: ToolServices, proposal: ChangeProposal) -> None:
    """Refuse to overwrite a file that the model has not read.

    Raises:
        ToolError: it exists and was not read.
    """
    if proposal.kind is ChangeKind.EDIT and not services.changes.seen.knows(proposal.path):
        raise ToolError(_UNREAD.format(path=escaped(proposal.path)))


def _headline(made: ChangeProposal) -> str:
    path = f"`{escaped(made.path)}`"
    match made.kind:
        case ChangeKind.CREATE:
            lines = len(split_lines(made.after))
            return f"Created {path} with {lines} {plural(lines, 'line')}."
        case ChangeKind.DELETE:
            return f"Deleted {path}."
        case ChangeKind.MOVE:
            return f"Moved {path} to `{escaped(made.target)}`."
        case ChangeKind.EDIT:
            return f"Changed {path} in {made.counted}."


def _snippet(made: ChangeProposal) -> Iterator[str]:
    """The numbered lines of the result around its changes."""
    shown = 0
    for number, hunk in enumerate(made.hunks):
        lines = [(at, line.text) for at, line in hunk.numbered() if line.sign is not Sign.REMOVED]
        if shown + len(lines) > SNIPPET_LINES and shown:
            rest = len(made.hunks) - number
            yield f"… {rest} more {plural(rest, 'place')} not shown"
            return
        if number:
            yield "…"
        for at, text in lines[:SNIPPET_LINES]:
            yield f"{at}: {text if len(text) <= _LINE_CHARS else text[:_LINE_CHARS] + '…'}"
        if len(lines) > SNIPPET_LINES:
            yield f"… lines {lines[SNIPPET_LINES][0]}-{lines[-1][0]} not shown"
        shown += len(lines)


def _still_used(services: ToolServices, run: ToolRun, made: ChangeProposal) -> Iterator[str]:
    """A line for each definition that a change took away and that other files still use, such as after a rename."""
    codebase = services.codebase
    if codebase is None or made.kind not in (ChangeKind.EDIT, ChangeKind.DELETE):
        return
    lost = _defined(made.path, made.before) - _defined(made.path, made.after)
    for name in sorted(lost)[:_LOST_NAMES]:
        if any(definition.path != made.path for definition in codebase.definitions(name)):
            continue
        uses = [
            f"{escaped(use.path)}:{use.line}"
            for use in codebase.uses(name, _USES_LOOKED_AT, run.cancelled)
            if use.path != made.path and not run.readable(use.path)
        ]
        if uses:
            more = f" and {len(uses) - _USES_SHOWN} more" if len(uses) > _USES_SHOWN else ""
            yield f"{escaped(name)} is no longer defined here, and still used: {', '.join(uses[:_USES_SHOWN])}{more}"


def _defined(path: str, text: str) -> set[str]:
    """The names of a text's functions and types."""
    symbols = analyse(path, text).symbols if text else ()
    return {symbol.name for symbol in symbols if symbol.kind is not DefinitionKind.VARIABLE}


def _excerpt(made: ChangeProposal) -> str:
    """The changed lines as they are in the file."""
    return "\n".join(line.text for hunk in made.hunks for line in hunk.lines if line.sign is not Sign.REMOVED)
