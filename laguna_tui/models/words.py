"""A download's progress in words, for every front end."""

from laguna_tui.base.units import duration, size
from laguna_tui.models.progress import DownloadProgress, Phase

_DOING = {
    Phase.METADATA: "asking the hub about",
    Phase.WAITING: "waiting for",
    Phase.TRANSFER: "downloading",
    Phase.VERIFY: "checking",
    Phase.CONVERT: "converting",
    Phase.DONE: "everything is here",
}


def described(progress: DownloadProgress) -> str:
    """One line: what is done, how far it is, how fast, how long still, and what is out of the ordinary."""
    parts = [f"{_DOING[progress.phase]} {progress.file}".strip()]
    if progress.bytes_total and progress.phase is not Phase.DONE:
        done, total = progress.bytes_done, progress.bytes_total
        parts.append(f"{size(done)} of {size(total)} ({done / total:.0%})")
    if progress.rate:
        parts.append(f"{size(progress.rate)}/s")
    if progress.eta_s is not None:
        parts.append(f"{duration(progress.eta_s)} left")
    if progress.note:
        parts.append(progress.note)
    return ", ".join(parts)
