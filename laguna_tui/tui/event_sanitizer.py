"""The event sanitizer: the one place where texts from the model, files and tools are sanitised for the screen."""

from dataclasses import replace
from pathlib import Path
from typing import TypeGuard, get_args

from laguna_engine.events import DrafterFailed, LoadProgress
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import (
    AgentEvent,
    AnswerCorrected,
    Attached,
    CallRejected,
    DraftRound,
    EditDone,
    EditProposed,
    ReasoningDelta,
    ReplayCheck,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.hunks import HunkLine
from laguna_tui.base.text import TextSanitizer, sanitize, sanitize_line

_KINDS = get_args(AgentEvent)


def is_event(item: object) -> TypeGuard[AgentEvent]:
    """Whether this is an event of the agent."""
    return isinstance(item, _KINDS)


class EventSanitizer:
    """Sanitises the events of one conversation, in order: an emoji may arrive in two deltas."""

    def __init__(self) -> None:
        self._sanitizers: dict[type[TextDelta | ReasoningDelta], TextSanitizer] = {}

    def safe(self, event: AgentEvent) -> AgentEvent:
        """The event with every text sanitised."""
        if isinstance(event, TurnStarted):
            self._sanitizers.clear()
        if isinstance(event, TextDelta | ReasoningDelta):
            return replace(event, text=self._sanitizers.setdefault(type(event), TextSanitizer()).sanitize(event.text))
        return safe_event(event)


def safe_event(event: AgentEvent) -> AgentEvent:
    """The event with every text sanitised; arguments become one-line texts."""
    match event:
        case TextDelta(text) | ReasoningDelta(text):
            return replace(event, text=sanitize(text))
        case Attached(titles, notes):
            return Attached(tuple(map(sanitize_line, titles)), tuple(map(sanitize_line, notes)))
        case ToolStarted():
            return replace(event, name=sanitize_line(event.name), arguments=_safe_arguments(event.arguments))
        case ToolFinished():
            return _safe_result(event)
        case EditProposed() | EditDone():
            return _safe_edit(event)
        case CallRejected() | DrafterFailed():
            return _safe_problem(event)
        case AnswerCorrected(said):
            return AnswerCorrected(sanitize(said))
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


def _safe_edit(event: EditProposed | EditDone) -> EditProposed | EditDone:
    if isinstance(event, EditDone):
        return EditDone(sanitize_line(event.path), event.places)
    return replace(event, proposal=_safe_proposal(event.proposal))


def safe_replay(event: ReplayCheck) -> ReplayCheck:
    """The check with its texts sanitised."""
    found = event.difference
    if found is None:
        return event
    before, answered, plain = map(sanitize, (found.before, found.answered, found.plain))
    return replace(event, difference=replace(found, before=before, answered=answered, plain=plain))


def _safe_proposal(proposal: ChangeProposal) -> ChangeProposal:
    """The proposal with path, warning and diff sanitised; a line of the diff stays one line."""
    hunks = tuple(replace(hunk, lines=tuple(map(_safe_line, hunk.lines))) for hunk in proposal.hunks)
    return replace(proposal, path=sanitize_line(proposal.path), warning=sanitize_line(proposal.warning), hunks=hunks)


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
