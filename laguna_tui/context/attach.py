"""From the user's words to what goes into the prompt with them: mentioned files, the folder's instructions, the pack.

Deals in attachments; renders no turn and knows no model but through `count`. Deterministic: the same words about the
same files, with the same room, bring the same bytes along.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from laguna_tui.context.attachment import Attachment, Gathered
from laguna_tui.repo.workspace import Workspace

if TYPE_CHECKING:
    from laguna_tui.context.codebase import Codebase

__all__ = ["AttachOptions", "Attacher", "Attachment", "Gathered"]


@dataclass(frozen=True, slots=True)
class AttachOptions:
    """pack: tokens for the map and the best code at the beginning of a conversation, 0 for none. pack_wait_s: so long
    a first question waits for the index. instructions: whether AGENTS.md is looked for at all.
    """

    pack: int = 0
    pack_wait_s: float = 2.0
    instructions: bool = True


class Attacher:
    """Gathers for one folder. Any thread, one call at a time or several."""

    def __init__(
        self,
        workspace: Workspace,
        codebase: "Codebase",
        count: Callable[[str], int],
        options: AttachOptions = AttachOptions(),
    ) -> None:
        self._workspace = workspace
        self._codebase = codebase
        self._count = count
        self._options = options

    def gather(
        self,
        message: str,
        room: int,
        present: Collection[str] = (),
        should_stop: Callable[[], bool] = lambda: False,
        *,
        first: bool = False,
    ) -> Gathered:
        """What the message brings along, as it is to be sent.

        Args:
            message: the user's words.
            room: tokens that everything together may take, framing included.
            present: digests of what the conversation holds already.
            should_stop: asked now and then; once true, what is ready by then is returned.
            first: whether the conversation begins with this message: instructions and pack are attached only then.
        """
        return Gathered()

    def preview(self, message: str, room: int, present: Collection[str] = (), *, first: bool = False) -> Gathered:
        """What `gather` would bring, for a message that is being typed: quick, with no scorer, from what is known.

        The attachments that are `certain` are those that `gather` brings; of the others, the size is about right.
        """
        return Gathered()
