"""Prepares commands to start inside the sandbox, and cleans up after them."""

import contextlib
import os
import shutil
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from laguna_tui.sandbox.bubblewrap import (
    SandboxError,
    bubblewrap_command,
    filter_descriptor,
    git_wrapper,
    start_checked,
)
from laguna_tui.sandbox.folder_listing import PathRules
from laguna_tui.sandbox.folder_walk import MAX_ENTRIES, FolderWalk, SensitivePaths, fullest_folder
from laguna_tui.sandbox.hidden_secrets import Appearance, HiddenPath, hidden_secrets
from laguna_tui.sandbox.landlock import landlock_command
from laguna_tui.sandbox.mount_plan import Mount, PrivateFiles, mount_plan
from laguna_tui.sandbox.native.command_tree import CommandTree
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus
from laguna_tui.sandbox.programs import readable_programs
from laguna_tui.sandbox.protected import ProtectedFiles, protected_files, ruled_paths
from laguna_tui.sandbox.quarantine import Quarantine, QuarantinedFile, Watched
from laguna_tui.sandbox.sandbox_policy import MAX_PROCESSES, SandboxPolicy, hidden_paths, scrubbed
from laguna_tui.sandbox.seatbelt import seatbelt_command, seatbelt_profile
from laguna_tui.sandbox.stubs import Stubs

MAX_MOUNTS = 1_000
"""Files and folders of the workspace that are mounted for a command, including the folders around them. The time grows
with their square (bubblewrap 0.8: 1,000 take 1 s, 4,000 more than its 9,000 arguments)."""
MAX_BEYOND = 200
"""How many files of each kind a command is kept from, nearest first, after the user agreed to run it beyond a limit."""
_WATCH_S = 0.1
"""Seconds between two counts of the processes."""
_TRIES = 3
"""How often a sandbox is made before a command is refused: a folder may be exchanged without any bad intent."""

_TOO_MANY = (
    "more than {most:,} files and folders here are protected, hold secrets or match your rules, and a command cannot be"
    " kept from more; {todo}: laguna-tui permissions deny 'read({place}/**)'"
)
_FULL = (
    "this folder contains {most:,} files and folders or more, most of them in {place}, and a command is kept from"
    " secrets and protected files among the first {most:,} only; {todo}"
)


class LimitReachedError(OSError):
    """A command cannot be kept from everything it should be; the message says why and what to do, as a clause."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a command did to files that git, assistants, editors or shells execute. Paths are relative to the workspace.

    Attributes:
        moved: What it created, and where that is now.
        changed: What it changed, where the sandbox cannot prevent that.
        failed: What could neither be moved nor put back.
        ended: Whether it was ended because it created one again and again.
    """

    moved: tuple[QuarantinedFile, ...] = ()
    changed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    ended: bool = False


@dataclass(frozen=True, slots=True)
class _Request:
    """The arguments of `prepare`."""

    status: SandboxStatus
    policy: SandboxPolicy
    argv: tuple[str, ...]
    walk: FolderWalk
    beyond_limits: bool


@dataclass(frozen=True, slots=True)
class _Guarded:
    """What a command is kept from.

    Attributes:
        files: What it cannot change.
        hidden: What it cannot read anywhere.
        concealed: What it cannot read in the workspace.
        secrets: How many of these hold secrets; the others match the user's rules.
    """

    files: ProtectedFiles
    hidden: tuple[Path, ...]
    concealed: tuple[HiddenPath, ...]
    secrets: int


