"""Uses a session until it is killed while it answers, edits, compacts or undoes: `python -m tests.kills history`.

The process reports the state that each of its actions begins and ends in. After a kill the resumed session, and what
each undo and redo makes of it, is compared with these: the conversation token by token, and every file and folder of
the workspace.
"""

import json
import random
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from laguna_tui.base.errors import UserError
from laguna_tui.base.events import TurnStarted
from laguna_tui.session.resuming import SavedSession
from laguna_tui.session.session import Session
from laguna_tui.store.events import TurnBegun
from laguna_tui.store.journal_lines import read_journal
from laguna_tui.store.session_store import SessionStore
from tests.app.session.place import Place, contents, rendered_again, start, tokens
from tests.kills import Report, Victim

ENDED_S = 30.0

State = list[str]
"""Digests of the conversation and of the workspace, and which turns there are and are undone."""


class ChangingSession(Victim):
    """Resumes the session and changes it by all that a user may do.

    Attributes:
        began, ended: The conversation and the workspace before and after a turn, by its number.
        last: The last report: the state, or an action that had begun.
    """

    longest_s = 2.5
    kills_per_folder = 15
    modules = (
        "laguna_engine.loader",
        "laguna_tui.agent.compaction",
        "laguna_tui.agent.loop",
        "laguna_tui.agent.tool_calls",
        "laguna_tui.agent.tools.full.profile",
        "laguna_tui.session.opening",
        "laguna_tui.session.resuming",
        "laguna_tui.session.session_writer",
        "laguna_tui.undo.undo",
    )

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._place = Place(folder)
        self.began, self.ended = dict[int, State](), dict[int, State]()
        self.last: dict[str, Any] = {}

    def learn(self, line: str) -> None:
        report = json.loads(line)
        match report["report"]:
            case "began":
                self.began[report["number"]] = report["state"][:2]
                self.ended.pop(report["number"], None)
            case "ended":
                self.ended[report["number"]] = report["state"][:2]
            case kind:
                self.last, self.state = report, kind

    def work(self, chance: random.Random, report: Report) -> None:
        def send(kind: str, **values: Any) -> None:
            report(json.dumps({"report": kind, **values}))

        seed = chance.random()
        with closing(self._opened(chance)) as session:
            history = session.history
            for number in range(10_000):
                state = self._state(session)
                send("state", state=state)
                act = chance.choice(["ask", "ask", "ask", "ask", "undo", "redo", "rewind", "compact", "change"])
                with suppress(UserError, IndexError):
                    match act:
                        case "ask":
                            message = f"message {seed} {number}"
                            send("asking", message=message)
                            self._ask(session, message, send)
                            send("asked", message=message)
                        case "undo" | "redo" | "rewind":
                            if act == "rewind":
                                plan = history.plan_rewind(chance.choice(history.points()).number)
                            else:
                                plan = history.plan_undo() if act == "undo" else history.plan_redo()
                            numbers = [point.number for point in plan.points]
                            send("moving", state=state, redone=act == "redo", numbers=numbers)
                            history.apply(plan)
                        case "compact":
                            send("compacting", state=state)
                            list(session.chat.compact(chance.choice(["", "the files"])))
                        case _:
                            blocks = [block for block in session.prompt.blocks() if len(block.choices) > 1]
                            block = chance.choice(blocks)
                            send("changing", state=state)
                            session.prompt.change({block.number: chance.choice(block.choices)})

    def check(self, reports: Sequence[str], report: Report) -> None:
        """Check what a kill left, and put the files back to the beginning by undoing."""
        place = self._place
        (session_id,) = place.saved or [""]
        if not session_id:
            assert {json.loads(line)["report"] for line in reports} <= {"state", "asking"}
            return
        events = [line.event for line in read_journal(place.state / "sessions" / session_id / "journal.jsonl")]
        messages = {event.message for event in events if isinstance(event, TurnBegun)}
        found = [json.loads(line) for line in reports]
        assert {each["message"] for each in found if each["report"] == "asked"} <= messages
        # A process that was just being started when its parent was killed holds the lock until it runs its own program.
        store, until = SessionStore(place.state, place.state), time.monotonic() + ENDED_S
        while any(stored.locked for stored in store.newest()):
            assert time.monotonic() < until, "still locked"
            time.sleep(0.05)
        saved = SavedSession.open(place.state / "sessions" / session_id)
        saved.journal.release()
        assert (saved.journal.notice, saved.journal.failing) == ("", "")
        with closing(self._opened(random.Random(1))) as session:
            if (plan := session.history.unfinished()) is not None:
                session.history.apply(plan, [file.path for file in plan.conflicts])
            assert tokens(session) == rendered_again(session)
            resumed, points = self._state(session), session.history.points()
            self._check_resumed(resumed)
        with closing(self._opened(random.Random(1))) as session:
            assert self._state(session) == resumed, "it resumes in another state the second time"
            done = [point.number for point in session.history.points() if not point.undone]
            if done and self.last["report"] == "asking":
                self.ended.setdefault(done[-1], resumed[:2])
            for number in reversed(done):
                _apply(session, session.history.plan_undo())
                assert self._state(session)[:2] == self.began[number], f"turn {number} undone"
            for point in points:
                _apply(session, session.history.plan_redo())
                assert self._state(session)[:2] == self.ended[point.number], f"turn {point.number} redone"
            if points:
                _apply(session, session.history.plan_rewind(points[0].number))
            assert not session.parts.agent.conversation.started
            assert contents(place.project) == {name: text.encode() for name, text in place.files.items()}
            self._ask(session, "go on", lambda kind, **values: report(json.dumps({"report": kind, **values})))
            assert session.parts.agent.conversation.started

    def _check_resumed(self, resumed: State) -> None:
        """Compare the resumed state with the one that was reported last, or those that its action may have led to."""
        last = self.last
        match last["report"]:
            case "state":
                assert resumed == last["state"], "not as it was reported last"
            case "moving":
                numbers = last["numbers"]
                led_to = self.ended[max(numbers)] if last["redone"] else self.began[min(numbers)]
                same_turns = resumed[2] == last["state"][2]
                assert resumed[:2] == (last["state"][:2] if same_turns else led_to), "an undo in part"
            case "compacting" | "changing":
                assert resumed[1:] == last["state"][1:], "the files or turns of another state"
            case _:
                pass

    def _opened(self, chance: random.Random) -> Session:
        """Open the last session, or a new one."""
        model = self._place.model(_script(chance))
        kept = self._place.saved
        session = self._place.prepared(model, kept[-1] if kept else "", context=6144)
        session.open(start)
        return session

    def _state(self, session: Session) -> State:
        points = [(point.number, point.undone) for point in session.history.points()]
        files = sorted(contents(self._place.project).items())
        return [sha256(repr(each).encode()).hexdigest()[:16] for each in (tokens(session), files, points)]

    def _ask(self, session: Session, message: str, send: Callable[..., None]) -> None:
        """Send a message, and report the states that its turn begins and ends in."""
        number = 0
        for event in session.chat.ask(message):
            # Room was made before this, and nothing is added yet.
            if isinstance(event, TurnStarted) and event.number:
                number = event.number
                send("began", number=number, state=self._state(session))
        if number:
            send("ended", number=number, state=self._state(session))


def _script(chance: random.Random):
    words = "a long answer that takes a while to write " * 8

    def script(seen):
        from tests.scripted_model import call, say

        while True:
            name, text = f"f{chance.randrange(3)}.txt", f"{chance.random()}\n" * 30
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


def _apply(session: Session, plan: Any) -> None:
    result = session.history.apply(plan, [file.path for file in plan.conflicts])
    assert not result.skipped, result.skipped
