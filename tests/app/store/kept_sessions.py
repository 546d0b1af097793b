"""Sessions as the app keeps them, written event by event, and texts that want to break what reads them."""

import json
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from laguna_tui.base.events import AgentEvent, TextDelta
from laguna_tui.store.events import Content, MessageSent, Opened, Shown, Titled, TurnBegun, TurnEnded
from laguna_tui.store.journal_lines import JOURNAL
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
    journal = SessionJournal.create(parent, about, "0.1.0")
    journal.append(Opened(model=model.lower(), title=model))
    for number, (message, answer) in enumerate(turns, 1):
        journal.append(MessageSent(message=message))
        journal.append(turn(number, message))
        journal.append(shown(TextDelta(answer)))
        journal.append(TurnEnded(end="answered", detail=""))
    if title:
        journal.append(Titled(title=title))
    return journal


def turn(number: int, message: str = "") -> TurnBegun:
    """A turn began."""
    return TurnBegun(number=number, message=message)


def shown(*events: AgentEvent) -> Shown:
    """What a screen was shown, as an event of the journal; the text of an answer has any length."""
    stored = Content(str.encode).stored
    return Shown(
        events=tuple(to_builtins(event) if isinstance(event, TextDelta) else stored(event) for event in events)
    )


def forge(folder: Path, *lines: dict[str, Any]) -> None:
    """Append lines of any shape to a session's journal."""
    with (folder / JOURNAL).open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
