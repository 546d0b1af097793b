"""What the app does about models: the list, the setup screen, the download behind the chat, and the change itself."""

from pathlib import Path
from typing import TYPE_CHECKING

from textual.timer import Timer

from laguna_tui.tui.models.fetching import Fetching, Stage
from laguna_tui.tui.models.fit import FitScreen
from laguna_tui.tui.models.picker import ModelPicker
from laguna_tui.tui.models.setup import SetupScreen
from laguna_tui.tui.models.shop import ModelShop, Offer
from laguna_tui.tui.models.told import rail_text
from laguna_tui.tui.session import Here, ModelChoice

if TYPE_CHECKING:
    from laguna_tui.tui.app import LagunaApp

# A download's numbers: quick enough to see that it moves.
LOOKS_PER_SECOND = 4


class Desk:
    """`change` is done by the app. Without a shop nothing can be got, and only what is here is offered."""

    def __init__(self, app: "LagunaApp", shop: ModelShop | None, marker: Path | None) -> None:
        """marker: a file that says that the setup screen was seen; None never shows it unasked."""
        self._app, self._shop, self._marker = app, shop, marker
        self.fetching = Fetching(shop) if shop is not None else None
        self._timer: Timer | None = None

    def begin(self) -> None:
        """The screen is there: on the very first start the setup screen comes by itself."""
        if self._shop is None or self._marker is None or self._marker.exists():
            return
        try:
            self._marker.parent.mkdir(parents=True, exist_ok=True)
            self._marker.touch()
        except OSError:
            # Then it comes again the next time.
            pass
        self.set_up()

    def set_up(self, name: str = "") -> None:
        """Show the setup screen; what was got is switched to at once."""
        shop, fetching = self._shop, self.fetching
        if shop is None or fetching is None:
            self._app.tell("There is nothing to set up here.", "warning")
            return
        offer = fetching.offer
        if fetching.stage is Stage.READY and offer is not None and not name:
            self._take(offer)
            return
        wanted = name or (offer.name if offer is not None else "")
        screen = SetupScreen(lambda: shop.look(wanted), fetching, self.watch, self._app.prompt.put)
        self._app.push_screen(screen, self._take)

    def choose(self) -> None:
        """Show the list."""
        self._app.push_screen(ModelPicker(self._app.session_models), self._chosen)

    def show_fit(self, name: str = "") -> None:
        """Show which contexts and caches of a model fit here."""
        shop = self._shop
        if shop is None:
            self._app.tell("What fits cannot be told here. Ask: laguna-tui fit", "warning")
            return
        self._app.push_screen(FitScreen(lambda width: shop.fits(name, width)))

    def watch(self) -> None:
        """Something is being got, or thrown away: look at it again and again."""
        if self._timer is None:
            self._timer = self._app.set_interval(1 / LOOKS_PER_SECOND, self.look)
        self._timer.resume()
        self.look()

    def look(self) -> None:
        """Bring to date what is said about the download."""
        fetching = self.fetching
        if fetching is None or not self._app.screen_stack:
            return
        self._app.rail.fetching = rail_text(fetching.offer, fetching.stage, fetching.progress)
        if isinstance(self._app.screen, SetupScreen):
            self._app.screen.show()
        elif not fetching.busy and self._timer is not None:
            self._timer.pause()

    def leave(self) -> None:
        """The app ends; what has arrived is kept."""
        if self.fetching is not None:
            self.fetching.leave()

    def _take(self, offer: Offer | None) -> None:
        if offer is not None:
            self._app.change_model(offer.name)
            if self.fetching is not None:
                self.fetching.taken()
        self.look()

    def _chosen(self, choice: ModelChoice | None) -> None:
        if choice is None or choice.current:
            return
        if choice.here is Here.READY:
            self._app.change_model(choice.name)
        elif choice.here is Here.NOWHERE:
            self._app.tell(f"{choice.title} cannot be downloaded. Open its file: /model FILE.gguf", "warning")
        elif self._shop is None:
            self._app.tell(f"{choice.title} is not here. Get it: laguna-tui models download {choice.name}", "warning")
        else:
            self.set_up(choice.name)
