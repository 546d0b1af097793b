"""What a repository's commits contain, compared with files by the hash of their bytes.

The hashes of files are computed here, so nothing that git is configured with (index flags, filters, attributes,
replaced objects) decides whether a file is as committed.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from laguna_engine.files import read_small_file
from laguna_tui.repo.git import repository

_PATHS_AT_ONCE = 1_000
"""The length of a command line is limited."""
_CHUNK_BYTES = 1 << 20
_SHA1_DIGITS = 40
_NORMALIZED_BYTES = 64 << 20
_REGULAR = "100"
"""How git's modes of regular files begin."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file in a commit or in the index.

    Attributes:
        mode: Git's mode, such as "100644".
        object_id: Hash of the contents, in the repository's format (SHA-1 or SHA-256).
        size: Bytes; 0 for what is not a file, and in the index.
    """

    mode: str
    object_id: str
    size: int = 0

    @property
    def is_regular(self) -> bool:
        return self.mode.startswith(_REGULAR)


def head_entries(folder: Path, paths: Sequence[str]) -> dict[str, TreeEntry]:
    """Return the entries of the last commit for paths, without those that it lacks; empty without a commit.

    Args:
        folder: In a repository.
        paths: Relative to the folder.
    """
    entries = {}
    for line in _query(folder, ("--literal-pathspecs", "ls-tree", "-l", "-z", "HEAD"), paths) or ():
        about, _, path = line.partition("\t")
        mode, _, object_id, size = about.split()
        entries[path] = TreeEntry(mode, object_id, int(size) if size.isdecimal() else 0)
    return entries


def index_entries(folder: Path, paths: Sequence[str]) -> dict[str, TreeEntry] | None:
    """Return the entries of the index for paths, without those in conflict; None when git does not answer.

    Args:
        folder: In a repository.
        paths: Files or folders, relative to the folder.
    """
    lines = _query(folder, ("--literal-pathspecs", "ls-files", "-s", "-z"), paths)
    if lines is None:
        return None
    entries = {}
    for line in lines:
        about, _, path = line.partition("\t")
        mode, object_id, stage = about.split()
        if stage == "0":
            entries[path] = TreeEntry(mode, object_id)
    return entries


def ignored_files(folder: Path, paths: Sequence[str]) -> frozenset[str] | None:
    """Return those of some files that are ignored and not tracked; None when git does not answer."""
    command = ("--literal-pathspecs", "ls-files", "-o", "-i", "--exclude-standard", "-z")
    lines = _query(folder, command, paths)
    return None if lines is None else frozenset(lines)


def converted_files(folder: Path, paths: Sequence[str]) -> frozenset[str]:
    """Return those of some files that attributes have git convert, in other ways than their line ends."""
    fields = _query(folder, ("check-attr", "-z", "filter", "working-tree-encoding", "ident"), paths) or []
    values = zip(fields[::3], fields[2::3], strict=True)
    return frozenset(path for path, value in values if value not in ("unspecified", "unset"))


def blobs(folder: Path, object_ids: Iterable[str], wrapper: Sequence[str] = ()) -> dict[str, bytes]:
    """Return the contents of objects, without those that cannot be read or that another hash names.

    Args:
        folder: In a repository.
        object_ids: Hashes of files.
        wrapper: A command that runs git, such as in a sandbox.
    """
    wanted = dict.fromkeys(object_ids)
    if not wanted:
        return {}
    stdin = "".join(f"{each}\n" for each in wanted).encode("ascii")
    answer = repository.query(folder, ("cat-file", "--batch"), stdin=stdin, wrapper=wrapper) or b""
    found, at = {}, 0
    while (end := answer.find(b"\n", at)) >= 0:
        object_id, *about = answer[at:end].decode("ascii", "replace").split()
        at = end + 1
        if len(about) != 2 or not about[1].isdecimal():
            continue  # "missing"
        data = answer[at : at + int(about[1])]
        at += len(data) + 1
        if object_id in wanted and _hash_of(len(data), [data], object_id) == object_id:
            found[object_id] = data
    return found


def is_as_committed(path: Path, entry: TreeEntry) -> bool:
    """Return whether a regular file contains the bytes of an entry of a commit."""
    try:
        return entry.is_regular and file_hash(path, entry.object_id, entry.size) == entry.object_id
    except (OSError, ValueError):
        return False


def file_hash(path: Path, like: str, size: int | None = None) -> str:
    """Return the hash under which git stores the bytes of a file, or the target of a link.

    Args:
        path: The file.
        like: A hash of the same repository, of which only the length counts.
        size: Its expected size; a file of another one is not read.

    Returns:
        The hash; empty for a file of another size.

    Raises:
        OSError: It cannot be read, or is neither a regular file nor a link.
    """
    if path.is_symlink():
        target = os.fsencode(os.readlink(path))  # noqa: PTH115
        return _hash_of(len(target), [target], like)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        if size is not None and size != status.st_size:
            return ""
        return _hash_of(status.st_size, iter(lambda: file.read(_CHUNK_BYTES), b""), like)


def is_normalized(path: Path, object_id: str, normalized: str) -> bool:
    """Return whether a file has one hash as it is, and another one with line feeds as line ends."""
    try:
        data = read_small_file(path, _NORMALIZED_BYTES, follow=False)
    except (OSError, ValueError):
        return False
    versions = (data, data.replace(b"\r\n", b"\n"))
    return [_hash_of(len(each), [each], object_id) for each in versions] == [object_id, normalized]


def _hash_of(size: int, chunks: Iterable[bytes], like: str) -> str:
    digest = hashlib.sha1 if len(like) == _SHA1_DIGITS else hashlib.sha256
    hashed = digest(b"blob %d\0" % size, usedforsecurity=False)
    for chunk in chunks:
        hashed.update(chunk)
    return hashed.hexdigest()


def _query(folder: Path, command: Sequence[str], paths: Sequence[str]) -> list[str] | None:
    """Return the fields that git prints about paths; None when it does not answer."""
    found: list[str] = []
    for at in range(0, len(paths), _PATHS_AT_ONCE):
        answer = repository.query(folder, (*command, "--", *paths[at : at + _PATHS_AT_ONCE]))
        if answer is None:
            return None
        found += (os.fsdecode(field) for field in answer.split(b"\0") if field)
    return found
