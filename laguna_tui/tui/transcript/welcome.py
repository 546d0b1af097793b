"""The first thing in a transcript: where we are and how to begin."""

from collections.abc import Sequence

from laguna_tui.tui.markdown.flow import BLANK, Line, Run
from laguna_tui.tui.markdown.layout import MAX_PROSE
from laguna_tui.tui.markdown.wrap import wrap
from laguna_tui.tui.transcript.pieces import Piece

HINTS = (("Enter", "send"), ("Ctrl+J", "new line"), ("@", "mention a file"), ("F1", "all keys"))


class Welcome(Piece):
    """The model and folder by name, and what is known of the model once it is loaded. All texts are sanitised."""

    stop = False

    def __init__(self, model: str, folder: str) -> None:
        super().__init__()
        self._model = model
        self._folder = folder
        self._details = ""

    def tell(self, details: str) -> None:
        """The model is loaded, and this is what it is."""
        self._details = details
        self.changed()

    def mark(self) -> Run:
        return Run("≈ ", "bar")

    def lay(self, width: int) -> Sequence[Line]:
        width = min(width, MAX_PROSE)
        details = (Run(f"  {self._details}", "muted"),) if self._details else ()
        name = (Run("laguna", "heading heading-h2"), Run(f"  {self._model}", "text"), *details)
        about = (Run("Ask about the code in "), Run(self._folder, "inline-code"))
        hints: list[Run] = []
        for key, what in HINTS:
            hints.extend([Run("   ", "muted")] if hints else [])
            hints.extend([Run(key, "bullet"), Run(f"\u00a0{what.replace(' ', chr(0xA0))}", "muted")])
        return [*wrap(name, width), *wrap(about, width), BLANK, *wrap(tuple(hints), width)]

    def source(self) -> str:
        return ""
