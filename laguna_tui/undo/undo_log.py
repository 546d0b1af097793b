"""The turns of a session and what each changed, as one event a line on disk; reading the lines gives the same state.

Lines name what is large (trees, changes, steps) by its hash in the object store.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.base.locked_file import open_private, reason
from laguna_tui.base.object_store import ObjectStore, StoreError
from laguna_tui.base.stored_json import from_json, to_json
from laguna_tui.undo.file_tree import FileTree, PathState
from laguna_tui.undo.restore import RestoreStep
from laguna_tui.undo.tree_changes import TreeChange, TreeDifference, joined

STORE = "undo"
"""The folder of a session that has its undo store."""
LOG = "turns.jsonl"
_VERSION = 1
_LOG_BYTES = 1 << 28
# Trees are stored as what differs from the one before; after this many, whole, so that the last one is soon read.
_WHOLE_EVERY = 50
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError)


class UndoKind(StrEnum):
    """Which way the files go."""

    UNDO = "undo"
    REDO = "redo"
    REWIND = "rewind"


class LogEvent(Struct, tag_field="event", frozen=True):
    """A line of the log."""


class LogBegan(LogEvent, tag="folder", frozen=True):
    """The first line. root: The workspace."""

    version: int
    root: str


class TurnLogged(LogEvent, tag="turn", frozen=True):
    """A turn began; turns that are undone are forgotten."""

    number: int
    title: str
    time: float


class ChangeBegan(LogEvent, tag="before", frozen=True):
    """A change is about to be made.

    Attributes:
        tree: Name of the tree before a command; empty when only `paths` can change.
        paths: What is at the paths that are changed.
    """

    tree: str
    paths: Mapping[str, PathState | None]


class ChangeEnded(LogEvent, tag="after", frozen=True):
    """The change was made. changes: Name of its `TreeDifference`."""

    changes: str


class UndoBegan(LogEvent, tag="apply", frozen=True):
    """An undo is about to be made.

    Attributes:
        kind: Its direction.
        numbers: The turns concerned.
        position: How many turns are not undone afterwards.
        steps: Name of its `Steps`.
        replaced: What it replaces at paths that were changed since: the turn that it belongs to, and what was there.
    """

    kind: UndoKind
    numbers: tuple[int, ...]
    position: int
    steps: str
    replaced: Mapping[str, tuple[int, PathState | None]]


class UndoEnded(LogEvent, tag="applied", frozen=True):
    """The undo was made."""


_Line = LogBegan | TurnLogged | ChangeBegan | ChangeEnded | UndoBegan | UndoEnded


class _StoredTree(Struct):
    """A tree, as what differs from another one, its `base`; empty for none. ignored: None as in the base."""

    base: str
    changed: Mapping[str, PathState]
    removed: list[str]
    ignored: list[str] | None
    began: int
    complete: bool


class Steps(Struct):
    """The steps of an undo."""

    steps: tuple[RestoreStep, ...]


@dataclass(slots=True)
class OpenChange:
    """A change that has begun; fields as of `ChangeBegan`."""

    tree: str = ""
    paths: dict[str, PathState | None] = field(default_factory=dict)


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


class UndoLog:
    """The state of a session's undo, written as it changes.

    Attributes:
        turns: Oldest first.
        position: How many of them are not undone.
        unfinished: An undo that was begun and not ended, by a process that was killed.
        last_number: Of the last turn that was begun.
        events: How many lines there are; another number means another state.
        tree: Name of the last tree; empty if there is none.
    """

    def __init__(self, root: Path, store: ObjectStore) -> None:
        """Read the log of a store, and create it if there is none.

        Raises:
            StoreError: It cannot be read or created, or belongs to another folder.
        """
        self.turns: list[LoggedTurn] = []
        self.position = 0
        self.unfinished: UndoBegan | None = None
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
        except (StoreError, *_UNREADABLE) as error:
            self.close()
            raise StoreError(f"the undo log in {store.folder} cannot be read ({error})") from error

    def record(self, event: _Line, *, durable: bool = False) -> None:
        """Write an event, and apply it to the state.

        Raises:
            StoreError: The disk refuses; the state is as it was.
        """
        self._append(event, durable)
        self._take(event)

    def stored_tree(self, tree: FileTree) -> str:
        """Store a tree; returns its name."""
        base = None if self._since_whole >= _WHOLE_EVERY else self._last
        known: Mapping[str, PathState] = {} if base is None else base.entries
        part = _StoredTree(
            base="" if base is None else self.tree,
            changed={path: entry for path, entry in tree.entries.items() if known.get(path) != entry},
            removed=sorted(known.keys() - tree.entries.keys()),
            ignored=None if base is not None and base.ignored == tree.ignored else sorted(tree.ignored),
            began=tree.began_ns,
            complete=tree.complete,
        )
        self.tree = self.stored(part)
        self._last, self._since_whole = tree, 0 if base is None else self._since_whole + 1
        return self.tree

    def load_tree(self, name: str) -> FileTree:
        """Return a stored tree.

        Raises:
            StoreError: It is missing or damaged.
        """
        if name == self.tree and self._last is not None:
            return self._last
        chain = [from_json(self._store.get(name), _StoredTree)]
        while base := chain[-1].base:
            chain.append(from_json(self._store.get(base), _StoredTree))
        entries: dict[str, PathState] = {}
        ignored: list[str] = []
        for part in reversed(chain):
            for path in part.removed:
                entries.pop(path, None)
            entries.update(part.changed)
            ignored = ignored if part.ignored is None else part.ignored
        tree = FileTree(entries, frozenset(ignored), chain[0].began, chain[0].complete)
        if name == self.tree:
            self._last, self._since_whole = tree, len(chain) - 1
        return tree

    def stored(self, value: TreeDifference | Steps | _StoredTree) -> str:
        """Store what a line names; returns its name."""
        return self._store.put(to_json(value), limited=False)

    def load_steps(self, name: str) -> tuple[RestoreStep, ...]:
        """Return stored steps. Raises as `load_tree`."""
        return from_json(self._store.get(name), Steps).steps

    def close(self) -> None:
        """Close it. Idempotent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _append(self, event: _Line, durable: bool) -> None:
        size = os.fstat(self._file).st_size
        left = memoryview(to_json(event) + b"\n")
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
        expected = LogBegan(_VERSION, str(root))
        if not whole:
            self._append(expected, durable=False)
            return
        first, *lines = data[:whole].splitlines()
        if _decoded(first) != expected:
            raise StoreError("it belongs to another folder or version")
        for line in lines:
            self._take(_decoded(line))

    def _take(self, event: _Line) -> None:
        match event:
            case TurnLogged():
                del self.turns[self.position :]
                self.last_number = event.number
                self.turns.append(LoggedTurn(event.number, event.title, event.time))
                self.position = len(self.turns)
                self.unfinished = None
            case ChangeBegan():
                turn = self.turns[self.position - 1]
                turn.open = turn.open or OpenChange()
                if event.tree:
                    turn.open.tree = self.tree = event.tree
                    turn.ran_commands = True
                turn.open.paths |= event.paths
            case ChangeEnded():
                turn = self.turns[self.position - 1]
                found = from_json(self._store.get(event.changes), TreeDifference)
                turn.changes = joined((turn.changes, found.changes))
                turn.left = (*turn.left, *found.left)
                turn.open = None
            case UndoBegan():
                self._take_undo(event)
            case UndoEnded():
                self.unfinished = None
            case LogBegan():
                raise ValueError("a second beginning")
        self.events += 1

    def _take_undo(self, event: UndoBegan) -> None:
        self.unfinished, self.position = event, event.position
        by_number = {turn.number: turn for turn in self.turns}
        for path, (number, entry) in event.replaced.items():
            changes = by_number[number].changes
            is_redo = event.kind is UndoKind.REDO
            changes[path] = changes[path]._replace(before=entry) if is_redo else changes[path]._replace(after=entry)


def move_log(store: Path, root: Path) -> None:
    """Make the log in a store be about another folder; does nothing if there is none.

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


def unfinished_stores(sessions: Path, root: Path) -> list[Path]:
    """Return the stores of sessions about a folder that were killed in the middle of an undo, oldest first.

    Args:
        sessions: The folder of the sessions.
        root: The workspace.
    """
    found: list[tuple[float, Path]] = []
    for log in sessions.glob(f"*/{STORE}/{LOG}"):
        with suppress(*_UNREADABLE):
            lines = read_small_file(log, _LOG_BYTES, follow=False).splitlines()
            first, last = _decoded(lines[0]), _decoded(lines[-1])
            if isinstance(first, LogBegan) and first.root == str(root) and isinstance(last, UndoBegan):
                found.append((log.stat().st_mtime, log.parent))
    return [store for _, store in sorted(found)]


def _decoded(line: bytes) -> _Line:
    event: _Line = from_json(line, _Line)  # type: ignore[arg-type]
    return event


def _refused(folder: Path, error: OSError) -> StoreError:
    return StoreError(f"nothing can be stored in {folder} ({reason(error)})")
