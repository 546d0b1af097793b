"""What a message would bring along and cost before it is sent, and what of it can be computed already.

Reads the conversation and never changes it, so that it may be asked from any thread while the user types.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from laguna_engine.chat.transcript import Role
from laguna_engine.chat.vocabulary import Tokenizer
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.fitting import ANSWER_ROOM
from laguna_tui.agent.ports import Engine
from laguna_tui.agent.retold import MESSAGE, Said
from laguna_tui.agent.view import block_text, blocks
from laguna_tui.context.attach import Attacher
from laguna_tui.context.attachment import Attachment, Gathered
from laguna_tui.context.blocks import BlockText, ContextBlock, Cost, Place
from laguna_tui.context.mentions import Mention, mentions
from laguna_tui.context.tokens import Counter

# Of the room that is left, what is attached may take so much: the rest is for tools and the answer.
ATTACHED_SHARE = 0.6
_FORGETS = "this model keeps in mind {kept} of a chat, so the earlier ones are left out of its prompt from here on"
LOOKS_UP = "this model is too small to read files beside a question, so it looks up what you mention"


@dataclass(frozen=True, slots=True)
class Outlook:
    """A conversation, and what answers it.

    count: the tokens of a text, remembered. attacher: None for a model that cannot read what is attached, and looks up
    itself what a message names. opening: what stands before the first words of all. read: tokens of the conversation
    that were in the KV cache once; what of them is not there any more has to be computed again.
    """

    engine: Engine
    vocabulary: Tokenizer
    conversation: Conversation
    count: Counter
    attacher: Attacher | None
    opening: Callable[[], str]
    read: int

    def gathered(self, message: str, should_stop: Callable[[], bool]) -> Gathered:
        """What the message brings along when it is sent; may take seconds."""
        if self.attacher is None:
            return _unattached(message)
        first, present = not self.conversation.started, self.conversation.present
        return self.attacher.gather(message, self._room(message), present, should_stop, first=first)

    def said(self, message: str, attachments: tuple[Attachment, ...]) -> Said:
        """The message as it is added to the conversation."""
        opening = "" if self.conversation.started else self.opening()
        words = unmarked(message) if self.attacher is None else message
        return Said(Role.USER, MESSAGE, words, opening=opening, attachments=attachments)

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
            return _unattached(message)
        first, present = not self.conversation.started, self.conversation.present
        return self.attacher.preview(message, self._room(message), present, first=first)

    def _room(self, message: str) -> int:
        """Tokens that attachments may take."""
        free = self.engine.n_ctx - len(self.conversation.tokens) - self.count(message) - ANSWER_ROOM
        return int(max(0, free) * ATTACHED_SHARE)

    def _text(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.vocabulary.piece, tokens)).decode("utf-8", errors="replace")


def forgets(turns: int) -> str:
    """The note shown once a chat has more turns than the model reads."""
    return _FORGETS.format(kept="one question at a time" if turns == 1 else f"the newest {turns} questions")


def _unattached(message: str) -> Gathered:
    return Gathered(notes=(LOOKS_UP,) if mentions(message) else ())


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
