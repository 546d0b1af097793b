"""Converts the agent's sanitised events into entries of a document. Knows no widget and no colour.

Markdown is split as it streams, and each block is converted once, when it closes.
"""

import time
from collections.abc import Callable, Iterable, Sequence

from laguna_engine.events import DrafterFailed, Prefill, Source
from laguna_tui.base.events import (
    AgentEvent,
    AnswerCorrected,
    AnsweredFromIndex,
    Asked,
    Attached,
    CallRejected,
    ChangeMade,
    Choosing,
    Compacted,
    Compacting,
    Notice,
    PermissionAnswered,
    PermissionAsked,
    Rate,
    ReasoningDelta,
    ReplayCheck,
    ReplayProgress,
    Steered,
    StepFinished,
    TextDelta,
    TodoChanged,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.turn_figures import TurnFigures
from laguna_tui.tui.markdown.attributed_text import TintSwitch
from laguna_tui.tui.markdown.flow import Flows
from laguna_tui.tui.markdown.markdown_parser import to_flows
from laguna_tui.tui.transcript.answer_entries import AnswerStream
from laguna_tui.tui.transcript.aside_entry import AsideEntry
from laguna_tui.tui.transcript.compaction_entry import CompactionEntry
from laguna_tui.tui.transcript.document import TranscriptDocument, TurnEntries
from laguna_tui.tui.transcript.entries import FiguresEntry, NoticeEntry, ProgressEntry, QuestionEntry, WaitingEntry
from laguna_tui.tui.transcript.replay_entry import ReplayEntry
from laguna_tui.tui.transcript.request_entries import RequestEntry
from laguna_tui.tui.transcript.step_entries import ANSWER_NOW, ThinkingEntry
from laguna_tui.tui.transcript.step_writer import StepWriter

# Kind of the notice for each end of a turn; the others are warnings.
_KINDS = {
    TurnEnd.ANSWERED: "info",
    TurnEnd.CANCELLED: "info",
    TurnEnd.CONTEXT_FULL: "error",
    TurnEnd.MESSAGE_TOO_LONG: "error",
}
# What the user can do about it.
_ADVICE = {
    TurnEnd.CONTEXT_FULL: "Start a new chat: /new",
    TurnEnd.MESSAGE_TOO_LONG: "↑ brings it back: send less of it, or mention a file with @ instead of pasting it.",
    TurnEnd.MAX_TOKENS: "Send “continue” for the rest.",
}
_STOPPED = "stopped"
_REOPEN = "Open the model again to retry it: /model"


class TranscriptWriter:
    """Applies events to a document.

    Attributes:
        document: the entries.
        tint: whether answers are tinted.
        turns: which entries belong to which turn.
    """

    def __init__(
        self,
        document: TranscriptDocument,
        clock: Callable[[], float] = time.monotonic,
        converter: Callable[[str], Flows] = to_flows,
    ) -> None:
        self.document = document
        self.tint = TintSwitch()
        self.turns = TurnEntries(document)
        self._clock = clock
        self._convert = converter
        self._stream: AnswerStream | None = None
        self._thought: ThinkingEntry | None = None
        self._thought_at = 0.0
        self._steps = StepWriter(document)
        self._working: ProgressEntry | None = None
        self._replay: ReplayEntry | None = None
        self._compaction: CompactionEntry | None = None
        self._aside: AsideEntry | None = None
        self._failed: list[str] = []
        self._figures = TurnFigures()
        # Of a remote model nothing can end the thinking alone.
        self._remote = False
        self._waiting: list[WaitingEntry] = []
        self._again = False

    @property
    def asked(self) -> RequestEntry | None:
        """What waits for the user's answer, or to be done, if anything."""
        return self._steps.asked

    def add_question(self, text: str) -> None:
        """Append the user's message."""
        question = QuestionEntry(text)
        self.document.append(question)
        self.turns.begin(question)
        self._work()

    def show_waiting(self, messages: Sequence[str]) -> None:
        """Show these messages at the end, as long as they wait to go into the turn."""
        shown = [entry.text for entry in self._waiting]
        if shown == messages and (not shown or self._waiting[-1] is self.document.last):
            return
        for entry in reversed(self._waiting):
            self.document.remove(entry)
        self._waiting = [WaitingEntry(text) for text in messages]
        for entry in self._waiting:
            self.document.append(entry)

    def add_notice(self, text: str, kind: str = "info") -> None:
        """Append a message of the app; `kind` is a key of `NOTICE_MARKS`."""
        self._idle()
        self._end_text()
        self.document.append(NoticeEntry(text, kind))

    def add_error(self, text: str) -> None:
        """Append an error, after closing everything that was running."""
        self.settle()
        self.add_notice(text, "error")

    def settle(self) -> None:
        """Close every entry that shows something as running."""
        self._idle()
        self._end_text()
        self._end_replay()
        self._end_compaction(None)
        self._steps.settle()

    def clear(self) -> None:
        """Start a new chat."""
        self.document.clear()
        self.turns.clear()
        self._waiting.clear()
        self._stream = self._thought = self._working = self._replay = self._compaction = None
        self._steps.clear()

    def begin_aside(self, question: str) -> None:
        """Show a side question."""
        self.settle()
        self._aside = AsideEntry(question)
        self.document.append(self._aside)
        self._work()

    def extend_aside(self, text: str) -> None:
        """Show more of its answer."""
        self._idle()
        if self._aside is not None:
            self._aside.extend(text)

    def end_aside(self) -> None:
        """End its answer."""
        self._idle()
        if self._aside is not None:
            self._aside.finish()
            self._aside = None

    def show_replay(self, state: ReplayProgress | ReplayCheck) -> None:
        """Show the progress or the result of a replay check."""
        if self._replay is None:
            self._idle()
            self._end_text()
            self._replay = ReplayEntry()
            self.document.append(self._replay)
        self._replay.update(state)
        if isinstance(state, ReplayCheck):
            self._replay = None

    def _end_replay(self) -> None:
        """Remove a check that ended without a result."""
        if self._replay is not None:
            self.document.remove(self._replay)
            self._replay = None

    def _compact(self, event: Compacting | Compacted) -> None:
        """Show that room is being made, or how much was made."""
        if isinstance(event, Compacting):
            self._idle()
            self._end_text()
            self._end_compaction(None)
            self._compaction = CompactionEntry(event)
            self.document.append(self._compaction)
            self._work()
        else:
            if self._compaction is None:
                # Nothing had to be generated, so that it took no time.
                self._idle()
                self._end_text()
                self._compaction = CompactionEntry(Compacting(event.before, 0))
                self.document.append(self._compaction)
            self._end_compaction(event)

    def _end_compaction(self, result: Compacted | None) -> None:
        if self._compaction is not None:
            self._compaction.finish(result)
            self._compaction = None

    def apply(self, event: AgentEvent) -> None:
        """Apply an event."""
        match event:
            case Attached() | Steered():
                self._asked_about(event)
            case TurnStarted(total, cached, number):
                self.turns.number(number)
                self._figures, self._remote = TurnFigures(), cached is None
                self._work(None if cached is None else Prefill(cached, total, cached, 0.0))
            case Prefill() | Choosing():
                self._work(event)
            case ReasoningDelta() | TextDelta() | Rate():
                self._text(event)
            case ToolStarted() | ToolProgress() | ToolFinished() | TodoChanged():
                self._step(event)
            case PermissionAsked() | PermissionAnswered() | ChangeMade():
                self._steps.permission(event)
            case Compacting() | Compacted():
                self._compact(event)
            case CallRejected() | AnswerCorrected() | AnsweredFromIndex() | DrafterFailed() | Notice():
                self._remark(event)
            case StepFinished() | TurnFinished():
                self._finish(event)

    def replay(self, events: Iterable[Asked | AgentEvent]) -> None:
        """Show turns again that have ended."""
        self._again = True
        for event in events:
            if isinstance(event, Asked):
                self.turns.end()
                self.add_question(event.message)
            else:
                self.apply(event)
        self.settle()
        self.turns.end()
        self._again = False

    def _work(self, progress: Prefill | Choosing | None = None) -> None:
        """Show a progress entry until there is text."""
        if self._working is None:
            self._end_text()
            self._working = ProgressEntry()
            self.document.append(self._working)
        self._working.update(progress)

    def _remark(self, event: CallRejected | AnswerCorrected | AnsweredFromIndex | DrafterFailed | Notice) -> None:
        """Show an error of the model or a drafter, or what the user should know."""
        if isinstance(event, DrafterFailed):
            # Shown at the end, so that it does not split the answer.
            self._failed.append(f"{event.sentence} {_REOPEN}")
        elif isinstance(event, AnswerCorrected | AnsweredFromIndex):
            self.add_notice(event.sentence)
        elif isinstance(event, Notice):
            self.add_notice(event.text)
        else:
            self.add_notice(f"The model wrote an invalid tool call: {event.problem}", "warning")
            self._work()

    def _asked_about(self, event: Attached | Steered) -> None:
        """Show what the user said meanwhile, or under a question what was attached to it."""
        self._idle()
        if isinstance(event, Steered):
            self._end_text()
            self.document.append(QuestionEntry(event.message))
            self._work()
            return
        if event.titles:
            self.document.append(NoticeEntry(f"with {', '.join(event.titles)}", gap=False))
        for note in event.notes:
            self.document.append(NoticeEntry(note, "warning", gap=False))
        self._work()

    def _idle(self) -> None:
        if self._working is not None:
            self.document.remove(self._working)
            self._working = None

    def _text(self, event: ReasoningDelta | TextDelta | Rate) -> None:
        match event:
            case ReasoningDelta(text, source):
                self._reason(text, source)
            case TextDelta(text, source):
                self._answer(text, source)
            case Rate(in_call=True) if self._stream is None:
                # A call is shown once it is complete; thinking is over.
                self._work()

    def _reason(self, text: str, source: Source) -> None:
        if self._thought is None:
            if not text.strip():
                return
            self._idle()
            self._end_text()
            hint = "" if self._remote or self._again else ANSWER_NOW
            self._thought, self._thought_at = ThinkingEntry(self.tint, hint), self._clock()
            self.document.append(self._thought)
        self._thought.extend(text, source)

    def _answer(self, text: str, source: Source) -> None:
        if self._stream is None:
            text = text.lstrip("\n")
            if not text.strip():
                return
            self._idle()
            self._end_text()
            self._stream = AnswerStream(self.document, self._convert, self.tint)
        self._stream.feed(text, source)

    def _end_text(self) -> None:
        if self._thought is not None:
            self._thought.finish(None if self._again else self._clock() - self._thought_at)
            self._thought = None
        if self._stream is not None:
            self._stream.finish()
            self._stream = None

    def _step(self, event: ToolStarted | ToolProgress | ToolFinished | TodoChanged) -> None:
        """Show what a tool does; after it, something else is going on."""
        match event:
            case ToolStarted():
                self._idle()
                self._end_text()
                self._steps.start(event)
            case ToolProgress():
                self._steps.progress(event)
            case TodoChanged():
                self._steps.show_todo(event)
            case ToolFinished():
                self._steps.finish(event)
                self._work()

    def _finish(self, event: StepFinished | TurnFinished) -> None:
        """Note the figures of a generation, or end the turn."""
        if isinstance(event, StepFinished):
            self._figures.steps.append(event)
            return
        self.settle()
        sentence = event.sentence or (_STOPPED if event.end is TurnEnd.CANCELLED else "")
        for failure in self._failed:
            self.add_notice(failure, "warning")
        self._failed.clear()
        if sentence:
            self.add_notice(
                " ".join(filter(None, (sentence, _ADVICE.get(event.end)))), _KINDS.get(event.end, "warning")
            )
        if lines := self._figures.lines():
            self.document.append(FiguresEntry(lines))
        self._figures = TurnFigures()
