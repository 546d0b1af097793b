"""Commands made ready to start inside the sandbox, and what is left of them cleared away."""

import contextlib
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from laguna_tui.sandbox.bubblewrap import MAX_PROCESSES, bubblewrap_command, filter_descriptor, git_wrapper
from laguna_tui.sandbox.checked_start import SandboxError, start_checked
from laguna_tui.sandbox.folder_listing import PathRules
from laguna_tui.sandbox.folder_walk import FolderWalk
from laguna_tui.sandbox.hidden_secrets import Appearance, HiddenPath, hidden_secrets
from laguna_tui.sandbox.landlock import landlock_command
from laguna_tui.sandbox.limits import MAX_BEYOND, check_limits
from laguna_tui.sandbox.mount_plan import Mount, PrivateFiles, mount_plan
from laguna_tui.sandbox.native.command_tree import CommandTree
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus
from laguna_tui.sandbox.programs import readable_programs
from laguna_tui.sandbox.protected import ProtectedFiles, protected_files, ruled_paths
from laguna_tui.sandbox.quarantine import Moved, Quarantine, Watched
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy, hidden_paths, scrubbed
from laguna_tui.sandbox.seatbelt import seatbelt_command, seatbelt_profile
from laguna_tui.sandbox.stubs import Stubs

_WATCH_S = 0.1
"""Seconds between two counts of the processes."""
_TRIES = 3
"""How often a sandbox is made before a command is refused: a folder may be exchanged without any bad intent."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a command did to files that git, assistants, editors or shells execute. Paths are relative to the workspace.

    Attributes:
        moved: What it created, and where that is now.
        changed: What it changed, where the sandbox cannot prevent that.
        failed: What could neither be moved nor put back.
        ended: Whether it was ended because it created one again and again.
    """

    moved: tuple[Moved, ...] = ()
    changed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    ended: bool = False


