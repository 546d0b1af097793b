"""The turns of a session and what each changed, as one event a line on disk; reading the lines gives the same state.

Lines name what is large (trees, changes, steps) by its hash in the object store.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.base.locked_file import open_private
from laguna_tui.base.object_store import ObjectStore, StoreError
from laguna_tui.undo.file_tree import Entry, EntryKind, FileTree
from laguna_tui.undo.restore import RestoreStep
from laguna_tui.undo.tree_changes import TreeChange, TreeDifference, joined

LOG = "turns.jsonl"
_VERSION = 1
_LOG_BYTES = 1 << 28
# Trees are stored as what differs from the one before; after so many, whole, so that the last is soon read.
_WHOLE_EVERY = 50

Event = Mapping[str, Any]


class UndoKind(StrEnum):
    """Which way the files go."""

    UNDO = "undo"
    REDO = "redo"
    REWIND = "rewind"


@dataclass(slots=True)
class OpenChange:
    """A change that has begun.

    Attributes:
        tree: Name of the tree before a command; empty when only `paths` can change.
        paths: What was at the paths that are changed.
    """

    tree: str = ""
    paths: dict[str, Entry | None] = field(default_factory=dict)


@dataclass(slots=True)
class LoggedTurn:
    """A user's message and all that was done to the files until the next one.

    Attributes:
        number: From 1; never given twice.
        title: The message, or its beginning.
        time: When it began, in seconds since the epoch.
        ran_commands: Whether something may have been changed anywhere.
        changes: What was changed, by path.
        left: Paths that appeared, but may have been there before.
        open: The change that has begun and not ended.
    """

    number: int
    title: str
    time: float
    ran_commands: bool = False
    changes: dict[str, TreeChange] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    open: OpenChange | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """An undo that has begun: its direction, the turns concerned, and the name of its steps."""

    kind: UndoKind
    numbers: tuple[int, ...]
    steps: str


class UndoLog:
    """The state of a session's undo, written as it changes.

    Attributes:
        turns: Oldest first.
        position: How many of them are done; the others are undone.
        unfinished: An undo that was begun and not ended, by a process that was killed.
        last_number: Of the last turn that was begun.
        events: How many lines there are; another number means another state.
        tree: Name of the last whole tree; empty if there is none.
    """

    def __init__(self, root: Path, store: ObjectStore) -> None:
        """Read the log of a store, and create it if there is none.

        Raises:
            StoreError: It cannot be read or created, or belongs to another folder.
        """
        self.turns: list[LoggedTurn] = []
        self.position = 0
        self.unfinished: Applied | None = None
        self.last_number = 0
        self.events = 0
        self.tree = ""
        self._store = store
        self._last: FileTree | None = None
        self._since_whole = 0
        try:
            self._file = open_private(store.folder / LOG, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            raise _refused(store.folder, error) from error
        try:
            self._read(root)
        except (StoreError, OSError, ValueError, KeyError, TypeError, IndexError) as error:
            self.close()
            raise StoreError(f"the undo log in {store.folder} cannot be read ({error})") from error

    def record(self, event: Event, *, durable: bool = False) -> None:
        """Write an event, and take it into the state.

        Raises:
            StoreError: The disk refuses; the state is as it was.
        """
        self._append(event, durable)
        self._take(event)

    def stored_tree(self, tree: FileTree) -> str:
        """Store a tree; returns its name."""
        whole = self._last is None or self._since_whole >= _WHOLE_EVERY
        known: Mapping[str, Entry] = {} if whole or self._last is None else self._last.entries
        same_ignored = not whole and self._last is not None and self._last.ignored == tree.ignored
        self.tree = self._put(
            {
                "base": "" if whole else self.tree,
                "changed": {path: entry for path, entry in tree.entries.items() if known.get(path) != entry},
                "removed": sorted(known.keys() - tree.entries.keys()),
                "ignored": None if same_ignored else sorted(tree.ignored),
                "began": tree.began_ns,
                "complete": tree.complete,
            }
        )
        self._last, self._since_whole = tree, 0 if whole else self._since_whole + 1
        return self.tree

    def load_tree(self, name: str) -> FileTree:
        """Return a stored tree.

        Raises:
            StoreError: It is missing or damaged.
        """
        if name == self.tree and self._last is not None:
            return self._last
        chain = [self._got(name)]
        while base := chain[-1]["base"]:
            chain.append(self._got(base))
        entries: dict[str, Entry] = {}
        ignored: Sequence[str] = ()
        for part in reversed(chain):
            for path in part["removed"]:
                entries.pop(path, None)
            entries.update((path, _entry(values)) for path, values in part["changed"].items())
            ignored = ignored if part["ignored"] is None else part["ignored"]
        tree = FileTree(entries, frozenset(ignored), chain[0]["began"], chain[0]["complete"])
        if name == self.tree:
            self._last, self._since_whole = tree, len(chain) - 1
        return tree

    def stored_difference(self, found: TreeDifference) -> str:
        """Store changes; returns their name."""
        return self._put({"changes": found.changes, "left": found.left})

    def stored_steps(self, steps: Iterable[RestoreStep]) -> str:
        """Store the steps of an undo; returns their name."""
        return self._put({"steps": list(steps)})

    def load_steps(self, name: str) -> tuple[RestoreStep, ...]:
        """Return stored steps. Raises as `load_tree`."""
        return tuple(RestoreStep(path, _maybe(now), _maybe(then)) for path, now, then in self._got(name)["steps"])

    def close(self) -> None:
        """Close it. Idempotent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _append(self, event: Event, durable: bool) -> None:
        size = os.fstat(self._file).st_size
        left = memoryview(json.dumps(event, separators=(",", ":")).encode() + b"\n")
        try:
            while left:
                left = left[os.write(self._file, left) :]
            if durable:
                self._store.flush()
                os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, size)
            raise _refused(self._store.folder, error) from error

    def _read(self, root: Path) -> None:
        size = os.fstat(self._file).st_size
        data = os.pread(self._file, size, 0)
        whole = data.rfind(b"\n") + 1
        # A line that was being written when the process was killed: what it says had not begun.
        os.ftruncate(self._file, whole)
        if not whole:
            self._append({"event": "folder", "version": _VERSION, "root": str(root)}, durable=False)
            return
        first, *events = (json.loads(line) for line in data[:whole].splitlines())
        if (first["version"], first["root"]) != (_VERSION, str(root)):
            raise StoreError("it belongs to another folder or version")
        for event in events:
            self._take(event)

    def _take(self, event: Event) -> None:
        takes: dict[str, Callable[[Event], None]] = {
            "turn": self._take_turn,
            "before": self._take_before,
            "after": self._take_after,
            "apply": self._take_apply,
            "applied": self._take_applied,
        }
        takes[event["event"]](event)
        self.events += 1

    def _take_turn(self, event: Event) -> None:
        del self.turns[self.position :]
        self.last_number = event["number"]
        self.turns.append(LoggedTurn(event["number"], event["title"], event["time"]))
        self.position = len(self.turns)
        self.unfinished = None

    def _take_before(self, event: Event) -> None:
        turn = self.turns[self.position - 1]
        turn.open = turn.open or OpenChange()
        if event["tree"]:
            turn.open.tree = self.tree = event["tree"]
            turn.ran_commands = True
        turn.open.paths |= {path: _maybe(entry) for path, entry in event["paths"].items()}

    def _take_after(self, event: Event) -> None:
        turn = self.turns[self.position - 1]
        found = self._got(event["changes"])
        changes = {
            path: TreeChange(_maybe(old), _maybe(new), why) for path, (old, new, why) in found["changes"].items()
        }
        turn.changes = joined((turn.changes, changes))
        turn.left = (*turn.left, *found["left"])
        turn.open = None

    def _take_apply(self, event: Event) -> None:
        self.unfinished = Applied(UndoKind(event["kind"]), tuple(event["numbers"]), event["steps"])
        self.position = event["position"]
        by_number = {turn.number: turn for turn in self.turns}
        for path, (number, entry) in event["replaced"].items():
            changes = by_number[number].changes
            change, found = changes[path], _maybe(entry)
            is_redo = self.unfinished.kind is UndoKind.REDO
            changes[path] = change._replace(before=found) if is_redo else change._replace(after=found)

    def _take_applied(self, event: Event) -> None:
        self.unfinished = None

    def _put(self, value: Mapping[str, Any]) -> str:
        return self._store.put(json.dumps(value, separators=(",", ":")).encode(), limited=False)

    def _got(self, name: str) -> Any:
        return json.loads(self._store.get(name))


