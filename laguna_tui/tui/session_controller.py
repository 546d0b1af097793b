"""The state of the session as the screen sees it, its queued messages, and its jobs. No widget.

Jobs run on a thread, one at a time, in the order in which they began. The events of a turn wait in a queue that the
screen polls at drawing speed, which joins text that arrived between two polls. After a stop or a new chat, further text
of the old turn is dropped, so that stopping looks immediate even if the engine needs a moment. While idle, a message
being typed can be prefetched: the state stays READY, and any other job comes first.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from enum import Enum
from typing import TypeVar

from laguna_engine.events import LoadProgress
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import (
    AgentEvent,
    AsideDelta,
    ReasoningDelta,
    ReplayCheck,
    ReplayProgress,
    Steered,
    TextDelta,
    ToolProgress,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.text import sanitize
from laguna_tui.session.session import Session
from laguna_tui.tui.event_queue import EventQueue

T = TypeVar("T")
Flow = Coroutine[object, object, object]
"""Jobs of the session and what the screen does between and after them."""
Put = Callable[[AgentEvent | AsideDelta | LoadProgress | ReplayProgress | ReplayCheck], None]
"""Puts an event into the queue to the screen. Any thread."""

NO_MODEL = "No model is loaded. Choose one with /model; the message above says why."
LOADING = "The model is still loading."
BUSY = "The session is busy. Stop it with Esc, then {command}."


class SessionState(Enum):
    """The state of the session."""

    LOADING = "loading"
    READY = "ready"
    BUSY = "busy"
    STOPPING = "stopping"
    FAILED = "failed"


class SessionBusyError(UserError):
    """The session is not free."""


class SessionController:
    """Call everything on the screen's thread, except `put` and `used`.

    Attributes:
        state: the state of the session; FAILED means that no model is open.
        queued: messages that wait for the session.
        steered: messages that wait to go into the turn that runs.
        returned: messages of a turn that was stopped, or killed in an earlier process, before they went in.
        last_message: the message that was sent last.
        on_turn: called on the session's thread when a turn has started or finished.
        on_end: called when a job has ended, before the state changes; takes the last events.
        on_idle: called when the session is free again.
        on_change: called when the state may have changed.
    """

    def __init__(self, session: Session, start: Callable[[Flow], object]) -> None:
        """start: runs a flow in a worker, and shows what goes wrong."""
        self.state = SessionState.LOADING
        self.queued: list[str] = []
        self.steered: list[str] = []
        self.returned: list[str] = []
        self.last_message = ""
        self.on_turn: Callable[[TurnStarted | TurnFinished], None] = lambda event: None
        self.on_end: Callable[[], None] = lambda: None
        self.on_idle: Callable[[], None] = lambda: None
        self.on_change: Callable[[], None] = lambda: None
        self._session, self._start = session, start
        self._events = EventQueue()
        self.put: Put = self._events.put
        self._thread = asyncio.Lock()
        self._has_model = False
        self._clearing = False
        self._changes: dict[str, Callable[[], Flow]] = {}
        # A flow has been started whose worker does not run yet: no message may come before it.
        self._held = False
        self._prefetching = self._prefetch_dropped = False
        self._may_prefetch = True

    @property
    def busy(self) -> bool:
        """Whether there is something to poll for."""
        at_work = self.state in (SessionState.LOADING, SessionState.BUSY, SessionState.STOPPING)
        return at_work or self._clearing or self._prefetching or bool(self._changes) or bool(self.queued)

    @property
    def free(self) -> bool:
        """Whether a message sent now is answered at once."""
        return self._can_start and not self._changes and not self.queued

    @property
    def prefetching(self) -> bool:
        """Whether a message that is being typed is prefetched."""
        return self._prefetching and not self._prefetch_dropped

    @property
    def _can_start(self) -> bool:
        return self.state is SessionState.READY and not self._clearing and not self._held

    # -- jobs

    def hold(self) -> None:
        """Queue messages until the flow that is being started begins its first job."""
        self._held = True

    def release(self) -> None:
        """End `hold`."""
        self._held = False

    async def run(self, job: Callable[[], T], command: str) -> T:
        """Run a job on the session's thread.

        Args:
            job: what to run.
            command: the key or slash command to repeat if the session is not free.

        Raises:
            SessionBusyError: the session is not free.
        """
        self.require_free(command)
        self.state = SessionState.BUSY
        return await self._run(job)

    def require_free(self, command: str) -> None:
        """Raise a SessionBusyError that says to repeat `command` unless the session is free."""
        self._held = False
        if self.state is SessionState.FAILED:
            raise SessionBusyError(NO_MODEL)
        if not self._can_start:
            raise SessionBusyError(BUSY.format(command=command))

    async def load(self, job: Callable[[Put], T], stage: str = "") -> T:
        """Run a job that opens a model; if it fails, the model before stays open.

        Args:
            job: is given `put` for its progress.
            stage: what it begins with, if that is known.
        """
        if stage:
            self.put(LoadProgress(stage, 0.0))

        def loading() -> T:
            result = job(self.put)
            self.returned += map(sanitize, self._session.chat.unsent())
            self._has_model = True
            return result

        self._held = False
        self.state = SessionState.LOADING
        return await self._run(loading)

    async def _run(self, job: Callable[[], T]) -> T:
        self.on_change()
        try:
            result = await self._in_thread(job)
        except Exception:
            self._end()
            raise
        self._end()
        return result

    async def _in_thread(self, job: Callable[[], T]) -> T:
        """Run a job after those before it; a prefetch is dropped for it."""
        self.drop_prefetch()
        async with self._thread:
            return await asyncio.to_thread(job)

    def _end(self) -> None:
        self.on_end()
        # What did not go into the turn is sent next, or returned if the turn was stopped. It is taken from the session
        # too, so that resuming it does not return it again.
        self._session.chat.unsent()
        left = self.returned if self.state is SessionState.STOPPING else self.queued
        left[:0] = self.steered
        self.steered.clear()
        self.state, self._may_prefetch = SessionState.READY, True
        if not self._has_model:
            self.state = SessionState.FAILED
            self._changes.clear()
        elif not self._clearing:
            self.on_idle()
        self.on_change()

    # -- messages

    def send(self, message: str) -> bool:
        """Send a message, or queue it. Returns whether it was sent."""
        if not self._can_start:
            self.queued.append(message)
            return False
        self.state, self.last_message = SessionState.BUSY, message
        self._start(self._run(lambda: self.pass_on(self._session.chat.ask(message))))
        return True

    def pass_on(self, events: Iterable[AgentEvent]) -> None:
        """Put the events of a generator, which runs as they are taken, into the queue. On the session's thread."""
        for event in events:
            if isinstance(event, TurnStarted | TurnFinished):
                self.on_turn(event)
            self.put(event)

    def steer(self, message: str) -> bool:
        """Have a message go into the turn that runs. Returns whether it is accepted."""
        if self.state is not SessionState.BUSY or self._clearing or not self._session.chat.steer(message):
            return False
        self.steered.append(message)
        return True

    def next_queued(self) -> str | None:
        """Take the next queued message, if the session is free."""
        return self.queued.pop(0) if self.queued and self._can_start else None

    def unqueue(self) -> str:
        """Take all queued messages, as one text."""
        text, self.queued = "\n".join(self.queued), []
        return text

    def take_returned(self) -> str:
        """Take the messages that a stopped turn left, as one text."""
        text, self.returned = "\n".join(self.returned), []
        return text

    def poll(self) -> list[object]:
        """Take the events since the last poll; those of a turn that was stopped are left out."""
        if self._prefetch_dropped:
            # A cancel just before it started had no effect.
            self._session.chat.cancel()
        if self.state is SessionState.STOPPING:
            # A turn that had not started yet, behind a prefetch or a change of model, missed the cancel.
            self._session.chat.cancel()
        return [item for item in self._events.drain() if self._accept(item)]

    def _accept(self, item: object) -> bool:
        if isinstance(item, Steered) and item.message in self.steered:
            self.steered.remove(item.message)
        stopped = self.state is SessionState.STOPPING and isinstance(item, TextDelta | ReasoningDelta | ToolProgress)
        return not stopped and not self._clearing

    # -- changes

    def change(self, name: str, flow: Callable[[], Flow]) -> None:
        """Start a change as soon as the session is free, instead of an earlier one of the same name."""
        self._changes[name] = flow
        self.on_change()

    def start_change(self) -> bool:
        """Start a change that waited. Returns whether there was one."""
        if not self._changes or self._clearing or self.state not in (SessionState.READY, SessionState.FAILED):
            return False
        self._held = True
        self._start(self._changes.pop(next(iter(self._changes)))())
        return True

    def stop(self) -> None:
        """Stop the running turn."""
        if self.state is SessionState.BUSY:
            self.state = SessionState.STOPPING
            self._session.chat.cancel()

    async def new_chat(self) -> None:
        """Clear the conversation, once the turn that was stopped for it has ended."""
        try:
            await self._in_thread(self._session.chat.new_chat)
        finally:
            self._clearing = False

    def clear(self) -> None:
        """Stop the turn and drop all that waits, before a new chat."""
        self.stop()
        self.queued.clear()
        self.steered.clear()
        self._changes.clear()
        self._clearing = True

    def leave(self) -> None:
        """Stop the running job when the app exits, and release its thread."""
        self.drop_prefetch()
        self._session.chat.cancel()
        self._events.close()

    def used(self) -> int:
        """Return the tokens of the conversation. Any thread."""
        return sum(block.tokens for block in self._session.prompt.blocks())

    # -- prefetching

    def prefetch(self, message: str, done: Callable[[], None]) -> bool:
        """Prefetch a message being typed, and call `done` then. Returns whether it was started: not if it is busy."""
        if not self.free or self._prefetching or not self._may_prefetch:
            return False
        self._prefetching = True
        self._start(self._prefetch(message, done))
        self.on_change()
        return True

    async def _prefetch(self, message: str, done: Callable[[], None]) -> None:
        """An error is not reported: nothing was sent yet, and sending the message will raise it again."""
        try:
            async with self._thread:
                if not self._prefetch_dropped:
                    await asyncio.to_thread(self._session.chat.prefetch, message)
        except Exception:
            self._may_prefetch = False
        # On this thread, before the next job can start: a cancel never reaches that.
        self._prefetching = self._prefetch_dropped = False
        done()
        self.on_change()

    def drop_prefetch(self) -> None:
        """Give up the prefetch."""
        if self._prefetching:
            self._prefetch_dropped = True
            self._session.chat.cancel()
