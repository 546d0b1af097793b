"""What is found out while the user types: commands, ways to complete a mention, what sending costs, and prefetching.

Typing never waits for any of it. A mention is completed at every key, the cost is queried when typing pauses, each on a
thread of its own and only ever for the newest text. Prefetching is the session's own work and needs a longer pause.
"""

from collections.abc import Callable, Sequence

from textual.app import App
from textual.timer import Timer

from laguna_tui.base.text import sanitize_line
from laguna_tui.context.blocks import Completion, Cost
from laguna_tui.session.session import PromptView
from laguna_tui.tui.background_query import BackgroundQuery
from laguna_tui.tui.context.cost_text import cost_part
from laguna_tui.tui.hint_bar import HintBar
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.session_messages import ChatCleared, PrefetchEnded, SessionIdle, SessionOpened
from laguna_tui.tui.slash_commands import is_slash, matching

# A cost takes up to 100 ms to compute, so it is not computed within a word.
COST_PAUSE_S = 0.15
# A cost that lacks what is being measured is computed again.
COST_AGAIN_S = 0.5
# Long enough to be a pause in typing, short enough to be useful.
PREFETCH_PAUSE_S = 0.7
# The first query may come before the folder's files are known; then it is repeated once.
RETRY_S = 0.5
NO_QUERY = ("", 0)
# What a line is that begins so.
_SHELL_TITLES = (("!!", "!! runs in your shell, and the model reads it"), ("!", "! runs in your shell"))


class PromptController:
    """Hints at commands, completes mentions, shows costs and starts prefetches. Screen's thread only.

    Call `changed` after every change of the text and `moved` after every move of the cursor.

    Attributes:
        context_size: size of the context, in tokens.
    """

    def __init__(
        self,
        app: App[None],
        view: PromptView,
        controller: SessionController,
        prompt: PromptInput,
        hint_bar: HintBar,
        watch: Callable[[], None],
    ) -> None:
        """watch: called when a job of the session was started and has to be polled."""
        self._app, self._controller, self._watch = app, controller, watch
        self._prompt, self._hint_bar = prompt, hint_bar
        self._completions = BackgroundQuery[tuple[str, int], Sequence[Completion]](
            app, lambda query: view.complete(*query), self._complete, self._show_error
        )
        self._costs = BackgroundQuery[str, Cost | None](
            app, view.cost, lambda _, cost: self._show_cost(cost), self._show_error
        )
        self._cost_timer: Timer | None = None
        self._prefetch_timer: Timer | None = None
        self._query, self._may_retry = NO_QUERY, False
        self._text = ""
        self._prefetched: str | None = None
        self.context_size = 0

    def moved(self) -> None:
        """Update the completions after a move of the cursor or a change of the text."""
        prompt = self._prompt
        if not prompt.by_hand or not prompt.may_mention:
            self._query = NO_QUERY
            self._completions.cancel()
            if prompt.mentions.found:
                prompt.mentions.close()
            return
        query = prompt.text, prompt.cursor_index
        if query != self._query:
            self._query, self._may_retry = query, True
            self._completions.submit(query)

    def changed(self) -> None:
        """Update the hints, the cost and the prefetch after a change of the text."""
        self._hint_commands()
        message, before = self._message(), self._text
        self._text = message
        if message == before:
            return
        if not message:
            self._costs.cancel()
            self._show_cost(None)
        if self._prefetched is not None and not message.startswith(self._prefetched):
            # The prefetched text may still be a part of the new one, but most of it is not.
            self._controller.drop_prefetch()
            self._prefetched = None
        self._restart_timers()

    def _hint_commands(self) -> None:
        text = self._prompt.text
        self._prompt.border_title = next((title for mark, title in _SHELL_TITLES if text.startswith(mark)), "")
        self._hint_bar.commands = tuple(matching(text)) if text.startswith("/") and is_slash(text) else ()

    def handle(self, item: object) -> None:
        """Apply an event of the session. A free one can prefetch, from the start after anything but a prefetch."""
        if isinstance(item, SessionOpened | ChatCleared | SessionIdle):
            self._prefetched = None
        if isinstance(item, SessionOpened | ChatCleared | SessionIdle | PrefetchEnded):
            self._restart_timers()

    def busy(self) -> None:
        """Hide the cost while the session is busy, because its cache changes."""
        self._costs.cancel()
        self._show_cost(None)

    def _message(self) -> str:
        """The message that would be sent; empty for a command."""
        text = self._prompt.text.strip()
        return "" if is_slash(text) else text

    def _restart_timers(self) -> None:
        """Restart the timers that wait for a pause in typing."""
        for timer in (self._cost_timer, self._prefetch_timer):
            if timer is not None:
                timer.stop()
        self._cost_timer = self._app.set_timer(COST_PAUSE_S, self._ask_cost)
        self._prefetch_timer = self._app.set_timer(PREFETCH_PAUSE_S, self._prefetch)

    def _ask_cost(self) -> None:
        if self._text and self._controller.free:
            self._costs.submit(self._text)

    def _prefetch(self) -> None:
        if self._text != self._prefetched and self._controller.prefetch(self._text):
            self._prefetched = self._text
            self._watch()

    def _complete(self, query: tuple[str, int], found: Sequence[Completion]) -> None:
        prompt = self._prompt
        if query != (prompt.text, prompt.cursor_index) or not prompt.has_focus:
            return
        prompt.mentions.offer(found)
        if not found and self._may_retry:
            self._may_retry = False
            self._app.set_timer(RETRY_S, self._retry)

    def _retry(self) -> None:
        if self._query != NO_QUERY:
            self._completions.submit(self._query)

    def _show_cost(self, cost: Cost | None) -> None:
        if cost is None or not self._controller.free:
            self._prompt.say_below(None)
            self._hint_bar.notes = ()
            return
        size = self.context_size
        self._prompt.say_below(lambda room: cost_part(cost, size, room))
        self._hint_bar.notes = tuple(map(sanitize_line, cost.notes))
        if cost.measuring and self._cost_timer is not None:
            self._cost_timer.stop()
            self._cost_timer = self._app.set_timer(COST_AGAIN_S, self._ask_cost)

    def _show_error(self, sentence: str) -> None:
        self._show_cost(None)
        self._hint_bar.notes = (sanitize_line(sentence),)
