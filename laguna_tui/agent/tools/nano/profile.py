"""The profile of Laguna Nano, the model that ships with the app.

It was trained on exactly this prompt and these tools, byte for byte, and its answers are the lists that they give. It
is small enough to copy wrongly, so its turns are held against what was asked and what its tools said.
"""

from laguna_tui.agent.prompt import system_prompt
from laguna_tui.agent.tools.base import edit
from laguna_tui.agent.tools.base.model_profile import ModelProfile, Tool
from laguna_tui.agent.tools.nano import find, search
from laguna_tui.agent.tools.nano.guard import NanoGuard
from laguna_tui.repo.edit_files import EditDialect

# It repeats a definition as one line, however many it is written on, and forgets how deep that line stands.
_DIALECT = EditDialect(additions=True, reindents=True)

NANO = ModelProfile(
    system_prompt=system_prompt("nano"),
    tools=(
        Tool.stateless(find.SPEC, find.run),
        Tool.stateless(search.SPEC, search.run),
        Tool(edit.SPEC, lambda services: edit.Edit(services.edits, _DIALECT)),
    ),
    guard=NanoGuard,
    attaches=False,
    takes_news=False,
)
