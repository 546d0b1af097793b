"""The folder around a session: its index, and what of it a message brings into the prompt. Opened when first needed."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.context.codebase import Codebase
from laguna_tui.context.trust import Trust
from laguna_tui.models.entry import ToolSet
from laguna_tui.repo.workspace import Workspace
from laguna_tui.settings import Settings

if TYPE_CHECKING:
    from laguna_tui.context.attach import Attacher

# How a mention begins.
MENTION = "@"
# A question is worth that much of the context before anybody has read anything: a map, and a few functions.
_PACK_SHARE = 1 / 16
_PACK_MOST = 4096


class Surroundings:
    """One folder. codebase: its index, which begins to be made with `start`."""

    def __init__(self, workspace: Workspace, settings: Settings, state: Path | None) -> None:
        """Take a folder; nothing is read yet. state: where is kept whom the user trusts, None for nobody."""
        self.workspace = workspace
        self.trust = Trust(state)
        self.codebase = Codebase(workspace.root)
        self._settings = settings
        self._packs = False

    def start_for(self, message: str) -> None:
        """Begin to read the folder if the message can need it."""
        if self._packs or MENTION in message:
            self.start()

    def start(self) -> None:
        """Begin to read the folder in the background; harmless when repeated."""
        self.codebase.start()

    def attacher(self, count: Callable[[str], int], n_ctx: int, tools: ToolSet) -> "Attacher":
        """What gathers for a model with this context and these tools. count: tokens of a text, for that model."""
        from laguna_tui.context.attach import Attacher, AttachOptions

        pack = self._pack(n_ctx, tools)
        self._packs = pack > 0
        # A model that was trained on a few tools alone was not trained to follow anybody's instructions either.
        trust = self.trust if tools is ToolSet.FULL else None
        return Attacher(self.workspace, self.codebase, count, AttachOptions(pack=pack, trust=trust))

    def close(self) -> None:
        """Stop reading. Idempotent."""
        self.codebase.close()

    def _pack(self, n_ctx: int, tools: ToolSet) -> int:
        if self._settings.pack is not None:
            return self._settings.pack
        return 0 if tools is ToolSet.BASIC else min(_PACK_MOST, int(n_ctx * _PACK_SHARE))
