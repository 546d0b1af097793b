"""The colours of the drafters, and the legend that explains them."""

from dataclasses import dataclass

from laguna_engine.events import Source
from laguna_tui.tui.formatting import GAP, MUTED, StyledText, fitted, width_of
from laguna_tui.tui.text_lines import cells

TEXT, STRONG = "$foreground", "bold $foreground"
TINTED = {
    Source.DFLASH: "$foreground on $tint-dflash",
    Source.SUFFIX: "$foreground on $tint-suffix",
    Source.FILE: "$foreground on $tint-file",
    Source.TARGET: "$foreground",
}
MONO = {Source.DFLASH: "underline", Source.SUFFIX: "bold", Source.FILE: "reverse", Source.TARGET: "none"}
"""How a drafter's words look in the tinted text, with colours and without."""

BARS = {
    Source.DFLASH: "$ink-dflash",
    Source.SUFFIX: "$ink-suffix",
    Source.FILE: "$ink-file",
    Source.TARGET: "$foreground 60%",
}
"""The colour of a drafter's bars."""


def percent(share: float) -> str:
    """0.614 -> "61 %"."""
    return f"{round(100 * share)} %"


@dataclass(frozen=True, slots=True)
class Legend:
    """What the tinted text's tints mean, with each drafter's share; `mono` where there are no colours."""

    shares: tuple[tuple[Source, float], ...]
    mono: bool

    def parts(self, width: int) -> list[StyledText]:
        """In one row. The shares go first where there is no room."""
        styles, shares = MONO if self.mono else TINTED, dict(self.shares)
        names: list[list[StyledText]] = [[(f" {source.value} ", style)] for source, style in styles.items()]
        full = [
            [*name, (f" {percent(shares.get(source, 0.0))}", MUTED)] for name, source in zip(names, styles, strict=True)
        ]
        room = bool(shares) and sum(width_of(each) + cells(GAP[0]) for each in full) - cells(GAP[0]) <= width
        return fitted(full if room else names, width)
