"""The KV cache of the open session: saved at the end of turns, restored when the conversation is another one."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from laguna_engine.errors import EngineError
from laguna_tui.agent.conversation_state import ConversationMark
from laguna_tui.session.engine_slot import EngineSlot
from laguna_tui.session.session_parts import SessionParts
from laguna_tui.session.snapshots import RestoredSession, Snapshots
from laguna_tui.session.values import RewindCost
from laguna_tui.store.snapshot_store import SnapshotStore

if TYPE_CHECKING:
    from laguna_engine.engine import Engine


class KvCache:
    """Saves and restores. The session's thread, but for `failing` and `cost`."""

    def __init__(self, store: SnapshotStore | None, slot: EngineSlot, parts: Callable[[], SessionParts | None]) -> None:
        """Save nothing yet.

        Args:
            store: the snapshots of all sessions; None for none.
            slot: the engine.
            parts: what is around it; None while the session is not open.
        """
        self._snapshots = Snapshots(store, slot.selection.settings)
        self._slot, self._parts = slot, parts
        self._of: Sequence[int] | None = None
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
        if (engine := self._slot.engine) is not None:
            self._snapshots.save(engine, self._conversation())

    def save_now(self) -> None:
        """Save what is new before it is cut off, and wait until it is saved."""
        if (engine := self._slot.engine) is not None:
            self._snapshots.save_now(engine, self._conversation())

    def restore(self) -> RestoredSession:
        """Restore as much of the conversation as there is; what is in the cache now counts as computed."""
        engine, parts = self._slot.engine, self._parts()
        if engine is None or parts is None:
            return RestoredSession(0, 0.0)
        restored = self._snapshots.restore(engine, parts.agent.conversation.tokens)
        with suppress(EngineError):
            parts.agent.note_computed()
        return RestoredSession(parts.agent.conversation.computed, restored.seconds, restored.notices)

    def cost(self, mark: ConversationMark | None) -> RewindCost | None:
        """What a conversation costs, None the present one; None where that is not known. Any thread."""
        engine, parts = self._slot.engine, self._parts()
        if engine is None or parts is None:
            return None
        conversation = parts.agent.conversation
        tokens = conversation.tokens if mark is None else conversation.rendered(mark.said).tokens
        # The engine may be closed meanwhile.
        with suppress(EngineError):
            cached, seconds = engine.preview(tokens).cached, 0.0
            found = self._snapshots.restorable(engine, tokens)
            if found is not None and found.tokens > cached:
                cached, seconds = found.tokens, found.seconds
            anew = len(tokens) - cached
            return RewindCost(cached, seconds, anew, engine.prefill_seconds(anew) if anew else 0.0)
        return None

    def close(self) -> None:
        """End what saves in the background. Idempotent."""
        self._snapshots.close()

    def _conversation(self) -> Sequence[int] | None:
        """The conversation's tokens where others share the engine, so that none of theirs is saved; else None."""
        parts = self._parts()
        if self._slot.shared and parts is not None:
            self._of = tuple(parts.agent.conversation.tokens)
        return self._of

    def _save_last(self, engine: "Engine") -> None:
        # A session without a turn has nothing to save of an engine that others use.
        if not self._slot.shared or self._of is not None:
            self._snapshots.save_now(engine, self._of, last=True)
