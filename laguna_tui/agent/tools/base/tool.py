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
from laguna_tui.agent.tools.base.results import ToolAnswer
from laguna_tui.base.schema import json_schema
from laguna_tui.context.codebase import Codebase

if TYPE_CHECKING:
    from laguna_tui.sandbox.runner import CommandRunner

A = TypeVar("A")


def no_commands() -> "CommandRunner":
    """What runs commands where none can be run."""
    raise ToolError("no command can be run here; go on without it")


@dataclass(frozen=True, slots=True)
class ToolServices:
    """What a session lends to its tools.

    Attributes:
        changes: what changes of files and commands go through.
        codebase: the folder's index; None where a session has none.
        commands: gives what runs commands, once one is to be run; raises ToolError where none can be.
        todo: the model's list of steps.
        diagnostics: what says what a change broke; None where nothing does.
    """

    changes: Changes
    codebase: Codebase | None = None
    commands: Callable[[], "CommandRunner"] = no_commands
    todo: TodoList = field(default_factory=TodoList)
    diagnostics: Diagnostics | None = None


class Value(Enum):
    """What the value of an argument is, beyond its type.

    Attributes:
        FILE: the path of a text file of the folder.
        EXCERPT: a text of the file that the call's `path` names, which occurs there once unless the call has `all`.
    """

    FILE = "file"
    EXCERPT = "excerpt"


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """A tool as a profile lists it.

    Its calls run on worker threads, as plain functions: they take a ToolRun and the checked arguments, return an
    ToolAnswer, and raise ToolError or WorkspaceError with a sentence for the model.

    Attributes:
        name: as the model calls it.
        description: what the model reads about it.
        arguments: a frozen dataclass whose fields are all declared (`base.schema`).
        read_only: whether it changes nothing outside this process. Calls of such tools that are side by side run at
            the same time, and are allowed in every mode.
        values: what the values of some arguments are, by name, for models that are held to it while they write.
        bind: makes the function that runs its calls in one session; raises ValueError where a service is missing.
        parameters: the JSON schema of somebody else's tool, which gets its arguments as they were written; None of our
            own, whose schema is made of `arguments`.
        spec: what the model is told about it.
    """

    name: str
    description: str
    arguments: type[A]
    read_only: bool
    bind: Callable[[ToolServices], Callable[[ToolRun, A], ToolAnswer]]
    values: Mapping[str, Value] = field(default_factory=dict)
    parameters: Mapping[str, object] | None = None
    spec: ToolSpec = field(init=False)

    def __post_init__(self) -> None:
        schema = json_schema(self.arguments) if self.parameters is None else self.parameters
        spec = ToolSpec(self.name, self.description, schema)
        object.__setattr__(self, "spec", spec)

    @classmethod
    def stateless(
        cls, name: str, description: str, arguments: type[A], run: Callable[[ToolRun, A], ToolAnswer]
    ) -> "Tool[A]":
        """A read-only tool that needs the workspace and its arguments alone."""
        return cls(name, description, arguments, read_only=True, bind=lambda services: run)
