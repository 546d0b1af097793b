"""Sessions of a real model, and what a turn costs in them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from laguna_engine.events import Stats
from laguna_tui.base.events import StepFinished, TextDelta, TurnStarted
from laguna_tui.base.settings import Settings
from laguna_tui.session.session import Session
from laguna_tui.session.values import SessionOptions


@contextmanager
def opened(model: Path, folder: Path, resume: str = "", **settings: object) -> Iterator[Session]:
    """A session in a folder's `project`, saved beside it."""
    quiet = {"context": 2048, "threads": 1, "scorer": "none", "max_tokens": 12, "temperature": 0.0, "pack": 0}
    session = Session(
        Settings().merged({**quiet, **settings, "model": str(model)}),
        folder / "project",
        folder / "state",
        SessionOptions(cache=folder / "cache"),
        resume=resume,
    )
    try:
        session.open(lambda progress: None)
        yield session
    finally:
        session.close()


@dataclass(frozen=True)
class Turn:
    """What a turn said and what it cost."""

    text: str
    started: TurnStarted
    stats: Stats

    @property
    def read(self) -> int:
        """Tokens of the prompt that were computed."""
        return self.stats.prompt_tokens - self.stats.cached_tokens

    @property
    def computed(self) -> int:
        """Tokens in the cache behind the turn: the newest is computed with the one after it."""
        return self.stats.prompt_tokens + self.stats.generated_tokens - 1


def ask(session: Session, message: str) -> Turn:
    """A turn of one generation."""
    events = list(session.chat.ask(message))
    (started,) = [event for event in events if isinstance(event, TurnStarted)]
    (step,) = [event for event in events if isinstance(event, StepFinished)]
    return Turn("".join(event.text for event in events if isinstance(event, TextDelta)), started, step.stats)
