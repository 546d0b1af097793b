"""The cache of huggingface_hub, read and never changed.

A file found there is used in place, after its hash was checked. Not linked and not copied: a hard link needs the same
file system and makes `hf cache` report space that deleting would not free; a copy costs twenty gigabytes. When the user
empties that cache, the model is missing here as well, and is reported as such.
"""

from collections.abc import Iterator
from pathlib import Path

from laguna_engine.files import read_small_file
from laguna_tui.models.entry import HubSource
from laguna_tui.models.records import Fingerprint, RemoteFile, RepositoryListing

# A commit's hash and a line break, with a wide margin.
_COMMIT_BYTES = 1024


def default_cache() -> Path:
    """Return huggingface_hub's cache folder, which the environment may have moved."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def find(cache: Path, source: HubSource, remote: RemoteFile) -> Path | None:
    """Return a file with this path, size and hash, judged by its name; its bytes must still be checked."""
    for snapshot in _snapshots(cache, source):
        path = snapshot / remote.name
        if path.is_file() and path.stat().st_size == remote.size and _etag(path) in (None, remote.etag):
            return path
    return None


def listing(cache: Path, source: HubSource) -> RepositoryListing | None:
    """Return the source's files from the cache alone; None unless every file is there under its hash."""
    commit = _commit(cache, source)
    snapshot = _folder(cache, source) / "snapshots" / commit
    names = [path.relative_to(snapshot).as_posix() for path in snapshot.rglob("*") if path.is_file()]
    chosen = source.select(names)
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
    """Return the commit of the revision at the cache's last lookup."""
    try:
        path = _folder(cache, source) / "refs" / source.revision
        found = read_small_file(path, _COMMIT_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return source.revision
    return found if found.isalnum() else source.revision


def _etag(path: Path) -> Fingerprint | None:
    """Return the hash in the name of the blob that a snapshot links to; None in caches without links."""
    return Fingerprint.from_etag(path.resolve().name)
