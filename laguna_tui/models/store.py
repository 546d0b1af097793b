"""The models on this machine: which are whole, which are on their way, where their files are.

Never opens a socket. In the store's folder there is a folder for each repository:

    poolside--Laguna-XS-2.1-GGUF/Laguna-XS-2.1-Q4_K_M.gguf        only ever a whole, checked file
    poolside--Laguna-XS-2.1-GGUF/.records/                        what each file is, and what a model consists of
    poolside--Laguna-XS-2.1-GGUF/.partial/                        what is on its way

Of a model's content at most the header is read, by `header_mismatches`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import store_folder
from laguna_tui.models.entry import HubSource, ModelEntry, ModelKind
from laguna_tui.models.partial_file import DownloadLock, journal_path, partial_bytes, partial_path
from laguna_tui.models.records import (
    SHA256,
    FileRecord,
    Fingerprint,
    RemoteFile,
    RepositoryListing,
    fingerprint_of,
    load_listing,
    load_record,
    save_listing,
    save_record,
)

if TYPE_CHECKING:
    from laguna_engine.gguf.header import Header


class ModelState(StrEnum):
    """What is here of a model. `complete` and `bundled` can be opened."""

    MISSING = "missing"
    PARTIAL = "partial"
    COMPLETE = "complete"
    BUNDLED = "bundled"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of a model. have, total: bytes; total is None when it was never asked for. path: None until whole."""

    name: str
    have: int
    total: int | None
    path: Path | None


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model as it is here. path: what to open, None until the model is whole. bytes_total: None if not known."""

    state: ModelState
    path: Path | None
    files: tuple[StoredFile, ...]
    bytes_have: int
    bytes_total: int | None


@dataclass(frozen=True, slots=True)
class VerifiedFile:
    """What reading a file again came to. problem: a sentence, "" when its bytes are what they were."""

    path: Path
    problem: str


class Store:
    """The folder of downloaded models. Several processes may use it at once."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or store_folder()

    def status(self, entry: ModelEntry) -> StoredModel:
        """What is here of this model. Looks at names and sizes; `verify` reads the bytes."""
        if entry.path is not None:
            return _bundled(entry.path)
        if entry.source is None:
            return StoredModel(ModelState.MISSING, None, (), 0, None)
        files = tuple(self._files(entry, entry.source))
        listing = self.listing(entry)
        have, total = sum(file.have for file in files), listing.size if listing else entry.source.size
        path = self._whole(entry, entry.source, files)
        state = ModelState.COMPLETE if path else ModelState.PARTIAL if have else ModelState.MISSING
        return StoredModel(state, path, files, have, total)

    def path(self, entry: ModelEntry) -> Path | None:
        """What to open, or None when the model is not whole."""
        return self.status(entry).path

    def remove(self, entry: ModelEntry) -> int:
        """Delete what is here of a model; returns the bytes that this freed.

        A file in the hub's own cache is only forgotten. UserError while somebody downloads it.
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
        """Read every whole file of a model again. One that changed is not called a model any more.

        step: is told of every few MiB; may raise to stop.
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
                yield VerifiedFile(path, f"its bytes have changed since it was checked; run: {download_command(entry)}")

    def record(self, source: HubSource, name: str) -> FileRecord | None:
        """What is remembered of a file, if that file is still here in its size."""
        record = load_record(self._record_path(source, name))
        if record is None or (record.repository, record.file) != (source.repository, name):
            return None
        path = Path(record.path) if record.path else self.final(source, name)
        try:
            return record if path.stat().st_size == record.size else None
        except OSError:
            return None

    def file_path(self, source: HubSource, name: str, etag: Fingerprint | None = None) -> Path | None:
        """Where a whole file is; None when it is not here, or is another version than `etag` asks for."""
        record = self.record(source, name)
        if record is None or (etag is not None and etag.kind == record.etag.kind and etag != record.etag):
            return None
        return Path(record.path) if record.path else self.final(source, name)

    def remember(self, source: HubSource, record: FileRecord) -> None:
        """Call a file whole. Its bytes were checked, and are there or will be in a moment."""
        save_record(self._record_path(source, record.file), record)

    def listing(self, entry: ModelEntry) -> RepositoryListing | None:
        """What the model consists of, if the hub was ever asked."""
        source = entry.source
        listing = load_listing(self._listing_path(entry, source)) if source else None
        # A catalogue that names other files now makes what was asked before worthless.
        if not source or not listing or source.chosen([file.name for file in listing.files]) is None:
            return None
        return listing

    def remember_listing(self, entry: ModelEntry, listing: RepositoryListing) -> None:
        """Keep what the hub said."""
        assert entry.source is not None, "only what has a source is listed"
        save_listing(self._listing_path(entry, entry.source), listing)

    def final(self, source: HubSource, name: str) -> Path:
        """Where a whole file of this repository goes."""
        return self._folder(source) / name

    def base(self, source: HubSource, name: str) -> Path:
        """What the files are named after that a file on its way consists of."""
        return self._folder(source) / ".partial" / name.replace("/", "--")

    def _folder(self, source: HubSource) -> Path:
        return self.folder / source.repository.replace("/", "--")

    def _record_path(self, source: HubSource, name: str) -> Path:
        return self._folder(source) / ".records" / (name.replace("/", "--") + ".json")

    def _listing_path(self, entry: ModelEntry, source: HubSource) -> Path:
        return self._folder(source) / ".records" / f"{entry.name}.listing.json"

    def _files(self, entry: ModelEntry, source: HubSource) -> Iterator[StoredFile]:
        """Every file of the model that can be named: all of them once the hub was asked."""
        listing = self.listing(entry)
        known = {file.name: file for file in listing.files} if listing else {}
        names = list(known) or (list(source.files) if source.names_are_known else [])
        for name in names:
            path = self.file_path(source, name, self._wanted(source, name, known))
            total = known[name].size if name in known else None
            have = path.stat().st_size if path else partial_bytes(self.base(source, name))
            yield StoredFile(name, have, total, path)

    def _wanted(self, source: HubSource, name: str, known: dict[str, RemoteFile]) -> Fingerprint | None:
        if source.sha256 is not None and name == source.files[0]:
            return Fingerprint(SHA256, source.sha256)
        return known[name].etag if name in known else None

    def _whole(self, entry: ModelEntry, source: HubSource, files: tuple[StoredFile, ...]) -> Path | None:
        """What to open, when nothing is missing."""
        if source.convert:
            return self.file_path(source, converted_name(entry))
        if not files or any(file.path is None for file in files):
            return None
        return files[0].path

    def _remove_file(self, source: HubSource, name: str) -> int:
        base = self.base(source, name)
        with DownloadLock(base) as claim:
            if not claim.take():
                raise UserError(f"{name} is being downloaded by {claim.holder()}; stop that first")
            freed = 0
            # `base` itself is what a conversion that was killed left.
            for path in (self.final(source, name), partial_path(base), journal_path(base), base):
                freed += path.stat().st_size if path.is_file() else 0
                path.unlink(missing_ok=True)
            self._record_path(source, name).unlink(missing_ok=True)
        return freed


