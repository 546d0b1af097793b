"""A command of the user's or the model's as a process tree: started in their folder, and ended as a whole."""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from laguna_tui.sandbox.native import subreaper

_SUBREAPER = str(Path(subreaper.__file__).resolve())
_STATUS_BYTES = 4096

_CLOSE_WAIT_S = 2.5
"""Time to wait for the end of a tree that is killed: what `subreaper` takes at most, and some more."""

_CONTINUE_S = 0.1


class CommandTree:
    """A command with all that it starts, without a terminal or input; nothing outlives `close` or this process.

    Attributes:
        output: Descriptor of its standard output and errors together; at its end when nothing holds the pipe.
        status: Descriptor to wait on; call `read_status` when it is readable.
        pid: Of the command, None before it has started.
        code: Exit code once it has ended, negative for a signal.
        left: How many processes the command had left running when it ended; 0 where that cannot be known, and
            sometimes under bubblewrap, which ends them itself.
        problem: `errno` if it cannot be run.
        gone: Whether all of it is over.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: str | Path,
        variables: Mapping[str, str],
        *,
        leave: bool = False,
        inherited: Sequence[int] = (),
        held: Sequence[int] = (),
        gate: int | None = None,
    ) -> None:
        """Start it.

        Args:
            variables: The whole environment.
            leave: When the command ends by itself, leave alone what it has left running.
            inherited: Descriptors that it gets beside the standard ones, with the same numbers.
            held: Descriptors that it does not get, and that stay open until its end is seen to, also if this process
                is killed before: a lock on one says that the command may still run.
            gate: Write end of a pipe whose other end the command inherits, and that it reads before it begins: `begin`
                writes to it. Closed by `close`, once the command cannot begin any more.

        Raises:
            OSError: No process can be started, or there is no such folder.
        """
        self.pid: int | None = None
        self.code: int | None = None
        self.left = 0
        self.problem: int | None = None
        self.gone = False
        self._reports = b""
        left = subreaper.LEAVE if leave else subreaper.END
        self._gate = gate
        gates = () if gate is None else (gate,)
        arguments = (left, *(",".join(map(str, each)) for each in (inherited, held, gates)), *command)
        self.output, output = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", _SUBREAPER, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                bufsize=0,
                env=variables,
                cwd=folder,
                pass_fds=(*inherited, *held, *gates),
                start_new_session=True,
            )
        except BaseException:
            os.close(self.output)
            raise
        finally:
            os.close(output)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._status = self._process.stdin, self._process.stdout
        self.status = self._status.fileno()

    def read_status(self) -> None:
        """Read the next reports; wait for one if there is none."""
        reports = os.read(self.status, _STATUS_BYTES)
        self.gone = not reports
        *lines, self._reports = (self._reports + reports).split(b"\n")
        for kind, first, *rest in (line.decode().split() for line in lines):
            match kind:
                case subreaper.STARTED:
                    self.pid = int(first)
                case subreaper.FAILED:
                    self.problem = int(first)
                case subreaper.ENDED:
                    self.code, self.left = int(first), int(rest[0])

    def wait(self, limit_s: float) -> int | None:
        """Wait for the end of the command, not of what it has started; return its exit code, None if it still runs."""
        deadline = time.monotonic() + limit_s
        with selectors.DefaultSelector() as reports:
            reports.register(self.status, selectors.EVENT_READ)
            while self.code is None and not self.gone and reports.select(max(0.0, deadline - time.monotonic())):
                self.read_status()
        return self.code

    def begin(self) -> None:
        """Let the command through its gate."""
        self._order(subreaper.BEGIN)

    def terminate(self) -> None:
        """Ask all its processes to end."""
        self._order(subreaper.TERMINATE)

    def kill(self) -> None:
        """Kill all its processes; `gone` follows within two seconds."""
        self._order(subreaper.KILL)

    def close(self) -> None:
        """End all its processes, except what an ended command was to leave. Idempotent; one thread at a time."""
        if self._status.closed:
            return
        self.kill()
        deadline = time.monotonic() + _CLOSE_WAIT_S
        with selectors.DefaultSelector() as reports:
            reports.register(self.status, selectors.EVENT_READ)
            while not self.gone and time.monotonic() < deadline:
                # The command may have stopped the program that is to end it.
                self._process.send_signal(signal.SIGCONT)
                if reports.select(_CONTINUE_S):
                    self.read_status()
        if self.pid is not None and self.code is None:
            # The command has killed the program that was to end it.
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_WAIT_S)
        self._orders.close()
        self._status.close()
        os.close(self.output)
        if self._gate is not None:
            # Not before: where the program that was to end the command was killed, this alone keeps it from beginning.
            os.close(self._gate)

    def _order(self, order: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._orders.write(order)
