"""A command confined by Landlock and seccomp, where no namespaces can be made: `python -I -c … landlock CONFINEMENT …`.

The child gives up its capabilities and the right to gain any, allows itself the given files only, loads the filter,
closes what it inherited and becomes the command. Every step is required: the command does not start when one fails.

Landlock only allows: a file is reachable when it or a folder around it is. Layouts: `<linux/landlock.h>`.
"""

import contextlib
import ctypes
import json
import os
import signal
import stat
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from laguna_engine.native import child
from laguna_tui.sandbox.native.seccomp import system_call_filter

LEAST_ABI = 3
"""Linux 6.2. Before it, a file outside can be truncated."""
SIGNALS_ABI = 6
"""Linux 6.12, the first that holds back signals."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_CHANGE_FOLDERS = sum(1 << bit for bit in (4, 5, 7, 8, 9, 10, 12))
"""Remove folders and files; make folders, files, sockets, pipes, links. No devices."""
_MAKE_DEVICES = 1 << 6 | 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_NET = 0b11
"""Bind and connect TCP, from ABI 4."""
_SCOPES = 0b11
"""Abstract unix sockets and signals, from ABI 6."""

_SET_DEATH_SIGNAL, _SET_SECCOMP, _CAPBSET_DROP, _NO_NEW_PRIVILEGES, _AMBIENT, _CLEAR_AMBIENT = 1, 22, 24, 38, 47, 4
_FILTER_MODE = 2
_CAPABILITY_VERSION = 0x20080522
_CAPABILITIES = 64

FAILED = 125
"""Exit code when the confinement or the command cannot be started, as `env` and `timeout` use it."""


@dataclass(frozen=True)
class Confinement:
    """What a command may reach.

    Attributes:
        readable: Files and folders that it reads and executes.
        writable: Folders that it also changes.
        devices: Files that it reads and writes, but cannot replace.
        processes: How many more processes its user may have; not enforced for root.
        sockets: Address families that it may make sockets of.
        tcp: Whether it may use TCP.
        set_group: Whether it may set setgid.
    """

    readable: tuple[str, ...]
    writable: tuple[str, ...]
    devices: tuple[str, ...]
    processes: int
    sockets: tuple[int, ...] = ()
    tcp: bool = False
    set_group: bool = False


def landlock_abi() -> int:
    """Return the version of Landlock that the kernel enforces; 0 for none."""
    if sys.platform != "linux" or system_call_filter((), ipc=False) is None:
        return 0
    return max(int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))), 0)


def confined_command(confinement: Confinement, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the command that starts `argv` confined."""
    return child.python_command(__name__, json.dumps(asdict(confinement)), *argv)


def confine(confinement: Confinement) -> None:
    """Confine this process and what it starts, for good.

    Raises:
        OSError: A step failed; some may already be in force.
    """
    import resource  # not on Windows, where this module is imported too

    libc = _libc()
    program = system_call_filter(confinement.sockets, ipc=False, set_group=confinement.set_group)
    if program is None:
        raise OSError("the system calls of this processor are not known")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit_processes(confinement.processes)
    _check(libc.prctl(_SET_DEATH_SIGNAL, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0))
    _check(libc.prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), 0, 0, 0))
    _drop_capabilities(libc)
    _restrict(libc, confinement)
    _load(libc, program)


def _restrict(libc: ctypes.CDLL, confinement: Confinement) -> None:
    """Allow the files, and nothing else that Landlock knows."""
    abi = landlock_abi()
    if abi < LEAST_ABI:
        raise OSError("Landlock is missing or too old")
    folders = _READ_DIR | _CHANGE_FOLDERS | _MAKE_DEVICES | _REFER
    handled = (_OF_FILES | folders) & ~(0 if abi >= 5 else _IOCTL_DEV)
    net = _NET if abi >= 4 and not confinement.tcp else 0
    scopes = _SCOPES if abi >= SIGNALS_ABI else 0
    attributes = struct.pack("=QQQ", handled, net, scopes)[: 24 if abi >= SIGNALS_ABI else 16 if abi >= 4 else 8]
    ruleset = _check(libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0)))
    read = _EXECUTE | _READ_FILE | _READ_DIR
    write = read | _WRITE_FILE | _TRUNCATE | _CHANGE_FOLDERS | _REFER
    _allow(libc, ruleset, confinement.readable, read & handled)
    _allow(libc, ruleset, confinement.writable, write & handled)
    _allow(libc, ruleset, confinement.devices, (_READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV) & handled)
    _check(libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)))
    os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, paths: Iterable[str], rights: int) -> None:
    """Allow a right at each path that exists and can be opened; the others cannot be reached either."""
    for path in paths:
        with contextlib.suppress(OSError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                here = rights if stat.S_ISDIR(os.fstat(place).st_mode) else rights & _OF_FILES
                rule = struct.pack("=Qi", here, place)
                _check(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, ctypes.c_uint32(0)))
            finally:
                os.close(place)


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Give up every capability. Without new privileges, root does not regain them when it executes a program."""
    libc.prctl(_AMBIENT, ctypes.c_ulong(_CLEAR_AMBIENT), 0, 0, 0)
    for number in range(_CAPABILITIES):
        # Refused to a process that has none, which needs nothing dropped.
        libc.prctl(_CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0)
    _check(libc.capset(struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(24)))


def _load(libc: ctypes.CDLL, program: bytes) -> None:
    lines = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(lines))
    _check(libc.prctl(_SET_SECCOMP, ctypes.c_ulong(_FILTER_MODE), head, 0, 0))


def _limit_processes(more: int) -> None:
    """Limit the processes of this user, threads included, to what runs now and `more`."""
    import resource

    running = 0
    for name in os.listdir("/proc"):  # noqa: PTH208
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():  # noqa: PTH116
                running += len(os.listdir(f"/proc/{name}/task"))  # noqa: PTH208
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    limit = running + more if hard == resource.RLIM_INFINITY else min(running + more, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _close_all_but_pipes() -> None:
    """Close inherited descriptors, which Landlock does not take back; servers are spoken to through pipes."""
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
        with contextlib.suppress(OSError):  # one was that of the list
            if descriptor > 2 and not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.close(descriptor)


def main(arguments: Sequence[str]) -> int:
    """Become the command, confined."""
    values, *argv = arguments
    try:
        _close_all_but_pipes()
        if os.getsid(0) != os.getpid():
            with contextlib.suppress(OSError):
                os.setsid()
        confine(Confinement(**json.loads(values)))
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(argv[0], argv, os.environ)
    except OSError as error:
        sys.stderr.write(f"the command cannot be confined: {error}\n")
    return FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
