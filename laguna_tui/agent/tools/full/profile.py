"""The profile of models that work on their own: they search by pattern, symbol and meaning, change files, run commands.

Every model of the catalogue has it but the bundled one, and so has a file that the catalogue does not know. A tool that
is listed here is offered to all of them. They come in the order of the work: to look, to change files, to run commands,
to keep in mind what is left. The prompt begins with their text, so their order and their words stay as they are for a
whole session, and a test holds their length.
"""

from laguna_tui.agent.prompt import system_prompt
from laguna_tui.agent.tools.base.guard import Guard
from laguna_tui.agent.tools.base.model_profile import ModelProfile
from laguna_tui.agent.tools.full import edits, files, find, read, search, shell, todo
from laguna_tui.agent.tools.full import list as list_

FULL = ModelProfile(
    system_prompt=system_prompt("full"),
    tools=(
        # To look.
        find.FIND,
        search.SEARCH,
        list_.LIST,
        read.READ,
        # To change files.
        edits.EDIT,
        edits.REPLACE_SYMBOL,
        files.WRITE,
        files.MOVE,
        files.DELETE,
        # To run commands, and to keep in mind what is left.
        shell.SHELL,
        todo.TODO,
    ),
    # What such a model says is taken as it is: it reads what tools answer, and corrects itself.
    guard=lambda asked, before: Guard(),
    # It reads files beside a question, which saves the calls to look them up.
    attaches=True,
)
"""Template and kept turns are those of a model's entry in the catalogue."""
