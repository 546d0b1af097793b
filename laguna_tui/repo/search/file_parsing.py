"""Parsing of a file into what the index stores. Runs in worker processes, so its values are tuples of plain values.

Reads regular files only, never through a link in any part of the path below the folder, and at most the size limit.
"""

import os
import stat
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.repo.files.text_files import INDEXED_BYTES, decode, is_binary
from laguna_tui.repo.search.unit_words import FileWords, file_words
from laguna_tui.repo.syntax.analysis import analyse
from laguna_tui.repo.syntax.symbols import Syntax

# A file with more words than this is data too; the first ones are indexed.
WORDS_PER_FILE = 100_000
_DIGEST_BYTES = 16


class ParseTask(NamedTuple):
    """A listed file to parse, and the digest of its indexed version."""

    path: str
    digest: bytes | None = None
    size: int = 0
    mtime_ns: int = 0


class ParsedFile(NamedTuple):
    """One parsed file.

    Attributes:
        size: Bytes.
        mtime_ns: Time of its last change, by the file system.
        digest: Of its bytes; None when they were not read (too large, or no access).
        syntax: None when the digest equals the task's, or the file has no text.
        words: Of each unit.
        unchanged: Whether the digest equals the task's.
    """

    size: int
    mtime_ns: int
    digest: bytes | None
    syntax: Syntax | None = None
    words: FileWords = FileWords()
    unchanged: bool = False


def parse_file(root: Path, task: ParseTask) -> ParsedFile | None:
    """Read and analyse a file; None when it is gone, behind a link or not a regular file."""
    with RootFolder(root) as tree:
        try:
            handle = tree.open(task.path)
        except FileNotFoundError:
            return None
        except OSError:
            return _unread(tree, task.path)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > INDEXED_BYTES:
            return ParsedFile(status.st_size, status.st_mtime_ns, None)
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(INDEXED_BYTES)
    finally:
        os.close(handle)
    digest = blake2b(data, digest_size=_DIGEST_BYTES).digest()
    found = ParsedFile(status.st_size, status.st_mtime_ns, digest)
    if digest == task.digest:
        return found._replace(unchanged=True)
    return found if is_binary(data) else _analysed(task.path, found, decode(data).text)


def _unread(tree: RootFolder, path: str) -> ParsedFile | None:
    """A file without read access: indexed by name, so that it is not tried again until it changes."""
    try:
        status = tree.lstat(path)
    except OSError:
        return None
    return ParsedFile(status.st_size, status.st_mtime_ns, None) if stat.S_ISREG(status.st_mode) else None


def _analysed(path: str, found: ParsedFile, text: str) -> ParsedFile:
    syntax = analyse(path, text, guess=True)
    units = ((unit.title, [text[start:stop] for start, stop in unit.spans]) for unit in syntax.units)
    return found._replace(syntax=syntax, words=file_words(path, units, WORDS_PER_FILE))
