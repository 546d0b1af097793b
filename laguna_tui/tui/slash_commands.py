"""The table of commands, used for slash commands, the command palette and the help screen."""

import re
from dataclasses import dataclass

_SLASH = re.compile(r"/[a-z]*")


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Attributes:
        title: its name in the command palette.
        summary: what it does.
        action: name of the app's action.
        slash: the slash command, if any.
        takes: syntax of its argument, if any; the action is called with it.
        lines: whether the argument may have several lines.
    """

    title: str
    summary: str
    action: str
    slash: str = ""
    takes: str = ""
    lines: bool = False


COMMANDS = (
    Command("Help", "All keys and commands", "help", "/help"),
    Command("New chat", "Forget this conversation and start again", "new_chat", "/new"),
    Command("Copy answer", "Copy the last answer to the clipboard", "copy_answer", "/copy"),
    Command("Theme", "Choose the colours", "change_theme", "/theme"),
    Command("Export chat", "Write the conversation to a Markdown file", "export", "/export"),
    Command("Speed", "How fast it is, and why", "speed", "/speed"),
    Command("Tint", "Tint the answer by drafter", "tint", "/tint"),
    Command("Drafts", "What was drafted, and what was rejected", "drafts", "/drafts"),
    Command("Prove", "Check that speculation changed nothing", "prove", "/prove"),
    Command("Commit", "Commit, with a message that the model drafts", "commit", "/commit"),
    Command("Queue", "Send a message when the answer is done", "queue", "/queue", "TEXT", lines=True),
    Command("Shell", "Leave the screen to your shell, or to vim, less, git add -p …", "shell", "/shell", "COMMAND"),
    Command("Init", "Have the model write an AGENTS.md for this folder", "init", "/init"),
    Command("Resume", "Resume an earlier session, or search them", "sessions", "/resume", "ID|TITLE"),
    Command("Rename", "Give this session a title", "rename", "/rename", "TITLE"),
    Command("Fork", "Continue in a copy of this session", "fork", "/fork", "TITLE"),
    Command("Retry", "Continue an answer that was cut off, or load the model again", "retry", "/retry"),
    Command("Model", "Choose the model that answers", "model", "/model", "NAME|FILE|URL"),
    Command("Set up", "Download the model that suits this machine", "setup", "/setup"),
    Command("Fit", "Which contexts and caches of a model fit here", "fit", "/fit", "NAME|FILE"),
    Command("Context", "The context: its blocks and their costs", "context", "/context"),
    Command("Trust", "Let this folder's AGENTS.md instruct the model", "trust", "/trust"),
    Command("MCP servers", "The MCP servers of this session, and what each offers", "mcp", "/mcp"),
    Command("Check", "The command that checks the model's changes, or none", "check", "/check", "COMMAND"),
    Command("Index", "Index this folder's code, even if it is your home folder", "index", "/index"),
    Command("Plan", "How the model was opened, and why", "plan", "/plan"),
    Command("Undo", "Undo the last message: its files and its answer", "undo", "/undo"),
    Command("Redo", "Redo what was undone last", "redo", "/redo"),
    Command("Rewind", "Go back to before a message", "rewind", "/rewind"),
    Command("Diff", "What this session changed, or its last turn", "diff", "/diff", "turn"),
    Command("Mode", "What is done without asking", "mode", "/mode", "ask|accept-edits|plan|auto"),
    Command("Jobs", "Commands in the background: read and stop them", "jobs", "/jobs"),
    Command("Serve", "Let other programs use the model, and see who does", "serve", "/serve"),
    Command("Compact", "Make room in the context now; say what to keep", "compact", "/compact", "GUIDANCE"),
    Command("Strict", "Strict speculation, or how to start with it", "strict", "/strict"),
    Command("Speculation off or on", "Decode plainly from the next answer on, or draft", "speculation"),
    Command("Open or close thinking", "Show what the model thought", "toggle_thinking"),
    Command("Open or close tool calls", "Show tool results and edits", "toggle_tools"),
    Command("Quit", "Leave laguna-tui", "quit", "/quit"),
)


def is_slash(text: str) -> bool:
    """Whether the input is a slash command, not a message about a path such as `/etc/hosts`."""
    return _SLASH.fullmatch(text.strip()) is not None or argument(text) is not None


def argument(text: str) -> tuple[Command, str] | None:
    """The command and its argument, if the input is a command with one."""
    name, _, rest = text.strip().partition(" ")
    found = next((command for command in COMMANDS if command.takes and command.slash == name), None)
    if found is None or not rest.strip() or ("\n" in rest and not found.lines):
        return None
    return found, rest.strip()


def matching(text: str) -> list[Command]:
    """The commands that start with the text."""
    return [command for command in COMMANDS if command.slash and command.slash.startswith(text.strip())]


def find(text: str) -> Command | None:
    """The command with this name, or the only one that starts with it."""
    found = matching(text)
    exact = [command for command in found if command.slash == text.strip()]
    if exact:
        return exact[0]
    return found[0] if len(found) == 1 and len(text.strip()) > 1 else None
