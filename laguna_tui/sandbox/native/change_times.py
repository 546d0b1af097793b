"""File systems on which the ctime of a folder shows every change in it."""

import ctypes
import os
import sys
from pathlib import Path

# `f_type` of statfs(2), from <linux/magic.h>: file systems of this machine that set a new ctime at every change. Others
# have none (FAT), let programs set it, or learn late of a change (network file systems, FUSE).
_RELIABLE = frozenset(
    {
        0xEF53,  # ext2, ext3, ext4
        0x58465342,  # XFS
        0x9123683E,  # Btrfs
        0x01021994,  # tmpfs
        0x794C7630,  # overlayfs
        0xF2F52010,  # F2FS
        0x2FC12FC1,  # ZFS
        0xCA451A4E,  # bcachefs
    }
)
_MACOS_VOLUMES = ("/", "/System/Volumes/Data")
"""The system's own volume and the one of home folders: APFS."""
_BUFFER_BYTES = 256
"""More than the structure of any system has."""


def has_reliable_ctime(folder: int) -> bool:
    """Return whether a folder's ctime changes with everything in it, and nothing else sets it."""
    if sys.platform != "linux":
        device = os.fstat(folder).st_dev
        return any(Path(place).exists() and Path(place).stat().st_dev == device for place in _MACOS_VOLUMES)
    status = ctypes.create_string_buffer(_BUFFER_BYTES)
    if ctypes.CDLL(None).fstatfs(folder, status) != 0:
        return False
    # Its first field, a long.
    return ctypes.c_long.from_buffer(status).value & 0xFFFFFFFF in _RELIABLE
