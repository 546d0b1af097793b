"""An edit in the transcript: its diff while the user is asked, its outcome afterwards."""

from collections.abc import Sequence
from enum import Enum

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.hunks import unified
from laguna_tui.tui.text_lines import TextLine, TextRun, TextRuns, cells, crop_front
from laguna_tui.tui.transcript.diff_lines import Diff, tinted_diff
from laguna_tui.tui.transcript.entries import HeadlineEntry
from laguna_tui.tui.transcript.step_entries import bar

# Rows of the diff that show of an edit that was made, while it is closed.
PEEK = 8


class EditOutcome(Enum):
    """The outcome of an edit."""

    OPEN = "open"
    MADE = "made"
    NOT_MADE = "not made"


class EditEntry(HeadlineEntry):
    """An edit, from a sanitised proposal.

    Attributes:
        outcome: open until the edit is made or declined.
        agreed: the user accepted it, by itself or with all edits of the session.
    """

    def __init__(self, proposal: ChangeProposal, *, agreed: bool = False) -> None:
        super().__init__(gap=False)
        self.path, self.places, self.warning = proposal.path, proposal.places, proposal.warning
        self.outcome = EditOutcome.OPEN
        self.agreed = agreed
        # If the user was asked, the warning was shown beside the question.
        self._unread = "" if not agreed else proposal.warning
        self._why = ""
        self.is_open = True
        self._hunks = proposal.hunks
        self._diff: Diff | None = None

    @property
    def diff(self) -> Diff:
        """The highlighted diff, computed on first use."""
        if self._diff is None:
            self._diff = tinted_diff(self._hunks, self.path)
        return self._diff

    def finish(self, outcome: EditOutcome, why: str = "") -> None:
        """Set the outcome; `why` is the reason if the edit was not made."""
        self.outcome, self._why = outcome, why
        self.is_open = False
        self.changed()

    def mark(self) -> TextRun:
        return TextRun("± ", "muted" if self.outcome is EditOutcome.NOT_MADE else "tool")

    def headline(self, width: int) -> TextRuns:
        not_made = self.outcome is EditOutcome.NOT_MADE
        after = (TextRun(self.outcome.value, "muted"),) if not_made else counted(self.diff, self.places)
        room = width - sum(cells(run.text) for run in after) - 2
        tone = "muted" if not_made else "tool strong"
        return (TextRun(crop_front(self.path, max(room, width // 3)), tone), TextRun("  "), *after)

    def body(self, width: int) -> Sequence[TextLine]:
        return [*self._warned(width), *self.diff.lay(width)]

    def peek(self, width: int) -> Sequence[TextLine]:
        if self.outcome is not EditOutcome.MADE:
            # A declined edit needs no reason: the user gave it.
            return bar(self._why, width, "error") if self._why and self.agreed else ()
        rows = self.diff.lay(width)
        hidden = len(rows) - PEEK
        # A row that says “1 more row” would take the place of that row.
        shown = rows if hidden <= 1 else [*rows[:PEEK], TextLine((TextRun(f"… {hidden} more rows", "muted"),))]
        return [*self._warned(width), *shown]

    def _warned(self, width: int) -> Sequence[TextLine]:
        return bar(self._unread, width, "warning") if self._unread else ()

    def source(self) -> str:
        return "\n".join((f"--- {self.path}", f"+++ {self.path}", *unified(self._hunks)))


def counted(diff: Diff, places: int) -> TextRuns:
    """The size of the change: `+3 −1  in 2 places`."""
    where = f"  in {places} places" if places > 1 else ""
    return (
        TextRun(f"+{diff.added}", "code-inserted"),
        TextRun(" "),
        TextRun(f"−{diff.dropped}", "code-deleted"),
        TextRun(where, "muted"),
    )
