"""A session resumes exactly from the state between any two of its writes, which is what a kill leaves there."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from laguna_tui.base.events import TextDelta, ToolStarted
from laguna_tui.base.messages import ChatMessage
from laguna_tui.session import session_writer
from laguna_tui.session.history import History
from laguna_tui.session.resuming import SavedSession
from laguna_tui.store.session_journal import SessionJournal
from laguna_tui.undo.restore import Restorer
from laguna_tui.undo.undo_log import UndoLog
from tests.app.session.place import Place, ask, contents, rendered_again, start, tokens
from tests.scripted_model import call, say

PARTS = 6
"""Of the moments, so that none takes long."""
STEERED = "and quickly"
State = tuple[list[int], dict[str, Any], list[tuple[int, bool]]]


def state_of(session, place) -> State:
    """The conversation, the folder, and the turns with whether each is undone."""
    points = [(point.number, point.undone) for point in session.history.points()]
    return tokens(session), contents(place.project), points


@dataclass
class Moment:
    """What a kill leaves between two writes.

    Attributes:
        name: of the folder with the copies.
        line: bytes of a group of lines that were written before the kill; empty unless it came in the middle of one.
        doing: what was being done.
        allowed: the states that it may resume in; empty while a message is answered.
        said: the messages that were written to the journal.
    """

    name: str
    line: bytes
    doing: str
    allowed: tuple[State, ...]
    said: tuple[Any, ...]


@dataclass
class Recording:
    """Copies of a place before each write of a session, and the states that its turns began in."""

    place: Place
    session: Any = None
    moments: list[Moment] = field(default_factory=list)
    began: dict[int, tuple[list[int], dict[str, Any]]] = field(default_factory=dict)
    doing: str = ""
    allowed: tuple[State, ...] = ()
    _said: tuple[Any, ...] = ()

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Copy the place before each write to a journal, an undo log, and a file that is put back."""
        for owner, name in ((SessionJournal, "_write"), (UndoLog, "_append"), (Restorer, "_attempt")):
            monkeypatch.setattr(owner, name, self._watched(getattr(owner, name)))

    def do(self, doing: str, action: Callable[[], Any], *before: State) -> None:
        """Do something that leaves the state as it was before, or as it is afterwards."""
        first = len(self.moments)
        self.doing, self.allowed = doing, before
        action()
        if before:
            after = state_of(self.session, self.place)
            for moment in self.moments[first:]:
                moment.allowed = (*before, after)

    def ask(self, message: str, act: Callable[[Any], None] = lambda event: None) -> None:
        """Ask, which begins a turn in the present state."""
        began = tokens(self.session), contents(self.place.project)
        self.began[self.session.history.turns.next_number] = began
        self.doing, self.allowed = f"ask {message}", ()
        for event in self.session.chat.ask(message):
            act(event)

    def move(self, doing: str, plan: Callable[[], Any]) -> None:
        """Undo, redo or rewind."""
        before = state_of(self.session, self.place)
        self.do(doing, lambda: self.session.history.apply(plan()), before)

    def _watched(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def watched(owner: Any, *arguments: Any, **options: Any) -> Any:
            if self.session is None:
                return write(owner, *arguments, **options)
            data = arguments[1] if isinstance(owner, SessionJournal) and not arguments[0] else b""
            lines = data.splitlines(keepends=True)
            name = f"moment-{len(self.moments)}"
            shutil.copytree(self.place.state, self.place.home / name)
            shutil.copytree(self.place.project, self.place.home / f"{name}-project", symlinks=True)
            for number in range(max(1, len(lines))):
                self.moments.append(Moment(name, b"".join(lines[:number]), self.doing, self.allowed, self._said))
            result = write(owner, *arguments, **options)
            if b'"event":"said"' in data:
                self._said = tuple(self.session.parts.agent.conversation.items())
            return result

        return watched

    def go_to(self, moment: Moment) -> None:
        """Bring the place back to a moment."""
        for target, name in ((self.place.state, moment.name), (self.place.project, f"{moment.name}-project")):
            shutil.rmtree(target)
            shutil.copytree(self.place.home / name, target, symlinks=True)
        if moment.line:
            (journal,) = self.place.state.glob("sessions/*/journal.jsonl")
            with journal.open("ab") as file:
                file.write(moment.line)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Text waits for the next event, and nothing is written by another thread.
    monkeypatch.setattr(session_writer, "FLUSH_S", 1e9)
    monkeypatch.setattr(History, "prepare", lambda history: None)
    return Place(tmp_path, **{"b.txt": "two\n"})


@contextmanager
def place_in(where: str) -> Iterator[None]:
    """Name the place in what an assertion says."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"at {where}")
        raise


def test_a_session_that_another_model_answers_resumes_with_the_words_of_one_of_them(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    model, other = place.model(["Hello."]), place.model(["Again."], "other.gguf")
    recording = Recording(place)
    recording.watch(monkeypatch)
    with place.session(model) as session:
        ask(session, "hello")
        recording.session = session
        session.models.switch(str(other), start)
        recording.session, watched = None, session.parts
    assert recording.moments
    for moment in recording.moments:
        recording.go_to(moment)
        kept = SavedSession.open(place.state / "sessions" / place.saved[0])
        said = kept.conversation(watched)
        answered_by = kept.state.opened.identity[0]
        kept.journal.release()
        assert (said.current[-1].trace is not None) == (answered_by == model.name)


def check(recording: Recording, model: Path, moment: Moment) -> None:
    """Check that the session resumes exactly: itself, and in what each undo brings back."""
    place = recording.place
    recording.go_to(moment)
    if not any(path.stat().st_size for path in place.state.glob("sessions/*/journal.jsonl")):
        return
    with place.session(model, place.saved[0]) as session:
        assert tokens(session) == rendered_again(session)
        if (plan := session.history.unfinished()) is not None:
            session.history.apply(plan, [file.path for file in plan.conflicts])
        resumed = state_of(session, place)
        if moment.allowed:
            assert resumed in moment.allowed
        else:
            items = session.parts.agent.conversation.items()
            assert items[: len(moment.said)] == moment.said
            steered = [*(each.text for each in items if isinstance(each, ChatMessage)), *session.chat.unsent()]
            assert steered.count(STEERED) <= 1
        while done := [point for point in session.history.points() if not point.undone]:
            plan = session.history.plan_undo()
            session.history.apply(plan, [file.path for file in plan.conflicts])
            assert (tokens(session), contents(place.project)) == recording.began[done[-1].number]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.sampled(3)
def test_a_session_resumes_exactly_from_the_state_between_any_two_writes(
    place: Place, monkeypatch: pytest.MonkeyPatch, part: int
):
    model = place.model(
        [
            say("I write it.", call("write", path="c/d.txt", content="new\n")),
            "Done.",
            say("I look.", call("read", path="b.txt")),
            say("I plan.", call("todo", items="[ ] one")),
            say("I change it.", call("edit", path="b.txt", old="two", new="three")),
            "Done too.",
            say("I run it.", call("shell", cmd="rm a.txt; echo x > y.txt")),
            "Ran.",
            "A long answer that is stopped. " * 20,
            "Another answer.",
            say("Again.", call("write", path="a.txt", content="2\n")),
            "Written.",
        ]
    )
    recording = Recording(place)
    recording.watch(monkeypatch)

    def steer(event: object) -> None:
        if isinstance(event, ToolStarted) and event.name == "read":
            assert session.chat.steer(STEERED)

    def stop(event: object) -> None:
        if isinstance(event, TextDelta):
            session.chat.cancel()

    with place.session(model) as session:
        recording.session, history = session, session.history
        recording.ask("one")
        recording.ask("two", steer)
        recording.move("undo", history.plan_undo)
        recording.move("redo", history.plan_redo)
        recording.ask("three")
        before = state_of(session, place)
        recording.do("compact", lambda: list(session.chat.compact("keep all")), before)
        recording.ask("stopped", stop)
        recording.ask("four")
        recording.move("rewind", lambda: history.plan_rewind(2))
        recording.move("redo", history.plan_redo)
        recording.move("rewind to the first", lambda: history.plan_rewind(1))
        recording.ask("five")
        recording.session = None
    for number, moment in enumerate(recording.moments):
        if number % PARTS == part:
            with place_in(f"write {number} of {len(recording.moments)}, {moment.doing}"):
                check(recording, model, moment)
