"""Processes that write sessions are killed with SIGKILL at random moments, and what they left is checked each time.

    python -m tests.app.store.kills 1000          # writers of journals alone
    python -m tests.app.store.kills 200 session   # the app with a scripted model: answers, edits, compactions

`kill_soon` kills any process that says on a pipe what it has done.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from laguna_tui.store.events import ConversationChanged, TurnBegun
from laguna_tui.store.journal_lines import JOURNAL, read_journal
from laguna_tui.store.session_journal import SessionJournal
from laguna_tui.store.session_store import SessionStore
from laguna_tui.undo.undo import UndoHistory

Tell = Callable[[str], None]
"""Says what is done, so that it may not be lost any more."""
Work = Callable[[Path, int, Tell], None]
"""Works in a folder until it is killed. The number is a seed."""

# After so many kills the folder is thrown away, so that the checks stay quick.
_KILLS_A_FOLDER = 20


@dataclass(frozen=True)
class Victim:
    """A process to be killed. told: a descriptor of what it says, a line each."""

    pid: int
    told: int


def forked(work: Callable[[Tell], None]) -> Victim:
    """Start a copy of this process that works until it is killed. This process has to have a single thread."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return Victim(pid, reading)
    try:
        os.close(reading)
        work(lambda line: _write_line(writing, line))
    except BaseException as error:
        _write_line(writing, f"failed {error!r}")
        raise
    finally:
        os._exit(1)


def kill_soon(victim: Victim, wait_s: float) -> Sequence[str]:
    """Kill a process some time after its first line; returns the lines that it said.

    Raises:
        AssertionError: It failed before.
    """
    said = os.read(victim.told, 1)
    time.sleep(wait_s)
    os.kill(victim.pid, signal.SIGKILL)
    with os.fdopen(victim.told, "rb") as rest:
        said += rest.read()
    _, status = os.waitpid(victim.pid, 0)
    # A line that is not finished says nothing.
    lines = said.decode().split("\n")[:-1]
    assert os.WIFSIGNALED(status), (lines[-1:], status)
    return lines


def _write_line(descriptor: int, line: str) -> None:
    os.write(descriptor, f"{line}\n".encode())


# -- journals alone


def text_of(number: int) -> str:
    """What the event of a number says; some are longer than a page of the disk."""
    return f"{number} " * (number * 7919 % 2_500)


def numbered(journal: SessionJournal) -> list[ConversationChanged]:
    """The events that `write_journal` wrote."""
    return [line.event for line in journal.read() if isinstance(line.event, ConversationChanged)]


def write_journal(folder: Path, seed: int, tell: Tell) -> None:
    """Go on with the newest session, or begin one, and copy, rename, list and delete others in between."""
    chance = random.Random(seed)
    store = SessionStore(folder, folder / "cache")
    own = [each for each in store.newest() if not each.title.startswith("copy")]
    if own and chance.random() < 0.8:
        journal = SessionJournal.open(store.folder / own[0].id)
    else:
        journal = SessionJournal.create(store.folder, "/shop")
    number = len(numbered(journal))
    tell(f"{journal.id} {number}")
    while True:
        number += 1
        blob = (journal.put_blob(text_of(number).encode()),) if number % 3 == 0 else ()
        event = ConversationChanged(calls=number, opening=text_of(number), notes=blob)
        journal.append(event, durable=number % 9 == 0)
        tell(f"{journal.id} {number}")
        if chance.random() < 0.02:
            _do_something(store, journal, chance)
        if chance.random() < 0.02:
            journal.close("SIGTERM")
            journal = SessionJournal.open(journal.folder)


def _do_something(store: SessionStore, journal: SessionJournal, chance: random.Random) -> None:
    others = [each.id for each in store.newest() if each.title.startswith("copy")]
    match chance.randrange(4):
        case 0:
            store.fork(journal.id, f"copy {len(others)}")
        case 1 if others:
            store.rename(others[0], "copy with another title")
        case 2 if others:
            store.delete(others[:1])
        case _:
            store.search("123")


