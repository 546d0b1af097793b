"""One chat: everything known about it, and the only code that changes it.

A growing transcript, of which every piece is rendered once and then left alone: what was sent to the engine stays a
prefix of what is sent next, and its KV cache stays good. The exceptions are announced: `change`, which renders the
conversation again with some blocks shortened, left out or taken back in, and `forget`, for a model that reads only the
newest turns of a chat.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from laguna_engine.chat.encoding import Tokenizer
from laguna_engine.chat.messages import AssistantMessage
from laguna_engine.chat.parser import StreamParser
from laguna_engine.chat.transcript import Role, TokenView, Transcript
from laguna_tui.agent.conversation_state import ConversationMark, ConversationState, all_said
from laguna_tui.agent.rendering import (
    ConversationBlock,
    FilesRead,
    GenerationRecord,
    MessageWriter,
    forgets,
    lasting,
    told_of_plan,
    with_opening,
)
from laguna_tui.agent.tools.base.model_profile import ModelProfile
from laguna_tui.agent.tools.base.results import shortened
from laguna_tui.base.messages import MESSAGE, REMINDER, Attachment, ChatMessage, Place
from laguna_tui.context.blocks import Gathered
from laguna_tui.context.mentions import unmarked
from laguna_tui.context.token_counter import CachedTokenCounter

_ANSWER = "answer"


class Conversation:
    """One chat with one model, as this model reads it and as it can be retold to another.

    Attributes:
        profile: the model's profile.
        stop_tokens: what ends its turn.
        transcript: the prompt so far, block by block.
        files: what was read on the way.
        computed: how many of its tokens were in the KV cache after the newest turn; others have to be computed again.
        last: the newest generation, which ended the last turn; None before there is one.
    """

    def __init__(
        self,
        vocabulary: Tokenizer,
        profile: ModelProfile,
        *,
        thinking: bool,
        opening: Callable[[], str] = str,
        remind: Callable[[str], str] = lambda told: "",
    ) -> None:
        """Begin with the system prompt and the tools.

        Args:
            vocabulary: that of the model.
            thinking: whether the model thinks before it answers.
            opening: what stands before the user's first words; asked for once, when it is needed.
            remind: what the app says of plan mode behind the user's words, given what it said of it last.
        """
        self.profile = profile
        self.files = FilesRead()
        self.computed = 0
        self.last: GenerationRecord | None = None
        self._thinking = thinking
        self._opening, self._reminds = opening, remind
        self._remind = remind if profile.reads_reminders else lambda told: ""
        self._opened: str | None = None
        self._shown: frozenset[str] = frozenset()
        self._calls = 0
        self._heard: list[ChatMessage] = []
        self._forgotten: list[ChatMessage] = []
        self.use_vocabulary(vocabulary)
        self.stop_tokens = self._writer.stop_tokens
        self.transcript = Transcript()
        self.transcript.append(Role.SYSTEM, self._writer.system(), "system prompt and tools")

    def use_vocabulary(self, vocabulary: Tokenizer) -> None:
        """Use this vocabulary from now on, that of the same model opened again."""
        self._vocabulary = vocabulary
        self.piece = vocabulary.piece
        self.count = CachedTokenCounter(lambda text: len(vocabulary.tokenize(text, special=False)))
        self._writer = MessageWriter(vocabulary, self.profile, thinking=self._thinking)

    def emptied(self) -> "Conversation":
        """A new chat with the same model. Call IDs go on counting, so that each is unique in the session."""
        parts = self._vocabulary, self.profile
        new = Conversation(*parts, thinking=self._thinking, opening=self._opening, remind=self._reminds)
        new._calls = self._calls
        return new

    def retold_for(self, profile: ModelProfile, vocabulary: Tokenizer, *, thinking: bool) -> "Conversation":
        """The same chat as another model reads it; this model's vocabulary may already be closed.

        Raises:
            EngineError: the other model cannot chat.
        """
        new = Conversation(vocabulary, profile, thinking=thinking, opening=self._opening, remind=self._reminds)
        for text in self.files.texts:
            new.remember(text)
        new.take_over(self.state)
        return new

    @property
    def tokens(self) -> TokenView:
        """Everything so far."""
        return self.transcript.tokens

    @property
    def started(self) -> bool:
        """Whether there is a message by the user."""
        return bool(self._heard)

    def asked(self) -> tuple[str, str]:
        """The user's newest message, and all that stands in the prompt before it, but for the system's part."""
        *_, newest = (piece for piece in self.pieces() if piece.said is not None and piece.said.is_question)
        assert newest.said is not None
        return newest.said.text, self.decode(self.tokens[self.transcript.blocks[0].end : newest.block.start])

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        return b"".join(map(self._vocabulary.piece, tokens)).decode("utf-8", errors="replace")

    @property
    def present(self) -> frozenset[str]:
        """Digests of the attachments that are in the prompt."""
        pairs = (pair for each in self._heard for pair in zip(each.attachments, each.attached, strict=True))
        return frozenset(came.digest for came, stands in pairs if stands.place is not Place.DROPPED)

    def message(self, text: str, attachments: tuple[Attachment, ...] = ()) -> ChatMessage:
        """The user's message as it is added now."""
        words = text if self.profile.attaches else unmarked(text)
        opening, reminder = "" if self._heard else self._first(), self._remind(told_of_plan(self._heard))
        return ChatMessage(Role.USER, MESSAGE, words, opening=opening, attachments=attachments, reminder=reminder)

    def message_parts(self, said: ChatMessage) -> list[list[int]]:
        """The tokens that a user's message would add, piece by piece, without adding it."""
        return self._writer.user_parts(said)

    def with_message(self, *said: ChatMessage) -> list[int]:
        """The tokens the engine would be given for a message and what stands before it, which are not added yet."""
        return self._prompt(self.tokens, said)

    def begun(self, message: str, gathered: Gathered) -> list[int]:
        """The tokens the engine would be given if a turn began; the arguments are those of `begin`."""
        return self.with_message(self.message(message, gathered.attachments))

    def begun_alone(self, message: str, gathered: Gathered) -> list[int]:
        """The same for a new chat that begins with this message."""
        said = replace(self.message(message, gathered.attachments), opening=self._first())
        return self._prompt(self.tokens[: self.transcript.blocks[0].end], [said])

    def begin(self, message: str, gathered: Gathered) -> None:
        """Begin a turn with what the user typed and what it brings along."""
        self.add_message(self.message(message, gathered.attachments))

    def add_message(self, said: ChatMessage) -> None:
        """Add a message: the user's, a tool's, or one in the model's name."""
        self._writer.add(self.transcript, said)
        self._heard.append(said)

    def add_reminder(self, text: str) -> None:
        """Add a message by the app, in the user's role."""
        self.add_message(ChatMessage(Role.USER, REMINDER, text))

    def remind(self) -> None:
        """Add what the model does not know yet of plan mode, if there is any; where the model works on."""
        told = told_of_plan(self._heard)
        if (text := self._remind(told)) not in ("", told):
            self.add_reminder(text)

    def take_new_notes(self, notes: Sequence[str]) -> tuple[str, ...]:
        """The notes to show: those that are given and what there is to say about forgotten turns.

        A note about the model itself is shown once in a chat.
        """
        turns = self.profile.turns
        own = (forgets(turns),) if turns is not None and self._forgotten else ()
        new = tuple(note for note in (*notes, *own) if note not in self._shown)
        self._shown |= {self.profile.unattached_note, *own}.intersection(new)
        return new

    def next_call_id(self) -> int:
        """The number of the next call of a tool, from 1."""
        self._calls += 1
        return self._calls

    def remember(self, excerpt: str) -> None:
        """Let drafters copy from what was read of a file."""
        if excerpt and not self.files.holds(excerpt):
            self.files.add(excerpt, self._vocabulary.tokenize(excerpt, special=False))

    def result_size(self, text: str) -> int:
        """How many tokens a tool's answer and the opening of the next turn take."""
        return self._writer.result_size(text)

    def add_result(self, text: str, label: str) -> None:
        """Add a tool's result."""
        self.add_message(ChatMessage(Role.TOOL, label, text))

    def open_turn(self) -> Callable[[], StreamParser]:
        """Open the assistant's turn; returns what makes a parser for all that it will say."""
        self.transcript.append(Role.ASSISTANT, self._writer.opening(), _ANSWER)
        return self._writer.parser

    def record(self, generation: GenerationRecord) -> None:
        """Add what the model said and whatever its turn needs to be whole.

        An empty turn is removed: the model would take it as an example.
        """
        heard = generation.message(_ANSWER)
        if heard.is_empty_answer:
            self.transcript = self._with(self._heard)
            return
        self._writer.end_turn(self.transcript, heard)
        self._heard.append(heard)
        self.last = generation if generation.tokens else self.last

    def correct_turn(self, message: AssistantMessage) -> None:
        """Replace the model's last output, if there is any, by an answer or a call."""
        said = ChatMessage(Role.ASSISTANT, _ANSWER, answer=message)
        if self._heard and self._heard[-1].role is Role.ASSISTANT:
            heard = [*self._heard[:-1], said]
            self.transcript, self._heard = self._with(heard), heard
        else:
            self.add_message(said)

    def add_answer(self, text: str) -> None:
        """Add an answer that the model did not generate."""
        self.add_message(ChatMessage(Role.ASSISTANT, _ANSWER, answer=AssistantMessage(text)))

    def said(self) -> tuple[ChatMessage, ...]:
        """Everything said so far, for another model."""
        return all_said(self.state)

    def retell(self, said: Sequence[ChatMessage]) -> None:
        """Add a conversation with another model, in this model's format."""
        for each in said:
            self.add_message(each)

    def pieces(self) -> list[ConversationBlock]:
        """The transcript's blocks in order. Any thread."""
        return self._pieces(self.transcript)

    def changed(self, places: Mapping[int, Place]) -> TokenView:
        """The conversation as it would be with these blocks in these places."""
        return self._with(self._placed(places)).tokens

    def change(self, places: Mapping[int, Place]) -> None:
        """Move blocks to other places, from the next message on. Blocks that cannot be changed stay as they are."""
        heard = self._placed(places)
        self.transcript, self._heard = self._with(heard), heard

    def forget_old_turns(self) -> None:
        """Drop from the prompt the turns that the model does not read with the next message."""
        if self.profile.turns is not None:
            self.forget(self.profile.turns - 1)

    def forget(self, turns: int) -> None:
        """Keep only the newest `turns` turns in the prompt; not while a turn runs. `said` still has the others."""
        begins = [index for index, each in enumerate(self._heard) if each.is_question]
        if len(begins) <= turns:
            return
        at = begins[-turns] if turns else len(self._heard)
        kept = with_opening(self._heard[at:], self._prompt_opening())
        self._forgotten += with_opening(self._heard[:at], "" if self._forgotten else None)
        self._say(kept)

    def replace_oldest(self, items: int, summary: ChatMessage) -> None:
        """Put a summary in the place of the first `items` of what was said; not while a generation runs.

        The newest question stays behind it, if it is among them. What the conversation began with stays before it:
        the folder's instructions as they are, and what stands in for its map.
        """
        left, kept = self._heard[:items], self._heard[items:]
        stays = [] if any(each.is_question for each in kept) else [each for each in left if each.is_question][-1:]
        gone = (each for each in left if not any(each is other for other in stays))
        attachments = (*(piece for each in gone for piece in lasting(each)), *summary.attachments)
        self._forgotten = []
        opening = self._prompt_opening() or ""
        self._say([replace(summary, opening=opening, attachments=attachments), *with_opening([*stays, *kept], "")])

    def mark(self) -> ConversationMark:
        """What was said so far, to come back to."""
        return ConversationMark(tuple(self._heard), tuple(self._forgotten))

    def restore(self, mark: ConversationMark) -> None:
        """Go back to a mark; not while a turn runs."""
        self._forgotten = list(mark.forgotten)
        self._say(mark.said)

    @property
    def state(self) -> ConversationState:
        """The chat's state, independent of its model; its lists are the conversation's own."""
        return ConversationState(self._heard, self._forgotten, self._calls, self._opened, self._shown)

    def go_on(self, state: ConversationState) -> None:
        """Resume a chat of an earlier process with the same model."""
        said, forgotten, self._calls, self._opened, self._shown = state
        self.restore(ConversationMark(tuple(said), tuple(forgotten)))

    def take_over(self, state: ConversationState) -> None:
        """Resume a chat held with another model."""
        _, _, self._calls, self._opened, self._shown = state
        self.retell(all_said(state))
        self.forget_old_turns()

    def items(self) -> tuple[ChatMessage, ...]:
        """What the prompt contains."""
        return tuple(self._heard)

    def summary_prompt(self, instruction: str) -> tuple[list[int], Callable[[], StreamParser]]:
        """The prompt that asks for a summary of all so far, which is not added, and what makes a parser of it.

        The model does not think first: the parser begins behind it.
        """
        writer = MessageWriter(self._vocabulary, self.profile, thinking=False)
        asked = ChatMessage.asked(instruction)
        parts = [token for part in writer.user_parts(asked) for token in part]
        return [*self.tokens, *parts, *writer.opening()], writer.parser

    def _prompt_opening(self) -> str | None:
        """What stands before the first words in the prompt; None where the first are nobody's."""
        return self._heard[0].opening if self._heard and self._heard[0].role is not Role.ASSISTANT else None

    def rendered(self, said: Sequence[ChatMessage]) -> Transcript:
        """What this would be behind the same system prompt. Any thread."""
        transcript = Transcript()
        system = self.transcript.blocks[0]
        transcript.append(system.role, self.transcript.tokens[: system.end], system.label)
        for each in said:
            self._writer.add(transcript, each)
        return transcript

    def _say(self, said: Sequence[ChatMessage]) -> None:
        """Replace everything said by this."""
        self.transcript, self._heard = self.rendered(said), list(said)

    def _first(self) -> str:
        """What stands before the first question: asked for once, so that what was read ahead stays right."""
        if self._opened is None:
            self._opened = self._opening()
        return self._opened

    def _prompt(self, before: Iterable[int], said: Iterable[ChatMessage]) -> list[int]:
        added = (token for each in said for part in self.message_parts(each) for token in part)
        return [*before, *added, *self._writer.opening()]

    def _pieces(self, transcript: Transcript) -> list[ConversationBlock]:
        system, *others = transcript.blocks
        owned = zip(others, self._owners(), strict=False)
        return [
            ConversationBlock(0, system, None),
            *(ConversationBlock(number, block, *owner) for number, (block, owner) in enumerate(owned, 1)),
        ]

    def _owners(self) -> Iterator[tuple[ChatMessage, int, int]]:
        """What was said, its number and the number of its part, for every block but the first."""
        for item, each in enumerate(tuple(self._heard)):
            parts = len(each.parts) if each.role is Role.USER else 1
            yield from ((each, item, part) for part in range(parts))

    def _placed(self, places: Mapping[int, Place]) -> list[ChatMessage]:
        pieces, heard = self.pieces(), list(self._heard)
        for piece in pieces:
            said, wanted = heard[piece.item] if piece.said else None, places.get(piece.number)
            if said is not None and wanted is not None:
                heard[piece.item] = said.placed(piece.part, wanted, self._shorten)
        return heard

    def _shorten(self, text: str, label: str) -> str:
        return shortened(text, label, self._newest_question(), self.count)

    def _newest_question(self) -> str:
        asked = [each.text for each in self._heard if each.is_question]
        return asked[-1] if asked else ""

    def _with(self, heard: Sequence[ChatMessage]) -> Transcript:
        """The conversation with this instead of what was said: what stays keeps its tokens, the rest is rendered."""
        before, transcript = self.transcript, Transcript()
        tokens = before.tokens
        # A turn that runs meanwhile may have said more than was heard until then.
        pieces = (piece for piece in self._pieces(before) if piece.item < len(heard))
        for item, owned in groupby(pieces, key=lambda piece: piece.item):
            first, *others = owned
            if first.said is None or first.said is heard[item]:
                for block in (first.block, *(piece.block for piece in others)):
                    transcript.append(block.role, tokens[block.start : block.end], block.label)
            else:
                self._writer.add(transcript, heard[item])
        return transcript
