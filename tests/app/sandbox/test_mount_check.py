"""Which mounts of a sandbox are those of its plan, by the texts of the kernel."""

from pathlib import Path

import pytest

from laguna_tui.sandbox.mount_check import unplanned_mounts
from laguna_tui.sandbox.mount_plan import Mount, NewFileSystem

HOST = """\
1 0 0:1 / / rw - rootfs rootfs rw
20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
21 20 0:21 / /proc rw - proc proc rw
22 20 0:6 / /dev rw - devtmpfs devtmpfs rw
23 22 0:23 / /dev/shm rw - tmpfs tmpfs rw
24 20 8:2 /@home /home rw - btrfs /dev/sdb1 rw
25 24 8:3 / /home/u/project/data rw - ext4 /dev/sdc1 rw
26 20 0:40 / /var/lib/images rw - overlay overlay rw
27 20 0:25 / /run rw - tmpfs tmpfs rw
"""
INSIDE = """\
66 42 8:1 / / ro,relatime - ext4 /dev/sda1 rw
67 66 0:21 / /proc ro - proc proc rw
68 66 0:6 / /dev ro - devtmpfs devtmpfs rw
69 68 0:23 / /dev/shm ro - tmpfs tmpfs rw
70 66 8:2 /@home /home ro - btrfs /dev/sdb1 rw
71 70 8:3 / /home/u/project/data ro - ext4 /dev/sdc1 rw
72 66 0:40 / /var/lib/images ro - overlay overlay rw
73 66 0:25 / /run ro - tmpfs tmpfs rw
80 68 0:50 / /dev rw - tmpfs tmpfs rw
81 80 0:6 /null /dev/null rw - devtmpfs devtmpfs rw
82 80 0:51 / /dev/pts rw - devpts devpts rw
83 67 0:52 / /proc rw - proc proc rw
84 83 0:52 /irq /proc/irq ro - proc proc rw
85 66 8:1 /tmp/laguna-1/tmp /tmp rw - ext4 /dev/sda1 rw
86 73 0:53 / /run rw - tmpfs tmpfs rw
87 70 8:2 /@home/u/project /home/u/project rw - btrfs /dev/sdb1 rw
88 87 8:3 / /home/u/project/data rw - ext4 /dev/sdc1 rw
89 87 8:2 /@home/u/project/sub /home/u/project/sub rw - btrfs /dev/sdb1 rw
90 89 8:2 /@home/u/project/sub/AGENTS.md /home/u/project/sub/AGENTS.md ro - btrfs /dev/sdb1 rw
91 89 8:1 /tmp/laguna-1/empty /home/u/project/sub/.env ro - ext4 /dev/sda1 rw
92 70 8:1 /tmp/laguna-1/nothing /home/u/.ssh ro - ext4 /dev/sda1 rw
"""
PROJECT = Path("/home/u/project")
PLAN = (
    Mount.itself(Path("/"), read_only=True),
    Mount(Path("/dev"), NewFileSystem.DEVICES),
    Mount(Path("/home/u/.ssh"), Path("/tmp/laguna-1/nothing"), read_only=True),
    Mount.itself(PROJECT),
    Mount.itself(PROJECT / "sub"),
    Mount(PROJECT / "sub/.env", Path("/tmp/laguna-1/empty"), read_only=True),
    Mount.itself(PROJECT / "sub/AGENTS.md", read_only=True),
    Mount(Path("/proc"), NewFileSystem.PROCESSES),
    Mount(Path("/run"), NewFileSystem.EMPTY),
    Mount(Path("/tmp"), Path("/tmp/laguna-1/tmp")),
)


def unplanned(inside=INSIDE, host=HOST, plan=PLAN, **options):
    return unplanned_mounts(plan, inside.encode(), host.encode(), **options)


def changed(number, old, new):
    """The sandbox's text with a change in the line of a mount."""
    lines = INSIDE.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith(f"{number} "))
    assert old in lines[at]
    lines[at] = lines[at].replace(old, new)
    return "\n".join(lines) + "\n"


def without(number):
    return "".join(line for line in INSIDE.splitlines(keepends=True) if not line.startswith(f"{number} "))


def test_the_planned_mounts_are_accepted():
    assert unplanned() == ()


@pytest.mark.parametrize(
    ("number", "old", "new", "place"),
    [
        (89, "/@home/u/project/sub ", "/@home/u ", "/home/u/project/sub"),
        (89, "/@home/u/project/sub ", "/@home/u/project/other ", "/home/u/project/sub"),
        (89, "/@home/u/project/sub ", "/@home/u/project/sub//deleted ", "/home/u/project/sub"),
        (89, "8:2", "8:1", "/home/u/project/sub"),
        (87, "/@home/u/project ", "/@home/u ", "/home/u/project"),
        (90, "ro", "rw", "/home/u/project/sub/AGENTS.md"),
        (91, "/tmp/laguna-1/empty", "/tmp/laguna-2/empty", "/home/u/project/sub/.env"),
        (92, "/tmp/laguna-1/nothing", "/home/u/.ssh", "/home/u/.ssh"),
        (85, "/tmp/laguna-1/tmp", "/", "/tmp"),
        (86, "0:53", "0:25", "/run"),
        (86, "tmpfs", "ext4", "/run"),
        (83, "0:52", "0:21", "/proc"),
        (80, "0:50", "0:6", "/dev"),
        (81, "0:6 /null", "8:1 /", "/dev/null"),
        (81, "/dev/null", "/dev/sda", "/dev/sda"),
        (82, "0:51", "0:23", "/dev/pts"),
        (84, "0:52 /irq", "0:52 /sys", "/proc/irq"),
        (66, "ro,", "rw,", "/"),
        (70, " ro ", " rw ", "/home"),
        (88, "8:3", "8:1", "/home/u/project/data"),
    ],
)
def test_a_mount_of_something_else_is_found(number, old, new, place):
    assert unplanned(changed(number, old, new))[0] == place


