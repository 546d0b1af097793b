"""A download's progress and sizes in words, for every front end."""

from laguna_tui.models.progress import DownloadProgress, Phase

_MINUTE, _HOUR = 60, 3600

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


def size(count: float) -> str:
    """Bytes as they are read: 20.3 GB."""
    if count < 1000:
        return f"{count:.0f} B"
    return (
        f"{count / 1e9:.1f} GB"
        if count >= 1e9
        else f"{count / 1e6:.1f} MB"
        if count >= 1e6
        else f"{count / 1e3:.0f} kB"
    )


def duration(seconds: float) -> str:
    """A time as one would say it: 45 s, 12 min, 2 h 5 min."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / _MINUTE), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
