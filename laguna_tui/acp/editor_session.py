"""A session of a client: what belongs to it, and the options that the client can choose."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import schema

from laguna_tui.acp.session_updates import UpdateWriter
from laguna_tui.agent.tools.mcp.mcp_config import McpServer
from laguna_tui.base.permission_request import Mode
from laguna_tui.base.text import sanitize_line
from laguna_tui.session.session import Session
from laguna_tui.session.values import Here, ModelChoice

MODEL, THINKING = "model", "thinking"
_MODES = {
    Mode.ASK: "Ask about every change and command",
    Mode.ACCEPT_EDITS: "Change files without asking, but ask before deleting one",
    Mode.PLAN: "Only read, and end with a plan",
    Mode.AUTO: "Change files and run sandboxed commands without asking",
}
THINKING_VALUES = {"default": "Model's default", "on": "On", "off": "Off"}


@dataclass
class EditorSession:
    """One session of a client.

    Attributes:
        folder: The folder it is about.
        session: The session itself; its methods are called on `thread` only.
        id: Its ID, also of its file.
        servers: The client's MCP servers.
        changes: The settings that the client changed.
        notes: Sentences that the user has not seen yet.
        warned: The warnings that were shown.
        writer: Writes its updates.
        thread: The session's thread.
        busy: Whether a prompt is being answered; then no other is taken, and no option changes. Event loop only.
        stopped: Set when the client cancels the turn.
        asking: The call that asks for permission, in the protocol.
    """

    folder: Path
    session: Session
    id: str = ""
    servers: tuple[McpServer, ...] = ()
    changes: dict[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warned: set[str] = field(default_factory=set)
    writer: UpdateWriter = field(init=False)
    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "laguna-acp"))
    busy: bool = False
    stopped: threading.Event = field(default_factory=threading.Event)
    asking: str = ""

    def __post_init__(self) -> None:
        self.writer = UpdateWriter(self.folder)


def mode_state(held: EditorSession) -> schema.SessionModeState:
    """Return the modes, and the current one."""
    modes = [schema.SessionMode(id=mode.value, name=mode.value, description=about) for mode, about in _MODES.items()]
    return schema.SessionModeState(current_mode_id=held.session.permissions.mode.value, available_modes=modes)


def config_options(held: EditorSession, choices: Sequence[ModelChoice]) -> list[Any]:
    """Return the options and their values. choices: The models that could answer."""
    models = [
        schema.SessionConfigSelectOption(value=each.name, name=sanitize_line(each.title))
        for each in choices
        if each.here is Here.READY
    ]
    thinking = held.changes.get(THINKING)
    found: list[Any] = [
        schema.SessionConfigOptionSelect(
            type="select",
            id=THINKING,
            name="Thinking",
            category="thought_level",
            current_value="default" if thinking is None else "on" if thinking else "off",
            options=[schema.SessionConfigSelectOption(value=key, name=name) for key, name in THINKING_VALUES.items()],
        )
    ]
    current = next((each.name for each in choices if each.current), "")
    if current:
        option = schema.SessionConfigOptionSelect(
            type="select", id=MODEL, name="Model", category="model", current_value=current, options=models
        )
        found.insert(0, option)
    return found
