"""A turn as plain text: the answer on stdout, the agent's actions on stderr."""

import sys
from collections.abc import Callable
from typing import TextIO

from laguna_engine.events import DrafterFailed
from laguna_tui.base.events import (
    AgentEvent,
    AnswerCorrected,
    Attached,
    CallRejected,
    ChangeMade,
    Notice,
    PermissionAsked,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from laguna_tui.base.text import TextSanitizer, sanitize_line
from laguna_tui.headless.outcome import TurnOutcome
from laguna_tui.headless.terminal_approver import change_lines

# Characters written to stderr of a tool's argument: an edit's texts are long, and shown as a diff.
_VALUE_CHARS = 60


_WITHOUT = "If it happens again, use --speculation off."


def finish_text(outcome: TurnOutcome, *, stats: bool, opened: str) -> None:
    """Write the end of the turn. stats: also the measured rates, and how the model was `opened`."""
    end_lines(outcome)
    if outcome.corrected is not None:
        sys.stderr.write(f"· {AnswerCorrected(outcome.corrected).sentence}\n")
    if outcome.detail:
        sys.stderr.write(f"laguna-tui: {sanitize_line(outcome.detail)}\n")
    if stats:
        sys.stderr.write(_stats_line(outcome.rates()) + "\n")
        sys.stderr.write(_speculation_line(outcome) + "\n")
        if opened:
            sys.stderr.write(f"opened with {sanitize_line(opened)}\n")


def end_lines(outcome: TurnOutcome) -> None:
    """End the last line, so that what the terminal shows next, a sentence or the shell's prompt, begins a new one."""
    if outcome.tools and "output" not in outcome.tools[-1]:
        sys.stderr.write("\n")
    if outcome.text and not outcome.text[-1].endswith("\n"):
        sys.stdout.write("\n")
    sys.stdout.flush()


def _stats_line(rates: dict[str, object]) -> str:
    def rate(key: str) -> str:
        value = rates[key]
        return f"{value:,.0f} tok/s" if isinstance(value, float) else "not measured"

    return (
        f"prefill {rates['prefilled_tokens']:,} tokens at {rate('prefill_tokens_per_second')}"
        f" ({rates['cached_tokens']:,} reused) · decode {rates['generated_tokens']:,} tokens at"
        f" {rate('decode_tokens_per_second')} · context {rates['context_used']:,} of {rates['context_size']:,}"
    )


def _speculation_line(outcome: TurnOutcome) -> str:
    summary = outcome.metrics.summary()
    if not summary.together.drafted:
        why = f" ({sanitize_line(summary.reason)})" if summary.reason else ""
        return f"speculation: nothing was drafted{why}"
    shares = sorted(summary.shares.items(), key=lambda pair: -pair[1])
    return (
        f"speculation {summary.tokens_per_round:.2f} tokens a round in {summary.rounds:,} rounds"
        f" · {summary.together.acceptance:.0%} of {summary.together.drafted:,} drafted tokens accepted"
        f" · {', '.join(f'{source.label} {share:.0%}' for source, share in shares)}"
    )


def text_writer(out: TextIO, log: TextIO) -> Callable[[AgentEvent], None]:
    """Return a writer of the answer to `out` as it comes, and of the agent's actions to `log`."""
    answer, actions = TextSanitizer(), _Actions(log)

    def show(event: AgentEvent) -> None:
        match event:
            case Attached(titles, notes):
                for line in [*([f"with {', '.join(titles)}"] if titles else []), *notes]:
                    log.write(f"· {sanitize_line(line)}\n")
            case TextDelta(text):
                out.write(answer.sanitize(text))
                out.flush()
            case ToolStarted() | PermissionAsked() | ChangeMade() | ToolFinished():
                actions.show(event)
            case DrafterFailed():
                log.write(f"· {sanitize_line(event.sentence)} {_WITHOUT}\n")
            case Notice(text):
                log.write(f"· {sanitize_line(text)}\n")
            case CallRejected(_, problem):
                log.write(f"· call rejected: {sanitize_line(problem)}\n")
            case _:
                pass

    return show


class _Actions:
    """Writes calls of tools, a line each. Of those that run side by side, all but the first once they have ended."""

    def __init__(self, log: TextIO) -> None:
        self._log = log
        self._calls: dict[int, str] = {}
        self._shown: set[int] = set()

    def show(self, event: ToolStarted | PermissionAsked | ChangeMade | ToolFinished) -> None:
        """Write an event of a call."""
        log = self._log
        match event:
            case ToolStarted(call_id, name, arguments):
                shown = ", ".join(f"{key}={_brief(repr(value))}" for key, value in arguments.items())
                line = f"· {sanitize_line(f'{name}({shown})')}"
                if not self._calls:
                    log.write(line)
                    log.flush()
                    line = ""
                self._calls[call_id] = line
            case PermissionAsked(call_id):
                # Whoever asks shows what it is about.
                self._shown.add(call_id)
            case ChangeMade(call_id, change):
                if call_id not in self._shown:
                    log.write("\n" + "".join(f"{line}\n" for line in change_lines(change)))
            case ToolFinished(call_id, _, output, ok, seconds):
                lines = output.count("\n") + 1
                result = f"{lines} line{'s'[: lines > 1]}" if ok else f"failed, {sanitize_line(output)}"
                log.write(f"{self._calls.pop(call_id, '')}  {result}, {seconds:.2f} s\n")


def _brief(text: str) -> str:
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}…"
