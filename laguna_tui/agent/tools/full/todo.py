"""`todo`: the model's list of what it has to do, which the user sees and it is reminded of."""

from dataclasses import dataclass

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import Tool, ToolServices
from laguna_tui.base.events import TodoChanged
from laguna_tui.base.schema import declared


@dataclass(frozen=True, slots=True)
class TodoArguments:
    """The whole list: each call replaces it, so that no step has to be named to be changed."""

    items: str = declared(help="a line each: [ ] open, [~] in progress, [x] done", blank=True)


def todo(services: ToolServices, run: ToolRun, wanted: TodoArguments) -> ToolResult:
    """Replace the list. The result repeats it, so that it is at the end of what the model has read."""
    steps = services.todo
    notes = steps.replace(wanted.items)
    run.emit(TodoChanged(steps.items))
    return ToolResult("\n".join([steps.text or "The list is empty.", *notes]))


TODO = Tool(
    "todo",
    "Replace your list of steps. Use it for work of three steps or more, and keep it current.",
    TodoArguments,
    todo,
    read_only=True,
)
