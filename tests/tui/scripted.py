"""A scripted chat session: it stands in for the engine and the agent, so that the screen can be tested to the letter.

Not a model. Every message is answered with the events of a script; `delay` seconds pass before each of them.
"""

import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import NoReturn, Self

from laguna_engine.config import Speculation
from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import FileDrafter, SuffixDrafter
from laguna_engine.events import LoadProgress, Prefill, Round, Stats
from laguna_tui.agent.changes import Changes
from laguna_tui.agent.permission_gate import PermissionGate, with_warnings
from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.agent.tool_run import ToolError, ToolRun
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import (
    AgentEvent,
    Asked,
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
from laguna_tui.base.messages import Place
from laguna_tui.base.permission_request import (
    Approver,
    CommandProposal,
    Decision,
    Mode,
    PermissionAnswer,
    PermissionRequest,
)
from laguna_tui.context.blocks import BlockText, Completion, ContextBlock, Cost
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError
from laguna_tui.sandbox.background import BackgroundCommand
from laguna_tui.session.commands import Commands
from laguna_tui.session.commits import Commits
from laguna_tui.session.history import History
from laguna_tui.session.recorder import Recorder
from laguna_tui.session.values import (
    FolderGoneError,
    ModelChoice,
    NotKept,
    OtherFolderError,
    Resumed,
    SessionInfo,
)
from laguna_tui.store.session_summary import SessionSummary

Step = AgentEvent | Exception | threading.Event | ChangeProposal | PermissionRequest


IDENTICAL = ReplayCheck(412, 412, None, 3.2)


class ScriptedSession:
    """A `ChatSession` that plays scripts: one per message, the last one again and again.

    An exception in a script is raised at its place; a `threading.Event` is waited for, so that a test can look at
    the screen in the middle of an answer; a proposal is an edit that the model wants to make, which is really made; a
    request is a call that asks for permission.
    `prefetch_gate` waits in a prefetch; what there is of the context, and what it costs, is said by the functions and
    values that are given. The session plays all its parts itself.
    """

    def __init__(
        self,
        *scripts: Sequence[Step],
        title: str = "Scripted",
        folder: Path = Path("/project"),
        opening: Exception | threading.Event | None = None,
        delay: float = 0.0,
        warnings: tuple[str, ...] = (),
        context_size: int = 8192,
        details: str = "",
        broken: bool = False,
        mode: Speculation | None = None,
        mode_error: Exception | None = None,
        drafter: str = "",
        proof: ReplayCheck | Exception = IDENTICAL,
        proof_gate: threading.Event | None = None,
        plan: tuple[str, ...] = (),
        models: tuple[ModelChoice, ...] = (),
        switch_error: Exception | None = None,
        costs: Callable[[str], Cost | None] = lambda message: None,
        names: Callable[[str, int], Sequence[Completion]] = lambda text, cursor: (),
        blocks: Sequence[ContextBlock] = (),
        texts: Mapping[int, BlockText] | None = None,
        change_costs: Callable[[Mapping[int, Place]], Cost | None] = lambda places: None,
        change_error: Exception | None = None,
        prefetch_gate: threading.Event | None = None,
        sessions: "ScriptedSessions | None" = None,
    ) -> None:
        self.made, self.gate = Changes(), PermissionGate(Permissions(Path(os.path.realpath(folder))))
        self.answers: list[PermissionAnswer] = []
        self.ended = threading.Event()
        self.title = title
        self.path = folder
        self.asked: list[str] = []
        self.cancelled, self.skipped = threading.Event(), threading.Event()
        self.closed = False
        self.chats = 1
        self.trusted: str | Exception = "/project is trusted."
        self._scripts = scripts or (answer("Hello."),)
        self._opening = opening
        self._delay = delay
        self._broken = broken
        self.replays = 0
        self.proof_gate = proof_gate
        self._proof = proof
        self._mode_error = mode_error
        self.listed = models
        self.switch_error = switch_error
        self.switched: list[str] = []
        self.others_found: Sequence[ModelChoice] = ()
        self.looked = 0
        self.cost, self.complete, self.change_cost = costs, names, change_costs
        self.context = tuple(blocks)
        self.texts = texts or {}
        self.change_error = change_error
        self.prefetch_gate = prefetch_gate
        self.prefetched: list[str] = []
        self.prefetched_whole: list[str] = []
        self.commands = ScriptedCommands(folder)
        self.sessions = sessions or ScriptedSessions()
        self.end_reason = ""
        self.compaction: Sequence[Step] = ()
        self.guidance: list[str] = []
        self.info = SessionInfo(context_size, details, warnings, mode, drafter, plan)

    @property
    def chat(self) -> Self:
        return self

    prompt = models = permissions = folder = chat

    def open(self, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        for percent in (0, 50, 100):
            progress(LoadProgress("loading the weights", percent / 100))
            threading.Event().wait(self._delay * 20)
        if isinstance(self._opening, Exception):
            raise self._opening
        if self._opening is not None:
            self._opening.wait(20)
        if self._broken:
            raise RuntimeError("out of luck")
        return self.info

    def ask(self, message: str) -> Iterator[AgentEvent]:
        self.cancelled.clear()
        self.asked.append(message)
        self.sessions.keep(message, self.path)
        return self._play(self._scripts[min(len(self.asked), len(self._scripts)) - 1])

    def compact(self, guidance: str = "") -> Iterator[AgentEvent]:
        self.cancelled.clear()
        self.guidance.append(guidance)
        return self._play(self.compaction)

    def _play(self, script: Sequence[Step]) -> Iterator[AgentEvent]:
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
        question = with_warnings(request)
        yield PermissionAsked(71, question)
        assert self.gate.approver is not None
        self.answers.append(self.gate.approver(question, self.cancelled.is_set))
        yield PermissionAnswered(71, self.answers[-1], "user")
        yield ToolFinished(71, request.tool, "It ran.", self.answers[-1].allowed, 0.02)

    def _change(self, proposal: ChangeProposal) -> Iterator[AgentEvent]:
        yield ToolStarted(70, "edit", {"path": proposal.path})
        told: list[ToolEvent] = []
        answer = PermissionAnswer(Decision.YES)
        try:
            request = PermissionRequest("edit", proposal, always_asks=proposal.asks_because)
            question = self.gate.question(request)
            if question is not None:
                yield PermissionAsked(70, question)
                assert self.gate.approver is not None
                answer = self.gate.approver(question, self.cancelled.is_set)
                yield PermissionAnswered(70, answer, "user")
                self.gate.take(question, answer)
            workspace = Workspace(proposal.root)
            run = ToolRun(workspace, 70, told.append, lambda request: answer, self.cancelled.is_set)
            self.made.make(run, "edit", proposal)
            yield from told
            output, ok = f"Changed `{proposal.path}`.", True
        except (ToolError, WorkspaceError) as error:
            output, ok = f"error: {error}", False
        self.ended.set()
        yield ToolFinished(70, "edit", output, ok, 0.02)

    def skip_scoring(self) -> None:
        self.skipped.set()

    def steer(self, message: str) -> bool:
        return False

    def left(self) -> tuple[()]:
        return ()

    def cancel(self) -> None:
        self.cancelled.set()

    def new_chat(self) -> None:
        self.chats += 1
        self.sessions.opened = ""

    def trust(self) -> str:
        if isinstance(self.trusted, Exception):
            raise self.trusted
        return self.trusted

    def use_check(self, command: str) -> str:
        return f"{command or 'make test'} checks this project."

    def mcp(self) -> str:
        return "No MCP server is named."

    def index(self) -> str:
        return f"{self.path} is read."

    def speculate(self, mode: Speculation, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        if self._mode_error is not None:
            raise self._mode_error
        self.info = replace(self.info, mode=mode)
        return self.info

    def choices(self) -> tuple[ModelChoice, ...]:
        return self.listed

    def others(self) -> Sequence[ModelChoice]:
        self.looked += 1
        return self.others_found

    def switch(self, wanted: str, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        progress(LoadProgress("loading the weights", 0.5))
        if self.switch_error is not None:
            raise self.switch_error
        self.switched.append(wanted)
        self.title = next((choice.title for choice in self.listed if choice.name == wanted), wanted)
        self.listed = tuple(replace(choice, current=choice.name == wanted) for choice in self.listed)
        return self.info

    def check_replay(self, progress: Callable[[ReplayProgress], None]) -> ReplayCheck:
        self.replays += 1
        if isinstance(self._proof, Exception):
            raise self._proof
        total = self._proof.total
        for done in range(0, total, max(1, total // 8)):
            progress(ReplayProgress(done, total))
            if self.proof_gate is not None:
                while not self.proof_gate.wait(0.01) and not self.cancelled.is_set():
                    pass
            if self.cancelled.wait(self._delay * 4):
                return ReplayCheck(done, total, None, 0.1)
        return self._proof

    def prefetch(self, message: str) -> None:
        self.cancelled.clear()
        self.prefetched.append(message)
        while self.prefetch_gate is not None and not self.prefetch_gate.wait(0.01):
            if self.cancelled.is_set():
                return
        self.prefetched_whole.append(message)

    def blocks(self) -> Sequence[ContextBlock]:
        return self.context

    def block_text(self, number: int) -> BlockText:
        return self.texts[number]

    def change(self, places: Mapping[int, Place]) -> None:
        if self.change_error is not None:
            raise self.change_error
        self.context = tuple(
            replace(block, place=places[block.number], why="you wanted it so", cached=0)
            if block.number in places
            else block
            for block in self.context
        )

    @property
    def mode(self) -> Mode:
        return self.gate.permissions.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self.gate.permissions.mode = mode

    def use_approver(self, approver: Approver) -> None:
        self.gate.approver = approver

    @property
    def history(self) -> History:
        return History(self.path, None, self._no_agent, Recorder(None, list, None), None)

    @property
    def commits(self) -> Commits:
        return Commits(self.path, self._no_agent, self.commands.runner)

    def _no_agent(self) -> NoReturn:
        raise UserError("There is no agent.")

    def close(self, reason: str = "") -> None:
        self.commands.close()
        self.closed, self.end_reason = True, reason


class ScriptedSessions:
    """Kept sessions that a test gives; nothing is on disk.

    `gate` waits in a resume; `events` are the turns that each continues with; the folders of `homeless` are gone.
    """

    def __init__(self, *listed: SessionSummary, keeps: bool = False) -> None:
        """keeps: whether a message begins a session."""
        self.listed = list(listed)
        self.keeps = keeps
        self.opened = ""
        self.failing = NotKept()
        self.events: dict[str, Sequence[Asked | AgentEvent]] = {}
        self.contents: dict[str, str] = {}
        self.notices: tuple[str, ...] = ()
        self.left_out = self.restored = 0
        self.resumed: list[str] = []
        self.homeless: set[str] = set()
        self.moved: dict[str, Path] = {}
        self.resume_error: Exception | None = None
        self.gate: threading.Event | None = None

    def keep(self, message: str, folder: Path) -> None:
        if self.keeps and not self.opened:
            self.opened = f"kept-{len(self.listed)}"
            self.listed.insert(0, SessionSummary(self.opened, message, folder, "Scripted", 0.0, 0.0, 1, 1000, True))

    @property
    def current(self) -> SessionSummary | None:
        return next((session for session in self.listed if session.id == self.opened), None)

    @property
    def open_id(self) -> str:
        return self.opened

    def list(self, *, everywhere: bool = False) -> Sequence[SessionSummary]:
        return [session for session in self.listed if everywhere or session.here]

    def search(self, words: str, *, everywhere: bool = False) -> Sequence[SessionSummary]:
        return [
            replace(session, snippet=self.contents[session.id])
            for session in self.list(everywhere=everywhere)
            if words.casefold() in self.contents.get(session.id, "").casefold()
        ]

    def rename(self, session: str, title: str) -> None:
        self.listed = [replace(each, title=title) if each.id == session else each for each in self.listed]

    def move(self, session: str, folder: Path) -> None:
        self.homeless.remove(session)
        self.moved[session] = folder

    def delete(self, sessions: Collection[str]) -> int:
        gone = [each for each in self.listed if each.id in sessions]
        self.listed = [each for each in self.listed if each.id not in sessions]
        return sum(each.size for each in gone)

    def export(self, session: str, form: str) -> str:
        return f"# {next(each.title for each in self.listed if each.id == session)} as {form}\n"

    def fork(self, session: str = "", title: str = "") -> SessionSummary:
        of = next(each for each in self.listed if each.id == (session or self.opened))
        copy = replace(of, id=f"{of.id}-copy", title=title or of.title, locked=False)
        self.listed.insert(0, copy)
        self.events[copy.id] = self.events.get(of.id, ())
        return copy

    def resume(self, session: str, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        progress(LoadProgress("session", 0.5))
        if self.gate is not None:
            self.gate.wait(20)
        if self.resume_error is not None:
            raise self.resume_error
        found = next((each for each in self.listed if session in (each.id, each.title)), None)
        if found is None:
            raise UserError(f"There is no session “{session}”. To see them: /resume")
        if found.id in self.homeless:
            raise FolderGoneError(found.folder, found.id)
        if not found.here:
            raise OtherFolderError(found.folder, found.id)
        self.opened = found.id
        self.resumed.append(found.id)
        events = tuple(self.events.get(found.id, ()))
        return SessionInfo(8192, resumed=Resumed(found, events, self.left_out, self.notices, self.restored, 0.2))


class ScriptedCommands(Commands):
    """The user's commands really run; the model's background commands are those that a test gives."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, lambda piece: "")
        self.jobs: list[BackgroundCommand] = []
        self.written: dict[int, str] = {}

    def background(self) -> Sequence[BackgroundCommand]:
        return tuple(self.jobs)

    def recent(self, number: int) -> str:
        return self.written.get(number, "")

    def stop(self, number: int) -> str:
        self.jobs = [replace(job, exit_code=130) if job.number == number else job for job in self.jobs]
        return f"Background command {number} is stopped."


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
