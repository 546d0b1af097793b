"""The composition root: settings -> catalogue -> engine -> agent -> front end. Nobody else puts these together.

llama.cpp is loaded only when a session is opened, so that a screen can be there before the model is.
"""

import signal
import sys
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.errors import EngineError, NativeAbort
from laguna_engine.events import LoadProgress
from laguna_tui.errors import UserError
from laguna_tui.events import AgentEvent
from laguna_tui.headless import ExitCode, Format, run
from laguna_tui.models.catalogue import ModelEntry, load_catalogue, resolve
from laguna_tui.settings import Settings, state_dir
from laguna_tui.text import sanitize

if TYPE_CHECKING:
    from laguna_engine.engine import Engine, EngineInfo, EngineOptions
    from laguna_engine.sampling import Sampling
    from laguna_tui.agent.loop import Agent
    from laguna_tui.agent.tools import Toolbox
    from laguna_tui.tui.session import SessionInfo

# How long the engine's thread may have to wait for the screen's between two tokens. Python's default of 5 ms is the
# time of a whole token: with a busy screen, decoding was measured at a fifth of its speed.
SWITCH_INTERVAL_S = 0.0002


@dataclass(slots=True)
class _Parts:
    """What an open session holds."""

    engine: "Engine"
    toolbox: "Toolbox"
    agent: "Agent"

    def close(self) -> None:
        self.engine.close()
        self.toolbox.close()


@dataclass(slots=True)
class LocalSession:
    """One conversation with a model in this process, about one folder; both front ends talk to it."""

    settings: Settings
    folder: Path
    entry: ModelEntry
    _parts: _Parts | None = field(default=None, init=False)
    _lost: bool = field(default=False, init=False)

    @classmethod
    def prepare(cls, settings: Settings, folder: Path) -> "LocalSession":
        """Find out what would be opened, without opening it.

        Raises:
            UserError: the settings name no model that is there.
        """
        return cls(settings, folder, resolve(settings.model, load_catalogue()))

    @property
    def title(self) -> str:
        """The model's name, as it is shown."""
        return self.entry.title

    def open(self, progress: Callable[[LoadProgress], None]) -> "SessionInfo":
        """Load the model and begin a conversation.

        Raises:
            EngineError: the model cannot be opened; says why and what to do.
        """
        from laguna_engine.chat.template import Family, family_for
        from laguna_tui.agent.loop import Agent
        from laguna_tui.agent.tools import Toolbox
        from laguna_tui.agent.turn import AgentOptions
        from laguna_tui.agent.workspace import Workspace
        from laguna_tui.tui.session import SessionInfo

        sampling = _sampling(self.settings, self.entry)
        engine = self._open_engine(progress)
        toolbox = Toolbox(Workspace(self.folder))
        thinking = self.entry.thinking if self.settings.thinking is None else self.settings.thinking
        options = AgentOptions(sampling, thinking, self.settings.max_tokens)
        known = self.entry.template
        family = Family[known] if known else family_for(engine.info.name, engine.info.chat_template)
        agent = Agent(engine, engine.vocab, family, toolbox, options)
        self._parts = _Parts(engine, toolbox, agent)
        return SessionInfo(engine.n_ctx, _describe(engine.info), engine.info.warnings)

    def ask(self, message: str) -> Generator[AgentEvent, None, None]:
        """Send a message; iterate to make it go on.

        EngineError when the engine fails. If llama.cpp aborted, the next message gets a fresh engine, which reads the
        conversation again.
        """
        parts = self._open_parts()
        if self._lost:
            parts.engine.close()
            parts.engine = self._open_engine(lambda progress: None)
            parts.agent.use_engine(parts.engine)
            self._lost = False
        try:
            yield from parts.agent.run(message)
        except NativeAbort:
            self._lost = True
            raise

    def cancel(self) -> None:
        """Stop what runs now, soon. Any thread, at any time."""
        if self._parts is not None:
            self._parts.agent.cancel()

    def new_chat(self) -> None:
        """Forget the conversation."""
        self._open_parts().agent.new_chat()

    def close(self) -> None:
        """Free everything. Idempotent."""
        parts, self._parts = self._parts, None
        if parts is not None:
            parts.close()

    def _open_engine(self, progress: Callable[[LoadProgress], None]) -> "Engine":
        from laguna_engine.engine import Engine

        return Engine.open(_engine_options(self.settings, self.entry), progress)

    def _open_parts(self) -> _Parts:
        if self._parts is None:
            raise UserError("no model is loaded; open one first")
        return self._parts


def run_ask(settings: Settings, folder: Path, question: str, form: Format, *, stats: bool) -> ExitCode:
    """Answer one question on stdout; returns the exit code. UserError for settings that name no model."""
    session = LocalSession.prepare(settings, folder)
    try:
        session.open(lambda progress: None)
    except EngineError as error:
        return _complain(error, ExitCode.MODEL)
    _stop_gently(session)
    try:
        # Closed before the session is, also when nobody reads on: the turn still has to leave the conversation whole.
        with closing(session.ask(question)) as events:
            return run(events, form, session.title, stats=stats)
    except EngineError as error:
        return _complain(error, ExitCode.FAILED)
    finally:
        session.close()


def run_tui(settings: Settings, folder: Path) -> int:
    """Run the TUI until the user leaves; returns the exit code. UserError for settings that name no model."""
    session = LocalSession.prepare(settings, folder)
    from laguna_tui.tui.app import LagunaApp
    from laguna_tui.tui.session import TuiSettings

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    app = LagunaApp(session, TuiSettings(state_dir=state_dir(), theme=settings.theme))
    try:
        app.run()
    finally:
        session.close()
    return app.return_code or 0


def _stop_gently(session: LocalSession) -> None:
    """The first Ctrl-C ends the answer where it is, the second one the program; so does a TERM."""

    def interrupted(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        session.cancel()

    def terminated(number: int, _: object) -> None:
        session.cancel()
        raise SystemExit(128 + number)

    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, terminated)


def _complain(error: EngineError, code: ExitCode) -> ExitCode:
    sys.stderr.write(f"laguna-tui: {sanitize(str(error))}\n")
    return code


def _engine_options(settings: Settings, entry: ModelEntry) -> "EngineOptions":
    from laguna_engine.engine import EngineOptions
    from laguna_engine.llama.options import KvType

    assert entry.path is not None, "resolve only returns entries with a file"
    return EngineOptions(
        model=entry.path,
        n_ctx=settings.context or entry.context,
        kv_type=KvType(settings.kv),
        gpu_layers=settings.gpu_layers,
        threads=settings.threads,
    )


def _sampling(settings: Settings, entry: ModelEntry) -> "Sampling":
    from laguna_engine.sampling import Sampling

    def chosen(key: str, default: float) -> float:
        value = getattr(settings, key)
        return entry.sampling.get(key, default) if value is None else value

    return Sampling(
        temperature=chosen("temperature", 0.0),
        top_k=int(chosen("top_k", 0)),
        top_p=chosen("top_p", 1.0),
        min_p=chosen("min_p", 0.0),
        repeat_penalty=chosen("repeat_penalty", 1.0),
        seed=settings.seed,
    )


def _describe(info: "EngineInfo") -> str:
    size = info.size_bytes / 1e9 if info.size_bytes >= 1e9 else info.size_bytes / 1e6
    unit = "GB" if info.size_bytes >= 1e9 else "MB"
    return f"{info.n_params / 1e6:,.0f} M parameters, {size:.1f} {unit}, {info.kv_type.value} cache, {info.devices[0]}"
