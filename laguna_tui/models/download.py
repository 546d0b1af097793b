"""Download of models from the hub into the store: several models with several files as one `Download`.

`run` downloads on the calling thread, a worker thread in a front end; `pause` and `cancel` may be called from any
thread. Received bytes survive everything except `cancel`; a file becomes a model's only when it is complete and its
hash was checked.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.gguf.split import part_names
from laguna_tui.base.errors import UserError
from laguna_tui.base.units import size
from laguna_tui.models import hub_cache
from laguna_tui.models.cancellation import Cancelled, DownloadCancellation, Paused
from laguna_tui.models.download_errors import DiskFullError, DownloadError, disk_error
from laguna_tui.models.download_progress import DownloadPhase, DownloadProgress, ProgressReporter, RateMeter
from laguna_tui.models.entry import HubSource, ModelEntry, ModelKind, companions
from laguna_tui.models.hub import Hub, check_pins
from laguna_tui.models.partial_file import (
    DownloadLock,
    finish,
    left_files,
    own_part,
    partial_bytes,
    private_path,
    size_of,
)
from laguna_tui.models.records import SHA256, FileRecord, Fingerprint, RepositoryListing, fingerprint_of
from laguna_tui.models.store import ModelState, Store, converted_name
from laguna_tui.models.transfer import DownloadItem, RetryPolicy, Transfer, retry

if TYPE_CHECKING:
    from laguna_tui.models.convert import Provenance

RESERVE_BYTES = 512 << 20
"""Space that stays free on the disk: a system with a full disk fails in other ways."""

_METADATA_TRIES = 3
"""Nothing is lost by giving up before the first byte, and having no network at all is the most common reason."""

_WATCH_S = 0.25
"""Poll interval while another process downloads."""

_VANISHED = "{model}: its download finished, but its file is no longer in {folder}; run the same command again"


Converter = Callable[[Sequence[Path], Path, Callable[[int, int], None], "Provenance"], None]
"""Converts to GGUF. Args: source files, target, a callback with bytes done and in total (may raise), provenance."""


class DownloadOutcome(StrEnum):
    """Result of a download that did not fail."""

    DONE = "done"
    PAUSED = "paused"
    CANCELLED = "cancelled"


class Download:
    """A resumable download of models."""

    def __init__(
        self,
        entries: Sequence[ModelEntry],
        progress: Callable[[DownloadProgress], None] = lambda progress: None,
        *,
        hub: Hub,
        store: Store | None = None,
        retry_policy: RetryPolicy | None = None,
        converter: Converter | None = None,
        cache: Path | None = None,
        free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    ) -> None:
        """Prepare a download; nothing is requested or written yet.

        Args:
            entries: Models to download, in this order; complete ones are skipped.
            progress: Called about ten times a second, on the thread of `run`.
            hub: Source of the files.
            store: Destination (default: the user's).
            retry_policy: Waits and tries after network errors.
            converter: Converter for entries that need one (default: the app's).
            cache: Cache of huggingface_hub, searched first (default: where huggingface_hub keeps it).
            free: Returns the free bytes on a folder's disk.
        """
        self._entries = tuple(entries)
        self._store, self._hub = store or Store(), hub
        self._retry_policy, self._converter = retry_policy or RetryPolicy(), converter
        self._cache, self._free = cache, free
        self._cancellation = DownloadCancellation()
        self._reporter = ProgressReporter(progress, self._cancellation)
        self._items: list[DownloadItem] = []
        self._parts: dict[DownloadItem, Path] = {}

    def run(self) -> DownloadOutcome:
        """Download everything. Call it again after a pause or an error to resume.

        Raises:
            DownloadError: It cannot continue; the message says what to do. Received bytes are kept.
            OfflineError: A file is missing, and the network must not be used.
            UserError: An entry has no source to download from.
        """
        try:
            self._download_all()
        except Paused:
            return DownloadOutcome.PAUSED
        except Cancelled:
            self._discard()
            return DownloadOutcome.CANCELLED
        except OSError as error:
            raise disk_error(error, self._store.folder) from error
        finally:
            self._hub.close()
            self._cancellation.reset()
        return DownloadOutcome.DONE

    def pause(self) -> None:
        """Stop within a second and keep the received bytes. Callable from any thread, at any time."""
        self._cancellation.pause()

    def cancel(self) -> None:
        """Stop within a second and remove incomplete files. Callable from any thread, at any time."""
        self._cancellation.cancel()

    def _download_all(self) -> None:
        whole = (ModelState.COMPLETE, ModelState.BUNDLED)
        wanted = [entry for entry in self._entries if self._store.status(entry).state not in whole]
        self._items = []
        for entry in wanted:
            self._items += [item for item in self._plan(entry) if item not in self._items]
        self._reporter.meter = RateMeter(sum(item.remote.size for item in self._items), 0)
        self._update_done()
        for item in self._items:
            self._use_existing(item)
        self._check_space()
        for item in self._items:
            self._download_once(item)
        for entry in wanted:
            self._convert(entry)
        for entry in wanted:
            if self._store.status(entry).state not in whole:
                raise DownloadError(_VANISHED.format(model=entry.title, folder=self._store.folder))
        self._reporter.report(DownloadPhase.DONE, always=True)

    def _plan(self, entry: ModelEntry) -> list[DownloadItem]:
        """Return the files of one model, as the hub lists them now."""
        source = entry.source
        if source is None:
            raise UserError(f"{entry.title} cannot be downloaded; pass the path of its GGUF: --model FILE.gguf")
        listing = check_pins(source, self._listing(entry, source))
        self._store.save_listing(entry, listing)
        return [DownloadItem(source.repository, listing.commit, remote, source) for remote in listing.files]

    def _listing(self, entry: ModelEntry, source: HubSource) -> RepositoryListing:
        if self._hub.network.offline:
            known = self._store.listing(entry) or hub_cache.listing(self._cache_folder(), source)
            return known or self._hub.listing(source)
        self._reporter.report(DownloadPhase.METADATA, file=source.repository, always=True)
        return retry(
            lambda: self._hub.listing(source, self._cancellation.check),
            replace(self._retry_policy, tries=min(self._retry_policy.tries, _METADATA_TRIES)),
            self._cancellation,
            lambda note: self._reporter.report(DownloadPhase.METADATA, file=source.repository, note=note, always=True),
            source.repository,
        )

    def _use_existing(self, item: DownloadItem) -> None:
        """Use an existing copy of the file: placed in the store by the user, or in the hub's cache."""
        etag = item.remote.etag
        if etag is None or self._path(item) is not None:
            return
        placed = self._store.final_path(item.source, item.remote.name)
        cached = self._cached(item)
        for path in (placed, cached):
            if path is None or not path.is_file() or path.stat().st_size != item.remote.size:
                continue
            check = self._reporter.check_step(item.remote.name, item.remote.size)
            if fingerprint_of(path, etag.kind, check) == etag:
                self._record(item, etag, None if path == placed else path)
                self._discard_partial(item)
                break
        self._update_done()

    def _cached(self, item: DownloadItem) -> Path | None:
        """Return the file in the hub's cache; a part of a model only if all are in one folder there."""
        parts = part_names(item.remote.name)
        items = [each for each in self._items if each.repository == item.repository and each.remote.name in parts]
        found = {each.remote.name: hub_cache.find(self._cache_folder(), each.source, each.remote) for each in items}
        folders = {path.parent if path is not None else None for path in found.values()}
        alone = len(folders) > 1 or any(
            self._store.final_path(each.source, each.remote.name).exists() for each in items
        )
        return None if len(items) > 1 and alone else found[item.remote.name]

    def _download_once(self, item: DownloadItem) -> None:
        """Download one file, or wait while another process downloads it."""
        with DownloadLock(self._base(item)) as lock:
            while self._path(item) is None and not lock.acquire():
                self._update_done()
                note = f"{lock.holder()} is downloading it"
                self._reporter.report(DownloadPhase.WAITING, file=item.remote.name, note=note)
                self._cancellation.sleep(_WATCH_S)
            # The other process may have finished between the two checks.
            if self._path(item) is None:
                with own_part(self._base(item), item.remote.etag, lock) as part:
                    self._parts[item] = part
                    try:
                        self._download(item, part)
                    finally:
                        del self._parts[item]
        self._update_done()

    def _download(self, item: DownloadItem, part: Path) -> None:
        note = ""

        def arrived(count: int) -> None:
            self._reporter.meter.add(count)
            self._reporter.report(DownloadPhase.TRANSFER, file=item.remote.name, note=note)

        def on_note(text: str) -> None:
            nonlocal note
            changed, note = text != note, text
            self._reporter.report(DownloadPhase.TRANSFER, file=item.remote.name, note=note, always=changed)

        self._update_done()
        self._reporter.meter.start()
        self._reporter.report(DownloadPhase.TRANSFER, file=item.remote.name, always=True)
        Transfer(self._hub, item, part, self._cancellation, self._retry_policy, arrived, on_note).run()
        self._finish(item, part)

    def _finish(self, item: DownloadItem, part: Path) -> None:
        """Move the downloaded file to its final path if its hash is the expected one."""
        expected = item.remote.etag
        assert expected is not None, "check_pins lets no file without a hash through"
        step = self._reporter.check_step(item.remote.name, item.remote.size)
        found = fingerprint_of(part, expected.kind, step)
        if found != expected:
            part.unlink()
            raise DownloadError(
                f"{item}: the downloaded bytes do not have the published hash "
                f"({found.kind} {found.value[:12]}…) and were removed; try again, and if it happens again, use another "
                "network: a proxy may be changing the download"
            )
        if self._path(item) is not None:
            # Another process finished it, on a disk whose locks do not work.
            part.unlink()
            return
        final = self._store.final_path(item.source, item.remote.name)
        # The old version is removed first: a record must never describe a file other than its own.
        final.unlink(missing_ok=True)
        self._record(item, found, None)
        finish(part, final)

    def _convert(self, entry: ModelEntry) -> None:
        """Convert a drafter to GGUF, or wait while another process does."""
        source, listing = entry.source, self._store.listing(entry)
        if source is None or listing is None or not source.convert:
            return
        name = converted_name(entry)
        with DownloadLock(self._store.partial_base(source, name)) as lock:
            while self._store.path(entry) is None and not lock.acquire():
                self._reporter.report(DownloadPhase.WAITING, file=name, note=f"{lock.holder()} is converting it")
                self._cancellation.sleep(_WATCH_S)
            if self._store.path(entry) is None:
                base = self._store.partial_base(source, name)
                target = base if lock.excludes_others else private_path(base)
                try:
                    self._convert_to(target, entry, source, listing)
                finally:
                    target.unlink(missing_ok=True)

    def _convert_to(self, target: Path, entry: ModelEntry, source: HubSource, listing: RepositoryListing) -> None:
        from laguna_tui.models.convert import Provenance, convert_files

        store, name = self._store, converted_name(entry)
        files = [store.file_path(source, file.name, file.etag) for file in listing.files]
        known = {file.name: file.etag.value for file in listing.files if file.etag and file.etag.kind == SHA256}
        provenance = Provenance(source.repository, listing.commit, entry.license, known, entry.trained_for)
        convert: Converter = self._converter or convert_files
        try:
            convert([path for path in files if path], target, self._reporter.conversion_step(name), provenance)
        except UserError as error:
            raise DownloadError(f"{entry.title} was downloaded, but cannot be converted: {error}") from error
        if store.path(entry) is not None:
            return  # another process finished it, on a disk whose locks do not work
        etag, bytes_made = fingerprint_of(target, SHA256, lambda count: None), target.stat().st_size
        final = store.final_path(source, name)
        final.unlink(missing_ok=True)
        made_from = tuple(known.values())
        record = FileRecord(source.repository, listing.commit, name, bytes_made, etag, made_from=made_from)
        store.save_record(source, record)
        target.replace(final)

    def _check_space(self) -> None:
        """Raise DiskFullError before the first byte is requested."""
        missing = self._reporter.meter.total - self._reporter.meter.done
        # A conversion makes a file about as large as its sources.
        needed = missing + sum(item.remote.size for item in self._items if item.source.convert)
        if not needed:
            return
        self._store.folder.mkdir(parents=True, exist_ok=True)
        free = self._free(self._store.folder)
        if free < needed + RESERVE_BYTES:
            raise DiskFullError(
                f"{self._store.folder}: {size(needed)} are still needed, but only {size(free)} are free; "
                f"make room for {size(needed + RESERVE_BYTES - free)}, or move the models to another disk with "
                "LAGUNA_TUI_MODELS=FOLDER"
            )

    def _discard(self) -> None:
        for item in self._items:
            if self._path(item) is None:
                self._discard_partial(item)

    def _discard_partial(self, item: DownloadItem) -> None:
        """Remove the received bytes of a file, unless another process is downloading it."""
        with DownloadLock(self._base(item)) as lock:
            if lock.acquire():
                for path in left_files(self._base(item), private=False):
                    path.unlink(missing_ok=True)

    def _record(self, item: DownloadItem, etag: Fingerprint, path: Path | None) -> None:
        where = str(path) if path else None
        record = FileRecord(item.repository, item.commit, item.remote.name, item.remote.size, etag, where)
        self._store.save_record(item.source, record)

    def _update_done(self) -> None:
        """Recount the bytes on the disk, of complete and partial files."""
        done = 0
        for item in self._items:
            whole, part = self._path(item) is not None, self._parts.get(item)
            arrived = size_of(part) if part else partial_bytes(self._base(item), item.remote.etag)
            done += item.remote.size if whole else arrived
        self._reporter.meter.done = done

    def _path(self, item: DownloadItem) -> Path | None:
        return self._store.file_path(item.source, item.remote.name, item.remote.etag)

    def _base(self, item: DownloadItem) -> Path:
        return self._store.partial_base(item.source, item.remote.name)

    def _cache_folder(self) -> Path:
        return self._cache or hub_cache.default_cache()


def with_drafters(entries: Sequence[ModelEntry], catalogue: Mapping[str, ModelEntry], store: Store) -> list[ModelEntry]:
    """Return `entries`, each target followed by its recommended drafter unless a matching one is downloaded."""
    wanted = list(entries)
    for entry in entries:
        drafters = companions(entry, catalogue, ModelKind.DRAFTER)
        here = any(drafter in wanted or store.path(drafter) for drafter in drafters)
        if entry.source is not None and drafters and not here:
            wanted.append(drafters[0])
    return wanted
