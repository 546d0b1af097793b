"""A session that answers with given events, for what the screen shows to the letter, and helpers that make them.

Most tests talk to a scripted model through the real session (the fixture `chat`). This one is for pictures, whose
figures must not depend on the machine, and for events that no model produces on demand.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

from laguna_engine.config import Speculation
from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import FileDrafter, SuffixDrafter
from laguna_engine.events import LoadProgress, Prefill, Round, Stats
from laguna_tui.agent.changes import Changes
from laguna_tui.agent.permission_gate import with_warnings
from laguna_tui.agent.tool_run import ToolError, ToolRun
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import (
    AgentEvent,
    DraftRound,
    PermissionAnswered,
    PermissionAsked,
    Rate,
    ReasoningDelta,
    ReplayCheck,
    ReplayProgress,
    StepFinished,
    TextDelta,
    ToolEvent,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.permission_request import CommandProposal, Decision, PermissionAnswer, PermissionRequest
from laguna_tui.base.settings import Settings
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.session.session import Chat, Models, Session
from laguna_tui.session.values import ModelChoice, OtherModels, SessionInfo

IDENTICAL = ReplayCheck(412, 412, None, 3.2)
Step = AgentEvent | Exception | threading.Event | ChangeProposal | PermissionRequest


class PlayedChat(Chat):
    """Answers with the events of scripts.

    Attributes:
        asked: the messages.
        cancelled: the turn is to end.
        chats: how many were begun.
        answers: the user's answers to the requests.
        proof: returned, or raised, by `check_replay`, which shows its progress until `proof_gate`.
        replays: how many of these were begun.
        ended: the last edit was made, or not.
    """

    def __init__(self, session: Session, scripts: Sequence[Sequence[Step]], delay: float) -> None:
        super().__init__(session)
        self.asked: list[str] = []
        self.cancelled, self.ended = threading.Event(), threading.Event()
        self.chats = 1
        self.answers: list[PermissionAnswer] = []
        self.proof: ReplayCheck | Exception = IDENTICAL
        self.proof_gate: threading.Event | None = None
        self.replays = 0
        self._scripts, self._delay, self._changes = scripts, delay, Changes()

    def ask(self, message: str) -> Iterator[AgentEvent]:
        self.asked.append(message)
        return self.play(self._scripts[min(len(self.asked), len(self._scripts)) - 1])

    def cancel(self) -> None:
        self.cancelled.set()

    def new_chat(self) -> None:
        self.chats += 1

    def check_replay(self, progress: Callable[[ReplayProgress], None]) -> ReplayCheck:
        self.cancelled.clear()
        self.replays += 1
        if isinstance(self.proof, Exception):
            raise self.proof
        total = self.proof.total
        for done in range(0, total, max(1, total // 8)):
            progress(ReplayProgress(done, total))
            while self.proof_gate is not None and not self.proof_gate.wait(0.01) and not self.cancelled.is_set():
                pass
            if self.cancelled.wait(self._delay * 4):
                return ReplayCheck(done, total, None, 0.1)
        return self.proof

    def play(self, script: Sequence[Step]) -> Iterator[AgentEvent]:
        """The events of a script, until it is cancelled."""
        self.cancelled.clear()
        return self._played(script)

    def _played(self, script: Sequence[Step]) -> Iterator[AgentEvent]:
        for step in script:
            if isinstance(step, threading.Event):
                while not step.wait(0.01) and not self.cancelled.is_set():
                    pass
            elif self.cancelled.wait(self._delay) if self._delay else self.cancelled.is_set():
                pass
            elif isinstance(step, Exception):
                raise step
            elif isinstance(step, ChangeProposal):
                yield from self._change(step)
            elif isinstance(step, PermissionRequest):
                yield from self._call(step)
            else:
                yield step
            if self.cancelled.is_set():
                yield TurnFinished(TurnEnd.CANCELLED)
                return

    def _call(self, request: PermissionRequest) -> Iterator[AgentEvent]:
        proposal = request.proposal
        command = {"cmd": proposal.command} if isinstance(proposal, CommandProposal) else {}
        yield ToolStarted(71, request.tool, dict(command))
        question, gate = with_warnings(request), self._session.permissions.opened()
        yield PermissionAsked(71, question)
        assert gate.approver is not None
        self.answers.append(gate.approver(question, self.cancelled.is_set))
        yield PermissionAnswered(71, self.answers[-1], "user")
        yield ToolFinished(71, request.tool, "It ran.", self.answers[-1].allowed, 0.02)

    def _change(self, proposal: ChangeProposal) -> Iterator[AgentEvent]:
        yield ToolStarted(70, "edit", {"path": proposal.path})
        told: list[ToolEvent] = []
        gate, answer = self._session.permissions.opened(), PermissionAnswer(Decision.YES)
        try:
            question = gate.question(PermissionRequest("edit", proposal, approval_reason=proposal.approval_reason))
            if question is not None:
                yield PermissionAsked(70, question)
                assert gate.approver is not None
                answer = gate.approver(question, self.cancelled.is_set)
                yield PermissionAnswered(70, answer, "user")
                gate.take(question, answer)
            run = ToolRun(Workspace(proposal.root), 70, told.append, lambda request: answer, self.cancelled.is_set)
            self._changes.make(run, "edit", proposal)
            yield from told
            finished = ToolFinished(70, "edit", f"Changed `{proposal.path}`.", True, 0.02)
        except ToolError as error:
            finished = ToolFinished(70, "edit", f"error: {error}", False, 0.02, shown=error.shown)
        self.ended.set()
        yield finished


class PlayedModels(Models):
    """Models to choose from that a test gives.

    Attributes:
        listed: those of the catalogue.
        found: those of other programs.
        looked: how often other programs were asked.
        switched: the names that were chosen.
        error: raised by `switch` and `speculate`.
    """

    def __init__(self, session: "PlayedSession", listed: Sequence[ModelChoice]) -> None:
        super().__init__(session)
        self.listed = listed
        self.found = OtherModels(searched=("Ollama (port 11434)", "/home/user/.ollama/models"))
        self.looked = 0
        self.switched: list[str] = []
        self.error: Exception | None = None

    def choices(self) -> tuple[ModelChoice, ...]:
        return tuple(self.listed)

    def others(self) -> OtherModels:
        self.looked += 1
        return self.found

    def switch(self, wanted: str, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        progress(LoadProgress("loading the weights", 0.5))
        if self.error is not None:
            raise self.error
        self.switched.append(wanted)
        self._session.title = next((choice.title for choice in self.listed if choice.name == wanted), wanted)
        self.listed = [replace(choice, current=choice.name == wanted) for choice in self.listed]
        return self._session.about

    def speculate(self, mode: Speculation, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        if self.error is not None:
            raise self.error
        self._session.about = replace(self._session.about, mode=mode)
        return self._session.about


class PlayedSession(Session):
    """A session without an engine.

    Attributes:
        about: what opening it returns.
        title: the model's name.
    """

    chat: PlayedChat
    models: PlayedModels
    title = ""

    def __init__(
        self,
        *scripts: Sequence[Step],
        title: str = "Scripted",
        folder: Path = Path("/project"),
        opening: Exception | threading.Event | None = None,
        delay: float = 0.0,
        models: Sequence[ModelChoice] = (),
        chat: type[PlayedChat] = PlayedChat,
        **about: Any,
    ) -> None:
        """Play a script for each message, the last one again and again.

        Args:
            scripts: events to yield. An exception is raised at its place; a `threading.Event` is waited for, so that a
                test can look at the screen in the middle of an answer; a proposal is an edit that the model wants to
                make, which is really made; a request is a call that asks for permission.
            title: the model's name.
            folder: the folder that the chat is about.
            opening: raised, or waited for, while it opens.
            delay: seconds before each event.
            models: those to choose from.
            chat: what plays the scripts.
            about: what opening it returns, as of `SessionInfo`.
        """
        super().__init__(Settings(model="nano"), folder)
        self.title = title
        self.about = SessionInfo(**{"context_size": 8192, **about})
        self.chat = chat(self, scripts or (answer("Hello."),), delay)
        self.models = PlayedModels(self, models)
        self._opening, self._delay = opening, delay

    def open(self, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        for percent in (0, 50, 100):
            progress(LoadProgress("loading the weights", percent / 100))
            threading.Event().wait(self._delay * 20)
        if isinstance(self._opening, Exception):
            raise self._opening
        if self._opening is not None:
            self._opening.wait(20)
        return self.about


STATS = Stats(prompt_tokens=1200, cached_tokens=700, prefill_s=1.0, generated_tokens=81, decode_s=2.0)


def deltas(text: str, size: int = 4) -> list[AgentEvent]:
    """The text as a model streams it, a few characters at a time."""
    return [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]


def answer(
    text: str, *, before: Iterable[Step] = (), end: TurnEnd = TurnEnd.ANSWERED, draft: bool = False
) -> list[Step]:
    """A whole turn that answers with this Markdown; with `draft`, by speculative decoding."""
    return [
        TurnStarted(1200, 700),
        Prefill(1200, 1200, 700, 1.0),
        *before,
        *(drafted(text) if draft else deltas(text)),
        Rate(81, 40.0, 1281),
        StepFinished(STATS, 1281, 8192),
        TurnFinished(end),
    ]


def thinking(text: str) -> list[AgentEvent]:
    """The model thinks before it does something."""
    return [ReasoningDelta(text[at : at + 6]) for at in range(0, len(text), 6)]


def call(call_id: int, name: str, output: str, *, ok: bool = True, **arguments: object) -> list[AgentEvent]:
    """A tool call with its result."""
    return [
        ToolStarted(call_id, name, dict(arguments)),
        ToolFinished(call_id, name, output, ok, 0.012),
    ]


SCHEDULE = (
    (DFlash.source, 4, 4),
    (DFlash.source, 5, 3),
    (DFlash.source, 6, 1),
    (None, 0, 0),
    (SuffixDrafter.source, 8, 8),
    (DFlash.source, 4, 2),
    (FileDrafter.source, 7, 5),
    (DFlash.source, 3, 0),
    (DFlash.source, 3, 3),
    (DFlash.source, 5, 5),
)
REASONS = {
    DFlash.source: "dflash, {} tokens: 1.6x expected",
    SuffixDrafter.source: "copying {} tokens: 2.9x expected",
    FileDrafter.source: "copying {} from a file: 2.2x expected",
    None: "measuring plain speed",
}
_WORD = re.compile(r"\s*\S{1,6}")


def drafted(text: str, rejected: str = "something else entirely") -> list[AgentEvent]:
    """The text as it comes with speculative decoding: rounds by a fixed schedule, and who proposed what."""
    events: list[AgentEvent] = []
    words = [*_WORD.findall(text), text[len(text.rstrip()) :]]
    at = 0
    for drafter, count, accepted in cycle(SCHEDULE):
        if at >= len(words):
            return events
        stood, instead = "".join(words[at : at + accepted]), "".join(words[at + accepted : at + accepted + 1])
        at += accepted + 1
        wrong = " ".join(rejected.split()[: count - accepted])
        spun = Round(drafter, count, accepted, 0.001, 0.012, 0.0002, 0.0134, wrong, REASONS[drafter].format(count))
        events += [TextDelta(stood, drafter)] * bool(stood and drafter) + [TextDelta(instead)] * bool(instead)
        events.append(DraftRound(spun, stood, instead))
    return events
