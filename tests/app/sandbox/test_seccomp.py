"""The filter, run by an interpreter of BPF for every processor whose numbers are known."""

import errno
import struct

import pytest

from laguna_tui.sandbox.native.seccomp import AF_INET, AF_NETLINK, AF_UNIX, system_call_filter

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}
SOCKET = {"x86_64": 41, "aarch64": 198, "riscv64": 198}
PAIR = {"x86_64": 53, "aarch64": 199, "riscv64": 199}
CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220}
IOCTL = {"x86_64": 16, "aarch64": 29, "riscv64": 29}
WRITE = {"x86_64": 1, "aarch64": 64, "riscv64": 64}
PTRACE = {"x86_64": 101, "aarch64": 117, "riscv64": 117}
SHMGET = {"x86_64": 29, "aarch64": 194, "riscv64": 194}
PRLIMIT = {"x86_64": 302, "aarch64": 261, "riscv64": 261}

CREATE, UNNAMED = 0o102, 0o20200002
MODES = {
    "chmod": (None, 90, (0,)),
    "fchmod": (52, 91, (3,)),
    "fchmodat": (53, 268, (-100, 0)),
    "fchmodat2": (452, 452, (-100, 0)),
    "creat": (None, 85, (0,)),
    "mknod": (None, 133, (0,)),
    "mknodat": (33, 259, (-100, 0)),
    "open": (None, 2, (0, CREATE)),
    "open an unnamed file": (None, 2, (0, UNNAMED)),
    "openat": (56, 257, (-100, 0, CREATE)),
    "openat an unnamed file": (56, 257, (-100, 0, UNNAMED)),
}
"""The numbers on most processors and on x86-64, and the arguments before the mode."""


def answer(machine, number, *arguments, sockets=(AF_INET,), ipc=False, set_group=False, architecture=None):
    """The error that the filter gives a system call; 0 if it is allowed."""
    program = system_call_filter(sockets, ipc=ipc, set_group=set_group, machine=machine)
    lines = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    values = [value & (2**64 - 1) for value in (*arguments, *[0] * (6 - len(arguments)))]
    data = struct.pack("<IIQ6Q", number, architecture or ARCHITECTURES[machine], 0, *values)
    at = loaded = 0
    while True:
        code, yes, no, value = lines[at]
        at += 1
        if code == 0x20:
            (loaded,) = struct.unpack_from("<I", data, value)
        elif code == 0x54:
            loaded &= value
        elif code == 0x06:
            return 0 if value == 0x7FFF0000 else value & 0xFFFF
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
            at += yes if holds else no


@pytest.fixture(params=ARCHITECTURES)
def machine(request):
    return request.param


def test_what_is_not_named_is_allowed(machine):
    assert answer(machine, WRITE[machine], 1) == 0


def test_only_sockets_of_the_given_families_are_made(machine):
    assert answer(machine, SOCKET[machine], AF_INET) == 0
    assert answer(machine, SOCKET[machine], AF_UNIX) == errno.EPERM
    assert answer(machine, SOCKET[machine], AF_NETLINK) == errno.EPERM
    assert answer(machine, SOCKET[machine], AF_UNIX | 1 << 32) == errno.EPERM


def test_only_stream_pairs_are_made_because_others_can_send_elsewhere(machine):
    cloexec = 0o2000000
    assert answer(machine, PAIR[machine], AF_UNIX, 1 | cloexec) == 0
    assert answer(machine, PAIR[machine], AF_UNIX, 5) == 0
    assert answer(machine, PAIR[machine], AF_UNIX, 2 | cloexec) == errno.EPERM
    assert answer(machine, PAIR[machine], AF_UNIX, 3) == errno.EPERM


def test_processes_are_made_but_no_namespaces(machine):
    assert answer(machine, CLONE[machine], 0x11) == 0
    assert answer(machine, CLONE[machine], 0x10000011) == errno.EPERM
    assert answer(machine, 435) == errno.ENOSYS


def test_nothing_is_typed_into_a_terminal(machine):
    assert answer(machine, IOCTL[machine], 0, 0x5413) == 0
    assert answer(machine, IOCTL[machine], 0, 0x5412) == errno.EPERM
    assert answer(machine, IOCTL[machine], 0, 0x5412 | 1 << 32) == errno.EPERM


def test_other_processes_are_not_traced(machine):
    assert answer(machine, PTRACE[machine]) == errno.EPERM


def test_shared_memory_and_limits_of_others_need_namespaces(machine):
    assert answer(machine, SHMGET[machine]) == errno.EPERM
    assert answer(machine, SHMGET[machine], ipc=True) == 0
    assert answer(machine, PRLIMIT[machine], 0) == 0
    assert answer(machine, PRLIMIT[machine], 7) == errno.EPERM
    assert answer(machine, PRLIMIT[machine], 7, ipc=True) == 0


@pytest.mark.parametrize("special", [0o4000, 0o2000, 0o6000], ids=["setuid", "setgid", "both"])
@pytest.mark.parametrize("call", MODES)
def test_no_mode_makes_a_file_run_as_its_owner_or_group(call, special, machine):
    generic, own, before = MODES[call]
    number = own if machine == "x86_64" else generic
    if number is None:
        pytest.skip("this processor has no such call")
    plain, high = (*before, 0o1777), (*before, 0o755 | special << 32)
    assert answer(machine, number, *plain) == 0
    assert answer(machine, number, *high) == 0
    assert answer(machine, number, *before, 0o755 | special) == errno.EPERM


def test_setgid_is_allowed_where_a_group_shares_the_folder(machine):
    fchmod = 91 if machine == "x86_64" else 52
    assert answer(machine, fchmod, 3, 0o2755, set_group=True) == 0
    assert answer(machine, fchmod, 3, 0o4755, set_group=True) == errno.EPERM


def test_an_open_that_creates_nothing_ignores_its_mode(machine):
    openat = 257 if machine == "x86_64" else 56
    assert answer(machine, openat, -100, 0, 0o200000, 0o4755) == 0
    if machine == "x86_64":
        assert answer(machine, 2, 0, 0o2000000, 0o4755) == 0


def test_openat2_does_not_exist_because_its_mode_is_in_memory(machine):
    assert answer(machine, 437) == errno.ENOSYS


def test_numbers_of_another_architecture_are_refused():
    assert answer("x86_64", 1, architecture=0x40000003) == errno.EPERM
    assert answer("x86_64", 0x40000000 | 41, AF_UNIX) == errno.ENOSYS


def test_an_unknown_processor_has_no_filter():
    assert system_call_filter((), ipc=False, machine="s390x") is None
