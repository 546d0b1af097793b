"""The profile of models that read code themselves: they search by pattern, by symbol and by meaning, read and edit.

Every model of the catalogue has it but the bundled one, and so has a file that the catalogue does not know. A tool that
is listed here is offered to all of them.
"""

from laguna_tui.agent.prompt import system_prompt
from laguna_tui.agent.tools.base.edit import edit_tool
from laguna_tui.agent.tools.base.guard import Guard
from laguna_tui.agent.tools.base.model_profile import ModelProfile
from laguna_tui.agent.tools.full import find, read, search
from laguna_tui.repo.edit_files import EditDialect

FULL = ModelProfile(
    system_prompt=system_prompt("full"),
    tools=(
        find.FIND,
        search.SEARCH,
        read.READ,
        # A text that is not there is answered with the nearest one, which such a model tries next. Forgotten
        # indentation is put right, which saves a round and is told to the model and to the user.
        edit_tool(EditDialect(additions=False, reindents=True)),
    ),
    # What such a model says is taken as it is.
    guard=lambda asked, before: Guard(),
    attaches=True,
    takes_news=True,
)
"""Template and kept turns are those of a model's entry in the catalogue."""
