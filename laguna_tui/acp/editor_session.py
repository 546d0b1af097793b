"""A session as its client has it: what belongs to it, and what the client can choose."""

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
    Mode.ACCEPT_EDITS: "Change files unasked, but ask before one is deleted",
    Mode.PLAN: "Only look, and end with a plan",
    Mode.AUTO: "Change files, and run commands that the sandbox can hold, unasked",
}
THINKING_VALUES = {"default": "As the model is made for", "on": "On", "off": "Off"}


@dataclass
class EditorSession:
    """One session of a client's.

    Attributes:
        id: its ID, also where it is kept.
        folder: what it is about.
        session: the session itself; its methods are called on `thread` only, as the session's thread.
        servers: MCP servers of the client.
        changes: its settings that are not the user's own.
        notes: sentences that the user has not been shown yet.
        warned: what was shown of a session's warnings.
        writer: of its updates.
        busy: from a prompt to its answer; then there is no other one, and no option changes. The event loop's.
        stopped: the client wants no more of the turn.
        asking: the call that asks for permission, in the protocol.
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
    """The modes, and which one holds."""
    modes = [schema.SessionMode(id=mode.value, name=mode.value, description=about) for mode, about in _MODES.items()]
    return schema.SessionModeState(current_mode_id=held.session.permissions.mode.value, available_modes=modes)


def config_options(held: EditorSession, choices: Sequence[ModelChoice]) -> list[Any]:
    """The options, and what is chosen. choices: the models that could answer."""
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
