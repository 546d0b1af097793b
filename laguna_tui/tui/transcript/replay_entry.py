"""The replay check in a transcript: the answer is generated again without speculation and compared."""

from collections.abc import Sequence

from laguna_engine.events import Cause
from laguna_tui.base import units
from laguna_tui.base.events import ReplayCheck, ReplayDifference, ReplayProgress
from laguna_tui.base.units import plural
from laguna_tui.tui.markdown.layout import MAX_PROSE
from laguna_tui.tui.text_lines import TextLine, TextRun, TextRuns, plain, progress_bar, wrap
from laguna_tui.tui.transcript.entries import Entry
from laguna_tui.tui.transcript.step_entries import spent

BAR = 16
# Below this margin the rounding of another batch width can decide: both tokens are equally good.
NEAR_TIE_LOGITS = 0.1
# Characters shown before the difference, enough to find it in the answer.
_BEFORE = 60
_NEWLINE = "⏎"
_NOISE = ", with the noise of the draw"
LABEL = 10
_CAUSES = {
    None: "",
    Cause.VERIFIED: ": the answer was verified several tokens at once, which rounds differently",
    Cause.READ: ": the prompt was read in other pieces, on another cached beginning, which rounds differently",
}


class ReplayEntry(Entry):
    """The progress of one replay check, then its result. Texts are sanitised."""

    def __init__(self) -> None:
        super().__init__()
        self._state: ReplayProgress | ReplayCheck = ReplayProgress(0, 0)

    @property
    def running(self) -> bool:
        """Whether there is no result yet."""
        return isinstance(self._state, ReplayProgress)

    def update(self, state: ReplayProgress | ReplayCheck) -> None:
        """Set the progress or the result."""
        self._state = state
        self.changed()

    def mark(self) -> TextRun:
        state = self._state
        if isinstance(state, ReplayProgress):
            return TextRun("◌ ", "muted")
        if state.difference is not None:
            return TextRun("≠ ", "warning")
        return TextRun("≡ ", "proved") if state.compared == state.total else TextRun("· ", "info")

    def lay(self, width: int) -> Sequence[TextLine]:
        state = self._state
        if isinstance(state, ReplayProgress):
            return wrap(_progress(state, width), width)
        width = min(width, MAX_PROSE)
        rows = wrap(_verdict(state), width)
        return rows if state.difference is None else [*rows, *_candidates(state.difference, width)]

    def source(self) -> str:
        if isinstance(self._state, ReplayProgress):
            return ""
        runs = _verdict(self._state)
        lines = _candidates(self._state.difference, MAX_PROSE) if self._state.difference else []
        return "\n".join(map(plain, (runs, *(line.runs for line in lines))))


def _progress(state: ReplayProgress, width: int) -> TextRuns:
    if not state.total:
        return (TextRun("replaying …", "muted"),)
    bar = progress_bar(state.done / state.total, min(BAR, width // 3))
    tokens = f" {units.count(state.done)} of {units.count(state.total)} tokens"
    return (TextRun("replaying ", "muted"), TextRun(bar, "bar"), TextRun(tokens, "muted"))


def _verdict(check: ReplayCheck) -> TextRuns:
    tokens = f"{units.count(check.compared)} {plural(check.compared, 'token')}"
    how = f"generated again without speculation in {spent(check.seconds)}"
    if check.difference is not None:
        return (TextRun(f"the same for {tokens}, then different", "warning"), TextRun(f"  {how}", "muted"))
    if check.compared < check.total:
        return (TextRun(f"stopped after {tokens} of {units.count(check.total)}, all the same", "info"),)
    return (TextRun(f"identical, {tokens}", "proved"), TextRun(f"  {how}", "muted"))


def _candidates(found: ReplayDifference, width: int) -> list[TextLine]:
    before = found.before[-_BEFORE:]
    shown = f"…{before}" if len(found.before) > _BEFORE else before
    rows = (
        ("after", TextRun(_one_line(shown), "muted")),
        ("answered", TextRun(_quoted(found.answered), "strong")),
        ("plain", TextRun(_quoted(found.plain), "strong")),
        ("margin", TextRun(f"{found.margin:+.4f} logits for plain{_NOISE * found.drawn}: {_why(found)}", "muted")),
    )
    lines: list[TextLine] = []
    for label, run in rows:
        lead = TextRun(f"{label:<{LABEL}}", "muted")
        lines.extend(wrap((run,), width, (lead,), (TextRun(" " * LABEL),)))
    return lines


def _why(found: ReplayDifference) -> str:
    if abs(found.margin) < NEAR_TIE_LOGITS:
        return f"a near tie, rounding decides{_CAUSES[found.cause]}"
    filtered = "unless top-k, top-p or min-p left one of them out, " if found.drawn else ""
    return f"{filtered}more than rounding explains, please report it"


def _quoted(text: str) -> str:
    return f"“{_one_line(text)}”" if text else "(the end of the answer)"


def _one_line(text: str) -> str:
    return text.replace("\n", _NEWLINE).replace("\t", " ")
