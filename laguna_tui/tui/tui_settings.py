"""How the screen behaves. Imports no Textual."""

from dataclasses import dataclass
from pathlib import Path

AUTO_THEME = "auto"


@dataclass(frozen=True, slots=True)
class TuiSettings:
    """How the screen behaves. `theme` is a textual theme's name or "auto"; `state_dir` keeps the input history.

    `marker`: a file that says that the setup screen was seen; None never shows it unasked.
    """

    state_dir: Path | None = None
    theme: str = AUTO_THEME
    marker: Path | None = None
