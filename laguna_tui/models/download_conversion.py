"""The last step of downloading a drafter published as safetensors: its GGUF, made once and recorded like a download."""

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
"""Makes a GGUF: of which files, where, whom to tell bytes done and in all (may raise to stop), whence the files are."""


def convert_downloaded(
    store: Store,
    entry: ModelEntry,
    source: HubSource,
    listing: RepositoryListing,
    step: Callable[[int, int], None],
    converter: Converter | None,
) -> None:
    """Make the GGUF of an entry whose files are all here. One process at a time, by `DownloadLock`.

    converter: None for the app's own. DownloadError: the files are not what can be converted.
    """
    from laguna_tui.models.convert import convert_files
    from laguna_tui.models.convert_metadata import Provenance

    name = converted_name(entry)
    target, final = store.base(source, name), store.final(source, name)
    found = [store.file_path(source, file.name, file.etag) for file in listing.files]
    known = {file.name: file.etag.value for file in listing.files if file.etag and file.etag.kind == SHA256}
    origin = Provenance(source.repository, listing.commit, entry.license, known)
    work: Converter = converter or convert_files
    try:
        work([path for path in found if path is not None], target, step, origin)
    except UserError as error:
        raise DownloadError(f"{entry.title} arrived, but is not what can be converted: {error}") from error
    etag, size = fingerprint_of(target, SHA256, lambda count: None), target.stat().st_size
    final.unlink(missing_ok=True)
    origins = tuple(known.values())
    store.remember(source, FileRecord(source.repository, listing.commit, name, size, etag, made_from=origins))
    target.replace(final)
