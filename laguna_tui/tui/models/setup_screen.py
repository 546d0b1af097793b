"""The setup screen: this machine, the model that suits it, what it needs, and the keys to download and use it."""

import asyncio
from collections.abc import Callable
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content

from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import duration, memory, rate, size
from laguna_tui.models.download_progress import DownloadPhase, DownloadProgress
from laguna_tui.models.model_setup import SetupOffer
from laguna_tui.tui.event_sanitizer import error_sentence
from laguna_tui.tui.modal import Modal, Paragraph
from laguna_tui.tui.models.background_download import BackgroundDownload, DownloadStage
from laguna_tui.tui.text_lines import BAD, BUSY, GOOD, MUTED, StyledText, progress_bar

TEXT, KEY, HEADING = "$foreground", "$accent", "bold $primary"
CONFIRMED_FROM = 1_000_000_000
"""Bytes from which a download is confirmed with a second key."""
_BAR = 24
_OTHERS = 3
"""Other models that are listed; F7 shows all."""

_DOING = {
    DownloadPhase.METADATA: "asking the hub",
    DownloadPhase.WAITING: "waiting for another process",
    DownloadPhase.TRANSFER: "downloading",
    DownloadPhase.VERIFY: "checking",
    DownloadPhase.CONVERT: "converting",
    DownloadPhase.DONE: "done",
}
UNPINNED = "It is checked against the hash that the hub gives; nothing else vouches for this file."
OFFLINE = "Offline mode: nothing is downloaded. Open a GGUF of your own: /model FILE.gguf"


def offer_parts(offer: SetupOffer, *, details: bool, confirming: bool) -> list[StyledText]:
    """Return this machine and the model: what it needs, and how fast it would be."""
    title = "A model that runs on it" if offer.memory and not offer.slow else "Not recommended for this machine"
    title = "A model that suits it" if offer.recommended else title
    parts: list[StyledText] = [("This machine\n", HEADING), (f"{sanitize_line(offer.machine)}\n\n", TEXT)]
    parts += [(f"{title}\n", HEADING), (f"{sanitize_line(offer.title)}\n", "bold")]
    for name, value in _facts(offer):
        parts += [(f"{name:<10}", MUTED), (f"{value}\n", TEXT)]
    parts.append((f"{sanitize_line(offer.why)}\n", TEXT if offer.recommended else BUSY))
    if offer.others and not confirming:
        others = "Other models that suit it" if offer.recommended else "Models that suit this machine"
        more = [f"and {len(offer.others) - _OTHERS} more"] if len(offer.others) > _OTHERS else []
        shown = (*offer.others[:_OTHERS], *more)
        parts += [(f"\n{others}\n", HEADING), *((f"{sanitize_line(line)}\n", MUTED) for line in shown)]
    if details:
        parts += [("\nDetails\n", HEADING), *((f"{sanitize_line(line)}\n", MUTED) for line in offer.details)]
    if confirming:
        question = f"Download {_size(offer.left)} to {offer.folder}? {size(offer.free)} are free on that disk."
        parts += [("\n", TEXT), (sanitize_line(question), "bold"), ("\n", TEXT)]
        if not offer.pinned:
            parts += [(f"{UNPINNED}\n", BUSY)]
    return parts


def _facts(offer: SetupOffer) -> list[tuple[str, str]]:
    here = f"{size(offer.have)} of {_size(offer.size)} here" if offer.have else f"{_size(offer.size)}"
    download = "downloaded" if offer.ready else f"{here}; {size(offer.free)} free on the disk"
    computed = "measured in an answer" if offer.measured else "computed from the speed of the memory"
    speed = (
        f"{'' if offer.measured else 'about '}{rate(offer.rate)}, {computed}" if offer.rate is not None else "unknown"
    )
    found = [
        ("Kind", ", ".join(filter(None, (offer.design, offer.license)))),
        ("Download", download),
        ("Memory", memory(offer.memory) if offer.memory else ""),
        ("Speed", speed),
    ]
    return [(name, sanitize_line(value)) for name, value in found if value]


def _size(count: int | None) -> str:
    return size(count) if count is not None else "an unknown size"


