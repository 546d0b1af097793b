"""Notifications, and modal screens that close once, however many keys arrive meanwhile.

Textual handles the keys of one read before the messages they cause: two Enters post two selections, and the second
`dismiss` would pop the screen below, which is the last one.
"""

from pathlib import Path
from typing import ClassVar, TypeVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import on
from textual.app import App, ComposeResult
from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static

from laguna_tui.base.text import sanitize_line
from laguna_tui.tui.text_lines import fitting

T = TypeVar("T")

# Cells of the border, corners and blanks beside a title.
CORNERS = 6


def notify(app: App[None], text: str, severity: SeverityLevel = "information", *, alone: bool = False) -> None:
    """Show a notification. The text is sanitised here and never parsed as markup.

    alone: remove what is shown, as it no longer holds.
    """
    if alone:
        app.clear_notifications()
    app.notify(sanitize_line(text), severity=severity, markup=False, timeout=4)


class ClosesOnce(Screen[T]):
    """Ignores `dismiss` and every action unless the screen is on top."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return super().check_action(action, parameters) if self.is_active else False


class Modal(ModalScreen[T], ClosesOnce[T]):
    """A box with a title and its keys in the border. Subclasses yield what is in it from `content`.

    Attributes:
        heading: the title, sanitised.
        hints: the keys, for the lower border; the first of these that fits is shown.
        WIDTH: cells of the box on a screen that has as many; None for the whole screen.
        BOX: the container of the contents.
    """

    DEFAULT_CSS = Path(__file__).with_name("modal.tcss").read_text(encoding="utf-8")
    # It names the subclasses.
    SCOPED_CSS = False
    heading: str = ""
    hints: tuple[str, ...] = ("Esc closes",)
    WIDTH: ClassVar[int | None] = 84
    BOX: ClassVar[type[Widget]] = Vertical

    def compose(self) -> ComposeResult:
        with self.BOX(id="box") as self.box:
            if self.WIDTH is not None:
                self.box.styles.width = self.WIDTH
            self.show_border()
            yield from self.content()

    def content(self) -> ComposeResult:
        """Yield the widgets in the box."""
        raise NotImplementedError

    @property
    def outer_width(self) -> int:
        """Cells of the box with its border."""
        width = self.app.size.width
        return width if self.WIDTH is None else min(width, self.WIDTH)

    def show_border(self) -> None:
        """Update the title and the keys."""
        room = self.outer_width - CORNERS
        # Brackets in a title would be markup; a title is text here.
        self.box.border_title = Content(fitting(room, self.heading))
        self.box.border_subtitle = Content(fitting(room, *self.hints))

    def on_resize(self) -> None:
        self.show_border()


class Paragraph(Static):
    """A text whose height follows it, however soon after another one it comes.

    Textual measures a text only once between two moments without messages. If there is a layout after the first of two
    updates in that time, the second text gets the height of the first, and is cut off.
    """

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        super().update(content, layout=layout)
        self._box_model_cache.clear()


class RowList(OptionList):
    """A list whose rows may have colours; on the highlighted one they give way to the cursor's, which can be read."""

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        cursor = self.get_component_rich_style("option-list--option-highlighted")
        if cursor.bgcolor == self.rich_style.bgcolor:
            return strip
        legible = RichStyle(color=cursor.color)
        return Strip(
            [
                Segment(text, style + legible if style and style.bgcolor == cursor.bgcolor else style, control)
                for text, style, control in strip
            ],
            strip.cell_length,
        )


class Palette(CommandPalette, ClosesOnce[None]):
    """Textual's command palette; runs a selection once."""

    @on(OptionList.OptionSelected)
    @on(Input.Submitted)
    def _ignore_when_closed(self, event: Message) -> None:
        if not self.is_active:
            event.prevent_default().stop()
