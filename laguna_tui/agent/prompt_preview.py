"""What a message would bring along and cost before it is sent, and what of it can be computed already.

Reads the conversation and never changes it, so that it may be asked from any thread while the user types.

The conversation as blocks that the user can look at and change: what each costs, and why it is as it is.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from laguna_engine.chat.encoding import Tokenizer
from laguna_engine.chat.transcript import Role
from laguna_tui.agent.conversation import Conversation, ConversationBlock
from laguna_tui.agent.generation import TokenEngine
from laguna_tui.agent.messages import MESSAGE, ChatMessage, GeneratedMessage
from laguna_tui.agent.tools.base.results import ANSWER_ROOM, places_of
from laguna_tui.context.attach import Attacher
from laguna_tui.context.blocks import Attachment, BlockKind, BlockText, ContextBlock, Cost, Gathered, Place
from laguna_tui.context.mentions import Mention, mentions
from laguna_tui.context.token_counter import CachedTokenCounter

# Of the room that is left, what is attached may take so much: the rest is for tools and the answer.
ATTACHED_SHARE = 0.6
_FORGETS = "this model keeps in mind {kept} of a chat, so the earlier ones are left out of its prompt from here on"
LOOKS_UP = "this model is too small to read files beside a question, so it looks up what you mention"


@dataclass(frozen=True, slots=True)
class PromptPreview:
    """A conversation, and what answers it.

    count: the tokens of a text, remembered. attacher: None attaches nothing. opening: what stands before the first
    words of all. read: tokens of the conversation that were in the KV cache once; what of them is not there any more
    has to be computed again.
    """

    engine: TokenEngine
    vocabulary: Tokenizer
    conversation: Conversation
    count: CachedTokenCounter
    attacher: Attacher | None
    opening: Callable[[], str]
    read: int

    def gathered(self, message: str, should_stop: Callable[[], bool]) -> Gathered:
        """What the message brings along when it is sent; may take seconds."""
        if self.attacher is None:
            return self._unattached(message)
        first, present = not self.conversation.started, self.conversation.present
        return self.attacher.gather(message, self._room(message), present, should_stop, first=first)

    def said(self, message: str, attachments: tuple[Attachment, ...]) -> ChatMessage:
        """The message as it is added to the conversation."""
        opening = "" if self.conversation.started else self.opening()
        words = message if self.conversation.profile.attaches else unmarked(message)
        return ChatMessage(Role.USER, MESSAGE, words, opening=opening, attachments=attachments)

    def cost(self, message: str) -> Cost:
        """What sending it would cost now."""
        gathered = self._previewed(message)
        return self._cost(self.conversation.with_message(self.said(message, gathered.attachments)), gathered.notes)

    def ahead(self, message: str) -> list[int]:
        """The tokens that are certain to be read first when the message is sent, however it goes on; fewer than fit."""
        attachments = tuple(takewhile(lambda each: each.certain, self._previewed(message).attachments))
        tokens = list(self.conversation.tokens)
        if attachments:
            *certain, _ = self.conversation.message_parts(self.said("…", attachments))
            tokens += [token for part in certain for token in part]
        return tokens if len(tokens) < self.engine.n_ctx else list(self.conversation.tokens)

    def blocks(self) -> list[ContextBlock]:
        """What the prompt consists of."""
        preview = self.engine.preview(self.conversation.tokens)
        # The last token of a prompt is always computed anew, which nobody counts as a change.
        cached = preview.cached + (preview.new == 1)
        return blocks(self.conversation, cached, self.count, self._text)

    def block_text(self, number: int) -> BlockText:
        """One block's text; IndexError when there is no such block."""
        return block_text(self.conversation, number, self._text)

    def change_cost(self, places: Mapping[int, Place]) -> Cost:
        """What the conversation alone would cost with these blocks in these places."""
        return self._cost(list(self.conversation.changed(places)), ())

    def _cost(self, tokens: list[int], notes: tuple[str, ...]) -> Cost:
        preview = self.engine.preview(tokens)
        lost = max(0, min(self.read, len(self.conversation.tokens), len(tokens) - 1) - preview.cached)
        return Cost(preview.new, preview.cached, lost, preview.seconds, preview.fits, notes)

    def _previewed(self, message: str) -> Gathered:
        if self.attacher is None:
            return self._unattached(message)
        first, present = not self.conversation.started, self.conversation.present
        return self.attacher.preview(message, self._room(message), present, first=first)

    def _unattached(self, message: str) -> Gathered:
        looks_up = not self.conversation.profile.attaches and bool(mentions(message))
        return Gathered(notes=(LOOKS_UP,) if looks_up else ())

    def _room(self, message: str) -> int:
        """Tokens that attachments may take."""
        free = self.engine.n_ctx - len(self.conversation.tokens) - self.count(message) - ANSWER_ROOM
        return int(max(0, free) * ATTACHED_SHARE)

    def _text(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.vocabulary.piece, tokens)).decode("utf-8", errors="replace")


