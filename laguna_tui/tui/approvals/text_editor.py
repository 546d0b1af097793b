"""Modal screens in which the user edits what was proposed, or writes a message to the model. Enter approves nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.tui.modal import Modal, notify
from laguna_tui.tui.text_lines import crop_front, fitting
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.request_entries import DiffEntry
from laguna_tui.tui.transcript.transcript_view import TranscriptView

# Longer texts make every key slow.
MAX_CHARS = 200_000
_CORNERS = 6
_CSS = Path(__file__).with_name("text_editor.tcss").read_text(encoding="utf-8")
_UNCHANGED = "Nothing is changed yet. Esc goes back to the question."


def is_editable(text: str) -> bool:
    """Whether an editor gives back exactly this text: it has nothing that cannot be shown, and is not too long."""
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

    DEFAULT_CSS = _CSS
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

    def compose(self) -> ComposeResult:
        with Vertical(id="editor") as box:
            box.border_title = Content(crop_front(self._title, self.app.size.width - _CORNERS))
            self._diff.display = False
            yield self._area
            yield self._diff

    def on_mount(self) -> None:
        self._area.focus()
        if "\n" not in self._before:
            self._area.move_cursor(self._area.document.end)
        self._show_keys()

    def _show_keys(self) -> None:
        box = self.query_one("#editor", Vertical)
        if self._review is not None and not self._reviewing:
            keys = "Ctrl+S shows the change · Esc back"
        elif self._reviewing:
            keys = f"Ctrl+S {self._applies} · Esc edits on"
        else:
            keys = f"Ctrl+S {self._applies} · Esc back"
        box.border_subtitle = Content(keys)

    def action_apply(self) -> None:
        """Show what the text changes; when it is shown, return the text."""
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
        self._show_keys()

    def action_back(self) -> None:
        """Return from the change to the text, or close the editor."""
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
    """Asks for a message to the model, below what is asked about. Returns it, or None."""

    DEFAULT_CSS = _CSS
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Back to the question", priority=True)]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        with Vertical(id="message") as box:
            room = self.app.size.width - _CORNERS
            box.border_title = Content(fitting(room, self._title, "No, because …"))
            box.border_subtitle = Content(
                fitting(room, "Enter says no and sends it · Esc back", "Enter sends · Esc back")
            )
            yield _MessageArea(id="text")

    def on_mount(self) -> None:
        self.query_one("#text", _MessageArea).focus()

    def on__message_area_sent(self) -> None:
        """Return the message, unless there is none yet."""
        text = self.query_one("#text", _MessageArea).text.strip()
        if text:
            self.dismiss(text)
