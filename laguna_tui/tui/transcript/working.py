"""The line at the end of the transcript that says what goes on while there is no text yet."""

from collections.abc import Sequence

from laguna_engine.events import Prefill
from laguna_tui.base import units
from laguna_tui.tui import meter
from laguna_tui.tui.markdown.flow import Line, Run
from laguna_tui.tui.markdown.wrap import crop
from laguna_tui.tui.transcript.pieces import Piece

BAR = 16


class Working(Piece):
    """Reading the prompt, with a bar when it takes long enough to have one; else a quiet waiting line."""

    stop = False

    def __init__(self) -> None:
        super().__init__()
        self._prefill: Prefill | None = None

    def tell(self, prefill: Prefill | None) -> None:
        """How far reading has come; None when there is nothing to read."""
        self._prefill = prefill
        self.changed()

    def mark(self) -> Run:
        return Run("◌ ", "muted")

    def lay(self, width: int) -> Sequence[Line]:
        prefill = self._prefill
        if prefill is None or prefill.done >= prefill.total:
            return [Line((Run("working …", "muted"),))]
        done = prefill.done / prefill.total
        said = f" {units.count(prefill.done)} of {units.count(prefill.total)} tokens"
        bar = meter.progress(done, min(BAR, width // 3))
        return [Line((Run("reading ", "muted"), Run(bar, "bar"), Run(crop(said, width - 8 - len(bar)), "muted")))]

    def source(self) -> str:
        return ""
