"""Parsing of a file into what the index stores. Runs in worker processes, so its values are tuples of plain values.

Reads regular files only, never through a link in any part of the path below the folder, and at most the size limit.
"""

import os
import stat
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.repo.files.text_files import INDEXED_BYTES, decode, is_binary
from laguna_tui.repo.search.identifiers import stemmed_words, stems, tokens
from laguna_tui.repo.syntax.analysis import analyse
from laguna_tui.repo.syntax.symbols import Syntax

# A file with more words than this is data too; the first ones are indexed.
WORDS_PER_FILE = 100_000
_DIGEST_BYTES = 16
# How many times a word of a unit's title and of its path counts as much as one of its body.
_TITLE_WEIGHT, _PATH_WEIGHT = 4, 2


class ParseTask(NamedTuple):
    """A listed file to parse, and the digest of its indexed version."""

    path: str
    digest: bytes | None = None
    size: int = 0
    mtime_ns: int = 0


class FileWords(NamedTuple):
    """The words of one file's units.

    Attributes:
        words: Every stem once.
        word: [n] uint32, indexes into `words`; with `unit` and `weight` the occurrences of one word in one unit.
        unit: [n] uint32, places of the units in the file.
        weight: [n] uint32, number of occurrences, weighted by where they are.
        lengths: [units] uint32, number of words.
    """

    words: tuple[str, ...] = ()
    word: bytes = b""
    unit: bytes = b""
    weight: bytes = b""
    lengths: bytes = b""


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
    """Return a file without read access: indexed by name, so that it is not tried again until it changes."""
    try:
        status = tree.lstat(path)
    except OSError:
        return None
    return ParsedFile(status.st_size, status.st_mtime_ns, None) if stat.S_ISREG(status.st_mode) else None


def _analysed(path: str, found: ParsedFile, text: str) -> ParsedFile:
    syntax = analyse(path, text, guess=True)
    units = ((unit.title, [text[start:stop] for start, stop in unit.spans]) for unit in syntax.units)
    return found._replace(syntax=syntax, words=file_words(path, units, WORDS_PER_FILE))


def file_words(path: str, units: Iterable[tuple[str, Sequence[str]]], limit: int) -> FileWords:
    """Return the words of a file's units, stemmed as those of a question are.

    Args:
        path: Of the file; its words are every unit's.
        units: For each its title and its pieces of text.
        limit: Most tokens of text; those after it are left out.
    """
    numbers: dict[str, int] = {}
    word, unit, weight, lengths = (array("I") for _ in range(4))
    of_path = Counter(stemmed_words(path))
    for place, (title, pieces) in enumerate(units):
        body = [token for piece in pieces for token in tokens(piece)][:limit]
        limit -= len(body)
        counted: Counter[str] = Counter()
        for token, count in Counter(body).items():
            for stem in stems(token):
                counted[stem] += count
        of_title = Counter(stemmed_words(title))
        lengths.append(counted.total() + of_title.total() + of_path.total())
        for extra, times in ((of_title, _TITLE_WEIGHT), (of_path, _PATH_WEIGHT)):
            for stem, count in extra.items():
                counted[stem] += count * times
        for stem, count in counted.items():
            word.append(numbers.setdefault(stem, len(numbers)))
            unit.append(place)
            weight.append(count)
    return FileWords(tuple(numbers), word.tobytes(), unit.tobytes(), weight.tobytes(), lengths.tobytes())
