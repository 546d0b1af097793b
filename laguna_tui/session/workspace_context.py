"""The folder around a session: its index, and what of it a message brings into the prompt. Opened when first needed."""

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


# A question is worth that much of the context before anybody has read anything: a map, and a few functions.
_PACK_SHARE = 1 / 16
_PACK_MOST = 4096


class WorkspaceContext:
    """One folder.

    Attributes:
        codebase: its index, which begins to be made with `start`.
        scorer: what scores files that do not fit.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        state: Path | None,
        wait_s: float,
        unreadable: Callable[[str], str],
    ) -> None:
        """Take a folder; nothing is read yet.

        state: where is kept whom the user trusts, None for nobody. wait_s: so long a message waits for the index.
        unreadable: why a file's text may not be shown to the model, by its path; empty where it may.
        """
        self.workspace = workspace
        self.trust = Trust(state)
        self.codebase = Codebase(workspace.root)
        self._settings = settings
        self._wait_s = wait_s
        self._unreadable = unreadable
        self.scorer = SessionScorer(settings)

    def start(self) -> None:
        """Begin to read the folder in the background; harmless when repeated."""
        self.codebase.start()

    def attacher(self, backend: "LocalBackend | RemoteBackend", profile: "ModelProfile") -> "Attacher | None":
        """What gathers for the model that is open; None for one that reads nothing beside a question."""
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
        """Stop reading. Idempotent."""
        self.codebase.close()
        self.scorer.close()

    def _pack(self, n_ctx: int) -> int:
        wanted = self._settings.pack
        return min(_PACK_MOST, int(n_ctx * _PACK_SHARE)) if wanted is None else wanted
