"""The composition root: puts a session behind a front end."""

import signal
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.errors import EngineError
from laguna_tui.base.errors import UserError
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.paths import cache_dir, keys_path, rules_path, state_dir, too_wide_reason
from laguna_tui.base.settings import Settings
from laguna_tui.base.text import sanitize
from laguna_tui.session.session import Session
from laguna_tui.session.values import SessionOptions

if TYPE_CHECKING:
    from laguna_engine.constrain.json_schema import JsonSchema
    from laguna_tui.base.app_report import AppReport
    from laguna_tui.headless.run import OutputFormat
    from laguna_tui.headless.time_limit import TimeLimit
    from laguna_tui.server.http_server import ServerOptions
    from laguna_tui.session.session_pool import SessionPool
    from laguna_tui.tui.keys import OwnKeys
    from laguna_tui.tui.tui_settings import ModelServer

# How long the engine's thread may wait for the screen's between two tokens. Python's default of 5 ms is the time of a
# whole token: with a busy screen, decoding was measured at a fifth of its speed.
SWITCH_INTERVAL_S = 0.0002
# A single question has no later one that could use a finished index.
ASK_WAIT_S = 60.0
NO_SERVER = "the server's packages are missing; install them with: pip install 'laguna-tui[server]'"
# Memory for the KV cache of conversations that take turns on one engine.
HELD_BYTES = 4 << 30


@dataclass(frozen=True, slots=True)
class AskOptions:
    """How `ask` answers.

    Attributes:
        stats: also write the measured rates to stderr.
        verbose: also write the output of commands to stderr as it comes.
        allow, deny: rules for this question only.
        limit: stops the turn, and whatever is waited for before it.
        piped: text that came with the question, through a pipe; empty for none.
        resume: the saved session to resume; empty begins one, which replaces that of the last single question.
        given: names of the settings that override those of the session.
        schema: the JSON schema that the answer follows; None for an answer in words.
    """

    stats: bool = False
    verbose: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    limit: "TimeLimit | None" = None
    piped: str = ""
    resume: str = ""
    given: frozenset[str] = frozenset()
    schema: "JsonSchema | None" = None


_PLAIN = AskOptions()


def run_ask(
    settings: Settings, folder: Path, question: str, form: "OutputFormat", options: AskOptions = _PLAIN
) -> ExitCode:
    """Answer one question on stdout; returns the exit code. UserError for settings that name no model."""
    from laguna_tui.headless.run import run, write_failure
    from laguna_tui.headless.terminal_approver import terminal_approver
    from laguna_tui.headless.time_limit import TimeLimit, TimeLimitReached

    session = Session(
        settings,
        folder,
        state_dir(),
        SessionOptions(
            # The KV cache of a single question is seldom worth the time to write it.
            cache=cache_dir() if options.resume else None,
            wait_s=ASK_WAIT_S,
            rules=rules_path(),
            allow=options.allow,
            deny=options.deny,
            undoable=bool(options.resume),
            saved=True,
        ),
        resume=options.resume,
        given=options.given,
    )
    limit = options.limit or TimeLimit(None)
    approver = terminal_approver()
    if approver is not None:
        session.permissions.use_approver(approver)
    try:
        info = session.open(lambda progress: None)
    except EngineError as error:
        if limit.reached:
            # A callback from C code cannot raise it.
            raise TimeLimitReached from error
        write_failure(form, session.title, error)
        return _complain(error, ExitCode.MODEL)
    resumed = info.resumed.notices if info.resumed is not None else ()
    for warning in (*session.slot.warnings, *session.permissions.notes, *session.opened().servers.notes, *resumed):
        sys.stderr.write(f"laguna-tui: {sanitize(warning)}\n")
    _stop_gently(session)
    try:
        if options.schema is not None:
            session.chat.constrain(options.schema)
        # Closed before the session, even if its reader is gone: the turn still has to leave the conversation whole.
        message = _with_piped(session, question, options.piped)
        turn = limit.of_turn(session.chat.ask(message), session.chat.cancel)
        with closing(turn) as events:
            opened = info.plan[0]
            return run(events, form, session.title, stats=options.stats, opened=opened, verbose=options.verbose)
    except EngineError as error:
        return _complain(error, ExitCode.FAILED)
    finally:
        limit.stop()
        failing, asked = session.sessions.failing, session.sessions.open_id
        session.close()
        if asked and not options.resume:
            from laguna_tui.store.session_store import SessionStore

            SessionStore(state_dir(), cache_dir()).replace_single(folder, asked)
        # The KV cache is saved last.
        for sentence in filter(None, (failing.session, session.sessions.failing.cache)):
            sys.stderr.write(f"laguna-tui: {sanitize(sentence)}\n")


def _with_piped(session: Session, question: str, piped: str) -> str:
    """Return the message. The piped text is attached, or part of the message for a model without attachments."""
    if not piped:
        return question
    from laguna_tui.session.commands import piped_attachment

    piece = piped_attachment(piped)
    return f"{question}\n\n{piece.whole}" if session.attach(piece) else question


_NO_CALLS_SERVED = (
    "This model's chat format has no tool calls, so the model calls tools only where a request requires it "
    "(tool_choice)."
)


