"""The help screen: every key and command, generated from the bindings, and the pages of the manual."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Markdown

from laguna_tui.base.manual import manual_pages, page_title, read_page
from laguna_tui.tui.keys import OwnKeys
from laguna_tui.tui.modal import Modal, Paragraph
from laguna_tui.tui.slash_commands import COMMANDS
from laguna_tui.tui.text_lines import MIN_WIDTH, MUTED, break_words, cells

KeyRow = tuple[str, str]
TYPED_KEYS: Sequence[KeyRow] = (
    ("/", "List the commands: ↑ ↓ and Enter choose, Tab completes, Esc closes"),
    ("@", "Mention a file, a folder, lines or a symbol: ↑ ↓ and Tab choose, Esc closes"),
    ("!COMMAND", "Run a command in your shell; Esc stops it"),
    ("!!COMMAND", "Run it and attach it to the next message"),
)
"""What begins something in the input."""


def key_rows(bindings: Iterable[BindingType], own: OwnKeys | None = None) -> list[KeyRow]:
    """Return the keys in effect and the description of each binding that has both."""
    keys = own or OwnKeys()
    rows = [(keys.shown(each), each.description) for each in bindings if isinstance(each, Binding)]
    return [row for row in rows if all(row)]


def command_rows() -> list[KeyRow]:
    """Return the syntax and summary of each slash command."""
    return [(command.usage, command.summary) for command in COMMANDS if command.slash]


def manual_rows() -> list[KeyRow]:
    """Return the name and title of each page of the manual."""
    return [(name, page_title(path)) for name, path in manual_pages().items()]


NOTHING = "Nothing has these words. Try fewer, or /help PAGE for the manual."
# Cells of the first column. Longer keys have a row of their own.
KEY_COLUMN, NARROW_KEY_COLUMN = 18, 12
# From this width on, the first column has its full width.
WIDE = 72
# Cells of the border, the padding and the scrollbar.
_FRAME = 7


class HelpScreen(Modal[None]):
    """Shows sections of rows, those that have all words of a filter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,enter", "dismiss", "Close the help", priority=True),
        Binding("up", "scroll('scroll_up')", "Scroll up a line", priority=True),
        Binding("down", "scroll('scroll_down')", "Scroll down a line", priority=True),
        Binding("pageup", "scroll('scroll_page_up')", "Scroll up a page", priority=True),
        Binding("pagedown", "scroll('scroll_page_down')", "Scroll down a page", priority=True),
    ]
    heading = "Help"
    hints = ("↑ ↓ PgUp PgDn scroll · Esc closes", "Esc closes")

    def __init__(self, sections: Mapping[str, Sequence[KeyRow]]) -> None:
        """Create the screen.

        Args:
            sections: rows by title: a key and what it does, or no key and a sentence; sanitised.
        """
        super().__init__(classes="-dense")
        self._sections = sections

    def content(self) -> ComposeResult:
        yield Input(placeholder="Filter: a key, a command, a word …", compact=True)
        with VerticalScroll(id="rows", can_focus=False):
            yield Paragraph(self._rows(), id="keys", markup=False)

    @on(Input.Changed)
    def _filter(self) -> None:
        self.query_one("#keys", Paragraph).update(self._rows())
        self.query_one("#rows").scroll_home(animate=False)

    def action_scroll(self, method: str) -> None:
        getattr(self.query_one("#rows"), method)(animate=False)

    def on_resize(self) -> None:
        """Wrap again for the new width."""
        super().on_resize()
        self.query_one("#keys", Paragraph).update(self._rows())

    def _found(self) -> Iterator[tuple[str, Sequence[KeyRow]]]:
        """Yield the sections with the rows that have all words of the filter."""
        words = "".join(field.value for field in self.query(Input)).lower().split()
        for title, rows in self._sections.items():
            found = [row for row in rows if all(word in " ".join((title, *row)).lower() for word in words)]
            if found:
                yield title, found

    def _rows(self) -> Content:
        parts: list[tuple[str, str]] = []
        wide = KEY_COLUMN if self.app.size.width >= WIDE else NARROW_KEY_COLUMN
        for title, rows in self._found():
            parts.append((f"{title}\n" if not parts else f"\n{title}\n", "bold $primary"))
            for key, what in rows:
                column = wide if key else 0
                room = max(MIN_WIDTH, self.outer_width - _FRAME - column)
                lines = [what[start:end] for start, end in break_words(what, room)]
                own_row = "" if cells(key) <= column - 2 or not key else f"\n{'':{column}}"
                parts.append((f"{key:<{column}}" if not own_row else f"{key}{own_row}", "$accent"))
                parts.append((f"\n{'':{column}}".join(lines) + "\n", "$foreground"))
        return Content.assemble(*(parts or [(NOTHING, MUTED)]))


class ManualPage(Modal[None]):
    """Shows a page of the manual.

    Raises:
        UserError: there is no such page.
    """

    BOX: ClassVar[type[Widget]] = VerticalScroll
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q,f1,enter", "dismiss", "Close the page")]

    def __init__(self, name: str) -> None:
        super().__init__()
        title, _, self._text = read_page(name).partition("\n")
        self.heading = title.lstrip("# ")

    def content(self) -> ComposeResult:
        yield Markdown(self._text, open_links=False)
