"""The files that a token and a message walk through, by a profiler on every thread.

A file counts when a function of it is entered. Code that only ran at import does not, nor do generated functions.
"""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from laguna_engine.config import Drafting
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Round
from laguna_tui.base.settings import Settings
from laguna_tui.session.local import LocalSession
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.session_messages import SessionState
from laguna_tui.tui.tui_settings import TuiSettings
from tests.engine import drafters, tiny
from tests.structure.figures import PACKAGES

STEADY_ROUND = 20
PROMPT = [40 + (7 * index) % 400 for index in range(96)]
DRAFTED = 3
"""Tokens drafted every round: how many pay would depend on the clock."""

MESSAGE_THREADS = {"MainThread", "laguna-session", "laguna-query"}
"""The screen's, the one that blocks on the session, and the one that asks what sending would cost."""

MESSAGE = "where is total_price defined?"
CODE = "def total_price(items):\n    return sum(items)\n"
POLL_S = 0.05
PATIENCE_S = 60.0


class Trace:
    """Files of one package in which a function was entered, in the order of their first use."""

    def __init__(self, package: str) -> None:
        self._top = str(PACKAGES[package])
        self.on = False
        self.files: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if self.on and event == "call" and (name := frame.f_code.co_filename).startswith(self._top):
            self.files[name.removeprefix(self._top + "/")] = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Profile this thread and all that start from now on."""
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


class MessageTrace(Trace):
    """The files that the threads enter which a message passes through; what others do meanwhile is not on its way."""

    def __init__(self) -> None:
        super().__init__("laguna_tui")

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if self.on and threading.current_thread().name in MESSAGE_THREADS:
            super().__call__(frame, event, argument)


class RoundTrace(Trace):
    """The files of each round; a round ends where its event is made."""

    def __init__(self) -> None:
        super().__init__("laguna_engine")
        self.on = True
        self.rounds: list[dict[str, None]] = []

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        super().__call__(frame, event, argument)
        if event == "call" and frame.f_code is Round.__init__.__code__:
            self.rounds.append(self.files)
            self.files = {}


def token(folder: Path) -> list[str]:
    """The engine's files that the 20th decoding round enters: copying is asked first, DFlash drafts."""
    target = tiny.laguna().write(folder / "target.gguf")
    drafter = drafters.make(drafters.LAGUNA).write(folder / "drafter.gguf")
    trace = RoundTrace()
    with trace.installed(), Engine.open(EngineOptions(target, n_ctx=512, threads=1, drafter=drafter)) as engine:
        for _ in engine.generate(Request(PROMPT, max_tokens=200, drafting=Drafting(length=DRAFTED))):
            pass
    drafted = [files for files in trace.rounds if any("dflash" in name for name in files)]
    assert len(drafted) > STEADY_ROUND
    return list(trace.rounds[STEADY_ROUND])


async def message(folder: Path) -> list[str]:
    """The app's files that a typed message enters until its first token is asked for: the first one of a chat."""
    (folder / "shop.py").write_text(CODE)
    trace = MessageTrace()
    asked = threading.Event()
    generate = Engine.generate

    def asking(self: Engine, *arguments: Any, **named: Any) -> Any:
        trace.on = False
        asked.set()
        return generate(self, *arguments, **named)

    Engine.generate = asking  # type: ignore[method-assign]
    try:
        with trace.installed():
            app = LagunaApp(LocalSession.prepare(Settings(), folder), TuiSettings(theme="laguna-dark"))
            async with app.run_test(size=(80, 24)) as pilot:
                while app.state is not SessionState.READY:
                    await pilot.pause(POLL_S)
                trace.on = True
                await pilot.press(*MESSAGE, "enter")
                if not await asyncio.to_thread(asked.wait, PATIENCE_S):
                    raise TimeoutError("the message never reached the engine")
    finally:
        Engine.generate = generate  # type: ignore[method-assign]
    return list(trace.files)
