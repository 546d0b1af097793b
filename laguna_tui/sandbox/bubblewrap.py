"""The command line of bubblewrap for a policy.

The whole system is mounted read-only, then what differs: private temporary folders, the workspace, in it what stays
read-only, and nothing where credentials are. Mounts are made from the top down, so that the one further down holds.
"""

import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from laguna_engine.native.seccomp import AF_INET, AF_INET6, AF_NETLINK, system_call_filter
from laguna_tui.sandbox.protected import ProtectedFiles
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy
from laguna_tui.sandbox.stubs import stub_content

MAX_PROCESSES = 1024
"""Processes and threads of a command: a parallel build has some hundreds."""

_NAMESPACES = ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
_LIMITED = f'ulimit -c 0; ulimit -u {MAX_PROCESSES} 2>/dev/null || ulimit -p {MAX_PROCESSES} 2>/dev/null; exec "$@"'
"""The limit is set inside, where only the command's own processes count; bash and dash name it differently."""
_TEMPORARY = ("/tmp", "/var/tmp")
_EMPTY = ("/run",)
_OWN = ("/dev", "/proc")


@dataclass(frozen=True, slots=True)
class PrivateFiles:
    """What the sandbox mounts of its own.

    Attributes:
        tmp: Temporary folder of the command.
        nothing: An empty folder.
        empty: An empty file.
        itself: A file like git's `commondir` that names the folder it is in.
    """

    tmp: Path
    nothing: Path
    empty: Path
    itself: Path

    @classmethod
    def make(cls, folder: Path, tmp: Path | None) -> "PrivateFiles":
        """Make them in a new folder."""
        files = cls(tmp or folder / "tmp", folder / "nothing", folder / "empty", folder / "commondir")
        files.tmp.mkdir(mode=0o700, exist_ok=True)
        files.nothing.mkdir()
        files.empty.touch()
        files.itself.write_text(stub_content(Path("commondir")) or "", encoding="ascii")
        return files


def filter_descriptor() -> int | None:
    """Return an open file with the seccomp filter of commands: a network of their own, but no unix socket to outside.

    None for a processor whose system calls are not known.
    """
    program = system_call_filter((AF_INET, AF_INET6, AF_NETLINK), ipc=True)
    if program is None or sys.platform != "linux":
        return None
    descriptor = os.memfd_create("seccomp", os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def trial_command(program: str, filter_fd: int) -> tuple[str, ...]:
    """Return a command that does nothing in a sandbox like those of commands."""
    mounts = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")
    return (program, *_isolation(network=False), "--seccomp", str(filter_fd), *mounts, "--", "true")


def bubblewrap_command(
    program: str,
    policy: SandboxPolicy,
    argv: Sequence[str],
    *,
    folder: Path,
    filter_fd: int,
    files: ProtectedFiles,
    places: Sequence[Path],
    hidden: Sequence[Path],
    private: PrivateFiles,
) -> tuple[str, ...]:
    """Return the command line.

    Args:
        program: Path of bubblewrap.
        policy: What the command may do.
        argv: The command.
        folder: Where it runs.
        filter_fd: Descriptor of the seccomp filter.
        files: What it cannot change.
        places: Mount points made for what is absent.
        hidden: What it cannot read.
        private: What is mounted in place of it.
    """
    mounts: dict[Path, tuple[str, ...]] = {Path("/"): ("--ro-bind", "/", "/")}
    # Root owns the kernel's settings, and needs no capability to write them.
    settings = ("--remount-ro", "/proc") if os.getuid() == 0 else ()
    mounts |= {Path("/dev"): ("--dev", "/dev"), Path("/proc"): ("--proc", "/proc", *settings)}
    mounts |= {Path(path): ("--bind", str(private.tmp), path) for path in _TEMPORARY if Path(path).is_dir()}
    mounts |= {Path(path): ("--tmpfs", path) for path in _EMPTY if Path(path).is_dir()}
    if policy.network:
        mounts |= _resolver()
    masked = tuple(Path(path) for path in (*_TEMPORARY, *_EMPTY, *_OWN))
    roots = (policy.root,)
    for path in hidden:
        if any(path.is_relative_to(root) for root in roots) or not any(path.is_relative_to(each) for each in masked):
            mounts[path] = _over(path, private.nothing if path.is_dir() else private.empty)
    mounts |= {path: ("--bind", str(path), str(path)) for path in (*files.git, *files.anchored, *roots)}
    mounts |= {path: ("--ro-bind", str(path), str(path)) for path in files.held if path not in roots}
    mounts |= {path: _over(path, source) for path in places if (source := _nothing_for(path, private)) is not None}
    ordered = (word for path in sorted(mounts, key=lambda path: path.parts) for word in mounts[path])
    inside = ("--chdir", str(folder), "--", "/bin/sh", "-c", _LIMITED, "sh", *argv)
    return (program, *_isolation(network=policy.network), "--seccomp", str(filter_fd), *ordered, *inside)


def _isolation(*, network: bool) -> tuple[str, ...]:
    return (
        *_NAMESPACES,
        *(() if network else ("--unshare-net",)),
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
    )


def _over(path: Path, source: Path) -> tuple[str, ...]:
    return ("--ro-bind", str(source), str(path))


def _nothing_for(place: Path, private: PrivateFiles) -> Path | None:
    """What to mount at a mount point; itself where the user made something meanwhile."""
    try:
        mode = place.lstat().st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        return private.nothing
    if stub_content(place) is None or not stat.S_ISREG(mode):
        return None if stat.S_ISLNK(mode) else place
    return private.itself if stub_content(place) else private.empty


def _resolver() -> dict[Path, tuple[str, ...]]:
    """The mount that keeps name resolution working where its configuration is in a folder that is hidden."""
    real = _real(Path("/etc/resolv.conf"))
    hidden = any(real.is_relative_to(path) for path in _EMPTY)
    return {real: ("--ro-bind", str(real), str(real))} if hidden and real.exists() else {}


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
