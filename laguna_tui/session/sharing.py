"""What the doors to other programs depend on: many sessions over one engine, and the server of the TUI's model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from laguna_tui.session.api import ChatSession
from laguna_tui.session.values import ClientUse, SessionSummary

if TYPE_CHECKING:
    from laguna_tui.agent.tools.mcp.mcp_config import McpServer


class SessionSource(Protocol):
    """Sessions about any folder, which share one engine. Any thread."""

    def prepare(
        self, folder: Path, resume: str = "", clients: "Sequence[McpServer]" = (), **changes: object
    ) -> ChatSession:
        """A session that is not open yet.

        Args:
            folder: what it is about.
            resume: the saved session to resume; empty for a new one.
            clients: MCP servers of the client.
            changes: settings that are not the user's own.

        Raises:
            UserError: there is no such model, or the session cannot be resumed.
        """
        ...

    def keep(self, session: ChatSession) -> str:
        """Keep an open session from now on, also before its first message; its ID."""
        ...

    def kept(self, folder: Path | None) -> Sequence[SessionSummary]:
        """The kept sessions about a folder, or all; the newest first."""
        ...

    def fork(self, session: str) -> str:
        """Copy a kept session; the ID of the copy."""
        ...


class ModelServer(Protocol):
    """Lets other programs use the open model. Any thread."""

    @property
    def running(self) -> bool:
        """Whether it listens."""
        ...

    @property
    def url(self) -> str:
        """Where it listens."""
        ...

    @property
    def token(self) -> str:
        """What other programs have to show."""
        ...

    @property
    def waiting(self) -> int:
        """Requests that wait for their turn."""
        ...

    def start(self) -> None:
        """Listen from now on; UserError if it cannot."""
        ...

    def stop(self) -> None:
        """End all answers, and listen no more. Idempotent."""
        ...

    def clients(self) -> Sequence[ClientUse]:
        """Who used it, the latest first."""
        ...
