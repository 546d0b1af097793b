"""The event sanitizer: the one place where texts from the model, files and tools are sanitised for the screen."""

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard, get_args

from msgspec.structs import replace

from laguna_engine.errors import EngineError
from laguna_engine.events import DrafterFailed, LoadProgress
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import (
    AgentEvent,
    AnswerCorrected,
    Asked,
    Attached,
    CallRejected,
    ChangeMade,
    Compacted,
    DraftRound,
    Notice,
    PermissionAnswered,
    PermissionAsked,
    ReasoningDelta,
    ReplayCheck,
    Steered,
    TextDelta,
    TodoChanged,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.permission_request import CallProposal, CommandProposal, PermissionRequest, Proposal
from laguna_tui.base.review_text import content_line, review_line
from laguna_tui.base.text import TextSanitizer, sanitize, sanitize_line
from laguna_tui.base.text_diff import Hunk, HunkLine

if TYPE_CHECKING:
    from laguna_tui.undo.file_diff import FileDiff

_KINDS = get_args(AgentEvent)


def is_event(item: object) -> TypeGuard[AgentEvent]:
    """Return whether this is an event of the agent."""
    return isinstance(item, _KINDS)


class EventSanitizer:
    """Sanitises the events of one conversation, in order: an emoji may arrive in two deltas.

    Attributes:
        aside: for the answers to side questions.
    """

    def __init__(self) -> None:
        self.aside = TextSanitizer()
        self._sanitizers: dict[type[AgentEvent], TextSanitizer] = {}
        self._outputs: dict[int, OutputSanitizer] = {}

    def safe(self, event: AgentEvent) -> AgentEvent:
        """Return the event with every text sanitised."""
        if isinstance(event, TurnStarted):
            self._sanitizers.clear()
            self._outputs.clear()
        if isinstance(event, TextDelta | ReasoningDelta):
            return replace(event, text=self._sanitizers.setdefault(type(event), TextSanitizer()).sanitize(event.text))
        if isinstance(event, ToolProgress):
            return replace(event, text=self._outputs.setdefault(event.call_id, OutputSanitizer()).sanitize(event.text))
        return safe_event(event)


def safe_turns(events: Iterable[Asked | AgentEvent]) -> Iterator[Asked | AgentEvent]:
    """Return turns that are shown again, sanitised."""
    sanitizer = EventSanitizer()
    for event in events:
        yield replace(event, message=sanitize(event.message)) if isinstance(event, Asked) else sanitizer.safe(event)


class OutputSanitizer:
    r"""Sanitises what a program writes, in pieces: colours and cursor movements go, and "\r" stays.

    A "\r" only ever says that the line is written again; it is not for the terminal.
    """

    def __init__(self) -> None:
        self._unfinished = ""
        self._sanitizer = TextSanitizer()

    def sanitize(self, piece: str) -> str:
        """Return the next piece, up to an escape sequence that has not ended."""
        # A plain question never comes here, and needs nothing that runs commands.
        from laguna_tui.sandbox.command_output import EMPTIED, finished, without_sequences

        text = without_sequences(self._unfinished + piece)
        end = finished(text)
        self._unfinished = text[end:]
        shown = text[:end].replace(EMPTIED, "").replace("\b", "")
        return "\r".join(map(self._sanitizer.sanitize, shown.split("\r")))


def safe_event(event: AgentEvent) -> AgentEvent:
    """Return the event with every text sanitised; arguments become one-line texts."""
    match event:
        case TextDelta(text=text) | ReasoningDelta(text=text) | ToolProgress(text=text) | Notice(text=text):
            return replace(event, text=sanitize(text))
        case Attached(titles, notes):
            return Attached(tuple(map(sanitize_line, titles)), tuple(map(sanitize_line, notes)))
        case ToolStarted():
            return replace(event, name=sanitize_line(event.name), arguments=_safe_arguments(event.arguments))
        case ToolFinished():
            return _safe_result(event)
        case PermissionAsked() | PermissionAnswered() | ChangeMade():
            return _safe_permission(event)
        case TodoChanged() | Compacted() | DraftRound():
            return _safe_state(event)
        case CallRejected() | DrafterFailed():
            return _safe_problem(event)
        case AnswerCorrected() | Steered():
            return _safe_words(event)
        case TurnFinished(end, detail):
            return TurnFinished(end, sanitize(detail))
        case _:
            return event


def _safe_result(event: ToolFinished) -> ToolFinished:
    full_output = None if event.full_output is None else sanitize_line(event.full_output)
    name, output, shown = sanitize_line(event.name), sanitize(event.output), sanitize(event.shown)
    return replace(event, name=name, output=output, full_output=full_output, shown=shown)


def _safe_state(event: TodoChanged | Compacted | DraftRound) -> TodoChanged | Compacted | DraftRound:
    match event:
        case TodoChanged(items):
            return TodoChanged(tuple(dataclasses.replace(item, text=sanitize_line(item.text)) for item in items))
        case Compacted():
            return replace(event, summary=sanitize(event.summary))
        case DraftRound(spun, accepted, instead):
            safe = dataclasses.replace(spun, rejected=sanitize(spun.rejected), reason=sanitize_line(spun.reason))
            return DraftRound(safe, sanitize(accepted), sanitize(instead))


def _safe_problem(event: CallRejected | DrafterFailed) -> CallRejected | DrafterFailed:
    if isinstance(event, CallRejected):
        return CallRejected(sanitize(event.raw), sanitize_line(event.problem))
    return replace(event, problem=sanitize_line(event.problem))


def _safe_words(event: AnswerCorrected | Steered) -> AnswerCorrected | Steered:
    if isinstance(event, AnswerCorrected):
        return AnswerCorrected(sanitize(event.said))
    return Steered(sanitize(event.message))


def _safe_permission(
    event: PermissionAsked | PermissionAnswered | ChangeMade,
) -> PermissionAsked | PermissionAnswered | ChangeMade:
    match event:
        case PermissionAsked(request=request):
            return replace(event, request=_safe_request(request))
        case PermissionAnswered(answer=answer):
            edited = None if answer.edited is None else sanitize(answer.edited)
            answer = dataclasses.replace(answer, message=sanitize(answer.message), edited=edited)
            return replace(event, answer=answer, by=sanitize_line(event.by))
        case ChangeMade(change=change):
            return replace(event, change=safe_change(change))


def _safe_request(request: PermissionRequest) -> PermissionRequest:
    match request.proposal:
        case CommandProposal(command=command) as proposal:
            safe: Proposal = replace(proposal, command="\n".join(map(review_line, command.split("\n"))))
        case CallProposal(summary, details, action):
            safe = CallProposal(review_line(summary), tuple(map(review_line, details)), review_line(action))
        case change:
            safe = safe_change(change)
    tool, why, sandbox, rule = map(sanitize_line, (request.tool, request.why, request.sandbox, request.rule))
    approval_reason, destructive, unusual = map(
        review_line, (request.approval_reason, request.destructive, request.unusual)
    )
    return dataclasses.replace(
        request,
        tool=tool,
        proposal=safe,
        why=why,
        sandbox=sandbox,
        rule=rule,
        approval_reason=approval_reason,
        destructive=destructive,
        unusual=unusual,
    )


def safe_replay(event: ReplayCheck) -> ReplayCheck:
    """Return the check with its texts sanitised."""
    found = event.difference
    if found is None:
        return event
    before, answered, plain = map(sanitize, (found.before, found.answered, found.plain))
    return dataclasses.replace(
        event, difference=dataclasses.replace(found, before=before, answered=answered, plain=plain)
    )


def safe_change(change: ChangeProposal) -> ChangeProposal:
    """Return the change with paths, warning and diff sanitised; a line of the diff stays one line."""
    hunks = safe_hunks(change.hunks)
    path, target, warning = map(review_line, (change.path, change.target, change.warning))
    return replace(change, path=path, target=target, warning=warning, hunks=hunks)


def safe_hunks(hunks: Iterable[Hunk]) -> tuple[Hunk, ...]:
    """Return the hunks of a diff with their lines sanitised; each stays one line."""
    return tuple(dataclasses.replace(hunk, lines=tuple(map(_safe_line, hunk.lines))) for hunk in hunks)


def safe_file_diff(file: "FileDiff") -> "FileDiff":
    """Return a file's diff, sanitised."""
    path, target, note = map(sanitize_line, (file.path, file.target, file.note))
    return dataclasses.replace(file, path=path, target=target, note=note, hunks=safe_hunks(file.hunks))


def _safe_line(line: HunkLine) -> HunkLine:
    return dataclasses.replace(line, text=content_line(line.text))


def _safe_arguments(arguments: dict[str, object]) -> dict[str, object]:
    return {
        sanitize_line(key): f'"{sanitize(value)}"' if isinstance(value, str) else sanitize_line(str(value))
        for key, value in arguments.items()
    }


def safe_progress(progress: LoadProgress) -> LoadProgress:
    """Return the progress with its stage sanitised."""
    return LoadProgress(sanitize_line(progress.stage), progress.fraction)


def error_sentence(error: Exception) -> str:
    """Return the error as a sanitised sentence. Only our own errors are written for users."""
    if isinstance(error, UserError):
        return sanitize(error.in_app or str(error))
    if isinstance(error, EngineError):
        return sanitize(str(error))
    return sanitize(f"Something unexpected went wrong ({type(error).__name__}: {error}). Please report it.")


def safe_path(path: Path) -> str:
    """Return the path as one line, with the home folder as `~`."""
    try:
        shown = Path("~") / path.relative_to(Path.home())
    except (ValueError, RuntimeError):
        shown = path
    return sanitize_line(str(shown))
