"""How many files a command can be kept from. Where there are more, it runs only after the user has agreed."""

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from laguna_tui.sandbox.folder_walk import MAX_ENTRIES, Found, fullest_folder

MAX_MOUNTS = 1_000
"""Files and folders of the workspace that are mounted for a command, including the folders around them. The time grows
with their square (bubblewrap 0.8: 1,000 take 1 s, 4,000 more than its 9,000 arguments)."""
MAX_BEYOND = 200
"""Of each kind the files that a command is still kept from, the nearest first, once the user has agreed."""

_TOO_MANY = (
    "of this folder more than {most:,} files and folders are protected, hold secrets or match your rules, and a command"
    " cannot be kept from more; most of them are in {place}: hide it as a whole with laguna-tui permissions deny"
    " 'read({place}/**)'"
)
_TOO_MANY_HERE = (
    "of this folder more than {most:,} files and folders are protected, hold secrets or match your rules, and a command"
    " cannot be kept from more; move them into one folder, and hide it with laguna-tui permissions deny"
    " 'read(FOLDER/**)'"
)
_FULL = (
    "this folder contains {most:,} files and folders or more, most of them in {place}, and a command is kept from"
    " secrets and protected files among the first {most:,} only; move {place} out of this folder"
)


class LimitReachedError(OSError):
    """A command cannot be kept from everything it should be; the message says why and what to do, as a clause."""


def check_limits(root: Path, found: Found, kept: Collection[Path]) -> None:
    """Check that a command is kept from everything that there is.

    Args:
        root: The workspace, without links in its path.
        found: What was found in it.
        kept: What is mounted for it, or a part of that.

    Raises:
        LimitReachedError: There is too much.
    """
    if found.filled_by is not None:
        place = _named(root, found.filled_by)
        raise LimitReachedError(_FULL.format(most=MAX_ENTRIES, place=place))
    if len(kept) > MAX_MOUNTS:
        place = fullest_folder(_counts(root, kept))
        text = _TOO_MANY if place else _TOO_MANY_HERE
        raise LimitReachedError(text.format(most=MAX_MOUNTS, place=place))


def _counts(root: Path, paths: Iterable[Path]) -> Counter[str]:
    return Counter("/".join(path.relative_to(root).parts[:-1]) if path.is_relative_to(root) else "" for path in paths)


def _named(root: Path, folder: Path) -> str:
    return str(folder.relative_to(root)) if folder != root else "its top"