def forgets(turns: int) -> str:
    """The note shown once a chat has more turns than the model reads."""
    return _FORGETS.format(kept="one question at a time" if turns == 1 else f"the newest {turns} questions")


def unmarked(message: str) -> str:
    """The message with its mentions as plain names."""
    for mention in reversed(mentions(message)):
        message = message[: mention.start] + _plain(mention) + message[mention.stop :]
    return message


def _plain(mention: Mention) -> str:
    if mention.first is None:
        return mention.name
    last = "" if mention.last == mention.first else f"-{mention.last}"
    return f"{mention.name}:{mention.first}{last}"


_BY_USER = "by you"
_TITLE_CHARS = 60
_VALUE = "<arg_value>(.*?)</arg_value>"
# The tool, its first argument, and the second one where only that says what is looked for.
_CALL = re.compile(rf"<tool_call>\s*(\S+)(?:.*?{_VALUE}(?:\s*<arg_key>pattern</arg_key>\s*{_VALUE})?)?", re.DOTALL)
_TAG = re.compile(r"</?[a-z_]+>")


def blocks(
    conversation: Conversation, cached: int, count: Callable[[str], int], decode: Callable[[Sequence[int]], str]
) -> list[ContextBlock]:
    """The blocks of a conversation.

    Args:
        cached: tokens of the conversation, from its start, that are in the KV cache.
        count: tokens of a text, without the turn around it.
        decode: the text of tokens.
    """
    return [_block(piece, cached, count, decode) for piece in conversation.pieces()]


def block_text(conversation: Conversation, number: int, decode: Callable[[Sequence[int]], str]) -> BlockText:
    """What a block holds, and what of it is given; IndexError when there is no such block."""
    piece = conversation.pieces()[number]
    given = decode(conversation.tokens[piece.block.start : piece.block.end])
    match piece.said, piece.attachment:
        case ChatMessage(role=Role.TOOL, text=text, place=place), _:
            return BlockText(text, "" if place is Place.DROPPED else piece.said.given)
        case _, None:
            return BlockText(given, given)
        case _, attachment:
            return BlockText(attachment.whole, "" if attachment.place is Place.DROPPED else attachment.text)


def _block(
    piece: ConversationBlock, cached: int, count: Callable[[str], int], decode: Callable[[Sequence[int]], str]
) -> ContextBlock:
    tokens = piece.block.end - piece.block.start
    ready = min(max(cached - piece.block.start, 0), tokens)
    said, attachment = piece.said, piece.attachment
    if attachment is not None:
        whole = tokens if attachment.place is Place.KEPT else count(attachment.whole)
        return ContextBlock(
            piece.number, attachment.kind, attachment.title, tokens, whole, ready,
            attachment.place, attachment.why, attachment.choices,
        )  # fmt: skip
    if isinstance(said, ChatMessage) and said.role is Role.TOOL:
        whole = tokens if said.place is Place.KEPT else count(said.text)
        why = "a tool's answer" if said.place is Place.KEPT else _BY_USER
        return ContextBlock(
            piece.number, BlockKind.TOOL, said.label, tokens, whole, ready, said.place, why, places_of(said.text)
        )
    kind, title, why = _fixed(piece, decode)
    return ContextBlock(piece.number, kind, title, tokens, tokens, ready, Place.KEPT, why, (Place.KEPT,))


def _fixed(piece: ConversationBlock, decode: Callable[[Sequence[int]], str]) -> tuple[BlockKind, str, str]:
    """Kind, title and reason of a block that is never touched."""
    said = piece.said
    if said is None:
        return BlockKind.SYSTEM, piece.block.label, "always there"
    if isinstance(said, GeneratedMessage):
        return BlockKind.ANSWER, _answer(decode(said.tokens)) or piece.block.label, "what the model said"
    if said.answer is not None:
        calls = " ".join(f"calls {call.name}" for call in said.answer.calls[:1])
        return BlockKind.ANSWER, _short(said.answer.text) or calls or piece.block.label, "what the model said"
    if said.attachments and piece.part == 0:
        return BlockKind.MESSAGE, "folder, date and git" if said.opening else "your message begins", "always there"
    return BlockKind.MESSAGE, _short(said.text), "your words" if said.label == MESSAGE else f"a {said.label}"


def _answer(text: str) -> str:
    """What the model said in a few words, or which tool it called."""
    call = _CALL.search(text)
    return _short(" ".join(["calls", *filter(None, call.groups())]) if call else _TAG.sub(" ", text))


def _short(text: str) -> str:
    title = " ".join(text.split())
    return title if len(title) <= _TITLE_CHARS else title[: _TITLE_CHARS - 1] + "…"
