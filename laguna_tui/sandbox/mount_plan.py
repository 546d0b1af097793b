"""What bubblewrap mounts for a command. Its command line and the check of its mounts are both derived from this plan.

The whole system is mounted read-only, then what differs: private temporary folders, the workspace, in it what stays
read-only, and nothing where credentials are. Mounts are made from the top down, so that the one further down holds.
"""

import os
import stat
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from laguna_tui.sandbox.hidden_secrets import Appearance, HiddenPath
from laguna_tui.sandbox.programs import EMPTY, TEMPORARY, Program
from laguna_tui.sandbox.protected import ProtectedFiles
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy
from laguna_tui.sandbox.stubs import stub_content

_OWN = ("/dev", "/proc")


class NewFileSystem(Enum):
    """A file system that bubblewrap makes, by its option."""

    EMPTY = "--tmpfs"
    DEVICES = "--dev"
    PROCESSES = "--proc"


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount.

    Attributes:
        place: Where it is mounted; no links in its path.
        source: What is mounted there: a file or folder of the host with all mounts below it, without links in its path,
            or a new file system.
        read_only: Whether it cannot be written to, including what is mounted below it.
    """

    place: Path
    source: Path | NewFileSystem
    read_only: bool = False

    @classmethod
    def itself(cls, place: Path, *, read_only: bool = False) -> "Mount":
        """Return the mount of a file or folder onto itself."""
        return cls(place, place, read_only)

    @property
    def words(self) -> tuple[str, ...]:
        """Its options of bubblewrap."""
        if isinstance(self.source, Path):
            return ("--ro-bind" if self.read_only else "--bind", str(self.source), str(self.place))
        remount = ("--remount-ro", str(self.place)) if self.read_only else ()
        return (self.source.value, str(self.place), *remount)


@dataclass(frozen=True, slots=True)
class PrivateFiles:
    """What the sandbox mounts of its own.

    Attributes:
        tmp: Temporary folder of the command.
        nothing: An empty folder.
        empty: An empty file.
        unreadable: A file that nobody may open.
        locked: An empty folder in which nothing may be looked up: to git, unlike in a missing one, no file is deleted.
        itself: A file like git's `commondir` that names the folder it is in.
    """

    tmp: Path
    nothing: Path
    empty: Path
    unreadable: Path
    locked: Path
    itself: Path

    @classmethod
    def make(cls, folder: Path, tmp: Path | None) -> "PrivateFiles":
        """Make them in a new folder.

        Args:
            folder: The folder, without links in its path.
            tmp: An existing temporary folder to use.
        """
        own = folder / "tmp" if tmp is None else _real(tmp)
        names = ("nothing", "empty", "unreadable", "locked", "commondir")
        files = cls(own, *(folder / name for name in names))
        files.tmp.mkdir(mode=0o700, exist_ok=True)
        files.nothing.mkdir()
        files.empty.touch()
        files.unreadable.touch(mode=0o000)
        files.locked.mkdir(mode=0o400)
        files.itself.write_text(stub_content(Path("commondir")) or "", encoding="ascii")
        return files

    def in_place_of(self, hidden: HiddenPath) -> Path:
        """Return what is mounted over a file or folder; committed contents are written to a new file."""
        match hidden.appearance:
            case Appearance.UNREADABLE:
                return self.locked if hidden.path.is_dir() else self.unreadable
            case Appearance.EMPTY:
                return self.nothing if hidden.path.is_dir() else self.empty
            case Appearance.COMMITTED:
                descriptor, name = tempfile.mkstemp(dir=self.empty.parent)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(hidden.committed)
                    os.fchmod(descriptor, stat.S_IMODE(hidden.path.stat().st_mode))
                # Whatever git's index then says about it, outside it does not take the real file for the same.
                os.utime(name, (0, 0))
                return Path(name)


def trial_plan() -> tuple[Mount, ...]:
    return _ordered((*_system(), Mount(_real(Path("/tmp")), NewFileSystem.EMPTY)))


def reading_plan(hidden: Iterable[Path]) -> tuple[Mount, ...]:
    """Return the mounts of a program of the app's own that writes nothing, and cannot read what is hidden."""
    over = (Mount(path, NewFileSystem.EMPTY if path.is_dir() else Path(os.devnull), read_only=True) for path in hidden)
    return _ordered((*_system(), *over))


