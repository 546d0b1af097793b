"""The lines that search and find answer with, `symbol path:line: code`, and what they are made from.

A model picks the right line far more often when the name comes before the path than after it.
"""

from collections.abc import Sequence

from laguna_tui.base.path_globs import glob_matches
from laguna_tui.base.paths import escaped
from laguna_tui.base.units import clipped
from laguna_tui.repo.files.root_folder import nfc
from laguna_tui.repo.files.text_files import decode, is_binary, split_lines
from laguna_tui.repo.files.unsearched import Unsearched
from laguna_tui.repo.files.walk import FileListing
from laguna_tui.repo.files.workspace import READ_LIMIT_BYTES, UnreadableError, Workspace

_SPECIAL = frozenset("*?[")


def is_glob(text: str) -> bool:
    """Return whether a text has a character that is special in a glob."""
    return not _SPECIAL.isdisjoint(text)


def path_matches(glob: str, path: str) -> bool:
    """Return whether a glob matches the whole path.

    Without "/" it matches at any depth; one that ends in "/" matches everything in a folder.
    """
    whole = glob if "/" in glob else f"**/{glob}"
    return glob_matches(f"{whole}**" if whole.endswith("/") else whole, path, sets=True)


# Enough for any signature's first line.
CODE_CHARS = 120
NO_SYMBOL = "-"
"""Stands in a result line for the name of a definition, where the line lies in none."""


def coverage(listing: FileListing, *, found: bool, elsewhere: str) -> list[str]:
    """Return the last lines: that files were skipped for lack of time, and if nothing was found, what was not searched.

    Args:
        listing: The files, and what is not among them.
        found: Whether there are results.
        elsewhere: How to search another repository.
    """
    lines = [] if found else not_covered(listing.unsearched, elsewhere)
    if not listing.complete:
        lines.append(f"… only the first {len(listing.entries):,} files were looked at; start in a smaller folder")
    return lines


def not_covered(unsearched: Unsearched, elsewhere: str) -> list[str]:
    """Return the line that says what was not searched, if anything."""
    sentence = unsearched.sentence(elsewhere)
    return [f"… {sentence}"] if sentence else []


def symbol_line(symbol: str, path: str, line: int, code: str) -> str:
    """Return one result line; the code is stripped and cut."""
    return f"{symbol} {escaped(path)}:{line}: {shortened(code.strip())}"


def shortened(code: str) -> str:
    """Return the code, cut with a mark if it is longer than a result line shows."""
    return clipped(code, CODE_CHARS)


def read_lines(workspace: Workspace, inside: str, limit: int = READ_LIMIT_BYTES) -> list[str]:
    """Return the lines of a located file, without newlines.

    Raises:
        UnreadableError: It cannot be read, is larger than `limit` bytes, or is binary.
    """
    data = workspace.read(inside, limit)
    if is_binary(data):
        raise UnreadableError(f"{escaped(inside)} is a binary file; try another file")
    return split_lines(decode(data).text)


def matching_paths(pattern: str, paths: Sequence[str]) -> list[str]:
    """Return the paths that contain the text (ignoring case unless it has capitals) or that the glob matches."""
    pattern = nfc(pattern)
    exact = pattern != pattern.lower()
    plain = {path: nfc(path) for path in paths}
    contained = {path for path, text in plain.items() if pattern in (text if exact else text.lower())}
    if is_glob(pattern):
        contained.update(path for path, text in plain.items() if path_matches(pattern, text))
    return sorted(contained)
