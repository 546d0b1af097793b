"""Notifications, and modal screens that close once, however many keys arrive meanwhile.

Textual handles the keys of one read before the messages they cause: two Enters post two selections, and the second
`dismiss` would pop the screen below, which is the last one.
"""

from typing import TypeVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import on
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.widgets import Input, OptionList

from laguna_tui.base.text import sanitize_line

T = TypeVar("T")


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
    """The base of the app's modal screens."""


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
