"""One chat: everything known about it, and the only code that changes it.

It only grows, so that what a backend was given stays a prefix of what it is given next, and its KV cache stays good.
The exceptions are announced: `change`, which shortens, leaves out or takes back some blocks, and `forget`, for a model
that reads only the newest turns of a chat.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from laguna_engine.chat.messages import AssistantMessage, Role
from laguna_tui.agent.conversation_blocks import ConversationBlock
from laguna_tui.agent.permissions.modes import PLAN_OFF, PLAN_ON
from laguna_tui.agent.tools.base.results import shortened
from laguna_tui.backends.base import Backend, Message, Prompt, PromptCost
from laguna_tui.base.messages import MESSAGE, REJECTED, REMINDER, Attachment, BlockKind, ChatMessage, Place
from laguna_tui.context.mentions import unmarked
from laguna_tui.context.token_counter import CachedTokenCounter

if TYPE_CHECKING:
    from laguna_tui.agent.tools.base.model_profile import ModelProfile

_ANSWER = "answer"
_MAP_LEFT_OUT = "it was left out with the messages that the summary replaced"
_FORGETS = "this model reads {read} of a chat; from here on it does not see your earlier ones"
# The tag of other coding agents, which models know well.
_TAGGED = "<system-reminder>\n{}\n</system-reminder>"
# Characters that drafters can copy from: about 16,000 tokens.
MOST_READ = 1 << 16


class ConversationMark(NamedTuple):
    """The messages up to some moment, in the prompt and before it."""

    current: tuple[ChatMessage, ...] = ()
    forgotten: tuple[ChatMessage, ...] = ()


class ConversationState(NamedTuple):
    """The state of a conversation, independent of its model.

    Attributes:
        current, forgotten: What is in the prompt, and what was before it. Of a conversation that continues these are
            its own lists, which grow.
        calls: How many calls of tools there were.
        opening: Text before the user's first words; None until it is settled.
        notes: Notes about the model that were already shown.
        day: When it began; None for today.
    """

    current: Sequence[ChatMessage] = ()
    forgotten: Sequence[ChatMessage] = ()
    calls: int = 0
    opening: str | None = None
    notes: frozenset[str] = frozenset()
    day: date | None = None


class Conversation:
    """One chat with one model, as this model reads it.

    Attributes:
        backend: Answers it.
        profile: The model's profile.
        count: Counts the tokens of a text.
        read: Texts that were read on the way, for drafters to copy from; the latest last.
        computed: How many of its tokens were in the KV cache after the newest turn; others have to be computed again.
    """

    def __init__(
        self,
        backend: Backend,
        profile: "ModelProfile",
        *,
        thinking: bool,
        opening: Callable[[], str] = str,
        remind: Callable[[str], str] = lambda last: "",
    ) -> None:
        """Begin with the system prompt and the tools.

        Args:
            backend: Answers it.
            profile: The model's profile.
            thinking: Whether the model thinks before it answers.
            opening: Returns what stands before the user's first words; called once, when it is needed.
            remind: Returns what the app says of plan mode behind the user's words, given what it said of it last.
        """
        self.profile = profile
        self.computed = 0
        self.read: tuple[str, ...] = ()
        self._thinking = thinking
        self._opening, self._remind = opening, remind
        self._day = date.today()
        self._opened: str | None = None
        self._shown: frozenset[str] = frozenset()
        self._calls = 0
        self._history: list[ChatMessage] = []
        self._forgotten: list[ChatMessage] = []
        # By identity; the message is kept alive, so that no other one gets its ID.
        self._messages: dict[int, tuple[ChatMessage, Message]] = {}
        self.use_backend(backend)

    def use_backend(self, backend: Backend) -> None:
        """Use another backend of the same model."""
        self.backend = backend
        self.count = CachedTokenCounter(backend.count)

    def emptied(self) -> "Conversation":
        """Return a new chat with the same model. Call IDs continue, so that each is unique in the session."""
        parts = self.backend, self.profile
        new = Conversation(*parts, thinking=self._thinking, opening=self._opening, remind=self._remind)
        new._calls = self._calls
        return new

    def for_model(self, backend: Backend, profile: "ModelProfile", *, thinking: bool) -> "Conversation":
        """Return the same chat for another model; this model's backend may already be closed."""
        new = Conversation(backend, profile, thinking=thinking, opening=self._opening, remind=self._remind)
        new.read = self.read
        new.adopt(self.state)
        return new

    # -- the prompt

    def prompt(self, *more: ChatMessage) -> Prompt:
        """Return the prompt, with more messages behind it that are not added. Any thread."""
        if more:
            # Drop those of earlier previews, one with every key typed.
            self._drop_missing()
        return self.prompt_of([*self._history, *more])

    def prompt_of(self, said: Sequence[ChatMessage]) -> Prompt:
        """Return the prompt of a conversation with the same model. Any thread."""
        messages = tuple(map(self._message, said))
        return Prompt(self.profile.system_prompt, self.profile.specs, messages, self._thinking, self._day)

    def cost(self, *more: ChatMessage) -> PromptCost:
        """Return what the prompt would cost now, with more messages behind it. Any thread."""
        return self.backend.cost(self.prompt(*more))

    @property
    def size(self) -> int:
        """Tokens of the prompt."""
        return self.size_of(self.prompt())

    def size_of(self, prompt: Prompt) -> int:
        """Return the tokens of a prompt."""
        return sum(map(sum, self.backend.sizes(prompt)))

    def pieces(self) -> list[ConversationBlock]:
        """Return the prompt's blocks in order. Any thread."""
        history = tuple(self._history)
        sizes = self.backend.sizes(self.prompt_of(history))
        blocks = [ConversationBlock(0, 0, sum(sizes[0]))]
        for item, (each, parts) in enumerate(zip(history, sizes[1:], strict=True)):
            for part, tokens in enumerate(parts):
                last = blocks[-1]
                blocks.append(ConversationBlock(len(blocks), last.start + last.tokens, tokens, each, item, part))
        return blocks

    def text_of(self, block: ConversationBlock) -> str:
        """Return the text of a block as the model reads it."""
        parts = self.backend.rendered(self.prompt())[block.item + 1]
        return "".join(parts) if block.message is None else parts[block.part]

    def result_size(self, text: str) -> int:
        """Return how many tokens a tool's result takes."""
        prompt = replace(self.prompt_of(()), messages=(Message(Role.TOOL, (text,)),))
        return sum(self.backend.sizes(prompt)[-1])

    @property
    def started(self) -> bool:
        """Whether there are messages."""
        return bool(self._history)

    def question(self) -> tuple[str, Callable[[], str]]:
        """Return the user's newest message, and a function for the text between the system's part and it."""
        newest = max(index for index, each in enumerate(self._history) if each.is_question)
        prompt = self.prompt_of(self._history[: newest + 1])

        def before() -> str:
            _, *earlier, (*opening, _) = self.backend.rendered(prompt)
            return "".join("".join(each) for each in (*earlier, opening))

        return self._history[newest].text, before

    def earlier_questions(self) -> tuple[str, ...]:
        """Return the user's messages before the newest one, newest first; also those that left the prompt."""
        asked = [each.text for each in (*self._forgotten, *self._history) if each.is_question]
        return tuple(reversed(asked[:-1]))

    @property
    def present(self) -> frozenset[str]:
        """Digests of the attachments that are in the prompt."""
        pairs = (pair for each in self._history for pair in zip(each.attachments, each.attached, strict=True))
        return frozenset(came.digest for came, stands in pairs if stands.place is not Place.DROPPED)

    # -- messages

    def message(self, text: str, attachments: tuple[Attachment, ...] = ()) -> ChatMessage:
        """Return the user's message as it would be added now."""
        words = text if self.profile.attaches else unmarked(text)
        opening, reminder = "" if self._history else self._first(), self._reminder(last_plan_reminder(self._history))
        return ChatMessage(Role.USER, MESSAGE, words, opening=opening, attachments=attachments, reminder=reminder)

    def alone(self, said: ChatMessage) -> Prompt:
        """Return the prompt of a new chat that begins with this message."""
        return self.prompt_of([replace(said, opening=self._first())])

    def add_message(self, said: ChatMessage) -> None:
        """Add a message: the user's, a tool's, or one in the model's name."""
        self._history.append(said)
        self._drop_missing()

    def add_reminder(self, text: str) -> None:
        """Add a message by the app, in the user's role."""
        self.add_message(ChatMessage(Role.USER, REMINDER, text))

    def remind(self) -> None:
        """Add what the model does not know yet of plan mode, if anything, while it works."""
        last = last_plan_reminder(self._history)
        if (text := self._reminder(last)) not in ("", last):
            self.add_reminder(text)

    def _reminder(self, last: str) -> str:
        return self._remind(last) if self.profile.reads_reminders else ""

    def take_new_notes(self, notes: Sequence[str]) -> tuple[str, ...]:
        """Return the notes to show: those that are given and one about forgotten turns.

        A note about the model itself is shown once in a chat.
        """
        turns = self.profile.turns
        own = (forgets(turns),) if turns is not None and self._forgotten else ()
        new = tuple(note for note in (*notes, *own) if note not in self._shown)
        self._shown |= {self.profile.unattached_note, *own}.intersection(new)
        return new

    def next_call_id(self) -> int:
        """Return the number of the next call of a tool, from 1."""
        self._calls += 1
        return self._calls

    def remember(self, excerpt: str) -> None:
        """Let drafters copy from an excerpt of a file."""
        if not excerpt:
            return
        read = [*(each for each in self.read if each != excerpt), excerpt]
        while len(read) > 1 and sum(map(len, read)) > MOST_READ:
            del read[0]
        self.read = tuple(read)

    def add_result(self, text: str, label: str) -> None:
        self.add_message(ChatMessage(Role.TOOL, label, text))

    def add_answer(self, text: str) -> None:
        """Add an answer that the model did not generate."""
        self.add_message(ChatMessage(Role.ASSISTANT, _ANSWER, answer=AssistantMessage(text)))

    def record(self, answer: Message) -> None:
        """Add the model's answer, unless it is empty: the model would take an empty turn as an example."""
        said = ChatMessage(Role.ASSISTANT, _ANSWER, answer=answer.answer, calls=answer.calls, trace=answer.trace)
        if not said.is_empty_answer:
            self.add_message(said)

    def correct_turn(self, message: AssistantMessage) -> None:
        """Replace the model's last output, if there is any, by an answer or a call."""
        said = ChatMessage(Role.ASSISTANT, _ANSWER, answer=message)
        last = bool(self._history) and self._history[-1].role is Role.ASSISTANT
        self._say([*self._history[: len(self._history) - last], said])

    # -- what leaves the prompt

    def changed(self, places: Mapping[int, Place]) -> Prompt:
        """Return the prompt as it would be with these blocks in these places."""
        return self.prompt_of(self._placed(places))

    def change(self, places: Mapping[int, Place]) -> None:
        """Move blocks to other places, from the next message on. Blocks that cannot be changed stay as they are."""
        self._say(self._placed(places))

    def forget_old_turns(self) -> None:
        """Drop from the prompt the turns that the model does not read with the next message."""
        if self.profile.turns is not None:
            self.forget(self.profile.turns - 1)

    def forget(self, turns: int) -> None:
        """Keep only the newest `turns` turns in the prompt; not while a turn runs. `state` still has the others."""
        begins = [index for index, each in enumerate(self._history) if each.is_question]
        if len(begins) <= turns:
            return
        at = begins[-turns] if turns else len(self._history)
        kept = with_opening(self._history[at:], self._prompt_opening())
        self._forgotten += with_opening(self._history[:at], "" if self._forgotten else None)
        self._say(kept)

    def replace_oldest(self, items: int, summary: ChatMessage) -> None:
        """Put a summary in the place of the first `items` messages; not while a generation runs.

        The newest question stays behind it, if it is among them. What the conversation began with stays before it:
        the folder's instructions as they are, and what stands in for its map.
        """
        left, kept = self._history[:items], self._history[items:]
        stays = [] if any(each.is_question for each in kept) else [each for each in left if each.is_question][-1:]
        gone = (each for each in left if not any(each is other for other in stays))
        attachments = (*(piece for each in gone for piece in lasting(each)), *summary.attachments)
        self._forgotten = []
        opening = self._prompt_opening() or ""
        self._say([replace(summary, opening=opening, attachments=attachments), *with_opening([*stays, *kept], "")])

    # -- marks

    def mark(self) -> ConversationMark:
        """Return a mark of this moment."""
        return ConversationMark(tuple(self._history), tuple(self._forgotten))

    def restore(self, mark: ConversationMark) -> None:
        """Go back to a mark; not while a turn runs."""
        self._forgotten = list(mark.forgotten)
        self._say(list(mark.current))

    @property
    def state(self) -> ConversationState:
        """The chat's state, independent of its model; its lists are the conversation's own."""
        return ConversationState(self._history, self._forgotten, self._calls, self._opened, self._shown, self._day)

    def resume(self, state: ConversationState) -> None:
        """Resume a chat of an earlier process with the same model."""
        self._restore_state(state)
        self.restore(ConversationMark(tuple(state.current), tuple(state.forgotten)))

    def adopt(self, state: ConversationState) -> None:
        """Resume a chat held with another model."""
        self._restore_state(state)
        self._say([*self._history, *all_messages(state)])
        self.forget_old_turns()

    def _restore_state(self, state: ConversationState) -> None:
        """Restore all but the messages."""
        self._calls, self._opened, self._shown = state.calls, state.opening, state.notes
        self._day = state.day or self._day

    def items(self) -> tuple[ChatMessage, ...]:
        """Return the messages of the prompt."""
        return tuple(self._history)

    def _say(self, said: list[ChatMessage]) -> None:
        """Replace all messages."""
        self._history = said
        self._drop_missing()

    def _drop_missing(self) -> None:
        """Forget messages that were only previewed, or are no longer in the prompt."""
        self._messages = {id(each): found for each in self._history if (found := self._messages.get(id(each)))}

    def _message(self, said: ChatMessage) -> Message:
        """Return a message as the model reads it: the same object for the same one."""
        known = self._messages.get(id(said))
        if known is None or known[0] is not said:
            known = said, self._read_as(said)
            self._messages[id(said)] = known
        return known[1]

    def _read_as(self, said: ChatMessage) -> Message:
        if said.answer is not None:
            return Message(said.role, answer=said.answer, calls=tuple(said.written_calls), trace=said.trace)
        if said.role is Role.TOOL:
            return Message(said.role, (said.given,), rejected=said.label == REJECTED)
        *before, words = said.parts
        if self.profile.reads_reminders and said.label == REMINDER:
            words = _TAGGED.format(said.text)
        elif self.profile.reads_reminders and said.reminder:
            words = f"{words}\n\n{_TAGGED.format(said.reminder)}"
        return Message(said.role, (*before, words))

    def _prompt_opening(self) -> str | None:
        """Return what stands before the first words in the prompt; None if the first are the model's."""
        return self._history[0].opening if self._history and self._history[0].role is not Role.ASSISTANT else None

    def _first(self) -> str:
        """Return what stands before the first question, always the same, so that prefetched tokens stay right."""
        if self._opened is None:
            self._opened = self._opening()
        return self._opened

    def _placed(self, places: Mapping[int, Place]) -> list[ChatMessage]:
        pieces, history = self.pieces(), list(self._history)
        for piece in pieces:
            said, wanted = history[piece.item] if piece.message else None, places.get(piece.number)
            if said is not None and wanted is not None:
                history[piece.item] = said.placed(piece.part, wanted, self._shorten)
        return history

    def _shorten(self, text: str, label: str) -> str:
        asked = next((each.text for each in reversed(self._history) if each.is_question), "")
        return shortened(text, label, asked, self.count)


