"""Where the hub and the catalogue must agree before a byte is fetched."""

from dataclasses import replace

from laguna_tui.models.digest import SHA256, Fingerprint
from laguna_tui.models.entry import Source
from laguna_tui.models.faults import DownloadError
from laguna_tui.models.record import Listing, Remote


def pinned(source: Source, listing: Listing) -> Listing:
    """The listing with a hash for every file, which the catalogue may know better.

    Raises:
        DownloadError: the catalogue names another file than the hub has, or nobody says what its bytes come to.
    """
    return replace(listing, files=tuple(_agreed(source, remote) for remote in listing.files))


def _agreed(source: Source, remote: Remote) -> Remote:
    first = remote.name == source.files[0]
    pin = Fingerprint(SHA256, source.sha256) if first and source.sha256 else None
    other_size = first and source.size is not None and source.size != remote.size
    other_hash = pin is not None and remote.etag is not None and remote.etag.kind == SHA256 and remote.etag != pin
    if other_size or other_hash:
        raise DownloadError(
            f"{source.repository}/{remote.name}: the file on the hub is not the one that this catalogue names (it was "
            "replaced there); update laguna-tui, or accept the new one with your own sha256 and size in models.toml"
        )
    if pin is None and remote.etag is None:
        raise DownloadError(
            f"{source.repository}/{remote.name}: the hub does not say what its bytes come to, so nobody could check "
            "them; put its sha256 into your own models.toml, or use another HF_ENDPOINT"
        )
    return replace(remote, etag=pin or remote.etag)
