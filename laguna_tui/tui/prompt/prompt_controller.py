"""What is found out while the user types: ways to complete a mention, what sending would cost, and prefetching.

Typing never waits for any of it. A mention is completed at every key, the cost is asked when typing pauses, each on a
thread of its own and only ever for the newest text. Prefetching is the session's own work and needs a longer pause.
"""

from collections.abc import Callable, Sequence

from textual.app import App
from textual.timer import Timer

from laguna_tui.base.text import sanitize_line
from laguna_tui.context.blocks import Completion, Cost
from laguna_tui.session.api import PromptView
from laguna_tui.tui.background_query import BackgroundQuery
from laguna_tui.tui.commands import is_slash
from laguna_tui.tui.context.cost_text import cost_part
from laguna_tui.tui.hint_bar import HintBar
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.session_messages import ChatCleared, PrefetchEnded, SessionIdle, SessionOpened

# A cost takes up to 100 ms to find out; within a word nobody reads it.
COST_PAUSE_S = 0.15
# Long enough that it is a pause for thought, short enough to be of use.
PREFETCH_PAUSE_S = 0.7
# The first question may come before the folder's files are known; then it is asked once more.
AGAIN_S = 0.5
NOTHING = ("", 0)


class PromptController:
    """`changed` after every change of the input, `moved` after every move of the cursor. Screen's thread only."""

    def __init__(
        self,
        app: App[None],
        view: PromptView,
        controller: SessionController,
        prompt: PromptInput,
        hint_bar: HintBar,
        watch: Callable[[], None],
    ) -> None:
        """watch: the session has begun something; look at it until it ends."""
        self._app, self._controller, self._watch = app, controller, watch
        self._prompt, self._hint_bar = prompt, hint_bar
        self._completions = BackgroundQuery[tuple[str, int], Sequence[Completion]](
            app, lambda asked: view.complete(*asked), self._complete, self._failed
        )
        self._costs = BackgroundQuery[str, Cost | None](app, view.cost, lambda _, cost: self._show(cost), self._failed)
        self._cost_timer: Timer | None = None
        self._prefetch_timer: Timer | None = None
        self._asked, self._again = NOTHING, False
        self._text = ""
        self._prefetched: str | None = None
        self.context_size = 0

    def moved(self) -> None:
        """The cursor is elsewhere, or the text is another one."""
        prompt = self._prompt
        asked = prompt.text, prompt.cursor_index
        if not prompt.by_hand or "@" not in asked[0][: asked[1]]:
            self._asked = NOTHING
            self._completions.forget()
            prompt.mentions.close()
        elif asked != self._asked:
            self._asked, self._again = asked, True
            self._completions.put(asked)

    def changed(self) -> None:
        """The text is another one."""
        message, before = self._message(), self._text
        self._text = message
        if message == before:
            return
        if not message:
            self._costs.forget()
            self._show(None)
        if self._prefetched is not None and not message.startswith(self._prefetched):
            # What is prefetched may still be a part of the new text, but most of it is not.
            self._controller.drop_prefetch()
            self._prefetched = None
        self._pause()

    def hear(self, item: object) -> None:
        """Apply an event of the session. A free one can prefetch, from the start after anything but a prefetch."""
        if isinstance(item, SessionOpened | ChatCleared | SessionIdle):
            self._prefetched = None
        if isinstance(item, SessionOpened | ChatCleared | SessionIdle | PrefetchEnded):
            self._pause()

    def busy(self) -> None:
        """The session has something better to do, and what is in its cache changes."""
        self._costs.forget()
        self._show(None)

    def _message(self) -> str:
        """What would be sent; nothing for a command."""
        text = self._prompt.text.strip()
        return "" if is_slash(text) else text

    def _pause(self) -> None:
        """Wait until the user has stopped typing."""
        for timer in (self._cost_timer, self._prefetch_timer):
            if timer is not None:
                timer.stop()
        self._cost_timer = self._app.set_timer(COST_PAUSE_S, self._ask_cost)
        self._prefetch_timer = self._app.set_timer(PREFETCH_PAUSE_S, self._prefetch)

    def _ask_cost(self) -> None:
        if self._text and self._controller.free:
            self._costs.put(self._text)

    def _prefetch(self) -> None:
        if self._text != self._prefetched and self._controller.prefetch(self._text):
            self._prefetched = self._text
            self._watch()

    def _complete(self, asked: tuple[str, int], found: Sequence[Completion]) -> None:
        prompt = self._prompt
        if asked != (prompt.text, prompt.cursor_index) or not prompt.has_focus:
            return
        prompt.mentions.offer(found)
        if not found and self._again:
            self._again = False
            self._app.set_timer(AGAIN_S, self._ask_again)

    def _ask_again(self) -> None:
        if self._asked != NOTHING:
            self._completions.put(self._asked)

    def _show(self, cost: Cost | None) -> None:
        if cost is None or not self._controller.free:
            self._prompt.say_below(None)
            self._hint_bar.notes = ()
            return
        size = self.context_size
        self._prompt.say_below(lambda room: cost_part(cost, size, room))
        self._hint_bar.notes = tuple(map(sanitize_line, cost.notes))

    def _failed(self, sentence: str) -> None:
        self._show(None)
        self._hint_bar.notes = (sanitize_line(sentence),)
