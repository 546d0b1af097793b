"""Confines commands with Landlock, which can only allow.

Everything that is not allowed is refused, so a folder that contains something hidden is not allowed itself, but what
else is in it is. Inside the workspace nothing can be held back that way without losing the workspace: `GAPS` names it.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from laguna_tui.sandbox.native.landlock_ruleset import SIGNALS_ABI, Confinement, confined_command
from laguna_tui.sandbox.native.seccomp import AF_INET, AF_INET6
from laguna_tui.sandbox.programs import REPLACED, Program
from laguna_tui.sandbox.protected import ProtectedFiles
from laguna_tui.sandbox.sandbox_policy import MAX_PROCESSES, SandboxPolicy

GAPS = (
    "files in the workspace that hold secrets can be read, and so can those that your rules keep from models",
    "git's configuration and hooks, and files that assistants and editors execute, can be changed in the workspace",
    "the command lines of your other processes can be read, and their priority lowered",
    "the machine's network interfaces and connections can be listed",
    "permissions and times of your files elsewhere can be changed, their contents cannot",
    "programs that it leaves in the background outlive it",
    "for root, the number of processes is not limited",
)
SIGNALS_GAP = "your other processes can be stopped by signals"

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def gaps(abi: int) -> tuple[str, ...]:
    """Return what Landlock of this version does not enforce."""
    return GAPS if abi >= SIGNALS_ABI else (*GAPS, SIGNALS_GAP)


def trial_confinement() -> tuple[str, ...]:
    """Return a command that does nothing, confined like others."""
    return confined_command(Confinement(("/",), (), _DEVICES, MAX_PROCESSES), ("true",))


def landlock_command(
    policy: SandboxPolicy,
    argv: Sequence[str],
    *,
    files: ProtectedFiles,
    hidden: Sequence[Path],
    programs: Sequence[Program],
    tmp: Path,
) -> tuple[str, ...]:
    """Return the command that confines itself and becomes `argv`.

    Args:
        files: The workspace's folders of git are writable.
        hidden: What it cannot read.
        programs: What it has to read in folders that are refused as a whole.
    """
    roots = (policy.root, tmp)
    secret = [path for path in hidden if not any(root.is_relative_to(path) for root in roots)]
    inside = [path for root in roots for path in _allowed(root, secret)]
    never = [*secret, *(Path(path) for path in REPLACED)]
    shown = (*sorted(files.around), *(each.source for each in programs))
    around = [path for folder in shown for path in _allowed(folder, secret)]
    readable = [path for path in (*_allowed(Path("/"), never), *around) if path not in inside]
    confinement = Confinement(
        readable=tuple(map(str, readable)),
        writable=tuple(map(str, (*inside, *files.git))),
        devices=_DEVICES,
        processes=MAX_PROCESSES,
        sockets=(AF_INET, AF_INET6) if policy.network else (),
        tcp=policy.network,
        set_group=policy.is_group_shared,
    )
    return confined_command(confinement, argv)


def _allowed(folder: Path, hidden: Sequence[Path]) -> Iterator[Path]:
    """Yield the folder if nothing hidden is in it, else everything else that is in it."""
    if folder in hidden:
        return
    if not any(path.is_relative_to(folder) for path in hidden):
        yield folder
        return
    try:
        entries = sorted(Path(entry.path) for entry in os.scandir(folder) if not entry.is_symlink())
    except OSError:
        return
    for entry in entries:
        yield from _allowed(entry, hidden)
