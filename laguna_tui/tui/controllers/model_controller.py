"""Opens the model picker, the setup and the fit screen, runs the background download, and changes the model."""

from collections.abc import Sequence
from functools import partial

from textual.timer import Timer

from laguna_tui.models.catalogue import NotDownloadedError
from laguna_tui.models.model_setup import ModelSetup, SetupOffer
from laguna_tui.session.values import Here, ModelChoice
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.modal import notify
from laguna_tui.tui.models.background_download import BackgroundDownload, DownloadStage
from laguna_tui.tui.models.fit_screen import FitScreen
from laguna_tui.tui.models.model_picker import ModelPicker
from laguna_tui.tui.models.setup_screen import SetupScreen, download_hint
from laguna_tui.tui.session_controller import LOADING, SessionState

# Polls of the download per second.
POLLS_PER_SECOND = 4


class ModelController(Controller):
    """Changes the model. Without a model setup nothing can be downloaded."""

    def __init__(self, app: ChatApp, model_setup: ModelSetup | None) -> None:
        self._app, self._models = app, app.session.models
        self._model_setup = model_setup
        self.download = BackgroundDownload(model_setup) if model_setup is not None else None
        self._timer: Timer | None = None

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
        screen = SetupScreen(lambda: model_setup.describe(wanted), download, self.watch, self.choose_other, self.choose)
        self._app.push_screen(screen, self._take)

    def choose(self, wanted: str = "") -> None:
        """Change the model; without a name, show the picker."""
        if wanted:
            self.change(wanted)
            return
        self._app.push_screen(ModelPicker(lambda: (self._models.choices(), "")), self._chosen)

    def choose_other(self) -> None:
        """Show the models that other programs serve or store on this machine; their ports are queried."""

        def find() -> tuple[Sequence[ModelChoice], str]:
            others = self._models.others()
            return others.choices, others.summary("/model FILE.gguf")

        self._app.push_screen(ModelPicker(find, "Models of other programs"), self._chosen)

    def change(self, wanted: str) -> None:
        """Change the model as soon as the session is free."""
        controller = self._app.controller
        if controller.state is SessionState.LOADING:
            notify(self._app, LOADING, "warning")
            return
        if controller.busy:
            notify(self._app, "The model changes when the answer is done.")
        controller.change("model", partial(self._change, wanted))

    async def _change(self, wanted: str) -> None:
        try:
            info = await self._app.controller.load(partial(self._models.switch, wanted), "weights")
        except NotDownloadedError as error:
            self.set_up(error.name)
        else:
            self._app.show_model(info)

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
        self._app.hint_bar.download = download_hint(download.offer, download.stage, download.progress)
        if isinstance(self._app.screen, SetupScreen):
            self._app.screen.show()
        elif not download.busy and self._timer is not None:
            self._timer.pause()

    def leave(self) -> None:
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
        else:
            self.set_up(choice.name)