def download_hint(offer: SetupOffer | None, stage: DownloadStage, progress: DownloadProgress | None) -> str:
    """Return the state of the download in one line, the most important first."""
    if offer is None or stage is DownloadStage.NOTHING:
        return ""
    title = sanitize_line(offer.title)
    share = _share(progress)
    match stage:
        case DownloadStage.RUNNING:
            return "  ".join(filter(None, [f"↓ {share or '…'} {title}", *_speed(progress)]))
        case DownloadStage.PAUSED:
            return f"paused {share} {title}  /setup resumes"
        case DownloadStage.FAILED:
            return f"download stopped: {title}  /setup says why"
        case _:
            return f"{title} is downloaded  /setup switches to it"


def state_parts(
    offer: SetupOffer, stage: DownloadStage, progress: DownloadProgress | None, problem: str, *, confirming: bool
) -> list[StyledText]:
    """Return the state of the download and the keys."""
    if stage is DownloadStage.READY or offer.ready:
        downloaded = (f"{sanitize_line(offer.title)} is downloaded.\n", GOOD)
        return [downloaded, *_key("Enter", "switch to it, keeping the chat"), *_key("Esc", "close")]
    if offer.offline:
        return [(f"{OFFLINE}\n", MUTED), *_key("Esc", "close")]
    if confirming:
        return [*_key("Y", f"download {_size(offer.left)}"), *_key("N", "back")]
    match stage:
        case DownloadStage.RUNNING:
            keys = [*_key("P", "pause"), *_key("X", "cancel"), *_key("Esc", "chat meanwhile")]
            return [*_progress(progress), *keys]
        case DownloadStage.PAUSED:
            keys = [*_key("Enter", "resume"), *_key("X", "delete it"), *_key("Esc", "later")]
            return [(f"Paused {_share(progress)}. The downloaded part is kept.\n", BUSY), *keys]
        case DownloadStage.FAILED:
            return [(f"{problem}\n", BAD), *_key("Enter", "resume"), *_key("X", "delete it"), *_key("Esc", "later")]
        case _ if not offer.has_room:
            full = f"No room for it in {offer.folder}. Make room, or set LAGUNA_TUI_MODELS to a folder on another disk."
            return [(f"{sanitize_line(full)}\n", BAD), *_OTHER_KEYS]
        case _:
            anyway = "" if offer.recommended else " anyway"
            return [*_key("Enter", f"{'resume' if offer.have else 'download it'}{anyway} …"), *_OTHER_KEYS]


def _progress(progress: DownloadProgress | None) -> list[StyledText]:
    if progress is None:
        return [("starting …\n", BUSY)]
    parts: list[StyledText] = []
    if progress.bytes_total:
        done = progress.bytes_done / progress.bytes_total
        amount = f"{size(progress.bytes_done)} of {size(progress.bytes_total)}"
        parts += [(progress_bar(done, _BAR), BUSY), (f" {_share(progress)}  {amount}\n", TEXT)]
    words = "  ".join([_DOING[progress.phase], *_speed(progress)])
    parts += [(f"{words}\n", TEXT), (f"{sanitize_line(progress.file)}\n", MUTED)]
    return parts + ([(f"{sanitize_line(progress.note)}\n", MUTED)] if progress.note else [])


def _share(progress: DownloadProgress | None) -> str:
    if progress is None or not progress.bytes_total:
        return ""
    return f"{100 * progress.bytes_done // progress.bytes_total} %"


def _speed(progress: DownloadProgress | None) -> list[str]:
    """Return the rate and remaining time of a transfer."""
    if progress is None:
        return []
    if progress.phase is not DownloadPhase.TRANSFER:
        return []
    speed = [f"{size(progress.rate)}/s"] if progress.rate else []
    return speed + ([f"{duration(progress.eta_s)} left"] if progress.eta_s is not None else [])


def _key(key: str, what: str) -> list[StyledText]:
    return [(f"{key:<6}", KEY), (f"{what}\n", TEXT)]


_OTHER_KEYS: tuple[StyledText, ...] = tuple(
    part
    for key, what in (("F7", "another model"), ("F12", "models you have"), ("D", "details"), ("Esc", "close"))
    for part in ((f"{key} ", KEY), (f"{what}   ", TEXT))
)
READING = "reading this machine, and measuring its speed …"
_FRAME_ROWS = 4
"""Rows of border and padding."""