def move_log(store: Path, root: Path) -> None:
    """Have the log in a store be about another folder; nothing if there is none.

    Raises:
        OSError, ValueError: It cannot be read or written.
    """
    path = store / LOG
    try:
        data = read_small_file(path, _LOG_BYTES, follow=False)
    except FileNotFoundError:
        return
    first, newline, rest = data.partition(b"\n")
    if newline:
        write_atomically(path, json.dumps({**json.loads(first), "root": str(root)}).encode() + newline + rest)


def unfinished_stores(parents: Iterable[Path], root: Path) -> list[Path]:
    """Stores of sessions about a folder that were killed in the middle of an undo, oldest first.

    Args:
        parents: Folders with stores, or with folders of sessions that have one.
        root: The workspace.
    """
    found: list[tuple[float, Path]] = []
    for log in (each for parent in parents for pattern in (LOG, f"*/{LOG}") for each in parent.glob(f"*/{pattern}")):
        with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
            lines = read_small_file(log, _LOG_BYTES, follow=False).splitlines()
            first, last = json.loads(lines[0]), json.loads(lines[-1])
            if first["root"] == str(root) and last["event"] == "apply":
                found.append((log.stat().st_mtime, log.parent))
    return [store for _, store in sorted(found)]


def _entry(values: Sequence[Any]) -> Entry:
    return Entry(EntryKind(values[0]), *values[1:])


def _maybe(values: Sequence[Any] | None) -> Entry | None:
    return None if values is None else _entry(values)


def _refused(folder: Path, error: OSError) -> StoreError:
    return StoreError(f"nothing can be stored in {folder} ({(error.strerror or str(error)).lower()})")
