"""Requests for permission in the transcript: a change's diff and its outcome, or a call too long for the panel.

All texts are sanitised.
"""

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise

from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.permission_request import CallProposal, CommandProposal, PermissionRequest
from laguna_tui.base.review_text import MARK, fold_blank_lines
from laguna_tui.base.text_diff import Hunk, unified
from laguna_tui.tui.markdown.highlight import highlight
from laguna_tui.tui.text_lines import TextLine, TextRun, TextRuns, cells, crop_front, cut, plain, wrap
from laguna_tui.tui.transcript.diff_lines import Diff, tinted_diff
from laguna_tui.tui.transcript.entries import Entry, FilePlace, HeadlineEntry
from laguna_tui.tui.transcript.step_entries import bar, barred

# Rows of the diff that show of a change that was made, while it is closed.
PEEK = 8
# Rows of a command or a call that the panel shows, the last ones among them; the others are in the transcript.
PANEL_ROWS = 5


class ChangeOutcome(Enum):
    """The outcome of a change."""

    OPEN = "open"
    MADE = "made"
    NOT_MADE = "not made"


class RequestEntry(Entry):
    """Something that a tool asks permission for.

    Attributes:
        request: what the user is asked; None if nobody was.
        agreed: the user allowed it, by itself or with others like it.
    """

    request: PermissionRequest | None = None
    agreed = False

    def size(self) -> TextRuns:
        """Return how much it is, for the panel."""
        return ()


class CallRequestEntry(RequestEntry):
    """A command or another call that waits for permission, shown only if the panel cannot show all of it."""

    stop = False

    def __init__(self, proposal: CommandProposal | CallProposal) -> None:
        super().__init__(gap=False)
        self._lines = proposal_lines(proposal)

    def lay(self, width: int) -> Sequence[TextLine]:
        rows = [row for line in self._lines for row in barred(line, width)]
        return rows if len(rows) > PANEL_ROWS else ()

    def source(self) -> str:
        return "\n".join(map(plain, self._lines))


def proposal_lines(proposal: CommandProposal | CallProposal) -> tuple[TextRuns, ...]:
    """Return the highlighted lines of a command, or of another tool's call with its arguments.

    Marks in them stand out, and many blank lines are a note.
    """
    if isinstance(proposal, CallProposal):
        return tuple(_marked((TextRun(line),)) for line in (proposal.summary, *proposal.details))
    lines = fold_blank_lines(proposal.command.split("\n"))
    code = highlight("\n".join("" if line.is_note else line.text for line in lines), "bash")
    return tuple(
        (TextRun(line.text, "warning"),) if line.is_note else _marked(runs)
        for line, runs in zip(lines, code, strict=True)
    )


def _marked(runs: TextRuns) -> TextRuns:
    """Return the runs with what the review put into the text in the tone of a warning."""
    text = plain(runs)
    edges = [edge for mark in MARK.finditer(text) for edge in mark.span()]
    if not edges:
        return runs
    parts = cut(runs, list(pairwise([0, *edges, len(text)])))
    # Every second part is a mark.
    return tuple(
        TextRun(run.text, "warning") if number % 2 else run for number, part in enumerate(parts) for run in part
    )


