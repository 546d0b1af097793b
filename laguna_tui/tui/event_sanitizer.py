"""The event sanitizer: the one place where texts from the model, files and tools are sanitised for the screen."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard, get_args

from laguna_engine.events import DrafterFailed, LoadProgress
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import (
    AgentEvent,
    AnswerCorrected,
    Attached,
    CallRejected,
    ChangeMade,
    DraftRound,
    Notice,
    PermissionAnswered,
    PermissionAsked,
    ReasoningDelta,
    ReplayCheck,
    Steered,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.hunks import HunkLine
from laguna_tui.base.permission_request import CallProposal, CommandProposal, PermissionRequest, Proposal
from laguna_tui.base.text import TextSanitizer, sanitize, sanitize_line

if TYPE_CHECKING:
    from laguna_tui.journal.file_diff import FileDiff

_KINDS = get_args(AgentEvent)


def is_event(item: object) -> TypeGuard[AgentEvent]:
    """Whether this is an event of the agent."""
    return isinstance(item, _KINDS)


class EventSanitizer:
    """Sanitises the events of one conversation, in order: an emoji may arrive in two deltas."""

    def __init__(self) -> None:
        self._sanitizers: dict[type[AgentEvent] | int, TextSanitizer] = {}

    def safe(self, event: AgentEvent) -> AgentEvent:
        """The event with every text sanitised."""
        if isinstance(event, TurnStarted):
            self._sanitizers.clear()
        if isinstance(event, TextDelta | ReasoningDelta | ToolProgress):
            stream = event.call_id if isinstance(event, ToolProgress) else type(event)
            return replace(event, text=self._sanitizers.setdefault(stream, TextSanitizer()).sanitize(event.text))
        return safe_event(event)


def safe_event(event: AgentEvent) -> AgentEvent:
    """The event with every text sanitised; arguments become one-line texts."""
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
        case CallRejected() | DrafterFailed():
            return _safe_problem(event)
        case AnswerCorrected() | Steered():
            return _safe_words(event)
        case TurnFinished(end, detail):
            return TurnFinished(end, sanitize(detail))
        case DraftRound(spun, stood, instead):
            safe = replace(spun, rejected=sanitize(spun.rejected), reason=sanitize_line(spun.reason))
            return DraftRound(safe, sanitize(stood), sanitize(instead))
        case _:
            return event


def _safe_result(event: ToolFinished) -> ToolFinished:
    full_output = None if event.full_output is None else sanitize_line(event.full_output)
    return replace(event, name=sanitize_line(event.name), output=sanitize(event.output), full_output=full_output)


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
            answer = replace(answer, message=sanitize(answer.message), edited=edited)
            return replace(event, answer=answer, by=sanitize_line(event.by))
        case ChangeMade(change=change):
            return replace(event, change=_safe_change(change))


def _safe_request(request: PermissionRequest) -> PermissionRequest:
    match request.proposal:
        case CommandProposal(command=command) as proposal:
            safe: Proposal = replace(proposal, command="\n".join(map(sanitize_line, command.split("\n"))))
        case CallProposal(summary, details):
            safe = CallProposal(sanitize_line(summary), tuple(map(sanitize_line, details)))
        case change:
            safe = _safe_change(change)
    tool, why, sandbox, rule = map(sanitize_line, (request.tool, request.why, request.sandbox, request.rule))
    always_asks = sanitize_line(request.always_asks)
    return replace(request, tool=tool, proposal=safe, why=why, sandbox=sandbox, rule=rule, always_asks=always_asks)


def safe_replay(event: ReplayCheck) -> ReplayCheck:
    """The check with its texts sanitised."""
    found = event.difference
    if found is None:
        return event
    before, answered, plain = map(sanitize, (found.before, found.answered, found.plain))
    return replace(event, difference=replace(found, before=before, answered=answered, plain=plain))


def _safe_change(change: ChangeProposal) -> ChangeProposal:
    """The change with paths, warning and diff sanitised; a line of the diff stays one line."""
    hunks = tuple(replace(hunk, lines=tuple(map(_safe_line, hunk.lines))) for hunk in change.hunks)
    path, target, warning = map(sanitize_line, (change.path, change.target, change.warning))
    return replace(change, path=path, target=target, warning=warning, hunks=hunks)


def safe_file_diff(file: "FileDiff") -> "FileDiff":
    """A file's diff, sanitised; its whole texts are left out."""
    hunks = tuple(replace(hunk, lines=tuple(map(_safe_line, hunk.lines))) for hunk in file.hunks)
    path, target, note = map(sanitize_line, (file.path, file.target, file.note))
    return replace(file, path=path, target=target, note=note, before="", after="", hunks=hunks)


def _safe_line(line: HunkLine) -> HunkLine:
    return replace(line, text=sanitize(line.text).replace("\n", " "))


def _safe_arguments(arguments: dict[str, object]) -> dict[str, object]:
    return {sanitize_line(key): _safe_value(value) for key, value in arguments.items()}


def _safe_value(value: object) -> str:
    text = sanitize_line(str(value))
    return f'"{text}"' if isinstance(value, str) else text


def safe_progress(progress: LoadProgress) -> LoadProgress:
    """The progress with its stage sanitised."""
    return LoadProgress(sanitize_line(progress.stage), progress.fraction)


def safe_path(path: Path) -> str:
    """The path as one line, with the home folder as `~`."""
    try:
        shown = Path("~") / path.relative_to(Path.home())
    except (ValueError, RuntimeError):
        shown = path
    return sanitize_line(str(shown))
