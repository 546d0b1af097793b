"""The folder of a session: its index, and what a message brings from it into the prompt. Opened when first needed."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.settings import Settings
from laguna_tui.context.codebase import Codebase
from laguna_tui.context.trust import Trust
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.session.session_scorer import SessionScorer

if TYPE_CHECKING:
    from laguna_tui.agent.tools.base.model_profile import ModelProfile
    from laguna_tui.backends.local.backend import LocalBackend
    from laguna_tui.backends.remote import RemoteBackend
    from laguna_tui.context.attach import Attacher


# The share of the context that a first question may fill before anything was read: a map, and a few functions.
_PACK_SHARE = 1 / 16
_PACK_MOST = 4096


class WorkspaceContext:
    """What the app knows of one folder.

    Attributes:
        codebase: its index, built once `start` was called.
        scorer: scores files that do not fit.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        state: Path | None,
        wait_s: float,
        unreadable: Callable[[str], str],
    ) -> None:
        """Read nothing yet.

        Args:
            workspace: the folder.
            settings: the user's.
            state: the user's state folder, which says what is trusted; None trusts nothing.
            wait_s: seconds that a message waits for the index.
            unreadable: returns why a file may not be shown to the model, by its path; empty if it may.
        """
        self.workspace = workspace
        self.trust = Trust(state)
        self.codebase = Codebase(workspace.root)
        self._settings = settings
        self._wait_s = wait_s
        self._unreadable = unreadable
        self.scorer = SessionScorer(settings)

    def start(self) -> None:
        """Begin to index the folder in the background; harmless when repeated."""
        self.codebase.start()

    def attacher(self, backend: "LocalBackend | RemoteBackend", profile: "ModelProfile") -> "Attacher | None":
        """Return what gathers a message's attachments for the open model; None for one that reads no attachments."""
        from laguna_tui.backends.local.backend import LocalBackend
        from laguna_tui.context.attach import Attacher, AttachOptions

        if not profile.attaches:
            return None
        self.scorer.use_engine(backend.engine if isinstance(backend, LocalBackend) else None)
        options = AttachOptions(
            self._pack(backend.n_ctx),
            self._wait_s,
            self.trust,
            backend.prefill_seconds,
            self._unreadable,
            self.scorer,
        )
        return Attacher(self.workspace, self.codebase, backend.count, options)

    def close(self) -> None:
        """Stop indexing, and close the scorer. Idempotent."""
        self.codebase.close()
        self.scorer.close()

    def _pack(self, n_ctx: int) -> int:
        wanted = self._settings.pack
        return min(_PACK_MOST, int(n_ctx * _PACK_SHARE)) if wanted is None else wanted
