"""Who talks when: loading, asking, stopping, queueing, changing the mode, proving. Knows nothing of the screen.

The session's thread puts events into a feed; the screen polls it. After a stop or a new chat, what the old turn still
says is dropped, so that stopping looks immediate even when the engine needs a moment. While nothing is asked, a message
that is being typed can be read ahead: the state stays READY then, and whatever else is wanted comes first.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from laguna_engine.errors import EngineError
from laguna_engine.events import LoadProgress
from laguna_engine.options import Speculation
from laguna_tui.context.blocks import Place
from laguna_tui.errors import UserError
from laguna_tui.events import Proving, ReasoningDelta, TextDelta
from laguna_tui.text import sanitize
from laguna_tui.tui.ahead import Ahead
from laguna_tui.tui.feed import Feed, SessionThread
from laguna_tui.tui.session import ChatSession, SessionInfo

NO_MODEL = "No model is loaded, so nobody can answer. The message above says what to do."


class State(Enum):
    """What the session is doing."""

    LOADING = "loading"
    READY = "ready"
    BUSY = "busy"
    STOPPING = "stopping"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Opened:
    """The model is loaded."""

    info: SessionInfo


@dataclass(frozen=True, slots=True)
class Switching:
    """Another mode of decoding is being set up."""

    mode: Speculation


@dataclass(frozen=True, slots=True)
class Switched:
    """It is the mode now."""

    info: SessionInfo


@dataclass(frozen=True, slots=True)
class Changed:
    """Another model answers from now on."""

    info: SessionInfo
    title: str


@dataclass(frozen=True, slots=True)
class Failed:
    """Something raised; `sentence` is safe to show."""

    sentence: str
    loading: bool = False


@dataclass(frozen=True, slots=True)
class Cleared:
    """The session has forgotten the conversation."""


@dataclass(frozen=True, slots=True)
class Arranged:
    """Blocks of the context were changed, from the next message on; it takes `used` tokens now."""

    used: int


@dataclass(frozen=True, slots=True)
class Undone:
    """An edit was taken back, or could not be; `sentence` is safe to show."""

    sentence: str


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """What was read ahead is read, or was dropped."""


@dataclass(frozen=True, slots=True)
class Idle:
    """The session is free for the next message."""


class Turns:
    """The state of the session as the screen sees it, and the messages that wait."""

    def __init__(self, session: ChatSession) -> None:
        self.state = State.LOADING
        self.queued: list[str] = []
        self._session = session
        self._feed = Feed()
        self._thread = SessionThread()
        self._clearing = False
        self._wished: Speculation | None = None
        self._model: str | None = None
        self._places: dict[int, Place] = {}
        self._ahead: Ahead | None = None
        self._may_read_ahead = True

    @property
    def busy(self) -> bool:
        """Whether there is something to poll for."""
        at_work = self.state in (State.LOADING, State.BUSY, State.STOPPING)
        return at_work or self._clearing or self._wanted_next or self._ahead is not None

    @property
    def free(self) -> bool:
        """Whether a message that is sent now is answered now."""
        return self.state is State.READY and not self._clearing and not self._wanted_next and not self.queued

    @property
    def reading_ahead(self) -> bool:
        """Whether a message that is being typed is read."""
        return self._ahead is not None and not self._ahead.dropped

    @property
    def _wanted_next(self) -> bool:
        return self._wished is not None or self._model is not None or bool(self._places)

    def open(self) -> None:
        """Start to load the model."""
        self._thread.submit(self._open)

    def send(self, message: str) -> bool:
        """Ask, or keep the message for later; whether it was sent now."""
        if self.state is not State.READY or self._clearing:
            self.queued.append(message)
            return False
        self.state = State.BUSY
        self._submit(lambda: self._ask(message))
        return True

    def read_ahead(self, message: str) -> bool:
        """Compute what is certain of a message that is being typed; whether it was begun: only a free session does."""
        if not self.free or self._ahead is not None or not self._may_read_ahead:
            return False
        ahead = self._ahead = Ahead(self._session, message)
        self._thread.submit(lambda: self._read(ahead))
        return True

    def drop_ahead(self) -> None:
        """What is read ahead is not wanted any more."""
        if self._ahead is not None:
            self._ahead.drop()

    def prove(self) -> bool:
        """Generate the last answer again and compare; whether it was begun, which needs a free session."""
        if self.state is not State.READY or self._clearing:
            return False
        self.state = State.BUSY
        self._submit(lambda: self._guard(self._prove, Idle()))
        return True

    def undo(self) -> bool:
        """Take back the newest edit; whether it was begun, which needs a free session."""
        if self.state is not State.READY or self._clearing:
            return False
        self.state = State.BUSY
        self._submit(lambda: self._guard(self._undo, Idle()))
        return True

    def speculate(self, mode: Speculation) -> None:
        """Decode in this mode as soon as the session is free."""
        self._wished = mode

    def change(self, model: str) -> None:
        """Let another model answer as soon as the session is free, also when none could be opened."""
        self._model = model

    def arrange(self, places: Mapping[int, Place]) -> None:
        """Change blocks of the context as soon as the session is free."""
        self._places |= places

    def stop(self) -> None:
        """Stop the turn that runs."""
        if self.state is State.BUSY:
            self.state = State.STOPPING
            self._session.cancel()

    def leave(self) -> None:
        """The app ends: what runs is stopped, and waits for no screen."""
        self.drop_ahead()
        self._session.cancel()
        self._feed.close()

    def new_chat(self) -> None:
        """Forget the conversation, after stopping it."""
        self.stop()
        self.queued.clear()
        self._places.clear()
        if self.state is not State.FAILED:
            self._clearing = True
            self._submit(lambda: self._guard(self._session.new_chat, Cleared()))

    def next_queued(self) -> str | None:
        """The message whose turn it is now, if the session is free."""
        return self.queued.pop(0) if self.queued and self.state is State.READY and not self._clearing else None

    def unqueue(self) -> str:
        """Take the waiting messages back, as one text."""
        text, self.queued = "\n".join(self.queued), []
        return text

    def poll(self) -> list[object]:
        """What happened since the last poll, the state already brought up to date."""
        items = [item for item in self._feed.drain() if self._wanted(item)]
        if self._ahead is not None and self._ahead.dropped:
            self._ahead.drop()
        if self.state is State.STOPPING:
            # Not heard by a turn that had not begun yet, behind what was read ahead or a model that was opened again.
            self._session.cancel()
        if not self._clearing:
            self._begin_wanted()
        return items

    def _begin_wanted(self) -> None:
        """What waited for the session to be free."""
        if self._wished is not None and self.state is State.READY:
            wished, self._wished = self._wished, None
            self.state = State.LOADING
            self._submit(lambda: self._guard(lambda: self._switch(wished), Idle()))
        if self._model is not None and self.state in (State.READY, State.FAILED):
            model, self._model = self._model, None
            first, self.state = self.state is State.FAILED, State.LOADING
            self._submit(lambda: self._change(model, first=first))
        if self._places and self.state is State.READY:
            places, self._places = self._places, {}
            self.state = State.BUSY
            self._submit(lambda: self._guard(lambda: self._arrange(places), Idle()))

    def _submit(self, job: Callable[[], None]) -> None:
        """Let the session do this next; what is read ahead makes room."""
        self.drop_ahead()
        self._thread.submit(job)

    def _wanted(self, item: object) -> bool:
        match item:
            case Opened():
                self.state = State.READY
            case ReadAhead():
                self._may_read_ahead = self._ahead is None or not self._ahead.failed
                self._ahead = None
                return True
            case Failed(loading=True):
                self.state = State.FAILED
                self._places.clear()
            case Cleared():
                self._clearing = False
            case Idle():
                self.state, self._may_read_ahead = State.READY, True
                return not self._clearing
            case TextDelta() | ReasoningDelta():
                return not self._clearing and self.state is not State.STOPPING
        return not self._clearing or isinstance(item, Opened | Switched | Changed | Failed)

    def _open(self) -> None:
        try:
            self._feed.put(Opened(self._session.open(self._feed.put)))
        except Exception as error:
            self._feed.put(Failed(sentence(error), loading=True))

    def _ask(self, message: str) -> None:
        def iterate() -> None:
            for event in self._session.ask(message):
                self._feed.put(event)

        self._guard(iterate, Idle())

    def _switch(self, mode: Speculation) -> None:
        self._feed.put(Switching(mode))
        self._feed.put(Switched(self._session.speculate(mode, self._feed.put)))

    def _change(self, model: str, *, first: bool) -> None:
        """first: no model is open, so that a failure leaves none."""
        try:
            self._feed.put(LoadProgress("weights", 0.0))
            info = self._session.switch(model, self._feed.put)
            self._feed.put(Changed(info, self._session.title))
        except Exception as error:
            self._feed.put(Failed(sentence(error), loading=first))
            if first:
                return
        self._feed.put(Idle())

    def _arrange(self, places: Mapping[int, Place]) -> None:
        self._session.change(places)
        self._feed.put(Arranged(sum(block.tokens for block in self._session.blocks())))

    def _read(self, ahead: Ahead) -> None:
        ahead.run()
        self._feed.put(ReadAhead())

    def _prove(self) -> None:
        self._feed.put(Proving(0, 0))
        self._feed.put(self._session.prove(self._feed.put))

    def _undo(self) -> None:
        self._feed.put(Undone(sanitize(self._session.undo())))

    def _guard(self, job: Callable[[], None], after: object) -> None:
        """Run a job of the session's thread: an error is told and the thread lives on."""
        try:
            job()
        except Exception as error:
            self._feed.put(Failed(sentence(error)))
        self._feed.put(after)


def sentence(error: Exception) -> str:
    """The error as a sentence for the user, safe to show. Only our own errors are written for users."""
    if isinstance(error, EngineError | UserError):
        return sanitize(str(error))
    return sanitize(f"Something unexpected went wrong ({type(error).__name__}: {error}). Please report it.")
