"""A seccomp filter for untrusted commands, as the bytes of a classic BPF program.

The filter refuses what namespaces and Landlock do not hold: typing into a terminal (TIOCSTI), reading other processes,
key rings, unix sockets (also on read-only mounts they can be connected to), io_uring (which makes sockets past any
filter), mounts, new user namespaces, kernel modules, and files that run as their owner or group (setuid, setgid): they
outlive the command. Everything else is allowed.

Layouts and numbers: `<linux/seccomp.h>`, `<linux/bpf_common.h>`, `<asm/unistd.h>`; `clone3` cannot be filtered by its
flags, so it does not exist for the command, and libc takes `clone`; likewise `openat2`, whose mode is in memory, and
`openat`.
"""

import errno
import platform
import struct
from collections.abc import Collection, Sequence

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET, _TYPE_MASK = 1, 5, 0xF
_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_IOCTLS = (0x5412, 0x541C, 0x541D, 0x5423)
"""TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD."""
_SET_USER, _SET_GROUP = 0o4000, 0o2000
"""S_ISUID and S_ISGID. A folder's S_ISGID is harmless, but a call does not say whether it changes a folder."""
_CREATES = 0o100 | 0o20000000
"""O_CREAT and the bit of O_TMPFILE that O_DIRECTORY lacks: without them an open ignores its mode."""
_X32 = 0x40000000
"""Bit of the system calls of x86-64's 32-bit pointers, which would pass under other numbers."""

# name: (x86-64, aarch64 and riscv64); 0 where an architecture has none.
_NUMBERS: dict[str, tuple[int, int]] = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "ioctl": (16, 29),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "prlimit64": (302, 261),
}
_REFUSED: dict[str, tuple[int, int]] = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, 0),
    "ioperm": (173, 0),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "fanotify_init": (300, 262),
    "open_by_handle_at": (304, 265),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}
_MODES: dict[str, tuple[int, int, int]] = {
    "chmod": (90, 0, 1),
    "fchmod": (91, 52, 1),
    "fchmodat": (268, 53, 2),
    "fchmodat2": (452, 452, 2),
    "creat": (85, 0, 1),
    "mknod": (133, 0, 1),
    "mknodat": (259, 33, 2),
}
"""Also the index of the mode. `mkdir` is not among them: the kernel drops these bits of its mode."""
_OPENS: dict[str, tuple[int, int, int]] = {"open": (2, 0, 1), "openat": (257, 56, 2)}
"""Also the index of the flags; the mode follows."""
_ABSENT: dict[str, tuple[int, int]] = {
    "openat2": (437, 437),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
_IPC: dict[str, tuple[int, int]] = {
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
}
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7), "riscv64": (1, 0xC00000F3)}
"""Column of the tables, and AUDIT_ARCH."""


def system_call_filter(
    sockets: Collection[int], *, ipc: bool, set_group: bool = False, machine: str = ""
) -> bytes | None:
    """Return the filter as an array of `struct sock_filter`; None for a processor whose numbers are not known here.

    Args:
        sockets: Address families that `socket` accepts. Connected pairs of unix stream sockets are always accepted.
        ipc: Whether shared memory, queues and semaphores of System V and POSIX are allowed, and the limits of other
            processes: only in namespaces.
        set_group: Whether setgid may be set, as git does on the folders of a repository that a group shares.
        machine: Name of the processor, by default this one's.
    """
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    column, architecture = known
    number = {name: numbers[column] for name, numbers in _NUMBERS.items()}
    refused = [numbers[column] for numbers in ({} if ipc else _IPC).values()]
    refused += [numbers[column] for numbers in _REFUSED.values() if numbers[column]]
    lines = [(_LOAD, 0, 0, _ARCHITECTURE), *_unless(_EQUAL, architecture, errno.EPERM), (_LOAD, 0, 0, _NUMBER)]
    if architecture == _MACHINES["x86_64"][1]:
        lines += _if(_AT_LEAST, _X32, [_answer(errno.ENOSYS)])
    for absent in (number["clone3"], *(numbers[column] for numbers in _ABSENT.values())):
        lines += _if(_EQUAL, absent, [_answer(errno.ENOSYS)])
    for each in refused:
        lines += _if(_EQUAL, each, [_answer(errno.EPERM)])
    lines += _if(
        _EQUAL, number["clone"], [_argument(0), *_if(_ANY_BIT, _NAMESPACES, [_answer(errno.EPERM)]), _answer()]
    )
    lines += _if(_EQUAL, number["ioctl"], _refuse(1, _IOCTLS))
    lines += _if(_EQUAL, number["socket"], _accept(0, sorted(sockets)))
    pair = [_argument(0), *_unless(_EQUAL, AF_UNIX, errno.EPERM), *_accept(1, (_STREAM, _SEQPACKET), _TYPE_MASK)]
    lines += _if(_EQUAL, number["socketpair"], pair)
    set_id = _SET_USER if set_group else _SET_USER | _SET_GROUP
    for *numbers, index in _MODES.values():
        if numbers[column]:
            lines += _if(_EQUAL, numbers[column], _refuse_bits(index, set_id))
    for *numbers, index in _OPENS.values():
        if numbers[column]:
            creates = _if(_ANY_BIT, _CREATES, _refuse_bits(index + 1, set_id))
            lines += _if(_EQUAL, numbers[column], [_argument(index), *creates, _answer()])
    if not ipc:
        lines += _if(_EQUAL, number["prlimit64"], _accept(0, (0,)))
    return b"".join(struct.pack("<HBBI", *line) for line in [*lines, _answer()])


_Line = tuple[int, int, int, int]


def _argument(index: int) -> _Line:
    """Load the low half of an argument: the kernel ignores the high half of an int."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _answer(error: int = 0) -> _Line:
    return (_RETURN, 0, 0, _ERRNO | error if error else _ALLOW)


def _if(test: int, value: int, body: Sequence[_Line]) -> list[_Line]:
    """Run `body`, which returns, if the loaded value passes the test; else go on, with the value still loaded."""
    return [(test, 0, len(body), value), *body]


def _unless(test: int, value: int, error: int) -> list[_Line]:
    return [(test, 1, 0, value), _answer(error)]


def _refuse(index: int, values: Sequence[int]) -> list[_Line]:
    return [
        _argument(index),
        *(line for each in values for line in _if(_EQUAL, each, [_answer(errno.EPERM)])),
        _answer(),
    ]


def _refuse_bits(index: int, bits: int) -> list[_Line]:
    return [_argument(index), *_if(_ANY_BIT, bits, [_answer(errno.EPERM)]), _answer()]


def _accept(index: int, values: Sequence[int], mask: int = 0) -> list[_Line]:
    masked = [(_AND, 0, 0, mask)] if mask else []
    accepted = (line for each in values for line in _if(_EQUAL, each, [_answer()]))
    return [_argument(index), *masked, *accepted, _answer(errno.EPERM)]
