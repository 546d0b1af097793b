"""The transcript of one chat and the only code that adds to it: every piece is rendered once and then left alone.

What was sent to the engine therefore stays a prefix of what is sent next, and its KV cache stays good. The one
exceptions are the user's, `change`, which renders the conversation again with some blocks shortened, left out or taken
back in, and `forget`, for a model that reads only the newest turns of a chat.

What was read of files in a conversation, as tokens that a copying drafter may propose. Bounded, latest last.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from laguna_engine.chat.encoding import SafeEncoder, Tokenizer
from laguna_engine.chat.messages import AssistantMessage
from laguna_engine.chat.parser import StreamParser
from laguna_engine.chat.template import Renderer
from laguna_engine.chat.transcript import Block, Role, TokenView, Transcript
from laguna_tui.agent.messages import MESSAGE, ChatMessage, GeneratedMessage, as_messages
from laguna_tui.agent.tools.base.model_profile import ModelProfile
from laguna_tui.context.blocks import Attachment, Place

_ANSWER = "answer"


class ConversationBlock(NamedTuple):
    """One block of the transcript: part number `part` of what was `said`, which is number `item` of all that was.

    said: None for the system's block.
    """

    number: int
    block: Block
    said: ChatMessage | GeneratedMessage | None
    item: int = -1
    part: int = 0

    @property
    def attachment(self) -> Attachment | None:
        """What is attached here, if this is no part of anybody's words."""
        if not isinstance(self.said, ChatMessage) or not 0 < self.part <= len(self.said.attachments):
            return None
        return self.said.attached[self.part - 1]


