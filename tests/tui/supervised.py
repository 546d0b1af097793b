"""The app under its parent, for `job.py`: on a scripted session that stays in the state that is named.

`python -m tests.tui.supervised STATE [FOLDER]`; the FOLDER is where a file is to be edited.
"""

import sys
import threading
from pathlib import Path

from laguna_tui.supervise import run_supervised

STATES = {
    "starting": b"starting",
    "loading": b"loading",
    "idle": b"ready",
    "answering": b"more words",
    "asking": b"amount",
}
"""What the terminal shows when the state is reached."""


def run(state: str, folder: Path) -> int:
    sys.stderr.write("starting\n")
    from laguna_tui.tui.app import LagunaApp
    from laguna_tui.tui.tui_settings import TuiSettings
    from tests.tui.changes import Project
    from tests.tui.scripted import ScriptedSession, answer

    script = answer("more words\n\n" * 5000)
    if state == "asking":
        script = [Project(folder).rename(), *script]
    opening = threading.Event() if state == "loading" else None
    session = ScriptedSession(script, delay=0.01 if state == "answering" else 0.0, opening=opening)
    app = LagunaApp(session, TuiSettings())
    app.run()
    session.close()
    return app.return_code or 0


if __name__ == "__main__":
    sys.exit(run_supervised(lambda: run(sys.argv[1], Path(sys.argv[2] if sys.argv[2:] else "."))))
