"""What was said and read in a conversation, apart from how a model's template writes it, so that another can read it.

Tokens mean something else to another model, so what a model says is kept taken apart too, to be rendered again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from laguna_engine.chat.encoding import SafeEncoder, Tokenizer
from laguna_engine.chat.messages import (
    AssistantMessage,
    CallFinished,
    Malformed,
    ParserEvent,
    Reasoning,
    Text,
    ToolCall,
)
from laguna_engine.chat.parser import StreamParser
from laguna_engine.chat.template import Renderer
from laguna_engine.chat.transcript import Block, Role, Transcript
from laguna_engine.config import Sampling
from laguna_tui.agent.permissions.modes import PLAN_OFF, PLAN_ON
from laguna_tui.agent.tools.base.results import places_of
from laguna_tui.base.messages import REMINDER, Attachment, BlockKind, ChatMessage, Place, Trace

if TYPE_CHECKING:
    from laguna_engine.constrain.base import ConstraintSpec
    from laguna_tui.agent.tools.base.model_profile import ModelProfile

_TITLE_CHARS = 60
_MAP_LEFT_OUT = "it was left out with the messages that the summary replaced"
_FORGETS = "this model keeps {kept} of a chat in its prompt, so earlier ones are left out from here on"
# As other coding agents write it, which models have read a lot of.
_TAGGED = "<system-reminder>\n{}\n</system-reminder>"


class ConversationBlock(NamedTuple):
    """One block of the transcript: part number `part` of what was `said`, which is number `item` of all that was.

    said: None for the system's block.
    """

    number: int
    block: Block
    said: ChatMessage | None
    item: int = -1
    part: int = 0

    @property
    def attachment(self) -> Attachment | None:
        """What is attached here, if this is no part of anybody's words."""
        if self.said is None or not 0 < self.part <= len(self.said.attachments):
            return None
        return self.said.attached[self.part - 1]

    @property
    def place(self) -> Place:
        """How much of it is in the prompt."""
        if self.attachment is not None:
            return self.attachment.place
        return self.said.place if self.said is not None and self.said.role is Role.TOOL else Place.KEPT

    @property
    def choices(self) -> tuple[Place, ...]:
        """The other places it can have, and its own; none for words and the system's block."""
        if self.attachment is not None:
            return self.attachment.choices
        return places_of(self.said.text) if self.said is not None and self.said.role is Role.TOOL else ()

    @property
    def about(self) -> str:
        """What a tool's answer or an attachment is about."""
        return self.attachment.path if self.attachment is not None else self.block.label


def retold(each: ChatMessage) -> ChatMessage:
    """The same without the tokens of the model that said it."""
    return each if each.trace is None else replace(each, trace=None)


def forgets(turns: int) -> str:
    """The note shown once a chat has more turns than the model reads."""
    return _FORGETS.format(kept="one question at a time" if turns == 1 else f"the newest {turns} questions")


def lasting(message: ChatMessage) -> Iterator[Attachment]:
    """Yield what stays of a message that a summary replaces: instructions, and a line in place of the map."""
    for piece in message.attached:
        if is_instruction(piece):
            yield piece
        elif piece.kind is BlockKind.MAP:
            yield piece if piece.place is Place.DROPPED else replace(piece.at(Place.DROPPED), why=_MAP_LEFT_OUT)


def told_of_plan(heard: Sequence[ChatMessage]) -> str:
    """The newest statement about plan mode in these, `PLAN_ON` or `PLAN_OFF`; empty for none."""
    users = (each for each in reversed(heard) if each.role is Role.USER)
    said = (text for each in users for text in (each.reminder, each.text) if text in (PLAN_ON, PLAN_OFF))
    return next(said, "")


def with_opening(heard: Sequence[ChatMessage], opening: str | None) -> list[ChatMessage]:
    """The same with this before the first words; None leaves them as they are."""
    if not heard or opening is None or heard[0].role is Role.ASSISTANT:
        return list(heard)
    return [replace(heard[0], opening=opening), *heard[1:]]


def is_instruction(piece: Attachment) -> bool:
    """Return whether this speaks to the model with the user's voice, so that the app never leaves it out."""
    return piece.kind is BlockKind.INSTRUCTIONS


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    """A finished generation.

    Attributes:
        prompt: the tokens given to the engine.
        tokens: those generated.
        sampling: how they were sampled, seed included.
        answer, calls: what was said, taken apart, as in `ChatMessage`.
        rounds: tokens drafted and accepted per round; empty if it was decoded plainly.
        begun: what the model said before, with which the prompt ends: it was stopped in a loop, and went on from there.
        thinking_budget, no_repeat, constraints: the request's.
    """

    prompt: Sequence[int]
    tokens: Sequence[int]
    sampling: Sampling
    answer: AssistantMessage
    calls: tuple[ToolCall | Malformed, ...] = ()
    rounds: Sequence[tuple[int, int]] = ()
    begun: Sequence[int] = ()
    thinking_budget: int | None = None
    no_repeat: tuple[tuple[int, ...], ...] = ()
    constraints: "tuple[ConstraintSpec, ...]" = ()

    def message(self, label: str) -> ChatMessage:
        """What the model said in all."""
        tokens = (*self.begun, *self.tokens)
        trace = Trace("", tokens) if tokens else None
        return ChatMessage(Role.ASSISTANT, label, answer=self.answer, calls=self.calls, trace=trace)


