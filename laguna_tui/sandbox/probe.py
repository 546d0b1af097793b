"""Finds the sandbox that works on this machine by running a program in each.

If none works, every command needs approval.
"""

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from laguna_engine.native.child import FOLDER, LIMIT_S, environment, find_program, run
from laguna_tui.sandbox.bubblewrap import SandboxError, filter_descriptor, start_checked, trial_command
from laguna_tui.sandbox.landlock import gaps, trial_confinement
from laguna_tui.sandbox.mount_plan import trial_plan
from laguna_tui.sandbox.native.landlock_ruleset import LEAST_ABI, landlock_abi
from laguna_tui.sandbox.seatbelt import PROGRAM, seatbelt_command
from laguna_tui.sandbox.stubs import remove_leftovers


class SandboxKind(Enum):
    """The sandboxes, the strongest first."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    SANDBOX_EXEC = "sandbox-exec"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    """The sandbox of commands on this machine.

    Attributes:
        kind: Which one.
        sentence: What it enforces, for the doctor.
        gaps: What it does not enforce, a clause each.
        tried: The sandboxes that do not work here, each with the reason.
        remedy: How to get a better one; empty when there is none.
        program: Path of the program that makes it; empty for Landlock and none.
    """

    kind: SandboxKind
    sentence: str
    gaps: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    remedy: str = ""
    program: str = ""

    @property
    def brief(self) -> str:
        """What it enforces, as a short sentence for approvals; empty without a sandbox."""
        return "" if self.kind is SandboxKind.NONE else f"Sandbox ({self.kind.value}): {_ENFORCED}."

    @property
    def limits(self) -> str:
        """What a user should know once about a weak sandbox, or about none; empty for the others."""
        limits = _LIMITS.get(self.kind, "").format(why="; ".join(self.tried))
        return f"{limits} To get a better sandbox, {self.remedy}." if limits and self.remedy else limits


_LIMITS = {
    SandboxKind.LANDLOCK: "Commands run under Landlock ({why}). It can neither protect this folder's git hooks and"
    " configuration nor hide files with secrets in it, so every command that may write or read these needs your"
    " approval.",
    SandboxKind.NONE: "Commands run without a sandbox ({why}), so every command needs your approval.",
}
_ENFORCED = "no network, no credentials, and writes only to this folder and a private temporary one"
_BUBBLEWRAP_GAPS = (
    "a new file that git, assistants or editors would execute is moved away: at once at the top of the folder, within a"
    " second further down; a program that reads it before obeys it",
    "a file that another program replaces while the command runs is no longer protected in it",
)
_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin")
_APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_USERNS = ("/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/user/max_user_namespaces")
_INSTALL = "install bubblewrap with your package manager (apt install bubblewrap)"
_PROFILE = (
    "allow it by a profile in /etc/apparmor.d/bwrap (`abi <abi/4.0>, include <tunables/global> profile bwrap "
    "/usr/bin/bwrap flags=(unconfined) { userns, }`), then: sudo systemctl reload apparmor"
)


@cache
def probe_sandbox() -> SandboxStatus:
    """Return the strongest sandbox that can run a program here; tried once per process."""
    if sys.platform == "darwin":
        return _sandbox_exec()
    if sys.platform != "linux":
        return _none(("no sandbox is known for this system",), "on Windows, use WSL")
    return _linux()


def _linux() -> SandboxStatus:
    remove_leftovers()
    # The system's first: the PATH may lead into a folder of the project.
    program = find_program("bwrap", path=os.pathsep.join(_FOLDERS)) or find_program("bwrap")
    reason, remedy = ("bubblewrap is not installed", _INSTALL) if program is None else _bubblewrap_fails(program)
    if program is not None and not reason:
        sentence = f"Commands run under bubblewrap: {_ENFORCED}."
        return SandboxStatus(SandboxKind.BUBBLEWRAP, sentence, _BUBBLEWRAP_GAPS, (), "", program)
    why = _landlock_fails()
    if why:
        return _none((reason, why), remedy)
    sentence = (
        f"Commands run under Landlock: {_ENFORCED}; but they could change this folder's git hooks, so every command "
        f"that may write needs approval ({reason})."
    )
    return SandboxStatus(SandboxKind.LANDLOCK, sentence, gaps(landlock_abi()), (reason,), remedy)


def _bubblewrap_fails(program: str) -> tuple[str, str]:
    """Return why bubblewrap cannot be used, and what to do; empty if it can."""
    descriptor = filter_descriptor()
    if descriptor is None:
        return "the system calls of this processor are not known", ""
    command = trial_command(program, descriptor)
    try:
        tree = start_checked(command, FOLDER, environment(), trial_plan(), inherited=(descriptor,))
    except (SandboxError, OSError) as error:
        return explain_failure(str(error))
    finally:
        os.close(descriptor)
    try:
        code = tree.wait(LIMIT_S)
    finally:
        tree.close()
    return ("", "") if code == 0 else explain_failure("no program runs in it")


def explain_failure(reason: str, read: Callable[[str], str] | None = None) -> tuple[str, str]:
    """Return what kept bubblewrap from making a sandbox, and what to do."""
    read = read or _read
    if read(_APPARMOR) == "1":
        return (
            "AppArmor prevents bubblewrap from creating user namespaces (Ubuntu's default since 24.04)",
            _PROFILE,
        )
    if "0" in map(read, _USERNS):
        todo = "allow user namespaces: sudo sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000"
        return "user namespaces are switched off", todo
    todo = "in a container, allow user namespaces and unmasked /proc (docker run --security-opt seccomp=unconfined)"
    return f"bubblewrap cannot make a sandbox ({reason})", todo


def _landlock_fails() -> str:
    """Return why Landlock cannot be used; empty if it can."""
    abi = landlock_abi()
    if abi < LEAST_ABI:
        return "this kernel's Landlock is too old" if abi else "this kernel has no Landlock"
    return "" if run(trial_confinement(), LIMIT_S).good else "Landlock does not work here"


def _sandbox_exec() -> SandboxStatus:
    trial = "(version 1)(deny default)(allow process-exec process-fork)(allow file-read*)(allow sysctl-read)"
    if not Path(PROGRAM).exists() or not run(seatbelt_command(trial, ("/usr/bin/true",)), LIMIT_S).good:
        return _none((f"{PROGRAM} does not work",), "")
    gap = "the number of its processes is not limited"
    return SandboxStatus(
        SandboxKind.SANDBOX_EXEC, f"Commands run under sandbox-exec: {_ENFORCED}.", (gap,), (), "", PROGRAM
    )


def _none(tried: tuple[str, ...], remedy: str) -> SandboxStatus:
    reasons = "; ".join(tried)
    sentence = f"Commands run without a sandbox, so every command needs approval ({reasons})."
    return SandboxStatus(SandboxKind.NONE, sentence, ("nothing is enforced",), tried, remedy)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


_NAMING = frozenset("basename df dirname du echo false id ls pwd realpath stat test true uname which whoami".split())
"""Programs that write nothing whatever their arguments, and read no file's contents."""
_READING = frozenset("cat cmp cut grep head md5sum nl sha256sum tail tr wc".split())
"""Programs that write nothing whatever their arguments, and read the contents of files."""
_NO_SANDBOX, _MAY_WRITE = "there is no sandbox", "it may write, and Landlock protects less"
_JOINS = frozenset(";|&$()<>`\n\r\\!{}")


def approval_reason(command: str, status: SandboxStatus, unhidden: Callable[[], str] = lambda: "") -> str:
    """Return why a command needs the user's approval every time under this sandbox; empty if rules may allow it.

    Args:
        unhidden: Returns what a command that reads files can read against the user's wishes; see `CommandRunner`.
    """
    if status.kind is SandboxKind.NONE:
        return _NO_SANDBOX
    if status.kind is not SandboxKind.LANDLOCK:
        return ""
    program = _only_program(command)
    if program in _NAMING:
        return ""
    if program in _READING:
        return unhidden()
    return _MAY_WRITE


def _only_program(command: str) -> str:
    """Return the program of a command that starts no other; empty for one that may."""
    if _JOINS & set(command):
        return ""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    return words[0] if words else ""
