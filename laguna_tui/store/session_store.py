"""All saved sessions: listed, found, searched, renamed, copied and deleted.

A session is a folder below `STATE/sessions`, named by its ID; its snapshots are `snapshot_store.py`'s. A folder whose
name begins with a dot is one that is being copied or deleted.
"""

import os
import secrets
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from laguna_tui.base.errors import UserError
from laguna_tui.base.locked_file import is_locked, open_locked_soon, open_private, reason, sync_folder
from laguna_tui.base.paths import SESSIONS
from laguna_tui.base.units import some_of
from laguna_tui.store.events import Forked, Moved, Titled
from laguna_tui.store.indexed_session import DAMAGED, IndexedSession
from laguna_tui.store.journal_lines import BLOBS, JOURNAL, JournalError, check_header, read_journal, unreadable
from laguna_tui.store.session_index import SessionIndex, journals
from laguna_tui.store.session_journal import SessionJournal, SessionLockedError, new_id
from laguna_tui.store.session_search import has_words, words_of
from laguna_tui.store.session_summary import SessionSummary
from laguna_tui.store.snapshot_store import SnapshotStore
from laguna_tui.undo.undo_log import STORE, move_log

_COPYING, _DELETED = ".copy-", ".deleted-"
_LEFT_AFTER_S = 60 * 60
"""From when on a folder that a killed process left behind is removed."""
_COPIED_AT_ONCE = 1024 * 1024
_LISTED = 5
_SINGLE = "asked"
"""Folder with the session of the last single question about each folder."""
_NO_TITLE = "(no message yet)"
_DAMAGED_TITLE = "(its beginning is damaged)"


class SessionNotFoundError(UserError):
    """No session, or more than one, has that name; the message says which there are."""


