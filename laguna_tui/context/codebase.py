"""The code of one folder for a whole session: one thread keeps its index up to date, any thread queries it.

Nothing here raises because the index is busy, damaged, full or kept in memory: the result is then short or empty, and
`notes` says why. Queries never wait for indexing; they are answered from the index as it is.
"""

import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from laguna_tui.base.errors import UserError
from laguna_tui.repo.files.relative_paths import is_binary_name
from laguna_tui.repo.files.unsearched import BARE, Unsearched, unindexed
from laguna_tui.repo.files.walk import FileListing, walk
from laguna_tui.repo.search.fuzzy import NO_PATHS, NO_SYMBOLS, FuzzyNames, FuzzyPaths, fuzzy_paths, fuzzy_symbols
from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.index_access import IndexAccess
from laguna_tui.repo.search.index_database import UNUSABLE, IndexFault, explained
from laguna_tui.repo.search.index_state import IndexUpdate
from laguna_tui.repo.search.issue_search import is_issue, search_issue
from laguna_tui.repo.search.ranking import RankedUnit
from laguna_tui.repo.search.ranking import search as ranked
from laguna_tui.repo.search.repository_map import RepositoryMap, TokenCounter, estimated_tokens, repository_map
from laguna_tui.repo.search.symbol_search import (
    SymbolMatch,
    binary_paths,
    definitions_of,
    find_symbols,
    members_of,
    named,
    outline_of,
    with_signature,
)
from laguna_tui.repo.search.symbol_uses import Use, files_with, find_uses
from laguna_tui.repo.search.well_known import WellKnownSymbol, well_known_symbols
from laguna_tui.repo.syntax.languages import DefinitionKind
from laguna_tui.repo.syntax.outline import Outline

# Errors of the index that are not the caller's fault: another program's lock, a full disk, damage.
_FAULTS = (sqlite3.Error, IndexFault, OSError, UserError, ValueError, zlib.error)
# A query makes the thread scan the folder again if the last scan is this old. Scans take a small share of one core, so
# a folder that takes long is scanned more rarely.
_FRESH_S = 5.0
_REST_PER_LOOK = 20.0
# Interval between checks whether a wait was stopped.
_STOP_S = 0.1
# A write in progress ends in this time; only the graph of a large folder or a vacuum takes longer.
_CLOSE_S = 1.0
_NOTHING = RepositoryMap("", 0, 0, 0)

_Answer = TypeVar("_Answer")


