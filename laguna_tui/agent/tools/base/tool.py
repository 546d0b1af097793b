"""A tool: one declaration gives its schema, the check of its arguments, the model's text and the documentation.

Arguments, which a model wrote, are read leniently: digits in a text are a number, the words true and false are one of
them, and a choice may be written in capitals. What is wrong beyond that gets a sentence that says what to call with.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from laguna_engine.chat.messages import ToolSpec
from laguna_tui.agent.changes import Changes
from laguna_tui.agent.diagnostics import Diagnostics
from laguna_tui.agent.todo_list import TodoList
from laguna_tui.agent.tool_run import ToolError, ToolRun
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.base.paths import escaped
from laguna_tui.base.schema import REQUIRED, DeclaredField, declarations, json_schema, unknown_names
from laguna_tui.context.codebase import Codebase

if TYPE_CHECKING:
    from laguna_tui.sandbox.runner import CommandRunner

A = TypeVar("A")

LAST_LINE = 10**9
"""No file that is read has as many lines; Python refuses to read or write numbers of thousands of digits."""
_DIGITS = 10


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


class ArgumentError(ToolError):
    """An argument is missing or wrong; the message is a sentence for the model."""


def read_arguments(cls: type[A], arguments: Mapping[str, object]) -> A:
    """Return the arguments of a call, checked, with defaults for missing ones.

    Args:
        cls: A dataclass whose fields are all declared.
        arguments: As the model wrote them.

    Raises:
        ArgumentError: An argument is unknown, missing or wrong; says what to call with.
    """
    fields = declarations(cls)
    unknown = unknown_names(cls, arguments)
    if unknown:
        raise ArgumentError(f"unknown argument {', '.join(unknown)}; use {', '.join(fields)}")
    return cls(**{name: _READERS[field.kind](field, arguments) for name, field in fields.items()})


def _text(field: DeclaredField, arguments: Mapping[str, object]) -> str:
    value = arguments.get(field.name, field.default)
    if not isinstance(value, str):
        raise ArgumentError(f"{field.name} is missing; call again with {field.name} as text")
    if field.default is REQUIRED and not field.rule.blank and not value.strip():
        raise ArgumentError(f"{field.name} is empty; call again with {field.name} as text")
    return _choice(field, value) if field.rule.choices else value


def _choice(field: DeclaredField, value: str) -> str:
    chosen = value.strip().lower() or str(field.default)
    if chosen != field.default and field.wrong(chosen):
        advice = field.rule.advice or field.allowed
        raise ArgumentError(f"there is no {field.name} {escaped(value)}; call again with {advice}")
    return chosen


def _number(field: DeclaredField, arguments: Mapping[str, object]) -> int | None:
    value = arguments.get(field.name)
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) <= _DIGITS:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or field.wrong(value):
        least = f"{field.rule.minimum}"
        raise ArgumentError(f"{field.name} is not a {field.rule.unit}; call again with a whole number from {least}")
    return value


def _flag(field: DeclaredField, arguments: Mapping[str, object]) -> bool:
    value = arguments.get(field.name, field.default)
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if value is not None and not isinstance(value, bool):
        raise ArgumentError(f"{field.name} is neither true nor false; call again with one of them")
    return bool(value)


_READERS: Mapping[type, Any] = {str: _text, int: _number, bool: _flag}
