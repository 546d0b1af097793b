"""The profile of Laguna Nano, the model that ships with the app.

It was trained on exactly this prompt and these tools, byte for byte, and its answers are the lists that they give. It
is small enough to copy wrongly, so its turns are held against what was asked and what its tools said.

Changing any of it needs the model to be trained again: `assets/nano/recipe` reads this profile. What it reads first,
byte for byte, is `tests/app/agent/tools/nano_system.txt`.
"""

from laguna_tui.agent.prompt import system_prompt
from laguna_tui.agent.tools.base.edit import EditArguments, edit_tool
from laguna_tui.agent.tools.base.model_profile import ExampleQuestions, ModelProfile
from laguna_tui.agent.tools.nano import find, search
from laguna_tui.agent.tools.nano.guard import NanoGuard
from laguna_tui.agent.tools.nano.rename import make_rename
from laguna_tui.agent.tools.nano.routes import route
from laguna_tui.repo.edits.edit_files import EditDialect

LOOKS_UP = "this model is too small to read files; it looks them up"
DIALECT = EditDialect(
    # It repeats a definition on one line, however many it is written on,
    additions=True,
    # and forgets how deep that line is indented.
    reindents=True,
)
"""What is made of its texts where they are not quite the file's."""

NANO = ModelProfile(
    system_prompt=system_prompt("nano"),
    tools=(
        find.FIND,
        search.SEARCH,
        edit_tool(DIALECT, EditArguments, make_rename),
    ),
    abilities="looks up code and makes small edits; it declines the rest.",
    examples=ExampleQuestions(
        defined="Where is {name} defined?", used="Where is {name} used?", tested="Which tests use {name}?"
    ),
    guard=NanoGuard,
    router=route,
    # A file beside the question is longer than anything it was trained on.
    attaches=False,
    unattached_note=LOOKS_UP,
    # It has never seen a reminder, and takes its words for the question.
    reads_reminders=False,
    # It knows only questions about code.
    writes_asides=False,
    # After a loop it would only find another one.
    recovers=False,
    # It runs no commands, and was trained on one line of facts.
    describes_environment=False,
    # It may break a file's text into other lines; its guard constrains what it copies.
    constrains_calls=False,
)
"""Template and kept turns are those of its entry in the catalogue."""
