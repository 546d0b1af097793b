"""Limits of containers and services, from the files in which both versions of cgroups show them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from laguna_engine.native.control_groups import MemoryLimit, groups, memory_limit, processor_limit

V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
MEMORY = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
CPU = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"
UNLIMITED_V1 = "9223372036854771712\n"

System = Callable[..., Path]


@pytest.fixture
def system(tmp_path: Path) -> System:
    """Makes a root folder of a process in a group, with these mounts and these files below /sys/fs/cgroup."""

    def make(group: str, mounts: list[str], files: dict[str, str]) -> Path:
        proc = tmp_path / "proc/self"
        proc.mkdir(parents=True)
        (proc / "cgroup").write_text(f"{group}\n")
        (proc / "mountinfo").write_text("\n".join(mounts))
        for name, text in files.items():
            path = tmp_path / "sys/fs/cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make


def test_a_machine_without_control_groups_has_no_limits(tmp_path: Path):
    assert memory_limit(tmp_path) is None
    assert processor_limit(tmp_path) is None


def test_a_containers_limits_of_version_2(system: System):
    root = system(
        "0::/",
        [V2],
        {
            "memory.max": "400000000\n",
            "memory.high": "max\n",
            "memory.current": "150000000\n",
            "memory.stat": "anon 90000000\nfile 60000000\ninactive_file 40000000\nactive_file 20000000\n",
            "cpu.max": "150000 100000\n",
        },
    )
    assert memory_limit(root) == MemoryLimit(400_000_000, 290_000_000)
    assert processor_limit(root) == 2


def test_a_containers_limits_of_version_1(system: System):
    root = system(
        "8:cpu,cpuacct:/box\n4:memory:/box\n0::/",
        [MEMORY, CPU],
        {
            "memory/memory.limit_in_bytes": UNLIMITED_V1,
            "memory/box/memory.limit_in_bytes": "400000000\n",
            "memory/box/memory.usage_in_bytes": "150000000\n",
            "memory/box/memory.stat": "inactive_file 1\ntotal_inactive_file 40000000\n",
            "cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "cpu,cpuacct/box/cpu.cfs_quota_us": "50000\n",
            "cpu,cpuacct/box/cpu.cfs_period_us": "100000\n",
        },
    )
    assert memory_limit(root) == MemoryLimit(400_000_000, 290_000_000)
    assert processor_limit(root) == 1


def test_the_tightest_limit_on_the_way_up_counts(system: System):
    root = system(
        "0::/user.slice/app.scope",
        [V2],
        {
            "user.slice/memory.max": "900\n",
            "user.slice/memory.current": "800\n",
            "user.slice/cpu.max": "300000 100000\n",
            "user.slice/app.scope/memory.max": "max\n",
            "user.slice/app.scope/memory.high": "500\n",
            "user.slice/app.scope/memory.current": "100\n",
            "user.slice/app.scope/cpu.max": "max 100000\n",
        },
    )
    assert memory_limit(root) == MemoryLimit(500, 100)
    assert processor_limit(root) == 3


def test_a_group_without_a_limit_limits_nothing(system: System):
    root = system(
        "8:cpu:/\n4:memory:/\n0::/a",
        [V2, MEMORY, CPU.replace(",cpuacct", "")],
        {
            "a/memory.max": "max\n",
            "a/cpu.max": "max 100000\n",
            "memory/memory.limit_in_bytes": UNLIMITED_V1,
            "cpu/cpu.cfs_quota_us": "-1\n",
            "cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    assert memory_limit(root) is None
    assert processor_limit(root) is None


def test_what_cannot_be_read_limits_nothing(system: System):
    root = system(
        "0\n0::/a",
        [V2, "30", "31 23 0:26 / /sys - sysfs", "32 23 0:27 / /sys/fs/cgroup rw - cgroup2"],
        {"a/memory.max": "?", "memory.max": "", "a/cpu.max": "1", "cpu.max": "100 0", "a/memory.stat": "anon\n"},
    )
    assert memory_limit(root) is None
    assert processor_limit(root) is None


def test_more_used_than_the_limit_leaves_nothing_free(system: System):
    root = system("0::/", [V2], {"memory.max": "100\n", "memory.current": "130\n"})
    assert memory_limit(root) == MemoryLimit(100, 0)


@pytest.mark.parametrize(
    ("group", "mount"),
    [
        ("4:memory:/docker/af01/inner", MEMORY.replace(" / ", " /docker/af01 ")),
        ("4:memory:/", MEMORY.replace(" / ", " /docker/af01 ")),
        ("4:memory:/../elsewhere", MEMORY),
        ("4:memory:/docker/af01", MEMORY),
    ],
    ids=["mounted from its group", "in a namespace", "outside of the namespace", "not all is mounted"],
)
def test_a_containers_root_is_the_top_of_its_mount(system: System, group: str, mount: str):
    root = system(group, [mount], {"memory/memory.limit_in_bytes": "700\n"})
    assert list(groups("memory", root))[-1] == root / "sys/fs/cgroup/memory"
    assert memory_limit(root) == MemoryLimit(700, 700)
