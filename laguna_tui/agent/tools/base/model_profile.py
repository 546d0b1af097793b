"""What is special about a kind of model, as one value: its prompt, its tools, and how it is treated.

General code reads the profile and never asks which model it is about.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from laguna_engine.chat.messages import ToolSpec
from laguna_tui.agent.tools.base.guard import Guard
from laguna_tui.agent.tools.base.tool import Tool

SHELL = "shell"
"""The tool that runs commands, by the name that models were trained on."""


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """How the app treats one kind of model.

    Adding a model is an entry in models.toml, whose `tools` names one of the profiles there are; only a model that
    needs other tools, another prompt or a guard gets a profile of its own (`agent/profile.py` lists them).

    Attributes:
        system_prompt: What the model reads first, without a newline at its end; the same bytes for a whole session.
        tools: What it may call, in the order in which it reads them.
        guard: Makes the guard of a turn from the user's message, and a function that returns the prompt's text between
            the system's part and that message.
        turns: How many of a chat's newest turns are in its prompt, the one that is asked included; None for all.
        attaches: Whether it reads what a message mentions beside the question; one that does not looks it up itself.
        unattached_note: The note shown once in a chat when something is mentioned that is not attached.
        recovers: Whether it continues from where it was stopped in a loop; one that does not is stopped for good.
        reads_reminders: Whether it tells the app's words, in `<system-reminder>`, from the user's; one that does not is
            not told of plan mode.
        writes_asides: Whether it writes what the app asks it for beside the conversation (a commit's message, a
            summary); one that does not answers with something else, which is not used.
        describes_environment: Whether it gets what it needs for commands, beside the folder, the date and git's state.
        constrains_calls: Whether its calls are held to tools, arguments, files and texts that are there.
    """

    system_prompt: str
    tools: tuple[Tool[Any], ...]
    guard: Callable[[str, Callable[[], str]], Guard]
    turns: int | None = None
    attaches: bool = True
    unattached_note: str = ""
    recovers: bool = True
    reads_reminders: bool = True
    writes_asides: bool = True
    describes_environment: bool = True
    constrains_calls: bool = True

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools)
