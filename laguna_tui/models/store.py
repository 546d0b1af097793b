"""The models on this machine: which are whole, which are on their way, where their files are.

Never opens a socket and never looks inside a model. In the store's folder there is a folder for each repository:

    poolside--Laguna-XS-2.1-GGUF/Laguna-XS-2.1-Q4_K_M.gguf        only ever a whole, checked file
    poolside--Laguna-XS-2.1-GGUF/.records/                        what each file is, and what a model consists of
    poolside--Laguna-XS-2.1-GGUF/.partial/                        what is on its way
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from laguna_tui.errors import UserError
from laguna_tui.models.claim import Claim
from laguna_tui.models.digest import SHA256, Fingerprint, fingerprint_of
from laguna_tui.models.entry import ModelEntry, Source
from laguna_tui.models.part import bytes_on_the_way, journal_of, part_of
from laguna_tui.models.places import store_folder
from laguna_tui.models.record import Listing, Record, Remote, load_listing, load_record, save_listing, save_record


class State(StrEnum):
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

    state: State
    path: Path | None
    files: tuple[StoredFile, ...]
    bytes_have: int
    bytes_total: int | None


@dataclass(frozen=True, slots=True)
class Checked:
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
            return StoredModel(State.MISSING, None, (), 0, None)
        files = tuple(self._files(entry, entry.source))
        listing = self.listing(entry)
        have, total = sum(file.have for file in files), listing.size if listing else entry.source.size
        path = self._whole(entry, entry.source, files)
        state = State.COMPLETE if path else State.PARTIAL if have else State.MISSING
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

    def verify(self, entry: ModelEntry, step: Callable[[int], None] = lambda count: None) -> Iterator[Checked]:
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
                yield Checked(path, "")
            else:
                self._record_path(source, name).unlink(missing_ok=True)
                yield Checked(path, f"its bytes have changed since it was checked; run: {again(entry)}")

    def record(self, source: Source, name: str) -> Record | None:
        """What is remembered of a file, if that file is still here in its size."""
        record = load_record(self._record_path(source, name))
        if record is None or (record.repository, record.file) != (source.repository, name):
            return None
        path = Path(record.path) if record.path else self.final(source, name)
        try:
            return record if path.stat().st_size == record.size else None
        except OSError:
            return None

    def file_path(self, source: Source, name: str, etag: Fingerprint | None = None) -> Path | None:
        """Where a whole file is; None when it is not here, or is another version than `etag` asks for."""
        record = self.record(source, name)
        if record is None or (etag is not None and etag.kind == record.etag.kind and etag != record.etag):
            return None
        return Path(record.path) if record.path else self.final(source, name)

    def remember(self, source: Source, record: Record) -> None:
        """Call a file whole. Its bytes were checked, and are there or will be in a moment."""
        save_record(self._record_path(source, record.file), record)

    def listing(self, entry: ModelEntry) -> Listing | None:
        """What the model consists of, if the hub was ever asked."""
        source = entry.source
        listing = load_listing(self._listing_path(entry, source)) if source else None
        # A catalogue that names other files now makes what was asked before worthless.
        if not source or not listing or source.chosen([file.name for file in listing.files]) is None:
            return None
        return listing

    def remember_listing(self, entry: ModelEntry, listing: Listing) -> None:
        """Keep what the hub said."""
        assert entry.source is not None, "only what has a source is listed"
        save_listing(self._listing_path(entry, entry.source), listing)

    def final(self, source: Source, name: str) -> Path:
        """Where a whole file of this repository goes."""
        return self._folder(source) / name

    def base(self, source: Source, name: str) -> Path:
        """What the files are named after that a file on its way consists of."""
        return self._folder(source) / ".partial" / name.replace("/", "--")

    def _folder(self, source: Source) -> Path:
        return self.folder / source.repository.replace("/", "--")

    def _record_path(self, source: Source, name: str) -> Path:
        return self._folder(source) / ".records" / (name.replace("/", "--") + ".json")

    def _listing_path(self, entry: ModelEntry, source: Source) -> Path:
        return self._folder(source) / ".records" / f"{entry.name}.listing.json"

    def _files(self, entry: ModelEntry, source: Source) -> Iterator[StoredFile]:
        """Every file of the model that can be named: all of them once the hub was asked."""
        listing = self.listing(entry)
        known = {file.name: file for file in listing.files} if listing else {}
        names = list(known) or (list(source.files) if source.names_are_known else [])
        for name in names:
            path = self.file_path(source, name, self._wanted(source, name, known))
            total = known[name].size if name in known else None
            have = path.stat().st_size if path else bytes_on_the_way(self.base(source, name))
            yield StoredFile(name, have, total, path)

    def _wanted(self, source: Source, name: str, known: dict[str, Remote]) -> Fingerprint | None:
        if source.sha256 is not None and name == source.files[0]:
            return Fingerprint(SHA256, source.sha256)
        return known[name].etag if name in known else None

    def _whole(self, entry: ModelEntry, source: Source, files: tuple[StoredFile, ...]) -> Path | None:
        """What to open, when nothing is missing."""
        if source.convert:
            return self.file_path(source, converted_name(entry))
        if not files or any(file.path is None for file in files):
            return None
        return files[0].path

    def _remove_file(self, source: Source, name: str) -> int:
        base = self.base(source, name)
        with Claim(base) as claim:
            if not claim.take():
                raise UserError(f"{name} is being downloaded by {claim.holder()}; stop that first")
            freed = 0
            # `base` itself is what a conversion that was killed left.
            for path in (self.final(source, name), part_of(base), journal_of(base), base):
                freed += path.stat().st_size if path.is_file() else 0
                path.unlink(missing_ok=True)
            self._record_path(source, name).unlink(missing_ok=True)
        return freed


def converted_name(entry: ModelEntry) -> str:
    """What the GGUF is called that is made of a drafter's safetensors."""
    return f"{entry.name}.gguf"


def again(entry: ModelEntry) -> str:
    """The command that gets a model, or goes on getting it."""
    return f"laguna-tui models download {entry.name}"


def _bundled(path: Path) -> StoredModel:
    if not path.is_file():
        return StoredModel(State.MISSING, None, (), 0, None)
    size = path.stat().st_size
    return StoredModel(State.BUNDLED, path, (StoredFile(path.name, size, size, path),), size, size)
