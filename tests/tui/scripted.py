"""A scripted chat session: it stands in for the engine and the agent, so that the screen can be tested to the letter.

Not a model. Every message is answered with the events of a script; `delay` seconds pass before each of them.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from laguna_engine.events import LoadProgress, Prefill, Stats
from laguna_engine.options import Speculation
from laguna_tui.events import (
    AgentEvent,
    Rate,
    ReasoningDelta,
    StepFinished,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.tui.session import SessionInfo

Step = AgentEvent | Exception | threading.Event


class ScriptedSession:
    """A `ChatSession` that plays scripts: one per message, the last one again and again.

    An exception in a script is raised at its place; a `threading.Event` is waited for, so that a test can look at
    the screen in the middle of an answer.
    """

    def __init__(
        self,
        *scripts: Sequence[Step],
        title: str = "Scripted",
        folder: Path = Path("/project"),
        opening: Exception | threading.Event | None = None,
        delay: float = 0.0,
        warnings: tuple[str, ...] = (),
        context_size: int = 8192,
        details: str = "",
        broken: bool = False,
        mode: Speculation | None = None,
        mode_error: Exception | None = None,
        drafter: str = "",
    ) -> None:
        self.title = title
        self.folder = folder
        self.asked: list[str] = []
        self.cancelled = threading.Event()
        self.closed = False
        self.chats = 1
        self._scripts = scripts or (answer("Hello."),)
        self._opening = opening
        self._delay = delay
        self._broken = broken
        self._mode_error = mode_error
        self.info = SessionInfo(context_size, details, warnings, mode, drafter)

    def open(self, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        for percent in (0, 50, 100):
            progress(LoadProgress("loading the weights", percent / 100))
            threading.Event().wait(self._delay * 20)
        if isinstance(self._opening, Exception):
            raise self._opening
        if self._opening is not None:
            self._opening.wait(20)
        if self._broken:
            raise RuntimeError("out of luck")
        return self.info

    def ask(self, message: str) -> Iterator[AgentEvent]:
        self.cancelled.clear()
        self.asked.append(message)
        for step in self._scripts[min(len(self.asked), len(self._scripts)) - 1]:
            if isinstance(step, threading.Event):
                while not step.wait(0.01) and not self.cancelled.is_set():
                    pass
            elif self.cancelled.wait(self._delay) if self._delay else self.cancelled.is_set():
                pass
            elif isinstance(step, Exception):
                raise step
            else:
                yield step
            if self.cancelled.is_set():
                yield TurnFinished(TurnEnd.CANCELLED)
                return

    def cancel(self) -> None:
        self.cancelled.set()

    def new_chat(self) -> None:
        self.chats += 1

    def speculate(self, mode: Speculation, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        if self._mode_error is not None:
            raise self._mode_error
        self.info = replace(self.info, mode=mode)
        return self.info

    def close(self) -> None:
        self.closed = True


STATS = Stats(prompt_tokens=1200, cached_tokens=700, prefill_s=1.0, generated_tokens=81, decode_s=2.0)


def deltas(text: str, size: int = 4) -> list[AgentEvent]:
    """The text as a model streams it, a few characters at a time."""
    return [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]


def answer(text: str, *, before: Iterable[Step] = (), end: TurnEnd = TurnEnd.ANSWERED) -> list[Step]:
    """A whole turn that answers with this Markdown."""
    return [
        TurnStarted(1200, 700),
        Prefill(1200, 1200, 700, 1.0),
        *before,
        *deltas(text),
        Rate(81, 40.0, 1281),
        StepFinished(STATS, 1281, 8192),
        TurnFinished(end),
    ]


def thinking(text: str) -> list[AgentEvent]:
    """The model thinks before it does something."""
    return [ReasoningDelta(text[at : at + 6]) for at in range(0, len(text), 6)]


def call(call_id: int, name: str, output: str, *, ok: bool = True, **arguments: object) -> list[AgentEvent]:
    """A tool call with its result."""
    return [
        ToolStarted(call_id, name, dict(arguments)),
        ToolFinished(call_id, name, output, ok, 0.012),
    ]
