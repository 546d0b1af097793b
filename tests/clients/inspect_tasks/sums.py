"""Tasks for inspect-ai: one whose target the scripted model says, one with another target, one with a tool."""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import match
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import Tool, tool


@task
def said() -> Task:
    """The model says 42."""
    return Task([Sample(input="What is 40 + 2?", target="42")], scorer=match(numeric=True))


@task
def unsaid() -> Task:
    """The model says 42 here too."""
    return Task([Sample(input="What is 40 + 3?", target="43")], scorer=match(numeric=True))


@task
def called() -> Task:
    """The model calls the tool, and says what it returned."""
    sample = Sample(input="Multiply 6789 by 4321.", target="29335269")
    return Task([sample], solver=[use_tools(multiply()), generate()], scorer=match(numeric=True))


@tool
def multiply() -> Tool:
    """A tool that the server has to describe to the model."""

    async def execute(first: int, second: int) -> str:
        """Multiply two numbers.

        Args:
            first: One number.
            second: The other.
        """
        return str(first * second)

    return execute
