"""The input history, kept across runs, and the screen that searches it.

A private file with one JSON string per line, the newest last. If it cannot be read or written, the app works without
it.
"""

import contextlib
import json
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.fuzzy import Matcher
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.base.text import sanitize_line
from laguna_tui.tui.modal import Modal, RowList

# Enough to find last month's question; small enough to read at every start.
MAX_ENTRIES = 1000
FILE = "history.jsonl"
# Another session locks the file for a few milliseconds; the screen waits that long.
_LOCK_S = 0.5
# Room for `MAX_ENTRIES` pasted files.
_LIMIT_BYTES = 64 << 20


class InputHistory:
    """Past inputs, with a position for the arrow keys.

    Attributes:
        entries: the inputs, the newest last.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / FILE if folder is not None else None
        self._on_disk = _read(self._path) if self._path else []
        self.entries = self._on_disk[-MAX_ENTRIES:]
        self._unsaved: list[str] = []
        self._at = len(self.entries)
        self._draft = ""

    def add(self, text: str) -> None:
        """Add an input; a repetition of the newest is ignored."""
        if text.strip() and self.entries[-1:] != [text]:
            self.entries = [*self.entries, text][-MAX_ENTRIES:]
            self._unsaved.append(text)
            self._save()
        self._at, self._draft = len(self.entries), ""

    def older(self, current: str) -> str | None:
        """The previous input, or None at the oldest. `current`, the text being typed, is kept as the newest."""
        if self._at == 0:
            return None
        if self._at == len(self.entries):
            self._draft = current
        self._at -= 1
        return self.entries[self._at]

    def newer(self) -> str | None:
        """The next input, or the text that was being typed; None if there is nothing newer."""
        if self._at >= len(self.entries):
            return None
        self._at += 1
        return self._draft if self._at == len(self.entries) else self.entries[self._at]

    def _save(self) -> None:
        """Append unsaved entries to those on disk; on failure they are kept for the next time."""
        if self._path is None:
            return
        from filelock import FileLock

        # A lock that times out is an OSError too.
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock(f"{self._path}.lock", timeout=_LOCK_S):
                now = _read(self._path)
                if now != self._on_disk:
                    self.entries = [*now, *self._unsaved][-MAX_ENTRIES:]
                write_atomically(self._path, "".join(json.dumps(entry) + "\n" for entry in self.entries))
            self._on_disk = self.entries
            self._unsaved.clear()


def _read(path: Path) -> list[str]:
    try:
        lines = read_small_file(path, _LIMIT_BYTES).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    entries: list[str] = []
    for line in lines:
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            entries.extend([entry] if isinstance(entry, str) else [])
    return entries


# Limited to keep typing fast.
MAX_SHOWN = 50


class HistorySearch(Modal[str | None]):
    """Returns the chosen input, or None."""

    DEFAULT_CSS = Path(__file__).with_name("history.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close"),
        Binding("up", "move(-1)", "Newer", priority=True),
        Binding("down,ctrl+r", "move(1)", "Older", priority=True),
    ]

    def __init__(self, entries: list[str]) -> None:
        super().__init__()
        self._entries = list(dict.fromkeys(reversed(entries)))
        self._shown: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="search") as box:
            box.border_title = "Search the input history"
            yield Input(placeholder="a few letters …", compact=True)
            yield RowList(compact=True)

    def on_mount(self) -> None:
        self._show("")

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._show(event.value)

    def _show(self, query: str) -> None:
        matcher = Matcher(query)
        scored = [(matcher.match(entry) if query else 1.0, entry) for entry in self._entries]
        best = sorted((item for item in scored if item[0] > 0), key=lambda item: -item[0])
        self._shown = [entry for _, entry in best[:MAX_SHOWN]]
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(Content(sanitize_line(entry))) for entry in self._shown])
        options.highlighted = 0 if self._shown else None

    def action_move(self, step: int) -> None:
        """Move the highlight; the focus stays in the input."""
        options = self.query_one(OptionList)
        if self._shown:
            options.highlighted = ((options.highlighted or 0) + step) % len(self._shown)

    @on(Input.Submitted)
    def _submit(self) -> None:
        at = self.query_one(OptionList).highlighted
        self.dismiss(self._shown[at] if at is not None and at < len(self._shown) else None)

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown[event.option_index])
