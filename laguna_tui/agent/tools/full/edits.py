"""`edit` and `replace_symbol`: parts of one file."""

from collections.abc import Callable
from dataclasses import dataclass

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.edit import edit_tool
from laguna_tui.agent.tools.base.results import ToolAnswer
from laguna_tui.agent.tools.base.tool import Tool, ToolServices, Value
from laguna_tui.agent.tools.full.changing import make_change
from laguna_tui.base.schema import declared
from laguna_tui.repo.edits.edit_files import EditDialect
from laguna_tui.repo.edits.symbol_edits import propose_symbol

# A text that is not there is answered with the nearest one, which such a model tries next. Forgotten indentation is put
# right, which saves a round and is told to the model and to the user.
_DIALECT = EditDialect(additions=False, reindents=True, shows_nearest=True)


@dataclass(frozen=True, slots=True)
class SymbolArguments:
    """A file, the name of a definition in it, and all of the new definition."""

    path: str = declared()
    symbol: str = declared(help="name, Class.method or name:line")
    new: str = declared(help="the whole definition, with its decorators and comments", blank=True)


def _replace_symbol(services: ToolServices) -> Callable[[ToolRun, SymbolArguments], ToolAnswer]:
    def replace_symbol(run: ToolRun, wanted: SymbolArguments) -> ToolAnswer:
        """Replace a whole definition. Raises ToolError or WorkspaceError where it is not."""
        proposal = propose_symbol(run.workspace, wanted.path, wanted.symbol, wanted.new, run.cancelled, run.readable)
        return make_change(services, run, REPLACE_SYMBOL.name, proposal)

    return replace_symbol


@dataclass(frozen=True, slots=True, kw_only=True)
class EditArguments:
    """A file, whether to replace in all places, the text to replace in it and the new text.

    In this order, so that it is known how often the old text may occur while the model writes it.
    """

    path: str = declared()
    all: bool = declared(False, "replace every occurrence, names as whole words")
    old: str = declared(blank=True)
    new: str = declared(blank=True)


EDIT = edit_tool(_DIALECT, EditArguments, make_change)
REPLACE_SYMBOL = Tool(
    "replace_symbol",
    "Replace a whole function, method or class.",
    SymbolArguments,
    read_only=False,
    bind=_replace_symbol,
    values={"path": Value.FILE},
)
