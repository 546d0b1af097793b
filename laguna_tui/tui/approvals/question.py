"""What the approval panel says about a request: a title, rows of facts, the choices. Values from sanitised texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.permission_request import CallProposal, CommandProposal, PermissionRequest, Proposal
from laguna_tui.base.review_text import head_and_tail
from laguna_tui.base.units import plural
from laguna_tui.tui.event_sanitizer import safe_path
from laguna_tui.tui.text_lines import MIN_WIDTH, MUTED, StyledText, TextLine, TextRun, cells, crop, crop_front, wrap
from laguna_tui.tui.transcript.request_entries import PANEL_ROWS, ChangeEntry, RequestEntry, proposal_lines
from laguna_tui.tui.transcript.step_entries import spent

_TITLES = {
    ChangeKind.EDIT: "Change {}?",
    ChangeKind.CREATE: "Create {}?",
    ChangeKind.DELETE: "Delete {}?",
    ChangeKind.MOVE: "Move {}?",
}
_DESTRUCTIVE = "Destructive"
_RULE_BEFORE, _RULE_AFTER = "a adds the rule ", " for this folder"
_TONES = {
    "muted": MUTED,
    "code-inserted": "$success",
    "code-deleted": "$error",
    "code-comment": "$foreground 72% italic",
    "code-keyword": "$primary",
    "code-string": "$success",
    "code-number": "$warning",
    "code-name": "bold",
    "code-builtin": "$secondary",
    "warning": "bold $warning",
}
_BETWEEN = "   "

ALL = 1_000
"""Rows of what is never cut off."""

Line = list[StyledText]


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence, or another text, in a panel.

    Attributes:
        runs: styled text.
        least: rows it is cut down to, if need be, where the panel would take the whole screen.
        detail: whether it shows only while the panel has the focus.
    """

    runs: tuple[StyledText, ...]
    least: int = ALL
    detail: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A key of the panel.

    Attributes:
        key: as Textual names it.
        label: what it does; `short` is the same in few cells.
    """

    key: str
    label: str
    short: str

    @property
    def shown_key(self) -> str:
        """The key as it is shown."""
        return {"escape": "Esc", "tab": "Tab", "left": "←", "right": "→"}.get(self.key, self.key)


YES = Choice("y", "yes", "yes")
ALWAYS = Choice("a", "always", "always")
NO = Choice("n", "no", "no")
SAY_NO = Choice("m", "no, because …", "because …")
EDIT = Choice("e", "edit first", "edit")
HUNKS = Choice("h", "hunk by hunk", "hunks")
NETWORK = Choice("w", "yes, with network", "network")
STOP = Choice("escape", "no, and stop", "stop")
ALLOWING = frozenset({YES.key, ALWAYS.key, NETWORK.key})
"""The keys that allow the request as it is shown."""
ELSEWHERE = (Choice("tab", "to answer", "to answer"), STOP)
"""The choices while the panel does not have the focus."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the panel shows.

    Attributes:
        title: with a place for `subject`, of which the end shows where it is too long.
        facts: what there is to know.
        choices: the answers.
        elsewhere: what shows instead of them while the panel does not have the focus.
        destructive: whether a yes may destroy something.
    """

    title: str
    subject: str
    facts: tuple[Fact, ...]
    choices: tuple[Choice, ...]
    elsewhere: tuple[Choice, ...] = ELSEWHERE
    destructive: bool = False


def question_about(entry: RequestEntry, request: PermissionRequest, width: int, *, editable: bool) -> Question:
    """Return the question about a request.

    Args:
        entry: what the transcript shows of it.
        request: sanitised.
        width: cells of a row.
        editable: whether the user can edit what is proposed.
    """
    proposal = request.proposal
    # A hunk that is not shown cannot be decided about.
    hunks = request.has_hunks and isinstance(entry, ChangeEntry) and not entry.diff.left_out
    choices = [YES, *([ALWAYS] if request.rule else []), NO, *([HUNKS] if hunks else []), SAY_NO]
    choices += [*([EDIT] if editable else []), *([NETWORK] if request.network else []), STOP]
    title, subject = _title(entry, proposal)
    destructive = bool(request.destructive)
    title = f"{_DESTRUCTIVE}: {title[0].lower()}{title[1:]}" if destructive else title
    facts = (*_what(entry, proposal, width), *_warnings(request), *_about(proposal, width), *_why(request))
    return Question(title, subject, facts, tuple(choices), destructive=destructive)


def _title(entry: RequestEntry, proposal: Proposal) -> tuple[str, str]:
    match proposal:
        case CommandProposal(background=background):
            return ("Run this command in the background?" if background else "Run this command?"), ""
        case CallProposal(summary, action=action):
            return ("{}?", action) if action else ("Call {}?", summary)
        case ChangeProposal(kind=kind):
            assert isinstance(entry, ChangeEntry), "a change has its own entry"
            return _TITLES[kind], entry.change.subject


def _what(entry: RequestEntry, proposal: Proposal, width: int) -> Iterator[Fact]:
    """Return what the request would do."""
    if isinstance(proposal, ChangeProposal):
        yield Fact(tuple((text, _style(tone)) for text, tone in entry.size()))
        if proposal.warning:
            yield Fact(((f"! {proposal.warning}", "$warning"),), 3)
        return
    lines = proposal_lines(proposal)
    if isinstance(proposal, CallProposal):
        lines = lines[1:]
    mark, indent = ("$ ", "  ") if isinstance(proposal, CommandProposal) else ("", "")
    rows: list[TextLine] = [row for line in lines for row in wrap(line, width - len(mark))]
    head, hidden, tail = head_and_tail(rows, PANEL_ROWS)
    for index, row in enumerate(head):
        yield _code(mark if index == 0 else indent, row)
    if hidden:
        yield Fact(((f"{indent}… {hidden:,} more {plural(hidden, 'row')}, shown above", "bold $warning"),))
    for row in tail:
        yield _code(indent, row)


def _code(indent: str, row: TextLine) -> Fact:
    return Fact(((indent, MUTED), *((text, _style(tone)) for text, tone in row.runs)))


def _warnings(request: PermissionRequest) -> Iterator[Fact]:
    for sentence, style in ((request.destructive, "bold $error"), (request.unusual, "bold $warning")):
        if sentence:
            yield Fact(((f"! {sentence}", style),), 3)


def _about(proposal: Proposal, width: int) -> Iterator[Fact]:
    """Return where a command runs and how long, in one row, of a long path the end."""
    if isinstance(proposal, CommandProposal):
        limit = _limit(proposal)
        folder = crop_front(safe_path(proposal.folder), max(MIN_WIDTH, width - cells(f"in {limit}")))
        yield Fact(((f"in {folder}{limit}", MUTED),), 1, detail=True)


def _limit(proposal: CommandProposal) -> str:
    if proposal.background:
        return ", until it ends or is stopped"
    minutes, seconds = divmod(round(proposal.timeout_s), 60)
    limit = f"{minutes} min" if minutes and not seconds else spent(proposal.timeout_s)
    return f", for at most {limit}"


def _why(request: PermissionRequest) -> Iterator[Fact]:
    """Return why the user is asked, which sandbox applies, and the rule that could be added."""
    why, proposal = request.why or request.approval_reason, request.proposal
    # The warning of such a change says the same.
    repeated = isinstance(proposal, ChangeProposal) and proposal.approval_reason and proposal.approval_reason in why
    if why and not repeated:
        yield Fact(((why, MUTED),), 1, detail=True)
    if request.sandbox and request.sandbox not in why:
        yield Fact(((request.sandbox, MUTED),), 2, detail=True)
    if request.rule:
        yield Fact(((_RULE_BEFORE, MUTED), (request.rule, "$accent"), (_RULE_AFTER, MUTED)), detail=True)


def _style(tone: str) -> str:
    return next((_TONES[word] for word in reversed(tone.split()) if word in _TONES), "")


def lay_facts(facts: Sequence[Fact], width: int, room: int) -> list[Line]:
    """Return the rows of the facts for a width; while they are more than `room`, the last that may be cut is cut."""
    laid = [wrap(tuple(TextRun(*run) for run in fact.runs), width) for fact in facts]
    for index in reversed(range(len(facts))):
        least = facts[index].least
        if sum(map(len, laid)) > room and len(laid[index]) > least:
            *kept, last = laid[index][:least]
            text = "".join(run.text for run in last.runs)
            cut = f"{crop(text, width - 1).removesuffix('…').rstrip()}…"
            laid[index] = [*kept, TextLine((TextRun(cut, last.runs[-1].tone),))]
    return [[(run.text, run.tone) for run in row.runs] for rows in laid for row in rows]


@dataclass(frozen=True, slots=True)
class PlacedChoice:
    """A choice in a row, from cell `start` on."""

    choice: Choice
    text: str
    start: int


def lay_choices(choices: Sequence[Choice], width: int) -> list[list[PlacedChoice]]:
    """Return the rows of the choices for a width, with full labels if these fit into one row, else with short ones."""
    full = _rows([(choice, choice.label) for choice in choices], width)
    return full if len(full) == 1 else _rows([(choice, choice.short) for choice in choices], width)


def _rows(labelled: Sequence[tuple[Choice, str]], width: int) -> list[list[PlacedChoice]]:
    rows: list[list[PlacedChoice]] = [[]]
    at = 0
    for choice, label in labelled:
        text = f"{choice.shown_key} {label}"
        if rows[-1] and at + cells(text) > width:
            rows.append([])
            at = 0
        rows[-1].append(PlacedChoice(choice, text, at))
        at += cells(text) + len(_BETWEEN)
    return rows


def choice_parts(row: Sequence[PlacedChoice]) -> list[StyledText]:
    """Return a row of choices, with the keys in another colour."""
    parts: list[StyledText] = []
    for placed in row:
        key, _, label = placed.text.partition(" ")
        parts += [(_BETWEEN, "")] if parts else []
        parts += [(key, "bold $accent"), (f" {label}", "$foreground")]
    return parts


def choice_at(row: Sequence[PlacedChoice], column: int) -> str:
    """Return the key of the choice at a column; empty between choices."""
    return next((p.choice.key for p in row if p.start <= column < p.start + cells(p.text)), "")
