"""The context screen: the blocks of the prompt, what is left out and why, and what a change would cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from laguna_tui.base.text import sanitize_line
from laguna_tui.context.blocks import BlockText, ContextBlock, Cost
from laguna_tui.session.session import PromptView
from laguna_tui.tui.background_query import BackgroundQuery
from laguna_tui.tui.context.block_table import BlockTable, Changes, block_row, details, price, totals
from laguna_tui.tui.context.comparison_screen import ComparisonScreen
from laguna_tui.tui.modal import Modal
from laguna_tui.tui.text_lines import MUTED

NOTHING = "Nothing is in the context yet."
LOOKING = "reading the context …"
HINTS = ("Space changes · D shows the text · Enter applies · Esc leaves", "Space · D · Enter · Esc")


class BlockList(OptionList):
    """The list of blocks. Enter is bound on the screen, so that a click only moves the highlight."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "screen.apply", show=False)]


class ContextScreen(Modal[Changes | None]):
    """Returns the changes to make, or None. The session is queried on other threads; nothing here waits for it."""

    DEFAULT_CSS = Path(__file__).with_name("context_screen.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "cycle", "Keep, shorten or drop the block"),
        Binding("enter", "apply", "Apply the changes; without any, show the block's text"),
        Binding("d,D", "compare", "The block's text, before and after"),
        Binding("escape,q,Q,f9", "dismiss", "Leave without a change"),
    ]

    def __init__(self, view: PromptView, size: int) -> None:
        """size: size of the context, in tokens."""
        super().__init__()
        self._view, self._context_size = view, size
        self.table = BlockTable()
        self._cost: Cost | None = None
        self._blocks = BackgroundQuery[None, Sequence[ContextBlock]](
            self, lambda _: view.blocks(), self._show_blocks, self._fail
        )
        self._costs = BackgroundQuery[Changes, Cost | None](self, view.change_cost, self._show_cost, self._fail)

    def compose(self) -> ComposeResult:
        with Vertical(id="context") as box:
            box.border_title = "Context"
            yield Static(LOOKING, id="totals", markup=False)
            yield BlockList(compact=True)
            yield Static(id="details", markup=False)
            yield Static(id="price", markup=False)

    def on_mount(self) -> None:
        self.reload()

    def reload(self) -> None:
        """Load the blocks again."""
        self._blocks.submit(None)

    # -- results of the session

    def _show_blocks(self, _: None, blocks: Sequence[ContextBlock]) -> None:
        at = self._options.highlighted
        self.table.load(blocks)
        self._options.clear_options()
        self._options.add_options([Option(self._row(block)) for block in blocks])
        self._options.highlighted = min(at or 0, len(blocks) - 1) if blocks else None
        self._options.focus()
        self._update_text()

    def _show_cost(self, _: Changes, cost: Cost | None) -> None:
        self._cost = cost
        self._update_text()

    def _fail(self, sentence: str) -> None:
        self.query_one("#price", Static).update(Content.styled(sanitize_line(sentence), "$error"))

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
        self.query_one("#totals", Static).update(Content.assemble(*total))
        known = details(self._block, self.table, self._width) if self._block is not None else []
        self.query_one("#details", Static).update(Content.assemble(*known))
        self.query_one("#price", Static).update(Content.assemble(*price(len(self.table.changes), self._cost)))
        # The text below may have taken rows from the list.
        self.call_after_refresh(self._options.scroll_to_highlight)

    @property
    def _width(self) -> int:
        return self.query_one("#totals").content_size.width

    def on_resize(self, event: events.Resize) -> None:
        box = self.query_one("#context")
        box.border_subtitle = next((hint for hint in HINTS if len(hint) < event.size.width - 4), HINTS[-1])
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
        """Change the block's place, and query what that would cost."""
        block, at = self._block, self._options.highlighted
        if block is None or at is None or not self.table.cycle(block):
            return
        self._cost = None
        if self.table.changes:
            self._costs.submit(dict(self.table.changes))
        else:
            self._costs.cancel()
        self._options.replace_option_prompt_at_index(at, self._row(block))
        self._update_text()

    def action_apply(self) -> None:
        """Apply the changes; without any, show the block."""
        if self.table.changes:
            self.dismiss(dict(self.table.changes))
        else:
            self.action_compare()

    def action_compare(self) -> None:
        """Show the block's text before and after."""
        block = self._block
        if block is not None:
            self.app.push_screen(ComparisonScreen(sanitize_line(block.title), lambda: self._text(block.number)))

    def _text(self, number: int) -> BlockText:
        return self._view.block_text(number)
