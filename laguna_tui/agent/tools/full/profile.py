"""The profile of models that read code themselves: they search by pattern, by symbol and by meaning, read and edit."""

from laguna_tui.agent.prompt import system_prompt
from laguna_tui.agent.tools.base import edit
from laguna_tui.agent.tools.base.guard import Guard
from laguna_tui.agent.tools.base.model_profile import ModelProfile, Run, Tool, ToolServices
from laguna_tui.agent.tools.full import find, read, search
from laguna_tui.repo.edit_files import EditDialect


def _search(services: ToolServices) -> Run:
    if services.codebase is None:
        raise ValueError("search asks the folder's index; give the toolbox a codebase")
    return search.Search(services.codebase)


FULL = ModelProfile(
    system_prompt=system_prompt("full"),
    tools=(
        Tool.stateless(find.SPEC, find.run),
        Tool(search.SPEC, _search),
        Tool.stateless(read.SPEC, read.run),
        Tool(edit.SPEC, lambda services: edit.Edit(services.edits, EditDialect())),
    ),
    guard=lambda asked, before: Guard(),
)
