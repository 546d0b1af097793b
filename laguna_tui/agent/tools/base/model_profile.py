"""What is special about a kind of model, as one value: its prompt, its tools, and how it is treated.

General code reads the profile and never asks which model it is about.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from laguna_engine.chat.messages import ToolCall, ToolSpec
from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base.guard import Guard
from laguna_tui.agent.tools.base.tool import Tool, ToolServices
from laguna_tui.repo.search.well_known import WellKnownSymbol

# One user may be no more than an import that passes the name on; a list of many is cut in the answer.
_FEW_USERS = range(2, 9)

SHELL = "shell"
"""The tool that runs commands, by the name that models were trained on."""


@dataclass(frozen=True, slots=True)
class ExampleQuestions:
    """Questions that a kind of model answers well, each with `{name}` for a symbol.

    Attributes:
        defined: About any symbol.
        used: About one that other files use.
        tested: About one that tests use.
    """

    defined: str
    used: str
    tested: str

    def about(self, symbols: Sequence[WellKnownSymbol], count: int) -> Sequence[str]:
        """Return up to `count` questions, each about another symbol; `symbols` are the best known ones first."""
        left = list(symbols)
        types = [each for each in left if each.is_type]
        called = [each for each in left if not each.is_type and each.users]
        few = [each for each in called if each.users in _FEW_USERS]
        wanted = (
            (self.defined, types or left),
            (self.used, few or called or [each for each in left if each.users]),
            (self.tested, sorted((each for each in left if each.tests), key=lambda each: -each.tests)),
            *((self.defined, left) for _ in range(count)),
        )
        questions: list[str] = []
        for question, among in wanted:
            chosen = next((each for each in among if each in left), None)
            if chosen is not None and len(questions) < count:
                questions.append(question.format(name=chosen.name))
                left.remove(chosen)
        return questions


@dataclass(frozen=True, slots=True)
class Route:
    """How a turn begins before the model generates anything.

    Attributes:
        answer: The answer as it is shown; the turn is over. Empty: the model answers from the results of the calls.
        calls: Made in the model's name.
    """

    answer: str = ""
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """How the app treats one kind of model.

    Adding a model is an entry in models.toml, whose `tools` names one of the profiles there are; only a model that
    needs other tools, another prompt or a guard gets a profile of its own (`agent/profile.py` lists them).

    Attributes:
        system_prompt: What the model reads first, without a newline at its end; the same bytes for a whole session.
        tools: What it may call, in the order in which it reads them.
        abilities: What it can do, as the end of a sentence that begins with its title.
        examples: Questions that it answers well.
        guard: Makes the guard of a turn from the user's message, and a function that returns the prompt's text between
            the system's part and that message.
        router: Answers a question from the folder's index, or makes the calls that it needs, before the model; returns
            None for what is the model's. Gets the message, a function that returns those before it, newest first, and
            what tools work with. None: the model begins every turn.
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
    abilities: str
    examples: ExampleQuestions
    guard: Callable[[str, Callable[[], str]], Guard]
    router: "Callable[[str, Callable[[], Sequence[str]], ToolServices, ToolRun], Route | None] | None" = None
    turns: int | None = None
    attaches: bool = True
    unattached_note: str = ""
    recovers: bool = True
    reads_reminders: bool = True
    writes_asides: bool = True
    describes_environment: bool = True
    constrains_calls: bool = True

    def constrains(self, wanted: bool | None) -> bool:
        """Return whether calls are constrained. wanted: What the user chose; None for the profile's own choice."""
        return self.constrains_calls if wanted is None else wanted

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools)
