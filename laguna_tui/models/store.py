"""The store of downloaded models: which are complete, which are partial, where their files are.

Never opens a socket. The store's folder contains a folder per repository:
    poolside--Laguna-XS-2.1-GGUF/Laguna-XS-2.1-Q4_K_M.gguf        complete, checked files only
    poolside--Laguna-XS-2.1-GGUF/.records/                        the record of each file, and the listing of each model
    poolside--Laguna-XS-2.1-GGUF/.partial/                        files being downloaded

Of a model's content at most the header is read, by `header_mismatches`.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.files import unfinished_files
from laguna_engine.gguf.split import part_names
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import store_folder
from laguna_tui.models.entry import HubSource, ModelEntry, ModelKind
from laguna_tui.models.partial_file import DownloadLock, left_files, partial_bytes
from laguna_tui.models.records import (
    SHA256,
    FileRecord,
    Fingerprint,
    RemoteFile,
    RepositoryListing,
    fingerprint_of,
    read_json,
    write_json,
)

if TYPE_CHECKING:
    from laguna_engine.gguf.header import Header


class ModelState(StrEnum):
    """Whether a model is on this machine. `complete` and `bundled` can be opened."""

    MISSING = "missing"
    PARTIAL = "partial"
    COMPLETE = "complete"
    BUNDLED = "bundled"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of a model.

    Attributes:
        name: Path inside the repository.
        have: Bytes on this machine.
        total: Bytes of the whole file; None before the hub's first listing.
        path: None until it is complete.
    """

    name: str
    have: int
    total: int | None
    path: Path | None


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model on this machine.

    Attributes:
        state: How much of it is there.
        path: File to open; None until the model is complete.
        files: Its files, as far as their names are known.
        bytes_have: Bytes on this machine.
        bytes_total: Bytes of the whole model, before the hub's first listing as published; None if unknown.
    """

    state: ModelState
    path: Path | None
    files: tuple[StoredFile, ...]
    bytes_have: int
    bytes_total: int | None


@dataclass(frozen=True, slots=True)
class VerifiedFile:
    """Result of checking a file again. problem: a sentence, "" when its hash is unchanged."""

    path: Path
    problem: str


class Store:
    """The folder of downloaded models. Several processes may use it at once."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or store_folder()

    def status(self, entry: ModelEntry) -> StoredModel:
        """Return the state of a model. Checks names and sizes; `verify` reads the bytes."""
        if entry.path is not None:
            return _bundled(entry.path)
        if entry.source is None:
            return StoredModel(ModelState.MISSING, None, (), 0, None)
        files = tuple(self._files(entry, entry.source))
        listing = self.listing(entry)
        have, total = sum(file.have for file in files), listing.size if listing else entry.size
        path = self._model_path(entry, entry.source, files)
        state = ModelState.COMPLETE if path else ModelState.PARTIAL if have else ModelState.MISSING
        return StoredModel(state, path, files, have, total)

    def path(self, entry: ModelEntry) -> Path | None:
        """Return the file to open, or None when the model is incomplete."""
        return self.status(entry).path

    def remove(self, entry: ModelEntry) -> int:
        """Delete a model's files; returns the bytes freed.

        A file in the hub's cache stays; only its record is deleted.

        Raises:
            UserError: It was not downloaded, or another process is downloading it.
        """
        if entry.source is None:
            raise UserError(f"{entry.title} was not downloaded; there is nothing to remove")
        freed = 0
        for file in self._files(entry, entry.source):
            freed += self._remove_file(entry.source, file.name)
        if entry.source.convert:
            freed += self._remove_file(entry.source, converted_name(entry))
        self._listing_path(entry, entry.source).unlink(missing_ok=True)
        return freed

    def verify(self, entry: ModelEntry, step: Callable[[int], None] = lambda count: None) -> Iterator[VerifiedFile]:
        """Hash every complete file of a model again. The record of a changed one is deleted.

        Args:
            step: Called with the bytes hashed, every few MiB; may raise to stop.
        """
        source = entry.source
        if source is None:
            return
        names = [file.name for file in self._files(entry, source) if file.path]
        for name in (*names, *([converted_name(entry)] if source.convert else [])):
            record, path = self.record(source, name), self.file_path(source, name)
            if record is None or path is None:
                continue
            if fingerprint_of(path, record.etag.kind, step) == record.etag:
                yield VerifiedFile(path, "")
            else:
                self._record_path(source, name).unlink(missing_ok=True)
                yield VerifiedFile(path, f"it has changed since the download; run: {download_command(entry)}")

    def record(self, source: HubSource, name: str) -> FileRecord | None:
        """Return a file's record if the file still exists with its size."""
        record = read_json(self._record_path(source, name), FileRecord)
        if record is None or (record.repository, record.file) != (source.repository, name):
            return None
        path = Path(record.path) if record.path else self.final_path(source, name)
        try:
            return record if path.stat().st_size == record.size else None
        except OSError:
            return None

    def file_path(self, source: HubSource, name: str, etag: Fingerprint | None = None) -> Path | None:
        """Return the path of a complete file; None when it is missing or of another version than `etag`."""
        record = self.record(source, name)
        if record is None or (etag is not None and etag.kind == record.etag.kind and etag != record.etag):
            return None
        return Path(record.path) if record.path else self.final_path(source, name)

    def save_record(self, source: HubSource, record: FileRecord) -> None:
        """Record a file as complete. Its bytes were checked; it may get its name a moment later."""
        write_json(self._record_path(source, record.file), record)

    def listing(self, entry: ModelEntry) -> RepositoryListing | None:
        """Return the model's files, if they were ever requested from the hub."""
        source = entry.source
        listing = read_json(self._listing_path(entry, source), RepositoryListing) if source else None
        # A catalogue that now names other files makes the old listing worthless.
        if not source or not listing or source.select([file.name for file in listing.files]) is None:
            return None
        return listing

    def save_listing(self, entry: ModelEntry, listing: RepositoryListing) -> None:
        """Save the hub's listing of a model."""
        assert entry.source is not None, "only an entry with a source has a listing"
        write_json(self._listing_path(entry, entry.source), listing)

    def final_path(self, source: HubSource, name: str) -> Path:
        """Return the path of a complete file of this repository."""
        return self._folder(source) / name

    def partial_base(self, source: HubSource, name: str) -> Path:
        """Return the base path of a partial file and its lock."""
        return self._folder(source) / ".partial" / name.replace("/", "--")

    def _folder(self, source: HubSource) -> Path:
        return self.folder / source.repository.replace("/", "--")

    def _record_path(self, source: HubSource, name: str) -> Path:
        return self._folder(source) / ".records" / (name.replace("/", "--") + ".json")

    def _listing_path(self, entry: ModelEntry, source: HubSource) -> Path:
        return self._folder(source) / ".records" / f"{entry.name}.listing.json"

    def _files(self, entry: ModelEntry, source: HubSource) -> Iterator[StoredFile]:
        """Yield every file of the model with a known name: all of them after the hub's first listing."""
        listing = self.listing(entry)
        known = {file.name: file for file in listing.files} if listing else {}
        exact = [part for name in source.files for part in part_names(name)] if source.has_exact_names else []
        names = list(known) or exact
        for name in names:
            etag = self._expected(source, name, known)
            path = self.file_path(source, name, etag)
            total = known[name].size if name in known else None
            have = path.stat().st_size if path else partial_bytes(self.partial_base(source, name), etag)
            yield StoredFile(name, have, total, path)

    def _expected(self, source: HubSource, name: str, known: dict[str, RemoteFile]) -> Fingerprint | None:
        if source.sha256 is not None and name == source.files[0]:
            return Fingerprint(SHA256, source.sha256)
        return known[name].etag if name in known else None

    def _model_path(self, entry: ModelEntry, source: HubSource, files: tuple[StoredFile, ...]) -> Path | None:
        """Return the file to open when nothing is missing."""
        if source.convert:
            return self.file_path(source, converted_name(entry))
        if not files or any(file.path is None for file in files):
            return None
        return files[0].path

    def _remove_file(self, source: HubSource, name: str) -> int:
        base = self.partial_base(source, name)
        with DownloadLock(base) as lock:
            if not lock.acquire():
                raise UserError(f"{name} is being downloaded by {lock.holder()}; stop that first")
            freed = 0
            # `base` itself and unfinished files of it are left by a conversion that was killed.
            for path in (self.final_path(source, name), base, *unfinished_files(base), *left_files(base)):
                freed += path.stat().st_size if path.is_file() else 0
                path.unlink(missing_ok=True)
            self._record_path(source, name).unlink(missing_ok=True)
        return freed


