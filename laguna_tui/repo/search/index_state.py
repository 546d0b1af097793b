"""Whether an index is up to date with its folder, and what an update of it reports.

Everything that a scan of an unchanged folder needs: nothing here parses or writes files.
"""

import json
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field

from laguna_tui.repo.files.sensitive_paths import sensitive_reason
from laguna_tui.repo.files.unsearched import Unsearched
from laguna_tui.repo.files.walk import FileListing
from laguna_tui.repo.syntax.tag_queries import fingerprints

Progress = Callable[[int, int], None]
"""Called with files done and files to do."""


@dataclass(frozen=True, slots=True)
class IndexUpdate:
    """Result of an update.

    Attributes:
        files: In the folder.
        read: Files parsed again.
        dropped: Files gone from the folder.
        refused: Files that crashed their parser.
        seconds: Duration.
        complete: False when the user stopped it, or the folder has too many files.
        left_out: Files not in the index because it reached its size limit, or the disk is full.
        disk_full: Folder on the disk that was full, empty otherwise; with free space, the next update continues.
        unsearched: What the walk left out.
    """

    files: int
    read: int
    dropped: int
    refused: int
    seconds: float
    complete: bool = True
    left_out: int = 0
    disk_full: str = ""
    unsearched: Unsearched = field(default_factory=Unsearched)

    @property
    def full(self) -> bool:
        """Return whether the index reached its size limit."""
        return self.left_out > 0 and not self.disk_full

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what the user should know about it, as sentences."""
        notes = []
        if self.disk_full:
            what = f"{self.left_out:,} of {self.files:,} files are not in the index yet"
            what = what if self.left_out else "the ranking is not updated"
            notes.append(
                f"the disk is full: {what}; free some space for {self.disk_full}, and the next scan of the folder"
                " completes it"
            )
        if self.full:
            notes.append(
                f"the index is full: {self.left_out:,} of {self.files:,} files are not in it; index a smaller folder"
            )
        if not self.complete:
            notes.append(f"only the first {self.files:,} files were indexed; start in a smaller folder")
        if self.refused:
            notes.append(f"{self.refused} files could not be parsed and are known by name only")
        return tuple(notes)


def is_current(connection: sqlite3.Connection, listing: FileListing) -> bool:
    """Return whether an update with this listing would change nothing.

    Raises:
        sqlite3.Error: The index cannot be read.
    """
    if not listing.complete or _noted_grammars(connection) != fingerprints():
        return False
    known = set(connection.execute("select path, size, mtime_ns from files"))
    listed = {(os.fsencode(entry.path), entry.size, entry.mtime_ns) for entry in listing.entries}
    return known <= listed and all(sensitive_reason(os.fsdecode(path)) for path, _, _ in listed - known)


def changed_languages(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the languages whose grammar or queries have changed since the index was built."""
    before = _noted_grammars(connection)
    if before is None:
        note_grammars(connection)  # a new index contains nothing older
        return frozenset()
    changed = {name for name, now in fingerprints().items() if before.get(name) != now}
    # Headers with C's suffix may be C++.
    return frozenset(changed | {"c"} if "cpp" in changed else changed)


def note_grammars(connection: sqlite3.Connection) -> None:
    """Record in the index that all its files were parsed by the installed grammars."""
    noted = json.dumps(dict(fingerprints()))
    connection.execute("insert or replace into meta (key, value) values ('grammars', ?)", (noted,))


def _noted_grammars(connection: sqlite3.Connection) -> dict[str, str] | None:
    row = connection.execute("select value from meta where key = 'grammars'").fetchone()
    noted: dict[str, str] | None = json.loads(row[0]) if row else None
    return noted
