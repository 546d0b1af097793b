"""The context screen: the blocks of the prompt, what is left out and why, and what a change would cost."""

import asyncio
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from laguna_tui.base.text import sanitize_line
from laguna_tui.context.blocks import ContextBlock, Cost
from laguna_tui.session.session import PromptView
from laguna_tui.tui.context.block_table import BlockTable, Changes, block_row, details, price, totals
from laguna_tui.tui.context.comparison_screen import ComparisonScreen
from laguna_tui.tui.event_sanitizer import error_sentence
from laguna_tui.tui.modal import Modal, Paragraph
from laguna_tui.tui.query_thread import QueryThread
from laguna_tui.tui.text_lines import MUTED

NOTHING = "The context is empty."
READING = "reading the context …"


class BlockList(OptionList):
    """The list of blocks. Enter is bound on the screen, so that a click only moves the highlight."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "screen.apply", show=False)]


class ContextScreen(Modal[Changes | None]):
    """Returns the changes to make, or None. The session is queried on other threads; nothing here waits for it."""

    WIDTH = None
    heading = "Context"
    hints = ("Space changes · D shows the text · Enter applies · Esc closes", "Space · D · Enter · Esc")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "cycle", "Keep, shorten or drop the block"),
        Binding("enter", "apply", "Apply the changes; without any, show the block's text"),
        Binding("d,D", "compare", "The block's text, before and after"),
        Binding("escape,q,Q,f9", "dismiss", "Close without a change"),
    ]

    def __init__(self, view: PromptView, size: int) -> None:
        """size: size of the context, in tokens."""
        super().__init__(classes="-full")
        self._view, self._context_size = view, size
        self.table = BlockTable()
        self._cost: Cost | None = None
        self._costs = QueryThread()

    def content(self) -> ComposeResult:
        yield Paragraph(READING, id="totals", markup=False)
        yield BlockList(compact=True)
        yield Paragraph(id="details", markup=False)
        yield Paragraph(id="price", markup=False)

    def on_mount(self) -> None:
        self.reload()

    # -- from the session

    @work(exclusive=True, group="blocks")
    async def reload(self) -> None:
        """Load the blocks again."""
        try:
            blocks = await asyncio.to_thread(self._view.blocks)
        except Exception as error:
            self._show_error(error)
            return
        at = self._options.highlighted
        self.table.load(blocks)
        self._options.clear_options()
        self._options.add_options([Option(self._row(block)) for block in blocks])
        self._options.highlighted = min(at or 0, len(blocks) - 1) if blocks else None
        self._options.focus()
        self._update_text()

    @work(exclusive=True, group="cost")
    async def _query_cost(self, changes: Changes) -> None:
        if not changes:
            return
        try:
            self._cost = await self._costs.run(self._view.change_cost, changes)
        except Exception as error:
            self._show_error(error)
        else:
            self._update_text()

    def _show_error(self, error: Exception) -> None:
        self.query_one("#price", Paragraph).update(Content.styled(error_sentence(error), "$error"))

    # -- rendering

    @property
    def _options(self) -> OptionList:
        return self.query_one(OptionList)

    @property
    def _block(self) -> ContextBlock | None:
        at = self._options.highlighted
        return self.table.blocks[at] if at is not None and at < len(self.table.blocks) else None

    def _row(self, block: ContextBlock) -> Content:
        return Content.assemble(*block_row(block, self.table, self._options.scrollable_content_region.width))

    def _update_text(self) -> None:
        """Update everything but the rows."""
        total = totals(self.table, self._context_size, self._width) if self.table.blocks else [(NOTHING, MUTED)]
        self.query_one("#totals", Paragraph).update(Content.assemble(*total))
        known = details(self._block, self.table, self._width) if self._block is not None else []
        self.query_one("#details", Paragraph).update(Content.assemble(*known))
        self.query_one("#price", Paragraph).update(Content.assemble(*price(len(self.table.changes), self._cost)))
        # The text below may have taken rows from the list.
        self.call_after_refresh(self._options.scroll_to_highlight)

    @property
    def _width(self) -> int:
        return self.query_one("#totals").content_size.width

    def on_resize(self) -> None:
        self.call_after_refresh(self._update_rows)

    def _update_rows(self) -> None:
        for index, block in enumerate(self.table.blocks):
            self._options.replace_option_prompt_at_index(index, self._row(block))
        self._update_text()

    @on(OptionList.OptionHighlighted)
    def _highlighted(self) -> None:
        self._update_text()

    # -- actions

    def action_cycle(self) -> None:
        block, at = self._block, self._options.highlighted
        if block is None or at is None or not self.table.cycle(block):
            return
        self._cost = None
        self._query_cost(dict(self.table.changes))
        self._options.replace_option_prompt_at_index(at, self._row(block))
        self._update_text()

    def action_apply(self) -> None:
        if self.table.changes:
            self.dismiss(dict(self.table.changes))
        else:
            self.action_compare()

    def action_compare(self) -> None:
        block = self._block
        if block is not None:
            read = partial(self._view.block_text, block.number)
            self.app.push_screen(ComparisonScreen(sanitize_line(block.title), read))
