"""The interactive transcript: a block cursor, folding, copying, and scrolling keys."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from laguna_tui.tui.key_bar import KeyHint
from laguna_tui.tui.modal import notify
from laguna_tui.tui.transcript import selection
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.entries import Entry, FoldingEntry, OfferEntry
from laguna_tui.tui.transcript.file_links import FileLink, links_in
from laguna_tui.tui.transcript.transcript_view import TranscriptView
from laguna_tui.tui.typed_text import HandOver, TypedAhead

NO_PATH = "This block names no file of the folder. n goes to the next path that does."
NO_PATH_BELOW = "No more files of this folder are named below. N goes up."
NO_PATH_ABOVE = "No more files of this folder are named above. n goes down."


class Transcript(TranscriptView, can_focus=True):
    """A transcript with a block cursor, shown while it has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "Block above", id="transcript.up"),
        Binding("down,j", "cursor(1)", "Block below", id="transcript.down"),
        Binding("enter,space", "fold", "Expand or collapse the block; ask it; open the path", id="transcript.fold"),
        Binding("n", "path(1)", "Next path that can be opened", id="transcript.next_path"),
        Binding("N", "path(-1)", "Previous path that can be opened", id="transcript.previous_path"),
        Binding("o", "open", "Open the path, or the first one of the block; Ctrl+click", id="transcript.open"),
        Binding("y,c", "copy", "Copy the block", id="transcript.copy"),
        Binding("pageup", "page_up", "Scroll up a page", show=False),
        Binding("pagedown", "page_down", "Scroll down a page", show=False),
        Binding("home,g", "top", "To the top", id="transcript.top"),
        Binding("end,G", "follow", "Follow the end", id="transcript.follow"),
        Binding("i", "leave", "Back to the input", id="transcript.leave"),
    ]

    class Left(Message):
        """Posted to move the focus back to the input."""

    class Taken(Message):
        """Posted when the user takes an offer."""

        def __init__(self, offer: OfferEntry) -> None:
            super().__init__()
            self.offer = offer

    def __init__(
        self,
        document: TranscriptDocument,
        hand_over: HandOver | None = None,
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        """hand_over: takes what is typed here for the input."""
        super().__init__(document, id=id)
        self._typed = TypedAhead(self, hand_over) if hand_over is not None else None
        self._at: int | None = None
        self._shown: Entry | None = None
        self._shown_row = 0

    def on_focus(self) -> None:
        if self._at is None:
            self.action_cursor(-1)
        self._show_cursor()

    def on_blur(self) -> None:
        self.mark_focused(range(0))
        self._focus_link(None)

    def action_cursor(self, step: int) -> None:
        self._focus_link(None)
        stops = selection.stops(self.document)
        if not stops:
            return
        at = self._at
        if at is None or at >= len(self.document):
            self._at = stops[-1]
        elif step > 0 and at == stops[-1] and isinstance(self._entry(), OfferEntry):
            # The input is below the offers.
            self.action_leave()
            return
        elif step < 0:
            self._at = max((stop for stop in stops if stop < at), default=stops[0])
        else:
            self._at = min((stop for stop in stops if stop > at), default=stops[-1])
        self._show_cursor()
        self._reveal(self._at)

    def focus_offer(self, *, last: bool) -> None:
        """Move the focus to the first or the last example question, or else to any offer; nothing without one."""
        offers = {at: entry for at, entry in enumerate(self.document.entries) if isinstance(entry, OfferEntry)}
        if offers:
            questions = [at for at, offer in offers.items() if not offer.command] or list(offers)
            self._at = questions[-1 if last else 0]
            self.focus()

    def show_entry(self, entry: Entry | None, row: int = 0) -> None:
        """Scroll to a row of the last entry, or to the end if all of it fits.

        Until the user scrolls, or None is shown, a change of the view's size does it again.
        """
        self._shown, self._shown_row = entry, row
        index = None if entry is None else self.document.index(entry)
        if index is None:
            return
        if self.document.top(index + 1) - self.document.top(index) > self.size.height:
            self.scroll_to(y=self.document.top(index) + row, animate=False)
        else:
            self.follow()

    def on_resize(self, event: events.Resize) -> None:
        del event  # the base class has a handler of its own, which lays the rows out
        index = None if self._shown is None else self.document.index(self._shown)
        if index is not None and (self.following or self.scroll_offset.y == self.document.top(index) + self._shown_row):
            self.call_later(self.show_entry, self._shown, self._shown_row)

    def key_hints(self) -> Sequence[KeyHint]:
        """Return what the keys do with the block at the cursor."""
        entry = self._entry()
        paths = KeyHint("paths", "path(1) path(-1)")
        moves = (KeyHint("move", "cursor(-1) cursor(1)"), KeyHint("input", "leave"))
        if self._link is not None:
            return (KeyHint("open", "open"), paths, *moves)
        if isinstance(entry, OfferEntry):
            return (KeyHint(entry.verb, "fold"), *moves)
        if isinstance(entry, FoldingEntry):
            return (KeyHint("collapse" if entry.is_open else "expand", "fold"), KeyHint("copy", "copy"), paths, *moves)
        return (KeyHint("copy", "copy"), paths, *moves)

    def _entry(self) -> Entry | None:
        """Return the entry at the cursor."""
        return self.document.entry(self._at) if self._at is not None and self._at < len(self.document) else None

    def _show_cursor(self) -> None:
        if self._at is not None and self._at < len(self.document):
            self.mark_focused(selection.span(self.document, self._at))
            self.refresh_bindings()

    def _reveal(self, index: int) -> None:
        """Scroll the block into view, at least its top."""
        span = selection.span(self.document, index)
        top, bottom = self.document.top(span.start), self.document.top(span.stop)
        view = self.size.height
        if top < self.scroll_offset.y or bottom - top > view:
            self.scroll_to(y=top, animate=False)
        elif bottom > self.scroll_offset.y + view:
            self.scroll_to(y=bottom - view, animate=False)

    # -- paths that can be opened

    def action_path(self, step: int) -> None:
        """Move the focus to the next path that can be opened, or to the one before."""
        self.run_worker(self._move_to_path(step), group="path", exclusive=True)

    async def _move_to_path(self, step: int) -> None:
        stops = [stop for stop in selection.stops(self.document) if self._at is None or stop <= self._at]
        span = selection.span(self.document, stops[-1]) if stops else range(len(self.document))
        before = self._link
        index = (span.start if step > 0 else span.stop - 1) if before is None else self.document.at(before.start[0])[0]
        while 0 <= index < len(self.document):
            found = await self._links_in(index)
            if before is not None:
                found = [link for link in found if (link.start > before.start) == (step > 0) and link != before]
            if found:
                self._focus_link(found[0 if step > 0 else -1])
                return
            index += step
        notify(self.app, NO_PATH_BELOW if step > 0 else NO_PATH_ABOVE)

    async def _links_in(self, index: int) -> list[FileLink]:
        """Return the links of an entry; what is unknown about them is looked up first."""
        if self.files is None:
            return []
        found = links_in(self.document, index, self.files)
        if self.files.unknown:
            await self.look_up(self.files)
            found = links_in(self.document, index, self.files)
        return found

    def _focus_link(self, link: FileLink | None) -> None:
        if link == self._link:
            return
        self._link = link
        if link is not None:
            row = link.start[0]
            index, _ = self.document.at(row)
            self._at = max((stop for stop in selection.stops(self.document) if stop <= index), default=index)
            self._show_cursor()
            if not self.scroll_offset.y <= row < self.scroll_offset.y + self.size.height:
                self.scroll_to(y=row - self.size.height // 2, animate=False)
        self.refresh_bindings()
        self.redraw()

    def action_open(self) -> None:
        """Open the file of the focused path, or of the first one in the block."""
        self.run_worker(self._open(), group="open")

    async def _open(self) -> None:
        link = self._link
        if link is None and self._at is not None and self._at < len(self.document):
            for index in selection.span(self.document, self._at):
                link = link or next(iter(await self._links_in(index)), None)
        if link is None:
            notify(self.app, NO_PATH)
        else:
            self.post_message(self.Opened(link.place))

    def action_fold(self) -> None:
        if self._link is not None:
            self.action_open()
        elif self._at is not None and self._at < len(self.document):
            self._toggle(self._at)

    def _toggle(self, index: int) -> None:
        entry = self.document.entry(index)
        if isinstance(entry, OfferEntry):
            self.post_message(self.Taken(entry))
        elif isinstance(entry, FoldingEntry):
            self.clear_selection()
            self._focus_link(None)
            entry.toggle()
            self.following = self.following and index == len(self.document) - 1
            self.update_rows()

    def toggle_all(self, *kinds: type[FoldingEntry]) -> None:
        """Open all entries of these types, or close them if all are open."""
        entries = [entry for entry in self.document.entries if isinstance(entry, kinds)]
        closed = [entry for entry in entries if not entry.is_open]
        for entry in closed or entries:
            entry.toggle()
        self.update_rows()

    def action_copy(self) -> None:
        if self._at is not None and self._at < len(self.document):
            self.post_message(self.Copied(selection.copied(self.document, self._at)))

    def action_top(self) -> None:
        self.scroll_home(animate=False)

    def action_follow(self) -> None:
        self._at = None
        self.mark_focused(range(0))
        self.follow()

    def action_leave(self) -> None:
        self._at = None
        self.post_message(self.Left())

    def on_key(self, event: events.Key) -> None:
        """Keep what is typed for the input."""
        bound = event.key in self._bindings.key_to_bindings
        if self._typed is not None and (self._typed or (event.is_printable and event.character and not bound)):
            self._typed.keep(event)

    def focus_on_click(self) -> bool:
        """Leave the focus where it is until the button is released: dragging only selects."""
        return False

    def on_click(self, event: events.Click) -> None:
        """Take the focus with the block that was clicked; take it, or open or close it if that was on its headline."""
        row = self.scroll_offset.y + event.y
        if self.text_selection is not None or row >= self.document.height:
            return
        index, inner = self.document.at(row)
        self._at = max((stop for stop in selection.stops(self.document) if stop <= index), default=self._at)
        self.focus()
        self._show_cursor()
        entry = self.document.entry(index)
        if (isinstance(entry, FoldingEntry) and inner == entry.gap) or (
            isinstance(entry, OfferEntry) and inner >= entry.gap
        ):
            self._toggle(index)
