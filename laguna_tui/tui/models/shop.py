"""What the setup screen needs from the rest of the app: what to recommend, and a way to get it. No textual in here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from laguna_tui.models.progress import DownloadProgress

if TYPE_CHECKING:
    from laguna_tui.models.download import Outcome


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that could be got. All texts are raw.

    machine: what was found, in a line. name, title: of the model; name is "" when none is recommended. why: sentences.
    size, have: bytes of everything that belongs to it, and those that are here; size is None if nobody knows.
    ready: it can be opened now. offline: nothing may be fetched.
    """

    machine: str
    name: str
    title: str
    why: tuple[str, ...]
    size: int | None = None
    have: int = 0
    ready: bool = False
    offline: bool = False


class Work(Protocol):
    """A download that was not begun yet; `laguna_tui.models.download.Download` is one."""

    def run(self) -> "Outcome":
        """Get everything; a UserError says why it cannot go on. What has arrived is kept."""
        ...

    def pause(self) -> None:
        """Stop within a second; what has arrived is kept. Any thread."""
        ...

    def cancel(self) -> None:
        """Stop within a second, and let go what has arrived. Any thread."""
        ...


class ModelShop(Protocol):
    """Where models come from. Any thread may call it."""

    def look(self, name: str = "") -> Offer:
        """What there is to say about a model; without a name, about the one to recommend. Opens no socket."""
        ...

    def fits(self, name: str, width: int) -> list[str]:
        """Whether a model fits here, with every context and cache, as lines of at most `width` cells.

        EngineError or UserError say why it cannot be told.
        """
        ...

    def fetch(self, name: str, progress: Callable[[DownloadProgress], None]) -> Work:
        """A download of a model and its drafter; `progress` is told how far it is, on the thread of `run`."""
        ...

    def discard(self, name: str) -> None:
        """Let go what has arrived of a model that is not whole."""
        ...
