"""What changed in a folder between two moments, by path, and how several such changes add up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from laguna_tui.undo.file_tree import UNSETTLED, EntryKind, FileTree, PathState, same

# Clocks of a file system and of the processor differ by less.
_CLOCK_NS = 2_000_000_000

ALSO_BY_OTHERS = "it was also changed by someone else in between"
AUTHOR_UNKNOWN = "laguna-tui ended while it was being changed, so who changed it is unknown"


class TreeChange(NamedTuple):
    """What happened at one path.

    Attributes:
        before, after: What was there before and after; None is nothing.
        unsure: Why the change may not be the turn's alone, as a clause; usually empty.
    """

    before: PathState | None
    after: PathState | None
    unsure: str = ""


@dataclass(frozen=True, slots=True)
class TreeDifference:
    """The changes between two moments.

    Attributes:
        changes: By path.
        left: Paths of files that appeared, but that may have been there before, unseen; they are not undone.
    """

    changes: Mapping[str, TreeChange]
    left: tuple[str, ...] = ()


def difference(before: FileTree, after: FileTree, unsure: str = "") -> TreeDifference:
    """Return the changes from one tree to a later one, which covers all paths of the first.

    A path that only the later tree has was created, unless it was ignored before or is older than the first tree.
    """
    changes: dict[str, TreeChange] = {}
    left: list[str] = []
    for path, entry in after.entries.items():
        old = before.entries.get(path)
        if old is not None:
            if old is not entry and not same(old, entry):
                changes[path] = TreeChange(old, entry, unsure)
        elif _is_new(before, path, entry):
            changes[path] = TreeChange(None, entry, unsure)
        else:
            left.append(path)
    if left:
        # Files in a folder that was moved keep their times.
        moved = {_identity(entry) for entry in before.entries.values()}
        changes |= {
            path: TreeChange(None, after.entries[path], unsure)
            for path in left
            if _identity(after.entries[path]) in moved
        }
        left = [path for path in left if path not in changes and after.entries[path].kind is not EntryKind.FOLDER]
    for path in before.entries.keys() - after.entries.keys():
        changes[path] = TreeChange(before.entries[path], None, unsure)
    return TreeDifference(changes, tuple(left))


def _identity(entry: PathState) -> tuple[int, int, int]:
    return entry.inode, entry.mtime_ns, entry.size


def _is_new(before: FileTree, path: str, entry: PathState) -> bool:
    """Return whether something that was not listed before was not there before, for certain."""
    recent = entry.ctime_ns == UNSETTLED or entry.ctime_ns >= before.began_ns - _CLOCK_NS
    return before.complete and recent and not before.ignores(path)


def listed_difference(
    before: Mapping[str, PathState | None], after: Mapping[str, PathState | None], unsure: str = ""
) -> TreeDifference:
    """Return the changes of paths that were read one by one at both moments."""
    return TreeDifference(
        {path: TreeChange(old, after[path], unsure) for path, old in before.items() if not same(old, after[path])}
    )


def joined(steps: Iterable[Mapping[str, TreeChange]]) -> dict[str, TreeChange]:
    """Join successive changes: for each path what was there first and what is there last.

    A path that was not left alone in between, and one that ends as it began, keep the reason in `unsure`.
    """
    total: dict[str, TreeChange] = {}
    for changes in steps:
        for path, change in changes.items():
            earlier = total.get(path)
            if earlier is None:
                total[path] = change
                continue
            unsure = earlier.unsure or change.unsure
            if not same(earlier.after, change.before):
                unsure = unsure or ALSO_BY_OTHERS
            total[path] = TreeChange(earlier.before, change.after, unsure)
    return {path: change for path, change in total.items() if change.unsure or not same(change.before, change.after)}
