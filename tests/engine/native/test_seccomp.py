"""The filter, run by an interpreter of BPF for every processor whose numbers are known."""

import errno
import struct

import pytest

from laguna_engine.native.seccomp import AF_INET, AF_NETLINK, AF_UNIX, system_call_filter

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}
SOCKET = {"x86_64": 41, "aarch64": 198, "riscv64": 198}
PAIR = {"x86_64": 53, "aarch64": 199, "riscv64": 199}
CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220}
IOCTL = {"x86_64": 16, "aarch64": 29, "riscv64": 29}
WRITE = {"x86_64": 1, "aarch64": 64, "riscv64": 64}
PTRACE = {"x86_64": 101, "aarch64": 117, "riscv64": 117}
SHMGET = {"x86_64": 29, "aarch64": 194, "riscv64": 194}
PRLIMIT = {"x86_64": 302, "aarch64": 261, "riscv64": 261}


def answer(machine, number, *arguments, sockets=(AF_INET,), ipc=False, architecture=None):
    """The error that the filter gives a system call; 0 if it is allowed."""
    program = system_call_filter(sockets, ipc=ipc, machine=machine)
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


def test_pairs_are_of_streams_because_others_can_send_elsewhere(machine):
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


def test_numbers_of_another_architecture_are_refused():
    assert answer("x86_64", 1, architecture=0x40000003) == errno.EPERM
    assert answer("x86_64", 0x40000000 | 41, AF_UNIX) == errno.ENOSYS


def test_an_unknown_processor_has_no_filter():
    assert system_call_filter((), ipc=False, machine="s390x") is None
