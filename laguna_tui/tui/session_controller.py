"""Runs the session on its own thread: loading, asking, stopping, queueing, changing modes, replaying. No widget.

The session's thread puts events into a queue; the screen polls it, and text that arrived between two polls is one
event. After a stop or a new chat, further events of the old turn are dropped, so that stopping looks immediate even if
the engine needs a moment. While idle, a message being typed can be prefetched: the state stays READY, and any other job
comes first.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from queue import SimpleQueue

from laguna_engine.config import Speculation
from laguna_engine.events import LoadProgress
from laguna_tui.base.events import (
    ReasoningDelta,
    ReplayProgress,
    Steered,
    TextDelta,
    ToolProgress,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.messages import Place
from laguna_tui.base.text import sanitize
from laguna_tui.session.session import Chat, Session
from laguna_tui.session.values import FolderGoneError, OtherFolderError
from laguna_tui.tui.event_queue import EventQueue
from laguna_tui.tui.session_messages import (
    ChatCleared,
    ContextChanged,
    ModeChanged,
    ModeChanging,
    ModelChanged,
    PrefetchEnded,
    SessionElsewhere,
    SessionFailed,
    SessionFolderGone,
    SessionIdle,
    SessionOpened,
    SessionResumed,
    SessionState,
    error_sentence,
)

Put = Callable[[object], None]
"""Puts an event into the queue to the screen."""


class SessionThread:
    """The thread that calls the session. It is a daemon: a model that is still loading never delays quitting."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._run, name="laguna-session", daemon=True).start()

    def submit(self, job: Callable[[], None]) -> None:
        """Run `job` after those before it. It must not raise."""
        self._jobs.put(job)

    def _run(self) -> None:
        while True:
            self._jobs.get()()


class Prefetch:
    """A prefetch: run by the session's thread, dropped by the screen's; it never affects the jobs after it.

    `Chat.cancel` stops whatever runs. Between two jobs of the session's thread that could be the next answer, or
    it could come too early to have an effect. So a cancel is sent only while this job runs, under one lock with its
    end, and is repeated until it has ended.

    Attributes:
        message: the message as typed so far.
        dropped: whether the session is needed for something else.
        failed: whether it raised.
    """

    def __init__(self, chat: Chat, message: str) -> None:
        self.message = message
        self.dropped = False
        self.failed = False
        self._chat = chat
        self._lock = threading.Lock()
        self._over = False

    def run(self) -> None:
        """Read, on the session's thread.

        An error is not reported: nothing was asked yet, and sending the message will raise it again.
        """
        try:
            if not self.dropped:
                self._chat.prefetch(self.message)
        except Exception:
            self.failed = True
        finally:
            with self._lock:
                self._over = True

    def drop(self) -> None:
        """Cancel it. Repeat while it runs: a cancel just before it started had no effect."""
        self.dropped = True
        with self._lock:
            if not self._over:
                self._chat.cancel()


