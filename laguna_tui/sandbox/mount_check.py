"""Checks that a sandbox has the mounts of its plan, as the kernel lists them.

bubblewrap resolves the path of every source when it starts. A folder that another command exchanges for a link in that
moment leads a mount elsewhere, even into the user's home folder. `/proc/PID/mountinfo` names the file system and the
path in it that each mount really shows, so comparing texts is enough: no path is resolved a second time.

Format: `man 5 proc_pid_mountinfo`.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from laguna_tui.sandbox.mount_plan import Mount, NewFileSystem

_ESCAPED = re.compile(rb"\\([0-7]{3})")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_TYPES = {NewFileSystem.EMPTY: "tmpfs", NewFileSystem.DEVICES: "tmpfs", NewFileSystem.PROCESSES: "proc"}


@dataclass(frozen=True, slots=True)
class _Mounted:
    """A line of mountinfo.

    Attributes:
        number: The kernel's number of the mount.
        parent: That of the mount it is on.
        device: Major and minor number of the file system.
        root: Path of what is shown, within the file system.
        place: Where it is mounted.
        read_only: Whether it cannot be written to through this mount.
        kind: Type of the file system.
    """

    number: int
    parent: int
    device: str
    root: str
    place: str
    read_only: bool
    kind: str


def unplanned_mounts(
    plan: Sequence[Mount], inside: bytes, host: bytes, *, out_of_reach: Callable[[str], bool] = lambda place: False
) -> tuple[str, ...]:
    """Return the places whose mount is missing, is not the planned one, or can be written to against the plan.

    Mounts of the host are expected below a folder that is mounted with them. They may be missing: then less is shown.

    Args:
        plan: The mounts that were asked for, from the top down; the first one is at `/`.
        inside: Text of the sandbox's mountinfo, once it is complete.
        host: Text of this process's mountinfo.
        out_of_reach: Whether a command cannot get to a place of the host, because of the permissions of its folders:
            bubblewrap leaves such a mount as it is.

    Raises:
        ValueError: A text is not in mountinfo's format.
    """
    table = _Host(_visible(host))
    planned = {str(mount.place): mount for mount in plan}
    found = _visible(inside)
    wrong = [place for place in planned if place not in found]
    for place, line in found.items():
        mount = planned[next(each for each in _upwards(place) if each in planned)]
        if not _is_expected(mount, line, found, table, out_of_reach):
            wrong.append(place)
    return tuple(wrong)


class _Host:
    """The mounts of this process."""

    def __init__(self, mounts: Mapping[str, _Mounted]) -> None:
        self.mounts = mounts
        self.devices = {line.device for line in mounts.values()}

    def holds(self, path: str) -> tuple[str, str]:
        """Return the device of a path, and its path within the file system."""
        line = self.mounts[next(each for each in _upwards(path) if each in self.mounts)]
        return line.device, _joined(line.root, path[len(line.place.rstrip("/")) :])


def _is_expected(
    mount: Mount, line: _Mounted, found: Mapping[str, _Mounted], host: _Host, out_of_reach: Callable[[str], bool]
) -> bool:
    """Return whether a line is what a mount of the plan causes at its place or below it."""
    place = str(mount.place)
    below = line.place[len(place.rstrip("/")) :] if line.place != place else ""
    if mount.read_only and not line.read_only and not (below and out_of_reach(line.place)):
        return False
    if isinstance(mount.source, NewFileSystem):
        own = found.get(place)
        return own is not None and _is_new(mount.source, line, own, below, host)
    shown = _joined(str(mount.source), below)
    return (not below or shown in host.mounts) and (line.device, line.root) == host.holds(shown)


def _is_new(source: NewFileSystem, line: _Mounted, own: _Mounted, below: str, host: _Host) -> bool:
    """Return whether a line is a new file system, or a part that bubblewrap mounts in it."""
    if not below:
        return line.kind == _TYPES[source] and line.root == "/" and line.device not in host.devices
    if source is NewFileSystem.PROCESSES:
        return (line.device, line.root) == (own.device, below)
    if source is NewFileSystem.DEVICES:
        if below == "/pts":
            return line.kind == "devpts" and line.device not in host.devices
        return below[1:] in _DEVICES and (line.device, line.root) == host.holds(line.place)
    return False


def _visible(text: bytes) -> dict[str, _Mounted]:
    """Return the mounts that a path leads to, by their places; covered ones are left out."""
    lines = [_parsed(line) for line in text.split(b"\n") if line]
    others = {line.number for line in lines}
    on = {(line.parent, line.place): line for line in lines}
    bottom = [line for line in lines if line.place == "/" and line.parent not in others - {line.number}]
    if len(bottom) != 1:
        raise ValueError("mountinfo has no root")
    found: dict[str, _Mounted] = {}
    for line in lines:
        current = bottom[0]
        for place in reversed(list(_upwards(line.place))):
            while (above := on.get((current.number, place))) is not None and above is not current:
                current = above
        if current.place == line.place:
            found[line.place] = current
    return found


def _parsed(line: bytes) -> _Mounted:
    number, parent, device, root, place, options, *rest = line.split(b" ")
    kind, *_ = rest[rest.index(b"-") + 1 :]
    texts = (device.decode("ascii"), _text(root), _text(place))
    return _Mounted(int(number), int(parent), *texts, b"ro" in options.split(b","), kind.decode("ascii"))


def _text(field: bytes) -> str:
    return os.fsdecode(_ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), field))


def _upwards(path: str) -> Iterator[str]:
    """Yield a path and the folders above it, up to the root."""
    while path != "/":
        yield path
        path = path[: path.rindex("/")] or "/"
    yield "/"


def _joined(folder: str, below: str) -> str:
    """Join a folder and a path that begins with a slash or is empty."""
    return f"{folder.rstrip('/')}{below}" or "/"
