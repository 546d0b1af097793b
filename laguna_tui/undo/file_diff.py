"""What changed in each file between two moments, as text with hunks, for a person to read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import fsdecode

from laguna_tui.base.change_proposal import ChangeKind, FileChange
from laguna_tui.base.object_store import ObjectStore
from laguna_tui.base.text_diff import Hunk, diff_texts
from laguna_tui.repo.files.text_files import decode, is_binary
from laguna_tui.undo.file_tree import EntryKind, PathState, same

# Nobody reads more; a command may have changed thousands of files.
TOTAL_LIMIT_BYTES = 16 * 1024 * 1024
_FILE_LIMIT_BYTES = 2 * 1024 * 1024

Pair = tuple[PathState | None, PathState | None]


@dataclass(frozen=True, slots=True)
class FileDiff(FileChange):
    """A file's change. All texts are raw: a front end passes them through `laguna_tui.base.text`.

    Attributes:
        path: Below the folder.
        kind: What happened to it.
        hunks: What changed, with some lines around it.
        note: A clause for the user: why no text is shown, or which mode it has now; usually empty.
        target: Of MOVE, the new path; else "".
    """

    path: str
    kind: ChangeKind
    hunks: tuple[Hunk, ...] = field(repr=False)
    note: str = ""
    target: str = ""


def file_diffs(pairs: Mapping[str, Pair], store: ObjectStore) -> tuple[FileDiff, ...]:
    """Return the changes sorted by path; folders are left out, and a file that was only moved is one change.

    Args:
        pairs: What was at each path, and what is.
        store: Has the contents.

    Raises:
        StoreError: Contents are missing.
    """
    files = {path: pair for path, pair in sorted(pairs.items()) if _is_shown(pair)}
    moves = dict(_moves(files))
    targets = set(moves.values())
    shown: list[FileDiff] = []
    left = TOTAL_LIMIT_BYTES
    for path, (before, after) in files.items():
        if path in moves:
            shown.append(FileDiff(path, ChangeKind.MOVE, (), target=moves[path]))
        elif path not in targets:
            size = sum(entry.size for entry in (before, after) if entry is not None)
            shown.append(_file_diff(path, before, after, store, room=min(left, 2 * _FILE_LIMIT_BYTES)))
            left -= min(size, left) if size <= 2 * _FILE_LIMIT_BYTES else 0
    return tuple(shown)


def _is_shown(pair: Pair) -> bool:
    return any(entry is not None and entry.kind is not EntryKind.FOLDER for entry in pair) and not same(*pair)


def _moves(files: Mapping[str, Pair]) -> Iterator[tuple[str, str]]:
    """Yield old and new path of files that disappeared and appeared again with the same bytes and mode."""
    appeared: dict[tuple[str, int], list[str]] = {}
    for path, (before, after) in files.items():
        if before is None and after is not None and after.kind is EntryKind.FILE and after.size:
            appeared.setdefault((after.content, after.mode), []).append(path)
    for path, (before, after) in files.items():
        if after is None and before is not None and before.kind is EntryKind.FILE:
            places = appeared.get((before.content, before.mode))
            if places:
                yield path, places.pop(0)


def _file_diff(path: str, before: PathState | None, after: PathState | None, store: ObjectStore, room: int) -> FileDiff:
    kind = ChangeKind.CREATE if before is None else ChangeKind.DELETE if after is None else ChangeKind.EDIT
    entries = [entry for entry in (before, after) if entry is not None and entry.kind is not EntryKind.FOLDER]
    notes = [entry.why for entry in entries if entry.kind is EntryKind.UNCOVERED][:1]
    if sum(entry.size for entry in entries) > room:
        notes.append("it is too large to show")
    if notes:
        return FileDiff(path, kind, (), notes[0])
    old, new = (_data(entry, store) for entry in (before, after))
    notes = [] if before is None or after is None else list(_differences(before, after))
    if is_binary(old) or is_binary(new):
        return FileDiff(path, kind, (), ", ".join(["it is binary", *notes]))
    hunks = diff_texts(_text(old, before), _text(new, after))
    return FileDiff(path, kind, hunks, ", ".join(notes))


def _differences(before: PathState, after: PathState) -> Iterator[str]:
    if before.kind is not after.kind:
        yield f"it was a {before.kind} and is a {after.kind}"
    elif before.mode != after.mode and before.kind is EntryKind.FILE:
        yield f"its mode was {before.mode:o} and is {after.mode:o}"


def _data(entry: PathState | None, store: ObjectStore) -> bytes:
    return store.get(entry.content) if entry is not None and entry.content else b""


def _text(data: bytes, entry: PathState | None) -> str:
    return fsdecode(data) if entry is not None and entry.kind is EntryKind.LINK else decode(data).text
