"""A tool: one declaration gives its schema, the check of its arguments, the model's text and the documentation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar

from laguna_engine.chat.messages import ToolSpec
from laguna_tui.agent.changes import Changes
from laguna_tui.agent.diagnostics import Diagnostics
from laguna_tui.agent.todo_list import TodoList
from laguna_tui.agent.tool_run import ToolError, ToolRun
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.base.schema import json_schema
from laguna_tui.context.codebase import Codebase

if TYPE_CHECKING:
    from laguna_tui.sandbox.runner import CommandRunner

A = TypeVar("A")


def no_commands() -> "CommandRunner":
    """Raise the error of a session in which no command can be run."""
    raise ToolError("no command can be run here; go on without it")


@dataclass(frozen=True, slots=True)
class ToolServices:
    """What a session provides to its tools.

    Attributes:
        changes: Makes changes of files, and those by commands undoable.
        codebase: The folder's index; None if a session has none.
        commands: Returns what runs commands; raises ToolError if none can be run.
        todo: The model's list of steps.
        diagnostics: Reports what a change broke; None without.
    """

    changes: Changes
    codebase: Codebase | None = None
    commands: Callable[[], "CommandRunner"] = no_commands
    todo: TodoList = field(default_factory=TodoList)
    diagnostics: Diagnostics | None = None


class Value(Enum):
    """What the value of an argument is, beyond its type.

    Attributes:
        FILE: The path of a text file of the folder.
        EXCERPT: A text of the file that the call's `path` names, which occurs there once unless the call has `all`.
    """

    FILE = "file"
    EXCERPT = "excerpt"


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """A tool as a profile lists it.

    Attributes:
        name: As the model calls it.
        description: What the model reads about it.
        arguments: A frozen dataclass whose fields are all declared (`base.schema`).
        run: Runs a call on a worker thread, with checked arguments; raises ToolError or WorkspaceError with a sentence
            for the model.
        read_only: Whether it changes nothing outside this process. Calls of such tools that are side by side run at
            the same time, and are allowed in every mode.
        needs_index: Whether it searches the folder's index (`ToolServices.codebase`).
        values: What the values of some arguments are, by name, for models that are held to it while they write.
        parameters: The JSON schema of another program's tool, which gets its arguments unchecked; None for ours, whose
            schema is made from `arguments`.
        spec: What the model reads about it.
    """

    name: str
    description: str
    arguments: type[A]
    run: Callable[[ToolServices, ToolRun, A], ToolResult]
    read_only: bool = False
    needs_index: bool = False
    values: Mapping[str, Value] = field(default_factory=dict)
    parameters: Mapping[str, object] | None = None
    spec: ToolSpec = field(init=False)

    def __post_init__(self) -> None:
        schema = json_schema(self.arguments) if self.parameters is None else self.parameters
        object.__setattr__(self, "spec", ToolSpec(self.name, self.description, schema))
