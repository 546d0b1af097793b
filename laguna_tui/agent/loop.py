"""The agent: a user's message in, typed events out, until there is an answer or a reason why not.

A generator that any front end can iterate; it draws nothing and starts no thread. The transcript only ever grows, so
that what the engine has cached stays a prefix of what it is given next; only the user may change what stands in it, and
the oldest turns leave it where a model reads only the newest ones.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from laguna_engine.chat.encoding import Tokenizer
from laguna_engine.chat.transcript import Role
from laguna_engine.config import Drafting, Request
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.generation import TokenEngine
from laguna_tui.agent.messages import ChatMessage
from laguna_tui.agent.prompt import facts_now
from laguna_tui.agent.prompt_preview import LOOKS_UP, PromptPreview, forgets
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.agent.turn import AgentOptions, GenerationRecord, Turn, TurnParts
from laguna_tui.base.events import AgentEvent, Attached, TurnEnd, TurnFinished, TurnStarted
from laguna_tui.context.attach import Attacher
from laguna_tui.context.blocks import Attachment, BlockText, ContextBlock, Cost, Place
from laguna_tui.context.token_counter import CachedTokenCounter


class Agent:
    """One conversation with a model about one folder."""

    def __init__(
        self,
        engine: TokenEngine,
        vocabulary: Tokenizer,
        toolbox: Toolbox,
        options: AgentOptions | None = None,
        opening: Callable[[], str] | None = None,
        attacher: Attacher | None = None,
    ) -> None:
        """Prepare a conversation; nothing is computed yet.

        Args:
            engine: what continues the tokens.
            vocabulary: that of the engine's model.
            toolbox: the tools of the model's profile, for the folder that is asked about.
            options: sampling and limits.
            opening: what stands before the first question; None states folder, date and git's state.
            attacher: brings along what a message mentions; None attaches nothing.
        """
        self._engine = engine
        self._use_vocabulary(vocabulary)
        self._toolbox = toolbox
        self._options = options or AgentOptions()
        self._opening = opening or (lambda: facts_now(toolbox.workspace.root))
        self._opened: str | None = None
        self._told: frozenset[str] = frozenset()
        self._attacher = attacher
        self._read = 0
        # A plain value: a signal handler may set it in the middle of anything, where a lock could wait for itself.
        self._cancelled = False
        self._call_ids = count(1)
        self._last: GenerationRecord | None = None
        self.conversation = self._new_conversation()

    def new_chat(self) -> None:
        """Forget the conversation; the system prompt stays, and so does its place in the engine's cache."""
        self.conversation = self._new_conversation()
        self._last, self._opened, self._read = None, None, 0
        self._told = frozenset()
        # A new conversation knows of no edit.
        self._toolbox.forget_news()

    @property
    def last(self) -> GenerationRecord | None:
        """The newest generation of this conversation: what ended the last turn."""
        return self._last

    @property
    def drafting(self) -> Drafting:
        """How answers are sped up."""
        return self._options.drafting

    def use_drafting(self, drafting: Drafting) -> None:
        """How what is asked from now on is sped up; generations that run go on as they began."""
        self._options = replace(self._options, drafting=drafting)

    def use_engine(self, engine: TokenEngine, vocabulary: Tokenizer, attacher: Attacher | None = None) -> None:
        """Go on with a fresh engine of the same model; the conversation stays, its cache is made again."""
        self._engine, self._attacher = engine, attacher
        self._use_vocabulary(vocabulary)
        self.conversation.use_vocabulary(vocabulary)

    def said(self) -> tuple[ChatMessage, ...]:
        """The conversation for `use_model`; ask while the engine is still open."""
        return self.conversation.said()

    def use_model(
        self,
        engine: TokenEngine,
        vocabulary: Tokenizer,
        options: AgentOptions,
        said: Sequence[ChatMessage],
        toolbox: Toolbox,
        attacher: Attacher | None = None,
    ) -> None:
        """Go on with another model and its tools, which reads what was `said` in its own format; all or nothing.

        Raises:
            EngineError: the model cannot chat; everything is as it was.
        """
        conversation = Conversation(vocabulary, toolbox.profile, thinking=options.thinking)
        conversation.retell(said)
        for text in self.conversation.files.texts:
            conversation.files.add(text, vocabulary.tokenize(text, special=False))
        self._engine, self._options = engine, options
        self._use_vocabulary(vocabulary)
        self._toolbox, self._attacher = toolbox, attacher
        self.conversation, self._last, self._read = conversation, None, 0
        self._forget()

    def cancel(self) -> None:
        """End the running turn soon. Any thread, at any time; harmless when none runs."""
        self._cancelled = True
        self._engine.cancel()

    def run(self, message: str) -> Iterator[AgentEvent]:
        """Answer a message; iterate to make it go on. The last event is `TurnFinished`.

        Raises:
            EngineError: while iterating, when the engine fails. The conversation stays whole.
        """
        # Not in the generator: a cancel between this call and the first event counts.
        self._cancelled = False
        return self._turn(message)

    def cost(self, message: str) -> Cost:
        """What sending this message would cost now. Any thread; EngineError when the engine is gone."""
        return self._prompt_preview().cost(message)

    def blocks(self) -> list[ContextBlock]:
        """What the prompt consists of. Any thread; EngineError when the engine is gone."""
        return self._prompt_preview().blocks()

    def block_text(self, number: int) -> BlockText:
        """One block's text. Any thread; IndexError when there is no such block."""
        return self._prompt_preview().block_text(number)

    def change_cost(self, places: Mapping[int, Place]) -> Cost:
        """What the conversation would cost to read with these blocks in these places. Any thread."""
        return self._prompt_preview().change_cost(places)

    def change(self, places: Mapping[int, Place]) -> None:
        """Put these blocks into these places, from the next message on; not while a turn runs."""
        self.conversation.change(places)

    def ahead(self, message: str) -> None:
        """Compute what is certain of a message that is being typed; `cancel` ends it early, and nothing is lost.

        Raises:
            EngineError: the engine fails.
        """
        self._cancelled = False
        tokens = self._prompt_preview().ahead(message)
        if self._engine.preview(tokens).new <= 1:
            return
        for _ in self._engine.generate(Request(tokens, max_tokens=0, drafting=self._options.drafting)):
            if self._cancelled:
                self._engine.cancel()
        self._note_read()

    def _turn(self, message: str) -> Iterator[AgentEvent]:
        prompt_preview = self._prompt_preview()
        gathered = prompt_preview.gathered(message, lambda: self._cancelled)
        if self._cancelled:
            # Nothing was added, and nothing is told: what was gathered may not be all.
            yield TurnFinished(TurnEnd.CANCELLED)
            return
        notes = self._untold((*gathered.notes, *self._forgotten()))
        if gathered.attachments or notes:
            yield Attached(tuple(map(_titled, gathered.attachments)), notes)
        added = [*self._reminders(), prompt_preview.said(message, gathered.attachments)]
        preview = self._engine.preview(tokens := self.conversation.with_message(*added))
        if not preview.fits and self._forgets_for(added[-1]):
            # Of a chat that is forgotten turn by turn, none but the message itself is too long.
            self.conversation.forget(0)
            added = [prompt_preview.said(message, gathered.attachments)]
            preview = self._engine.preview(tokens := self.conversation.with_message(*added))
        yield TurnStarted(len(tokens), preview.cached)
        if not preview.fits:
            # Nothing is added, so that a shorter message can still be sent.
            yield self._refused(added[-1])
            return
        for said in added:
            self.conversation.add_message(said)
        self._toolbox.forget_news()
        try:
            yield from Turn(self._parts()).run()
        finally:
            self._forget()
        self._note_read()

    def _reminders(self) -> list[ChatMessage]:
        """What the model is told before the message; one that has heard nothing yet needs no reminder."""
        news = self._toolbox.news if self.conversation.started else ()
        return [ChatMessage(Role.USER, "reminder", each) for each in news]

    def _forgets_for(self, said: ChatMessage) -> bool:
        """Whether the chat is one that may be forgotten for a message, and the message fits then."""
        if self._toolbox.profile.turns is None or not self.conversation.started:
            return False
        return self._engine.preview(self._alone(said)).fits

    def _alone(self, said: ChatMessage) -> list[int]:
        """The prompt of a new chat that begins with this message."""
        return self._new_conversation().with_message(replace(said, opening=self._opening_now()))

    def _forget(self) -> None:
        """Leave out of the prompt what the model will not read beside the next message."""
        if self._toolbox.profile.turns is not None:
            self.conversation.forget(self._toolbox.profile.turns - 1)

    def _forgotten(self) -> tuple[str, ...]:
        """What there is to say about turns that are left out."""
        turns = self._toolbox.profile.turns
        return (forgets(turns),) if turns is not None and self.conversation.forgets else ()

    def _untold(self, notes: Sequence[str]) -> tuple[str, ...]:
        """The notes without those about the model itself that this chat has had; each is shown once."""
        new = tuple(note for note in notes if note not in self._told)
        self._told |= {LOOKS_UP, *self._forgotten()}.intersection(new)
        return new

    def _refused(self, said: ChatMessage) -> TurnFinished:
        """A message that does not fit: whether a new chat would help."""
        alone, size = len(self._alone(said)), self._engine.n_ctx
        if alone < size:
            return TurnFinished(TurnEnd.CONTEXT_FULL)
        return TurnFinished(TurnEnd.MESSAGE_TOO_LONG, f"{alone:,} of {size:,} tokens: this message alone is too long.")

    def _prompt_preview(self) -> PromptPreview:
        return PromptPreview(
            self._engine, self._vocabulary, self.conversation, self._count,
            self._attacher, self._opening_now, self._read,
        )  # fmt: skip

    def _use_vocabulary(self, vocabulary: Tokenizer) -> None:
        self._vocabulary = vocabulary
        self._count = CachedTokenCounter(lambda text: len(vocabulary.tokenize(text, special=False)))

    def _opening_now(self) -> str:
        """What stands before the first question: asked for once, so that what was read ahead stays right."""
        if self._opened is None:
            self._opened = self._opening()
        return self._opened

    def _note_read(self) -> None:
        self._read = self._engine.preview(self.conversation.tokens).cached

    def _parts(self) -> TurnParts:
        return TurnParts(
            engine=self._engine,
            vocabulary=self._vocabulary,
            toolbox=self._toolbox,
            conversation=self.conversation,
            options=self._options,
            cancelled=lambda: self._cancelled,
            call_ids=self._call_ids,
            made=self._made,
        )

    def _made(self, generated: GenerationRecord) -> None:
        if generated.tokens:
            self._last = generated

    def _new_conversation(self) -> Conversation:
        return Conversation(self._vocabulary, self._toolbox.profile, thinking=self._options.thinking)


def _titled(attachment: Attachment) -> str:
    shortened = attachment.place is Place.SHORTENED
    return f"{attachment.title} (shortened)" if shortened else attachment.title
