"""Runs all shell commands: a model's in the sandbox, and the user's own as in their shell.

A command has no terminal and reads nothing. It ends with everything that it has started: at its time limit, when it is
stopped, when the session is closed, and when this process dies. A background command continues while the model does.
"""

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import platformdirs

from laguna_engine.native.child import find_program
from laguna_tui.base.paths import APP, escaped
from laguna_tui.sandbox.background import BackgroundCommand, BackgroundJob
from laguna_tui.sandbox.bubblewrap import SandboxError
from laguna_tui.sandbox.command_output import CommandOutput
from laguna_tui.sandbox.folder_listing import PathRules
from laguna_tui.sandbox.folder_walk import FolderWalk
from laguna_tui.sandbox.hidden_secrets import hidden_secrets
from laguna_tui.sandbox.launch import LimitReachedError, Prepared, prepare
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus, probe_sandbox
from laguna_tui.sandbox.quarantine import Quarantine
from laguna_tui.sandbox.running_command import (
    CommandNotRun,
    CommandResult,
    LiveText,
    NeedsApproval,
    RunningCommand,
)
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy

OUTPUT_CHARS = 11_000
"""Most characters of an output that a result has: a tool's answer has 12,000, and there is something to add."""

MAX_BACKGROUND = 8
"""Most background commands at a time: a server, a watcher, and some that were forgotten."""

MAX_REMEMBERED = 32
"""Most background commands that are listed; beyond it, those that ended first are forgotten."""

MAX_SAVED_BYTES = 1 << 30
"""Most bytes on disk of all outputs of a session; the oldest go first."""

_SECRETS_NOT_HIDDEN = "it may read files with secrets, such as {path}"
_RULES_NOT_HELD = "it may read files that the rules keep from the model"
_VARIABLES = {"PYTHONUNBUFFERED": "1", "GIT_EDITOR": "true"}
"""Set for a model's commands, so that output before a time limit is seen, and nothing waits for an editor."""


