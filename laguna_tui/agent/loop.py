"""The agent: a user's message in, typed events out, until there is an answer or a reason why not.

A generator that any front end can iterate. The transcript only grows, so that what the engine has cached stays a prefix
of the next prompt; only the user may change what is in it, and the oldest turns leave it if a model reads only the
newest ones.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from laguna_tui.agent.conversation import Conversation, ConversationState
from laguna_tui.agent.options import AgentOptions, answer_reserve
from laguna_tui.agent.prompt import Environment, facts_now
from laguna_tui.agent.prompt_preview import PromptPreview
from laguna_tui.agent.steering import Steering
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.agent.turn import Turn
from laguna_tui.agent.turn_history import TurnHistory, no_journal
from laguna_tui.backends.base import Backend, Options
from laguna_tui.base.events import AgentEvent, Attached, Steered, TurnEnd, TurnFinished, TurnStarted
from laguna_tui.base.messages import Attachment, ChatMessage, Place
from laguna_tui.context.attach import Attacher
from laguna_tui.repo.files.workspace import WorkspaceError

if TYPE_CHECKING:
    from laguna_tui.agent.compaction import Compaction
    from laguna_tui.undo.undo_plan import UndoPlan, UndoResult

# After a compaction that freed nothing, the next attempt waits until the conversation has grown by this share.
_CROWDED_SHARE = 1 / 16


class Agent:
    """One conversation with a model about one folder.

    Attributes:
        conversation: The messages.
        history: Its turns, and how to undo them.
        options: How answers are generated; a change applies from the next generation on.
    """

    def __init__(
        self,
        backend: Backend,
        toolbox: Toolbox,
        options: AgentOptions | None = None,
        opening: Callable[[], str] | None = None,
        attacher: Attacher | None = None,
        history: TurnHistory | None = None,
    ) -> None:
        """Prepare a conversation; nothing is computed yet.

        Args:
            backend: What generates.
            toolbox: The tools of the model's profile, for the folder that is asked about.
            options: Sampling and limits.
            opening: What comes before the first question; None states what the model's profile wants.
            attacher: Attaches what a message mentions; None attaches nothing.
            history: Its turns, to undo them; None without undo.
        """
        self._toolbox = toolbox
        self.options = options or AgentOptions()
        self._attacher = attacher
        self._attached: list[Attachment] = []
        self.history = history or TurnHistory(no_journal)
        self._steering = Steering()
        self._turn_now: Turn | None = None
        # Without a lock, which could deadlock in a signal handler.
        self._cancelled = False
        # Tokens of the conversation when nothing more could be left out.
        self._crowded: int | None = None
        self.conversation = Conversation(
            backend,
            toolbox.profile,
            thinking=self.options.thinking,
            # The toolbox at the first question; the model may be another one by then.
            opening=opening or (lambda: opening_of(self._toolbox)),
            remind=toolbox.permissions.plan_reminder,
        )

    def new_chat(self) -> None:
        """Empty the conversation; the system prompt stays cached."""
        self.conversation = self.conversation.emptied()
        self.history.new_chat()
        self._toolbox.todo.replace("")
        self._attached.clear()

    def attach(self, attachment: Attachment) -> bool:
        """Attach something to the next message. Return False for a model that does not read attachments."""
        if self._toolbox.profile.attaches:
            self._attached.append(attachment)
        return self._toolbox.profile.attaches

    @property
    def attached(self) -> Sequence[Attachment]:
        """What is attached to the next message."""
        return self._attached

    @property
    def generated(self) -> Sequence[int] | None:
        """The tokens of the running answer; None if none runs. See `Answer.generated`."""
        return None if self._turn_now is None else self._turn_now.generated

    def resume(
        self,
        state: ConversationState,
        attached: Iterable[Attachment] = (),
        waiting: Iterable[str] = (),
        *,
        same_model: bool = True,
    ) -> None:
        """Resume a chat of an earlier process; not while a turn runs.

        Args:
            state: The conversation.
            attached: What is attached to the next message.
            waiting: Messages sent while the last turn ran that did not go in.
            same_model: Whether the chat was with this model; otherwise it is rendered for this one.
        """
        conversation = self.conversation.emptied()
        if same_model:
            conversation.resume(state)
        else:
            conversation.adopt(state)
        self.conversation = conversation
        self._attached, self._steering, self._crowded = list(attached), Steering(waiting), None

    def prompt_preview(self) -> PromptPreview:
        """Return what a message would attach and cost, and the prompt's blocks. Any thread.

        Its methods raise EngineError if the engine is gone.
        """
        attached = tuple(self._attached) if self._toolbox.profile.attaches else ()
        return PromptPreview(self.conversation, self._attacher, attached)

    def use_backend(self, backend: Backend, attacher: Attacher | None = None) -> None:
        """Use a fresh backend of the same model; the conversation stays and is cached again."""
        self._attacher = attacher
        self.conversation.use_backend(backend)

    def use_model(
        self, backend: Backend, options: AgentOptions, toolbox: Toolbox, attacher: Attacher | None = None
    ) -> None:
        """Use another model and its tools; it reads the conversation in its own format."""
        self.conversation = self.conversation.for_model(backend, toolbox.profile, thinking=options.thinking)
        self.options = replace(options, schema=self.options.schema)
        self._toolbox, self._attacher = toolbox, attacher

    def cancel(self) -> None:
        """End the running turn soon. Any thread, at any time; harmless when none runs."""
        self._cancelled = True
        self.conversation.backend.cancel()

    def answer_now(self) -> bool:
        """End the model's thinking, so that it answers; return whether there was any to end. Any thread."""
        turn = self._turn_now
        return turn is not None and turn.answer_now()

    def steer(self, message: str, record: Callable[[], None] = lambda: None) -> bool:
        """Send a message into the running turn: it goes in once the calls of a step are answered, or the model ends.

        Nothing is interrupted for it. Any thread.

        Args:
            message: What the user says.
            record: Records that it is accepted, before it goes in.

        Returns:
            Whether it is accepted: a turn runs, of a model that may be steered. `unsent` returns what did not go in.
        """
        return self._steering.put(message, record)

    def unsent(self) -> tuple[str, ...]:
        """Return messages sent during the last turn that did not go in, as it was stopped or too long; each once."""
        return self._steering.unsent()

    def run(self, message: str) -> Iterator[AgentEvent]:
        """Answer a message while iterated over. The last event is `TurnFinished`.

        Raises:
            EngineError: While iterating, when the engine fails. The conversation stays whole.
        """
        # Not in the generator: a cancel between this call and the first event counts.
        self._cancelled = False
        return self._turn(message)

    def prefetch(self, message: str) -> None:
        """Prefill what is certain of a message being typed; `cancel` ends it early and loses nothing.

        Raises:
            EngineError: The engine fails.
        """
        self._cancelled = False
        backend, options = self.conversation.backend, Options(drafting=self.options.drafting)
        for _ in backend.prefetch(self.prompt_preview().prefetchable(message), options):
            if self._cancelled:
                backend.cancel()
        self.note_computed()

    def _turn(self, message: str) -> Iterator[AgentEvent]:
        conversation = self.conversation
        yield from self._make_room(message)
        gathered = yield from self.prompt_preview().gathered(message, lambda: self._cancelled)
        if self._cancelled:
            # Nothing was added; what was gathered may be incomplete.
            yield TurnFinished(TurnEnd.CANCELLED)
            return
        notes = conversation.take_new_notes(gathered.notes)
        if gathered.attachments or notes:
            yield Attached(tuple(map(_titled, gathered.attachments)), notes)
        said = conversation.message(message, gathered.attachments)
        cost = conversation.cost(said)
        if not cost.fits and self._forgets_for(said):
            # In a chat that is forgotten turn by turn, only the message itself can be too long.
            conversation.forget(0)
            said = conversation.message(message, gathered.attachments)
            cost = conversation.cost(said)
        yield TurnStarted(cost.total, cost.cached, self.history.next_number if cost.fits else 0)
        if not cost.fits:
            # Nothing is added, so that a shorter message can still be sent.
            yield self._refused(said)
            return
        self.history.begin(message, conversation, lambda: conversation.add_message(said))
        self._attached.clear()
        make_room = self._make_room if conversation.profile.turns is None else None
        steer = self._steer if make_room else None
        if steer:
            self._steering.begin()
        turn = Turn(self._toolbox, conversation, self.options, lambda: self._cancelled, make_room, steer)
        self._turn_now = turn
        try:
            yield from turn.run()
        finally:
            self._turn_now = None
            self._steering.end()
            conversation.forget_old_turns()
            self.history.end(conversation)
        self.note_computed()

    def apply_undo(self, plan: "UndoPlan", overwrite: Collection[str] = ()) -> "UndoResult":
        """Undo or redo files and conversation together; not while a turn runs.

        Args:
            plan: Of the history's present state.
            overwrite: Conflicting paths that the user agreed to overwrite.

        Raises:
            UndoError, CheckpointError: Nothing was changed.
        """
        result = self.history.apply(plan, overwrite, self.conversation)
        self._crowded = None
        self.note_computed()
        return result

    def _steer(self, last: bool) -> Generator[AgentEvent, None, bool]:
        """Add the messages that arrived meanwhile; return whether one fitted."""
        steered = False
        while not self._cancelled and (message := self._steering.next(last=last and not steered)):
            yield from self._make_room(message)
            preview = self.prompt_preview()
            gathered = yield from preview.gathered(message, lambda: self._cancelled)
            said = self.conversation.message(message, gathered.attachments)
            if self._cancelled or not self.conversation.cost(said).fits:
                break
            self.conversation.add_message(said)
            del self._attached[: len(preview.attached)]
            self._steering.took()
            steered = True
            yield Steered(message)
            if gathered.attachments or gathered.notes:
                yield Attached(tuple(map(_titled, gathered.attachments)), tuple(gathered.notes))
        return steered

    def commit_message(self, material: str, limit: int) -> str:
        """Return a commit message that the model writes outside the conversation; not while a turn runs.

        Args:
            material: What is committed, and how; truncated if it does not fit.
            limit: Token limit of the message.

        Returns:
            The message; empty if there is no room for one. `cancel` ends it early.

        Raises:
            EngineError: The engine fails.
        """
        from laguna_tui.agent.aside import commit_message

        self._cancelled = False
        message = commit_message(self.conversation, self.options, material, limit, lambda: self._cancelled)
        self.note_computed()
        return message

    def side_answer(self, question: str) -> Iterator[AgentEvent]:
        """Answer a question outside the conversation, with what is in it; not while a turn runs.

        Raises:
            EngineError, UserError: While iterating; a sentence for the user.
        """
        from laguna_tui.agent.aside import side_answer

        self._cancelled = False
        yield from side_answer(self.conversation, self.options, question, lambda: self._cancelled)
        self.note_computed()

    def compact(self, guidance: str = "") -> Iterator[AgentEvent]:
        """Make room in the conversation now; not while a turn runs.

        Args:
            guidance: What the summary must keep; if empty, old results are shortened first.

        Raises:
            EngineError: While iterating, when the engine fails. The conversation stays whole.
        """
        self._cancelled = False
        yield from self._compaction().run(guidance, asked=True)
        self.note_computed()

    def _make_room(self, message: str = "") -> Iterator[AgentEvent]:
        """Compact the conversation if a message would leave too little of the context free."""
        if self.conversation.profile.turns is not None or not self.conversation.started:
            return
        used, size = self.conversation.size, self.conversation.backend.n_ctx
        more = self.conversation.count(message) if message else 0
        if used + more + answer_reserve(size) <= size or more > size:
            return
        # Useless before the conversation has grown, if nothing could be left out.
        if self._crowded is None or not 0 <= used - self._crowded < size * _CROWDED_SHARE:
            enough = yield from self._compaction().run(more=more)
            self._crowded = None if enough else self.conversation.size

    def _compaction(self) -> "Compaction":
        from laguna_tui.agent.compaction import Compaction

        return Compaction(
            self.conversation, self.options, self._present_file, self._toolbox.todo.text, lambda: self._cancelled
        )

    def _present_file(self, path: str) -> Attachment | None:
        """Return a file of the folder as it is now; None if it cannot be read as text."""
        from laguna_tui.context.shortening import Shortening
        from laguna_tui.context.source_files import SourceFiles

        workspace = self._toolbox.workspace
        try:
            source = SourceFiles(workspace).read(workspace.locate(path))
        except WorkspaceError:
            return None
        return Shortening("", self.conversation.count).whole(source) if source.complete else None

    def _forgets_for(self, said: ChatMessage) -> bool:
        """Return whether the message fits once the chat is forgotten, and the model's chats may be."""
        conversation = self.conversation
        if conversation.profile.turns is None or not conversation.started:
            return False
        return conversation.backend.cost(conversation.alone(said)).fits

    def _refused(self, said: ChatMessage) -> TurnFinished:
        """Return the end of a turn whose message does not fit."""
        backend = self.conversation.backend
        alone, size = backend.cost(self.conversation.alone(said)).total, backend.n_ctx
        if alone < size:
            return TurnFinished(TurnEnd.CONTEXT_FULL)
        base = backend.cost(self.conversation.alone(replace(said, text="", attachments=(), places=()))).total
        if base > alone - base:
            sentence = f"{alone:,} of {size:,} tokens: the instructions and tools alone have {base:,}."
        else:
            sentence = f"{alone:,} of {size:,} tokens: this message alone is too long."
        return TurnFinished(TurnEnd.MESSAGE_TOO_LONG, sentence)

    def note_computed(self) -> None:
        """Record how much of the conversation is in the KV cache; EngineError if the engine is gone."""
        self.conversation.computed = self.conversation.cost().cached or 0


def opening_of(toolbox: Toolbox) -> str:
    """Return the text before a chat's first question: where the model works, in the detail that its profile wants."""
    workspace, runner = toolbox.workspace, toolbox.commands
    if not toolbox.profile.describes_environment:
        return facts_now(workspace.root)
    if runner is None:
        return Environment.now(workspace.root).text
    # Imported late: models without commands do not need it.
    from laguna_tui.agent.project_check import find_check

    check = find_check(workspace, toolbox.permissions.permissions.check)
    command = check.command if check else ""
    return Environment.now(workspace.root, shell=runner.shell, sandbox=runner.status.sentence, check=command).text


def _titled(attachment: Attachment) -> str:
    shortened = attachment.place is Place.SHORTENED
    return f"{attachment.title} (shortened)" if shortened else attachment.title
