"""A turn as plain text: the answer on stdout, the agent's actions on stderr."""

import sys
from collections.abc import Callable
from typing import TextIO

from laguna_engine.events import DrafterFailed
from laguna_tui.agent.permissions.rules import SHELL
from laguna_tui.base.events import (
    AgentEvent,
    AnswerCorrected,
    Attached,
    CallRejected,
    ChangeMade,
    Compacted,
    Notice,
    PermissionAsked,
    TextDelta,
    TodoChanged,
    TodoItem,
    TodoState,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from laguna_tui.base.text import TextSanitizer, sanitize_line
from laguna_tui.headless.outcome import TurnOutcome, exit_code_of
from laguna_tui.headless.terminal_approver import change_lines

_VALUE_CHARS = 60
"""Of a tool's argument: the texts of an edit are long, and shown as a diff."""
_COMMAND_CHARS = 200
"""Of a command: enough to see what it does."""
_WITHOUT = "If it happens again, use --speculation off."


def finish_text(outcome: TurnOutcome, *, stats: bool, opened: str) -> None:
    """Write the end of the turn. stats: Also write the measured rates, and how the model was `opened`."""
    end_lines(outcome)
    if outcome.corrected is not None:
        sys.stderr.write(f"· {AnswerCorrected(outcome.corrected).sentence}\n")
    if outcome.looked_up is not None:
        sys.stderr.write(f"· {outcome.looked_up.sentence}\n")
    if outcome.detail:
        sys.stderr.write(f"laguna-tui: {sanitize_line(outcome.detail)}\n")
    if outcome.denied:
        sys.stderr.write(f"laguna-tui: {sanitize_line(outcome.denied)}\n")
    if stats:
        rates = outcome.rates()
        # Nothing was computed for an answer from the index.
        if rates["context_used"]:
            sys.stderr.write(_stats_line(rates) + "\n")
            sys.stderr.write(_speculation_line(outcome) + "\n")
        if opened:
            sys.stderr.write(f"opened with {sanitize_line(opened)}\n")


def end_lines(outcome: TurnOutcome) -> None:
    """End the last line, so that a sentence or the shell's prompt begins on a new one."""
    if outcome.tools and "output" not in outcome.tools[-1]:
        sys.stderr.write("\n")
    if outcome.text and not outcome.text[-1].endswith("\n"):
        sys.stdout.write("\n")
    sys.stdout.flush()


def _stats_line(rates: dict[str, object]) -> str:
    def rate(key: str) -> str:
        value = rates[key]
        return f"{value:,.0f} tok/s" if isinstance(value, float) else "not measured"

    cached = rates["cached_tokens"]
    reused = f"{cached:,} reused" if isinstance(cached, int) else "reuse unknown for a remote model"
    return (
        f"prefill {rates['prefilled_tokens']:,} tokens at {rate('prefill_tokens_per_second')}"
        f" ({reused}) · decode {rates['generated_tokens']:,} tokens at"
        f" {rate('decode_tokens_per_second')} · context {rates['context_used']:,} of {rates['context_size']:,}"
    )


def _speculation_line(outcome: TurnOutcome) -> str:
    summary = outcome.metrics.summary()
    if outcome.remote:
        return "speculation: unknown for a remote model"
    if not summary.together.drafted:
        why = f" ({sanitize_line(summary.reason)})" if summary.reason else ""
        return f"speculation: nothing was drafted{why}"
    shares = sorted(summary.shares.items(), key=lambda pair: -pair[1])
    return (
        f"speculation {summary.tokens_per_round:.2f} tokens per round in {summary.rounds:,} rounds"
        f" · {summary.together.acceptance:.0%} of {summary.together.drafted:,} drafted tokens accepted"
        f" · {', '.join(f'{source.label} {share:.0%}' for source, share in shares)}"
    )


def text_writer(out: TextIO, log: TextIO, *, verbose: bool = False) -> Callable[[AgentEvent], None]:
    """Return a function that writes the answer to `out` as it comes, and the agent's actions to `log`.

    verbose: Also write the output of commands.
    """
    answer = TextSanitizer().sanitize if out.isatty() else _without_surrogates
    actions = _Actions(log, verbose=verbose)
    in_line = False

    def end_text() -> None:
        """On a terminal, where both are shown, end the line of the answer before an action."""
        nonlocal in_line
        if in_line and out.isatty():
            out.write("\n")
            out.flush()
        in_line = False

    def show(event: AgentEvent) -> None:
        nonlocal in_line
        match event:
            case Attached(titles, notes):
                for line in [*([f"with {', '.join(titles)}"] if titles else []), *notes]:
                    log.write(f"· {sanitize_line(line)}\n")
            case TextDelta(text):
                out.write(answer(text))
                out.flush()
                in_line = not text.endswith("\n") if text else in_line
            case ToolStarted() | PermissionAsked() | ChangeMade() | ToolFinished() | ToolProgress():
                end_text()
                actions.show(event)
            case _:
                if line := _line(event):
                    end_text()
                    actions.end_line()
                    log.write(f"· {sanitize_line(line)}\n")

    return show


def _without_surrogates(text: str) -> str:
    """Return the text with a "?" for each lone surrogate, which cannot be encoded."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _line(event: AgentEvent) -> str:
    """Return the line that reports an event; empty for most events."""
    match event:
        case DrafterFailed():
            return f"{event.sentence} {_WITHOUT}"
        case Notice(text):
            return text
        case Compacted():
            return event.sentence
        case TodoChanged(items):
            return _todo_line(items)
        case CallRejected(_, problem):
            return f"call rejected: {problem}"
        case _:
            return ""


def _todo_line(items: tuple[TodoItem, ...]) -> str:
    done = sum(item.state is TodoState.DONE for item in items)
    now = next((f", now: {item.text}" for item in items if item.state is TodoState.ACTIVE), "")
    return f"{done} of {len(items)} steps done{now}"


class _Actions:
    """Writes tool calls, a line each. Of calls that run side by side, all but the first are written when they end."""

    def __init__(self, log: TextIO, *, verbose: bool) -> None:
        self._log = log
        self._verbose = verbose
        self._calls: dict[int, str] = {}
        self._shown: set[int] = set()
        self._output: dict[int, TextSanitizer] = {}
        self._open = False

    def show(self, event: ToolStarted | PermissionAsked | ChangeMade | ToolFinished | ToolProgress) -> None:
        """Write an event of a call."""
        match event:
            case ToolStarted():
                self._begin(event)
            case PermissionAsked(call_id):
                # The approver shows what it asks about, and ends the line.
                self._shown.add(call_id)
                self._open = False
            case ChangeMade(call_id, change):
                if call_id not in self._shown:
                    self.end_line()
                    self._log.write("".join(f"{line}\n" for line in change_lines(change)))
            case ToolProgress(call_id, text):
                if self._verbose:
                    self._add_output(call_id, text)
            case ToolFinished():
                self._finish(event)

    def end_line(self) -> None:
        """End the line of a running call."""
        if self._open:
            self._log.write("\n")
            self._open = False

    def _begin(self, event: ToolStarted) -> None:
        line = f"· {sanitize_line(_call(event))}"
        if not self._calls:
            self._log.write(line)
            self._log.flush()
            self._open = True
            line = ""
        self._calls[event.call_id] = line

    def _add_output(self, call_id: int, text: str) -> None:
        self.end_line()
        if call_id not in self._output:
            self._output[call_id] = TextSanitizer()
        safe = self._output[call_id].sanitize(text)
        self._log.write(safe)
        self._log.flush()
        self._open = not safe.endswith("\n") if safe else self._open

    def _finish(self, event: ToolFinished) -> None:
        line = self._calls.pop(event.call_id, "")
        shown = self._output.pop(event.call_id, None)
        if line or shown is not None:
            self.end_line()
        result = sanitize_line(event.shown) if event.shown else f"{_result(event)}, {event.seconds:.2f} s"
        self._log.write(f"{line}  {result}\n")
        self._open = False


def _call(event: ToolStarted) -> str:
    """Return a call as a line; a command as it would be typed."""
    command = event.arguments.get("cmd")
    if event.name == SHELL and isinstance(command, str) and command:
        return f"$ {command if len(command) <= _COMMAND_CHARS else f'{command[:_COMMAND_CHARS]}…'}"
    shown = ", ".join(f"{key}={_brief(repr(value))}" for key, value in event.arguments.items())
    return f"{event.name}({shown})"


def _result(event: ToolFinished) -> str:
    if (code := exit_code_of(event)) is not None:
        return f"exit code {code}"
    lines = event.output.count("\n") + 1
    return f"{lines} line{'s'[: lines > 1]}" if event.ok else f"failed, {sanitize_line(event.output)}"


def _brief(text: str) -> str:
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}…"