class ChangeEntry(RequestEntry, HeadlineEntry):
    """A change of a file, from a sanitised proposal.

    Attributes:
        outcome: open until the change is made or declined.
        hunks: how many hunks the user accepted, and of how many; None if not decided one by one.
    """

    def __init__(self, change: ChangeProposal, *, agreed: bool = False) -> None:
        super().__init__(gap=False)
        self.agreed, self.is_open = agreed, True
        self.outcome = ChangeOutcome.OPEN
        self.hunks: tuple[int, int] | None = None
        # If the user was asked, the warning was shown beside the question.
        self._unread = change.warning if agreed else ""
        self._why = ""
        self._heads: Sequence[TextLine] = ()
        self.show(change)

    def show(self, change: ChangeProposal) -> None:
        """Show this change, which the user may have edited."""
        self.change = change
        self._diff: Diff | None = None

    def size(self) -> TextRuns:
        """Return the size of the change: `+3 −1  in 2 places`, `new  +12`."""
        change = self.change
        match change.kind:
            case ChangeKind.MOVE:
                return (TextRun("moved", "muted"),)
            case ChangeKind.CREATE:
                return (TextRun("new  ", "muted"), TextRun(f"+{change.added}", "code-inserted"))
            case ChangeKind.DELETE:
                return (TextRun("deleted  ", "muted"), TextRun(f"−{change.removed}", "code-deleted"))
        where = f"  in {change.places} places" if change.places > 1 else ""
        where = f"  {self.hunks[0]} of {self.hunks[1]} hunks" if self.hunks is not None else where
        return (
            TextRun(f"+{change.added}", "code-inserted"),
            TextRun(" "),
            TextRun(f"−{change.removed}", "code-deleted"),
            TextRun(where, "muted"),
        )

    def place(self) -> FilePlace:
        return FilePlace(self.change.target or self.change.path, self.diff.first_line)

    @property
    def diff(self) -> Diff:
        """The highlighted diff, computed on first use."""
        if self._diff is None:
            self._diff = tinted_diff(self.change.hunks, self.change.path)
        return self._diff

    def mark_hunks(self, heads: Sequence[TextLine]) -> None:
        """Show a row above each hunk; none from now on if there are none."""
        self._heads = heads
        self.changed()

    def hunk_row(self, number: int, width: int) -> int:
        """Return the row of what is shown above a hunk; 0 if there is none."""
        head = self._heads[number] if number < len(self._heads) else None
        return next((row for row, line in enumerate(self.lay(width)) if line is head), 0)

    def finish(self, outcome: ChangeOutcome, why: str = "") -> None:
        """Set the outcome; `why` is the reason if the change was not made."""
        self.outcome, self._why = outcome, why
        self.is_open = False
        self.changed()

    def mark(self) -> TextRun:
        return TextRun("± ", "muted" if self.outcome is ChangeOutcome.NOT_MADE else "tool")

    def headline(self, width: int) -> TextRuns:
        not_made = self.outcome is ChangeOutcome.NOT_MADE
        after = (TextRun(self.outcome.value, "muted"),) if not_made else self.size()
        room = width - sum(cells(run.text) for run in after) - 2
        tone = "muted" if not_made else "tool strong"
        return (TextRun(crop_front(self.change.subject, max(room, width // 3)), tone), TextRun("  "), *after)

    def body(self, width: int) -> Sequence[TextLine]:
        return [*self._warned(width), *self._rows(width)]

    def peek(self, width: int) -> Sequence[TextLine]:
        if self.outcome is not ChangeOutcome.MADE:
            # A declined change needs no reason: the user gave it.
            return bar(self._why, width, "error") if self._why and self.agreed else ()
        rows = self._rows(width)
        hidden = len(rows) - PEEK
        # A row that says “1 more row” would take the place of that row.
        shown = rows if hidden <= 1 else [*rows[:PEEK], TextLine((TextRun(f"… {hidden} more rows", "muted"),))]
        return [*self._warned(width), *shown]

    def _rows(self, width: int) -> Sequence[TextLine]:
        return self.diff.lay(width, side_by_side=self.side_by_side, heads=self._heads)

    def _warned(self, width: int) -> Sequence[TextLine]:
        return bar(self._unread, width, "warning") if self._unread else ()

    def source(self) -> str:
        return self.change.patch


class DiffEntry(Entry):
    """A diff by itself: what the user made of something, before it is used. `path` says which language it is."""

    stop = False

    def __init__(self, hunks: Sequence[Hunk], path: str) -> None:
        super().__init__(gap=False)
        self._diff, self._source = tinted_diff(hunks, path), "\n".join(unified(hunks))

    def lay(self, width: int) -> Sequence[TextLine]:
        return self._diff.lay(width, side_by_side=self.side_by_side) or wrap(
            (TextRun("Nothing would be left.", "muted"),), width
        )

    def source(self) -> str:
        return self._source
