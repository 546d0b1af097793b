"""Modal screens in which the user edits what was proposed, or writes a message to the model. Enter approves nothing."""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.tui.modal import CORNERS, Modal, notify
from laguna_tui.tui.text_lines import crop_front, fitting
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.request_entries import DiffEntry
from laguna_tui.tui.transcript.transcript_view import TranscriptView

# Longer texts make every key slow.
MAX_CHARS = 200_000
_UNCHANGED = "You have not changed anything yet. Esc goes back to the question."


def is_editable(text: str) -> bool:
    """Return whether an editor returns exactly this text: it is not too long, and all of it can be shown."""
    lines = text.replace("\r\n", "\n")
    return len(text) <= MAX_CHARS and sanitize(lines) == lines


class EditorArea(TextArea):
    """A text area that sanitises what is pasted, and whose cursor does not blink, as the prompt's."""

    def on_mount(self) -> None:
        self.cursor_blink = False

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        text = sanitize(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        self._replace_via_keyboard(text, *self.selection)


class TextEditor(Modal[str | None]):
    """Returns the edited text, or None. With `review`, the change is shown first, and Ctrl+S again applies it."""

    WIDTH = 160
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "apply", "Show the change, then apply it", priority=True),
        Binding("escape", "back", "Back to the text, then to the question", priority=True),
    ]

    def __init__(self, title: str, text: str, applies: str, review: Callable[[str], DiffEntry] | None = None) -> None:
        """Prepare.

        Args:
            title: sanitised.
            text: for which `is_editable` holds.
            applies: what Ctrl+S does in the end, as a verb.
            review: what the text changes; UserError if it cannot be applied. None applies it at once.
        """
        super().__init__()
        self._title, self._applies, self._review = title, applies, review
        self._before = text.replace("\r\n", "\n")
        self._area = EditorArea(self._before, tab_behavior="indent", show_line_numbers=review is not None, id="text")
        self._document = TranscriptDocument()
        self._diff = TranscriptView(self._document, id="review")
        self._reviewing = False

    def content(self) -> ComposeResult:
        self._diff.display = False
        yield self._area
        yield self._diff

    def on_mount(self) -> None:
        self._area.focus()
        if "\n" not in self._before:
            self._area.move_cursor(self._area.document.end)

    def show_border(self) -> None:
        does = "shows the change" if self._review is not None and not self._reviewing else self._applies
        self.hints = (f"Ctrl+S {does} · Esc {'keep editing' if self._reviewing else 'back'}",)
        # The end of a path says more.
        self.heading = crop_front(self._title, self.outer_width - CORNERS)
        super().show_border()

    def action_apply(self) -> None:
        text = self._area.text
        if self._review is None or self._reviewing:
            self.dismiss(text)
            return
        if text == self._before:
            notify(self.app, _UNCHANGED)
            return
        try:
            entry = self._review(text)
        except UserError as error:
            notify(self.app, str(error), "warning")
            return
        self._document.clear()
        self._document.append(entry)
        self._set_reviewing(True)
        # The view has its size after the refresh.
        self.call_after_refresh(self._show_review)

    def _show_review(self) -> None:
        self._diff.update_rows()
        self._diff.scroll_home(animate=False)

    def _set_reviewing(self, reviewing: bool) -> None:
        self._reviewing = reviewing
        self._area.display, self._diff.display = not reviewing, reviewing
        (self._diff if reviewing else self._area).focus()
        self.show_border()

    def action_back(self) -> None:
        if self._reviewing:
            self._set_reviewing(False)
        else:
            self.dismiss(None)


class _MessageArea(EditorArea):
    """Enter sends."""

    class Sent(Message):
        """Posted when Enter is pressed."""

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Sent())
        elif event.key in ("ctrl+j", "shift+enter", "alt+enter"):
            event.stop()
            event.prevent_default()
            self._replace_via_keyboard("\n", *self.selection)
        else:
            await super()._on_key(event)


class MessageInput(Modal[str | None]):
    """Asks for a message to the model, below the request. Returns it, or None."""

    WIDTH = None
    hints = ("Enter says no and sends it · Esc back", "Enter sends · Esc back")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Back to the question", priority=True)]

    def content(self) -> ComposeResult:
        yield _MessageArea(id="text")

    def show_border(self) -> None:
        self.heading = fitting(self.outer_width - CORNERS, "No: tell the model why, or what to do", "No, because …")
        super().show_border()

    def on_mount(self) -> None:
        self.query_one("#text", _MessageArea).focus()

    def on__message_area_sent(self) -> None:
        """Return the message, unless there is none yet."""
        text = self.query_one("#text", _MessageArea).text.strip()
        if text:
            self.dismiss(text)
