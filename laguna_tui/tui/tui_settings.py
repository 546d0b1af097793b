"""Settings of the TUI. Imports no Textual."""

from dataclasses import dataclass
from pathlib import Path

AUTO_THEME = "auto"


@dataclass(frozen=True, slots=True)
class TuiSettings:
    """Settings of the TUI.

    Attributes:
        state_dir: folder of the input history and crash files.
        theme: name of a Textual theme, or "auto".
        marker: file that exists once the setup screen was shown; None never shows it unasked.
        notify: whether the terminal notifies the user of an answer or a question while it is not looked at.
    """

    state_dir: Path | None = None
    theme: str = AUTO_THEME
    marker: Path | None = None
    notify: bool = True
