"""The TUI on a scripted session without a model: `python -m tests.tui.demo [theme]`."""

import sys
from pathlib import Path

from laguna_engine.config import Speculation
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.tui_settings import TuiSettings
from tests.tui.contexts import BLOCKS, TEXTS, change_costs, costs, names, prompting
from tests.tui.scripted import PlayedSession
from tests.tui.story import DRAFTED

if __name__ == "__main__":
    theme = sys.argv[1] if len(sys.argv) > 1 else "auto"
    app = LagunaApp(
        prompting(
            PlayedSession(
                DRAFTED,
                title="Laguna Nano",
                folder=Path.cwd(),
                delay=0.02,
                mode=Speculation.FAST,
                drafter="dflash, 2 M parameters",
            ),
            costs=costs,
            names=names,
            blocks=BLOCKS,
            texts=TEXTS,
            change_costs=change_costs,
        ),
        TuiSettings(theme=theme),
    )
    app.run()
    sys.exit(app.return_code or 0)