def converted_name(entry: ModelEntry) -> str:
    """Return the name of the GGUF converted from a drafter's safetensors."""
    return f"{entry.name}.gguf"


def free_bytes(folder: Path) -> int:
    """Return the free bytes on the disk of a folder, which may not exist yet."""
    return shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free


def download_command(entry: ModelEntry) -> str:
    """Return the command that downloads a model, or resumes its download."""
    return f"laguna-tui models download {entry.name}"


def _bundled(path: Path) -> StoredModel:
    if not path.is_file():
        return StoredModel(ModelState.MISSING, None, (), 0, None)
    size = path.stat().st_size
    return StoredModel(ModelState.BUNDLED, path, (StoredFile(path.name, size, size, path),), size, size)


def header_mismatches(entry: ModelEntry, path: Path) -> tuple[str, ...]:
    """Return the differences between a file's header and the model's facts, as sentences; empty when there are none.

    Reads the header only; no weights are read.
    """
    from laguna_engine.errors import ModelFileError
    from laguna_engine.gguf import drafter_header, header

    try:
        if entry.kind is ModelKind.DRAFTER:
            found = drafter_header.read(path).file
        else:
            is_target = entry.kind is ModelKind.TARGET
            found = header.check(path) if is_target else header.read_unchecked(path)
    except ModelFileError as error:
        return (str(error),)
    return tuple(_differences(entry, found))


def _differences(entry: ModelEntry, found: "Header") -> list[str]:
    differences = []
    for key, expected in entry.facts.items():
        full = key if key.startswith("general.") else f"{found.architecture}.{key}"
        actual = found.metadata.get(full)
        if actual != expected:
            differences.append(
                f"{found.path}: its header has {full} = {actual!r}, and {entry.title} has {expected!r}; this is "
                "another model, or a faulty conversion: download it from the repository in the catalogue"
            )
    return differences