class SessionController:
    """The state of the session as the screen sees it, and the queued messages.

    Attributes:
        state: the state of the session.
        queued: messages that wait for the session.
        steered: messages that wait to go into the turn that runs.
        returned: messages of a turn that was stopped, or killed in an earlier process, before they went in.
        asked: the message that was sent last.
        on_turn: called on the session's thread when a turn has started or finished.
    """

    def __init__(self, session: Session) -> None:
        self.state = SessionState.LOADING
        self.queued: list[str] = []
        self.steered: list[str] = []
        self.returned: list[str] = []
        self.asked = ""
        self.on_turn: Callable[[TurnStarted | TurnFinished], None] = lambda event: None
        self._session = session
        self._events = EventQueue()
        self._thread = SessionThread()
        self._clearing = False
        self._next_mode: Speculation | None = None
        self._next_model: str | None = None
        self._places: dict[int, Place] = {}
        self._prefetch: Prefetch | None = None
        self._may_prefetch = True

    @property
    def busy(self) -> bool:
        """Whether there is something to poll for."""
        at_work = self.state in (SessionState.LOADING, SessionState.BUSY, SessionState.STOPPING)
        return at_work or self._clearing or self._change_pending or self._prefetch is not None

    @property
    def free(self) -> bool:
        """Whether a message sent now is answered at once."""
        return self.state is SessionState.READY and not self._clearing and not self._change_pending and not self.queued

    @property
    def prefetching(self) -> bool:
        """Whether a message that is being typed is prefetched."""
        return self._prefetch is not None and not self._prefetch.dropped

    @property
    def _change_pending(self) -> bool:
        return self._next_mode is not None or self._next_model is not None or bool(self._places)

    def open(self, find: Callable[[], str] | None = None) -> None:
        """Start to load the model, or to resume a session and its model; see `resume`."""
        self.state = SessionState.LOADING
        self._submit(lambda: self._resume(find, first=True) if find is not None else self._open())

    def resume(self, find: Callable[[], str]) -> bool:
        """Resume the session that `find` names, on the session's thread. Returns whether it was started."""
        if self.state not in (SessionState.READY, SessionState.FAILED) or self._clearing:
            return False
        first, self.state = self.state is SessionState.FAILED, SessionState.LOADING
        self._submit(lambda: self._resume(find, first=first))
        return True

    def send(self, message: str) -> bool:
        """Send a message, or queue it. Returns whether it was sent."""
        if self.state is not SessionState.READY or self._clearing:
            self.queued.append(message)
            return False
        self.state, self.asked = SessionState.BUSY, message
        self._submit(lambda: self._iterate(lambda: self._session.chat.ask(message)))
        return True

    def compact(self, guidance: str) -> bool:
        """Make room in the context. Returns whether it was started, which needs a free session."""
        if self.state is not SessionState.READY or self._clearing:
            return False
        self.state = SessionState.BUSY
        self._submit(lambda: self._iterate(lambda: self._session.chat.compact(guidance)))
        return True

    def steer(self, message: str) -> bool:
        """Have a message go into the turn that runs. Returns whether it is accepted."""
        if self.state is not SessionState.BUSY or self._clearing or not self._session.chat.steer(message):
            return False
        self.steered.append(message)
        return True

    def prefetch(self, message: str) -> bool:
        """Prefetch a message being typed. Returns whether it was started, which needs a free session."""
        if not self.free or self._prefetch is not None or not self._may_prefetch:
            return False
        prefetch = self._prefetch = Prefetch(self._session.chat, message)
        self._thread.submit(lambda: self._run_prefetch(prefetch))
        return True

    def drop_prefetch(self) -> None:
        """Give up the prefetch."""
        if self._prefetch is not None:
            self._prefetch.drop()

    def check_replay(self) -> bool:
        """Generate the last answer again and compare. Returns whether it was started, which needs a free session."""
        return self.start(self._check_replay)

    def start(self, job: Callable[[Put], None]) -> bool:
        """Run a job on the session's thread; it is given what puts events into the queue.

        Returns:
            Whether it was started, which needs a free session.
        """
        if self.state is not SessionState.READY or self._clearing:
            return False
        self.state = SessionState.BUSY
        self._submit(lambda: self._guard(lambda: job(self._events.put), SessionIdle()))
        return True

    def speculate(self, mode: Speculation) -> None:
        """Change the speculation mode as soon as the session is free."""
        self._next_mode = mode

    def change(self, model: str) -> None:
        """Change the model as soon as the session is free, also if none could be opened."""
        self._next_model = model

    def arrange(self, places: Mapping[int, Place]) -> None:
        """Change blocks of the context as soon as the session is free."""
        self._places |= places

    def stop(self) -> None:
        """Stop the running turn."""
        if self.state is SessionState.BUSY:
            self.state = SessionState.STOPPING
            self._session.chat.cancel()

    def leave(self) -> None:
        """Stop the running job when the app exits, and release its thread."""
        self.drop_prefetch()
        self._session.chat.cancel()
        self._events.close()

    def new_chat(self) -> None:
        """Stop the turn and clear the conversation."""
        self.stop()
        self.queued.clear()
        self.steered.clear()
        self._places.clear()
        if self.state is not SessionState.FAILED:
            self._clearing = True
            self._submit(lambda: self._guard(self._session.chat.new_chat, ChatCleared()))

    def next_queued(self) -> str | None:
        """Take the next queued message, if the session is free."""
        return self.queued.pop(0) if self.queued and self.state is SessionState.READY and not self._clearing else None

    def unqueue(self) -> str:
        """Take all queued messages, as one text."""
        text, self.queued = "\n".join(self.queued), []
        return text

    def take_returned(self) -> str:
        """Take the messages that a stopped turn left, as one text."""
        text, self.returned = "\n".join(self.returned), []
        return text

    def poll(self) -> list[object]:
        """Take the events since the last poll and update the state."""
        items = [item for item in self._events.drain() if self._accept(item)]
        if self._prefetch is not None and self._prefetch.dropped:
            self._prefetch.drop()
        if self.state is SessionState.STOPPING:
            # A turn that had not started yet, behind a prefetch or a change of model, missed the cancel.
            self._session.chat.cancel()
        if not self._clearing:
            self._start_changes()
        return items

    def _start_changes(self) -> None:
        """Start the changes that waited for the session to be free."""
        if self._next_mode is not None and self.state is SessionState.READY:
            mode, self._next_mode = self._next_mode, None
            self.state = SessionState.LOADING
            self._submit(lambda: self._guard(lambda: self._switch(mode), SessionIdle()))
        if self._next_model is not None and self.state in (SessionState.READY, SessionState.FAILED):
            model, self._next_model = self._next_model, None
            first, self.state = self.state is SessionState.FAILED, SessionState.LOADING
            self._submit(lambda: self._change(model, first=first))
        if self._places and self.state is SessionState.READY:
            places, self._places = self._places, {}
            self.state = SessionState.BUSY
            self._submit(lambda: self._guard(lambda: self._arrange(places), SessionIdle()))

    def _submit(self, job: Callable[[], None]) -> None:
        """Submit a job; a prefetch is dropped for it."""
        self.drop_prefetch()
        self._thread.submit(job)

    def _accept(self, item: object) -> bool:
        match item:
            case SessionOpened():
                self.state = SessionState.READY
            case PrefetchEnded():
                self._may_prefetch = self._prefetch is None or not self._prefetch.failed
                self._prefetch = None
                return True
            case SessionFailed(loading=True) | SessionFolderGone(loading=True):
                self.state = SessionState.FAILED
                self._places.clear()
            case ChatCleared():
                self._clearing = False
            case Steered(message) if message in self.steered:
                self.steered.remove(message)
            case SessionIdle():
                self._end_steering()
                self.state, self._may_prefetch = SessionState.READY, True
                return not self._clearing
            case TextDelta() | ReasoningDelta() | ToolProgress():
                return not self._clearing and self.state is not SessionState.STOPPING
        kept = SessionOpened | SessionResumed | ModeChanged | ModelChanged | SessionFailed | SessionFolderGone
        return not self._clearing or isinstance(item, kept)

    def _end_steering(self) -> None:
        """What did not go into the turn is sent next, or returned if the turn was stopped."""
        # Taken from the session too, so that resuming it does not return them again.
        self._session.chat.unsent()
        left = self.returned if self.state is SessionState.STOPPING else self.queued
        left[:0] = self.steered
        self.steered.clear()

    def _open(self) -> None:
        try:
            info = self._session.open(self._events.put)
            self.returned += map(sanitize, self._session.chat.unsent())
            self._events.put(SessionOpened(info, self._used() if info.resumed is not None else 0))
        except Exception as error:
            self._events.put(SessionFailed(error_sentence(error), loading=True))

    def _iterate(self, events: Callable[[], Iterable[object]]) -> None:
        """Pass on the events of a generator, which runs as they are asked for."""

        def iterate() -> None:
            for event in events():
                if isinstance(event, TurnStarted | TurnFinished):
                    self.on_turn(event)
                self._events.put(event)

        self._guard(iterate, SessionIdle())

    def _switch(self, mode: Speculation) -> None:
        self._events.put(ModeChanging(mode))
        self._events.put(ModeChanged(self._session.models.speculate(mode, self._events.put)))

    def _change(self, model: str, *, first: bool) -> None:
        """first: whether no model is open, so that a failure leaves none."""
        try:
            self._events.put(LoadProgress("weights", 0.0))
            info = self._session.models.switch(model, self._events.put)
            self._events.put(ModelChanged(info, self._session.title))
        except Exception as error:
            self._events.put(SessionFailed(error_sentence(error), loading=first))
            if first:
                return
        self._events.put(SessionIdle())

    def _resume(self, find: Callable[[], str], *, first: bool) -> None:
        """first: as in `_change`."""
        try:
            self._events.put(LoadProgress("session", 0.0))
            info = self._session.sessions.resume(find(), self._events.put)
            self.returned += map(sanitize, self._session.chat.unsent())
            self._events.put(SessionResumed(info, self._session.title, self._used()))
        except OtherFolderError as error:
            self._events.put(SessionElsewhere(error.session, error.folder, error_sentence(error)))
        except FolderGoneError as error:
            self._events.put(SessionFolderGone(error.session, error.folder, loading=first))
            if first:
                return
        except Exception as error:
            self._events.put(SessionFailed(error_sentence(error), loading=first))
            if first:
                return
        self._events.put(SessionIdle())

    def _used(self) -> int:
        return sum(block.tokens for block in self._session.prompt.blocks())

    def _arrange(self, places: Mapping[int, Place]) -> None:
        self._session.prompt.change(places)
        self._events.put(ContextChanged(self._used()))

    def _run_prefetch(self, prefetch: Prefetch) -> None:
        prefetch.run()
        self._events.put(PrefetchEnded())

    def _check_replay(self, put: Put) -> None:
        put(ReplayProgress(0, 0))
        put(self._session.chat.check_replay(put))

    def _guard(self, job: Callable[[], None], after: object) -> None:
        """Run a job on the session's thread; an error is reported and the thread continues."""
        try:
            job()
        except Exception as error:
            self._events.put(SessionFailed(error_sentence(error)))
        self._events.put(after)
