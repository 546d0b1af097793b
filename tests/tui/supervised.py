"""The app under its parent, for `job.py`: on a scripted session that stays in the state that is named.

`python -m tests.tui.supervised STATE [FOLDER]`; the FOLDER is where a file is to be edited, where the state folder is,
and where it is written as what the session was closed, into `ended`.
"""

import sys
import threading
from pathlib import Path

from laguna_tui.base.app_report import AppReport, Start
from laguna_tui.supervise import run_supervised

STATES = {
    "starting": b"starting",
    "loading": b"loading",
    "idle": b"ready",
    "answering": b"more words",
    "asking": b"amount",
    "kept": b"more words",
}
"""What the terminal shows when the state is reached."""
ANSWERING = ("answering", "kept")


def run(start: Start, report: AppReport, state: str, folder: Path) -> int:
    sys.stderr.write("starting\n")
    from laguna_tui.base.events import Asked, TextDelta, TurnEnd, TurnFinished
    from laguna_tui.store.session_summary import SessionSummary
    from laguna_tui.tui.app import LagunaApp
    from laguna_tui.tui.tui_settings import TuiSettings
    from tests.tui.changes import Project
    from tests.tui.scripted import answer
    from tests.tui.sessions.played_sessions import FOLDER, PlayedSessions, saving

    script = answer("more words\n\n" * 5000)
    if state == "asking":
        script = [Project(folder).rename(), *script]
    opening = threading.Event() if state == "loading" else None
    sessions = PlayedSessions(keeps=state == "kept")
    if start.session:
        sessions.listed = [SessionSummary(start.session, "go", FOLDER, "Scripted", 0.0, 0.0, 1, 1000)]
        sessions.events[start.session] = (
            Asked("go", 0.0),
            TextDelta("what there was of it"),
            TurnFinished(TurnEnd.CANCELLED),
        )
    delay = 0.01 if state in ANSWERING else 0.0
    session = saving(sessions, script, delay=delay, opening=opening)
    app = LagunaApp(session, TuiSettings(folder / "state"), None, "", report, resume=start.session or None)
    code = app.run_to_the_end()
    session.close(app.ended_by)
    (folder / "ended").write_text(app.ended_by)
    return code


if __name__ == "__main__":
    where = Path(sys.argv[2] if sys.argv[2:] else ".")
    sys.exit(run_supervised(lambda start, report: run(start, report, sys.argv[1], where)))
