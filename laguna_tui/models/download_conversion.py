"""Conversion of a downloaded drafter to GGUF, recorded like a download."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.models.download_errors import DownloadError
from laguna_tui.models.entry import HubSource, ModelEntry
from laguna_tui.models.records import SHA256, FileRecord, RepositoryListing, fingerprint_of
from laguna_tui.models.store import Store, converted_name

if TYPE_CHECKING:
    from laguna_tui.models.convert_metadata import Provenance


Converter = Callable[[Sequence[Path], Path, Callable[[int, int], None], "Provenance"], None]
"""Converts to GGUF. Args: source files, target, a callback with bytes done and in total (may raise), provenance."""


def convert_downloaded(
    store: Store,
    entry: ModelEntry,
    source: HubSource,
    listing: RepositoryListing,
    target: Path,
    step: Callable[[int, int], None],
    converter: Converter | None,
) -> None:
    """Convert an entry with all source files in the store. One process at a time, by `DownloadLock`.

    Args:
        store: Store of the source files and of the result.
        entry: The drafter.
        source: Its source on the hub.
        listing: Its files.
        target: Path beside its final one, for this process alone.
        step: Called with bytes done and bytes in total; may raise to stop.
        converter: None for the app's.

    Raises:
        DownloadError: The files cannot be converted.
    """
    from laguna_tui.models.convert import convert_files
    from laguna_tui.models.convert_metadata import Provenance

    name = converted_name(entry)
    final = store.final_path(source, name)
    files = [store.file_path(source, file.name, file.etag) for file in listing.files]
    known = {file.name: file.etag.value for file in listing.files if file.etag and file.etag.kind == SHA256}
    provenance = Provenance(source.repository, listing.commit, entry.license, known)
    work: Converter = converter or convert_files
    try:
        work([path for path in files if path is not None], target, step, provenance)
    except UserError as error:
        raise DownloadError(f"{entry.title} was downloaded, but cannot be converted: {error}") from error
    if store.path(entry) is not None:
        return  # another process finished it, on a disk whose locks exclude nobody
    etag, size = fingerprint_of(target, SHA256, lambda count: None), target.stat().st_size
    final.unlink(missing_ok=True)
    source_hashes = tuple(known.values())
    store.save_record(source, FileRecord(source.repository, listing.commit, name, size, etag, made_from=source_hashes))
    target.replace(final)
