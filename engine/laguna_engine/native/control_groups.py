"""What the control groups around this process let it use: the limits of a container or of a service.

Both versions of cgroups are read; see `Documentation/admin-guide/cgroup-v1/` and `cgroup-v2.rst` of the kernel. A limit
holds for a group with all groups in it, so the tightest one from the process's own group up to the root counts.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import psutil

_ROOT = Path("/")
_V1, _V2 = "cgroup", "cgroup2"
"""Their types of file systems."""
_ESCAPE = re.compile(r"\\([0-7]{3})")
_NO_LIMIT = 1 << 62
"""Version 1 has no word for "unlimited": it shows the largest number of whole pages."""


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """Memory that the groups let this process use, in bytes.

    Attributes:
        total: the tightest limit.
        free: what is left; file pages that the kernel can drop, such as those of a model, count as free.
    """

    total: int
    free: int


def memory_limit(root: Path = _ROOT) -> MemoryLimit | None:
    """Return the limit of this process's memory, None if there is none. root: of the file system, for tests."""
    found = []
    for group in groups("memory", root):
        limits = (_number(group / name) for name in ("memory.max", "memory.high", "memory.limit_in_bytes"))
        limit = min((each for each in limits if each is not None and each < _NO_LIMIT), default=None)
        if limit is not None:
            used = _number(group / "memory.current") or _number(group / "memory.usage_in_bytes") or 0
            found.append(MemoryLimit(limit, max(0, limit - max(0, used - _droppable(group)))))
    if not found:
        return None
    return MemoryLimit(min(each.total for each in found), min(each.free for each in found))


def processor_limit(root: Path = _ROOT) -> int | None:
    """Return how many processors' time this process may take, rounded up; None if that is not limited."""
    quotas = (_quota(group) for group in groups("cpu", root))
    return min((-(-quota // period) for quota, period in filter(None, quotas)), default=None)


def usable_processors() -> int:
    """Return how many logical processors this process may keep busy: those it may run on, at most its quota."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, processor_limit() or count)


def physical_cores() -> int:
    """Return the physical cores available to this process: using hyper-threads too makes llama.cpp slower.

    With more threads than a control group's quota of time, all of them stall for a part of every period.
    """
    physical = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    return max(1, min(physical, usable_processors()))


def all_cores_but_one() -> int:
    """Return the threads to use on a machine shared with other programs, at least 1.

    llama.cpp's threads synchronise after every operation, so another program on one of their cores stalls all of them.
    """
    return max(1, physical_cores() - 1)


def groups(controller: str, root: Path = _ROOT) -> Iterator[Path]:
    """Yield the folders of the groups that control something of this process, its own first, both versions'."""
    own: dict[str, PurePosixPath] = {}
    for line in lines(root / "proc/self/cgroup"):
        match line.split(":", 2):
            case ["0", _, path]:
                own[_V2] = PurePosixPath(path)
            case [_, controllers, path] if controller in controllers.split(","):
                own[_V1] = PurePosixPath(path)
    for line in lines(root / "proc/self/mountinfo"):
        mount, _, kind = line.partition(" - ")
        match mount.split(), kind.split():
            case [[_, _, _, top, place, *_], [str(version), _, options]] if version in own:
                if version == _V2 or controller in options.split(","):
                    yield from _upwards(own[version], _path(top), root / _path(place).relative_to("/"))


def _upwards(group: PurePosixPath, top: PurePosixPath, folder: Path) -> Iterator[Path]:
    """Yield the folders of a group and of those around it, of which `top` is mounted at `folder`."""
    # Without a namespace of its own, a container sees its path on the host, of which only the end is mounted.
    inside = group.relative_to(top) if group.is_relative_to(top) else PurePosixPath()
    yield from (folder / each for each in (inside, *inside.parents))


def _path(mounted: str) -> PurePosixPath:
    return PurePosixPath(_ESCAPE.sub(lambda code: chr(int(code[1], 8)), mounted))


def lines(file: Path) -> list[str]:
    """Return the lines of a small file of the kernel's; none if it is not there."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _number(file: Path) -> int | None:
    text = next(iter(lines(file)), "")
    return int(text) if text.isdigit() else None


def _droppable(group: Path) -> int:
    """Return the bytes of file pages that were not used lately, with those of the groups inside."""
    # Version 1 counts the group alone under the plain name.
    found = dict(line.partition(" ")[::2] for line in lines(group / "memory.stat"))
    count = found.get("total_inactive_file") or found.get("inactive_file", "")
    return int(count) if count.isdigit() else 0


def _quota(group: Path) -> tuple[int, int] | None:
    """Return the time that a group may take in a period, both in microseconds."""
    words = next(iter(lines(group / "cpu.max")), "").split()
    if not words:
        words = [next(iter(lines(group / f"cpu.cfs_{name}_us")), "") for name in ("quota", "period")]
    match words:
        case [quota, period] if quota.isdigit() and period.isdigit() and int(period):
            return int(quota), int(period)
    return None