def mount_plan(
    policy: SandboxPolicy,
    files: ProtectedFiles,
    *,
    places: Sequence[Path],
    hidden: Sequence[Path],
    concealed: Sequence[HiddenPath],
    programs: Sequence[Program],
    private: PrivateFiles,
) -> tuple[Mount, ...]:
    """Return the mounts of a command in the order in which they are made.

    Args:
        places: Mount points made for what is absent.
        hidden: What it cannot read.
        concealed: What it cannot read in the workspace.
        programs: What it has to read where something else is mounted.
        private: What is mounted in place of it.
    """
    temporary = [_real(Path(path)) for path in TEMPORARY if Path(path).is_dir()]
    empty = [_real(Path(path)) for path in EMPTY if Path(path).is_dir()]
    mounts = [*_system(), *(Mount(path, private.tmp) for path in temporary)]
    mounts += [Mount(path, NewFileSystem.EMPTY) for path in empty]
    if policy.network:
        mounts += _resolver(empty)
    masked = (*temporary, *empty, *map(Path, _OWN))
    # The repository around may lie where something else is mounted.
    around = [path for path in files.around if any(each in path.parents for each in masked)]
    own = {*around, *files.git, *files.anchored, policy.root}
    mounts += [
        Mount(each.place, each.source, read_only=True) for each in programs if own.isdisjoint(each.place.parents)
    ]
    mounts += [Mount.itself(path, read_only=True) for path in around]
    mounts += [Mount.itself(path) for path in (*files.git, *files.anchored, policy.root)]
    mounts += [Mount.itself(path, read_only=True) for path in files.held if path != policy.root]
    for place in places:
        if (source := _nothing_for(place, private)) is not None:
            mounts.append(Mount(place, source, read_only=True))
    shown = (policy.root, *around, *(each.place for each in programs))
    over = [
        Mount(path, private.nothing if path.is_dir() else private.empty, read_only=True)
        for path in hidden
        if any(path.is_relative_to(each) for each in shown) or not any(path.is_relative_to(each) for each in masked)
    ]
    over += [Mount(each.path, private.in_place_of(each), read_only=True) for each in concealed]
    # What is mounted again in a hidden folder would be visible.
    unseen = {mount.place for mount in over}
    mounts = [mount for mount in mounts if unseen.isdisjoint((mount.place, *mount.place.parents))]
    mounts += [mount for mount in over if unseen.isdisjoint(mount.place.parents)]
    return _ordered(mounts)


def _ordered(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Sort mounts from the top down; of several at a place the last one counts."""
    at = {mount.place: mount for mount in mounts}
    return tuple(at[place] for place in sorted(at, key=lambda place: place.parts))


def _system() -> tuple[Mount, ...]:
    # Root owns the kernel's settings, and needs no capability to write them.
    processes = Mount(Path("/proc"), NewFileSystem.PROCESSES, read_only=os.getuid() == 0)
    return Mount.itself(Path("/"), read_only=True), Mount(Path("/dev"), NewFileSystem.DEVICES), processes


def _nothing_for(place: Path, private: PrivateFiles) -> Path | None:
    """Return what to mount at a mount point: the place itself if the user has made something there meanwhile."""
    try:
        mode = place.lstat().st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        return private.nothing
    if stub_content(place) is None or not stat.S_ISREG(mode):
        return None if stat.S_ISLNK(mode) else place
    return private.itself if stub_content(place) else private.empty


def _resolver(empty: Iterable[Path]) -> tuple[Mount, ...]:
    """Return the mount that keeps name resolution working if its configuration is in a hidden folder."""
    real = _real(Path("/etc/resolv.conf"))
    hidden = any(real.is_relative_to(path) for path in empty)
    return (Mount.itself(real, read_only=True),) if hidden and real.exists() else ()


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
