"""bubblewrap: its command line, and a start that lets the command run only once its mounts are those of the plan.

bubblewrap reports the process that will become the command (`--info-fd`), mounts everything, drops all capabilities,
and then waits (`--block-fd`) until the pipe is written to. It would also go ahead at the end of the pipe, so the write
end is closed only after that process was killed: `laguna_tui.sandbox.native.subreaper` does it if this process dies.
"""

import contextlib
import json
import os
import re
import selectors
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from laguna_tui.base.text import sanitize_line
from laguna_tui.sandbox.mount_check import unplanned_mounts
from laguna_tui.sandbox.mount_plan import Mount, reading_plan, trial_plan
from laguna_tui.sandbox.native.command_tree import CommandTree
from laguna_tui.sandbox.native.seccomp import AF_INET, AF_INET6, AF_NETLINK, system_call_filter
from laguna_tui.sandbox.sandbox_policy import MAX_PROCESSES

READY_S = 30.0
"""Seconds until bubblewrap must have mounted everything: it takes some milliseconds on a quiet machine."""
_POLL_S = 0.0005
_GONE_S = 1.0
"""Seconds after which a process that cannot be seen is given up: bubblewrap reports its end much sooner."""
_INFO_BYTES = 1 << 16
_MESSAGE_BYTES = 1 << 12


_NAMESPACES = ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
_LIMITED = f'ulimit -c 0; ulimit -u {MAX_PROCESSES} 2>/dev/null || ulimit -p {MAX_PROCESSES} 2>/dev/null; exec "$@"'
"""The limit is set inside, where only the command's own processes count; bash and dash name it differently."""


class SandboxError(Exception):
    """bubblewrap did not make the planned sandbox; the message says why, as a clause."""


def filter_descriptor(*, set_group: bool = False) -> int | None:
    """Return an open file with the seccomp filter of commands: a network of their own, but no unix socket to outside.

    None for a processor whose system calls are not known.

    Args:
        set_group: Whether commands may set setgid.
    """
    program = system_call_filter((AF_INET, AF_INET6, AF_NETLINK), ipc=True, set_group=set_group)
    if program is None or sys.platform != "linux":
        return None
    descriptor = os.memfd_create("seccomp", os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def trial_command(program: str, filter_fd: int) -> tuple[str, ...]:
    """Return a command that does nothing in a sandbox like those of commands."""
    return (*_sandbox(program, trial_plan(), filter_fd, network=False), "--", "true")


def git_wrapper(program: str, hidden: Sequence[Path]) -> tuple[str, ...]:
    """Return the words before a command that may write nothing, and cannot read what is hidden."""
    return (*_sandbox(program, reading_plan(hidden), None, network=False), "--")


def bubblewrap_command(
    program: str, mounts: Sequence[Mount], argv: Sequence[str], *, folder: str, filter_fd: int, network: bool
) -> tuple[str, ...]:
    """Return the command line.

    Args:
        filter_fd: Descriptor of the seccomp filter.
    """
    inside = ("--chdir", folder, "--", "/bin/sh", "-c", _LIMITED, "sh", *argv)
    return (*_sandbox(program, mounts, filter_fd, network=network), *inside)


def _sandbox(program: str, mounts: Sequence[Mount], filter_fd: int | None, *, network: bool) -> tuple[str, ...]:
    return (
        *(program, *_NAMESPACES),
        *(() if network else ("--unshare-net",)),
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *(() if filter_fd is None else ("--seccomp", str(filter_fd))),
        *(word for mount in mounts for word in mount.words),
    )


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
        held: Descriptors that stay open until the command has ended.

    Raises:
        SandboxError: The sandbox could not be made or is not the planned one; nothing of the command has run.
        OSError: No process can be started, or there is no such folder.
    """
    info, info_end = os.pipe()
    block, gate = os.pipe()
    program, *options = command
    argv = (program, "--info-fd", str(info_end), "--block-fd", str(block), *options)
    try:
        try:
            inherited = (*inherited, info_end, block)
            tree = CommandTree(argv, folder, variables, inherited=inherited, held=held, gate=gate)
        except BaseException:
            os.close(gate)
            raise
        finally:
            os.close(info_end)
            os.close(block)
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
        raise SandboxError(f"{sanitize_line(wrong[0])} is a link, or was replaced meanwhile")


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
        """Read what bubblewrap reports about itself."""
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
    """Return the process that bubblewrap reports.

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
    """Return whether this user cannot reach a place without capabilities, which root has only outside the sandbox."""
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
