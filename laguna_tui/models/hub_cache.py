"""What huggingface_hub has already downloaded for somebody else, looked at and never touched.

A file found there is used where it lies, after its bytes were checked. Not linked and not copied: a hard link needs the
same file system and makes `hf cache` report room that it would not free; a copy costs twenty gigabytes. If the user
empties that cache, the model is gone from here as well, and says so.
"""

from collections.abc import Iterator
from pathlib import Path

from laguna_engine.files import read_small_file
from laguna_tui.models.entry import HubSource
from laguna_tui.models.records import Fingerprint, RemoteFile, RepositoryListing

# A commit's hash and a line break, generously.
_COMMIT_BYTES = 1024


def default_cache() -> Path:
    """Where huggingface_hub keeps its files; the environment may have moved it."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def find(cache: Path, source: HubSource, remote: RemoteFile) -> Path | None:
    """A file of this name, size and hash, as its name says; its bytes are still to be checked."""
    for snapshot in _snapshots(cache, source):
        path = snapshot / remote.name
        if path.is_file() and path.stat().st_size == remote.size and _etag(path) in (None, remote.etag):
            return path
    return None


def listing(cache: Path, source: HubSource) -> RepositoryListing | None:
    """What the source consists of by the cache alone; None unless every file is there under its hash."""
    commit = _commit(cache, source)
    snapshot = _folder(cache, source) / "snapshots" / commit
    names = [path.relative_to(snapshot).as_posix() for path in snapshot.rglob("*") if path.is_file()]
    chosen = source.chosen(names)
    if chosen is None:
        return None
    files = tuple(RemoteFile(name, (snapshot / name).stat().st_size, _etag(snapshot / name)) for name in chosen)
    return RepositoryListing(commit, files) if all(file.etag for file in files) else None


def _folder(cache: Path, source: HubSource) -> Path:
    return cache / ("models--" + source.repository.replace("/", "--"))


def _snapshots(cache: Path, source: HubSource) -> Iterator[Path]:
    folder = _folder(cache, source) / "snapshots"
    return iter(sorted(folder.iterdir()) if folder.is_dir() else ())


def _commit(cache: Path, source: HubSource) -> str:
    """The commit that the revision was, when it was last looked up for the cache."""
    try:
        path = _folder(cache, source) / "refs" / source.revision
        found = read_small_file(path, _COMMIT_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return source.revision
    return found if found.isalnum() else source.revision


def _etag(path: Path) -> Fingerprint | None:
    """The hash in the name of what a snapshot's link leads to. Caches without links do not say it."""
    return Fingerprint.of(path.resolve().name)
