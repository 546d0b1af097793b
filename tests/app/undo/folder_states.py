"""What is in a folder, looked at without the code under test, and changes of it as a user or a command makes them."""

import os
import shutil
import stat
from pathlib import Path

State = tuple[str, int, bytes]


def states(root: Path) -> dict[str, State]:
    """Kind, mode and bytes of everything below a folder, by path; of a link its target."""
    found: dict[str, State] = {}
    for folder, folders, files in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        for name in (*folders, *files):
            path = Path(folder) / name
            found[path.relative_to(root).as_posix()] = state(path)
    return found


def state(path: Path) -> State:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return "link", 0, os.fsencode(path.readlink())
    mode = stat.S_IMODE(status.st_mode)
    return ("folder", mode, b"") if stat.S_ISDIR(status.st_mode) else ("file", mode, path.read_bytes())


def clear(path: Path) -> None:
    """Remove whatever is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def put(root: Path, path: str, data: bytes, mode: int = 0o644) -> Path:
    """Write a file in place of whatever is there and on the way."""
    target = root / path
    for parent in reversed(target.relative_to(root).parents):
        if (root / parent).is_symlink() or (root / parent).is_file():
            (root / parent).unlink()
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_symlink() or target.is_dir():
        clear(target)
    target.write_bytes(data)
    target.chmod(mode)
    return target
