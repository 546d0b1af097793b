"""The folder around a session: its index, and what of it a message brings into the prompt. Opened when first needed."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.errors import EngineError
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.context.codebase import Codebase
from laguna_tui.context.trust import Trust
from laguna_tui.repo.workspace import Workspace

if TYPE_CHECKING:
    from laguna_engine.compress.scorer import Scorer
    from laguna_engine.engine import Engine
    from laguna_tui.agent.tools.base.model_profile import ModelProfile
    from laguna_tui.backends.remote import RemoteBackend
    from laguna_tui.context.attach import Attacher


# A question is worth that much of the context before anybody has read anything: a map, and a few functions.
_PACK_SHARE = 1 / 16
_PACK_MOST = 4096


class WorkspaceContext:
    """One folder. codebase: its index, which begins to be made with `start`."""

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
        self._scorer: Scorer | None = None
        self._scorer_asked = False
        self._scorer_lock = threading.Lock()
        self._measuring: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read the folder in the background; harmless when repeated."""
        self.codebase.start()

    def attacher(self, engine: "Engine | RemoteBackend", profile: "ModelProfile") -> "Attacher | None":
        """What gathers for the model that is open; None for one that reads nothing beside a question."""
        from laguna_tui.context.attach import Attacher, AttachOptions

        if not profile.attaches:
            return None
        vocabulary, pack = engine.vocab, self._pack(engine.n_ctx)
        measured = engine.prefill_seconds
        options = AttachOptions(
            pack, self._wait_s, self.trust, self.scorer, measured, self._unreadable, self.scoring_rate
        )
        return Attacher(
            self.workspace, self.codebase, lambda text: len(vocabulary.tokenize(text, special=False)), options
        )

    def scorer(self) -> "Scorer | None":
        """What scores files that do not fit: opened at the first call; None without one. Any thread.

        Raises:
            UserError, EngineError: the settings name one that cannot be used, which is said once.
        """
        from laguna_tui.context.scoring import open_scorer

        with self._scorer_lock:
            if not self._scorer_asked:
                self._scorer_asked = True
                self._scorer = open_scorer(self._settings)
            return self._scorer

    def scoring_rate(self) -> float | None:
        """The scorer's tokens per second; None while it is not known, and without one.

        The first call has it opened and measured in the background. Any thread.
        """
        scorer = self._scorer
        if scorer is not None and scorer.rate:
            return scorer.rate
        if self._measuring is None and (scorer is not None or not self._scorer_asked):
            self._measuring = threading.Thread(target=self._measure_scorer, name="scorer", daemon=True)
            self._measuring.start()
        return None

    def close(self) -> None:
        """Stop reading. Idempotent."""
        self.codebase.close()
        if self._measuring is not None:
            self._measuring.join()
        if self._scorer is not None:
            self._scorer.close()

    def _measure_scorer(self) -> None:
        """Open the scorer and measure it; what is wrong with it is said when it is needed."""
        try:
            scorer = self.scorer()
            if scorer is not None:
                scorer.measure()
        except (EngineError, UserError):
            with self._scorer_lock:
                self._scorer_asked = self._scorer is not None

    def _pack(self, n_ctx: int) -> int:
        wanted = self._settings.pack
        return min(_PACK_MOST, int(n_ctx * _PACK_SHARE)) if wanted is None else wanted
