"""The check of a function: the tests run in this process, and the answer in one of its own in the sandbox.

The tests call a stand-in for the function, which sends the arguments through a pipe and returns plain values that come
back. Nothing of the answer is imported, compared or printed here, and the answer sees no test: what it does to its own
process (another `__eq__`, other builtins, an early exit, a report of its own making) is one more wrong answer.
"""

import builtins
import inspect
import json
import os
import selectors
import shlex
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from laguna_tui.evals import answer_child

_REPORT_BYTES = 1 << 18
"""Of a report: far above what tests compare, and too little for keys whose hashes collide to take long."""
_READ_BYTES = 1 << 16
_POLL_S = 0.05
_TESTS = "<tests>"
_PIPES = (".requests", ".reports")


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """How the tests ended. problem: why they failed, for a person; empty where they passed."""

    __test__ = False  # pytest takes it for a test by its name

    passed: bool
    problem: str = ""


class AnswerLostError(BaseException):
    """The answer's process reports nothing that can be used. Tests that expect an exception do not catch it."""


class FunctionCheck:
    """The tests of a function, and the pipes to the process that they test. Call `finish` in any case.

    The pipes have names, which that process removes before it imports the answer: not every sandbox leaves it
    descriptors.

    Attributes:
        command: a line for a shell that starts that process, in the folder with the answer.
    """

    def __init__(self, name: str, tests: str, folder: Path) -> None:
        """Start the tests, which wait for the process.

        Args:
            name: of the function.
            tests: Python code that calls it; it fails by an exception.
            folder: with the answer.
        """
        self._name, self._tests = name, tests
        self._outcome = TestOutcome(passed=False, problem="the tests were not run")
        self._requests, self._reports = (_pipe(folder / pipe) for pipe in _PIPES)
        program = [sys.executable, "-I", "-B", "-c", inspect.getsource(answer_child), name, *_PIPES]
        self.command = f"exec {shlex.join(program)}"
        self._over, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="function check", daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        """Return whether the tests have ended, so that the process is no longer needed."""
        return self._over.is_set()

    def finish(self) -> TestOutcome:
        """Return how the tests ended; call it after the process has ended."""
        self._ended.set()
        self._thread.join()
        os.close(self._requests)
        os.close(self._reports)
        return self._outcome

    def _run(self) -> None:
        function = _RemoteFunction(self._requests, self._reports, self._ended.is_set)
        try:
            exec(compile(self._tests, _TESTS, "exec", optimize=0), {"__name__": "tests", self._name: function.call})
        except BaseException as error:
            self._outcome = TestOutcome(passed=False, problem=_where(error, self._tests))
        else:
            # A test may have swallowed it.
            self._outcome = TestOutcome(passed=not function.lost, problem=function.lost)
        finally:
            self._over.set()


def _pipe(path: Path) -> int:
    """Make a named pipe and open it without waiting for its other end."""
    os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)


class _RemoteFunction:
    """Stands for the answer's function.

    Attributes:
        lost: why it cannot be called any more; empty while it can.
    """

    def __init__(self, requests: int, reports: int, ended: Callable[[], bool]) -> None:
        """Take the pipes. ended: returns whether the process is over; what it left running may hold a pipe open."""
        self.lost = ""
        self._requests, self._reports, self._ended = requests, reports, ended
        self._read = bytearray()

    def call(self, *arguments: object, **named: object) -> Any:
        """Call it with plain values; raises what it raises, as far as that is a builtin exception."""
        report = self._report(json.dumps(answer_child.encode([list(arguments), named])).encode() + b"\n")
        match report:
            case {"returned": result, "same": same, "arguments": [list(after), dict(named_after)]}:
                error = None
            case {"raised": str(kind), "text": str(text), "arguments": [list(after), dict(named_after)]}:
                result, same, error = None, None, _exception(kind, text)
            case _:
                raise self._lose("its report is malformed")
        for before, now in zip((*arguments, *named.values()), (*after, *named_after.values()), strict=False):
            _update(before, now)
        if error is not None:
            raise error
        return arguments[same] if type(same) is int and 0 <= same < len(arguments) else result

    def _report(self, request: bytes) -> object:
        if self.lost:
            raise AnswerLostError(self.lost)
        self._send(request)
        while b"\n" not in self._read:
            if len(self._read) > _REPORT_BYTES:
                raise self._lose(f"its report is larger than {_REPORT_BYTES:,} bytes")
            self._wait(self._reports, selectors.EVENT_READ)
            self._read += os.read(self._reports, _READ_BYTES)
        line, _, rest = bytes(self._read).partition(b"\n")
        self._read = bytearray(rest)
        try:
            return answer_child.decode(json.loads(line))
        except (ValueError, RecursionError):
            raise self._lose("its report is not a plain value") from None

    def _send(self, request: bytes) -> None:
        while request:
            self._wait(self._requests, selectors.EVENT_WRITE)
            request = request[os.write(self._requests, request) :]

    def _wait(self, pipe: int, event: int) -> None:
        """Wait for a pipe, whose other end this process holds too; what was written before the end is still read."""
        with selectors.DefaultSelector() as ready:
            ready.register(pipe, event)
            while True:
                ended = self._ended()
                if ready.select(0 if ended else _POLL_S):
                    return
                if ended:
                    raise self._lose("it ended before the tests did")

    def _lose(self, why: str) -> AnswerLostError:
        self.lost = f"the answer's process is lost: {why}"
        return AnswerLostError(self.lost)


def _exception(kind: str, text: str) -> Exception:
    """Return the builtin exception of this name."""
    found = getattr(builtins, kind, None)
    if isinstance(found, type) and issubclass(found, Exception):
        with suppress(TypeError):  # some need more than a text
            return found(text)
    return Exception(f"{kind}: {text}")


def _update(before: object, now: object) -> None:
    """Change a value of the tests to what the function made of it, in place, as a call in one process would."""
    if type(before) is not type(now):
        return
    if isinstance(before, list) and isinstance(now, list):
        before[:] = [_updated(*pair) for pair in zip(before, now, strict=False)] + now[len(before) :]
    elif isinstance(before, dict) and isinstance(now, dict):
        values: Mapping[object, object] = {key: _updated(before.get(key), value) for key, value in now.items()}
        before.clear()
        before.update(values)
    elif isinstance(before, tuple) and isinstance(now, tuple):
        for pair in zip(before, now, strict=False):
            _update(*pair)
    elif isinstance(before, set) and isinstance(now, set):
        before.clear()
        before.update(now)


def _updated(before: object, now: object) -> object:
    """Return the value before where it can be changed in place, else the value now."""
    _update(before, now)
    return before if type(before) is type(now) and isinstance(before, list | dict | set) else now


def _where(error: BaseException, tests: str) -> str:
    """Return what went wrong, with the line of the tests that it happened in."""
    lines = tests.splitlines()
    at = next((each.lineno or 0 for each in traceback.extract_tb(error.__traceback__) if each.filename == _TESTS), 0)
    line = lines[at - 1].strip() if 0 < at <= len(lines) else ""
    return "\n".join(filter(None, (line, f"{type(error).__name__}: {error}".removesuffix(": "))))
