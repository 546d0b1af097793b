"""The KV snapshots of the open session: when they are written, and what resuming or rewinding restores.

Where they are and which are deleted first is decided by `store/snapshot_store.py`. A snapshot only saves time: if
anything goes wrong with one, the conversation continues and the prompt is computed again.
"""

import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.errors import EngineError, SnapshotError, SnapshotProblem
from laguna_tui.base import units
from laguna_tui.base.settings import Settings
from laguna_tui.store.snapshot_store import SnapshotStore

if TYPE_CHECKING:
    from laguna_engine.engine import Restorable, Saved
    from laguna_tui.backends.base import Prompt
    from laguna_tui.backends.local.backend import LocalBackend

KEPT_FREE = 1 << 30
"""Bytes of the disk that snapshots leave free, for what cannot be computed again."""

_GB = 1_000_000_000
_FULL = (
    "The disk of {folder} is full ({free} free), so this conversation's KV cache is not being saved; resuming it reads "
    "it again. Free some space, or turn snapshots off: snapshots = false in config.toml, or --no-snapshots."
)
_LARGE = (
    "This conversation's KV cache takes all of the {limit} GB that snapshots may take, so no more of it is saved; "
    "resuming reads the rest again. Allow more: snapshots_limit in config.toml, or --snapshots-limit."
)
_FAILED = (
    "This conversation's KV cache is not being saved, so resuming it reads it again: {why}. Make room there, make it "
    "writable, or turn snapshots off: snapshots = false in config.toml, or --no-snapshots."
)


@dataclass(frozen=True, slots=True)
class RestoredSession:
    """What was restored of a conversation.

    Attributes:
        tokens: how many are in the cache now, 0 if nothing was restored.
        notices: what the user should know, as sentences; usually empty.
    """

    tokens: int = 0
    notices: tuple[str, ...] = ()


class Snapshots:
    """The snapshots of one open session.

    `save` returns at once and `restore` waits; both may be called with any engine, even after it was replaced. The
    session's thread calls them; `failing` may be read from any thread.

    Attributes:
        on: whether snapshots are written and restored.
        failing: why none can be written now, as a sentence; empty while all is well.
        last: the newest one; None before the first.
    """

    def __init__(self, store: SnapshotStore | None, settings: Settings) -> None:
        """Save nothing yet.

        Args:
            store: the snapshots of all sessions; None saves none.
            settings: the user's; they may turn snapshots off.
        """
        self.on = settings.snapshots and store is not None
        self.failing = ""
        self.last: Saved | None = None
        self._store = store
        self._limit = settings.snapshots_limit * _GB
        self._session = ""
        self._wanted: tuple[LocalBackend, Prompt | None] | None = None
        self._due = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def use(self, session: str) -> None:
        """Save and restore for this session from now on. Its first snapshot creates its folder."""
        self.wait()
        self._session, self.failing = session, ""

    def save(self, backend: "LocalBackend", of: "Prompt | None" = None) -> None:
        """Write what is new in the background, in pauses between requests. After every turn; any number of times.

        Args:
            backend: has it cached.
            of: the conversation, where others share the engine; None for the engine's only one.
        """
        if not self.on or not self._session or self._closed:
            return
        with self._due:
            self._wanted = backend, of
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="laguna-snapshots", daemon=True)
                self._thread.start()
            self._due.notify_all()

    def save_now(self, backend: "LocalBackend", of: "Prompt | None" = None, *, last: bool = False) -> None:
        """Write what is new, and wait: before a compaction cuts it off, and before the engine is closed.

        Args:
            backend: as for `save`.
            of: as for `save`.
            last: the engine is closed next.
        """
        if self.on and self._session:
            self.wait()
            self._save(backend, of, last=last)

    def wait(self) -> None:
        """Wait until nothing is being written in the background."""
        with self._due:
            self._due.wait_for(lambda: self._wanted is None)

    def restorable(self, backend: "LocalBackend", prompt: "Prompt") -> "Restorable | None":
        """Return what `restore` would restore and how long it would take, from the files' headers; None if nothing."""
        folder = self._own
        if not self.on or folder is None:
            return None
        with suppress(EngineError, OSError):
            return backend.restorable(folder, prompt)
        return None

    def restore(self, backend: "LocalBackend", prompt: "Prompt") -> RestoredSession:
        """Restore as much of the prompt as is saved, unless as much is cached already. Never raises.

        Args:
            backend: the engine's, while it generates nothing.
            prompt: the whole conversation.
        """
        folder, store = self._own, self._store
        if not self.on or folder is None or store is None:
            return RestoredSession()
        try:
            restored = backend.restore(folder, prompt)
            store.note_use(self._session)
        except (EngineError, OSError) as error:
            notice = f"The KV cache was not restored, so the conversation is read again: {error}."
            return RestoredSession(notices=(notice,))
        notices = tuple(f"Part of the saved KV cache was not used: {refusal.error}." for refusal in restored.refused)
        return RestoredSession(restored.tokens, tuple(dict.fromkeys(notices)))

    def close(self) -> None:
        """End the background thread once it has written what it is writing. Idempotent."""
        with self._due:
            self._closed = True
            self._due.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    @property
    def _own(self) -> Path | None:
        """The open session's folder."""
        return None if self._store is None else self._store.folder_of(self._session)

    def _serve(self) -> None:
        while True:
            with self._due:
                self._due.wait_for(lambda: self._closed or self._wanted is not None)
                wanted = self._wanted
                if wanted is None:
                    return
            self._save(*wanted, last=False)
            with self._due:
                # Another save was requested meanwhile, perhaps of another engine.
                if self._wanted is wanted:
                    self._wanted = None
                self._due.notify_all()
            del wanted

    def _save(self, backend: "LocalBackend", of: "Prompt | None", *, last: bool) -> None:
        folder, store = self._own, self._store
        if folder is None or store is None or not self._room(store):
            return
        try:
            self.last = backend.snapshot(folder, of, last=last)
            self.failing = ""
        except SnapshotError as error:
            # It is tried again after the next turn.
            if error.problem is not SnapshotProblem.CHANGED:
                self.failing = self._sentence(store, error)
        except EngineError:
            # The engine is closed or lost; the next one is saved again.
            return

    def _room(self, store: SnapshotStore) -> bool:
        """Return whether there is room for more, after removing those of other sessions beyond the limit."""
        try:
            free = store.free()
        except OSError as error:
            self.failing = _FAILED.format(why=f"{store.folder} cannot be written ({error.strerror})")
            return False
        if free < KEPT_FREE:
            self.failing = _FULL.format(folder=store.folder, free=units.size(free))
            return False
        if not store.keep_within(self._limit, self._session):
            self.failing = _LARGE.format(limit=self._limit // _GB)
            return False
        return True

    def _sentence(self, store: SnapshotStore, error: SnapshotError) -> str:
        if error.problem is SnapshotProblem.DISK:
            with suppress(OSError):
                free = store.free()
                if free < KEPT_FREE:
                    return _FULL.format(folder=store.folder, free=units.size(free))
        return _FAILED.format(why=error)