class Prepared:
    """A command that is ready to be started. Clean it up after the command has ended, also after a kill.

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

    def __init__(self, argv: tuple[str, ...], env: dict[str, str], cwd: str, request: _Request | None = None) -> None:
        """Make its sandbox.

        Raises:
            LimitReachedError: It cannot be kept from everything it should be.
            OSError: The sandbox cannot be made.
        """
        self.argv, self.env, self.cwd = argv, env, cwd
        self.pass_fds: tuple[int, ...] = ()
        self.held: tuple[int, ...] = ()
        self.secrets = 0
        self.git_read_only = ""
        self.mounts: tuple[Mount, ...] = ()
        self._request = request
        self._undo = ExitStack()
        self._watched: Watched | None = None
        self._before: dict[Path, object] = {}
        self._ended = threading.Event()
        self._is_watching = False
        if request is not None:
            self._make(request)

    def start(
        self, variables: Mapping[str, str] | None = None, inherited: Sequence[int] = (), *, leave: bool = False
    ) -> CommandTree:
        """Start it in the planned sandbox or not at all. What is exchanged meanwhile is examined again.

        Args:
            variables: Its environment, if not `env`.
            inherited: More descriptors that it inherits.
            leave: When it ends by itself, leave what it has started running; without a sandbox only.

        Raises:
            SandboxError: The sandbox could not be made.
            OSError: No process can be started, its folder is gone, or the sandbox cannot be planned again.
            ValueError: It contains a NUL.
        """
        given = self.env if variables is None else variables
        if self._request is None or not self.mounts:
            descriptors = (*self.pass_fds, *inherited)
            return CommandTree(self.argv, self.cwd, given, leave=leave, inherited=descriptors, held=self.held)
        for _ in range(_TRIES - 1):
            try:
                return self._start_checked(given, inherited)
            except SandboxError:
                self.cleanup()
            self._ended = threading.Event()
            self._make(self._request)
        return self._start_checked(given, inherited)

    def watch(self, pid: int) -> None:
        """Kill everything in the sandbox when it has too many processes, or creates what it must not again and again.

        `start` does this where it knows the process already. Idempotent.
        """
        if self._is_watching:
            return
        self._is_watching = True
        if self.pass_fds:  # for root, no limit of the kernel holds
            threading.Thread(target=_watch, args=(pid, self._ended), name="sandbox-watch", daemon=True).start()
        if self._watched is not None:
            self._watched.on_end(lambda: _kill(pid, self._ended))

    def cleanup(self) -> Findings:
        """Remove what was made for the command; idempotent. Returns what it did that the user has to know."""
        self._ended.set()
        with contextlib.suppress(OSError):
            self._undo.close()
        watched, self._watched = self._watched, None
        if watched is None or self._request is None:
            return Findings()
        root = self._request.policy.root
        changed = [path for path, content in self._before.items() if _content(path) != content]
        named = (str(path.relative_to(root) if path.is_relative_to(root) else path) for path in changed)
        return Findings(tuple(watched.moved), tuple(named), tuple(watched.failed), watched.ended)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    def _start_checked(self, variables: Mapping[str, str], inherited: Sequence[int]) -> CommandTree:
        descriptors = (*self.pass_fds, *inherited)
        tree = start_checked(self.argv, self.cwd, variables, self.mounts, inherited=descriptors, held=self.held)
        if tree.pid is not None:
            self.watch(tree.pid)
        return tree

    def _make(self, request: _Request) -> None:
        """Make the sandbox, of what is in the workspace now."""
        root = request.policy.root
        try:
            stubs = Stubs(root)
            # Before the workspace is examined: the mount points of another command must not vanish after that.
            self._undo.callback(stubs.remove)
            self.held = (stubs.hold(),)
            guarded = _guarded(request)
            self.git_read_only = guarded.files.git_read_only
            self.secrets = guarded.secrets
            own = Path(tempfile.mkdtemp(prefix="laguna-tui-")).resolve()
            self._undo.callback(shutil.rmtree, own, ignore_errors=True)
            stubs.note_private(own)
            if request.status.kind is SandboxKind.LANDLOCK:
                # Where nothing is mounted over them, they may have changed.
                held = (*sorted(guarded.files.held), *sorted(guarded.files.absent))
                self._before = {path: _content(path) for path in held}
            quarantine = Quarantine.of(root)
            watched = self._watched = quarantine.add(guarded.files, request.walk)
            self._undo.callback(quarantine.remove, watched)
            self._confine(request, guarded, PrivateFiles.make(own, request.policy.tmp), stubs)
        except BaseException:
            self.cleanup()
            raise

    def _confine(self, request: _Request, guarded: _Guarded, private: PrivateFiles, stubs: Stubs) -> None:
        """Turn the command into one that starts inside the sandbox."""
        policy, files, hidden = request.policy, guarded.files, guarded.hidden
        tmp = private.tmp.resolve()
        match request.status.kind:
            case SandboxKind.BUBBLEWRAP:
                tmp = Path("/tmp")
                self._under_bubblewrap(request, guarded, private, stubs)
            case SandboxKind.LANDLOCK:
                programs = readable_programs(policy, self.env, hidden)
                self.argv = landlock_command(
                    policy, request.argv, files=files, hidden=hidden, programs=programs, tmp=tmp
                )
            case SandboxKind.SANDBOX_EXEC:
                unreadable = (*hidden, *(each.path for each in guarded.concealed))
                self.argv = seatbelt_command(seatbelt_profile(policy, files, unreadable, tmp), request.argv)
        # Of programs that fail when they cannot write to their cache in the home folder.
        caches = {"GOCACHE": "go-build", "npm_config_cache": "npm", "UV_CACHE_DIR": "uv"}
        self.env |= {**{variable: str(tmp / name) for variable, name in caches.items()}, "TMPDIR": str(tmp)}

    def _under_bubblewrap(self, request: _Request, guarded: _Guarded, private: PrivateFiles, stubs: Stubs) -> None:
        policy, files = request.policy, guarded.files
        places = stubs.make(sorted(files.absent), (policy.root, *sorted(files.git)))
        descriptor = filter_descriptor(set_group=policy.is_group_shared)
        if descriptor is None:
            raise OSError("the system calls of this processor are not known")
        self._undo.callback(os.close, descriptor)
        self.pass_fds = (descriptor,)
        self.mounts = mount_plan(
            policy,
            files,
            places=places,
            hidden=guarded.hidden,
            concealed=guarded.concealed,
            programs=readable_programs(policy, self.env, guarded.hidden),
            private=private,
        )
        self.argv = bubblewrap_command(
            request.status.program,
            self.mounts,
            request.argv,
            folder=self.cwd,
            filter_fd=descriptor,
            network=policy.network,
        )


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
        argv: Program and arguments; a shell command is `("/bin/sh", "-c", command)`.
        env: Environment to take the allowed variables from; by default this process's.
        walk: The walk of the workspace, with what it found before; by default a new one.
        beyond_limits: Let it run although it cannot be kept from everything it should be.

    Raises:
        LimitReachedError: It cannot be kept from everything it should be.
        OSError: The sandbox cannot be made.
    """
    where = os.path.realpath(folder or policy.root)
    request = None
    if status.kind is not SandboxKind.NONE:
        request = _Request(status, policy, tuple(argv), walk or FolderWalk(policy.root), beyond_limits)
    return Prepared(tuple(argv), scrubbed(env), where, request)