class CommandRunner:
    """Runs the commands of one session. Any thread; several commands may run at a time."""

    def __init__(
        self,
        workspace: Path,
        *,
        results: Path | None = None,
        probe: Callable[[], SandboxStatus] = probe_sandbox,
        shows: Callable[[str], bool] = lambda path: False,
        path_rules: Callable[[], tuple[tuple[str, ...], tuple[str, ...]]] = lambda: ((), ()),
        hidden: tuple[Path, ...] = (),
        programs: tuple[str, ...] = (),
    ) -> None:
        """Run nothing yet.

        Args:
            workspace: The folder that the sandbox lets a command write to.
            results: Folder of long outputs; None for the cache folder.
            probe: Finds out which sandbox works here.
            shows: Whether a command may read a file of the workspace that holds secrets, by its relative path.
            path_rules: Returns globs of what commands must not read in the workspace, and of what they must not change.
            hidden: Files and folders anywhere that commands must not read.
            programs: The words of the only command line, if it is the user's: see `SandboxPolicy.programs`.
        """
        self._workspace = workspace
        self._walk = FolderWalk(Path(os.path.realpath(workspace)))
        self._limit = ""
        self._limits_explained = False
        self._results = results or platformdirs.user_cache_path(APP) / "results"
        self._probe = probe
        self._shows = shows
        self._path_rules = path_rules
        self._hidden, self._programs = hidden, programs
        self._lock = threading.RLock()
        self._outputs: list[Path] = []
        self._jobs: dict[int, BackgroundJob] = {}
        self._next = 1
        self._tmp: Path | None = None

    @property
    def quarantine(self) -> Quarantine:
        """Where files go that commands created and that git, assistants, editors or shells execute."""
        return Quarantine.of(Path(os.path.realpath(self._workspace)))

    @property
    def shell(self) -> str:
        """The program that runs a model's commands: models write bash."""
        return find_program("bash") or "/bin/sh"

    @property
    def status(self) -> SandboxStatus:
        """The sandbox that a model's commands run in."""
        return self._probe()

    def take_limits(self) -> str:
        """Return what the user should know about the sandbox, the first time; empty from then on."""
        with self._lock:
            explained, self._limits_explained = self._limits_explained, True
        return "" if explained else self.status.limits

    def policy(self, *, network: bool = False, secrets: bool = False) -> SandboxPolicy:
        """Return what a program may do in the sandbox under the user's present rules.

        Everything that runs in the sandbox for a session takes its policy from here. Its temporary folder is its own.
        """
        unreadable, unwritable = self._path_rules()
        shows = _shows_all if secrets else self._shows
        return SandboxPolicy(
            self._workspace,
            network=network,
            shows=shows,
            unreadable=unreadable,
            unwritable=unwritable,
            hidden=self._hidden,
            programs=self._programs,
        )

    def unhidden(self) -> str:
        """Return what a command could read against the user's wishes where the sandbox cannot hide it, as a clause.

        Empty where there is nothing of that kind in the workspace.
        """
        policy = self.policy()
        if policy.unreadable:
            return _RULES_NOT_HELD
        try:
            named = self._walk.read(PathRules()).secrets
        except OSError:
            return ""  # No command starts either.
        secrets = hidden_secrets(named, policy.root, policy.is_shown, None)
        if not secrets:
            return ""
        return _SECRETS_NOT_HIDDEN.format(path=escaped(os.path.relpath(secrets[0].path, policy.root)))

    @property
    def limit(self) -> str:
        """Why the last command could not be kept from everything it should have been, as a clause; mostly empty."""
        return self._limit

    def run(
        self,
        command: str,
        *,
        folder: Path,
        timeout_s: float | None,
        network: bool = False,
        own: bool = False,
        secrets: bool = False,
        committed: Iterable[str] | None = None,
        beyond_limits: bool = False,
        on_output: Callable[[str], None] = lambda text: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> CommandResult:
        """Run a command and wait for its end, which is soon after the time limit or the cancellation.

        Args:
            command: A line for a shell.
            folder: Where it runs.
            timeout_s: Seconds after which it is stopped; None for no limit.
            network: Let it open connections.
            own: It is the user's: without the sandbox, in their shell and with their environment.
            secrets: Let it read files of the workspace that hold secrets.
            committed: Files that it is to commit, relative to the workspace; see `SandboxPolicy.committed`.
            beyond_limits: Let it run although it cannot be kept from everything it should be.
            on_output: Gets what it writes, raw, some times a second; of a flood, the last of it.
            cancelled: Called many times a second.

        Raises:
            NeedsApproval: The user has to agree to `beyond_limits`.
            CommandNotRun: It was not started; why, as the end of a sentence.
        """
        policy = None
        if not own:
            files = None if committed is None else frozenset(committed)
            policy = replace(self.policy(network=network, secrets=secrets), committed=files)
        running = self._start(command, folder, timeout_s, cancelled, policy, beyond_limits=beyond_limits)
        live = LiveText(on_output)
        try:
            while not running.over:
                live.add(running.step())
            live.close()
        except BaseException:
            running.discard()
            raise
        finally:
            running.close()
        return self._noted(running.result())

    def start_background(
        self,
        command: str,
        *,
        folder: Path,
        timeout_s: float | None = None,
        network: bool = False,
        secrets: bool = False,
        beyond_limits: bool = False,
    ) -> int:
        """Run a command in the background, in the sandbox; return its number. Arguments are those of `run`.

        Raises:
            NeedsApproval: The user has to agree to `beyond_limits`.
            CommandNotRun: It was not started; why, as the end of a sentence.
        """
        with self._lock:
            if sum(not job.over for job in self._jobs.values()) >= MAX_BACKGROUND:
                raise CommandNotRun(f"{MAX_BACKGROUND} background commands are already running; stop one of them first")
            number, stop = self._next, threading.Event()
            policy = self.policy(network=network, secrets=secrets)
            running = self._start(command, folder, timeout_s, stop.is_set, policy, beyond_limits=beyond_limits)
            self._next += 1
            self._jobs[number] = BackgroundJob(command, running, stop)
            self._forget_old_jobs()
        return number

    def background(self) -> list[BackgroundCommand]:
        """Return the background commands, including those that have ended, oldest first."""
        with self._lock:
            return [job.listed(number) for number, job in self._jobs.items()]

    def read(
        self, number: int, wait_s: float = 0.0, cancelled: Callable[[], bool] = lambda: False
    ) -> CommandResult | None:
        """Return what a background command has written since it was last read; None if there is no such command.

        Args:
            wait_s: Seconds to wait for its end, or for it to write something and then pause.
            cancelled: Called many times a second; ends the waiting.
        """
        with self._lock:
            job = self._jobs.get(number)
        return None if job is None else self._noted(job.read(wait_s, cancelled))

    def recent(self, number: int) -> str:
        """Return the last raw output of a background command, read or not; empty if there is no such command."""
        with self._lock:
            job = self._jobs.get(number)
        return "" if job is None else job.recent

    def stop(self, number: int) -> bool:
        """Stop a background command and wait for its end; return whether it was running."""
        with self._lock:
            job = self._jobs.get(number)
        return job is not None and job.stop()

    def close(self) -> None:
        """End all background commands, and remove what was kept. Idempotent."""
        with self._lock:
            jobs = list(self._jobs.values())
            self._jobs.clear()
        for job in jobs:
            job.stopping.set()
        for job in jobs:
            job.stop()
            job.discard()
        with self._lock:
            while self._outputs:
                self._outputs.pop().unlink(missing_ok=True)
            if self._tmp is not None:
                shutil.rmtree(self._tmp, ignore_errors=True)
                self._tmp = None

    def _start(
        self,
        command: str,
        folder: Path,
        timeout_s: float | None,
        cancelled: Callable[[], bool],
        policy: SandboxPolicy | None,
        *,
        beyond_limits: bool,
    ) -> RunningCommand:
        """Start a command in the sandbox, or without a policy as the user's own."""
        try:
            if policy is None:
                prepared = _as_the_user(command, folder)
            else:
                prepared = self._sandboxed(command, folder, policy, beyond_limits=beyond_limits)
        except OSError as error:
            raise CommandNotRun(f"the sandbox cannot be made ({error.strerror or error})") from error
        output = CommandOutput(OUTPUT_CHARS, self._results)
        own = policy is None
        is_bash = not own and Path(self.shell).name == "bash"
        try:
            return RunningCommand(prepared, output, timeout_s, cancelled, leave=own, is_bash=is_bash)
        except CommandNotRun as error:
            if isinstance(error.__cause__, LimitReachedError):
                self._limit = str(error.__cause__)
                raise NeedsApproval(self._limit) from error
            if isinstance(error.__cause__, SandboxError):
                raise CommandNotRun(f"{error}; {self._what_to_stop()}") from error
            raise

    def _sandboxed(self, command: str, folder: Path, policy: SandboxPolicy, *, beyond_limits: bool) -> Prepared:
        status = self.status
        with self._lock:
            if self._tmp is None and status.kind is not SandboxKind.NONE:
                self._tmp = Path(tempfile.mkdtemp(prefix=f"{APP}-"))
        policy = replace(policy, tmp=self._tmp)
        # It reads no file of the user's when it is started like this.
        prepared_for = partial(prepare, status, policy, (self.shell, "-c", command), folder=folder, walk=self._walk)
        try:
            prepared = prepared_for()
            self._limit = ""
        except LimitReachedError as error:
            self._limit = str(error)
            if not beyond_limits:
                raise NeedsApproval(self._limit) from error
            prepared = prepared_for(beyond_limits=True)
        prepared.env.update(_VARIABLES)
        return prepared

    def _what_to_stop(self) -> str:
        """Return what to do if the sandbox cannot be made because something changes meanwhile."""
        with self._lock:
            running = [str(number) for number, job in self._jobs.items() if not job.over]
        if not running:
            return "try again"
        return f"stop background command{'s' * (len(running) > 1)} {' and '.join(running)}, then try again"

    def _noted(self, result: CommandResult) -> CommandResult:
        """Note a result's file, which is removed later; return the result."""
        path = result.full_output
        if path is None:
            return result
        with self._lock:
            if path not in self._outputs:
                self._outputs.append(path)
            while len(self._outputs) > 1 and sum(map(_size, self._outputs)) > MAX_SAVED_BYTES:
                self._outputs.pop(0).unlink(missing_ok=True)
        return result

    def _forget_old_jobs(self) -> None:
        ended = [number for number, job in self._jobs.items() if job.over]
        for number in ended[: max(0, len(self._jobs) - MAX_REMEMBERED)]:
            self._jobs.pop(number).discard()


def _shows_all(path: str) -> bool:
    del path
    return True


def _as_the_user(command: str, folder: Path) -> Prepared:
    shell = os.environ.get("SHELL", "")
    usable = Path(shell).is_absolute() and os.access(shell, os.X_OK)
    return Prepared((shell if usable else "/bin/sh", "-c", command), dict(os.environ), str(folder))


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
