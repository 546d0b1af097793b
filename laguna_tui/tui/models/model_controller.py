"""What the app does about models: the list, the setup screen, the download behind the chat, and the change itself."""

from collections.abc import Callable
from pathlib import Path

from textual.app import App
from textual.timer import Timer

from laguna_tui.models.model_setup import ModelSetup, SetupOffer
from laguna_tui.session.api import ChatSession, Here, ModelChoice
from laguna_tui.tui.hint_bar import HintBar
from laguna_tui.tui.modal import notify
from laguna_tui.tui.models.background_download import BackgroundDownload, DownloadStage
from laguna_tui.tui.models.fit_screen import FitScreen
from laguna_tui.tui.models.model_picker import ModelPicker
from laguna_tui.tui.models.setup_screen import SetupScreen, download_hint
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.session_messages import SessionState

# A download's numbers: quick enough to see that it moves.
LOOKS_PER_SECOND = 4


class ModelController:
    """Without a model setup nothing can be got, and only what is here is offered."""

    def __init__(
        self,
        app: App[None],
        session: ChatSession,
        controller: SessionController,
        model_setup: ModelSetup | None,
        marker: Path | None,
        *,
        prompt: PromptInput,
        hint_bar: HintBar,
        go_on: Callable[[], None],
    ) -> None:
        """marker: a file that says that the setup screen was seen; None never shows it unasked.

        go_on: called when the session has something to do.
        """
        self._app, self._session, self._controller, self._model_setup, self._marker = (
            app,
            session,
            controller,
            model_setup,
            marker,
        )
        self._prompt, self._hint_bar, self._go_on = prompt, hint_bar, go_on
        self.fetching = BackgroundDownload(model_setup) if model_setup is not None else None
        self._timer: Timer | None = None

    def begin(self) -> None:
        """The screen is there: on the very first start the setup screen comes by itself."""
        if self._model_setup is None or self._marker is None or self._marker.exists():
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
        model_setup, fetching = self._model_setup, self.fetching
        if model_setup is None or fetching is None:
            notify(self._app, "There is nothing to set up here.", "warning")
            return
        offer = fetching.offer
        if fetching.stage is DownloadStage.READY and offer is not None and not name:
            self._take(offer)
            return
        wanted = name or (offer.name if offer is not None else "")
        screen = SetupScreen(lambda: model_setup.describe(wanted), fetching, self.watch, self._prompt.put)
        self._app.push_screen(screen, self._take)

    def choose(self) -> None:
        """Show the list."""
        self._app.push_screen(ModelPicker(self._session.models), self._chosen)

    def change(self, wanted: str) -> None:
        """Let another model answer as soon as it can."""
        if self._controller.state is SessionState.LOADING:
            notify(self._app, "The model is still loading.", "warning")
            return
        if self._controller.busy:
            notify(self._app, "The model changes when the answer is done.")
        self._controller.change(wanted)
        self._go_on()

    def show_fit(self, name: str = "") -> None:
        """Show which contexts and caches of a model fit here."""
        model_setup = self._model_setup
        if model_setup is None:
            notify(self._app, "What fits cannot be told here. Ask: laguna-tui fit", "warning")
            return
        self._app.push_screen(FitScreen(lambda width: model_setup.fits(name, width)))

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
        self._hint_bar.fetching = download_hint(fetching.offer, fetching.stage, fetching.progress)
        if isinstance(self._app.screen, SetupScreen):
            self._app.screen.show()
        elif not fetching.busy and self._timer is not None:
            self._timer.pause()

    def leave(self) -> None:
        """The app ends; what has arrived is kept."""
        if self.fetching is not None:
            self.fetching.leave()

    def _take(self, offer: SetupOffer | None) -> None:
        if offer is not None:
            self.change(offer.name)
            if self.fetching is not None:
                self.fetching.taken()
        self.look()

    def _chosen(self, choice: ModelChoice | None) -> None:
        if choice is None or choice.current:
            return
        if choice.here is Here.READY:
            self.change(choice.name)
        elif choice.here is Here.NOWHERE:
            notify(self._app, f"{choice.title} cannot be downloaded. Open its file: /model FILE.gguf", "warning")
        elif self._model_setup is None:
            notify(
                self._app, f"{choice.title} is not here. Get it: laguna-tui models download {choice.name}", "warning"
            )
        else:
            self.set_up(choice.name)
