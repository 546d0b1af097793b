"""The transcript widget: one scroll view that renders a document row by row.

It follows the end until the user scrolls up, keeps its position while rows above or below change, and renders only
visible rows.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from laguna_tui.tui.text_lines import MIN_WIDTH, WIDE_FROM, TextLine, TextRun, cells, drawn, index_at
from laguna_tui.tui.transcript.document import GUTTER, MARGIN, TranscriptDocument
from laguna_tui.tui.transcript.entries import FilePlace
from laguna_tui.tui.transcript.file_links import FileLink, KnownFiles, links_at
from laguna_tui.tui.transcript.selection import Position, SelectionUnit, row_text, rows_text, unit_at

# Size of the cache of rendered rows: a few screens.
CACHED_ROWS = 1024
# After a resize, this many entries outside the screen are laid out again per idle slice (about 2 ms).
SETTLE_ENTRIES = 40
SETTLE_EVERY = 0.02
# Seconds in which a click on the same cell is a double or triple click.
CHAIN_S = 0.5
# While the mouse is dragged to an edge, rows are scrolled this often, one for each row that it is beyond it.
DRAG_SCROLL_EVERY = 0.04
LINK, FOCUSED_LINK = Style(underline=True), Style(reverse=True)
TONES = (
    "text muted rule cursor bar user user-mark thinking thinking-text tool tool-text error warning info proved "
    "heading heading-h1 heading-h2 strong em strike inline-code link bullet quote quote-bar "
    "code code-label code-comment code-keyword code-string code-number code-name code-builtin code-deleted "
    "code-inserted added dropped added-part dropped-part by-teal by-amber by-violet by-rose"
).split()


@dataclass(slots=True)
class _Drag:
    """A selection while the mouse button is down."""

    start: Position
    end: Position
    unit: SelectionUnit
    pointer: Offset
    moved: bool = False


class TranscriptView(ScrollView):
    """Renders a document. Call `update_rows` after the document changed.

    Attributes:
        document: the entries.
        files: which paths can be opened; None for none.
        following: whether the view stays at the end.
    """

    DEFAULT_CSS = Path(__file__).with_name("transcript_view.tcss").read_text(encoding="utf-8")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"tone--{tone}" for tone in TONES}
    # Textual's own selection goes on in the widgets around, and knows neither words nor lines.
    ALLOW_SELECT = False

    following: var[bool] = var(True)

    class Copied(Message):
        """Posted to copy text to the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class FollowChanged(Message):
        """Posted when the view starts or stops following the end."""

        def __init__(self, following: bool) -> None:
            super().__init__()
            self.following = following

    class Opened(Message):
        """Posted to open a file."""

        def __init__(self, place: FilePlace) -> None:
            super().__init__()
            self.place = place

    def __init__(self, document: TranscriptDocument, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.document = document
        self._palette: dict[str, Style] = {}
        self._drawn: LRUCache[tuple[int, int, int, bool], Strip] = LRUCache(CACHED_ROWS)
        self._focused_entries = range(0)
        self._moving = False
        self._settling = False
        self.files: KnownFiles | None = None
        self._link: FileLink | None = None
        self._looking_up = asyncio.Lock()
        self._drag: _Drag | None = None
        self._drag_scroll: Timer | None = None
        self._pressed: tuple[float, Offset, SelectionUnit] = (-CHAIN_S, Offset(), SelectionUnit.LINE)

    # -- keeping rows, scroll position and virtual size in step

    def update_rows(self) -> None:
        """Render what changed in the document, keeping the scroll position."""
        anchor = self._anchor()
        changed = self.document.flush()
        if changed is None:
            return
        self._lay_visible(anchor)
        self._place(anchor)
        self._repaint_from(changed)

    def _anchor(self) -> tuple[int, int]:
        return self.document.at(self.scroll_offset.y) if len(self.document) else (0, 0)

    def _lay_visible(self, anchor: tuple[int, int]) -> None:
        """Lay out the entries that will be visible: from the anchor down, or from the end up."""
        document, height = self.document, self.size.height
        if self.following:
            index = len(document) - 1
            while index >= 0 and document.height - document.top(index + 1) < height:
                document.refresh(index)
                index -= 1
            return
        index = anchor[0]
        while index < len(document) and document.top(index) < document.top(anchor[0]) + anchor[1] + height:
            document.refresh(index)
            index += 1

    def _place(self, anchor: tuple[int, int]) -> None:
        self._moving = True
        size = Size(self.size.width, self.document.height)
        if size != self.virtual_size:
            self.virtual_size = size
        if self.following and self._drag is None:
            self.scroll_end(animate=False, immediate=True, x_axis=False, force=True)
        elif len(self.document):
            index = min(anchor[0], len(self.document) - 1)
            self.scroll_to(y=self.document.top(index) + anchor[1], animate=False, immediate=True, force=True)
        self._moving = False

    def _repaint_from(self, row: int) -> None:
        top = max(0, row - self.scroll_offset.y)
        if top < self.size.height:
            self.refresh(Region(0, top, self.size.width, self.size.height - top))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._moving:
            self.following = round(new_value) >= self.max_scroll_y
            self._lay_visible(self._anchor())
            self.update_rows()

    def watch_following(self, following: bool) -> None:
        self.post_message(self.FollowChanged(following))

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.following = True
        self._lay_visible((0, 0))
        self._place((0, 0))
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        width = max(MIN_WIDTH, event.size.width - GUTTER - MARGIN)
        side_by_side = self.app.size.width >= WIDE_FROM
        self._lay_again(lambda: self.document.resize(width, side_by_side=side_by_side))

    def restyle(self) -> None:
        """Render every row again, keeping the scroll position."""
        self._lay_again(self.document.restyle)

    def _lay_again(self, change: Callable[[], None]) -> None:
        if self.text_selection is not None:
            self.clear_selection()
        anchor = self._anchor()
        self._link = None
        self._drawn.clear()
        change()
        self._lay_visible(anchor)
        self.document.flush()
        self._place(anchor)
        self.refresh()
        self._settle_later()

    def _settle_later(self) -> None:
        if not self._settling:
            self._settling = True
            self.set_timer(SETTLE_EVERY, self._settle)

    def _settle(self) -> None:
        self._settling = False
        anchor = self._anchor()
        more = self.document.settle(SETTLE_ENTRIES)
        self.document.flush()
        self._place(anchor)
        if more:
            self._settle_later()

    # -- rendering

    def palette(self, tone: str) -> Style:
        """Return the style of a tone in the current theme."""
        style = self._palette.get(tone)
        if style is None:
            style = self._palette[tone] = self._combined(tone.split())
        return style

    def _combined(self, words: list[str]) -> Style:
        """Combine the styles of words: later ones win, but only in the properties that their rules set."""
        style = self.get_component_rich_style("tone--text")
        for word in words:
            own = self.get_component_rich_style(f"tone--{word}", partial=True)
            full = self.get_component_rich_style(f"tone--{word}")
            colours = Style(color=own.color and full.color, bgcolor=own.bgcolor and full.bgcolor)
            style += own.without_color + colours
        return style

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._palette.clear()
        self._drawn.clear()

    def mark_focused(self, entries: range) -> None:
        """Draw the block cursor beside these entries."""
        if entries != self._focused_entries:
            self._focused_entries = entries
            self.refresh()

    def render_line(self, y: int) -> Strip:
        row = self.scroll_offset.y + y
        width = self.size.width
        if row >= self.document.height:
            return Strip.blank(width, self.palette("text"))
        # The offsets are for a selection that begins in another widget.
        strip = self._row(row, width).apply_offsets(0, row)
        if self.files is not None and self.files.unknown and not self._looking_up.locked():
            self.run_worker(self.look_up(self.files), group="files")
        selection = self.text_selection
        if selection is None:
            return strip
        chosen = self.screen.get_component_rich_style("screen--selection")
        return self._toned(strip, row, selection, Style(bgcolor=chosen.bgcolor))

    def _row(self, row: int, width: int) -> Strip:
        index, inner = self.document.at(row)
        entry = self.document.entry(index)
        inside = inner >= entry.gap
        focused = inside and index in self._focused_entries
        key = (entry.serial, entry.version, inner, focused)
        strip = self._drawn.get(key)
        if strip is None:
            mark = entry.mark() if inside else NO_MARK
            mark = mark if inner == entry.gap else mark._replace(text="")
            line = self.document.line(index, inner)
            strip = draw_line(line, mark, width, self.palette, focused=focused)
            for link in self._links(row) if not line.number else ():
                style = FOCUSED_LINK if link == self._link else LINK
                strip = self._toned(strip, row, Selection(offset_of(link.start), offset_of(link.end)), style)
            self._drawn[key] = strip
        return strip

    # -- paths that can be opened

    def _links(self, row: int) -> list[FileLink]:
        return links_at(self.document, row, self.files) if self.files is not None else []

    async def look_up(self, files: KnownFiles) -> None:
        """Look up the paths that were met, on a thread, and underline those of files."""
        async with self._looking_up:
            while files.unknown:
                paths, files.unknown = files.unknown, set()
                if await asyncio.to_thread(files.look_up, paths):
                    self.redraw()

    def redraw(self) -> None:
        """Draw every row again, where the paths may be links now, or none any more."""
        self._drawn.clear()
        self.refresh()

    async def _open_at(self, position: Position) -> None:
        links = self._links(position[0])
        if self.files is not None and self.files.unknown:
            await self.look_up(self.files)
            links = self._links(position[0])
        if (link := next((link for link in links if link.start <= position < link.end), None)) is not None:
            self.post_message(self.Opened(link.place))

    # -- selecting with the mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin to select characters, with a double click words, with a triple click lines."""
        self.clear_selection()
        if event.button != 1 or not self.document.height:
            return
        if event.ctrl or event.meta:
            self.run_worker(self._open_at(self._position(event.offset)), group="open")
            return
        at, pointer = event.time, event.offset
        before, where, unit = self._pressed
        unit = (
            SelectionUnit(unit % len(SelectionUnit) + 1)
            if where == pointer and at - before < CHAIN_S
            else SelectionUnit.CHARACTER
        )
        self._pressed = (at, pointer, unit)
        self._drag = _Drag(*unit_at(self.document, self._position(pointer), unit), unit, pointer)
        self.capture_mouse()
        self._select()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Extend the selection, and scroll while the mouse is at an edge."""
        drag = self._drag
        if drag is None or event.offset == drag.pointer:
            return
        drag.pointer, drag.moved = event.offset, True
        self._select()
        if not self._beyond():
            self._stop_drag_scroll()
        elif self._drag_scroll is None:
            self._drag_scroll = self.set_interval(DRAG_SCROLL_EVERY, self._scroll_selecting)

    def on_mouse_up(self) -> None:
        """Copy what was selected."""
        if self._drag is None:
            return
        # Textual has removed the selection if the mouse was not moved.
        self._select()
        self._drag = None
        self._stop_drag_scroll()
        self.release_mouse()
        selection = self.text_selection
        text = self.get_selection(selection)[0] if selection is not None else ""
        if text.strip():
            self.post_message(self.Copied(text))

    def clear_selection(self) -> None:
        """Select nothing, here and on the rest of the screen."""
        self._drag = None
        if self.screen.selections:
            self.screen.clear_selection()

    def _position(self, pointer: Offset) -> Position:
        x, y = pointer - self.gutter.top_left
        row = self.scroll_offset.y + max(0, min(y, self.size.height - 1))
        row = min(row, self.document.height - 1)
        text, _ = row_text(self.document.line(*self.document.at(row)))
        return row, index_at(text, max(0, x))

    def _select(self) -> None:
        drag = self._drag
        if drag is None or (drag.unit is SelectionUnit.CHARACTER and not drag.moved):
            return
        start, end = unit_at(self.document, self._position(drag.pointer), drag.unit)
        start, end = min(start, drag.start), max(end, drag.end)
        self.screen.selections = {self: Selection(offset_of(start), offset_of(end))}

    def _beyond(self) -> int:
        """Return how many rows the mouse is above (negative) or below the view.

        At an edge of the terminal, the first or last row counts as outside.
        """
        y = self._drag.pointer.y - self.gutter.top if self._drag is not None else 0
        top = 0 if self.region.y else 1
        bottom = self.size.height - (self.region.bottom >= self.screen.size.height)
        return min(0, y - top) or max(0, y - bottom + 1)

    def _scroll_selecting(self) -> None:
        self.scroll_relative(y=self._beyond(), animate=False, immediate=True)
        self._select()

    def _stop_drag_scroll(self) -> None:
        if self._drag_scroll is not None:
            self._drag_scroll.stop()
            self._drag_scroll = None

    def _toned(self, strip: Strip, row: int, selection: Selection, style: Style) -> Strip:
        """Return the strip of a row with another style where it is selected."""
        found = selection.get_span(row)
        if found is None:
            return strip
        ends = [end.x for end in selection if end is not None]
        reach = max(ends) if len(ends) == len(selection) else None
        text, lead = row_text(self.document.line(*self.document.at(row)), reach)
        left = cells(text[: max(found[0], lead)])
        right = cells(text) if found[1] == -1 else cells(text[: found[1]])
        if right <= left:
            return strip
        before, middle, after = strip.divide([left, right, strip.cell_length])
        return Strip.join([before, middle.apply_style(style), after])

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        first = (selection.start.y, selection.start.x) if selection.start else (0, 0)
        last = (selection.end.y, selection.end.x) if selection.end else (self.document.height, None)
        return rows_text(self.document, first, last), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        del selection
        self.refresh()


def offset_of(position: Position) -> Offset:
    """Return a position as Textual has them in a selection."""
    row, column = position
    return Offset(column, row)


CURSOR = "▌"
NO_MARK = TextRun("")

StyleOf = Callable[[str], Style]


def draw_line(line: TextLine, mark: TextRun, width: int, palette: StyleOf, *, focused: bool = False) -> Strip:
    """Return a line as a strip of exactly `width` cells: block cursor, `mark` (two cells, or none), text."""
    base = palette("text")
    bar = Segment(CURSOR, palette("cursor")) if focused else Segment(" ", base)
    gutter = mark.text or " " * (GUTTER - 1)
    segments = [bar, Segment(gutter, palette(mark.tone))]
    segments.extend(Segment(drawn(run.text), palette(run.tone)) for run in line.runs)
    if line.fill:
        rest = line.reach - sum(cells(run.text) for run in line.runs)
        segments.append(Segment(" " * max(0, rest), palette(line.fill)))
    strip = Strip(segments)
    return strip.crop_extend(0, width - MARGIN, base).extend_cell_length(width, base)
