"""Runs a task on the app's screen, driven by keys, with the session that the command line would open."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from laguna_tui.base.events import (
    AgentEvent,
    PermissionAnswered,
    PermissionAsked,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from laguna_tui.session.session import Session
from laguna_tui.tui.app import LagunaApp
from tests.agent_tasks.task import Outcome, Task, ToolCallRecord
from tests.scripted_model import Script, scripted_session
from tests.tui.pilot import ready, running, screen, transcript, until

SIZE = (100, 40)

_REACTION_S = 0.5
"""A question about a permission ignores keys for a little less: they were meant for something else."""


class RecordedChat:
    """A session's chat, and the events that it gave."""

    def __init__(self, chat: Any) -> None:
        self.events: list[AgentEvent] = []
        self._chat = chat

    def ask(self, message: str) -> Iterator[AgentEvent]:
        for event in self._chat.ask(message):
            self.events.append(event)
            yield event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chat, name)


@dataclass
class Screen:
    """The app with a task on its screen."""

    app: LagunaApp
    pilot: Pilot[None]
    session: Session
    script: Script
    folder: Path

    @property
    def events(self) -> list[AgentEvent]:
        """What the session told so far."""
        chat: Any = self.session.chat
        return chat.events

    @property
    def transcript(self) -> str:
        """All rows of the transcript."""
        return transcript(self.app)

    @property
    def shown(self) -> str:
        """What the terminal shows now."""
        return screen(self.app)

    async def send(self, message: str) -> None:
        """Type a message and press Enter."""
        self.app.prompt.replace_text(message)
        await self.pilot.press("enter")
        await self.pilot.pause()

    async def ask(self, message: str) -> None:
        """Send a message and wait for the end of the turn."""
        turns = self.turns
        await ready(self.app, self.pilot)
        await self.send(message)
        await until(self.pilot, lambda: self.turns > turns)
        await ready(self.app, self.pilot)

    async def answer(self, *keys: str) -> str:
        """Wait for the next question about a permission, and press these keys; what was shown before they were."""
        number = self._count(PermissionAnswered)
        await until(self.pilot, lambda: self._count(PermissionAsked) > number)
        # The question takes the focus once the user does not type, and keys a moment later.
        await until(self.pilot, lambda: self.app.focused is not self.app.prompt)
        await self.pilot.pause(_REACTION_S)
        shown = self.shown
        await self.pilot.press(*keys)
        await until(self.pilot, lambda: self._count(PermissionAnswered) > number)
        return shown

    def _count(self, kind: type) -> int:
        return sum(isinstance(event, kind) for event in self.events)

    @property
    def turns(self) -> int:
        """Turns that ended."""
        return self._count(TurnFinished)

    def outcome(self) -> Outcome:
        """What came of it so far."""
        started = {event.call_id: event for event in self.events if isinstance(event, ToolStarted)}
        calls = [
            ToolCallRecord(event.name, started[event.call_id].arguments, event.output, event.ok)
            for event in self.events
            if isinstance(event, ToolFinished)
        ]
        answer = "".join(event.text for event in self.events if isinstance(event, TextDelta))
        ends = [event.end.value for event in self.events if isinstance(event, TurnFinished)]
        return Outcome(self.folder, answer, ends[-1] if ends else "", calls, self.script)


@asynccontextmanager
async def on_screen(task: Task, folder: Path, **settings: Any) -> AsyncIterator[Screen]:
    """The app about a folder that holds the task's files."""
    script = task.script(folder)
    chosen = {"context": task.context, "mode": task.mode, **settings}
    session = scripted_session(folder, script, allow=task.allow, deny=task.deny, **chosen)
    session.chat = RecordedChat(session.chat)  # type: ignore[assignment]
    try:
        async with running(session, size=SIZE) as (app, pilot):  # type: ignore[arg-type]
            await ready(app, pilot)
            yield Screen(app, pilot, session, script, folder)
    finally:
        session.close()
