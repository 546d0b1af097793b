"""The app's commands: one table that feeds the slash commands, the command palette and the help screen."""

import re
from dataclasses import dataclass

_SLASH = re.compile(r"/[a-z]*")


@dataclass(frozen=True, slots=True)
class Command:
    """Something the user can ask the app to do. `action` is the app's; `slash` is what to type, if anything.

    `takes`: what may follow it, which the action is then given.
    """

    title: str
    summary: str
    action: str
    slash: str = ""
    takes: str = ""


COMMANDS = (
    Command("Help", "All keys and commands", "help", "/help"),
    Command("New chat", "Forget this conversation and start again", "new_chat", "/new"),
    Command("Copy answer", "Put the last answer into the clipboard", "copy_answer", "/copy"),
    Command("Theme", "Choose the colours", "change_theme", "/theme"),
    Command("Export chat", "Write the conversation to a Markdown file", "export", "/export"),
    Command("Speed", "How fast it is, and why", "speed", "/speed"),
    Command("Tint", "Tint the answer by who proposed it", "tint", "/tint"),
    Command("Drafts", "What was drafted, and what did not stand", "drafts", "/drafts"),
    Command("Prove", "Prove that speculation changed nothing", "prove", "/prove"),
    Command("Model", "Choose the model that answers", "model", "/model", "NAME|FILE"),
    Command("Set up", "What suits this machine, and one key to get it", "setup", "/setup"),
    Command("Fit", "Which contexts and caches of a model fit here", "fit", "/fit", "NAME|FILE"),
    Command("Context", "The context, block by block: what it costs, what to leave out", "context", "/context"),
    Command("Trust", "Let this folder's AGENTS.md instruct the model", "trust", "/trust"),
    Command("Index", "Read this folder's code, also where it is your home folder", "index", "/index"),
    Command("Plan", "How the model was opened, and why so", "plan", "/plan"),
    Command("Undo", "Take back the newest edit of a file", "undo", "/undo"),
    Command("Edits", "Ask before each edit, make all, or make none", "edits", "/edits", "ask|allow|never"),
    Command("Strict", "Strict speculation, or how to start with it", "strict", "/strict"),
    Command("Speculation off or on", "Decode plainly from the next answer on, or draft", "speculation"),
    Command("Open or close thinking", "Show what the model thought", "toggle_thinking"),
    Command("Open or close tool calls", "Show what the tools gave back, and what was edited", "toggle_tools"),
    Command("Quit", "Leave laguna-tui", "quit", "/quit"),
)


def is_slash(text: str) -> bool:
    """Whether the input is a slash command and not a message, such as one about `/etc/hosts`."""
    return _SLASH.fullmatch(text.strip()) is not None or argument(text) is not None


def argument(text: str) -> tuple[Command, str] | None:
    """A command with what follows it, when it is one that takes something."""
    name, _, rest = text.strip().partition(" ")
    found = next((command for command in COMMANDS if command.takes and command.slash == name), None)
    return (found, rest.strip()) if found is not None and rest.strip() and "\n" not in rest else None


def matching(text: str) -> list[Command]:
    """The commands that start with what was typed."""
    return [command for command in COMMANDS if command.slash and command.slash.startswith(text.strip())]


def find(text: str) -> Command | None:
    """The command that was typed: its full name, or the only one that starts so."""
    found = matching(text)
    exact = [command for command in found if command.slash == text.strip()]
    if exact:
        return exact[0]
    return found[0] if len(found) == 1 and len(text.strip()) > 1 else None