def all_messages(state: ConversationState) -> tuple[ChatMessage, ...]:
    """Return all messages so far, for another model."""
    # The opening stands before the chat's first words, and again before the first ones in the prompt.
    return (*state.forgotten, *with_opening(state.current, "" if state.forgotten else None))


def with_opening(said: Sequence[ChatMessage], opening: str | None) -> list[ChatMessage]:
    """Return the messages with this before the first words; None leaves them unchanged."""
    if not said or opening is None or said[0].role is Role.ASSISTANT:
        return list(said)
    return [replace(said[0], opening=opening), *said[1:]]


def forgets(turns: int) -> str:
    """Return the note shown once a chat has more turns than the model reads."""
    return _FORGETS.format(read="only the newest question" if turns == 1 else f"only the newest {turns} questions")


def is_instruction(piece: Attachment) -> bool:
    """Return whether an attachment speaks with the user's voice, so that the app never leaves it out."""
    return piece.kind is BlockKind.INSTRUCTIONS


def lasting(message: ChatMessage) -> Iterator[Attachment]:
    """Yield what remains of a message that a summary replaces: instructions, and a line in place of the map."""
    for piece in message.attached:
        if is_instruction(piece):
            yield piece
        elif piece.kind is BlockKind.MAP:
            yield piece if piece.place is Place.DROPPED else replace(piece.at(Place.DROPPED), why=_MAP_LEFT_OUT)


def last_plan_reminder(history: Sequence[ChatMessage]) -> str:
    """Return the newest statement about plan mode in these, `PLAN_ON` or `PLAN_OFF`; empty for none."""
    users = (each for each in reversed(history) if each.role is Role.USER)
    said = (text for each in users for text in (each.reminder, each.text) if text in (PLAN_ON, PLAN_OFF))
    return next(said, "")