def _guarded(request: _Request) -> _Guarded:
    """Find what a command is kept from.

    Raises:
        LimitReachedError: It is too much.
        OSError: The workspace cannot be read.
    """
    policy, kind = request.policy, request.status.kind
    # Landlock cannot refuse a file in a folder that it allows.
    holds = kind is not SandboxKind.LANDLOCK
    is_limited = holds and not request.beyond_limits
    found = request.walk.read(PathRules(policy.unreadable, policy.unwritable) if holds else PathRules())
    if is_limited:
        _check_limits(policy.root, found, (*found.protected, *found.unreadable, *found.unwritable))
    most = MAX_BEYOND if request.beyond_limits else None
    unwritable, unreadable = ruled_paths(found.unwritable[:most]), ruled_paths(found.unreadable[:most])
    committed = [policy.root / file for file in policy.committed or ()]
    unreadable = tuple(path for path in unreadable if not any(file.is_relative_to(path) for file in committed))
    files = protected_files(
        policy.root,
        found,
        (path for path in unwritable if path.is_relative_to(policy.root)),
        unreadable,
        most,
        commits=policy.committed is not None,
    )
    hidden = hidden_paths(policy)
    # The sandbox of macOS mounts nothing.
    wrapper = git_wrapper(request.status.program, (*hidden, *unreadable)) if kind is SandboxKind.BUBBLEWRAP else None
    secrets = hidden_secrets(files.secrets, policy.root, policy.is_shown, wrapper) if holds else ()
    concealed = (*secrets, *(HiddenPath(path, Appearance.UNREADABLE) for path in unreadable))
    files.anchor((*hidden, *(each.path for each in concealed)), (policy.root,))
    if is_limited:
        mounted = {*files.held, *files.anchored, *files.absent, *(each.path for each in concealed)}
        _check_limits(policy.root, found, mounted)
    return _Guarded(files, hidden, concealed, len(secrets))


def _check_limits(root: Path, found: SensitivePaths, kept: Collection[Path]) -> None:
    """Check that a command is kept from everything that was found; `kept` is what is mounted for it, or a part of that.

    Raises:
        LimitReachedError: There is too much.
    """
    if found.filled_by is not None:
        inside = os.path.relpath(found.filled_by, root)
        place, todo = inside, f"move {inside} elsewhere"
        if inside == ".":
            place, todo = "its top folder", "move some of them elsewhere"
        raise LimitReachedError(_FULL.format(most=MAX_ENTRIES, place=place, todo=todo))
    if len(kept) > MAX_MOUNTS:
        counts = Counter(
            "/".join(path.relative_to(root).parts[:-1]) if path.is_relative_to(root) else "" for path in kept
        )
        place = fullest_folder(counts)
        todo = f"most of them are in {place}, so hide that folder" if place else "move them into one folder and hide it"
        raise LimitReachedError(_TOO_MANY.format(most=MAX_MOUNTS, todo=todo, place=place or "FOLDER"))


def _content(path: Path, depth: int = 3) -> object:
    """Return a value that changes with a file, or with the files of a folder; None for what does not exist."""
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
    """Return the number of processes in a namespace, by its first process's own /proc."""
    with contextlib.suppress(OSError):
        return sum(name.isdigit() for name in os.listdir(f"/proc/{first}/root/proc"))  # noqa: PTH208
    return 0
