"""The app is killed at random moments while it answers, edits, compacts and undoes; each time it has to go on.

nice python -m tests.app.session.history_kills 300
"""

import os
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from laguna_tui.base.errors import UserError
from laguna_tui.journal.journal_lines import read_journal
from laguna_tui.journal.session_store import SessionStore
from tests.app.journal.kills import Tell, forked, kill_soon
from tests.app.session.kept import Place, ask, contents, start

MOST_S = 4.0
"""So long it works at most before it is killed."""
_KILLS_A_PLACE = 15


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


def _opened(place: Place, chance: random.Random):
    """The session that was last, or a new one, in this process."""
    model = place.model(_script(chance))
    kept = place.kept
    session = place.prepared(model, kept[-1] if kept else "", context=6144)
    session.open(start)
    return session


def work(place: Place, seed: int, tell: Tell) -> None:
    """Resume the session until this process is killed."""
    chance = random.Random(seed)
    with closing(_opened(place, chance)) as session:
        tell("open")
        for number in range(10_000):
            act = chance.choice(["ask", "ask", "ask", "ask", "undo", "redo", "rewind", "compact", "change"])
            history = session.history
            with suppress(UserError, IndexError):
                match act:
                    case "ask":
                        message = f"message {seed} {number}"
                        ask(session, message)
                        tell(message)
                    case "undo":
                        history.apply(history.plan_undo())
                    case "redo":
                        history.apply(history.plan_redo())
                    case "rewind":
                        history.apply(history.plan_rewind(chance.choice(history.points()).number))
                    case "compact":
                        list(session.chat.compact(chance.choice(["", "the files"])))
                    case _:
                        blocks = [block for block in session.prompt.blocks() if len(block.choices) > 1]
                        block = chance.choice(blocks)
                        session.prompt.change({block.number: chance.choice(block.choices)})


def check(place: Place, told: Sequence[str]) -> None:
    """Check what a kill left, and put the files back to the beginning by undoing.

    Raises:
        AssertionError: something is lost, locked, or not as it was.
    """
    (session_id,) = place.kept or [""]
    if not session_id:
        assert told in ([], ["open"])
        return
    events = [line.event for line in read_journal(place.state / "sessions" / session_id / "journal.jsonl")]
    asked = {event["message"] for event in events if event["event"] == "turn"}
    assert set(told) - {"open"} <= asked
    (stored,) = SessionStore(place.state, place.state).newest()
    assert not stored.locked
    with closing(_opened(place, random.Random(1))) as session:
        plan = session.history.unfinished()
        if plan is not None:
            session.history.apply(plan, [file.path for file in plan.conflicts])
        before = list(session.parts.agent.conversation.tokens)
        assert before == list(
            session.parts.agent.conversation.rendered(session.parts.agent.conversation.items()).tokens
        )
        done = [point for point in session.history.points() if not point.undone]
        if done:
            plan = session.history.plan_rewind(done[0].number)
            result = session.history.apply(plan, [file.path for file in plan.conflicts])
            assert not result.kept, result.kept
            assert not session.parts.agent.conversation.started
        assert contents(place.project) == {name: text.encode() for name, text in place.files.items()}
        ask(session, "go on")
        assert session.parts.agent.conversation.started


def run(count: int, seed: int = 1) -> str:
    """Kill so many processes, and check after each; returns a line about it. Raises as `check`."""
    chance, answered = random.Random(seed), 0
    _import_what_is_used()
    home = Path(tempfile.mkdtemp(prefix="killed-sessions-"))
    os.environ["XDG_CACHE_HOME"] = str(home / "cache")
    try:
        for number in range(count):
            if number % _KILLS_A_PLACE == 0:
                shutil.rmtree(home / "place", ignore_errors=True)
                (home / "place").mkdir()
                place = Place(home / "place")
            own = chance.randrange(1 << 30)
            victim = forked(lambda tell, place=place, own=own: work(place, own, tell))
            told = kill_soon(victim, chance.uniform(0, MOST_S))
            answered += sum(line.startswith("message") for line in told)
            _checked(place, told, number, own)
            sys.stderr.write(f"\r{number + 1} of {count}")
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return f"{count} kills, {answered} turns before them: no session lost or locked, every undo exact, all resumed"


def _import_what_is_used() -> None:
    """Import once, instead of in each copy of this process, which may have no other thread."""
    from laguna_engine import loader
    from laguna_tui.agent import compaction, interrupted_turn, loop, tool_calls
    from laguna_tui.agent.tools.full import profile
    from laguna_tui.journal import undo
    from laguna_tui.session import opening, resuming, session_writer

    assert all((loader, compaction, interrupted_turn, loop, tool_calls, profile, undo))
    assert all((opening, resuming, session_writer))
    assert len(list(Path("/proc/self/task").iterdir())) == 1


def _checked(place: Place, told: Sequence[str], number: int, own: int) -> None:
    """Check in a process of its own: one with threads could not be copied again."""
    child = os.fork()
    if not child:
        try:
            check(place, told)
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"kill {number} with seed {own}: {place.project}"


if __name__ == "__main__":
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        # It would begin threads, and it was imported above.
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "tests.app.session.history_kills", *sys.argv[1:]])
    print(run(*map(int, sys.argv[1:])))