def user_texts(said: ChatMessage, profile: "ModelProfile") -> tuple[str, ...]:
    """A user's message as a model reads it, piece by piece."""
    *before, words = said.parts
    if profile.reads_reminders and said.label == REMINDER:
        words = _TAGGED.format(said.text)
    elif profile.reads_reminders and said.reminder:
        words = f"{words}\n\n{_TAGGED.format(said.reminder)}"
    return (*before, words)


class MessageWriter:
    """Renders messages as one model reads them: in its template, as its tokens.

    Attributes:
        stop_tokens: what ends the model's turn.
    """

    def __init__(self, vocabulary: Tokenizer, profile: "ModelProfile", *, thinking: bool) -> None:
        encoder = SafeEncoder(vocabulary)
        self._renderer = Renderer(encoder, profile.family, thinking)
        self._markers = encoder.markers
        self._profile, self._specs = profile, profile.specs
        self._thinking = thinking
        self.stop_tokens = self._renderer.stop_tokens

    def system(self) -> list[int]:
        """The system prompt and the tools."""
        return self._renderer.system(self._profile.system_prompt, self._specs)

    def user_parts(self, said: ChatMessage) -> list[list[int]]:
        """A user's message, piece by piece."""
        return self._renderer.user_parts(user_texts(said, self._profile))

    def opening(self) -> list[int]:
        """What opens the model's turn."""
        return self._renderer.generation_prompt()

    def parser(self) -> StreamParser:
        """A parser for what the model says in its turn."""
        return StreamParser(self._specs, in_reasoning=self._thinking, markers=self._markers)

    def answered(self, trace: Trace) -> list[int]:
        """What the model said and whatever its turn needs to be whole, behind its opening."""
        kept = self._renderer.kept(trace.tokens)
        return [*kept, *self._renderer.close_assistant(kept)]

    def end_turn(self, transcript: Transcript, said: ChatMessage) -> None:
        """Add what the model said behind its opening; of a model behind messages, its turn was not opened here."""
        if said.trace is not None:
            transcript.extend(self.answered(said.trace))
        else:
            self.add(transcript, said)

    def result_size(self, text: str) -> int:
        """How many tokens a tool's answer and the opening of the next turn take."""
        return len(self._renderer.tool_response(text)) + len(self.opening())

    def add(self, transcript: Transcript, each: ChatMessage) -> None:
        """Add what was said to a transcript."""
        if each.trace is not None:
            transcript.append(Role.ASSISTANT, [*self.opening(), *self.answered(each.trace)], each.label)
        elif each.answer is not None:
            transcript.append(Role.ASSISTANT, self._renderer.assistant(each.answer), each.label)
        elif each.role is Role.TOOL:
            transcript.append(Role.TOOL, self._renderer.tool_response(each.given), each.label)
        else:
            for part in self.user_parts(each):
                transcript.append(Role.USER, part, each.label)


# About 1,500 lines of code: what a conversation is about at the moment. More only makes wrong matches likelier.
MAX_FILE_TOKENS = 16_384


class FilesRead:
    """Tokens of text that was read, for a copying drafter. Bounded, latest last.

    A stretch that is read again moves to the end and is still the same object.
    """

    def __init__(self) -> None:
        self._stretches: dict[str, Sequence[int]] = {}

    @property
    def tokens(self) -> tuple[Sequence[int], ...]:
        """Everything that is kept, latest last."""
        return tuple(self._stretches.values())

    @property
    def texts(self) -> tuple[str, ...]:
        """What was read, latest last."""
        return tuple(self._stretches)

    def holds(self, text: str) -> bool:
        """Whether this text is kept; if so, it is the latest now."""
        known = self._stretches.pop(text, None)
        if known is not None:
            self._stretches[text] = known
        return known is not None

    def add(self, text: str, tokens: Sequence[int]) -> None:
        """Keep a text's tokens, its end when it is too long alone, and forget the oldest that no longer fit."""
        self._stretches[text] = tuple(tokens[-MAX_FILE_TOKENS:])
        while sum(map(len, self._stretches.values())) > MAX_FILE_TOKENS:
            del self._stretches[next(iter(self._stretches))]


def assistant_message(events: Iterable[ParserEvent]) -> AssistantMessage:
    """The message that the events of a whole turn amount to."""
    text, reasoning, calls = "", "", list[ToolCall]()
    for event in events:
        match event:
            case Reasoning(part):
                reasoning += part
            case Text(part) | Malformed(raw=part):
                text += part
            case CallFinished(call):
                calls.append(call)
            case _:
                pass
    return AssistantMessage(text, reasoning, tuple(calls))


def calls_of(events: Iterable[ParserEvent]) -> Iterator[ToolCall | Malformed]:
    """The calls of a turn, runnable or not."""
    for event in events:
        if isinstance(event, CallFinished):
            yield event.call
        elif isinstance(event, Malformed):
            yield event


def call_title(call: ToolCall) -> str:
    """A call in a few words: its name and main argument."""
    pattern = call.arguments.get("pattern")
    texts = [value for value in call.arguments.values() if isinstance(value, str)]
    # Of a search for `pattern` in a `list`, both; of an edit only the path.
    about = texts[: texts.index(pattern) + 1] if isinstance(pattern, str) else texts[:1]
    return short_title(" ".join([call.name, *about]))


def short_title(text: str) -> str:
    """The beginning of a text on one line, enough to tell it from others in a list."""
    title = " ".join(text.split())
    return title if len(title) <= _TITLE_CHARS else title[: _TITLE_CHARS - 1] + "…"
