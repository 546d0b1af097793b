"""Models from the hub to the store: several models, several files, one download.

It runs where `run` is called; a front end calls it on a thread of its own, and `pause` or `cancel` from any other.
What has arrived survives everything but `cancel`; only whole files whose bytes were checked ever become models.
"""

import errno
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.errors import UserError
from laguna_tui.models import hubcache
from laguna_tui.models.brake import Brake
from laguna_tui.models.claim import Claim
from laguna_tui.models.digest import SHA256, Fingerprint, fingerprint_of
from laguna_tui.models.entry import ModelEntry, Source
from laguna_tui.models.faults import Cancelled, DiskFullError, DownloadError, Paused
from laguna_tui.models.hub import Hub
from laguna_tui.models.part import CHECKPOINT_BYTES, Part, bytes_on_the_way
from laguna_tui.models.progress import DownloadProgress, Meter, Phase
from laguna_tui.models.record import Listing, Record, Remote
from laguna_tui.models.store import State, Store, converted_name
from laguna_tui.models.transfer import Patience, Transfer, persistently
from laguna_tui.models.words import size

if TYPE_CHECKING:
    from laguna_tui.models.convert_metadata import Provenance

RESERVE_BYTES = 512 << 20
"""Room that is left on the disk: a machine whose disk is full to the last byte has other troubles."""

_METADATA_TRIES = 3
"""Nothing is lost by giving up before the first byte, and no network at all is the commonest reason."""

_SAY_EVERY_S = 0.1
_WATCH_S = 0.25
"""How often to look at what another process downloads."""

Converter = Callable[[Sequence[Path], Path, Callable[[int, int], None], "Provenance"], None]
"""Makes a GGUF: of which files, where, whom to tell bytes done and in all (may raise to stop), whence the files are."""


class Outcome(StrEnum):
    """How a download ended, when it did not fail."""

    DONE = "done"
    PAUSED = "paused"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class _Item:
    """One file to get."""

    source: Source
    commit: str
    remote: Remote