class Codebase:
    """One folder's files, definitions and words. Create it, `start` it, query it from any thread, `close` it.

    Attributes:
        root: the folder, without links in its path.
        progress: files read and files to read in the current scan.
        withheld: why nothing is read before the user agrees, as a sentence; empty when it may be.
        changes: grows whenever a scan found something new; while it stays, the same question has the same answer.
    """

    def __init__(self, root: Path, folder: Path | None = None) -> None:
        """Take a folder; nothing is read before `start`.

        Args:
            root: the folder.
            folder: folder of the indexes; None for the cache folder.
        """
        self.root = root.resolve()
        self.progress = (0, 0)
        self.withheld = ""
        self.changes = 0
        self._access = IndexAccess(self.root, folder)
        self._paths: tuple[str, ...] = ()
        self._notes: tuple[str, ...] = ()
        self._unsearched = Unsearched()
        self._places = NO_PATHS
        self._spellings = NO_SYMBOLS
        # Guards the numbers below; notified of each change to them.
        self._changed = threading.Condition()
        self._scans_wanted = 0
        self._scans_done = 0
        self._listed = False
        self._closed = False
        self._due = 0.0
        self._thread: threading.Thread | None = None
        # The index returned invalid data: the next scan rebuilds it.
        self._damaged = False

    def start(self) -> None:
        """Start indexing in the background. Idempotent."""
        with self._changed:
            if self._thread is not None or self._closed or self.withheld:
                return
            self._scans_wanted = 1
            # A daemon, so that a scan that cannot be stopped at once does not delay the end of the program.
            self._thread = threading.Thread(target=self._run, name="codebase", daemon=True)
            self._thread.start()

    def refresh(self) -> None:
        """Request another scan of the folder; `wait` waits for it. Returns at once."""
        with self._changed:
            self._scans_wanted += 1
            self._changed.notify_all()

    @property
    def ready(self) -> bool:
        """Return whether the folder was indexed once; `notes` says what the index lacks."""
        return self._scans_done > 0

    def wait(self, timeout: float, should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Wait until every requested scan is done; returns whether it is.

        Args:
            timeout: most seconds to wait.
            should_stop: polled; the wait ends once it returns True.
        """
        until = time.monotonic() + timeout
        with self._changed:
            wanted = self._scans_wanted
            while not should_stop() and (left := until - time.monotonic()) > 0:
                if self._changed.wait_for(lambda: self._closed or self._scans_done >= wanted, min(left, _STOP_S)):
                    break
            return self._scans_done >= wanted > 0

    def sync(self, timeout: float, should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Bring the index up to date; return whether that was done within `timeout` seconds. should_stop: as `wait`."""
        self.start()
        if self._thread is None:
            return False
        self.refresh()
        return self.wait(timeout, should_stop)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what the user should know about the index now, as sentences."""
        return self._notes

    @property
    def unsearched(self) -> Unsearched:
        """Return what no query covers, as of the last scan."""
        return self._answer(lambda connection: unindexed(connection, self._unsearched), self._unsearched)

    def paths(self, timeout: float = 0.0) -> Sequence[str]:
        """Return the text files, sorted, relative to the folder; known long before the index is ready.

        Args:
            timeout: seconds to wait for the first scan to list them.
        """
        if timeout and not self._listed:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._listed, timeout)
        self._scan_if_due()
        return self._paths

    def symbols(self, wanted: str, limit: int = 20) -> list[SymbolMatch]:
        """Return definitions with a matching name, best first (`symbol_search.find_symbols`)."""
        return self._answer(lambda connection: find_symbols(connection, wanted, limit), [])

    def definitions(self, name: str) -> list[SymbolMatch]:
        """Return every definition of exactly this name, dotted or not (`symbol_search.definitions_of`)."""
        return self._answer(lambda connection: definitions_of(connection, name), [])

    def named(self, names: Sequence[str]) -> list[SymbolMatch]:
        """Return every definition of these names (`symbol_search.named`)."""
        return self._answer(lambda connection: named(connection, names), [])

    def members(self, scope: str, limit: int = 20) -> list[SymbolMatch]:
        """Return the definitions directly inside a class or another scope (`symbol_search.members_of`)."""
        return self._answer(lambda connection: members_of(connection, scope, limit), [])

    def with_signature(self, kind: DefinitionKind, containing: str = "") -> list[SymbolMatch]:
        """Return every definition of a kind whose signature contains a text (`symbol_search.with_signature`)."""
        return self._answer(lambda connection: with_signature(connection, kind, containing), [])

    def outline(self, path: str) -> Outline:
        """Return the definitions of a file by their lines (`symbol_search.outline_of`)."""
        return self._answer(lambda connection: outline_of(connection, path), Outline(()))

    def uses(self, name: str, limit: int = 20, should_stop: Callable[[], bool] = lambda: False) -> list[Use]:
        """Return the lines that use a name, with the definitions around them (`symbol_uses.find_uses`)."""
        return self._answer(lambda connection: find_uses(connection, self.root, name, limit, should_stop), [])

    def files_with(self, name: str) -> set[str] | None:
        """Return the files with a name, in code or text; None if the index cannot tell (`symbol_uses.files_with`)."""
        return self._answer(lambda connection: files_with(connection, name), None)

    @property
    def places(self) -> FuzzyPaths:
        """Return the paths and their folders, prepared for matching a few letters."""
        self._scan_if_due()
        return self._places

    @property
    def spellings(self) -> FuzzyNames:
        """Return the names of definitions as of the last scan, prepared for matching a few letters."""
        return self._spellings

    def well_known(self, limit: int = 20) -> list[WellKnownSymbol]:
        """Return the symbols that the most files use (`well_known.well_known_symbols`)."""
        return self._answer(lambda connection: well_known_symbols(connection, limit), [])

    def search(self, question: str, limit: int = 20) -> list[RankedUnit]:
        """Return the units that answer a question best, best first, each with its reasons (`ranking.search`).

        A long one is read as an issue (`issue_search`): its frames, paths and names count more than its prose.
        """
        rank = search_issue if is_issue(question) else ranked
        return self._answer(lambda connection: rank(connection, question, limit), [])

    def map(self, budget: int, count: TokenCounter = estimated_tokens, focus: Sequence[str] = ()) -> RepositoryMap:
        """Return the most important definitions within a number of tokens (`repository_map.repository_map`)."""
        return self._answer(lambda connection: repository_map(connection, budget, focus, count), _NOTHING)

    def close(self) -> None:
        """Stop the thread, in the middle of indexing too; answers are empty from now on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(_CLOSE_S)
            if self._thread.is_alive():
                self._access.interrupt()
                self._thread.join(_CLOSE_S)
        self._access.close()

    def _answer(self, ask: Callable[[sqlite3.Connection], _Answer], nothing: _Answer) -> _Answer:
        self._scan_if_due()
        try:
            with self._access.reading() as connection:
                return ask(connection)
        except _FAULTS as error:
            # A subclass means a lock, a missing file or a text that SQLite cannot take.
            if type(error) is sqlite3.DatabaseError and not self._damaged:
                self._damaged = True
                self.refresh()
            return nothing

    def _scan_if_due(self) -> None:
        """Request a scan of the folder when one is due."""
        if self.ready and time.monotonic() > self._due and self._scans_wanted == self._scans_done:
            self.refresh()

    def _is_closed(self) -> bool:
        return self._closed

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._scans_wanted > self._scans_done)
                if self._closed:
                    break
                wanted = self._scans_wanted
            began = time.monotonic()
            try:
                self._scan()
            except _FAULTS as error:
                self._notes = (self._explained(error),)
            except RuntimeError:
                # No processes start once the interpreter shuts down, which may happen before `close`.
                if not self._closed and threading.main_thread().is_alive():
                    raise
                break
            took = time.monotonic() - began
            with self._changed:
                self._due = time.monotonic() + max(_FRESH_S, took * _REST_PER_LOOK)
                self._scans_done = self._scans_done if self._closed else wanted
                self._changed.notify_all()
        self._access.forget()

    def _scan(self) -> None:
        """List the files, publish them, then bring the index up to date."""
        listing = walk(self.root, self._is_closed)
        if self._closed:
            return
        self._publish(listing)
        if self._spellings is NO_SYMBOLS:
            self._update_spellings()  # from an earlier session, until the index is updated
        with self._access.writing() as index:
            if self._damaged:
                index.rebuild(self._is_closed)
                self._damaged = False
            update = index.refresh(self._report_progress, self._is_closed, wait=False, listing=listing)
            if update is None:
                # Another process writes. When it is done, the listing may be outdated.
                self._notes = tuple(index.notes)
                update = index.refresh(self._report_progress, self._is_closed)
                self.changes += 1
            self._update_notes(index, update)
        self._publish(listing)
        if update is not None and (update.read or update.dropped):
            self._update_spellings()
            self.changes += 1

    def _explained(self, error: Exception) -> str:
        if isinstance(error, UserError):
            return str(error)
        if isinstance(error, sqlite3.Error):
            return explained(error, self._access.path)
        return UNUSABLE.format(error=error)

    def _update_spellings(self) -> None:
        self._spellings = self._answer(fuzzy_symbols, self._spellings)

    def _update_notes(self, index: Index, update: IndexUpdate | None) -> None:
        bare = [BARE] if "" in self._unsearched.bare else []
        self._notes = tuple(dict.fromkeys([*index.notes, *(update.notes if update else ()), *bare]))

    def _report_progress(self, done: int, total: int) -> None:
        self.progress = done, total

    def _publish(self, listing: FileListing) -> None:
        """Publish the files without binary ones, by their names or by what the index found in them."""
        nothing: frozenset[str] = frozenset()
        binary = self._answer(binary_paths, nothing)
        paths = tuple(
            entry.path for entry in listing.entries if entry.path not in binary and not is_binary_name(entry.path)
        )
        changed, self._paths, self._unsearched = paths != self._paths, paths, listing.unsearched
        with self._changed:
            self._listed = True
            self._changed.notify_all()
        if changed:
            self._places = fuzzy_paths(paths)