class SessionStore:
    """The sessions of the user's state folder. Any thread, any process."""

    def __init__(self, state: Path, cache: Path) -> None:
        """Read nothing yet.

        Args:
            state: The app's state folder.
            cache: Its cache folder.
        """
        self.folder = state / SESSIONS
        self._snapshots = SnapshotStore(cache)
        self._index = SessionIndex(self.folder)

    def newest(self, about: Path | None = None) -> list[SessionSummary]:
        """Return the sessions, newest first.

        Args:
            about: Only those about this folder; None for all.
        """
        snapshots = self._snapshots.sizes()
        return [self._stored(row, snapshots) for row in self._index.sessions() if _is_about(row, about)]

    def search(self, words: str, about: Path | None = None) -> list[SessionSummary]:
        """Return the sessions with all of these words in their title, then those with them in a text.

        Parts of words count. If no session has the words as they are, those with similar ones are returned.

        Args:
            words: What to search; upper and lower case are the same.
            about: Only sessions about this folder.
        """
        rows = {row.id: row for row in self._index.sessions() if _is_about(row, about)}
        found = self._found(rows, words_of(words)) or self._found(rows, words_of(words), misspelt=True)
        sizes = self._snapshots.sizes()
        return [replace(self._stored(rows[session], sizes), snippet=snippet) for session, snippet in found.items()]

    def _found(
        self, rows: Mapping[str, IndexedSession], words: Sequence[str], *, misspelt: bool = False
    ) -> Mapping[str, str]:
        """Return the sessions that have all of the words, each with where they were said."""
        titled = (row.id for row in rows.values() if has_words(row.title or row.message, words, misspelt=misspelt))
        said = self._index.search(words, misspelt=misspelt)
        return {**dict.fromkeys(titled, ""), **{session: said[session] for session in said if session in rows}}

    def find(self, name: str, about: Path | None = None) -> SessionSummary:
        """Return the session with an ID, the beginning of an ID, a title, or a part of a title; whole ones come first.

        Args:
            name: As the user gave it.
            about: The folder whose sessions come before those of others.

        Raises:
            SessionNotFoundError: There is none, or more than one.
        """
        rows = self._index.sessions()
        here = [row for row in rows if _is_about(row, about)]
        for candidates in (here, rows):
            for found in _named(candidates, name):
                if len(found) == 1:
                    return self._stored(found[0], self._snapshots.sizes())
                if found:
                    raise SessionNotFoundError(f"several sessions are called '{name}': {_listing(found)}; give an ID")
        there_are = f"there are {_listing(rows)}" if rows else "no saved sessions yet"
        raise SessionNotFoundError(f"no session is called '{name}'; {there_are}")

    def rename(self, session: str, title: str) -> None:
        """Give a session a title; an empty one takes it away.

        Raises:
            SessionLockedError: It is open.
            JournalError: It cannot be written.
        """
        with self._opened(session) as journal:
            journal.append(Titled(title=title), durable=True)
            failing = journal.failing
        if failing:
            raise JournalError(f"the session keeps its title. {failing}")

    def move(self, session: str, folder: Path) -> None:
        """Make a session be about the folder to which its own was moved.

        Args:
            session: Its ID.
            folder: The new place, without links.

        Raises:
            SessionLockedError: It is open.
            JournalError: It cannot be written.
        """
        with self._opened(session) as journal:
            try:
                move_log(journal.folder / STORE, folder)
            except (OSError, ValueError) as error:
                raise JournalError(f"the session's undo log cannot be moved to {folder} ({error})") from error
            journal.append(Moved(folder=str(folder)), durable=True)
            failing = journal.failing
        if failing:
            raise JournalError(f"the session was not moved to {folder}. {failing}")

    @contextmanager
    def _opened(self, session: str) -> Iterator[SessionJournal]:
        journal = SessionJournal.open(self._existing(session))
        try:
            yield journal
        finally:
            journal.release()

    def fork(self, session: str, title: str = "") -> str:
        """Copy a session as far as it is written, even if it is open; returns the copy's ID.

        Args:
            session: The ID of the one to copy.
            title: The copy's; empty for the same with "(copy)" behind it.

        Raises:
            JournalError: It cannot be read, or there is no room for the copy.
        """
        source, copy = self._existing(session), new_id(self.folder)
        making = self.folder / f"{_COPYING}{copy}"
        known = next((row for row in self._index.sessions() if row.id == session), None)
        title = title or f"{_title(known) if known else session} (copy)"
        try:
            making.mkdir(mode=0o700)
            self._copy(source, making, copy, title)
            making.rename(self.folder / copy)
            sync_folder(self.folder)
        except BaseException as error:
            shutil.rmtree(making, ignore_errors=True)
            if isinstance(error, OSError):
                raise JournalError(f"the session {session} was not copied: {reason(error)}; make room there") from error
            raise
        self._snapshots.copy(session, copy)
        return copy

    def delete(self, sessions: Collection[str]) -> int:
        """Delete sessions for good; returns how many bytes that freed.

        Raises:
            SessionLockedError: One is open; it and those behind it are left.
            JournalError: One cannot be deleted.
        """
        freed = 0
        try:
            for session in sessions:
                freed += self._delete(session)
        finally:
            self._index.forget()
        return freed

    def replace_single(self, about: Path, session: str) -> None:
        """Keep the session of a single question about a folder, and delete the one before it if it had no other.

        Without this, a script's questions would fill the list of sessions. Failures are left to the next time.
        """
        marker = self.folder.parent / _SINGLE / blake2b(os.fsencode(about), digest_size=12).hexdigest()
        with suppress(OSError, UserError):
            before = marker.read_text(encoding="ascii") if marker.is_file() else ""
            found = [each.id for each in self.newest(about) if each.id == before != session and each.turns <= 1]
            self.delete(found)
        with suppress(OSError):
            marker.parent.mkdir(mode=0o700, exist_ok=True)
            marker.write_text(session, encoding="ascii")

    def remove_leftovers(self, *, now: float | None = None) -> None:
        """Remove what killed processes left; raises nothing.

        That is unfinished copies, sessions that were being deleted, folders without a line, and snapshots of sessions
        that are gone.

        Args:
            now: The time in seconds since the epoch; None asks the clock.
        """
        before = (time.time() if now is None else now) - _LEFT_AFTER_S
        with suppress(OSError):
            for folder in list(self.folder.iterdir()):
                with suppress(OSError):
                    if folder.lstat().st_mtime < before and _is_leftover(folder):
                        shutil.rmtree(folder, ignore_errors=True)
        if sessions := dict(journals(self.folder)):
            self._snapshots.remove_orphans(sessions, before)

    def _existing(self, session: str) -> Path:
        """Return the folder of a session; JournalError if there is none with that ID."""
        if session not in dict(journals(self.folder)):
            raise JournalError(f"there is no session {session}; see: laguna-tui sessions list")
        return self.folder / session

    def _stored(self, row: IndexedSession, snapshots: Mapping[str, int]) -> SessionSummary:
        folder = self.folder / row.id
        locked = False
        with suppress(OSError):
            locked = is_locked(folder / JOURNAL)
        return SessionSummary(
            row.id,
            _title(row),
            Path(os.fsdecode(row.folder)),
            row.model,
            row.created,
            row.updated,
            row.position,
            size_of(folder),
            locked=locked,
            ended=row.problem or ("" if locked else row.closed),
            snapshots=snapshots.get(row.id, 0),
        )

    def _copy(self, source: Path, making: Path, copy: str, title: str) -> None:
        """Copy the valid part of a journal under another ID of the same length, so that places in it stay; then what
        its lines name, which was written before them."""
        lines = read_journal(source / JOURNAL)
        first = next(lines, None)
        header = check_header(first, source / JOURNAL)
        end = first.end if first is not None else 0
        for line in lines:
            end = line.end
        _copy_file(source / JOURNAL, making / JOURNAL, end)
        if header.id == source.name:
            with (making / JOURNAL).open("r+b") as file:
                data = file.readline()
                file.seek(0)
                file.write(data.replace(source.name.encode(), copy.encode(), 1))
        for folder in (STORE, BLOBS):
            # A log names what is in the store beside it.
            for path in sorted(_files(source / folder), key=lambda path: path.suffix != ".jsonl"):
                target = making / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                _copy_file(path, target)
        journal = SessionJournal.open(making)
        journal.append(Forked(source=source.name))
        journal.append(Titled(title=title), durable=True)
        failing = journal.failing
        journal.release()
        if failing:
            raise JournalError(f"the session {source.name} was not copied. {failing}")

    def _delete(self, session: str) -> int:
        folder = self._existing(session)
        try:
            held = open_locked_soon(folder / JOURNAL)
        except BlockingIOError as error:
            raise SessionLockedError(session) from error
        except OSError as error:
            raise unreadable(folder / JOURNAL, error) from error
        try:
            size = size_of(folder)
            gone = self.folder / f"{_DELETED}{session}-{secrets.token_hex(4)}"
            folder.rename(gone)
        except OSError as error:
            raise JournalError(f"the session {session} cannot be deleted: {reason(error)} ({folder})") from error
        finally:
            os.close(held)
        shutil.rmtree(gone, ignore_errors=True)
        return size + self._snapshots.remove(session)


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder; 0 for none."""
    total = 0
    for path in _files(folder):
        with suppress(OSError):
            total += path.lstat().st_size
    return total


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield Path(parent) / name


def _copy_file(source: Path, target: Path, end: int | None = None) -> None:
    """Copy a file of this user, durably, up to a place; None copies what there is when it begins."""
    held = open_private(source, os.O_RDONLY)
    try:
        left = os.fstat(held).st_size if end is None else end
        copy = open_private(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(copy, "wb") as file:
            while left and (data := os.read(held, min(left, _COPIED_AT_ONCE))):
                file.write(data)
                left -= len(data)
            file.flush()
            os.fsync(copy)
    finally:
        os.close(held)


def _is_leftover(folder: Path) -> bool:
    """Return whether a folder is no longer a session, or never became one: it has no complete line."""
    if folder.name.startswith((_COPYING, _DELETED)):
        return True
    files = list(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else [folder]
    if not files:
        return True
    if files != [folder / JOURNAL]:
        return False
    held = open_private(files[0], os.O_RDONLY)
    try:
        # A first line that was not finished.
        return b"\n" not in os.pread(held, _COPIED_AT_ONCE, 0) and not is_locked(files[0])
    finally:
        os.close(held)


def _is_about(row: IndexedSession, about: Path | None) -> bool:
    return about is None or row.folder == os.fsencode(about)


def _title(row: IndexedSession) -> str:
    return row.title or row.message or (_DAMAGED_TITLE if row.problem == DAMAGED else _NO_TITLE)


def _named(rows: Sequence[IndexedSession], name: str) -> Iterator[list[IndexedSession]]:
    """Yield what a name may mean, the most exact first."""
    words = " ".join(name.casefold().split())
    yield [row for row in rows if row.id == name]
    yield [row for row in rows if _title(row).casefold() == words]
    if words:
        yield [row for row in rows if row.id.startswith(name)]
        yield [row for row in rows if words in _title(row).casefold()]


def _listing(rows: Sequence[IndexedSession]) -> str:
    return some_of([f"{row.id} ({_title(row)})" for row in rows], _LISTED)
