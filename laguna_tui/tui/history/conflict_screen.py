"""The conflict screen: files that the user changed since, to be kept or overwritten, one by one."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import plural
from laguna_tui.tui.history.diff_screen import DiffView, FileDiffEntry, FileDiffScreen
from laguna_tui.tui.text_lines import TextRun, TextRuns, cells
from laguna_tui.undo.file_diff import FileDiff
from laguna_tui.undo.undo_plan import UndoPlan

_KEEP, _OVERWRITE = "keep  ", "overwrite  "
_ASKED = (
    "{count} {files} changed since. {which} kept unless you choose to overwrite; the diff shows what would be lost."
)


class ConflictEntry(FileDiffEntry):
    """A file that was changed since.

    Attributes:
        path: its raw path.
        overwrite: whether it is overwritten.
    """

    def __init__(self, file: FileDiff, path: str, why: str) -> None:
        super().__init__(file)
        self.path, self._why = path, why
        self.overwrite = False

    def choose(self) -> None:
        """Overwrite it, or keep it after all."""
        self.overwrite = not self.overwrite
        self.changed()

    def headline(self, width: int) -> TextRuns:
        word = TextRun(_OVERWRITE, "warning strong") if self.overwrite else TextRun(_KEEP, "info strong")
        headline = super().headline(width - cells(word.text))
        used = cells(word.text) + sum(cells(run.text) for run in headline)
        why = f"  {self._why}"
        return (word, *headline, *((TextRun(why, "muted"),) if used + cells(why) <= width else ()))


class ConflictScreen(FileDiffScreen):
    """Returns the paths to overwrite, or None for doing nothing at all."""

    hints = (
        "Space: keep or overwrite · a: all · Enter: continue · Esc: change nothing",
        "Space: choose · Enter: continue · Esc",
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "choose", "Keep the file, or overwrite it", priority=True),
        Binding("a", "choose_all", "Overwrite all files, or keep them", priority=True),
        Binding("enter", "accept", "Continue with these choices", priority=True),
        Binding("escape", "cancel", "Change nothing"),
    ]

    def __init__(self, title: str, plan: UndoPlan, files: Sequence[FileDiff]) -> None:
        """files: what the plan would change, raw."""
        self._whys: Mapping[str, str] = {file.path: file.conflict for file in plan.conflicts}
        shown = [file for file in files if file.path in self._whys or file.target in self._whys]
        self._paths = [file.path if file.path in self._whys else file.target for file in shown]
        super().__init__(title, lambda: shown)

    def summary(self, files: Sequence[FileDiff]) -> str:
        count = len(files)
        was = f"{plural(count, 'file')} {plural(count, 'was', 'were')}"
        return _ASKED.format(count=count, files=was, which=plural(count, "It is", "They are"))

    def entry(self, file: FileDiff) -> FileDiffEntry:
        path = self._paths[len(self.entries)]
        entry = ConflictEntry(file, path, sanitize_line(self._whys[path]))
        self.entries.append(entry)
        return entry

    def on_mount(self) -> None:
        self.entries: list[ConflictEntry] = []

    def action_choose(self) -> None:
        chosen = self.query_one(DiffView).chosen
        if isinstance(chosen, ConflictEntry):
            chosen.choose()
            self.view.update_rows()

    def action_choose_all(self) -> None:
        kept = [entry for entry in self.entries if not entry.overwrite]
        for entry in kept or self.entries:
            entry.choose()
        self.view.update_rows()

    def action_accept(self) -> None:
        self.dismiss(frozenset(entry.path for entry in self.entries if entry.overwrite))

    def action_cancel(self) -> None:
        self.dismiss(None)