def run_serve(settings: Settings, options: "ServerOptions", say: Callable[[str], None]) -> int:
    """Serve the model to other programs until Ctrl-C; returns the exit code.

    Args:
        settings: the user's.
        options: how to serve.
        say: gets sentences about where it listens and what the user should know.

    Raises:
        UserError: the settings name no model, or the address is not available.
    """
    from laguna_engine.config import Speculation
    from laguna_tui.backends.local.backend import NO_CALLS
    from laguna_tui.models.entry import ModelKind
    from laguna_tui.models.model_selection import select_model
    from laguna_tui.server.http_server import HttpServer
    from laguna_tui.session.engine_slot import EngineSlot, keep_open
    from laguna_tui.session.shared_model import shared_model

    selection = select_model(settings)
    if selection.entry.kind is ModelKind.REMOTE:
        raise UserError(f"--model {settings.model}: the model is behind an endpoint; serve one that is on this machine")
    slot = EngineSlot(selection, Speculation(settings.speculation), state_dir(), lambda engine, selection: None)
    server = HttpServer(lambda: shared_model(slot), options, lambda line: say(sanitize(line)))
    try:
        slot.open(lambda progress: None)
        for warning in slot.warnings:
            say(_NO_CALLS_SERVED if warning == NO_CALLS else sanitize(warning))
        server.start()
        say(f"{slot.selection.entry.title} listens on {server.url} (OpenAI: {server.url}/v1). Stop it with Ctrl-C.")
        say(f"token: {server.token}" if options.token_file is None else f"token: that of {options.token_file}")
        keep_open(slot, server.ended, say)
    except EngineError as error:
        return _complain(error, ExitCode.MODEL)
    finally:
        server.stop()
        slot.close()
    return 0


def session_pool(settings: Settings) -> "SessionPool":
    """Return a pool of sessions for the agent's clients; nothing is opened yet."""
    from laguna_tui.session.session_pool import SessionPool

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    return SessionPool(settings, state_dir(), cache_dir(), rules_path(), HELD_BYTES)


def _own_keys() -> "OwnKeys | None":
    """Return the user's keys; the table of all keys is only needed to check a file."""
    if not keys_path().exists():
        return None
    from laguna_tui.tui.key_sections import own_keys

    return own_keys()


def _new_session(settings: Settings, folder: Path, named: bool, resume: str, given: Collection[str]) -> Session:
    """Return a session that somebody chats in; arguments as for `run_tui`, and `resume` empty for none."""
    holds_more = "" if named else too_wide_reason(folder)
    opened = SessionOptions(cache=cache_dir(), holds_more=holds_more, rules=rules_path())
    return Session(settings, folder, state_dir(), opened, resume=resume, given=given)


def run_plain(
    settings: Settings,
    folder: Path,
    *,
    named: bool,
    question: str = "",
    resume: str | None = None,
    given: Collection[str] = (),
) -> int:
    """Chat in plain lines on stdin and stdout until the user leaves; arguments as for `run_tui`."""
    from laguna_tui.headless.plain_chat import PlainChat

    session = _new_session(settings, folder, named, resume or "", given)
    try:
        chat = PlainChat(session, sys.stdin.fileno(), sys.stdout)
        for warning in session.open(lambda progress: None).warnings:
            chat.say(warning)
        # Without an ID the user chooses, as in the TUI.
        chat.run("/resume" if resume == "" else question)
    except EngineError as error:
        return _complain(error, ExitCode.MODEL)
    finally:
        session.close()
    return 0


def run_tui(
    settings: Settings,
    folder: Path,
    *,
    named: bool,
    question: str = "",
    resume: str | None = None,
    given: Collection[str] = (),
    report: "AppReport | None" = None,
) -> int:
    """Run the TUI until the user leaves; returns the exit code. UserError for settings that name no model.

    Args:
        settings: the user's.
        folder: the workspace.
        named: the user chose the folder, so all of it may be read, even if it is more than a project.
        question: the first message; empty for none.
        resume: the saved session to resume, empty to let the user choose one first; None for a new one.
        given: names of the settings that override those of that session.
        report: what the parent process reads; None without one.
    """
    session = _new_session(settings, folder, named, "", given)
    from laguna_tui.models.model_setup import ModelSetup
    from laguna_tui.tui.app import LagunaApp
    from laguna_tui.tui.tui_settings import TuiSettings

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    options = TuiSettings(
        session.state,
        settings.theme,
        settings.notify,
        partial(_pruned, settings),
        partial(_model_server, session),
        _own_keys(),
        settings.sidebar,
        settings.editor,
        settings.vim,
    )
    app = LagunaApp(session, options, ModelSetup(settings), question, report, resume=resume)
    try:
        return app.run_to_the_end()
    finally:
        session.close(app.ended_by)


def _model_server(session: Session) -> "ModelServer":
    """Return a server of the session's model, on any free port."""
    try:
        from laguna_tui.server.http_server import HttpServer, ServerOptions
    except ImportError as error:
        raise UserError(NO_SERVER) from error
    return HttpServer(lambda: session.shared, ServerOptions(port=0, held_bytes=HELD_BYTES))


def _pruned(settings: Settings) -> Sequence[str]:
    """Delete old sessions where the settings say so; returns sentences about it."""
    from laguna_tui.store.session_retention import Retention, prune
    from laguna_tui.store.session_store import SessionStore

    return prune(SessionStore(state_dir(), cache_dir()), Retention.of(settings))


def _stop_gently(session: Session) -> None:
    """Have the first Ctrl-C end the answer where it is, the second one the program."""
    before = signal.getsignal(signal.SIGINT)

    def interrupted(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        session.chat.cancel()

    # It is ignored in the background of a script: Ctrl-C is meant for what is in the foreground.
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupted)


def _complain(error: EngineError, code: ExitCode) -> ExitCode:
    sys.stderr.write(f"laguna-tui: {sanitize(str(error))}\n")
    return code
