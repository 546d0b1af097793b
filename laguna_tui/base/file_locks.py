"""Whether a lock on a file excludes other processes: on some network disks (Lustre, GPFS, NFS) flock never fails."""

import fcntl
import os
from pathlib import Path


def excludes_others(path: Path) -> bool:
    """Return whether the lock that this process holds on a file is refused to whoever opens the file again.

    Raises:
        OSError: The file cannot be opened.
    """
    again = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # the disk has no locks
        return False
    finally:
        os.close(again)
    return False
