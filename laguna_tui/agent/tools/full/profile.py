"""The profile of models that work on their own: they search by pattern, symbol and meaning, change files, run commands.

Every model of the catalogue has it but the bundled one, and so has a file that the catalogue does not know. A tool that
is listed here is offered to all of them. They come in the order of the work: to look, to change files, to run commands,
to keep in mind what is left. The prompt begins with their text, so their order and their words stay as they are for a
whole session, and a test holds their length.
"""

from laguna_tui.agent.prompt import system_prompt
from laguna_tui.agent.tools.base.guard import Guard
from laguna_tui.agent.tools.base.model_profile import ExampleQuestions, ModelProfile
from laguna_tui.agent.tools.full.change_files import DELETE, EDIT, MOVE, REPLACE_SYMBOL, WRITE
from laguna_tui.agent.tools.full.find import FIND
from laguna_tui.agent.tools.full.list import LIST
from laguna_tui.agent.tools.full.read import READ
from laguna_tui.agent.tools.full.search import SEARCH
from laguna_tui.agent.tools.full.shell import SHELL
from laguna_tui.agent.tools.full.todo import TODO

FULL = ModelProfile(
    system_prompt=system_prompt("full"),
    tools=(
        # To read.
        FIND,
        SEARCH,
        LIST,
        READ,
        # To change files.
        EDIT,
        REPLACE_SYMBOL,
        WRITE,
        MOVE,
        DELETE,
        # To run commands, and to keep in mind what is left.
        SHELL,
        TODO,
    ),
    abilities="answers questions about the code, changes it, and runs commands; you approve what it does.",
    examples=ExampleQuestions(
        defined="What does {name} do, and who uses it?",
        used="What would break if {name} raised an exception?",
        tested="What do the tests of {name} not cover?",
    ),
    # Such a model reads what tools answer, and corrects itself.
    guard=lambda asked, before: Guard(),
    # It reads files beside a question, which saves calls.
    attaches=True,
)
"""Template and kept turns are those of a model's entry in the catalogue."""
