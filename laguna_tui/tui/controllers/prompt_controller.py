"""What is found out while the user types: commands, ways to complete a mention, what sending costs, and prefetching.

Typing never waits for any of it. A mention is completed at every key; the cost is computed when typing pauses, and the
message is prefetched after a longer pause. Each is only ever done for the newest text.
"""

import asyncio
from functools import partial

from laguna_tui.base.text import sanitize_line
from laguna_tui.context.blocks import Cost
from laguna_tui.session.values import SessionInfo
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.context.cost_text import cost_part
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.event_sanitizer import error_sentence
from laguna_tui.tui.query_thread import QueryThread
from laguna_tui.tui.slash_commands import find, is_slash, split

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


class PromptController(Controller):
    """Hints at commands, completes mentions, shows costs and starts prefetches.

    Call `changed` after every change of the text and `moved` after every move of the cursor.

    Attributes:
        context_size: size of the context, in tokens.
    """

    def __init__(self, app: ChatApp) -> None:
        self._app, self._controller, self._view = app, app.controller, app.session.prompt
        self._prompt, self._hint_bar = app.prompt, app.hint_bar
        self._completions, self._costs = QueryThread(), QueryThread()
        self._query = NO_QUERY
        self._text = ""
        self._prefetched: str | None = None
        self.context_size = 0

    def moved(self) -> None:
        """Update the completions after a move of the cursor or a change of the text."""
        prompt = self._prompt
        query = (prompt.text, prompt.cursor_index) if prompt.by_hand and prompt.may_mention else NO_QUERY
        if query == NO_QUERY and not prompt.is_naming_command:
            prompt.completions.close()
        if query != self._query:
            self._query = query
            self._app.start_work(partial(self._complete, query), "complete", newest=True)

    async def _complete(self, query: tuple[str, int]) -> None:
        prompt = self._prompt
        for pause in (0.0, RETRY_S) if query != NO_QUERY else ():
            await asyncio.sleep(pause)
            try:
                found = await self._completions.run(self._view.complete, *query)
            except Exception as error:
                self._show_error(error)
                return
            if query != (prompt.text, prompt.cursor_index) or not prompt.has_focus:
                return
            prompt.completions.offer(found)
            if found:
                return

    def changed(self) -> None:
        """Update the hints, the cost and the prefetch after a change of the text."""
        text = self._prompt.message
        self._prompt.show_title(next((title for mark, title in _SHELL_TITLES if text.startswith(mark)), ""))
        name, rest = split(text)
        takes_more = is_slash(text) and (rest or text[-1:].isspace())
        self._hint_bar.command = find(name) if takes_more else None
        message, before = "" if is_slash(text) else text.strip(), self._text
        self._text = message
        if message == before:
            return
        if not message:
            self._show_cost(None)
        if self._prefetched is not None and not message.startswith(self._prefetched):
            # The prefetched text may still be a part of the new one, but most of it is not.
            self._controller.drop_prefetch()
            self._prefetched = None
        self._prepare()

    def opened(self, info: SessionInfo) -> None:
        self.context_size = info.context_size
        self.idle()

    def idle(self) -> None:
        self._prefetched = None
        self._prepare()

    def cleared(self) -> None:
        self.idle()

    def show(self) -> None:
        """Hide the cost while the session is busy, because its cache changes."""
        if not self._controller.free:
            self._show_cost(None)

    def _prepare(self) -> None:
        """Compute the cost of the message, then prefetch it, each after a pause in typing."""
        self._app.start_work(self._cost, "cost", newest=True)
        self._app.start_work(self._prefetch, "prefetch", newest=True)

    async def _cost(self) -> None:
        pause = COST_PAUSE_S
        while pause:
            await asyncio.sleep(pause)
            if not self._text or not self._controller.free:
                return
            try:
                cost = await self._costs.run(self._view.cost, self._text)
            except Exception as error:
                self._show_error(error)
                return
            self._show_cost(cost)
            pause = COST_AGAIN_S if cost is not None and cost.measuring else 0

    async def _prefetch(self) -> None:
        await asyncio.sleep(PREFETCH_PAUSE_S)
        if self._text != self._prefetched and self._controller.prefetch(self._text, self._prepare):
            self._prefetched = self._text

    def _show_cost(self, cost: Cost | None) -> None:
        if cost is None or not self._controller.free:
            self._prompt.say_below(None)
            self._hint_bar.notes = ()
            return
        size = self.context_size
        self._prompt.say_below(lambda room: cost_part(cost, size, room))
        self._hint_bar.notes = tuple(map(sanitize_line, cost.notes))

    def _show_error(self, error: Exception) -> None:
        self._show_cost(None)
        self._hint_bar.notes = (error_sentence(error),)
