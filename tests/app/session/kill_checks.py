"""What a killed app must have left: every session whole, unlocked, and with all that the screen said is done."""

import json
import re
import sqlite3
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

import psutil

from laguna_tui.base.locked_file import is_locked
from laguna_tui.base.paths import APP
from laguna_tui.context.token_counter import CachedTokenCounter
from laguna_tui.sandbox import stubs
from laguna_tui.session.resuming import SavedSession, shown_turns
from laguna_tui.session.saved_state import content_of
from laguna_tui.store.journal_lines import JOURNAL
from laguna_tui.store.session_store import SessionStore
from laguna_tui.store.session_transcript import read_transcript
from laguna_tui.undo.undo import UndoHistory

_ENDED_S = 30.0
_NAMES = re.compile(r"(f[012]|a|s)\.txt")


def file_text(number: int) -> str:
    """A version of a file, from its beginning to its end."""
    return "\n".join([f"changed{number}x", *(f"line {line} of {number}" for line in range(20)), f"end {number}", ""])


def check_place(project: Path, home: Path, done: Collection[str], undone: Collection[str]) -> list[str]:
    """Check what a killed app left.

    Args:
        project: The folder that it was about.
        home: The user's.
        done: What the screen said is done, in the words of the transcript.
        undone: What of that may have been undone since.

    Returns:
        What is wrong, each beginning with its kind.
    """
    state, cache = home / "XDG_STATE_HOME" / APP, home / "XDG_CACHE_HOME" / APP
    store = SessionStore(state, cache)
    _remove_mount_points(state / "sandbox")
    sessions = store.newest()
    wrong = [f"torn files: {each}" for each in _torn(project, state)]
    if not sessions and done:
        wrong.append(f"lost sessions: there is none, though {sorted(done)} were done")
    shown = exported = ""
    for each in sessions:
        folder = store.folder / each.id
        if holders := _holders(folder / JOURNAL):
            wrong.append(f"stale locks: {folder} by {holders}")
            continue
        kept = SavedSession.open(folder)
        try:
            if kept.journal.notice or kept.journal.failing:
                wrong.append(f"torn files: {kept.journal.notice} {kept.journal.failing}")
            events, _ = shown_turns(kept, content_of(kept.journal, _no_count), newest=10**6)
        finally:
            kept.journal.release()
        shown += repr(events)
        exported += "\n".join(part.text for part in read_transcript(folder).parts)
        if (folder / "undo").is_dir():
            UndoHistory(project, folder / "undo").close()
    for way, text in {"shown": shown, "exported": exported}.items():
        lost = [word for word in done if word not in text and word not in undone]
        wrong += [f"lost events: {word} is not {way} again" for word in lost]
    return wrong


def _remove_mount_points(records: Path) -> None:
    """Remove what a command's sandbox was made of, as the next start does; once the last of its processes has ended."""
    until = time.monotonic() + _ENDED_S
    while list(records.glob("*.stubs")) and time.monotonic() < until:
        stubs.remove_leftovers(records)
        time.sleep(0.05)


def _holders(journal: Path) -> list[str]:
    """The processes that keep a journal locked.

    One that the app had just begun to start when it was killed has its files until it runs its own program: that is
    waited for.
    """
    found, until = list[str](), time.monotonic() + _ENDED_S
    while is_locked(journal):
        found = [str(each) for each in psutil.process_iter() if _has(each, journal)]
        if time.monotonic() > until:
            return found or ["nobody"]
        time.sleep(0.05)
    if found:
        sys.stderr.write(f"\nwas locked by {found}\n")
    return []


def _has(process: psutil.Process, path: Path) -> bool:
    try:
        return any(file.path == str(path) for file in process.open_files())
    except psutil.Error:
        return False


def _torn(project: Path, state: Path) -> Iterator[str]:
    """What is there in part."""
    for path in project.rglob("*"):
        if not _NAMES.fullmatch(path.name):
            yield f"{path} was left"
        elif path.name.startswith("f") and not _is_whole(text := path.read_text()):
            yield f"{path} has {len(text)} characters: {text[:20]!r} to {text[-20:]!r}"
    for path in state.rglob("*.json*"):
        if path.name == JOURNAL or path.suffix == ".lock":
            continue
        try:
            for line in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
                json.loads(line)
        except ValueError as error:
            yield f"{path}: {error}"
    for path in state.rglob("*.db"):
        with closing(sqlite3.connect(path)) as connection:
            (found,) = connection.execute("pragma quick_check").fetchone()
            if found != "ok":
                yield f"{path}: {found}"


def _is_whole(text: str) -> bool:
    number = text.partition("x")[0].removeprefix("changed")
    return number.isdecimal() and text == file_text(int(number))


def _no_count() -> CachedTokenCounter:
    raise AssertionError("nothing is attached")
