"""The setup screen: this machine, the model that suits it, and one key to download and use it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import duration, size
from laguna_tui.models.download_progress import DownloadPhase, DownloadProgress
from laguna_tui.models.model_setup import SetupOffer
from laguna_tui.tui.event_sanitizer import error_sentence
from laguna_tui.tui.modal import Modal
from laguna_tui.tui.models.background_download import BackgroundDownload, DownloadStage
from laguna_tui.tui.text_lines import BAD, BUSY, GOOD, MUTED, StyledText, progress_bar
from laguna_tui.tui.typed_text import HandOver, TypedAhead

TEXT, KEY = "$foreground", "$accent"
_BAR = 24
_OF_A_DOWNLOAD = frozenset("pPxX")
_DOING = {
    DownloadPhase.METADATA: "asking the hub",
    DownloadPhase.WAITING: "waiting for another process",
    DownloadPhase.TRANSFER: "downloading",
    DownloadPhase.VERIFY: "checking",
    DownloadPhase.CONVERT: "converting",
    DownloadPhase.DONE: "done",
}
OFFLINE = "Offline mode: nothing is downloaded. Open a GGUF of your own: /model FILE.gguf"


def setup_parts(
    offer: SetupOffer, stage: DownloadStage, progress: DownloadProgress | None, problem: str
) -> list[StyledText]:
    """Return the text of the setup screen: machine, recommendation and its reasons, progress, and keys."""
    parts: list[StyledText] = [("Found\n", "bold $primary"), (f"{sanitize_line(offer.machine)}\n\n", TEXT)]
    parts.append((f"{'Recommended' if offer.name else 'No larger model'}\n", "bold $primary"))
    if offer.name:
        parts += [(sanitize_line(offer.title), "bold"), (f"  {_amount(offer)}\n", MUTED)]
    parts += [(f"{sanitize_line(why)}\n", TEXT) for why in offer.why]
    parts.append(("\n", TEXT))
    return parts + _now(offer, stage, progress, problem)


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
            return f"paused {share} {title}  F8 resumes"
        case DownloadStage.FAILED:
            return f"download stopped: {title}  F8 says why"
        case _:
            return f"{title} is downloaded  F8 switches to it"


def _amount(offer: SetupOffer) -> str:
    if offer.ready:
        return "downloaded"
    if offer.offline:
        return "not downloaded"
    total = size(offer.size) if offer.size else "size unknown"
    return f"{size(offer.have)} of {total} here" if offer.have else f"{total} to download"


def _now(offer: SetupOffer, stage: DownloadStage, progress: DownloadProgress | None, problem: str) -> list[StyledText]:
    """Return the state of the download and the keys."""
    if not offer.name:
        return [*_key("F12", OTHERS), *_key("Esc", "keep the current model")]
    if stage is DownloadStage.READY or offer.ready:
        return [
            (f"{sanitize_line(offer.title)} is downloaded.\n", GOOD),
            *_key("Enter", "switch to it, keeping the chat"),
        ]
    if offer.offline:
        return [(f"{OFFLINE}\n", MUTED), *_key("Esc", "close")]
    match stage:
        case DownloadStage.RUNNING:
            keys = [*_key("P", "pause"), *_key("X", "cancel"), *_key("Esc", "chat meanwhile")]
            return [*_progress(progress), *keys]
        case DownloadStage.PAUSED:
            keys = [*_key("Enter", "resume"), *_key("X", "delete it"), *_key("Esc", "later")]
            return [(f"Paused {_share(progress)}. The downloaded part is kept.\n", BUSY), *keys]
        case DownloadStage.FAILED:
            return [(f"{problem}\n", BAD), *_key("Enter", "resume"), *_key("X", "delete it"), *_key("Esc", "later")]
        case _:
            first = "resume the download" if offer.have else "download it"
            return [
                *_key("Enter", f"{first}; chat meanwhile"),
                *_key("F12", OTHERS),
                *_key("Esc", "not now (F8 opens this again)"),
            ]


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
    rate = [f"{size(progress.rate)}/s"] if progress.rate else []
    return rate + ([f"{duration(progress.eta_s)} left"] if progress.eta_s is not None else [])


def _key(key: str, what: str) -> list[StyledText]:
    return [(f"{key:<6}", KEY), (f"{what}\n", TEXT)]


OTHERS = "models of other programs on this machine"
READING = "reading this machine …"


class SetupScreen(Modal[SetupOffer | None]):
    """Returns the model to switch to, or None.

    On the first start it opens by itself, maybe over a message being typed: letters that are not bound here close it
    and go to the input with all that follows them, so that the Enter after them downloads nothing.
    """

    BOX: ClassVar[type[Widget]] = VerticalScroll
    WIDTH = 76
    heading, hints = "Set up", ("",)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go", "Download, resume, or switch"),
        Binding("p,P", "pause", "Pause"),
        Binding("x,X", "cancel", "Cancel, and delete the downloaded part"),
        Binding("f12", "others", "Models of Ollama, LM Studio, llama-server and vLLM on this machine"),
        Binding("escape,q,Q,f8", "dismiss", "Close"),
    ]

    def __init__(
        self,
        find_offer: Callable[[], SetupOffer],
        download: BackgroundDownload,
        watch: Callable[[], None],
        hand_over: HandOver,
        show_others: Callable[[], None] = lambda: None,
    ) -> None:
        """Create the screen.

        Args:
            find_offer: examines the machine and finds the model that suits it; slow, so it runs in a worker.
            download: the download in the background.
            watch: called when the download changes and has to be polled.
            hand_over: takes what was typed for the input, after the screen was closed.
            show_others: shows what other programs have on this machine.
        """
        super().__init__()
        self._find_offer, self._download, self._watch, self._hand_over = find_offer, download, watch, hand_over
        self._show_others = show_others
        self._own_keys = {
            key for binding in self.BINDINGS if isinstance(binding, Binding) for key in binding.key.split(",")
        }
        self._typed = TypedAhead(self, self._give_way)
        self._offer: SetupOffer | None = None
        self._active = False
        self._text = Static(READING, markup=False)

    def content(self) -> ComposeResult:
        yield self._text

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
        if self._offer is None:
            return
        download, stage = self._download, self._stage()
        active = stage is not DownloadStage.NOTHING
        if self._active and not active:
            # It was cancelled: how much is here may have changed.
            self.find()
        self._active = active
        progress, problem = (download.progress, download.problem) if active else (None, "")
        self._text.update(Content.assemble(*setup_parts(self._offer, stage, progress, problem)))

    def on_key(self, event: events.Key) -> None:
        """Keep what is typed for the input."""
        if self._typed or (event.is_printable and event.character and not self._has_meaning(event.key)):
            self._typed.keep(event)

    def on_paste(self, event: events.Paste) -> None:
        """Keep what is pasted for the input."""
        self._typed.keep(event)

    def _has_meaning(self, key: str) -> bool:
        downloading = self._stage() is not DownloadStage.NOTHING
        return key in self._own_keys and (downloading or key not in _OF_A_DOWNLOAD)

    def _give_way(self, typed: Sequence[events.Event]) -> None:
        self.dismiss(None)
        self._hand_over(typed)

    def action_go(self) -> None:
        offer, stage = self._offer, self._stage()
        if offer is None or not offer.name:
            return
        if offer.ready or stage is DownloadStage.READY:
            self.dismiss(offer)
        elif not offer.offline and stage is not DownloadStage.RUNNING:
            self._download.begin(offer)
            self._watch()
            self.show()

    def action_others(self) -> None:
        self.dismiss(None)
        self._show_others()

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
