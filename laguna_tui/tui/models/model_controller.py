"""Opens the model picker, the setup and the fit screen, runs the background download, and changes the model."""

from collections.abc import Callable
from pathlib import Path

from textual.app import App
from textual.timer import Timer

from laguna_tui.models.model_setup import ModelSetup, SetupOffer
from laguna_tui.session.session import Models
from laguna_tui.session.values import Here, ModelChoice
from laguna_tui.tui.hint_bar import HintBar
from laguna_tui.tui.modal import notify
from laguna_tui.tui.models.background_download import BackgroundDownload, DownloadStage
from laguna_tui.tui.models.fit_screen import FitScreen
from laguna_tui.tui.models.model_picker import ModelPicker
from laguna_tui.tui.models.setup_screen import SetupScreen, download_hint
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.session_messages import SessionState
from laguna_tui.tui.typed_ahead import HandOver

# Polls of the download per second.
POLLS_PER_SECOND = 4


class ModelController:
    """Changes the model. Without a model setup nothing can be downloaded."""

    def __init__(
        self,
        app: App[None],
        models: Models,
        controller: SessionController,
        model_setup: ModelSetup | None,
        marker: Path | None,
        *,
        hand_over: HandOver,
        hint_bar: HintBar,
        resume: Callable[[], None],
    ) -> None:
        """Create the controller.

        Args:
            marker: file that exists once the setup screen was shown; None never shows it unasked.
            hand_over: takes what was typed for the input over a screen of this controller.
            resume: called when the session has something to do.
        """
        self._app, self._models, self._controller = app, models, controller
        self._model_setup, self._marker = model_setup, marker
        self._hand_over, self._hint_bar, self._resume = hand_over, hint_bar, resume
        self.download = BackgroundDownload(model_setup) if model_setup is not None else None
        self._timer: Timer | None = None

    def begin(self) -> None:
        """Show the setup screen on the first start."""
        if self._model_setup is None or self._marker is None or self._marker.exists():
            return
        try:
            self._marker.parent.mkdir(parents=True, exist_ok=True)
            self._marker.touch()
        except OSError:
            # It is shown again the next time.
            pass
        self.set_up()

    def set_up(self, name: str = "") -> None:
        """Show the setup screen, or switch to a model whose download is complete."""
        model_setup, download = self._model_setup, self.download
        if model_setup is None or download is None:
            notify(self._app, "Setup is not available here.", "warning")
            return
        offer = download.offer
        if download.stage is DownloadStage.READY and offer is not None and not name:
            self._take(offer)
            return
        wanted = name or (offer.name if offer is not None else "")
        screen = SetupScreen(
            lambda: model_setup.describe(wanted), download, self.watch, self._hand_over, self.choose_other
        )
        self._app.push_screen(screen, self._take)

    def choose(self) -> None:
        """Show the model picker."""
        self._app.push_screen(ModelPicker(self._models.choices), self._chosen)

    def choose_other(self) -> None:
        """Show what other programs serve or store on this machine; their ports are asked."""
        self._app.push_screen(ModelPicker(self._models.others), self._chosen)

    def change(self, wanted: str) -> None:
        """Change the model as soon as the session is free."""
        if self._controller.state is SessionState.LOADING:
            notify(self._app, "The model is still loading.", "warning")
            return
        if self._controller.busy:
            notify(self._app, "The model changes when the answer is done.")
        self._controller.change(wanted)
        self._resume()

    def show_fit(self, name: str = "") -> None:
        """Show which contexts and caches of a model fit here."""
        model_setup = self._model_setup
        if model_setup is None:
            notify(self._app, "The fit table is not available here. Run: laguna-tui fit", "warning")
            return
        self._app.push_screen(FitScreen(lambda width: model_setup.fits(name, width)))

    def watch(self) -> None:
        """Poll the download until it is no longer busy."""
        if self._timer is None:
            self._timer = self._app.set_interval(1 / POLLS_PER_SECOND, self.update)
        self._timer.resume()
        self.update()

    def update(self) -> None:
        """Update the hint bar and the setup screen."""
        download = self.download
        if download is None or not self._app.screen_stack:
            return
        self._hint_bar.download = download_hint(download.offer, download.stage, download.progress)
        if isinstance(self._app.screen, SetupScreen):
            self._app.screen.show()
        elif not download.busy and self._timer is not None:
            self._timer.pause()

    def leave(self) -> None:
        """Pause the download when the app exits."""
        if self.download is not None:
            self.download.leave()

    def _take(self, offer: SetupOffer | None) -> None:
        if offer is not None:
            self.change(offer.name)
            if self.download is not None:
                self.download.taken()
        self.update()

    def _chosen(self, choice: ModelChoice | None) -> None:
        if choice is None or choice.current:
            return
        if choice.here in (Here.READY, Here.REMOTE):
            self.change(choice.name)
        elif choice.here is Here.NOWHERE:
            notify(self._app, f"{choice.title} cannot be downloaded. Open its file: /model FILE.gguf", "warning")
        elif self._model_setup is None:
            notify(
                self._app, f"{choice.title} is not here. Get it: laguna-tui models download {choice.name}", "warning"
            )
        else:
            self.set_up(choice.name)
