"""`edit`, `replace_symbol`, `write`, `move` and `delete`: a change is permitted, made, and its effects are reported."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from laguna_tui.agent.tool_run import ToolError, ToolRun
from laguna_tui.agent.tools.base.edit import edit_tool
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import Tool, ToolServices, Value
from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.paths import escaped
from laguna_tui.base.permission_request import PermissionAnswer, PermissionRequest
from laguna_tui.base.schema import declared
from laguna_tui.base.text_diff import Sign
from laguna_tui.base.units import plural, some_of
from laguna_tui.repo.edits.edit_files import EditDialect
from laguna_tui.repo.edits.file_changes import propose_delete, propose_move, propose_write
from laguna_tui.repo.edits.symbol_edits import propose_symbol
from laguna_tui.repo.files.text_files import split_lines
from laguna_tui.repo.search.symbol_uses import Use
from laguna_tui.repo.syntax.analysis import analyse
from laguna_tui.repo.syntax.languages import is_code

# Lines shown to the model after a change, and characters of each; the user sees the diff.
SNIPPET_LINES = 30
_LINE_CHARS = 200
# Limits of what is reported: removed definitions, and places that still use each.
_LOST_NAMES = 5
_USES_LOOKED_AT, _USES_SHOWN = 500, 8
# Enough for an index that is nearly up to date; if it takes longer, the model can search.
_INDEX_WAIT_S = 5.0
_IMPORT = re.compile(r"(?:pub |export )?(?:from|import|use|using|mod|require)\b")

_UNREAD = "{path} exists and was not read; read it, then call again if all of it is to be replaced"
_STALE = "{path} changed since you read it; read it again, then call again"
# A missing text is answered with the nearest one, which the model tries next. Missing indentation is corrected, which
# saves a round and is reported to the model and the user.
_DIALECT = EditDialect(additions=False, reindents=True, shows_nearest=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditArguments:
    """A file, whether to replace in all places, the text to replace in it and the new text.

    In this order, so that it is known how often the old text may occur while the model writes it.
    """

    path: str = declared()
    all: bool = declared(False, "replace every occurrence, names as whole words")
    old: str = declared(blank=True)
    new: str = declared(blank=True)


@dataclass(frozen=True, slots=True)
class SymbolArguments:
    """A file, the name of a definition in it, and all of the new definition."""

    path: str = declared()
    symbol: str = declared(help="name, Class.method or name:line")
    new: str = declared(help="the whole definition, with its decorators and comments", blank=True)


@dataclass(frozen=True, slots=True)
class WriteArguments:
    """A file and all of its text."""

    path: str = declared()
    content: str = declared(blank=True)


@dataclass(frozen=True, slots=True)
class MoveArguments:
    """A file, and the path or folder that it gets."""

    path: str = declared()
    new_path: str = declared()


@dataclass(frozen=True, slots=True)
class DeleteArguments:
    """A file, or an empty folder."""

    path: str = declared()


def replace_symbol(services: ToolServices, run: ToolRun, wanted: SymbolArguments) -> ToolResult:
    """Replace a whole definition."""
    proposal = propose_symbol(run.workspace, wanted.path, wanted.symbol, wanted.new, run.cancelled, run.readable)
    return make_change(services, run, REPLACE_SYMBOL.name, proposal)


def write(services: ToolServices, run: ToolRun, wanted: WriteArguments) -> ToolResult:
    """Create a file, or overwrite one that the model has read."""
    proposal = propose_write(run.workspace, wanted.path, wanted.content)
    if proposal.kind is ChangeKind.EDIT and not services.changes.seen.knows(proposal.path):
        raise ToolError(_UNREAD.format(path=escaped(proposal.path)))
    return make_change(services, run, WRITE.name, proposal)


def move(services: ToolServices, run: ToolRun, wanted: MoveArguments) -> ToolResult:
    """Move a file."""
    return make_change(services, run, MOVE.name, propose_move(run.workspace, wanted.path, wanted.new_path))


def delete(services: ToolServices, run: ToolRun, wanted: DeleteArguments) -> ToolResult:
    """Delete a file or an empty folder."""
    return make_change(services, run, DELETE.name, propose_delete(run.workspace, wanted.path))


def make_change(services: ToolServices, run: ToolRun, tool: str, proposal: ChangeProposal) -> ToolResult:
    """Make a change, and report its notes, the changed lines with some around them, and new problems.

    Args:
        tool: The name of the call's tool.

    Raises:
        ToolError, WorkspaceError: The change was not made; says why. The files are unchanged.
    """
    seen, diagnostics = services.changes.seen, services.diagnostics
    if proposal.kind is not ChangeKind.CREATE and seen.is_stale(proposal.path, proposal.old):
        raise ToolError(_STALE.format(path=escaped(proposal.path)))

    def ask(request: PermissionRequest) -> PermissionAnswer:
        answer = run.ask(request)
        if diagnostics is not None:
            # After the decision, so that the user need not wait for linters; nothing is changed yet.
            diagnostics.before_change(run, proposal)
        return answer

    made = services.changes.make(replace(run, ask=ask), tool, proposal)
    seen.note_change(made)
    problems = [] if diagnostics is None else diagnostics.after_change(run, made)
    snippet = list(_snippet(made)) if made.kind is ChangeKind.EDIT else []
    left_behind = _left_behind(services, run, made)
    return ToolResult(
        "\n".join([_headline(made), *made.notes, *snippet, *problems, *left_behind]), excerpt=_excerpt(made)
    )


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
    """Yield the numbered lines of the result around its changes."""
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
    """Yield lines about other files that still use a removed name, or import a moved module."""
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
    """Return the uses in other files that may be shown, as `path:line`; empty if there are none."""
    shown = [
        f"{escaped(use.path)}:{use.line}"
        for use in uses
        if use.path not in (made.path, made.target) and not run.readable(use.path)
    ]
    return some_of(shown, _USES_SHOWN)


def _module(path: str) -> str:
    """Return the name by which imports refer to a file."""
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem == "__init__" else pure.stem


def _defined(path: str, text: str) -> set[str]:
    return {symbol.name for symbol in analyse(path, text).symbols} if text else set()


def _excerpt(made: ChangeProposal) -> str:
    """Return the changed lines as they are in the file."""
    return "\n".join(line.text for hunk in made.hunks for line in hunk.lines if line.sign is not Sign.REMOVED)


EDIT = edit_tool(_DIALECT, EditArguments, make_change)
REPLACE_SYMBOL = Tool(
    "replace_symbol",
    "Replace a whole function, method or class.",
    SymbolArguments,
    replace_symbol,
    values={"path": Value.FILE},
)
WRITE = Tool(
    "write", "Create a file with its folders, or replace all of one that you have read.", WriteArguments, write
)
MOVE = Tool("move", "Move or rename a file.", MoveArguments, move)
DELETE = Tool("delete", "Delete a file or an empty folder.", DeleteArguments, delete)
