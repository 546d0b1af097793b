"""Starts bubblewrap, and lets the command in it run only once its mounts are those of the plan.

bubblewrap reports the process that will become the command (`--info-fd`), mounts everything, drops all capabilities,
and then waits (`--block-fd`) until the pipe is written to. It would also go ahead at the end of the pipe, so the write
end is closed only after that process was killed: `laguna_tui.sandbox.native.subreaper` sees to it if this process dies.
"""

import contextlib
import json
import os
import re
import selectors
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from laguna_tui.base.text import sanitize_line
from laguna_tui.sandbox.mount_check import unplanned_mounts
from laguna_tui.sandbox.mount_plan import Mount
from laguna_tui.sandbox.native.command_tree import CommandTree

READY_S = 30.0
"""Seconds until bubblewrap must have mounted everything: it takes some milliseconds on a quiet machine."""
_POLL_S = 0.0005
_GONE_S = 1.0
"""Seconds after which a process that cannot be seen is given up: bubblewrap reports its end much sooner."""
_INFO_BYTES = 1 << 16
_MESSAGE_BYTES = 1 << 12


class SandboxError(Exception):
    """bubblewrap did not make the planned sandbox; the message says why, as a clause."""


def start_checked(
    command: Sequence[str],
    folder: str,
    variables: Mapping[str, str],
    mounts: Sequence[Mount],
    *,
    inherited: Sequence[int] = (),
    held: Sequence[int] = (),
) -> CommandTree:
    """Start a command line of bubblewrap, compare its mounts with the plan, and let the command begin.

    Args:
        command: The command line; its first word is bubblewrap's path.
        folder: As for `CommandTree`, like `variables`, `inherited` and `held`.
        variables: The whole environment.
        mounts: What the command line mounts.
        inherited: Descriptors that the command gets.
        held: Descriptors that stay open until the command has ended.

    Raises:
        SandboxError: The sandbox could not be made or is not the planned one; nothing of the command has run.
        OSError: No process can be started, or there is no such folder.
    """
    info, told = os.pipe()
    waits, gate = os.pipe()
    program, *options = command
    argv = (program, "--info-fd", str(told), "--block-fd", str(waits), *options)
    try:
        try:
            inherited = (*inherited, told, waits)
            tree = CommandTree(argv, folder, variables, inherited=inherited, held=held, gate=gate)
        except BaseException:
            os.close(gate)
            raise
        finally:
            os.close(told)
            os.close(waits)
        try:
            with _Start(tree, info) as start:
                _check(start.first_process(), mounts)
            tree.begin()
        except BaseException:
            tree.close()
            raise
    finally:
        os.close(info)
    return tree


def _check(process: int, mounts: Sequence[Mount]) -> None:
    """Compare the mounts of a process with the plan.

    Raises:
        SandboxError: They are others, or cannot be read.
    """
    try:
        inside, host = (Path(f"/proc/{each}/mountinfo").read_bytes() for each in (process, "self"))
        wrong = unplanned_mounts(mounts, inside, host, out_of_reach=_is_out_of_reach)
    except (OSError, ValueError) as error:
        raise SandboxError(f"its mounts cannot be checked: {error}") from error
    if wrong:
        raise SandboxError(f"{sanitize_line(wrong[0])} is a link, or was exchanged meanwhile")


class _Start:
    """bubblewrap while it makes the sandbox."""

    def __init__(self, tree: CommandTree, info: int) -> None:
        self._tree, self._info = tree, info
        self._deadline = time.monotonic() + READY_S
        self._reports = selectors.DefaultSelector()
        self._reports.register(tree.status, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._reports.close()

    def first_process(self) -> int:
        """Return the number of the process that will become the command, once everything is mounted for it.

        Raises:
            SandboxError: bubblewrap ended, or is not ready in time.
        """
        process = _number_in(self._reported())
        seen = time.monotonic()
        while not _has_no_capabilities(process):
            self._wait(_POLL_S)
            if not Path(f"/proc/{process}").exists() and time.monotonic() - seen > _GONE_S:
                raise SandboxError("its process cannot be seen")
        return process

    def _reported(self) -> bytes:
        """What bubblewrap reports about itself."""
        text = b""
        self._reports.register(self._info, selectors.EVENT_READ)
        while len(text) < _INFO_BYTES:
            if self._info in self._wait(READY_S):
                if not (data := os.read(self._info, _INFO_BYTES)):
                    break
                text += data
        self._reports.unregister(self._info)
        while not text:
            # It ends, and its output says why.
            self._wait(READY_S)
        return text

    def _wait(self, seconds: float) -> set[int]:
        """Wait for a report; returns the descriptors that can be read.

        Raises:
            SandboxError: bubblewrap ended, or the time is over.
        """
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise SandboxError(f"bubblewrap was not ready within {READY_S:.0f} s")
        ready = {key.fd for key, _ in self._reports.select(min(seconds, left))}
        if self._tree.status in ready:
            self._tree.read_status()
            if self._tree.problem is not None:
                raise SandboxError(f"bubblewrap cannot be started: {os.strerror(self._tree.problem)}")
            if self._tree.gone or self._tree.code is not None:
                raise SandboxError(self._last_words())
        return ready

    def _last_words(self) -> str:
        os.set_blocking(self._tree.output, False)
        try:
            lines = os.read(self._tree.output, _MESSAGE_BYTES).decode("utf-8", "replace").strip().splitlines()
        except BlockingIOError:
            lines = []
        finally:
            os.set_blocking(self._tree.output, True)
        return sanitize_line(lines[-1].removeprefix("bwrap: ")) if lines else "bubblewrap gives no reason"


def _number_in(report: bytes) -> int:
    """The process that bubblewrap reports.

    Raises:
        SandboxError: It reports none.
    """
    with contextlib.suppress(ValueError, KeyError, TypeError):
        number = json.loads(report)["child-pid"]
        if type(number) is int and number > 1:
            return number
    raise SandboxError("bubblewrap does not report its process")


def _has_no_capabilities(process: int) -> bool:
    """Return whether a process has dropped its capabilities, so that it cannot mount anything any more."""
    try:
        status = Path(f"/proc/{process}/status").read_bytes()
    except OSError:
        return False
    return re.search(rb"^CapEff:\t0+$", status, re.MULTILINE) is not None


def _is_out_of_reach(place: str) -> bool:
    """Whether this user cannot get to a place without capabilities, which root has here and not in the sandbox."""
    user, groups = os.geteuid(), {os.getegid(), *os.getgroups()}
    for folder in reversed(Path(place).parents):
        try:
            status = folder.stat()
        except PermissionError:
            return True
        except OSError:
            return False
        if user == 0:
            owner, group = status.st_uid == user, status.st_gid in groups
            bit = stat.S_IXUSR if owner else stat.S_IXGRP if group else stat.S_IXOTH
            if not status.st_mode & bit:
                return True
    return False
