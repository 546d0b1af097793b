"""The app in a real terminal, for `test_terminal.py`: on a scripted session, with a key that breaks it (F12)."""

import os
import sys
from typing import ClassVar

from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.session import TuiSettings
from tests.tui.scripted import ScriptedSession, answer

HOSTILE = "\x1b]52;c;aGFoYQ==\x07 \x1b[2J \x9b31m \u202eabc"


class Fragile(LagunaApp):
    BINDINGS: ClassVar = [("f12", "break", "Break")]

    def action_break(self) -> None:
        raise RuntimeError("broken on purpose")


if __name__ == "__main__":
    script = answer(f"The answer {HOSTILE}\n\n```py\n{HOSTILE}\n```\n" + "more words\n\n" * 200)
    app = Fragile(ScriptedSession(script, delay=float(sys.argv[1])), TuiSettings())
    app.run()
    os._exit(app.return_code or 0)
