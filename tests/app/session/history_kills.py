"""The app is killed at random moments while it answers, edits, compacts and undoes; each time it resumes exactly.

    nice python -m tests.app.session.history_kills 500 1      # so many kills, from this seed
    nice python -m tests.app.session.history_kills 500 1 4    # so many in each of four processes, seeds 1 to 4

The process to be killed reports the state that each of its actions begins and ends in. After a kill the resumed
session, and what each undo and redo makes of it, is compared with these: the conversation token by token, and every
file and folder of the workspace.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from laguna_tui.base.errors import UserError
from laguna_tui.base.events import TurnStarted
from laguna_tui.session.session import Session
from laguna_tui.store.events import TurnBegun
from laguna_tui.store.journal_lines import read_journal
from laguna_tui.store.session_store import SessionStore
from tests.app.session.kept import Place, contents, rendered_again, start, tokens
from tests.app.store.kills import Tell, forked, kill_soon

MOST_S = 2.5
"""The longest time before it is killed."""
ENDED_S = 30.0
_KILLS_A_PLACE = 15

State = list[str]
"""Digests of the conversation and of the workspace, and which turns there are and are undone."""


@dataclass
class Known:
    """What was reported of the sessions of a place.

    Attributes:
        began, ended: the conversation and the workspace before and after a turn, by its number.
        last: what was reported last: the state, or an action that had begun.
    """

    began: dict[int, State] = field(default_factory=dict)
    ended: dict[int, State] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)

    def take(self, line: str) -> None:
        """Take a report."""
        report = json.loads(line)
        match report["report"]:
            case "began":
                self.began[report["number"]] = report["state"][:2]
                self.ended.pop(report["number"], None)
            case "ended":
                self.ended[report["number"]] = report["state"][:2]
            case _:
                self.last = report


def state_of(session: Session, place: Place) -> State:
    """The present state."""
    points = [(point.number, point.undone) for point in session.history.points()]
    files = sorted(contents(place.project).items())
    return [sha256(repr(each).encode()).hexdigest()[:16] for each in (tokens(session), files, points)]


def _script(chance: random.Random):
    words = "a long answer that takes a while to write " * 8

    def script(seen):
        while True:
            name, text = f"f{chance.randrange(3)}.txt", f"{chance.random()}\n" * 30
            from tests.scripted_model import call, say

            yield chance.choice(
                [
                    words,
                    say(words, call("write", path=name, content=text)),
                    say(call("shell", cmd=f"echo {chance.random()} >> a.txt; rm -f f0.txt; mkdir -p d; echo x > d/y")),
                    say(call("read", path="a.txt")),
                    say(call("todo", items="[ ] one\n[x] two")),
                ]
            )

    return script


def _opened(place: Place, chance: random.Random) -> Session:
    """The session that was last, or a new one, in this process."""
    model = place.model(_script(chance))
    kept = place.kept
    session = place.prepared(model, kept[-1] if kept else "", context=6144)
    session.open(start)
    return session


def _ask(session: Session, place: Place, message: str, report: Callable[..., None]) -> None:
    """Send a message, and report the states that its turn begins and ends in."""
    number = 0
    for event in session.chat.ask(message):
        # Room was made before this, and nothing is added yet.
        if isinstance(event, TurnStarted) and event.number:
            number = event.number
            report("began", number=number, state=state_of(session, place))
    if number:
        report("ended", number=number, state=state_of(session, place))


def work(place: Place, seed: int, tell: Tell) -> None:
    """Resume the session until this process is killed."""
    chance = random.Random(seed)

    def report(kind: str, **values: Any) -> None:
        tell(json.dumps({"report": kind, **values}))

    with closing(_opened(place, chance)) as session:
        history = session.history
        for number in range(10_000):
            state = state_of(session, place)
            report("state", state=state)
            act = chance.choice(["ask", "ask", "ask", "ask", "undo", "redo", "rewind", "compact", "change"])
            with suppress(UserError, IndexError):
                match act:
                    case "ask":
                        message = f"message {seed} {number}"
                        report("asking", message=message)
                        _ask(session, place, message, report)
                        report("asked", message=message)
                    case "undo" | "redo" | "rewind":
                        if act == "rewind":
                            plan = history.plan_rewind(chance.choice(history.points()).number)
                        else:
                            plan = history.plan_undo() if act == "undo" else history.plan_redo()
                        numbers = [point.number for point in plan.points]
                        report("moving", state=state, redone=act == "redo", numbers=numbers)
                        history.apply(plan)
                    case "compact":
                        report("compacting", state=state)
                        list(session.chat.compact(chance.choice(["", "the files"])))
                    case _:
                        blocks = [block for block in session.prompt.blocks() if len(block.choices) > 1]
                        block = chance.choice(blocks)
                        report("changing", state=state)
                        session.prompt.change({block.number: chance.choice(block.choices)})


def check(place: Place, told: Sequence[str], known: Known, report: Tell) -> None:
    """Check what a kill left, and put the files back to the beginning by undoing.

    Raises:
        AssertionError: something is lost, locked, or not as it was.
    """
    (session_id,) = place.kept or [""]
    if not session_id:
        assert {json.loads(line)["report"] for line in told} <= {"state", "asking"}
        return
    events = [line.event for line in read_journal(place.state / "sessions" / session_id / "journal.jsonl")]
    messages = {event.message for event in events if isinstance(event, TurnBegun)}
    reports = [json.loads(line) for line in told]
    assert {each["message"] for each in reports if each["report"] == "asked"} <= messages
    # A process that was just being started when its parent was killed holds the lock until it runs its own program.
    store, until = SessionStore(place.state, place.state), time.monotonic() + ENDED_S
    while any(stored.locked for stored in store.newest()):
        assert time.monotonic() < until, "still locked"
        time.sleep(0.05)
    with closing(_opened(place, random.Random(1))) as session:
        if (plan := session.history.unfinished()) is not None:
            session.history.apply(plan, [file.path for file in plan.conflicts])
        assert tokens(session) == rendered_again(session)
        resumed = state_of(session, place)
        points = session.history.points()
        _check_resumed(resumed, known)
    with closing(_opened(place, random.Random(1))) as session:
        assert state_of(session, place) == resumed, "it resumes in another state the second time"
        done = [point.number for point in session.history.points() if not point.undone]
        if done and known.last["report"] == "asking":
            known.ended.setdefault(done[-1], resumed[:2])
        for number in reversed(done):
            _apply(session, session.history.plan_undo())
            assert state_of(session, place)[:2] == known.began[number], f"turn {number} undone"
        for point in points:
            _apply(session, session.history.plan_redo())
            assert state_of(session, place)[:2] == known.ended[point.number], f"turn {point.number} redone"
        if points:
            _apply(session, session.history.plan_rewind(points[0].number))
        assert not session.parts.agent.conversation.started
        assert contents(place.project) == {name: text.encode() for name, text in place.files.items()}
        _ask(session, place, "go on", lambda kind, **values: report(json.dumps({"report": kind, **values})))
        assert session.parts.agent.conversation.started


def _check_resumed(resumed: State, known: Known) -> None:
    """Compare the resumed state with the one that was reported last, or those that its action may have led to."""
    last = known.last
    match last["report"]:
        case "state":
            assert resumed == last["state"], "not as it was reported last"
        case "moving":
            numbers = last["numbers"]
            led_to = known.ended[max(numbers)] if last["redone"] else known.began[min(numbers)]
            same_turns = resumed[2] == last["state"][2]
            assert resumed[:2] == (last["state"][:2] if same_turns else led_to), "an undo in part"
        case "compacting" | "changing":
            assert resumed[1:] == last["state"][1:], "the files or turns of another state"
        case _:
            pass


def _apply(session: Session, plan: Any) -> None:
    result = session.history.apply(plan, [file.path for file in plan.conflicts])
    assert not result.kept, result.kept


def run(count: int, seed: int = 1) -> str:
    """Kill this many processes, and check after each; returns a line about it. Raises as `check`."""
    chance, answered = random.Random(seed), 0
    _import_what_is_used()
    home = Path(tempfile.mkdtemp(prefix="killed-sessions-"))
    os.environ["XDG_CACHE_HOME"] = str(home / "cache")
    known = Known()
    for number in range(count):
        if number % _KILLS_A_PLACE == 0:
            shutil.rmtree(home / "place", ignore_errors=True)
            (home / "place").mkdir()
            place, known = Place(home / "place"), Known()
        own = chance.randrange(1 << 30)
        victim = forked(lambda tell, place=place, own=own: work(place, own, tell))
        told = kill_soon(victim, chance.uniform(0, MOST_S))
        for line in told:
            known.take(line)
        answered += sum('"asked"' in line for line in told)
        _checked(place, told, known, f"kill {number} with seed {own}: {place.project}")
        sys.stderr.write(f"\r{number + 1} of {count}")
    shutil.rmtree(home, ignore_errors=True)
    return f"{count} kills, {answered} turns before them: no session lost or locked, every resume, undo and redo exact"


def run_side_by_side(count: int, seed: int, processes: int) -> int:
    """Kill this many in each process; returns how many processes failed."""
    command = [sys.executable, "-m", "tests.app.session.history_kills", str(count)]
    running = [subprocess.Popen([*command, str(seed + number)]) for number in range(processes)]
    return sum(each.wait() != 0 for each in running)


def _import_what_is_used() -> None:
    """Import once, instead of in each copy of this process, which may have no other thread."""
    from laguna_engine import loader
    from laguna_tui.agent import compaction, loop, tool_calls
    from laguna_tui.agent.tools.full import profile
    from laguna_tui.session import opening, resuming, session_writer
    from laguna_tui.undo import undo

    assert all((loader, compaction, loop, tool_calls, profile, undo))
    assert all((opening, resuming, session_writer))
    assert len(list(Path("/proc/self/task").iterdir())) == 1


def _checked(place: Place, told: Sequence[str], known: Known, where: str) -> None:
    """Check in a process of its own: one with threads could not be copied again."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            check(place, told, known, lambda line: _write_line(writing, line))
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as reports:
        for line in reports:
            known.take(line)
    _, status = os.waitpid(child, 0)
    assert status == 0, where


def _write_line(descriptor: int, line: str) -> None:
    os.write(descriptor, f"{line}\n".encode())


if __name__ == "__main__":
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        # It would begin threads, and it was imported above.
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "tests.app.session.history_kills", *sys.argv[1:]])
    given = [int(each) for each in sys.argv[1:]]
    if len(given) == 3:
        sys.exit(run_side_by_side(*given))
    print(run(*given))