class Conversation:
    """A growing transcript in the model's own format; `files` is what was read on the way."""

    def __init__(self, vocabulary: Tokenizer, profile: ModelProfile, *, thinking: bool) -> None:
        self.profile = profile
        self._tools = profile.specs
        self._thinking = thinking
        self._heard: list[ChatMessage | GeneratedMessage] = []
        self._forgotten: list[ChatMessage | GeneratedMessage] = []
        self.use_vocabulary(vocabulary)
        self.files = FilesRead()
        self.stop_tokens = self._renderer.stop_tokens
        self.transcript = Transcript()
        self.transcript.append(
            Role.SYSTEM, self._renderer.system(profile.system_prompt, self._tools), "system prompt and tools"
        )

    def use_vocabulary(self, vocabulary: Tokenizer) -> None:
        """Go on with this vocabulary, which is that of the same model opened again."""
        self._vocabulary = vocabulary
        encoder = SafeEncoder(vocabulary)
        self._renderer = Renderer(encoder, self.profile.family, self._thinking)
        self._markers = encoder.markers

    @property
    def tokens(self) -> TokenView:
        """Everything so far."""
        return self.transcript.tokens

    @property
    def started(self) -> bool:
        """Whether the user has said anything."""
        return bool(self._heard)

    @property
    def forgets(self) -> bool:
        """Whether turns of this chat are no longer in the prompt."""
        return bool(self._forgotten)

    def asked(self) -> tuple[str, str]:
        """The user's newest message, and all that stands in the prompt before it, but for the system's part."""
        *_, newest = (piece for piece in self.pieces() if piece.said is not None and _is_question(piece.said))
        assert isinstance(newest.said, ChatMessage)
        begin = self.transcript.blocks[0].end
        earlier = b"".join(map(self._vocabulary.piece, self.tokens[begin : newest.block.start]))
        return newest.said.text, earlier.decode("utf-8", errors="replace")

    @property
    def present(self) -> frozenset[str]:
        """Digests of what is attached and not left out."""
        said = [each for each in self._heard if isinstance(each, ChatMessage)]
        pairs = (pair for each in said for pair in zip(each.attachments, each.attached, strict=True))
        return frozenset(came.digest for came, stands in pairs if stands.place is not Place.DROPPED)

    def message_parts(self, said: ChatMessage) -> list[list[int]]:
        """The tokens that a user's message would add, piece by piece; it is not added."""
        return self._renderer.user_parts(said.parts)

    def with_message(self, *said: ChatMessage) -> list[int]:
        """The tokens the engine would be given for a message and what stands before it, which are not added yet."""
        added = (token for each in said for part in self.message_parts(each) for token in part)
        return [*self.tokens, *added, *self._renderer.generation_prompt()]

    def add_message(self, said: ChatMessage) -> None:
        """Add what the user said."""
        self._add_message(self.transcript, said)
        self._heard.append(said)

    def result_size(self, text: str) -> int:
        """How many tokens a tool's answer and the opening of the next turn take."""
        return len(self._renderer.tool_response(text)) + len(self._renderer.generation_prompt())

    def add_result(self, text: str, label: str) -> None:
        """Add what a tool answered."""
        said = ChatMessage(Role.TOOL, label, text)
        self._add_result(self.transcript, said)
        self._heard.append(said)

    def open_turn(self) -> StreamParser:
        """Open the assistant's turn; returns the parser for what it will say."""
        self.transcript.append(Role.ASSISTANT, self._renderer.generation_prompt(), _ANSWER)
        return StreamParser(self._tools, in_reasoning=self._thinking, markers=self._markers)

    def close_turn(self, generated: Sequence[int]) -> None:
        """Add what the model said and whatever its turn needs to be whole."""
        heard = GeneratedMessage(_ANSWER, tuple(generated))
        self.transcript.extend(self._answered(heard))
        self._heard.append(heard)

    def correct_turn(self, message: AssistantMessage) -> None:
        """Put an answer or a call into the place of what the model said last."""
        *before, _ = self._heard
        heard = [*before, ChatMessage(Role.ASSISTANT, _ANSWER, answer=message)]
        self.transcript, self._heard = self._with(heard), heard

    def add_answer(self, text: str) -> None:
        """Add an answer that the model did not give itself."""
        said = ChatMessage(Role.ASSISTANT, _ANSWER, answer=AssistantMessage(text))
        self._add(self.transcript, said)
        self._heard.append(said)

    def said(self) -> tuple[ChatMessage, ...]:
        """Everything said so far, for another model; needs the vocabulary, so ask before the engine is closed."""
        # What opens the chat stands before its first words, and again before those that are first in the prompt.
        opening = "" if self._forgotten else None
        heard = [*self._forgotten, *_opened(self._heard, opening)]
        return as_messages(heard, self._vocabulary, self._markers, self._tools, thinking=self._thinking)

    def retell(self, said: Sequence[ChatMessage]) -> None:
        """Add what was said to another model, written as this one writes it."""
        for each in said:
            self._add(self.transcript, each)
            self._heard.append(each)

    def pieces(self) -> list[ConversationBlock]:
        """The transcript's blocks in order. Any thread."""
        return self._pieces(self.transcript)

    def changed(self, places: Mapping[int, Place]) -> TokenView:
        """What the conversation would be with these blocks in these places."""
        return self._with(self._placed(places)).tokens

    def change(self, places: Mapping[int, Place]) -> None:
        """Put blocks into other places, from the next message on. Those that are never touched stay as they are."""
        heard = self._placed(places)
        self.transcript, self._heard = self._with(heard), heard

    def forget(self, turns: int) -> None:
        """Keep only the newest `turns` turns in the prompt; not while a turn runs. `said` still has the others."""
        begins = [index for index, each in enumerate(self._heard) if _is_question(each)]
        if len(begins) <= turns:
            return
        at = begins[-turns] if turns else len(self._heard)
        first = self._heard[0]
        kept = _opened(self._heard[at:], first.opening if isinstance(first, ChatMessage) else None)
        transcript = Transcript()
        system = self.transcript.blocks[0]
        transcript.append(system.role, self.transcript.tokens[: system.end], system.label)
        for each in kept:
            self._add(transcript, each)
        self._forgotten += _opened(self._heard[:at], "" if self._forgotten else None)
        self.transcript, self._heard = transcript, kept

    def _pieces(self, transcript: Transcript) -> list[ConversationBlock]:
        system, *others = transcript.blocks
        owned = zip(others, self._owners(), strict=False)
        return [
            ConversationBlock(0, system, None),
            *(ConversationBlock(number, block, *owner) for number, (block, owner) in enumerate(owned, 1)),
        ]

    def _owners(self) -> Iterator[tuple[ChatMessage | GeneratedMessage, int, int]]:
        """What was said, its number and the number of its part, for every block but the first."""
        for item, each in enumerate(tuple(self._heard)):
            parts = len(each.parts) if isinstance(each, ChatMessage) and each.role is Role.USER else 1
            yield from ((each, item, part) for part in range(parts))

    def _placed(self, places: Mapping[int, Place]) -> list[ChatMessage | GeneratedMessage]:
        pieces, heard = self.pieces(), list(self._heard)
        for piece in pieces:
            said, wanted = heard[piece.item] if piece.said else None, places.get(piece.number)
            if isinstance(said, ChatMessage) and wanted is not None:
                heard[piece.item] = said.placed(piece.part, wanted)
        return heard

    def _with(self, heard: Sequence[ChatMessage | GeneratedMessage]) -> Transcript:
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
                self._add(transcript, heard[item])
        return transcript

    def _add(self, transcript: Transcript, each: ChatMessage | GeneratedMessage) -> None:
        if isinstance(each, GeneratedMessage):
            opening = self._renderer.generation_prompt()
            transcript.append(Role.ASSISTANT, [*opening, *self._answered(each)], each.label)
        elif each.answer is not None:
            transcript.append(Role.ASSISTANT, self._renderer.assistant(each.answer), each.label)
        elif each.role is Role.TOOL:
            self._add_result(transcript, each)
        else:
            self._add_message(transcript, each)

    def _add_message(self, transcript: Transcript, said: ChatMessage) -> None:
        for part in self.message_parts(said):
            transcript.append(Role.USER, part, said.label)

    def _add_result(self, transcript: Transcript, said: ChatMessage) -> None:
        transcript.append(Role.TOOL, self._renderer.tool_response(said.given), said.label)

    def _answered(self, heard: GeneratedMessage) -> list[int]:
        return [*heard.tokens, *self._renderer.close_assistant(heard.tokens)]


def _is_question(each: ChatMessage | GeneratedMessage) -> bool:
    """Whether these are the user's own words, with which a turn begins."""
    return isinstance(each, ChatMessage) and each.role is Role.USER and each.label == MESSAGE


def _opened(
    heard: Sequence[ChatMessage | GeneratedMessage], opening: str | None
) -> list[ChatMessage | GeneratedMessage]:
    """The same with this before the first words; None leaves them as they are."""
    if not heard or opening is None or not isinstance(first := heard[0], ChatMessage):
        return list(heard)
    return [replace(first, opening=opening), *heard[1:]]


# About 1,500 lines of code: what a conversation is about at the moment. More only makes wrong matches likelier.
MAX_FILE_TOKENS = 16_384


class FilesRead:
    """Tokens of what was read. A stretch that is read again moves to the end and is still the same object."""

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
