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
        action: an action of the app, or `part.method` of a part of it.
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
    Command("Help", "All keys and commands, or a page of the manual", "help", "/help", "PAGE"),
    Command("New chat", "Forget this conversation and start again", "new_chat", "/new"),
    Command("Copy answer", "Copy the last answer to the clipboard", "copy_answer", "/copy"),
    Command("Theme", "Choose the colours", "change_theme", "/theme"),
    Command("Export chat", "Write the conversation to a Markdown file", "sessions.export", "/export"),
    Command("Speed", "Show or hide the speed panel", "speed.toggle_panel", "/speed"),
    Command("Tint", "Tint the answer by drafter", "speed.toggle_tint", "/tint"),
    Command("Drafts", "Show the accepted and rejected drafts", "speed.show_drafts", "/drafts"),
    Command("Prove", "Check that speculation changed nothing", "prove", "/prove"),
    Command("Commit", "Commit, with a message that the model drafts", "commits.begin", "/commit"),
    Command("Queue", "Send a message when the answer is done", "queue", "/queue", "TEXT", lines=True),
    Command("Shell", "Leave the screen to your shell, or to vim, git add -p …", "shell.hand_over", "/shell", "COMMAND"),
    Command("Init", "Have the model write an AGENTS.md for this folder", "init", "/init"),
    Command("Resume", "Resume an earlier session, or search them", "sessions.resume", "/resume", "ID|TITLE"),
    Command("Rename", "Give this session a title", "sessions.rename", "/rename", "TITLE"),
    Command("Fork", "Continue in a copy of this session", "sessions.fork", "/fork", "TITLE"),
    Command("Retry", "Continue an answer that was cut off, or load the model again", "retry", "/retry"),
    Command("Model", "Choose the model", "models.choose", "/model", "NAME|FILE|URL"),
    Command("Set up", "Download the model that suits this machine", "models.set_up", "/setup"),
    Command("Fit", "Show which context sizes and caches of a model fit here", "models.show_fit", "/fit", "NAME|FILE"),
    Command("Context", "Show the context: its blocks and their costs", "context.show_screen", "/context"),
    Command("Trust", "Let this folder's AGENTS.md instruct the model", "trust", "/trust"),
    Command("MCP servers", "Show the MCP servers of this session and their tools", "mcp", "/mcp"),
    Command("Check", "Set the command that checks the model's changes", "check", "/check", "COMMAND"),
    Command("Index", "Index this folder's code, even if it is your home folder", "index", "/index"),
    Command("Plan", "Show how the model was opened, and why", "plan", "/plan"),
    Command("Undo", "Undo the last message: its files and its answer", "history.undo", "/undo"),
    Command("Redo", "Redo what was undone last", "history.redo", "/redo"),
    Command("Rewind", "Go back to before a message", "history.rewind", "/rewind"),
    Command("Diff", "Show what this session or its last turn changed", "history.diff", "/diff", "turn"),
    Command("Mode", "Show or change what is done without asking", "modes.use", "/mode", "ask|accept-edits|plan|auto"),
    Command("Jobs", "Show and stop background commands", "jobs.show_screen", "/jobs"),
    Command("Serve", "Let other programs use the model, and see who does", "serving.show_screen", "/serve"),
    Command("Compact", "Make room in the context now; say what to keep", "compact", "/compact", "GUIDANCE"),
    Command("Strict", "Switch between strict and fast speculation", "speed.toggle_strict", "/strict"),
    Command("Speculation", "Turn speculation off or on, from the next answer on", "speed.toggle_drafting"),
    Command("Expand or collapse thinking", "Show what the model thought", "toggle_thinking"),
    Command("Expand or collapse tool calls", "Show tool results and edits", "toggle_tools"),
    Command("Quit", "Leave laguna-tui", "quit", "/quit"),
)


def is_slash(text: str) -> bool:
    """Return whether the input is a slash command, not a message about a path such as `/etc/hosts`."""
    return _SLASH.fullmatch(text.strip()) is not None or argument(text) is not None


def argument(text: str) -> tuple[Command, str] | None:
    """Return the command and its argument, if the input is a command with one."""
    name, _, rest = text.strip().partition(" ")
    found = next((command for command in COMMANDS if command.takes and command.slash == name), None)
    if found is None or not rest.strip() or ("\n" in rest and not found.lines):
        return None
    return found, rest.strip()


def matching(text: str) -> list[Command]:
    """Return the commands that start with the text."""
    return [command for command in COMMANDS if command.slash and command.slash.startswith(text.strip())]


def find(text: str) -> Command | None:
    """Return the command with this name, or the only one that starts with it."""
    found = matching(text)
    exact = [command for command in found if command.slash == text.strip()]
    if exact:
        return exact[0]
    return found[0] if len(found) == 1 and len(text.strip()) > 1 else None
