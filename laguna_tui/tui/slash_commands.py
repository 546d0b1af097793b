"""The table of commands, used for slash commands, keys, the command palette, the help screen and the manual."""

import re
from dataclasses import dataclass

from textual.binding import Binding

from laguna_tui.base.spelling import nearest
from laguna_tui.tui.keys import UNBOUND

_SLASH = re.compile(r"/[a-z_-]*")


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Attributes:
        title: its name in the command palette; empty: it is not there.
        summary: what it does.
        action: an action of the app, or `part.method` of a part of it.
        slash: the slash command, if any.
        takes: syntax of its argument, if any; the action is called with it.
        key: the keys that run it, separated by commas.
        aliases: other slash commands for it, which users of other programs try.
        name: its name in keys.toml, if it has no slash command.
        priority: whether its keys win over those of the widget with the focus.
        lines: whether the argument may have several lines.
        needs: whether it does nothing without an argument.
    """

    title: str
    summary: str
    action: str
    slash: str = ""
    takes: str = ""
    key: str = ""
    aliases: tuple[str, ...] = ()
    name: str = ""
    priority: bool = True
    lines: bool = False
    needs: bool = False

    @property
    def id(self) -> str:
        """The command in keys.toml, with its section; empty if its key cannot be changed."""
        name = self.name or self.slash.removeprefix("/")
        return f"app.{name}" if name else ""

    @property
    def binding(self) -> Binding:
        """The binding of its keys; a command without any has one too, so that keys.toml can give it some."""
        action = f"run('{self.action}')" if "." in self.action or self.needs else self.action
        return Binding(self.key or UNBOUND, action, self.summary, id=self.id or None, priority=self.priority)

    @property
    def usage(self) -> str:
        """The slash command with the syntax of its argument."""
        return f"{self.slash} {self.takes}".strip()


# In the order of the list that "/" opens.
COMMANDS = (
    Command("", "Stop the answer; back to the input; twice: rewind", "stop", key="escape", name="stop", priority=False),
    Command("", "Copy, clear or stop; twice: quit", "interrupt", key="ctrl+c"),
    Command("Help", "All keys and commands, or a page of the manual", "help", "/help", "PAGE", "f1", ("/commands",)),
    Command("", "Command palette", "command_palette", key="ctrl+p", name="palette"),
    Command("New chat", "Start a new chat", "new_chat", "/new", "", "ctrl+n", ("/clear",)),
    Command(
        "Resume", "Resume an earlier session, or search, fork, delete them", "sessions.resume",
        "/resume", "ID|TITLE", "ctrl+s", ("/sessions", "/continue"),
    ),
    Command("Model", "Choose the model", "models.choose", "/model", "NAME|FILE|URL", "f7", ("/models",)),
    Command("Set up", "Download the model that suits this machine", "models.set_up", "/setup", "", "f8"),
    Command(
        "Models of other programs", "Use a model that Ollama, LM Studio, llama-server or vLLM has here",
        "models.choose_other", key="f12", name="other-models",
    ),
    Command("Mode", "Show or change what is done without asking", "modes.use", "/mode", "ask|accept-edits|plan|auto"),
    Command("Undo", "Undo the last message: its files and its answer", "history.undo", "/undo"),
    Command("Redo", "Redo what was undone last", "history.redo", "/redo"),
    Command("Rewind", "Go back to before a message", "history.rewind", "/rewind"),
    Command("Diff", "Show what this session or its last turn changed", "history.diff", "/diff", "turn"),
    Command("Review", "Have the model review the uncommitted changes", "reviews.begin", "/review", "FOCUS"),
    Command("Commit", "Commit, with a message that the model drafts", "commits.begin", "/commit"),
    Command(
        "Context", "Show the context: its blocks and their costs", "context.show_screen",
        "/context", "", "f9", ("/cost",),
    ),
    Command(
        "Answer now", "End the model's thinking, so that it answers; also Enter in the empty input", "answer_now",
        "/answer",
    ),
    Command("Compact", "Make room in the context now; say what to keep", "compact", "/compact", "GUIDANCE"),
    Command("Copy answer", "Copy the last answer to the clipboard", "copy_answer", "/copy", "", "ctrl+y"),
    Command("Export chat", "Write the conversation to a file", "sessions.export", "/export", "FILE"),
    Command("Queue", "Send a message when the answer is done", "queue", "/queue", "TEXT", lines=True, needs=True),
    Command(
        "Side question", "Ask something that is not part of the conversation afterwards", "asides.ask",
        "/btw", "QUESTION", lines=True, needs=True,
    ),
    Command("Shell", "Leave the screen to your shell, or to vim, git add -p …", "shell.hand_over", "/shell", "COMMAND"),
    Command("Editor", "Edit the message in $VISUAL or $EDITOR", "shell.edit_message", key="ctrl+g", name="editor"),
    Command("Init", "Have the model write an AGENTS.md for this folder", "init", "/init"),
    Command("Check", "Set the command that checks the model's changes", "check", "/check", "COMMAND"),
    Command("Jobs", "Show and stop background commands", "jobs.show_screen", "/jobs"),
    Command("Rename", "Give this session a title", "sessions.rename", "/rename", "TITLE"),
    Command("Fork", "Continue in a copy of this session", "sessions.fork", "/fork", "TITLE"),
    Command("Retry", "Continue an answer that was cut off, or load the model again", "retry", "/retry"),
    Command(
        "Thinking", "Expand or collapse thinking", "toggle_thinking", key="ctrl+t", name="thinking"
    ),
    Command(
        "Tool calls", "Expand or collapse tool calls and changes", "toggle_tools", "/expand", "", "ctrl+o", name="tools"
    ),
    Command("Sidebar", "Show or hide the sidebar of wide screens", "sidebar.toggle", "/sidebar", "", "ctrl+b"),
    Command("Speed", "Show or hide the speed panel", "speed.toggle_panel", "/speed", "", "f2"),
    Command("Tint", "Tint the answer by drafter", "speed.toggle_tint", "/tint", "", "f3"),
    Command("Drafts", "Show the accepted and rejected drafts", "speed.show_drafts", "/drafts", "", "f4"),
    Command("Prove", "Check that speculation changed nothing", "prove", "/prove", "", "f5"),
    Command(
        "Speculation", "Turn speculation off or on, from the next answer on", "speed.toggle_drafting",
        "/speculation", "", "f6",
    ),
    Command("Strict", "Switch between strict and fast speculation", "speed.toggle_strict", "/strict"),
    Command("Fit", "Show which context sizes and caches of a model fit here", "models.show_fit", "/fit", "NAME|FILE"),
    Command("Plan", "Show how the model was opened, and why", "plan", "/plan"),
    Command("Index", "Index this folder's code, even if it is your home folder", "index", "/index"),
    Command("Trust", "Let this folder's AGENTS.md instruct the model", "trust", "/trust"),
    Command("MCP servers", "Show the MCP servers of this session and their tools", "mcp", "/mcp"),
    Command("Serve", "Let other programs use the model, and see who does", "serving.show_screen", "/serve"),
    Command("Theme", "Choose the colours", "change_theme", "/theme"),
    Command("Vim", "Turn vim's keys in the input on or off", "toggle_vim", "/vim"),
    Command("Quit", "Leave laguna-tui", "quit", "/quit", "", "ctrl+q", ("/exit",)),
    Command(
        "Input history", "Search the input history", "search_history",
        key="ctrl+r", name="search_history", priority=False,
    ),
    Command("", "Suspend; fg in the shell resumes", "suspend_process", key="ctrl+z", name="suspend"),
    Command("", "Go to the block above", "block(-1)", key="ctrl+up", name="block_above"),
    Command("", "Go to the block below", "block(1)", key="ctrl+down", name="block_below"),
    Command("", "Scroll up a page", "page(-1)", key="pageup", name="page_up"),
    Command("", "Scroll down a page", "page(1)", key="pagedown", name="page_down"),
    Command("", "Follow the end", "follow", key="ctrl+end", name="follow"),
)  # fmt: skip


def split(text: str) -> tuple[str, str]:
    """Return the first word of the input, in lower case, and the rest."""
    name, *rest = text.strip().split(None, 1) or [""]
    return name.lower(), "".join(rest)


def is_slash(text: str) -> bool:
    """Return whether the input is a slash command, not a message about a path such as `/etc/hosts`."""
    name, rest = split(text)
    found = find(name)
    return _SLASH.fullmatch(name) is not None and (
        not rest or (found is not None and name in names(found) and (found.lines or "\n" not in rest))
    )


def find(name: str) -> Command | None:
    """Return the command with this name, or the only one that starts with it."""
    found = [each for each in COMMANDS if any(known.startswith(name) for known in names(each))]
    exact = [each for each in found if name in names(each)]
    return exact[0] if exact else found[0] if len(found) == 1 and len(name) > 1 else None


def search(typed: str) -> list[tuple[str, Command]]:
    """Return the commands for the list that "/" opens, each with its name, the best first.

    These are the commands whose name starts with what was typed, then those whose name or summary contains it.
    """
    typed = typed.strip().lower()
    known = {name: each for each in COMMANDS for name in names(each)}
    word = typed.removeprefix("/")
    found = {each.slash: each for each in COMMANDS if each.slash and each.slash.startswith(typed)}
    if word:
        found |= {name: each for name, each in known.items() if name.startswith(typed) and each not in found.values()}
        for name, each in known.items():
            if name == each.slash and each not in found.values() and _mentions(each, word):
                found[name] = each
    return list(found.items())


def similar(typed: str) -> list[tuple[str, Command]]:
    """Return the commands that may have been meant, each with its name."""
    known = {name: each for each in COMMANDS for name in names(each)}
    return [(name, known[name]) for name in nearest(typed.strip().lower(), known, 3)]


def _mentions(command: Command, word: str) -> bool:
    words = f"{command.title} {command.summary}".lower().split()
    return word in command.slash or (len(word) > 2 and any(each.startswith(word) for each in words))


def names(command: Command) -> tuple[str, ...]:
    """Return the slash commands that run a command."""
    return (command.slash, *command.aliases) if command.slash else ()
