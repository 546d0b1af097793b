"""The whole app is killed with SIGKILL at random moments on a real terminal; what it left is checked, and it continues.

    python -m tests.app.session.kills 300 1     # so many kills, from this seed

The app is the command line with its parent process, on a pseudo terminal, with a scripted model. It is started from a
copy of this process, which has imported everything, and now and then by the interpreter. A random one of three is
killed: the app, its parent, or both. Each kill is counted by what the app was doing: the state that was aimed at, or
"idle" where that was over before the kill.

What the screen said is done: a turn whose answer is followed by "ready", and the output of a tool. None of it may be
missing when the session is opened again.
"""

import json
import os
import pty
import random
import re
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests.app.session.kill_checks import check_place, file_text
from tests.scripted_model import Seen, call, say
from tests.scripted_model.ask import command, run
from tests.tui.job import Screen

STATES = ("starting", "streaming", "asking", "editing", "running", "compacting", "snapshotting", "undoing", "closing")
FAULTS = ("lost sessions", "torn files", "stale locks", "lost events", "left processes", "not resumed")
PATIENCE_S = 60.0
_KILLS_A_PLACE = 10
_NEW_PROCESS = 0.05
"""Share of the starts by the interpreter: they take seconds."""
# At most so long after the state was reached; streaming takes the longest.
_MOST_S = {"starting": 0.8, "streaming": 0.6, "snapshotting": 0.12, "closing": 0.25, "undoing": 0.15}
_ELSE_S = 0.3
_MODEL_OPTIONS = ("--mode", "accept-edits", "--context", "8192", "--no-thinking", "--threads", "1")
_ASKED = re.compile(r"(stream|edit|run|short) (\d+)\.")
_NUMBER = re.compile(r"\d+")
_REFUSED = b"changed since"
_READY, _QUESTION, _NO_KEY_S = b"ready", b"because", 0.5
_QUIT_KEY = b"\x11"


def script(seen: Seen) -> Any:
    """What the model says: it does what the newest message names, and says its number at the end."""
    kind, number = (_ASKED.findall(seen.user) or [("short", "0")])[-1]
    done = f"done{number}x"
    # Calls that a kill ended have got results too, which stand before the newest message.
    if kind == "short" or seen.new.rfind("<tool_response>") > seen.new.rfind("<user>"):
        return say(done)
    if kind == "edit":
        return say(
            call("write", path=f"f{int(number) % 3}.txt", content=file_text(int(number))),
            call("write", path=f"f{(int(number) + 1) % 3}.txt", content=file_text(int(number))),
        )
    if kind == "run":
        return say(call("shell", cmd=f"echo out{number}x; sleep 0.1; echo out{number}y > s.txt"))
    return say(f"{'a long answer that takes a while to write ' * 20} {done}")


SCRIPT = script


@dataclass
class Place:
    """A project, and the user's folders.

    Attributes:
        done: what the screen said is done, in the session that is kept.
        undone: what may have been undone.
        number: of the last message.
    """

    folder: Path
    done: list[str] = field(default_factory=list)
    undone: set[str] = field(default_factory=set)
    number: int = 0

    def __post_init__(self) -> None:
        for each in (self.project, self.home):
            each.mkdir(parents=True)
        (self.project / "a.txt").write_text("one\n")

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def undo(self) -> None:
        """The newest turn that is done and was not undone may be undone now."""
        numbers = [_NUMBER.findall(word) for word in self.done if word not in self.undone]
        self.undone.update(word for word in self.done if _NUMBER.findall(word) in numbers[-1:])

    @property
    def environment(self) -> dict[str, str]:
        homes = {name: str(self.home / name) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
        terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "OPENBLAS_NUM_THREADS": "1"}
        top = str(Path(__file__).parents[3])
        return {**os.environ, **homes, **terminal, "HOME": str(self.home), "PYTHONPATH": top}


