"""The app in a real terminal, for `test_terminal.py`: on a scripted session.

`python -m tests.tui.terminal_child DELAY [STATE [asking]]`: with a STATE folder, the names of the keys that arrive are
written into its file `keys`; with `asking`, the answer begins with a question for permission. F12 breaks the app, and
F11 says how often text was inserted into the input.
"""

import os
import sys
from pathlib import Path
from typing import ClassVar

from textual import events

from laguna_tui.session.values import Here, ModelChoice
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.modal import notify
from laguna_tui.tui.tui_settings import TuiSettings
from laguna_tui.tui.typed_text import TypedText
from tests.tui.changes import Project
from tests.tui.contexts import BLOCKS, TEXTS, prompting
from tests.tui.scripted import PlayedSession, answer
from tests.tui.scripted_model_setup import ScriptedModelSetup

HOSTILE = "\x1b]52;c;aGFoYQ==\x07 \x1b[2J \x9b31m \u202eabc"
MODELS = tuple(ModelChoice(name, name.title(), Here.READY, "fits", True) for name in ("nano", "other"))


class Fragile(LagunaApp):
    BINDINGS: ClassVar = [("f12", "break", "Break"), ("f11", "count", "Count")]
    insertions = 0

    async def on_event(self, event: events.Event) -> None:
        keys = event.keys if isinstance(event, TypedText) else [event] if isinstance(event, events.Key) else []
        if self.state_dir is not None and keys:
            with (self.state_dir / "keys").open("a") as file:
                file.writelines(f"{key.key}\n" for key in keys)
        await super().on_event(event)

    def on_text_area_changed(self) -> None:
        self.insertions += 1

    def action_count(self) -> None:
        notify(self, f"text of {len(self.prompt.text)} in {self.insertions} insertions")

    def action_break(self) -> None:
        raise RuntimeError("broken on purpose")


if __name__ == "__main__":
    script = answer(f"The answer {HOSTILE}\n\n```py\n{HOSTILE}\n```\n" + "more words\n\n" * 200)
    state = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if sys.argv[3:] == ["asking"] and state is not None:
        script = [Project(state).rename(), *script]
    session = PlayedSession(script, folder=Path("/"), delay=float(sys.argv[1]), models=MODELS)
    prompting(session, blocks=BLOCKS, texts=TEXTS)
    app = Fragile(session, TuiSettings(state), ScriptedModelSetup())
    os._exit(app.run_to_the_end())
