"""The files that a token and a message pass through, by a profiler on every thread.

A file counts when a function of it is entered. Code that only ran at import does not, nor do generated functions.
"""

import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from laguna_engine.config import Drafting
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Event, Round, Token
from laguna_engine.stream import EventStream
from laguna_tui.base.settings import Settings
from laguna_tui.session.session import Session
from laguna_tui.session.values import SessionOptions
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.session_controller import SessionState
from laguna_tui.tui.tui_settings import TuiSettings
from tests.engine import drafters, tiny
from tests.scripted_model import scripted_file
from tests.structure.figures import PACKAGES

STEADY_ROUND = 20
PROMPT = [40 + (7 * index) % 400 for index in range(96)]
DRAFTED = 3
"""Tokens drafted every round: how many pay would depend on the clock."""

MESSAGE = "where is total_price of @shop.py defined?"
FILES = {"shop.py": "def total_price(items):\n    return sum(items)\n", "AGENTS.md": "Answer in one sentence.\n"}
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


@dataclass
class MessageTrip:
    """The way of a typed message to the model and of its first token back.

    Attributes:
        files: of the app, entered by any thread from the first key until the first token is requested. It is the first
            message about a repository with instructions and has a mention; the model has the full profile, and its
            calls are constrained.
        generators: those of both packages that a token passes through on its way to the screen, from the outermost.
    """

    files: list[str] = field(default_factory=list)
    generators: list[str] = field(default_factory=list)


async def message(folder: Path) -> MessageTrip:
    """Type a message into the app and follow it."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    model = scripted_file(folder.parent / "scripted.gguf", ["It is defined in shop.py."])
    settings = Settings().merged({"model": str(model), "context": 8192, "constrain": "on", "scorer": "none"})
    trace, trip, received = Trace("laguna_tui"), MessageTrip(), threading.Event()
    generate, read = Engine.generate, EventStream.__next__

    def generating(self: Engine, *arguments: Any, **named: Any) -> Any:
        trace.on = False
        return generate(self, *arguments, **named)

    def reading(self: EventStream) -> Event:
        event = read(self)
        if isinstance(event, Token) and not trip.generators:
            trip.generators = list(_generators(sys._getframe()))
            received.set()
        return event

    with (
        patch.object(Engine, "generate", generating),
        patch.object(EventStream, "__next__", reading),
        trace.installed(),
    ):
        session = Session(settings, folder, folder.parent / "state", SessionOptions(cache=folder.parent / "cache"))
        app = LagunaApp(session, TuiSettings(folder.parent / "state", theme="laguna-dark"))
        async with app.run_test(size=(80, 24)) as pilot:
            while app.state is not SessionState.READY:
                await pilot.pause(POLL_S)
            trace.on = True
            await pilot.press(*MESSAGE, "enter")
            if not await asyncio.to_thread(received.wait, PATIENCE_S):
                raise TimeoutError("no token arrived")
    trip.files = list(trace.files)
    return trip


def _generators(frame: FrameType | None) -> Iterator[str]:
    """The generators of both packages on a stack, from the outermost."""
    if frame is None:
        return
    yield from _generators(frame.f_back)
    if frame.f_code.co_flags & inspect.CO_GENERATOR and any(
        frame.f_code.co_filename.startswith(str(top)) for top in PACKAGES.values()
    ):
        yield frame.f_code.co_qualname
