"""Mount points on the user's disk for files that do not exist: made before a command, removed after it.

bubblewrap can only keep a file from being created by mounting something there, and a mount needs a place. A place is an
empty folder, which git does not list and whose removal can lose nothing; where git would stumble over a folder it is a
file that means the same to git as none.

Commands that run at the same time share the places. A lock tells whether one still runs, also after a kill: the last
one, or the next command anywhere, removes what the record names.
"""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from laguna_tui.base.paths import state_dir

_FILES = {"config": "", "config.worktree": "", "commondir": ".\n"}
"""Contents of the places that are files in git's folders."""


def stub_content(path: Path) -> str | None:
    """Return the contents of the file that holds a place; None for a folder."""
    return _FILES.get(path.name)


class Stubs:
    """The places of a workspace."""

    def __init__(self, workspace: Path, records: Path | None = None) -> None:
        """Nothing is made yet.

        Args:
            workspace: The folder, without links in its path.
            records: Folder of the records, by default in the app's state.
        """
        self._folder = records or records_folder()
        self._record = _record_of(workspace, self._folder)
        self._lock: int | None = None

    def hold(self) -> int:
        """Keep other commands' places in this workspace until `remove`, and remove those that nobody needs.

        Returns:
            The descriptor of the lock, to be held by what ends the command if this process is killed.

        Raises:
            OSError: The record cannot be written.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_leftovers(self._folder)
        while self._lock is None:
            self._lock = _locked(self._record, alone=False)
        return self._lock

    def make(self, paths: Iterable[Path]) -> tuple[Path, ...]:
        """Make a place for each absent path, and return the places: the topmost missing folder of each path.

        To be called after `hold`.

        Raises:
            OSError: The record cannot be written.
        """
        return tuple(dict.fromkeys(place for path in paths if (place := self._make(path)) is not None))

    def _make(self, path: Path) -> Path | None:
        place = path
        while not os.path.lexists(place.parent):
            place = place.parent
        if os.path.lexists(place):
            return place
        # Written first: a place that is made and not recorded would stay after a kill.
        self._note(place, None)
        try:
            content = stub_content(place)
            if content is None:
                place.mkdir(mode=0o755)
            else:
                with place.open("x", encoding="ascii") as file:
                    file.write(content)
            self._note(place, place.lstat())
        except FileExistsError:
            return place
        except OSError:
            # A folder that this user cannot write to either.
            return None
        return place

    def note_private(self, folder: Path) -> None:
        """Have a command's private folder removed as a whole if this process is killed. To be called after `hold`.

        Raises:
            OSError: The record cannot be written.
        """
        self._note(folder, folder.lstat(), private=True)

    def _note(self, place: Path, status: os.stat_result | None, *, private: bool = False) -> None:
        identity = None if status is None else [status.st_dev, status.st_ino]
        with self._record.open("a", encoding="ascii") as file:
            file.write(json.dumps([str(place), identity, private]) + "\n")

    def remove(self) -> None:
        """Remove the places unless another command needs them; idempotent."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
            _remove(self._record)


def records_folder() -> Path:
    """Return the folder of all workspaces' records."""
    return state_dir() / "sandbox"


def is_place(path: Path, workspace: Path, records: Path | None = None) -> bool:
    """Whether an empty folder is only there for a command, so that no file is created, even if that was killed since.

    Args:
        path: The path in question, without links in it.
        workspace: The folder of the command, likewise.
        records: Folder of the records, by default in the app's state.
    """
    try:
        status = path.lstat()
        recorded = _recorded(_record_of(workspace, records or records_folder()))
        noted = {place: identity for place, identity, private in recorded if not private}
        return path in noted and noted[path] in (None, [status.st_dev, status.st_ino]) and not any(path.iterdir())
    except OSError:
        return False


def _record_of(workspace: Path, folder: Path) -> Path:
    return folder / f"{hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]}.stubs"


def remove_leftovers(records: Path | None = None) -> bool:
    """Remove the places of commands that were killed together with this app; whether none are needed any more."""
    removed = True
    with contextlib.suppress(OSError):
        for record in (records or records_folder()).glob("*.stubs"):
            removed = _remove(record) and removed
    return removed


def _remove(record: Path) -> bool:
    lock = _locked(record, alone=True)
    if lock is None:
        return False
    try:
        for place, identity, private in _recorded(record):
            _remove_place(place, identity, private=private)
        record.unlink(missing_ok=True)
    finally:
        os.close(lock)
    return True


def _locked(record: Path, *, alone: bool) -> int | None:
    """A descriptor that holds the lock on the record of that name; None if it is held, or was just removed."""
    import fcntl  # not on Windows, where the doctor still runs

    lock = os.open(record, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)
        if os.path.lexists(record) and os.path.samestat(os.fstat(lock), record.stat()):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _recorded(record: Path) -> Iterator[tuple[Path, list[int] | None, bool]]:
    """The places, deepest first, and whether each is private; the last note of a place counts, a torn one does not."""
    places: dict[str, tuple[list[int] | None, bool]] = {}
    with contextlib.suppress(ValueError, TypeError):
        for line in record.read_text(encoding="ascii").splitlines():
            path, identity, *private = json.loads(line)
            places[path] = identity, private == [True]
    for path in sorted(places, reverse=True):
        yield Path(path), *places[path]


def _remove_place(place: Path, identity: list[int] | None, *, private: bool) -> None:
    """Remove a place if it is still as it was made; what the user put there stays. A private folder goes as a whole."""
    with contextlib.suppress(OSError):
        status = place.lstat()
        if identity is not None and identity != [status.st_dev, status.st_ino]:
            return
        if private:
            shutil.rmtree(place, ignore_errors=True)
            return
        content = stub_content(place)
        if content is None:
            place.rmdir()
        elif status.st_size == len(content) and place.read_text(encoding="ascii") == content:
            place.unlink()
