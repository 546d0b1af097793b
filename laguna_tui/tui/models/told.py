"""What the setup screen and the line in the rail say. Values and text only, no widget."""

from laguna_tui.base.units import duration, size
from laguna_tui.models.progress import DownloadProgress, Phase
from laguna_tui.text import sanitize_line
from laguna_tui.tui import meter
from laguna_tui.tui.models.fetching import Stage
from laguna_tui.tui.models.shop import Offer
from laguna_tui.tui.status import BAD, BUSY, GOOD, MUTED, Part

TEXT, KEY = "$foreground", "$accent"
_BAR = 24
_DOING = {
    Phase.METADATA: "asking what there is",
    Phase.WAITING: "waiting for another process",
    Phase.TRANSFER: "downloading",
    Phase.VERIFY: "checking",
    Phase.CONVERT: "converting",
    Phase.DONE: "done",
}
OFFLINE = "Offline: nothing is downloaded, no connection is opened. A GGUF of your own: /model FILE.gguf"


def setup_parts(offer: Offer, stage: Stage, progress: DownloadProgress | None, problem: str) -> list[Part]:
    """The setup screen: what was found, what is recommended and why, how far it is, and the keys that help now."""
    parts: list[Part] = [("Found\n", "bold $primary"), (f"{sanitize_line(offer.machine)}\n\n", TEXT)]
    parts.append((f"{'Recommended' if offer.name else 'No larger model'}\n", "bold $primary"))
    if offer.name:
        parts += [(sanitize_line(offer.title), "bold"), (f"  {_amount(offer)}\n", MUTED)]
    parts += [(f"{sanitize_line(why)}\n", TEXT) for why in offer.why]
    parts.append(("\n", TEXT))
    return parts + _now(offer, stage, progress, problem)


def rail_text(offer: Offer | None, stage: Stage, progress: DownloadProgress | None) -> str:
    """The download in one line, the weightiest first."""
    if offer is None or stage is Stage.NOTHING:
        return ""
    title = sanitize_line(offer.title)
    share = _share(progress)
    match stage:
        case Stage.RUNNING:
            return "  ".join(filter(None, [f"↓ {share or '…'} {title}", *_speed(progress)]))
        case Stage.PAUSED:
            return f"paused {share} {title}  F8 goes on"
        case Stage.FAILED:
            return f"download stopped: {title}  F8 says why"
        case _:
            return f"{title} is here  F8 switches to it"


def _amount(offer: Offer) -> str:
    if offer.ready:
        return "is here"
    if offer.offline:
        return "is not here"
    total = size(offer.size) if offer.size else "size not known yet"
    return f"{size(offer.have)} of {total} here" if offer.have else f"{total} to download"


def _now(offer: Offer, stage: Stage, progress: DownloadProgress | None, problem: str) -> list[Part]:
    """Where it is and what to press."""
    if not offer.name:
        return [*_key("Esc", "go on with the model that is here")]
    if stage is Stage.READY or offer.ready:
        return [(f"{sanitize_line(offer.title)} is here.\n", GOOD), *_key("Enter", "switch to it; the chat stays")]
    if offer.offline:
        return [(f"{OFFLINE}\n", MUTED), *_key("Esc", "close")]
    match stage:
        case Stage.RUNNING:
            keys = [*_key("P", "pause"), *_key("X", "cancel"), *_key("Esc", "chat meanwhile")]
            return [*_progress(progress), *keys]
        case Stage.PAUSED:
            keys = [*_key("Enter", "go on"), *_key("X", "throw it away"), *_key("Esc", "later")]
            return [(f"Paused {_share(progress)}. What has arrived is kept.\n", BUSY), *keys]
        case Stage.FAILED:
            return [(f"{problem}\n", BAD), *_key("Enter", "go on"), *_key("X", "throw it away"), *_key("Esc", "later")]
        case _:
            first = "go on with the download" if offer.have else "download it"
            return [*_key("Enter", f"{first}; chat meanwhile"), *_key("Esc", "not now (F8 or /setup comes back)")]


def _progress(progress: DownloadProgress | None) -> list[Part]:
    if progress is None:
        return [("beginning …\n", BUSY)]
    parts: list[Part] = []
    if progress.bytes_total:
        done = progress.bytes_done / progress.bytes_total
        amount = f"{size(progress.bytes_done)} of {size(progress.bytes_total)}"
        parts += [(meter.progress(done, _BAR), BUSY), (f" {_share(progress)}  {amount}\n", TEXT)]
    words = "  ".join([_DOING[progress.phase], *_speed(progress)])
    parts += [(f"{words}\n", TEXT), (f"{sanitize_line(progress.file)}\n", MUTED)]
    return parts + ([(f"{sanitize_line(progress.note)}\n", MUTED)] if progress.note else [])


def _share(progress: DownloadProgress | None) -> str:
    if progress is None or not progress.bytes_total:
        return ""
    return f"{100 * progress.bytes_done // progress.bytes_total} %"


def _speed(progress: DownloadProgress | None) -> list[str]:
    """Rate and the time that is left, or what else it does."""
    if progress is None:
        return []
    if progress.phase is not Phase.TRANSFER:
        return []
    rate = [f"{size(progress.rate)}/s"] if progress.rate else []
    return rate + ([f"{duration(progress.eta_s)} left"] if progress.eta_s is not None else [])


def _key(key: str, what: str) -> list[Part]:
    return [(f"{key:<6}", KEY), (f"{what}\n", TEXT)]
