"""The help screen: every key and command, made from the bindings."""

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from laguna_tui.tui.keys import Row
from laguna_tui.tui.widgets.modal import Modal

KEY_COLUMN = 34
NARROW = 72


class HelpScreen(Modal[None]):
    """Shows sections of keys. Closes with Esc, Q, F1 or Enter."""

    DEFAULT_CSS = Path(__file__).with_name("help.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q,f1,enter", "dismiss", "Close the help")]

    def __init__(self, sections: dict[str, list[Row]]) -> None:
        super().__init__()
        self._sections = sections

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as box:
            box.border_title = "Keys and commands"
            box.border_subtitle = "Esc closes"
            yield Static(self._content(), markup=False)

    def _content(self) -> Content:
        parts: list[tuple[str, str]] = []
        narrow = self.app.size.width < NARROW
        for title, rows in self._sections.items():
            parts.append((f"{title}\n" if not parts else f"\n{title}\n", "bold $primary"))
            for key, what in rows:
                parts.append((f"{key}\n  " if narrow else f"{key:<{KEY_COLUMN}}", "$accent"))
                parts.append((f"{what}\n", "$foreground"))
        return Content.assemble(*parts)