class App:
    """The app on a terminal; its parent process leads the terminal's session."""

    def __init__(self, place: Place, *, by_interpreter: bool, resume: bool) -> None:
        arguments = [*_MODEL_OPTIONS, *(["-c"] if resume else [])]
        self.parent, self._terminal = pty.fork()
        if not self.parent:
            _begin(place, arguments, by_interpreter=by_interpreter)
        self.screen, self.written, self._before = Screen(), b"", b""

    @property
    def everything(self) -> bytes:
        """All that was ever written."""
        return self._before + self.written

    def read(self, seconds: float) -> None:
        """Read what comes within these seconds."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self._terminal], [], [], min(left, 0.05))[0]:
                try:
                    data = os.read(self._terminal, 65536)
                except OSError:
                    return
                self.written += data
                os.write(self._terminal, self.screen.feed(data))

    def wait_for(self, text: bytes) -> None:
        """Wait until this was written."""
        until = time.monotonic() + PATIENCE_S
        while text not in self.written:
            assert time.monotonic() < until, f"waited for {text!r}: {self.written[-3000:]!r}"
            assert os.waitpid(self.parent, os.WNOHANG)[0] == 0, f"it ended: {self.written[-3000:]!r}"
            self.read(0.02)

    def type(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def forget(self) -> None:
        """Search only what comes from now on."""
        self._before, self.written = self._before + self.written, b""

    def kill(self, target: str) -> list[int]:
        """Kill the app, its parent, or both; returns the processes that were there before."""
        there = [self.parent, *(each.pid for each in psutil.Process(self.parent).children(recursive=True))]
        apps = psutil.Process(self.parent).children()
        if target != "parent":
            for each in apps:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
        # The app may not have been started yet.
        if target != "app" or not apps:
            os.kill(self.parent, signal.SIGKILL)
        return there

    def end(self, there: Sequence[int]) -> list[int]:
        """Wait for the end of what was there; returns what does not end."""
        ended, until = False, time.monotonic() + PATIENCE_S
        asked_to_leave = time.monotonic()
        while time.monotonic() < until:
            with suppress(ChildProcessError):
                ended = ended or os.waitpid(self.parent, os.WNOHANG)[0] != 0
            # A hung-up terminal ends nothing before its time: it is read until all is over.
            self.read(0.02)
            left = [pid for pid in there if pid != self.parent and _runs(pid)]
            if ended and not left:
                break
            if not ended and b"q quits" in self.written and time.monotonic() - asked_to_leave > _NO_KEY_S:
                asked_to_leave = time.monotonic()
                self.type(b"q")
        else:
            left = [*left, *([] if ended else [self.parent])]
        os.close(self._terminal)
        return left


def _runs(pid: int) -> bool:
    """Whether any thread of it does: one that waits for the disk outlives the others, and what is open stays so."""
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1
    except psutil.NoSuchProcess:
        return False


def _begin(place: Place, arguments: Sequence[str], *, by_interpreter: bool) -> None:
    """Become the app; never returns."""
    code = 1
    try:
        os.chdir(place.project)
        os.environ.update(place.environment)
        if by_interpreter:
            line = command("tests.app.session.kills:SCRIPT", *arguments)
            os.execve(line[0], line, place.environment)
        code = run(script, arguments, place.home)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


class Kill(NamedTuple):
    """What happened to one app: the state that it was in, and what was there before."""

    state: str
    there: Sequence[int]


class Driver:
    """Uses one app as a person would, until it is killed."""

    def __init__(self, place: Place, chance: random.Random, aim: str, app: App) -> None:
        self._place, self._chance, self._aim, self._app = place, chance, aim, app
        self._state = "starting"

    def drive(self) -> Kill:
        """Lead the app into the state that is aimed at, and kill it there."""
        app, aim, chance = self._app, self._aim, self._chance
        if aim != "starting":
            app.wait_for(_READY)
            app.read(0.05)
            for _ in range(chance.choice((0, 1, 1)) + (aim in ("compacting", "undoing") and not self._place.done)):
                self._turn(chance.choice(("short", "edit")))
            self._enter(aim)
        app.read(chance.uniform(0, _MOST_S.get(aim, _ELSE_S)))
        state = self._look()
        there = app.kill(chance.choice(("app", "parent", "both")))
        return Kill(state, there)

    def _turn(self, kind: str) -> None:
        self._send(kind)
        self._app.wait_for(self._done)
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        app = self._app
        at = app.written.rindex(self._done)
        app._before, app.written = app._before + app.written[:at], app.written[at:]
        app.wait_for(_READY)
        self._place.done.append(self._done.decode())

    @property
    def _done(self) -> bytes:
        return f"done{self._place.number}x".encode()

    def _send(self, kind: str) -> None:
        self._place.number += 1
        self._app.forget()
        self._app.type(f"{kind} {self._place.number}.\r".encode())

    def _enter(self, aim: str) -> None:
        app, chance = self._app, self._chance
        app.forget()
        match aim:
            case "streaming" | "editing":
                self._send("stream" if aim == "streaming" else "edit")
                app.wait_for(f"{self._place.number}.".encode())
            case "asking" | "running":
                self._send("run")
                app.wait_for(_QUESTION)
                if aim == "running":
                    app.read(_NO_KEY_S)
                    app.type(b"y")
            case "snapshotting":
                self._turn("short")
            case "compacting":
                app.type(b"/compact\r")
            case "undoing":
                self._place.undo()
                app.type(chance.choice((b"/undo\r", b"/redo\r")))
            case _:
                app.type(_QUIT_KEY)

    def _look(self) -> str:
        """The state that the screen shows; what it says is done is noted."""
        written, place = self._app.written, self._place
        if self._aim not in ("streaming", "editing", "running"):
            return self._aim
        # The lines of a change are shown once it is made; those of earlier ones are lines that it takes away. What was
        # undone is as if somebody else had changed it, so that the change is refused.
        changed = f"changed{place.number}x"
        if changed.encode() in written and _REFUSED not in written:
            place.done.append(changed)
        _, found, after = written.rpartition(self._done)
        if not found or _READY not in after:
            return self._aim
        place.done.append(self._done.decode())
        return "idle"


def kill_once(place: Place, chance: random.Random, aim: str) -> tuple[str, list[str]]:
    """Start the app, kill it and check what it left; returns the state that it was in, and what is wrong."""
    resumes, wrong = bool(place.done), list[str]()
    app = App(place, by_interpreter=chance.random() < _NEW_PROCESS, resume=resumes)
    state, left, there = aim, list[int](), [app.parent]
    try:
        kill = Driver(place, chance, aim, app).drive()
        state, there = kill
        if resumes and aim != "starting" and b"Resumed" not in app.everything:
            wrong.append("not resumed: it does not say so")
        if b"A part of the kept" in app.everything:
            wrong.append("torn files: a snapshot was refused")
    except AssertionError as error:
        wrong.append(f"not resumed: {error}")
        app.kill("both")
    finally:
        left = app.end(there)
    wrong += [f"left processes: {pid}" for pid in left]
    return state, wrong + _checked(place)


def _checked(place: Place) -> list[str]:
    """Check in a process of its own: one with threads could not be copied again."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        wrong = ["torn files: the check ended"]
        try:
            wrong = check_place(place.project, place.home, place.done, place.undone)
        except BaseException:
            import traceback

            wrong = [f"lost sessions: {traceback.format_exc()}"]
        finally:
            os.write(writing, json.dumps(wrong).encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        found: list[str] = json.loads(said.read())
    os.waitpid(child, 0)
    return found


def run_kills(count: int, seed: int = 1, states: Sequence[str] = STATES) -> tuple[Counter[str], list[str]]:
    """Kill this many apps.

    Returns:
        How many were killed in each state, and what is wrong, each beginning with its kind of `FAULTS`.
    """
    chance, kills, wrong = random.Random(seed), Counter[str](), list[str]()
    _import_what_is_used()
    top = Path(tempfile.mkdtemp(prefix="killed-apps-"))
    try:
        place = Place(top / "0")
        for number in range(count):
            if number and number % _KILLS_A_PLACE == 0:
                shutil.rmtree(place.folder, ignore_errors=True)
                place = Place(top / str(number))
            aim = chance.choice(states)
            own = chance.randrange(1 << 30)
            state, found = kill_once(place, random.Random(own), aim)
            kills[state] += 1
            for each in found:
                sys.stderr.write(f"\nkill {number}, {state}, {place.folder}: {each}\n")
            if found:
                wrong += [f"{each.partition(':')[0]} while {state}" for each in found]
                place.folder.rename(top.with_name(f"{top.name}-kept-{number}"))
                place = Place(top / f"{number}-again")
            sys.stderr.write(f"\r{number + 1} of {count}, {len(wrong)} faults")
            sys.stderr.flush()
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return kills, wrong


def table(kills: Counter[str], wrong: Sequence[str]) -> Iterator[str]:
    """The counts as a Markdown table."""
    faults = Counter(wrong)
    yield f"| killed while | kills | {' | '.join(FAULTS)} |"
    yield f"|---{'|---:' * (len(FAULTS) + 1)}|"
    for state in (*STATES, "idle"):
        counts = " | ".join(str(faults[f"{fault} while {state}"]) for fault in FAULTS)
        yield f"| {state} | {kills[state]} | {counts} |"
    totals = " | ".join(str(sum(each.startswith(fault) for each in wrong)) for fault in FAULTS)
    yield f"| all | {kills.total()} | {totals} |"


def _import_what_is_used() -> None:
    """Import once, instead of in each copy of this process, which may have no other thread."""
    from laguna_engine import loader
    from laguna_tui import compose
    from laguna_tui.agent import compaction, loop, tool_calls
    from laguna_tui.agent.tools.full import profile
    from laguna_tui.models import model_setup
    from laguna_tui.session import opening, resuming, session_writer
    from laguna_tui.store import session_retention
    from laguna_tui.tui import app
    from laguna_tui.undo import undo

    assert all((loader, compose, compaction, loop, tool_calls, profile, session_retention, undo))
    assert all((model_setup, opening, resuming, session_writer, app))
    assert len(list(Path("/proc/self/task").iterdir())) == 1


def main() -> int:
    """Kill this many apps from a seed; returns 1 if anything was wrong."""
    count, seed = (*map(int, sys.argv[1:3]), 1, 1)[:2] if sys.argv[2:] else (int(sys.argv[1]), 1)
    kills, wrong = run_kills(count, seed)
    print("\n" + "\n".join(table(kills, wrong)))
    return bool(wrong)


if __name__ == "__main__":
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        # It would begin threads, and it was imported above.
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "tests.app.session.kills", *sys.argv[1:]])
    sys.exit(main())
