"""The command line of bubblewrap."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from laguna_tui.sandbox.mount_plan import Mount, reading_plan, trial_plan
from laguna_tui.sandbox.native.seccomp import AF_INET, AF_INET6, AF_NETLINK, system_call_filter

MAX_PROCESSES = 1024
"""Processes and threads of a command: a parallel build has some hundreds."""

_NAMESPACES = ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
_LIMITED = f'ulimit -c 0; ulimit -u {MAX_PROCESSES} 2>/dev/null || ulimit -p {MAX_PROCESSES} 2>/dev/null; exec "$@"'
"""The limit is set inside, where only the command's own processes count; bash and dash name it differently."""


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
    """Return a command that runs the one behind it where it can write nothing, and cannot read what is hidden."""
    return (*_sandbox(program, reading_plan(hidden), None, network=False), "--")


def bubblewrap_command(
    program: str, mounts: Sequence[Mount], argv: Sequence[str], *, folder: str, filter_fd: int, network: bool
) -> tuple[str, ...]:
    """Return the command line.

    Args:
        program: Path of bubblewrap.
        mounts: What is mounted, in order.
        argv: The command.
        folder: Where it runs.
        filter_fd: Descriptor of the seccomp filter.
        network: Whether it may open connections.
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
