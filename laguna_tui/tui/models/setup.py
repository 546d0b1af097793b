"""The setup screen: what this machine is, what model suits it, and one key to get it and to use it."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from laguna_tui.tui.models.fetching import Fetching, Stage
from laguna_tui.tui.models.shop import Offer
from laguna_tui.tui.models.told import setup_parts
from laguna_tui.tui.turns import sentence
from laguna_tui.tui.widgets.modal import Modal

LOOKING = "looking at this machine …"


class SetupScreen(Modal[Offer | None]):
    """Gives back what to switch to, or None. `look` may take a while; it runs on a thread of its own.

    On the first start it opens by itself, maybe over a question that is being typed: letters that are no keys of its
    own close it and are handed to `typed`, so that the Enter after them downloads nothing.
    """

    DEFAULT_CSS = Path(__file__).with_name("setup.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go", "Download, go on, or switch"),
        Binding("p,P", "pause", "Pause"),
        Binding("x,X", "cancel", "Cancel, and throw away what has arrived"),
        Binding("escape,q,Q,f8", "dismiss", "Close"),
    ]

    def __init__(
        self, look: Callable[[], Offer], fetching: Fetching, begun: Callable[[], None], typed: Callable[[str], None]
    ) -> None:
        """Take where to look, and what to call.

        Args:
            begun: called when something was begun here that has to be looked at again and again.
            typed: called with each character meant for the input.
        """
        super().__init__()
        self._look, self._fetching, self._begun, self._typed = look, fetching, begun, typed
        self._own_keys = {
            key for binding in self.BINDINGS if isinstance(binding, Binding) for key in binding.key.split(",")
        }
        self._typing = False
        self._offer: Offer | None = None
        self._working = False
        self._text = Static(LOOKING, markup=False)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="setup") as box:
            box.border_title = "Set up"
            yield self._text

    def on_mount(self) -> None:
        self.find()

    @work(thread=True, exclusive=True)
    def find(self) -> None:
        """Look at the machine and at what is here."""
        try:
            self.app.call_from_thread(self._found, self._look(), "")
        except Exception as error:
            self.app.call_from_thread(self._found, None, sentence(error))

    def _found(self, offer: Offer | None, problem: str) -> None:
        self._offer = offer
        if offer is None:
            self._text.update(Content(problem))
        self.show()

    def show(self) -> None:
        """Draw it as it is now."""
        if self._offer is None:
            return
        fetching, stage = self._fetching, self._stage()
        mine = stage is not Stage.NOTHING
        if self._working and not mine:
            # It was cancelled: how much is here has to be looked up again.
            self.find()
        self._working = mine
        progress, problem = (fetching.progress, fetching.problem) if mine else (None, "")
        self._text.update(Content.assemble(*setup_parts(self._offer, stage, progress, problem)))

    def on_key(self, event: events.Key) -> None:
        """Hand over what is typed; keys that come in one read are all here before the screen is closed."""
        if event.is_printable and event.character and (self._typing or event.key not in self._own_keys):
            event.stop()
            self._typed(event.character)
            if not self._typing:
                self._typing = True
                self.dismiss(None)

    def action_go(self) -> None:
        """The one key: download, go on, or switch."""
        offer, stage = self._offer, self._stage()
        if offer is None or not offer.name or self._typing:
            return
        if offer.ready or stage is Stage.READY:
            self.dismiss(offer)
        elif not offer.offline and stage is not Stage.RUNNING:
            self._fetching.begin(offer)
            self._begun()
            self.show()

    def action_pause(self) -> None:
        """Stop the download; what has arrived is kept."""
        self._fetching.pause()

    def action_cancel(self) -> None:
        """Stop the download, and let go what has arrived."""
        self._fetching.cancel()
        self._begun()
        self.show()

    def _stage(self) -> Stage:
        """Where the download of this very model is."""
        mine, got = self._offer, self._fetching.offer
        same = mine is not None and got is not None and mine.name == got.name
        return self._fetching.stage if same else Stage.NOTHING
