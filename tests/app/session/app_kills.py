"""Uses the whole app on a real terminal until it is killed: `python -m tests.kills app`.

The app is the command line with its parent process, on a pseudo terminal, with a scripted model. It is started from a
copy of this process, which has imported everything, and now and then by the interpreter. A random one of three is
killed: the app, its parent, or both. Each kill is counted by what the app was doing: the state that was aimed at, or
"idle" where that was over before the kill.

What the screen showed as done is done: a turn whose answer is followed by "ready", and the output of a tool. None of it
may be missing when the session is opened again.
"""

import os
import pty
import random
import re
import select
import signal
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from tests.app.session.kill_checks import check_place, file_text
from tests.kills import TOP, Report, Victim
from tests.scripted_model import Seen, call, say
from tests.scripted_model.ask import command, run
from tests.tui.job import Screen

STATES = ("starting", "streaming", "asking", "editing", "running", "compacting", "snapshotting", "undoing", "closing")
PATIENCE_S = 60.0
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


class AppProcess:
    """The app on a terminal; its parent process leads the terminal's session."""

    def __init__(self, app: "App", *, by_interpreter: bool, resume: bool) -> None:
        arguments = [*_MODEL_OPTIONS, *(["-c"] if resume else [])]
        self.parent, self._terminal = pty.fork()
        if not self.parent:
            _begin(app, arguments, by_interpreter=by_interpreter)
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

    def forget(self, *, up_to: int | None = None) -> None:
        """Search only what comes from now on, or what was written after `up_to` bytes."""
        at = len(self.written) if up_to is None else up_to
        self._before, self.written = self._before + self.written[:at], self.written[at:]

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


def _begin(app: "App", arguments: Sequence[str], *, by_interpreter: bool) -> None:
    """Become the app; never returns."""
    code = 1
    try:
        os.chdir(app.project)
        os.environ.update(app.environment)
        if by_interpreter:
            line = command("tests.app.session.app_kills:SCRIPT", *arguments)
            os.execve(line[0], line, app.environment)
        code = run(script, arguments, app.home)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


class App(Victim):
    """Uses the app in one project, and kills it in a random state.

    Attributes:
        done: What the screen showed as done, in the session that is continued.
        undone: What may have been undone.
    """

    kills_per_folder = 10
    modules = (
        "laguna_engine.loader",
        "laguna_tui.agent.compaction",
        "laguna_tui.agent.loop",
        "laguna_tui.agent.tool_calls",
        "laguna_tui.agent.tools.full.profile",
        "laguna_tui.compose",
        "laguna_tui.models.model_setup",
        "laguna_tui.session.opening",
        "laguna_tui.session.resuming",
        "laguna_tui.session.session_writer",
        "laguna_tui.store.session_retention",
        "laguna_tui.tui.app",
        "laguna_tui.undo.undo",
    )

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.project, self.home = folder / "project", folder / "home"
        self.project.mkdir()
        self.home.mkdir()
        (self.project / "a.txt").write_text("one\n")
        self.done, self.undone = list[str](), set[str]()
        self._number = 0

    @property
    def environment(self) -> dict[str, str]:
        homes = {name: str(self.home / name) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
        terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "OPENBLAS_NUM_THREADS": "1"}
        return {**os.environ, **homes, **terminal, "HOME": str(self.home), "PYTHONPATH": str(TOP)}

    def work(self, chance: random.Random, report: Report) -> None:
        """Do nothing: the app is started by `kill`."""

    def kill(self, chance: random.Random) -> Sequence[str]:
        """Start the app, use it until it is in the state that is aimed at, and kill it there."""
        resumes, self.state = bool(self.done), chance.choice(STATES)
        self._chance, self._app = (
            chance,
            AppProcess(self, by_interpreter=chance.random() < _NEW_PROCESS, resume=resumes),
        )
        there = [self._app.parent]
        try:
            aim = self.state
            self._enter(aim)
            self._app.read(chance.uniform(0, _MOST_S.get(aim, _ELSE_S)))
            self.state = self._read_state(aim)
            there = self._app.kill(chance.choice(("app", "parent", "both")))
        except AssertionError:
            self._app.kill("both")
            raise
        finally:
            left = self._app.end(there)
        assert not left, f"processes are left: {left}"
        assert not resumes or aim == "starting" or b"Resumed" in self._app.everything, "it does not say that it resumed"
        assert b"A part of the kept" not in self._app.everything, "a snapshot was refused"
        return ()

    def check(self, reports: Sequence[str], report: Report) -> None:
        wrong = check_place(self.project, self.home, self.done, self.undone)
        assert not wrong, "\n".join(wrong)

    def _enter(self, aim: str) -> None:
        """Lead the app into a state."""
        app, chance = self._app, self._chance
        if aim == "starting":
            return
        app.wait_for(_READY)
        app.read(0.05)
        for _ in range(chance.choice((0, 1, 1)) + (aim in ("compacting", "undoing") and not self.done)):
            self._turn(chance.choice(("short", "edit")))
        app.forget()
        match aim:
            case "streaming" | "editing":
                self._send("stream" if aim == "streaming" else "edit")
                app.wait_for(f"{self._number}.".encode())
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
                self._expect_undo()
                app.type(chance.choice((b"/undo\r", b"/redo\r")))
            case _:
                app.type(_QUIT_KEY)

    def _turn(self, kind: str) -> None:
        self._send(kind)
        app, end = self._app, self._end
        app.wait_for(end)
        app.forget(up_to=app.written.rindex(end))
        app.wait_for(_READY)
        self.done.append(end.decode())

    @property
    def _end(self) -> bytes:
        """The end of the newest message's answer."""
        return f"done{self._number}x".encode()

    def _send(self, kind: str) -> None:
        self._number += 1
        self._app.forget()
        self._app.type(f"{kind} {self._number}.\r".encode())

    def _expect_undo(self) -> None:
        """The newest turn that is done and was not undone may be undone now."""
        numbers = [_NUMBER.findall(word) for word in self.done if word not in self.undone]
        self.undone.update(word for word in self.done if _NUMBER.findall(word) in numbers[-1:])

    def _read_state(self, aim: str) -> str:
        """Return the state that the screen shows, and note what it shows as done."""
        written = self._app.written
        if aim not in ("streaming", "editing", "running"):
            return aim
        # The lines of a change are shown once it is made; those of earlier ones are lines that it takes away. What was
        # undone is as if somebody else had changed it, so that the change is refused.
        changed = f"changed{self._number}x"
        if changed.encode() in written and _REFUSED not in written:
            self.done.append(changed)
        _, found, after = written.rpartition(self._end)
        if not found or _READY not in after:
            return aim
        self.done.append(self._end.decode())
        return "idle"
