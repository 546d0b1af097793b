"""Which hunks of an edit the user accepts: the state of the question, its words, and the marks in the diff."""

from collections.abc import Sequence

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.permission_request import PermissionAnswer
from laguna_tui.base.text_diff import Sign, count_lines
from laguna_tui.tui.approvals.question import Choice, Fact, Question
from laguna_tui.tui.text_lines import MUTED, TextLine, TextRun

NEXT, PREVIOUS = "right", "left"
_BACK = Choice("escape", "back", "back")
_OTHER = (Choice(PREVIOUS, "previous", "previous"), Choice(NEXT, "next", "next"))
_CHOICES = (
    Choice("y", "accept", "accept"),
    Choice("n", "decline", "decline"),
    Choice("a", "accept the rest", "all"),
    Choice("d", "decline the rest", "none"),
    *_OTHER,
    _BACK,
)
_PARTIAL = Fact((("The model sees which hunks you declined.", MUTED),), 1, detail=True)
_SUMMARY_CHOICES = (Choice("y", "yes", "yes"), _OTHER[0], _BACK)
_STATES = {
    True: TextRun("✓ accepted", "code-inserted strong"),
    False: TextRun("✕ declined", "code-deleted strong"),
}


class HunkSelection:
    """The user's decisions about the hunks of a change, one after the other.

    Attributes:
        at: the index of the hunk that is asked about; the number of hunks once all are decided.
    """

    def __init__(self, change: ChangeProposal) -> None:
        self._change = change
        self._decisions: list[bool | None] = [None] * len(change.hunks)
        self.at = 0

    @property
    def answer(self) -> PermissionAnswer:
        """The answer, once all hunks are decided."""
        return PermissionAnswer.of_hunks(self._accepted, len(self._decisions))

    @property
    def is_complete(self) -> bool:
        """Whether all hunks are decided, and none is looked at again."""
        return self.at == len(self._decisions)

    @property
    def _accepted(self) -> list[int]:
        return [index for index, decision in enumerate(self._decisions) if decision]

    def choose(self, key: str) -> None:
        """Decide about the hunk, or about all that are not decided, or go to another one."""
        count = len(self._decisions)
        if key in (NEXT, PREVIOUS):
            last = count if None not in self._decisions else count - 1
            self.at = max(0, min(last, self.at + (1 if key == NEXT else -1)))
            return
        if key in ("a", "d"):
            self._decisions = [key == "a" if each is None else each for each in self._decisions]
        else:
            self._decisions[self.at] = key == "y"
        undecided = [index for index, decision in enumerate(self._decisions) if decision is None]
        later = [index for index in undecided if index > self.at]
        self.at = next(iter(later or undecided), count)

    def question(self, subject: str) -> Question:
        """Return the question about the hunk, or whether to write what was accepted."""
        count, accepted = len(self._decisions), len(self._accepted)
        if self.is_complete:
            title = f"Write {accepted} of {count} hunks to {{}}?" if accepted else "Decline all hunks of {}?"
            facts = (_PARTIAL,) if 0 < accepted < count else ()
            return Question(title, subject, facts, _SUMMARY_CHOICES)
        hunk = self._change.hunks[self.at]
        added, removed = (count_lines((hunk,), sign) for sign in (Sign.ADDED, Sign.REMOVED))
        decided = f"   {accepted} accepted, {self._decisions.count(False)} declined, {self._decisions.count(None)} left"
        size = Fact(((f"+{added}", "$success"), (f" −{removed}", "$error"), (decided, MUTED)), 1)
        return Question(f"Accept hunk {self.at + 1} of {count} of {{}}?", subject, (size,), _CHOICES)

    def heads(self) -> Sequence[TextLine]:
        """Return a row above each hunk of the diff: its number, and the decision about it."""
        count = len(self._decisions)
        return [
            TextLine(
                (
                    TextRun("▸ " if index == self.at else "  ", "cursor"),
                    TextRun(f"hunk {index + 1} of {count}  ", "strong" if index == self.at else "muted"),
                    *([_STATES[decision]] if decision is not None else ()),
                )
            )
            for index, decision in enumerate(self._decisions)
        ]
