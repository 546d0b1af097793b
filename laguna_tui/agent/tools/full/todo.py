"""`todo`: the model's list of what it has to do, which the user sees and it is reminded of."""

from collections.abc import Callable
from dataclasses import dataclass

from laguna_tui.agent.todo_list import TodoList
from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.results import ToolAnswer
from laguna_tui.agent.tools.base.tool import Tool, ToolServices
from laguna_tui.base.events import TodoChanged
from laguna_tui.base.schema import declared


@dataclass(frozen=True, slots=True)
class TodoArguments:
    """The whole list: each call replaces it, so that no step has to be named to be changed."""

    items: str = declared(help="a line each: [ ] open, [~] in progress, [x] done", blank=True)


def _todo(services: ToolServices) -> Callable[[ToolRun, TodoArguments], ToolAnswer]:
    todo_list: TodoList = services.todo

    def todo(run: ToolRun, wanted: TodoArguments) -> ToolAnswer:
        """Replace the list.

        The answer repeats it as it was understood, so that it is at the end of what the model has read.
        """
        notes = todo_list.replace(wanted.items)
        run.emit(TodoChanged(todo_list.items))
        return ToolAnswer("\n".join([todo_list.text or "The list is empty.", *notes]))

    return todo


TODO = Tool(
    "todo",
    "Replace your list of steps. Use it for work of three steps or more, and keep it current.",
    TodoArguments,
    read_only=True,
    bind=_todo,
)