def test_a_mount_that_landed_elsewhere_is_found_at_both_places():
    moved = changed(91, "91 89", "91 87").replace("/home/u/project/sub/.env", "/home/u/project/aside/.env")
    assert unplanned(moved) == ("/home/u/project/sub/.env", "/home/u/project/aside/.env")


@pytest.mark.parametrize("number", [85, 87, 90, 91, 92])
def test_a_missing_mount_is_found(number):
    place = next(line.split()[4] for line in INSIDE.splitlines() if line.startswith(f"{number} "))
    assert place in unplanned(without(number))


def test_a_mount_that_nobody_planned_is_found():
    extra = "99 87 8:2 /@home/u /home/u/project/elsewhere rw - btrfs /dev/sdb1 rw\n"
    assert unplanned(INSIDE + extra) == ("/home/u/project/elsewhere",)


def test_a_mount_over_a_planned_one_is_found():
    extra = "99 89 8:2 /@home/u /home/u/project/sub rw - btrfs /dev/sdb1 rw\n"
    assert "/home/u/project/sub" in unplanned(INSIDE + extra)


def test_what_another_mount_covers_does_not_count():
    covered = changed(69, "ro", "rw")
    assert unplanned(covered) == ()
    below = HOST + "30 20 8:4 / /srv/a rw - ext4 a rw\n31 20 8:5 / /srv rw - ext4 b rw\n"
    assert unplanned(INSIDE + "99 66 8:5 / /srv ro - ext4 b rw\n", below) == ()
    assert unplanned(INSIDE + "99 66 8:4 / /srv/a ro - ext4 a rw\n", below) == ("/srv/a",)


def test_a_mount_of_the_host_may_be_missing():
    assert unplanned(without(72)) == ()


def test_a_mount_of_the_host_is_read_only_unless_no_command_gets_there():
    writable = changed(72, "ro", "rw")
    assert unplanned(writable) == ("/var/lib/images",)
    assert unplanned(writable, out_of_reach="/var/lib/images".__eq__) == ()
    planned = unplanned(changed(90, "ro", "rw"), out_of_reach=lambda place: True)
    assert planned == ("/home/u/project/sub/AGENTS.md",)


def test_names_are_read_as_the_kernel_escapes_them():
    name, escaped = "a b\tc\nd\\e\x85é", "a\\040b\\011c\\012d\\134e\x85é"
    plan = (Mount.itself(Path("/"), read_only=True), Mount.itself(Path(f"/srv/{name}")))
    host = "20 1 8:1 / / rw - ext4 a rw\n"
    inside = f"66 42 8:1 / / ro - ext4 a rw\n67 66 8:1 /srv/{escaped} /srv/{escaped} rw - ext4 a rw\n"
    assert unplanned(inside, host, plan) == ()
    assert unplanned(inside.replace("\\040", "\\041"), host, plan) != ()


def test_names_that_are_not_utf_8_are_compared_as_bytes():
    plan = (Mount.itself(Path("/"), read_only=True), Mount.itself(Path("/srv/\udcff")))
    inside = b"66 42 8:1 / / ro - ext4 a rw\n67 66 8:1 /srv/\xff /srv/\xff rw - ext4 a rw\n"
    assert unplanned_mounts(plan, inside, b"20 1 8:1 / / rw - ext4 a rw\n") == ()


def test_a_file_that_is_mounted_is_found_by_its_own_name():
    host = HOST + "40 20 8:9 /containers/1/resolv.conf /etc/resolv.conf rw - ext4 x rw\n"
    plan = (*PLAN[:2], Mount.itself(Path("/etc/resolv.conf"), read_only=True), *PLAN[2:])
    line = "99 66 8:9 /containers/1/resolv.conf /etc/resolv.conf ro - ext4 x rw\n"
    assert unplanned(INSIDE + line, host, plan) == ()
    assert unplanned(INSIDE + line.replace("/containers/1", "/containers/2"), host, plan) == ("/etc/resolv.conf",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "66\n",
        "a b c / / ro - x y z\n",
        "66 42 8:1 / /x ro - x y z\n",
        "66 42 8:1 / / ro shared:1\n",
        "66 42 8:1 / / ro -\n",
    ],
)
def test_any_other_text_is_refused(text):
    with pytest.raises(ValueError):
        unplanned(text)
    with pytest.raises(ValueError):
        unplanned(host=text)