@dataclass
class Prepared:
    """A command that is ready to be started. Close it after the command has ended, also after a kill.

    Attributes:
        argv: Program and arguments.
        env: Its whole environment.
        cwd: Folder to start it in.
        pass_fds: Descriptors that it inherits.
        held: Descriptors that stay open while it runs, and that it does not inherit.
        secrets: How many files and folders with secrets in the workspace it cannot read as they are.
        git_read_only: Why git refuses to change the workspace's repository in it, as a clause; empty if it can.
        mounts: What the sandbox mounts; empty where it mounts nothing.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    pass_fds: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    secrets: int = 0
    git_read_only: str = ""
    mounts: tuple[Mount, ...] = ()
    _make: Callable[[], None] = lambda: None
    _undo: list[Callable[[], None]] = field(default_factory=list)
    _find: Callable[[], Findings] = Findings
    _watched: Watched | None = None
    _ended: threading.Event = field(default_factory=threading.Event)
    _is_watching: bool = False

    def start(
        self, variables: Mapping[str, str] | None = None, inherited: Sequence[int] = (), *, leave: bool = False
    ) -> CommandTree:
        """Start it, in the sandbox that was planned or not at all: what is exchanged meanwhile is looked at again.

        Args:
            variables: Its environment, if not `env`.
            inherited: More descriptors that it inherits.
            leave: When it ends by itself, what it has left running is left alone; without a sandbox only.

        Raises:
            SandboxError: The sandbox could not be made.
            OSError: No process can be started, its folder is gone, or the sandbox cannot be planned again.
            ValueError: It contains a NUL.
        """
        if not self.mounts:
            return self._start(variables, inherited, leave=leave)
        for _ in range(_TRIES - 1):
            try:
                return self._start(variables, inherited)
            except SandboxError:
                self.cleanup()
            self._ended = threading.Event()
            self._make()
        return self._start(variables, inherited)

    def watch(self, pid: int) -> None:
        """Kill everything in the sandbox when it has too many processes, or creates what it must not again and again.

        `start` does this where it knows the process already. Idempotent.

        Args:
            pid: The process that was started.
        """
        if self._is_watching:
            return
        self._is_watching = True
        if self.pass_fds:  # for root, no limit of the kernel holds
            threading.Thread(target=_watch, args=(pid, self._ended), name="sandbox-watch", daemon=True).start()
        if self._watched is not None:
            self._watched.on_end(lambda: _kill(pid, self._ended))

    def cleanup(self) -> Findings:
        """Remove what was made for the command; idempotent. Returns what it did that a user has to know."""
        self._ended.set()
        while self._undo:
            with contextlib.suppress(OSError):
                self._undo.pop()()
        find, self._find = self._find, Findings
        return find()

    def _start(
        self, variables: Mapping[str, str] | None, inherited: Sequence[int], *, leave: bool = False
    ) -> CommandTree:
        given = self.env if variables is None else variables
        descriptors = (*self.pass_fds, *inherited)
        if not self.mounts:
            return CommandTree(self.argv, self.cwd, given, leave=leave, inherited=descriptors, held=self.held)
        tree = start_checked(self.argv, self.cwd, given, self.mounts, inherited=descriptors, held=self.held)
        if tree.pid is not None:
            self.watch(tree.pid)
        return tree

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.cleanup()


@dataclass(frozen=True, slots=True)
class _Sandbox:
    """What the sandbox of a command is made of."""

    program: str
    policy: SandboxPolicy
    files: ProtectedFiles
    hidden: Sequence[Path]
    concealed: Sequence[HiddenPath]
    private: PrivateFiles
    stubs: Stubs


def prepare(
    status: SandboxStatus,
    policy: SandboxPolicy,
    argv: Sequence[str],
    *,
    folder: Path | None = None,
    env: Mapping[str, str] | None = None,
    walk: FolderWalk | None = None,
    beyond_limits: bool = False,
) -> Prepared:
    """Make a command ready to start inside the sandbox.

    Args:
        status: The sandbox that works here.
        policy: What the command may do.
        argv: Program and arguments; a shell command is `("/bin/sh", "-c", command)`.
        folder: Where it runs; the workspace by default.
        env: Environment to take the allowed variables from; by default this process's.
        walk: The walk of the workspace, with what it found before; by default a new one.
        beyond_limits: Whether it may run although it cannot be kept from everything it should be.

    Raises:
        LimitReachedError: It cannot be kept from everything it should be.
        OSError: The sandbox cannot be made.
    """
    where = Path(os.path.realpath(folder or policy.root))
    prepared = Prepared(tuple(argv), scrubbed(env), str(where))
    if status.kind is not SandboxKind.NONE:
        known = walk or FolderWalk(policy.root)
        prepared._make = lambda: _make(prepared, status, policy, tuple(argv), known, beyond_limits=beyond_limits)
        prepared._make()
    return prepared


def _make(
    prepared: Prepared,
    status: SandboxStatus,
    policy: SandboxPolicy,
    argv: tuple[str, ...],
    walk: FolderWalk,
    *,
    beyond_limits: bool,
) -> None:
    """Make the sandbox of a command, of what is in the workspace now."""
    try:
        stubs = Stubs(policy.root)
        # Before the workspace is looked at: the mount points of another command must not vanish after that.
        prepared._undo.append(stubs.remove)
        prepared.held = (stubs.hold(),)
        # Landlock cannot refuse a file in a folder that it allows.
        holds = status.kind is not SandboxKind.LANDLOCK
        found = walk.read(PathRules(policy.unreadable, policy.unwritable) if holds else PathRules())
        if holds and not beyond_limits:
            check_limits(policy.root, found, (*found.protected, *found.unreadable, *found.unwritable))
        most = MAX_BEYOND if beyond_limits else None
        unwritable, unreadable = ruled_paths(found.unwritable[:most]), ruled_paths(found.unreadable[:most])
        committed = policy.committed or frozenset()
        unreadable = tuple(path for path in unreadable if not _contains(path, policy.root, committed))
        files = protected_files(
            (policy.root,),
            (path for path in unwritable if path.is_relative_to(policy.root)),
            unreadable,
            found,
            most,
            commits=policy.committed is not None,
        )
        prepared.git_read_only = files.git_read_only
        hidden = hidden_paths(policy)
        # The sandbox of macOS mounts nothing.
        wrapper = git_wrapper(status.program, (*hidden, *unreadable)) if status.kind is SandboxKind.BUBBLEWRAP else None
        secrets = hidden_secrets(files.secrets, policy.root, policy.is_shown, wrapper) if holds else ()
        prepared.secrets = len(secrets)
        concealed = (*secrets, *(HiddenPath(path, Appearance.UNREADABLE) for path in unreadable))
        files.anchor((*hidden, *(each.path for each in concealed)), (policy.root,))
        if holds and not beyond_limits:
            mounted = {*files.held, *files.anchored, *files.absent, *(each.path for each in concealed)}
            check_limits(policy.root, found, mounted)
        own = Path(tempfile.mkdtemp(prefix="laguna-tui-")).resolve()
        prepared._undo.append(lambda: shutil.rmtree(own, ignore_errors=True))
        stubs.note_private(own)
        # Where nothing is mounted over them, they may have changed.
        before = _contents(files) if status.kind is SandboxKind.LANDLOCK else {}
        quarantine = Quarantine.of(policy.root)
        watched = prepared._watched = quarantine.add(files, walk)
        prepared._undo.append(lambda: quarantine.remove(watched))
        prepared._find = lambda: _findings(watched, policy.root, before)
        private = PrivateFiles.make(own, policy.tmp)
        prepared.argv = argv
        _STARTERS[status.kind](prepared, _Sandbox(status.program, policy, files, hidden, concealed, private, stubs))
    except BaseException:
        prepared.cleanup()
        raise


def _under_bubblewrap(prepared: Prepared, inside: _Sandbox) -> None:
    places = inside.stubs.make(sorted(inside.files.absent), (inside.policy.root, *sorted(inside.files.git)))
    descriptor = filter_descriptor(set_group=inside.policy.is_group_shared)
    if descriptor is None:
        raise OSError("the system calls of this processor are not known")
    prepared._undo.append(lambda: os.close(descriptor))
    prepared.pass_fds = (descriptor,)
    prepared.mounts = mount_plan(
        inside.policy,
        inside.files,
        places=places,
        hidden=inside.hidden,
        concealed=inside.concealed,
        programs=readable_programs(inside.policy, prepared.env, inside.hidden),
        private=inside.private,
    )
    prepared.argv = bubblewrap_command(
        inside.program,
        prepared.mounts,
        prepared.argv,
        folder=prepared.cwd,
        filter_fd=descriptor,
        network=inside.policy.network,
    )
    prepared.env |= {**_caches(Path("/tmp")), "TMPDIR": "/tmp"}


def _under_landlock(prepared: Prepared, inside: _Sandbox) -> None:
    tmp = inside.private.tmp.resolve()
    prepared.argv = landlock_command(
        inside.policy,
        prepared.argv,
        files=inside.files,
        hidden=inside.hidden,
        programs=readable_programs(inside.policy, prepared.env, inside.hidden),
        tmp=tmp,
    )
    prepared.env |= {**_caches(tmp), "TMPDIR": str(tmp)}


def _under_sandbox_exec(prepared: Prepared, inside: _Sandbox) -> None:
    tmp = inside.private.tmp.resolve()
    hidden = (*inside.hidden, *(each.path for each in inside.concealed))
    profile = seatbelt_profile(inside.policy, inside.files, hidden, tmp)
    prepared.argv = seatbelt_command(profile, prepared.argv)
    prepared.env |= {**_caches(tmp), "TMPDIR": str(tmp)}


_STARTERS = {
    SandboxKind.BUBBLEWRAP: _under_bubblewrap,
    SandboxKind.LANDLOCK: _under_landlock,
    SandboxKind.SANDBOX_EXEC: _under_sandbox_exec,
}


def _contains(path: Path, root: Path, files: Iterable[str]) -> bool:
    """Return whether one of some files, relative to a root, is a path or below it."""
    return any((root / file).is_relative_to(path) for file in files)


def _caches(tmp: Path) -> dict[str, str]:
    """Variables of programs that fail when they cannot write to their cache in the home folder."""
    names = {"GOCACHE": "go-build", "npm_config_cache": "npm", "UV_CACHE_DIR": "uv"}
    return {variable: str(tmp / name) for variable, name in names.items()}


def _findings(watched: Watched, root: Path, before: Mapping[Path, object]) -> Findings:
    changed = [path for path, contents in before.items() if _content(path) != contents]
    named = (str(path.relative_to(root) if path.is_relative_to(root) else path) for path in changed)
    return Findings(tuple(watched.moved), tuple(named), tuple(watched.failed), watched.ended)


def _contents(files: ProtectedFiles) -> dict[Path, object]:
    return {path: _content(path) for path in (*sorted(files.held), *sorted(files.absent))}


def _content(path: Path, depth: int = 3) -> object:
    """A value that changes with a file, or with a file in a folder, as far down; None for what is not there."""
    try:
        status = path.stat()
        inside = sorted(entry.path for entry in os.scandir(path)) if depth and path.is_dir() else ()
        return status.st_ino, status.st_mtime_ns, status.st_size, [_content(Path(each), depth - 1) for each in inside]
    except OSError:
        return None


def _kill(pid: int, ended: threading.Event) -> None:
    """Kill a command that was started as the leader of its group."""
    with contextlib.suppress(OSError):
        if not ended.is_set():
            os.killpg(pid, signal.SIGKILL)


def _watch(pid: int, ended: threading.Event) -> None:
    """Kill the first process of a PID namespace, and with it all others, when there are too many."""
    first: int | None = None
    while not ended.wait(_WATCH_S):
        first = first or _child(pid)
        if first is not None and _count(first) > MAX_PROCESSES:
            with contextlib.suppress(OSError):
                os.kill(first, signal.SIGKILL)


def _child(pid: int) -> int | None:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return None
    return int(children[0]) if children else None


def _count(first: int) -> int:
    """Processes of the namespace that a process is the first of, as its own /proc lists them."""
    with contextlib.suppress(OSError):
        return sum(name.isdigit() for name in os.listdir(f"/proc/{first}/root/proc"))  # noqa: PTH208
    return 0
