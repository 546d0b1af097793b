"""What an undo would do, as values, and which files it may change without asking again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import clipped, plural, some_of
from laguna_tui.undo.file_tree import EntryKind, PathState, same
from laguna_tui.undo.tree_changes import TreeChange
from laguna_tui.undo.undo_log import LoggedTurn, UndoKind

# Paths that a sentence names, and characters of a message that it quotes.
_NAMED, _TITLE_CHARS = 5, 60
CHANGED_SINCE = "it was changed since"
_COMMANDS_NOTE = (
    "What commands changed outside the folder, in ignored files (build output, installed packages) and in .git"
    " (commits, branches) is not tracked and stays."
)


@dataclass(frozen=True, slots=True)
class UndoPoint:
    """A turn that one can go back to.

    Attributes:
        number: From 1; never given twice in a session.
        title: The user's message, shortened. Raw.
        time: When it began, in seconds since the epoch.
        paths: The files and links that it changed, sorted; empty when it changed none. Raw.
        ran_commands: Whether it ran commands, whose other effects are not tracked.
        undone: Whether it is undone now.
    """

    number: int
    title: str
    time: float
    paths: tuple[str, ...]
    ran_commands: bool
    undone: bool


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One path that an undo changes.

    Attributes:
        path: Raw.
        now, then: What is there and what would be; None is nothing.
        conflict: Why it is only changed if the user agrees, as a clause; empty for all others.
    """

    path: str
    now: PathState | None = field(repr=False)
    then: PathState | None = field(repr=False)
    conflict: str = ""

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, before and after; front ends show files and links only."""
        return is_folder(self.now, self.then)

    @property
    def action(self) -> str:
        """What is done: "create", "delete" or "restore"."""
        if self.now is None:
            return "create"
        return "delete" if self.then is None else "restore"


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What an undo would do. Valid until something else is done to the history.

    Attributes:
        kind: The direction.
        points: The turns concerned, in the order in which they are undone or redone.
        files: What is changed without asking again.
        conflicts: What the user changed meanwhile; kept unless named to `apply`.
        uncovered: Paths that stay as they are because their bytes are not stored, and why.
        notes: Sentences about what is not tracked.
        state, position: Of the history: the state that the plan is for, and how many turns are not undone afterwards.
        unchanged: What is at paths of these turns that are already as they would be.
        resumes: Whether it is the rest of an undo that was killed.
    """

    kind: UndoKind
    points: tuple[UndoPoint, ...]
    files: tuple[PlannedFile, ...]
    conflicts: tuple[PlannedFile, ...]
    uncovered: Mapping[str, str]
    notes: tuple[str, ...]
    state: int = field(repr=False)
    position: int = field(repr=False)
    unchanged: Mapping[str, PathState | None] = field(repr=False)
    resumes: bool = False


@dataclass(frozen=True, slots=True)
class UndoResult:
    """What an undo did.

    Attributes:
        kind, points: As in the plan.
        restored: Paths of the files and links that are now as they were, sorted.
        skipped: Paths that stay as they are, and why, as a clause.
        notes: Sentences about what is not tracked.
    """

    kind: UndoKind
    points: tuple[UndoPoint, ...]
    restored: tuple[str, ...]
    skipped: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What was done, for the user, raw."""
        redone = self.kind is UndoKind.REDO
        first, count = min(self.points, key=lambda point: point.number), len(self.points)
        title = f"“{clipped(sanitize_line(first.title), _TITLE_CHARS)}”"
        named = title if count == 1 else f"{count} messages, from {title} on"
        back = "" if redone else " /redo brings it back."
        return f"{'Redone' if redone else 'Undone'}: {named}. {self.outcome}{back}"

    @property
    def outcome(self) -> str:
        """What became of the files, as sentences, raw."""
        count, restored = len(self.restored), some_of(list(map(sanitize_line, self.restored)), _NAMED)
        said = [f"Restored {count:,} {plural(count, 'file')}: {restored}."] if count else []
        if self.skipped:
            skipped = [sanitize_line(f"{path} ({why})") for path, why in self.skipped.items()]
            said.append(f"Not changed: {some_of(skipped, _NAMED)}.")
        return " ".join([*(said or ["No file was changed."]), *self.notes])


def sorted_out(
    changes: Mapping[str, TreeChange], now: Mapping[str, PathState | None], kind: UndoKind
) -> tuple[tuple[PlannedFile, ...], tuple[PlannedFile, ...], Mapping[str, str]]:
    """Return what is changed, the conflicts and what is not covered, as in `UndoPlan`.

    Args:
        changes: Of the turns concerned, as one.
        now: What is at each of their paths.
        kind: The direction.
    """
    files: list[PlannedFile] = []
    conflicts: list[PlannedFile] = []
    uncovered: dict[str, str] = {}
    for path, change in sorted(changes.items()):
        left, then = (change.before, change.after) if kind is UndoKind.REDO else (change.after, change.before)
        here = now[path]
        if same(here, then):
            continue
        uncovered_side = (each for each in (then, here) if each is not None and each.kind is EntryKind.UNCOVERED)
        unknown = next(uncovered_side, None)
        unsure = "" if kind is UndoKind.REDO else change.unsure
        if unknown is not None:
            uncovered[path] = unknown.why
        elif unsure or not same(here, left):
            conflicts.append(PlannedFile(path, here, then, CHANGED_SINCE if not same(here, left) else unsure))
        else:
            files.append(PlannedFile(path, here, then))
    return tuple(files), tuple(conflicts), uncovered


def paths_of_files(changes: Mapping[str, TreeChange]) -> tuple[str, ...]:
    """Return the paths of changes except folders, sorted."""
    return tuple(sorted(path for path, change in changes.items() if not is_folder(change.before, change.after)))


def is_folder(*sides: PathState | None) -> bool:
    """Return whether there is a folder or nothing on each side."""
    return all(entry is None or entry.kind is EntryKind.FOLDER for entry in sides)


def notes(turns: Iterable[LoggedTurn]) -> tuple[str, ...]:
    """Return sentences about what of the turns is not tracked."""
    turns = tuple(turns)
    found = [_COMMANDS_NOTE] if any(turn.ran_commands for turn in turns) else []
    if left := len({path for turn in turns for path in turn.left}):
        files = plural(
            left,
            "1 file that may have been there before, unlisted, stays",
            f"{left:,} files that may have been there before, unlisted, stay",
        )
        found.append(f"{files}.")
    return tuple(found)
