"""The KV cache of the open session: saved at the end of turns, restored when the conversation is another one."""

from contextlib import suppress
from typing import TYPE_CHECKING

from laguna_engine.errors import EngineError
from laguna_tui.agent.conversation import ConversationMark
from laguna_tui.session.engine_slot import EngineSlot
from laguna_tui.session.session_parts import SessionParts
from laguna_tui.session.snapshots import RestoredSession, Snapshots
from laguna_tui.session.values import RewindCost
from laguna_tui.store.snapshot_store import SnapshotStore

if TYPE_CHECKING:
    from laguna_tui.backends.base import Prompt
    from laguna_tui.backends.local.backend import LocalBackend


class KvCache:
    """Saves and restores the KV cache of an engine in this process. The session's thread, except `failing` and `cost`.

    Attributes:
        parts: the session's agent and what it works with; None before the session is open.
    """

    def __init__(self, store: SnapshotStore | None, slot: EngineSlot) -> None:
        """Save nothing yet.

        Args:
            store: the snapshots of all sessions; None saves none.
            slot: the engine.
        """
        self.parts: SessionParts | None = None
        self._snapshots = Snapshots(store, slot.selection.settings)
        self._slot = slot
        self._saved: Prompt | None = None
        slot.before_close = self._save_last

    @property
    def failing(self) -> str:
        """Why snapshots cannot be written at present, a sentence; empty if they can."""
        return self._snapshots.failing

    def use(self, session: str) -> None:
        """Save and restore for this session from now on; empty stops that."""
        self._snapshots.use(session)

    def save(self) -> None:
        """Save what is new, in the background."""
        if (backend := self._slot.local) is not None:
            self._snapshots.save(backend, self._conversation())

    def save_now(self) -> None:
        """Save what is new before it is cut off, and wait until it is saved."""
        if (backend := self._slot.local) is not None:
            self._snapshots.save_now(backend, self._conversation())

    def restore(self) -> RestoredSession:
        """Restore as much of the conversation as there is; what is in the cache now counts as computed."""
        backend, parts = self._slot.local, self.parts
        if backend is None or parts is None:
            return RestoredSession()
        restored = self._snapshots.restore(backend, parts.agent.conversation.prompt())
        with suppress(EngineError):
            parts.agent.note_computed()
        return RestoredSession(parts.agent.conversation.computed, restored.notices)

    def cost(self, mark: ConversationMark | None) -> RewindCost | None:
        """Return what a conversation costs; None where that is unknown. Any thread.

        Args:
            mark: the conversation; None for the present one.
        """
        backend, parts = self._slot.local, self.parts
        if backend is None or parts is None:
            return None
        conversation = parts.agent.conversation
        prompt = conversation.prompt() if mark is None else conversation.prompt_of(mark.current)
        # The engine may be closed meanwhile.
        with suppress(EngineError):
            cost, seconds = backend.cost(prompt), 0.0
            cached = min(cost.cached or 0, cost.size)
            found = self._snapshots.restorable(backend, prompt)
            if found is not None and found.tokens > cached:
                cached, seconds = found.tokens, found.seconds
            again = cost.size - cached
            return RewindCost(cached, seconds, again, backend.prefill_seconds(again) if again else 0.0)
        return None

    def close(self) -> None:
        """End what saves in the background. Idempotent."""
        self._snapshots.close()

    def _conversation(self) -> "Prompt | None":
        """Return the conversation where others share the engine, so that none of theirs is saved; else None."""
        if self._slot.shared and self.parts is not None:
            self._saved = self.parts.agent.conversation.prompt()
        return self._saved

    def _save_last(self, backend: "LocalBackend") -> None:
        # A session without a turn has nothing to save of an engine that others use.
        if not self._slot.shared or self._saved is not None:
            self._snapshots.save_now(backend, self._saved, last=True)
