"""The proof in a transcript that speculation changed nothing: how far it has come, then what came of it."""

from collections.abc import Sequence

from laguna_engine.events import Cause
from laguna_tui.base import units
from laguna_tui.base.units import plural
from laguna_tui.events import Difference, Proof, Proving
from laguna_tui.tui import meter
from laguna_tui.tui.markdown.flow import Line, Run, Runs
from laguna_tui.tui.markdown.layout import MAX_PROSE
from laguna_tui.tui.markdown.wrap import wrap
from laguna_tui.tui.transcript.pieces import Piece
from laguna_tui.tui.transcript.steps import spent

BAR = 16
# Closer than this, kernels of another batch width round one way or the other: both tokens were as good.
NEAR_TIE_LOGITS = 0.1
# Enough of the text before the difference to find the place in the answer.
_BEFORE = 60
_NEWLINE = "⏎"
LABEL = 10
_CAUSES = {
    None: "",
    Cause.VERIFIED: ": the answer was verified several tokens at once, which rounds differently",
    Cause.READ: ": the prompt was read in other pieces, on another cached beginning, which rounds differently",
}


class Proved(Piece):
    """One proof. Texts in it are sanitised."""

    def __init__(self) -> None:
        super().__init__()
        self._state: Proving | Proof = Proving(0, 0)

    @property
    def running(self) -> bool:
        """Whether nothing came of it yet."""
        return isinstance(self._state, Proving)

    def tell(self, state: Proving | Proof) -> None:
        """How far it is, or what came of it."""
        self._state = state
        self.changed()

    def mark(self) -> Run:
        state = self._state
        if isinstance(state, Proving):
            return Run("◌ ", "muted")
        if state.difference is not None:
            return Run("≠ ", "warning")
        return Run("≡ ", "proved") if state.compared == state.total else Run("· ", "info")

    def lay(self, width: int) -> Sequence[Line]:
        state = self._state
        if isinstance(state, Proving):
            return wrap(_progress(state, width), width)
        width = min(width, MAX_PROSE)
        rows = wrap(_verdict(state), width)
        return rows if state.difference is None else [*rows, *_candidates(state.difference, width)]

    def source(self) -> str:
        if isinstance(self._state, Proving):
            return ""
        runs = _verdict(self._state)
        lines = _candidates(self._state.difference, MAX_PROSE) if self._state.difference else []
        return "\n".join("".join(run.text for run in each) for each in (runs, *(line.runs for line in lines)))


def _progress(state: Proving, width: int) -> Runs:
    if not state.total:
        return (Run("proving …", "muted"),)
    bar = meter.progress(state.done / state.total, min(BAR, width // 3))
    said = f" {units.count(state.done)} of {units.count(state.total)} tokens"
    return (Run("proving ", "muted"), Run(bar, "bar"), Run(said, "muted"))


def _verdict(proof: Proof) -> Runs:
    tokens = f"{units.count(proof.compared)} {plural(proof.compared, 'token')}"
    how = f"generated again without speculation in {spent(proof.seconds)}"
    if proof.difference is not None:
        return (Run(f"the same for {tokens}, then different", "warning"), Run(f"  {how}", "muted"))
    if proof.compared < proof.total:
        return (Run(f"stopped after {tokens} of {units.count(proof.total)}, all the same", "info"),)
    return (Run(f"identical, {tokens}", "proved"), Run(f"  {how}", "muted"))


def _candidates(found: Difference, width: int) -> list[Line]:
    before = found.before[-_BEFORE:]
    shown = f"…{before}" if len(found.before) > _BEFORE else before
    rows = (
        ("after", Run(_one_line(shown), "muted")),
        ("answered", Run(_quoted(found.answered), "strong")),
        ("plain", Run(_quoted(found.plain), "strong")),
        ("margin", Run(f"{found.margin:+.4f} logits for plain: {_why(found)}", "muted")),
    )
    lines: list[Line] = []
    for label, run in rows:
        lead = Run(f"{label:<{LABEL}}", "muted")
        lines.extend(wrap((run,), width, (lead,), (Run(" " * LABEL),)))
    return lines


def _why(found: Difference) -> str:
    if found.drawn:
        return "drawn with the same seed, where rounding can tip the draw"
    if abs(found.margin) < NEAR_TIE_LOGITS:
        return f"a near tie, rounding decides{_CAUSES[found.cause]}"
    return "more than rounding explains, please report it"


def _quoted(text: str) -> str:
    return f"“{_one_line(text)}”" if text else "(the end of the answer)"


def _one_line(text: str) -> str:
    return text.replace("\n", _NEWLINE).replace("\t", " ")
