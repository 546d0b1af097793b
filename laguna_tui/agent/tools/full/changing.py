"""What the tools that change files have in common: a change is permitted, made and answered with what came of it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from laguna_tui.agent.tool_run import ToolError, ToolRun
from laguna_tui.agent.tools.base.results import ToolAnswer
from laguna_tui.agent.tools.base.tool import ToolServices
from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.paths import escaped
from laguna_tui.base.permission_request import PermissionAnswer, PermissionRequest
from laguna_tui.base.text_diff import Sign
from laguna_tui.base.units import plural
from laguna_tui.repo.files.text_files import split_lines
from laguna_tui.repo.search.symbol_uses import Use
from laguna_tui.repo.syntax.analysis import analyse
from laguna_tui.repo.syntax.languages import is_code

# Lines of the result that are shown after a change, and how much of each: the diff is what the user reads.
SNIPPET_LINES = 30
_LINE_CHARS = 200
# Limits of what the model is told: removed definitions, and places that still use each.
_LOST_NAMES = 5
_USES_LOOKED_AT, _USES_SHOWN = 500, 8
# For an index that is nearly up to date; the model can search where it takes longer.
_INDEX_WAIT_S = 5.0
_IMPORT = re.compile(r"(?:pub |export )?(?:from|import|use|using|mod|require)\b")

_UNREAD = "{path} exists and was not read; read it, then call again if all of it is to be replaced"
_STALE = "{path} changed since you read it; read it again, then call again"


def make_change(services: ToolServices, run: ToolRun, tool: str, proposal: ChangeProposal) -> ToolAnswer:
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
    left_behind = _left_behind(services, run, made)
    return ToolAnswer(
        "\n".join([_headline(made), *made.notes, *snippet, *problems, *left_behind]), excerpt=_excerpt(made)
    )


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


def _left_behind(services: ToolServices, run: ToolRun, made: ChangeProposal) -> Iterator[str]:
    """Yield a line for what other files still use: each name that a change took away, or a module that was moved."""
    codebase = services.codebase
    lost = sorted(_defined(made.path, made.before) - _defined(made.path, made.after))[:_LOST_NAMES]
    module = _module(made.path) if made.kind is ChangeKind.MOVE and is_code(made.path) else ""
    if codebase is None or not (lost or module):
        return
    if not (codebase.sync(_INDEX_WAIT_S, run.cancelled) or codebase.ready):
        names = ", ".join(map(escaped, filter(None, [*lost, module])))
        yield f"The folder is not indexed yet; search for other uses of {names} with mode regex"
        return
    for name in lost:
        if all(definition.path == made.path for definition in codebase.definitions(name)):
            places = _places(run, made, codebase.uses(name, _USES_LOOKED_AT, run.cancelled))
            if places:
                yield f"{escaped(name)} is no longer defined here, and still used: {places}"
    if module:
        uses = codebase.uses(module, _USES_LOOKED_AT, run.cancelled)
        places = _places(run, made, [use for use in uses if _IMPORT.match(use.code)])
        if places:
            yield f"Check the imports of {escaped(module)}: {places}"


def _places(run: ToolRun, made: ChangeProposal, uses: Sequence[Use]) -> str:
    """The uses in other files that may be shown, as `path:line`; empty if there are none."""
    shown = [
        f"{escaped(use.path)}:{use.line}"
        for use in uses
        if use.path not in (made.path, made.target) and not run.readable(use.path)
    ]
    more = f" and {len(shown) - _USES_SHOWN} more" if len(shown) > _USES_SHOWN else ""
    return ", ".join(shown[:_USES_SHOWN]) + more


def _module(path: str) -> str:
    """What imports call a file: by its name, or its folder's where it stands for that."""
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem == "__init__" else pure.stem


def _defined(path: str, text: str) -> set[str]:
    """The names that a text defines."""
    return {symbol.name for symbol in analyse(path, text).symbols} if text else set()


def _excerpt(made: ChangeProposal) -> str:
    """The changed lines as they are in the file."""
    return "\n".join(line.text for hunk in made.hunks for line in hunk.lines if line.sign is not Sign.REMOVED)