class Download:
    """Gets models, once or in as many sittings as it takes."""

    def __init__(
        self,
        entries: Sequence[ModelEntry],
        progress: Callable[[DownloadProgress], None] = lambda progress: None,
        *,
        store: Store | None = None,
        hub: Hub | None = None,
        patience: Patience | None = None,
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
        self._entries, self._progress = tuple(entries), progress
        self._store, self._hub = store or Store(), hub or Hub()
        self._patience, self._converter = patience or Patience(), converter
        self._cache, self._free, self._checkpoint = cache, free, checkpoint
        self._brake = Brake()
        self._said = Phase.METADATA
        self._next = 0.0
        self._meter = Meter(0, 0)
        self._items: list[_Item] = []

    def run(self) -> Outcome:
        """Get everything. Call it again after a pause or an error to go on.

        Raises:
            DownloadError: it cannot go on; the message says what to do. What has arrived is kept.
            UserError: an entry has nothing to download.
        """
        try:
            self._get()
        except Paused:
            return Outcome.PAUSED
        except Cancelled:
            self._discard()
            return Outcome.CANCELLED
        except OSError as error:
            raise _disk_trouble(error, self._store.folder) from error
        finally:
            self._brake.release()
        return Outcome.DONE

    def pause(self) -> None:
        """Stop within a second; what has arrived is kept. Any thread, at any time."""
        self._brake.pause()

    def cancel(self) -> None:
        """Stop within a second, and remove what has arrived of files that are not whole. Any thread, at any time."""
        self._brake.cancel()

    def _get(self) -> None:
        whole = (State.COMPLETE, State.BUNDLED)
        wanted = [entry for entry in self._entries if self._store.status(entry).state not in whole]
        self._items = []
        for entry in wanted:
            self._items += [item for item in self._plan(entry) if item not in self._items]
        self._meter = Meter(sum(item.remote.size for item in self._items), sum(map(self._have, self._items)))
        for item in self._items:
            self._adopt(item)
        self._check_room()
        for item in self._items:
            self._bring(item)
        for entry in wanted:
            self._convert(entry)
        self._say(Phase.DONE, always=True)

    def _plan(self, entry: ModelEntry) -> list[_Item]:
        """The files of one model, as the hub has them now."""
        source = entry.source
        if source is None:
            raise UserError(f"{entry.title} cannot be downloaded; pass the path of its GGUF: --model FILE.gguf")
        self._say(Phase.METADATA, file=source.repository, always=True)
        listing = self._listing(entry, source)
        listing = replace(listing, files=tuple(_pinned(source, remote) for remote in listing.files))
        self._store.remember_listing(entry, listing)
        return [_Item(source, listing.commit, remote) for remote in listing.files]

    def _listing(self, entry: ModelEntry, source: Source) -> Listing:
        if self._hub.offline:
            known = self._store.listing(entry) or hubcache.listing(self._cache_folder(), source)
            return known or self._hub.listing(source)
        return persistently(
            lambda: self._brake.call(lambda: self._hub.listing(source)),
            replace(self._patience, tries=min(self._patience.tries, _METADATA_TRIES)),
            self._brake,
            lambda note: self._say(Phase.METADATA, file=source.repository, note=note, always=True),
            source.repository,
        )

    def _adopt(self, item: _Item) -> None:
        """Use a file that is here already: put in its place by the user, or in the hub's own cache."""
        if item.remote.etag is None or self._path(item) is not None:
            return
        loose = self._store.final(item.source, item.remote.name)
        cached = hubcache.find(self._cache_folder(), item.source, item.remote)
        for path in (loose, cached):
            if path is None or not path.is_file() or path.stat().st_size != item.remote.size:
                continue
            check = self._checking(item, item.remote.size)
            if fingerprint_of(path, item.remote.etag.kind, check) == item.remote.etag:
                self._remember(item, item.remote.etag, None if path == loose else path)
                self._meter.set_done(sum(map(self._have, self._items)))
                return

    def _bring(self, item: _Item) -> None:
        """Get one file, or watch another process get it."""
        with Claim(self._store.base(item.source, item.remote.name)) as claim:
            while self._path(item) is None and not claim.take():
                self._watch(item, claim)
            # Whoever had it may have finished between a look and the other.
            if self._path(item) is None:
                self._download(item)
        self._meter.set_done(sum(map(self._have, self._items)))

    def _watch(self, item: _Item, claim: Claim) -> None:
        self._meter.set_done(sum(map(self._have, self._items)))
        self._say(Phase.WAITING, file=item.remote.name, note=f"{claim.holder()} is downloading it")
        self._brake.sleep(_WATCH_S)

    def _download(self, item: _Item) -> None:
        base = self._store.base(item.source, item.remote.name)
        with Part(base, item.source.repository, item.remote, every=self._checkpoint) as part:
            part.recover(self._checking(item, bytes_on_the_way(base)))
            others = sum(map(self._have, self._items)) - self._have(item)
            self._meter.set_done(others + part.have)
            self._meter.begin()
            self._transfer(item, part)
            self._seal(item, part)

    def _transfer(self, item: _Item, part: Part) -> None:
        note = ""

        def arrived(count: int) -> None:
            self._meter.add(count)
            self._say(Phase.TRANSFER, file=item.remote.name, note=note)

        def noted(words: str) -> None:
            nonlocal note
            note = words
            self._say(Phase.TRANSFER, file=item.remote.name, note=note, always=True)

        noted("")
        Transfer(
            self._hub, item.source, item.commit, item.remote, part, self._brake, self._patience, arrived, noted
        ).run()

    def _seal(self, item: _Item, part: Part) -> None:
        """Make a model's file of what arrived, if it is what the hub announced."""
        self._say(Phase.VERIFY, file=item.remote.name, always=True)
        found, announced = part.fingerprint, item.remote.etag
        if announced is not None and found != announced:
            part.discard()
            raise DownloadError(
                f"{item.source.repository}/{item.remote.name}: what arrived is not what the hub announced "
                f"({found.kind} {found.value[:12]}… instead of {announced.value[:12]}…) and was thrown away; run the "
                "same again, and if it stays so, something on the way changes what you download"
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
        with Claim(self._store.base(source, name)) as claim:
            while self._store.path(entry) is None and not claim.take():
                self._say(Phase.WAITING, file=name, note=f"{claim.holder()} is converting it")
                self._brake.sleep(_WATCH_S)
            if self._store.path(entry) is None:
                self._make(entry, source, listing)

    def _make(self, entry: ModelEntry, source: Source, listing: Listing) -> None:
        from laguna_tui.models.convert_files import convert_files
        from laguna_tui.models.convert_metadata import Provenance

        name = converted_name(entry)
        made, final = self._store.base(source, name), self._store.final(source, name)
        found = [self._store.file_path(source, file.name, file.etag) for file in listing.files]
        known = {file.name: file.etag.value for file in listing.files if file.etag and file.etag.kind == SHA256}
        origin = Provenance(source.repository, listing.commit, entry.license, known)
        try:
            work = self._converter or convert_files
            work([path for path in found if path is not None], made, self._converting(name), origin)
        except UserError as error:
            raise DownloadError(f"{entry.title} arrived, but is not what can be converted: {error}") from error
        etag = fingerprint_of(made, SHA256, lambda count: self._brake.check())
        record = Record(
            source.repository, listing.commit, name, made.stat().st_size, etag, made_from=tuple(known.values())
        )
        final.unlink(missing_ok=True)
        self._store.remember(source, record)
        made.replace(final)

    def _converting(self, name: str) -> Callable[[int, int], None]:
        def step(done: int, total: int) -> None:
            self._brake.check()
            self._tell(DownloadProgress(Phase.CONVERT, done, total, file=name))

        return step

    def _checking(self, item: _Item, total: int) -> Callable[[int], None]:
        """Tells how far the hashing of a file is, and stops it."""
        done = 0

        def step(count: int) -> None:
            nonlocal done
            done += count
            self._brake.check()
            self._tell(DownloadProgress(Phase.VERIFY, done, total, file=item.remote.name))

        return step

    def _check_room(self) -> None:
        """DiskFullError before the first byte is asked for, not after the last that fits."""
        missing = self._meter.total - self._meter.done
        # A conversion makes a file about as large as its sources.
        sources = {item.remote: item.remote.size for item in self._items if item.source.convert}
        needed = missing + sum(sources.values())
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
            base = self._store.base(item.source, item.remote.name)
            with Claim(base) as claim:
                if self._path(item) is None and claim.take():
                    Part(base, item.source.repository, item.remote).discard()

    def _remember(self, item: _Item, etag: Fingerprint, path: Path | None) -> None:
        where = str(path) if path else None
        record = Record(item.source.repository, item.commit, item.remote.name, item.remote.size, etag, where)
        self._store.remember(item.source, record)

    def _path(self, item: _Item) -> Path | None:
        return self._store.file_path(item.source, item.remote.name, item.remote.etag)

    def _have(self, item: _Item) -> int:
        if self._path(item) is not None:
            return item.remote.size
        return bytes_on_the_way(self._store.base(item.source, item.remote.name))

    def _cache_folder(self) -> Path:
        return self._cache or hubcache.default_cache()

    def _say(self, phase: Phase, *, file: str = "", note: str = "", always: bool = False) -> None:
        if not always and not self._due(phase):
            return
        meter = self._meter
        moving = phase is Phase.TRANSFER
        rate, eta = (meter.rate, meter.eta_s) if moving else (0.0, None)
        self._tell(DownloadProgress(phase, meter.done, meter.total, rate, eta, file, note), always=always)

    def _due(self, phase: Phase) -> bool:
        return phase is not self._said or time.monotonic() >= self._next

    def _tell(self, progress: DownloadProgress, *, always: bool = False) -> None:
        if always or self._due(progress.phase):
            self._next, self._said = time.monotonic() + _SAY_EVERY_S, progress.phase
            self._progress(progress)


def _pinned(source: Source, remote: Remote) -> Remote:
    """The file as hub and catalogue agree about it; DownloadError when they do not."""
    if remote.name != source.files[0]:
        return remote
    pin = Fingerprint(SHA256, source.sha256) if source.sha256 else None
    sizes = source.size is not None and source.size != remote.size
    hashes = pin is not None and remote.etag is not None and remote.etag.kind == SHA256 and remote.etag != pin
    if sizes or hashes:
        raise DownloadError(
            f"{source.repository}/{remote.name}: the file on the hub is not the one that this catalogue names (it was "
            "replaced there); update laguna-tui, or accept the new one with your own sha256 and size in models.toml"
        )
    return replace(remote, etag=pin) if pin else remote


def _disk_trouble(error: OSError, folder: Path) -> DownloadError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(
            f"{folder}: the disk is full; what has arrived is kept: make room and run the same again, or move the "
            "models to another disk with LAGUNA_TUI_MODELS=FOLDER"
        )
    where = error.filename or folder
    return DownloadError(f"{where}: {error.strerror or error}; check the disk and its permissions, then run it again")
