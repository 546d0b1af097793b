"""What the agent needs of an engine: the real one in this process, and a scripted one in tests."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from laguna_engine.cache.preview import Preview
from laguna_engine.events import Event
from laguna_engine.request import Request


class Engine(Protocol):
    """Continues tokens. Faces and errors are those of `laguna_engine.engine.Engine`."""

    @property
    def n_ctx(self) -> int:
        """How many tokens the context holds."""
        ...

    def generate(self, request: Request) -> Iterator[Event]:
        """Events of one generation, ending with `Finished`."""
        ...

    def cancel(self) -> None:
        """End the running generation soon; harmless when none runs. Any thread."""
        ...

    def preview(self, tokens: Sequence[int]) -> Preview:
        """What a prompt would cost, and whether it fits."""
        ...
