"""What an empty chat offers: questions about this folder that the model can answer, and a larger model."""

import asyncio
from functools import partial

from laguna_tui.base.events import AgentEvent, TurnStarted
from laguna_tui.base.text import sanitize_line
from laguna_tui.models.model_setup import ModelSetup
from laguna_tui.session.values import SessionInfo
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.event_sanitizer import error_sentence
from laguna_tui.tui.transcript.entries import CaptionEntry, Entry, OfferEntry

EXAMPLES = "For example (↑ ↓ and Enter, or a click):"
NO_CODE = "There is no code in this folder. Start laguna-tui in the folder of a project, or with --folder DIR."
SET_UP = "models.set_up"


class StartController(Controller):
    """Shows the offers while nothing has been asked. What they need is found out on threads.

    Attributes:
        abilities: what the open model can do, as a sentence, sanitised.
        examples: questions that it answers well, sanitised; empty until they are known.
    """

    def __init__(self, app: ChatApp, model_setup: ModelSetup | None) -> None:
        self._app, self._model_setup = app, model_setup
        self._shown: list[Entry] = []
        self._left = False
        self.abilities = ""
        self.examples: tuple[str, ...] = ()

    def opened(self, info: SessionInfo) -> None:
        self._hide()
        self.abilities = sanitize_line(info.abilities)
        self._app.start_work(self._offer, "start", newest=True)

    def cleared(self) -> None:
        self._hide()
        self._app.start_work(self._offer, "start", newest=True)

    def received(self, event: AgentEvent) -> None:
        if isinstance(event, TurnStarted):
            self._hide()

    def leave(self) -> None:
        self._left = True

    async def _offer(self) -> None:
        session = self._app.session
        try:
            larger = ""
            if self._model_setup is not None:
                larger = await asyncio.to_thread(self._model_setup.larger_model, session.models.name)
            examples = await asyncio.to_thread(partial(session.prompt.examples, lambda: self._left))
        except Exception as error:
            self._app.writer.add_notice(error_sentence(error), "warning")
            self._app.show()
            return
        self.examples = tuple(map(sanitize_line, examples or ()))
        if not self._app.is_empty:
            return
        entries: list[Entry] = [OfferEntry(question) for question in self.examples]
        if entries:
            entries.insert(0, CaptionEntry(EXAMPLES))
        elif examples is not None:
            entries.append(CaptionEntry(NO_CODE))
        if larger:
            entries.append(OfferEntry(sanitize_line(larger), SET_UP, gap=True))
        for entry in entries:
            self._app.document.append(entry)
        self._shown = entries
        self._app.prompt.above = "examples" if examples else "larger model" if larger else ""
        self._app.key_bar.refresh()
        self._app.show()

    def _hide(self) -> None:
        document = self._app.document
        for entry in reversed(self._shown):
            if document.index(entry) is not None:
                document.remove(entry)
        self._shown = []
        self._app.prompt.above = ""
        self._app.key_bar.refresh()
