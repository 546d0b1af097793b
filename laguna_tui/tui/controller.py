"""What the parts of the app have in common: each overrides what concerns it."""

from laguna_tui.base.events import AgentEvent
from laguna_tui.session.values import SessionInfo


class Controller:
    """Follows the session. The app calls this on the screen's thread, one controller after the other."""

    def opened(self, info: SessionInfo) -> None:
        """Handle that a model, a session or a mode was opened."""

    def received(self, event: AgentEvent) -> None:
        """Handle an event of the agent, sanitised."""

    def idle(self) -> None:
        """Handle that the session is free again."""

    def undone(self) -> None:
        """Handle that turns were undone or redone, with their changes of files."""

    def cleared(self) -> None:
        """Handle that the conversation was cleared."""

    def show(self) -> None:
        """Update the screen; called at drawing speed while the session is busy."""

    def leave(self) -> None:
        """Stop all work, because the app exits."""
