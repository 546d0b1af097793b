"""What the user is asked about, in the transcript: an edit's diff and its outcome, or a command while it is asked.

All texts are sanitised.
"""

from collections.abc import Sequence
from enum import Enum

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.hunks import unified
from laguna_tui.base.permission_request import CallProposal, CommandProposal
from laguna_tui.tui.text_lines import TextLine, TextRun, TextRuns, cells, crop, crop_front
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


class RequestEntry(HeadlineEntry):
    """Something that a tool asks permission for.

    Attributes:
        question: the panel's title, with a place for `subject`.
        warning: what the panel says about it.
        agreed: the user allowed it, by itself or with others like it.
        rule: the rule that would allow it and others like it; empty if there is none.
    """

    question = "{}"
    rule = ""

    def __init__(self, subject: str, warning: str, *, agreed: bool = False) -> None:
        super().__init__(gap=False)
        self.subject, self.warning, self.agreed = subject, warning, agreed
        self.is_open = True

    def size(self) -> TextRuns:
        """How much it is, for the panel."""
        return ()


class CallRequestEntry(RequestEntry):
    """A command, or a call of somebody else's tool; shown until the user has answered."""

    def __init__(self, proposal: CommandProposal | CallProposal, warning: str) -> None:
        self._is_command = isinstance(proposal, CommandProposal)
        if isinstance(proposal, CommandProposal):
            lines = tuple(proposal.command.split("\n"))
            self.question = "Run {}?"
        else:
            lines = (proposal.summary, *proposal.details)
            self.question = "Call {}?"
        super().__init__(lines[0], warning)
        self._lines = lines

    def mark(self) -> TextRun:
        return TextRun("$ " if self._is_command else "⚙ ", "tool")

    def headline(self, width: int) -> TextRuns:
        return (TextRun(crop(self._lines[0], width), "tool strong"),)

    def body(self, width: int) -> Sequence[TextLine]:
        text = "\n".join(self._lines if len(self._lines) > 1 or cells(self._lines[0]) > width else ())
        return bar(text, width, "tool-text") if text else ()

    def source(self) -> str:
        return "\n".join(self._lines)


class EditEntry(RequestEntry):
    """An edit, from a sanitised proposal.

    Attributes:
        outcome: open until the edit is made or declined.
    """

    question = "Change {}?"

    def __init__(self, proposal: ChangeProposal, *, agreed: bool = False) -> None:
        super().__init__(proposal.path, proposal.warning, agreed=agreed)
        self.path = proposal.path
        self.outcome = EditOutcome.OPEN
        # If the user was asked, the warning was shown beside the question.
        self._unread = "" if not agreed else proposal.warning
        self._why = ""
        self.show(proposal)

    def show(self, change: ChangeProposal) -> None:
        """Show this change, which the user may have edited."""
        self.places, self._hunks = change.places, change.hunks
        self._diff: Diff | None = None

    def size(self) -> TextRuns:
        return counted(self.diff, self.places)

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
