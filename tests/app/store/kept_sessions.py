"""Sessions as the app keeps them, written event by event, and texts that want to break what reads them."""

from pathlib import Path
from typing import Any

from laguna_tui.store.session_journal import SessionJournal

HOSTILE = (
    "\x1b]0;owned\x07\x1b[2J \u202egnp.exe\u2066 [red]x[/red] <script>alert(1)</script> <img src=x onerror=alert(1)>"
    "\r\n"
    "# heading\n\u2028\u200b\udcff\ud800  ``` ![p](http://evil/x.png) [go](javascript:alert(1)) 'quote\" % {brace} \0"
)


def kept(parent: Path, *turns: tuple[str, str], about: str = "/shop", title: str = "", model: str = "Nano") -> str:
    """Keep a session and close it; returns its ID. turns: each message and its answer."""
    journal = begun(parent, *turns, about=about, title=title, model=model)
    journal.close()
    return journal.id


def begun(
    parent: Path, *turns: tuple[str, str], about: str = "/shop", title: str = "", model: str = "Nano"
) -> SessionJournal:
    """The journal of such a session, open."""
    journal = SessionJournal.create(parent, {"folder": about, "app": "0.1.0"})
    journal.append({"event": "opened", "model": model.lower(), "title": model})
    for number, (message, answer) in enumerate(turns, 1):
        journal.append({"event": "asked", "message": message})
        journal.append({"event": "turn", "number": number, "message": message})
        journal.append({"event": "shown", "events": [{"type": "TextDelta", "text": answer}]})
        journal.append({"event": "turn_ended", "number": number, "end": "answered"})
    if title:
        journal.append({"event": "titled", "title": title})
    return journal


def shown(*events: dict[str, Any]) -> dict[str, Any]:
    """What a screen was shown, as an event of the journal."""
    return {"event": "shown", "events": list(events)}
