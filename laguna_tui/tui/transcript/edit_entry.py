"""An edit in the transcript: what it would change while the user is asked, and afterwards what became of it."""

from collections.abc import Sequence
from enum import Enum

from laguna_tui.base.edit_proposal import EditProposal
from laguna_tui.base.hunks import unified
from laguna_tui.tui.text_lines import TextLine, TextRun, TextRuns, cells, crop_front
from laguna_tui.tui.transcript.diff_lines import Diff, tinted_diff
from laguna_tui.tui.transcript.entries import HeadlineEntry
from laguna_tui.tui.transcript.step_entries import bar

# Rows of a diff that show of an edit that was made, before it is opened.
PEEK = 8


class EditOutcome(Enum):
    """What became of an edit."""

    OPEN = "open"
    MADE = "made"
    NOT_MADE = "not made"


class EditEntry(HeadlineEntry):
    """One edit, made from a proposal that is safe to show. `agreed`: the user wants it, now or always."""

    def __init__(self, proposal: EditProposal, *, agreed: bool = False) -> None:
        super().__init__(gap=False)
        self.path, self.places, self.warning = proposal.path, proposal.places, proposal.warning
        self.fate = EditOutcome.OPEN
        self.agreed = agreed
        # Who was asked has read the warning beside the question.
        self._unread = "" if not agreed else proposal.warning
        self._why = ""
        self.is_open = True
        self._hunks = proposal.hunks
        self._read: Diff | None = None

    @property
    def diff(self) -> Diff:
        """The diff, in tones; they are found out once, when it is looked at."""
        if self._read is None:
            self._read = tinted_diff(self._hunks, self.path)
        return self._read

    def finish(self, fate: EditOutcome, why: str = "") -> None:
        """This is what became of it; `why` it was not made."""
        self.fate, self._why = fate, why
        self.is_open = False
        self.changed()

    def mark(self) -> TextRun:
        return TextRun("± ", "muted" if self.fate is EditOutcome.NOT_MADE else "tool")

    def headline(self, width: int) -> TextRuns:
        not_made = self.fate is EditOutcome.NOT_MADE
        after = (TextRun(self.fate.value, "muted"),) if not_made else counted(self.diff, self.places)
        room = width - sum(cells(run.text) for run in after) - 2
        tone = "muted" if not_made else "tool strong"
        return (TextRun(crop_front(self.path, max(room, width // 3)), tone), TextRun("  "), *after)

    def body(self, width: int) -> Sequence[TextLine]:
        return [*self._warned(width), *self.diff.lay(width)]

    def peek(self, width: int) -> Sequence[TextLine]:
        if self.fate is not EditOutcome.MADE:
            # Who declined it knows why.
            return bar(self._why, width, "error") if self._why and self.agreed else ()
        rows = self.diff.lay(width)
        hidden = len(rows) - PEEK
        # A row that says that one more is hidden takes the room of that one.
        shown = rows if hidden <= 1 else [*rows[:PEEK], TextLine((TextRun(f"… {hidden} more rows", "muted"),))]
        return [*self._warned(width), *shown]

    def _warned(self, width: int) -> Sequence[TextLine]:
        return bar(self._unread, width, "warning") if self._unread else ()

    def source(self) -> str:
        return "\n".join((f"--- {self.path}", f"+++ {self.path}", *unified(self._hunks)))


def counted(diff: Diff, places: int) -> TextRuns:
    """How much is changed: `+3 −1  in 2 places`."""
    where = f"  in {places} places" if places > 1 else ""
    return (
        TextRun(f"+{diff.added}", "code-inserted"),
        TextRun(" "),
        TextRun(f"−{diff.dropped}", "code-deleted"),
        TextRun(where, "muted"),
    )
