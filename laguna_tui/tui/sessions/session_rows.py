"""Saved sessions as rows of a list: one row with title and age, and one with the rest."""

import time
from collections.abc import Sequence

from textual.content import Content

from laguna_tui.base import units
from laguna_tui.base.text import sanitize_line
from laguna_tui.store.session_summary import SessionSummary
from laguna_tui.tui.event_sanitizer import safe_path
from laguna_tui.tui.text_lines import MUTED, StyledText, cells, crop, crop_front, width_of

MARK, NO_MARK = "❯ ", "  "
OPEN_HERE, OPEN_ELSEWHERE = "open here", "open in another window"
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_WEEK_DAYS = 7
_DOT = " · "
_LEAST_TITLE = 16


def session_row(
    session: SessionSummary, room: int, now: float, *, everywhere: bool, current: str = "", chosen: bool = False
) -> Content:
    """Return a session in two lines of `room` cells, or three where a search found words in it.

    Args:
        session: raw.
        now: seconds since the epoch.
        everywhere: sessions of other folders are shown too, so that each names its own.
        current: ID of the one that is open here.
        chosen: whether the cursor is on it.
    """
    when = age(now - session.updated, session.updated)
    title = crop(title_of(session), max(_LEAST_TITLE, room - len(MARK) - cells(when) - 2))
    gap = " " * max(1, room - len(MARK) - cells(title) - cells(when))
    parts: list[StyledText] = [
        (MARK if chosen else NO_MARK, "$primary"),
        (title, "bold"),
        (gap + when, MUTED),
        ("\n" + NO_MARK, ""),
        *_details(session, room - len(NO_MARK), everywhere=everywhere, current=current),
    ]
    if session.snippet.strip():
        found = crop(" ".join(sanitize_line(session.snippet).split()), room - len(NO_MARK) - 2)
        parts += [("\n" + NO_MARK, ""), (f"“{found}”", "$foreground 85%")]
    return Content.assemble(*parts)


def title_of(session: SessionSummary) -> str:
    """Return the title on one line, sanitised."""
    return " ".join(sanitize_line(session.title).split()) or "untitled"


def age(seconds: float, when: float) -> str:
    """Return the age, and from a week on the day: "now", "5 min", "3 h", "2 d", "14 Nov", "14 Nov 2025"."""
    if seconds < _MINUTE:
        return "now"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    if seconds < _DAY:
        return f"{seconds / _HOUR:.0f} h"
    if seconds < _WEEK_DAYS * _DAY:
        return f"{seconds / _DAY:.0f} d"
    day, today = time.localtime(when), time.localtime(when + seconds)
    return f"{day.tm_mday} {time.strftime('%b' if day.tm_year == today.tm_year else '%b %Y', day)}"


def _details(session: SessionSummary, room: int, *, everywhere: bool, current: str) -> list[StyledText]:
    """Its state, turns, model and size, and its folder where that may be another one; what does not fit is left out."""
    state = OPEN_HERE if session.id == current else OPEN_ELSEWHERE if session.locked else ""
    ended = f"ended: {sanitize_line(session.ended)}" if session.ended and not state else ""
    marks: list[StyledText] = [(text, style) for text, style in ((state, "$accent"), (ended, "$warning")) if text]
    turns = f"{session.turns:,} {units.plural(session.turns, 'message')}"
    cache = f"{units.size(session.snapshots)} KV cache" if session.snapshots else ""
    facts = [turns, units.size(session.size), cache, sanitize_line(session.model)]
    parts: list[StyledText] = []
    for text, style in (*marks, *((fact, MUTED) for fact in facts if fact)):
        joined: Sequence[StyledText] = ((_DOT, MUTED), (text, style)) if parts else ((text, style),)
        if width_of(parts) + width_of(joined) > room:
            break
        parts += joined
    left = room - width_of(parts) - len(_DOT)
    if everywhere and left >= _LEAST_TITLE // 2:
        parts += [(_DOT, MUTED), (crop_front(safe_path(session.folder), left), MUTED)]
    return parts