def check_journals(folder: Path, told: Sequence[str]) -> int:
    """Check what a killed `write_journal` left; returns how many events there are.

    Raises:
        AssertionError: Something that was done is lost, torn or locked.
    """
    store = SessionStore(folder, folder / "cache")
    done = {each.split()[0]: int(each.split()[1]) for each in told}
    found = {each.id: each for each in store.newest()}
    assert done.keys() <= found.keys()
    for session, stored in found.items():
        assert stored.ended in ("killed", "SIGTERM", ""), stored
        journal = SessionJournal.open(store.folder / session)
        written = numbered(journal)
        assert [event.calls for event in written] == list(range(1, len(written) + 1))
        assert len(written) >= done.get(session, 0)
        for number, event in enumerate(written, 1):
            assert event.opening == text_of(number)
            assert [journal.blob(name).decode() for name in event.notes] == [event.opening] * (number % 3 == 0)
        assert (journal.notice, journal.failing) == ("", "")
        journal.release()
        assert not list((store.folder / session).glob("cut-*"))
    return sum(1 for session in found for _ in read_journal(store.folder / session / JOURNAL))


# -- the app with a scripted model


def use_session(folder: Path, seed: int, tell: Tell) -> None:
    """Go on with the last session, or begin one: answers, edits of files, commands, compactions."""
    from laguna_tui.session.session import Session
    from tests.scripted_model import call, say, scripted_session

    chance, project = random.Random(seed), folder / "project"
    project.mkdir(exist_ok=True)
    (project / "one.py").touch()
    words = "a long answer that takes a while to write " * 6

    def answers(seen: object) -> object:
        while True:
            yield say(words, call("write", path="one.py", content=f"x = {chance.random()}\n" * 50))
            yield say(call("read", path="one.py"))
            yield say(words)

    session: Session = scripted_session(project, answers, state=folder, mode="accept-edits", context=8192)
    kept = [each.id for each in session.sessions.list() if each.turns]
    if kept and chance.random() < 0.8:
        session.sessions.choose(kept[0])
    session.open(lambda progress: None)
    tell("open 0")
    with closing(session):
        for number in range(1, 1000):
            message = f"message {seed}-{number}"
            for _ in session.chat.ask(message):
                pass
            current = session.sessions.current
            assert current is not None
            tell(f"{current.id} {message}")
            if chance.random() < 0.3:
                for _ in session.chat.compact():
                    pass


def check_sessions(folder: Path, told: Sequence[str]) -> int:
    """Check what a killed `use_session` left; returns how many events there are. Raises as `check_journals`."""
    from laguna_tui.session.resuming import SavedSession

    store = SessionStore(folder, folder / "cache")
    found = {each.id for each in store.newest()}
    for line in told[1:]:
        session, message = line.split(" ", 1)
        events = [each.event for each in read_journal(store.folder / session / JOURNAL)]
        asked = [event.message for event in events if isinstance(event, TurnBegun)]
        assert message in asked, (session, message)
    for session in found:
        kept = SavedSession.open(store.folder / session)
        assert (kept.journal.notice, kept.journal.failing) == ("", "")
        kept.journal.release()
        if (store.folder / session / "undo").is_dir():
            UndoHistory(folder / "project", store.folder / session / "undo").close()
    return sum(1 for session in found for _ in read_journal(store.folder / session / JOURNAL))


WORKS: dict[str, tuple[Work, Callable[[Path, Sequence[str]], int], float]] = {
    "journal": (write_journal, check_journals, 0.06),
    "session": (use_session, check_sessions, 2.0),
}
"""What is done, how it is checked, and how long it is let alone at most, in seconds."""


def run(count: int, name: str = "journal", seed: int = 1) -> str:
    """Kill so many processes, and check after each; returns a line about it. Raises as `check_journals`."""
    work, check, most_s = WORKS[name]
    chance, events = random.Random(seed), 0
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    try:
        for number in range(count):
            if number and number % _KILLS_A_FOLDER == 0:
                shutil.rmtree(folder)
                folder.mkdir()
            own = chance.randrange(1 << 30)
            victim = forked(lambda tell, own=own: work(folder, own, tell))
            told = kill_soon(victim, chance.uniform(0, most_s))
            events += check(folder, told)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return f"{count} kills: nothing lost, torn or locked; {events:,} events read"


if __name__ == "__main__":
    print(run(int(sys.argv[1]), *sys.argv[2:3]))