def converted_name(entry: ModelEntry) -> str:
    """What the GGUF is called that is made of a drafter's safetensors."""
    return f"{entry.name}.gguf"


def download_command(entry: ModelEntry) -> str:
    """The command that gets a model, or goes on getting it."""
    return f"laguna-tui models download {entry.name}"


def _bundled(path: Path) -> StoredModel:
    if not path.is_file():
        return StoredModel(ModelState.MISSING, None, (), 0, None)
    size = path.stat().st_size
    return StoredModel(ModelState.BUNDLED, path, (StoredFile(path.name, size, size, path),), size, size)


def header_mismatches(entry: ModelEntry, path: Path) -> tuple[str, ...]:
    """What speaks against this file being this model, as sentences; nothing when all is well.

    Reads the header only; no weight is looked at.
    """
    from laguna_engine.errors import ModelFileError
    from laguna_engine.gguf import drafter_header, header

    try:
        if entry.kind is ModelKind.DRAFTER:
            found = drafter_header.read(path).file
        else:
            judged = entry.kind is ModelKind.TARGET
            found = header.check(path) if judged else header.read(path, lambda _: None)
    except ModelFileError as error:
        return (str(error),)
    return tuple(_differences(entry, found))


def _differences(entry: ModelEntry, found: "Header") -> list[str]:
    differences = []
    for key, expected in entry.facts.items():
        full = key if key.startswith("general.") else f"{found.architecture}.{key}"
        said = found.metadata.get(full)
        if said != expected:
            differences.append(
                f"{found.path}: its header says {full} = {said!r}, and {entry.title} has {expected!r}; this is another "
                "model, or a faulty conversion: get it from the repository that the catalogue names"
            )
    return differences