class SetupScreen(Modal[SetupOffer | None]):
    """Returns the model to switch to, or None. A download of gigabytes is confirmed with a second key."""

    WIDTH = 76
    heading, hints = "Set up a larger model", ("",)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go", "Download, resume, or switch"),
        Binding("y,Y", "confirm", "Begin the download that was asked about"),
        Binding("n,N", "back", "Do not begin it"),
        Binding("d,D", "details", "Show or hide how the model would be opened"),
        Binding("p,P", "pause", "Pause"),
        Binding("x,X", "cancel", "Cancel, and delete the downloaded part"),
        Binding("f7", "choose", "Choose another model"),
        Binding("f12", "others", "Models of Ollama, LM Studio, llama-server and vLLM on this machine"),
        Binding("escape,q,Q,f8", "close", "Close"),
    ]

    def __init__(
        self,
        find_offer: Callable[[], SetupOffer],
        download: BackgroundDownload,
        watch: Callable[[], None],
        show_others: Callable[[], None] = lambda: None,
        show_all: Callable[[], None] = lambda: None,
    ) -> None:
        """Create the screen.

        Args:
            find_offer: examines the machine and finds the model that suits it; slow, so it runs in a worker.
            download: the download in the background.
            watch: called when the download changes and has to be polled.
            show_others: shows what other programs have on this machine.
            show_all: shows all models of the catalogue.
        """
        super().__init__()
        self._find_offer, self._download, self._watch = find_offer, download, watch
        self._show_others, self._show_all = show_others, show_all
        self._offer: SetupOffer | None = None
        self._active = self._confirming = self._details = False
        self._text, self._keys = Paragraph(READING, markup=False), Paragraph(markup=False)
        self._scroll = VerticalScroll(self._text)

    def content(self) -> ComposeResult:
        yield self._scroll
        yield self._keys

    def on_mount(self) -> None:
        self.find()

    @work(exclusive=True)
    async def find(self) -> None:
        """Find the offer again."""
        try:
            self._offer = await asyncio.to_thread(self._find_offer)
        except Exception as error:
            self._offer = None
            self._text.update(Content(error_sentence(error)))
        self.show()

    def show(self) -> None:
        """Update the text."""
        offer = self._offer
        if offer is None:
            return
        download, stage = self._download, self._stage()
        active = stage is not DownloadStage.NOTHING
        if self._active and not active:
            # It was cancelled: how much is here may have changed.
            self.find()
        self._active = active
        progress, problem = (download.progress, download.problem) if active else (None, "")
        asked = self._confirming
        self._text.update(Content.assemble(*offer_parts(offer, details=self._details, confirming=asked)))
        self._keys.update(Content.assemble(*state_parts(offer, stage, progress, problem, confirming=asked)).rstrip())
        self.call_after_refresh(self._fit)

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Give the text the rows that the keys leave, so that all keys can be read."""
        self._scroll.styles.max_height = max(1, self.app.size.height - _FRAME_ROWS - self._keys.size.height - 1)
        if self._confirming or self._details:
            self._scroll.scroll_end(animate=False)

    def action_go(self) -> None:
        offer, stage = self._offer, self._stage()
        if offer is None or self._confirming:
            return
        if offer.ready or stage is DownloadStage.READY:
            self.dismiss(offer)
        elif offer.offline or stage is DownloadStage.RUNNING:
            return
        elif stage is not DownloadStage.NOTHING:
            self._begin(offer)
        elif offer.has_room:
            # What was begun in this session was confirmed then.
            self._confirming = offer.left is None or offer.left >= CONFIRMED_FROM
            if self._confirming:
                self.show()
            else:
                self._begin(offer)

    def action_confirm(self) -> None:
        if self._confirming and self._offer is not None:
            self._begin(self._offer)

    def action_back(self) -> None:
        self._confirming = False
        self.show()

    def action_details(self) -> None:
        self._details = not self._details
        self.show()

    def action_close(self) -> None:
        """Close the screen; go back from the question first."""
        if self._confirming:
            self.action_back()
        else:
            self.dismiss(None)

    def _begin(self, offer: SetupOffer) -> None:
        self._confirming = False
        self._download.begin(offer)
        self._watch()
        self.show()

    def action_others(self) -> None:
        self.dismiss(None)
        self._show_others()

    def action_choose(self) -> None:
        self.dismiss(None)
        self._show_all()

    def action_pause(self) -> None:
        self._download.pause()

    def action_cancel(self) -> None:
        self._download.cancel()
        self._watch()
        self.show()

    def _stage(self) -> DownloadStage:
        """Return the stage of the download of this model."""
        mine, downloading = self._offer, self._download.offer
        same = mine is not None and downloading is not None and mine.name == downloading.name
        return self._download.stage if same else DownloadStage.NOTHING
