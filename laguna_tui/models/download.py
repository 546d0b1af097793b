"""Models from the hub to the store: several models, several files, one download.

It runs where `run` is called; a front end calls it on a thread of its own, and `pause` or `cancel` from any other.
What has arrived survives everything but `cancel`; only whole files whose bytes were checked ever become models.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from laguna_tui.base.errors import UserError
from laguna_tui.base.units import size
from laguna_tui.models import hub_cache
from laguna_tui.models.cancellation import Cancellation
from laguna_tui.models.download_conversion import Converter, convert_downloaded
from laguna_tui.models.download_errors import Cancelled, DiskFullError, DownloadError, Paused, disk_error
from laguna_tui.models.download_progress import DownloadPhase, DownloadProgress, ProgressReporter, RateMeter
from laguna_tui.models.entry import HubSource, ModelEntry, ModelKind, companions
from laguna_tui.models.hub import Hub, check_pins
from laguna_tui.models.partial_file import CHECKPOINT_BYTES, DownloadLock, PartialFile, partial_bytes
from laguna_tui.models.records import FileRecord, Fingerprint, RemoteFile, RepositoryListing, fingerprint_of
from laguna_tui.models.store import ModelState, Store, converted_name
from laguna_tui.models.transfer import RetryPolicy, Transfer, retry

RESERVE_BYTES = 512 << 20
"""Room that is left on the disk: a machine whose disk is full to the last byte has other troubles."""

_METADATA_TRIES = 3
"""Nothing is lost by giving up before the first byte, and no network at all is the commonest reason."""

_WATCH_S = 0.25
"""How often to look at what another process downloads."""


class DownloadOutcome(StrEnum):
    """How a download ended, when it did not fail."""

    DONE = "done"
    PAUSED = "paused"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class _DownloadItem:
    """One file to get. Two models that share it have the same item."""

    repository: str
    commit: str
    remote: RemoteFile
    source: HubSource = field(compare=False)


class Download:
    """Gets models, once or in as many sittings as it takes."""

    def __init__(
        self,
        entries: Sequence[ModelEntry],
        progress: Callable[[DownloadProgress], None] = lambda progress: None,
        *,
        hub: Hub,
        store: Store | None = None,
        patience: RetryPolicy | None = None,
        converter: Converter | None = None,
        cache: Path | None = None,
        free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
        checkpoint: int = CHECKPOINT_BYTES,
    ) -> None:
        """Nothing happens yet.

        Args:
            entries: what to get, in this order; what is here already costs nothing.
            progress: is told how far it is, about ten times a second, on the thread of `run`.
            converter: for entries that ask for one (default: the app's own).
            cache: the hub's own, looked at first (default: where huggingface_hub keeps it).
            free: bytes left on the disk of a folder. checkpoint: bytes that a kill may cost.
        """
        self._entries = tuple(entries)
        self._store, self._hub = store or Store(), hub
        self._patience, self._converter = patience or RetryPolicy(), converter
        self._cache, self._free, self._checkpoint = cache, free, checkpoint
        self._cancellation = Cancellation()
        self._reporter = ProgressReporter(progress, self._cancellation)
        self._items: list[_DownloadItem] = []

    def run(self) -> DownloadOutcome:
        """Get everything. Call it again after a pause or an error to go on.

        Raises:
            DownloadError: it cannot go on; the message says what to do. What has arrived is kept.
            OfflineError: something is not here, and nothing may be fetched.
            UserError: an entry has nothing to download.
        """
        try:
            self._get()
        except Paused:
            return DownloadOutcome.PAUSED
        except Cancelled:
            self._discard()
            return DownloadOutcome.CANCELLED
        except OSError as error:
            raise disk_error(error, self._store.folder) from error
        finally:
            self._cancellation.release()
        return DownloadOutcome.DONE

    def pause(self) -> None:
        """Stop within a second; what has arrived is kept. Any thread, at any time."""
        self._cancellation.pause()

    def cancel(self) -> None:
        """Stop within a second, and remove what has arrived of files that are not whole. Any thread, at any time."""
        self._cancellation.cancel()

    def _get(self) -> None:
        whole = (ModelState.COMPLETE, ModelState.BUNDLED)
        wanted = [entry for entry in self._entries if self._store.status(entry).state not in whole]
        self._items = []
        for entry in wanted:
            self._items += [item for item in self._plan(entry) if item not in self._items]
        self._reporter.meter = RateMeter(sum(item.remote.size for item in self._items), 0)
        self._count()
        for item in self._items:
            self._adopt(item)
        self._check_room()
        for item in self._items:
            self._bring(item)
        for entry in wanted:
            self._convert(entry)
        self._reporter.say(DownloadPhase.DONE, always=True)

    def _plan(self, entry: ModelEntry) -> list[_DownloadItem]:
        """The files of one model, as the hub has them now."""
        source = entry.source
        if source is None:
            raise UserError(f"{entry.title} cannot be downloaded; pass the path of its GGUF: --model FILE.gguf")
        listing = check_pins(source, self._listing(entry, source))
        self._store.remember_listing(entry, listing)
        return [_DownloadItem(source.repository, listing.commit, remote, source) for remote in listing.files]

    def _listing(self, entry: ModelEntry, source: HubSource) -> RepositoryListing:
        if self._hub.network.offline:
            known = self._store.listing(entry) or hub_cache.listing(self._cache_folder(), source)
            return known or self._hub.listing(source)
        self._reporter.say(DownloadPhase.METADATA, file=source.repository, always=True)
        return retry(
            lambda: self._cancellation.call(lambda: self._hub.listing(source)),
            replace(self._patience, tries=min(self._patience.tries, _METADATA_TRIES)),
            self._cancellation,
            lambda note: self._reporter.say(DownloadPhase.METADATA, file=source.repository, note=note, always=True),
            source.repository,
        )

    def _adopt(self, item: _DownloadItem) -> None:
        """Use a file that is here already: put in its place by the user, or in the hub's own cache."""
        etag = item.remote.etag
        if etag is None or self._path(item) is not None:
            return
        loose = self._store.final(item.source, item.remote.name)
        cached = hub_cache.find(self._cache_folder(), item.source, item.remote)
        for path in (loose, cached):
            if path is None or not path.is_file() or path.stat().st_size != item.remote.size:
                continue
            check = self._reporter.of_one(DownloadPhase.VERIFY, item.remote.name, item.remote.size)
            if fingerprint_of(path, etag.kind, check) == etag:
                self._remember(item, etag, None if path == loose else path)
                self._drop(item)
                break
        self._count()

    def _bring(self, item: _DownloadItem) -> None:
        """Get one file, or watch another process get it."""
        with DownloadLock(self._base(item)) as claim:
            while self._path(item) is None and not claim.take():
                self._count()
                note = f"{claim.holder()} is downloading it"
                self._reporter.say(DownloadPhase.WAITING, file=item.remote.name, note=note)
                self._cancellation.sleep(_WATCH_S)
            # Whoever had it may have finished between one look and the other.
            if self._path(item) is None:
                self._download(item)
        self._count()

    def _download(self, item: _DownloadItem) -> None:
        arrived = partial_bytes(self._base(item))
        with PartialFile(self._base(item), item.repository, item.remote, every=self._checkpoint) as part:
            part.recover(self._reporter.of_one(DownloadPhase.VERIFY, item.remote.name, arrived))
            self._count()
            self._reporter.meter.begin()
            self._transfer(item, part)
            self._seal(item, part)

    def _transfer(self, item: _DownloadItem, part: PartialFile) -> None:
        note = ""

        def arrived(count: int) -> None:
            self._reporter.meter.add(count)
            self._reporter.say(DownloadPhase.TRANSFER, file=item.remote.name, note=note)

        def noted(words: str) -> None:
            nonlocal note
            note = words
            self._reporter.say(DownloadPhase.TRANSFER, file=item.remote.name, note=note, always=True)

        noted("")
        Transfer(
            self._hub, item.source, item.commit, item.remote, part, self._cancellation, self._patience, arrived, noted
        ).run()

    def _seal(self, item: _DownloadItem, part: PartialFile) -> None:
        """Make a model's file of what arrived, if it is what the hub announced."""
        self._reporter.say(DownloadPhase.VERIFY, file=item.remote.name, always=True)
        found, announced = part.fingerprint, item.remote.etag
        if announced is None or found != announced:
            part.discard()
            raise DownloadError(
                f"{item.repository}/{item.remote.name}: what arrived is not what the hub announced "
                f"({found.kind} {found.value[:12]}…) and was thrown away; try again, and if it stays so, "
                "something on the way changes what you download"
            )
        final = self._store.final(item.source, item.remote.name)
        # An older version goes first: the record must never speak of a file that it does not mean.
        final.unlink(missing_ok=True)
        self._remember(item, found, None)
        part.finish(final)

    def _convert(self, entry: ModelEntry) -> None:
        """Make a drafter's GGUF, or wait until another process has."""
        source, listing = entry.source, self._store.listing(entry)
        if source is None or listing is None or not source.convert:
            return
        name = converted_name(entry)
        with DownloadLock(self._store.base(source, name)) as claim:
            while self._store.path(entry) is None and not claim.take():
                self._reporter.say(DownloadPhase.WAITING, file=name, note=f"{claim.holder()} is converting it")
                self._cancellation.sleep(_WATCH_S)
            if self._store.path(entry) is None:
                convert_downloaded(
                    self._store, entry, source, listing, self._reporter.converting(name), self._converter
                )

    def _check_room(self) -> None:
        """DiskFullError before the first byte is asked for, not after the last that fits."""
        missing = self._reporter.meter.total - self._reporter.meter.done
        # A conversion makes a file about as large as its sources.
        needed = missing + sum(item.remote.size for item in self._items if item.source.convert)
        if not needed:
            return
        self._store.folder.mkdir(parents=True, exist_ok=True)
        free = self._free(self._store.folder)
        if free < needed + RESERVE_BYTES:
            raise DiskFullError(
                f"{self._store.folder}: {size(needed)} must still fit in there, and {size(free)} are free; "
                f"make room for {size(needed + RESERVE_BYTES - free)}, or move the models to another disk with "
                "LAGUNA_TUI_MODELS=FOLDER"
            )

    def _discard(self) -> None:
        for item in self._items:
            if self._path(item) is None:
                self._drop(item)

    def _drop(self, item: _DownloadItem) -> None:
        """Remove what has arrived of a file, unless another process is at it."""
        with DownloadLock(self._base(item)) as claim:
            if claim.take():
                PartialFile(self._base(item), item.repository, item.remote).discard()

    def _remember(self, item: _DownloadItem, etag: Fingerprint, path: Path | None) -> None:
        where = str(path) if path else None
        record = FileRecord(item.repository, item.commit, item.remote.name, item.remote.size, etag, where)
        self._store.remember(item.source, record)

    def _count(self) -> None:
        """Take stock: what is whole, and what the journals say of the rest."""
        done = 0
        for item in self._items:
            whole = self._path(item) is not None
            done += item.remote.size if whole else partial_bytes(self._base(item))
        self._reporter.meter.set_done(done)

    def _path(self, item: _DownloadItem) -> Path | None:
        return self._store.file_path(item.source, item.remote.name, item.remote.etag)

    def _base(self, item: _DownloadItem) -> Path:
        return self._store.base(item.source, item.remote.name)

    def _cache_folder(self) -> Path:
        return self._cache or hub_cache.default_cache()


def with_drafters(entries: Sequence[ModelEntry], catalogue: Mapping[str, ModelEntry], store: Store) -> list[ModelEntry]:
    """The models asked for, each target with the drafter recommended for it, unless one that fits is here already."""
    wanted = list(entries)
    for entry in entries:
        drafters = companions(entry, catalogue, ModelKind.DRAFTER)
        here = any(drafter in wanted or store.path(drafter) for drafter in drafters)
        if entry.source is not None and drafters and not here:
            wanted.append(drafters[0])
    return wanted
