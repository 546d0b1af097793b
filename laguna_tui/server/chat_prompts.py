"""Renders the chats of clients as tokens, so that a conversation continues from what is in the KV cache.

A client sends the whole conversation with every request, and the model's own words come back as text: as other tokens
than were generated, and often without the reasoning. So the tokens of an answer are remembered by its prompt, and used
again when a client sends the answer back.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain

import numpy as np

from laguna_engine.chat.messages import AssistantMessage, Role
from laguna_engine.chat.parser import StreamParser
from laguna_engine.chat.template import Family, to_json
from laguna_tui.backends.base import Message
from laguna_tui.backends.local.laguna_format import LagunaFormat
from laguna_tui.base.messages import Trace
from laguna_tui.server.api_error import ApiError, context_exceeded
from laguna_tui.server.chat_request import CallChoice, ChatRequest
from laguna_tui.session.shared_model import SharedModel

_REMEMBERED = 2048
"""Answers, of a few kilobytes each."""


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """A chat as tokens.

    Attributes:
        tokens: Up to where the model continues.
        begun: The last of them, which belong to the model's turn; the parser needs them.
        thinking: Whether the turn begins with reasoning.
    """

    tokens: list[int]
    begun: tuple[int, ...]
    thinking: bool


def check_size(texts: Sequence[str], model: SharedModel, more: int = 0) -> None:
    """Refuse what cannot fit, without tokenizing it: a text has at least one token for each longest piece.

    Args:
        texts: Each is tokenized on its own.
        model: Its context and vocabulary count.
        more: Tokens besides the texts.

    Raises:
        ApiError: The texts have more tokens than the context holds.
    """
    engine = model.engine
    least = sum(len(text) // engine.vocab.longest_piece for text in texts) + more
    if least > engine.n_ctx:
        raise context_exceeded(least, engine.n_ctx, at_least=True)


class AnswerTokens:
    """The tokens of recent answers of one model, by the prompt and the text of the answer."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[bytes, tuple[int, ...]] = OrderedDict()

    def remember(self, prompt: Sequence[int], answer: AssistantMessage, tokens: Sequence[int]) -> None:
        """Remember the tokens of an answer to a prompt, whose last tokens open the turn."""
        key = _key(prompt, answer)
        self._tokens[key] = tuple(tokens)
        self._tokens.move_to_end(key)
        if len(self._tokens) > _REMEMBERED:
            self._tokens.popitem(last=False)

    def find(self, prompt: Sequence[int], answer: AssistantMessage) -> tuple[int, ...] | None:
        """Return the tokens of this answer to this prompt; None if it is not remembered."""
        return self._tokens.get(_key(prompt, answer))


def _key(prompt: Sequence[int], answer: AssistantMessage) -> bytes:
    # Without the reasoning: most clients do not send it back.
    calls = [[call.name, call.arguments] for call in answer.calls]
    text = to_json([answer.text.strip(), calls]).encode("utf-8", "replace")
    return blake2b(np.asarray(prompt, np.int32).tobytes() + text, digest_size=16).digest()


class ChatPrompts:
    """Renders chats for one open model.

    Attributes:
        format: The model's chat format.
    """

    def __init__(self, model: SharedModel) -> None:
        self.format = LagunaFormat(model.engine.vocab, model.family, model.name)
        self._answers = AnswerTokens()
        self._model = model
        self._line_break = "" if model.family is Family.S_2_1 else "\n"

    def parser(self, request: ChatRequest, prompt: ChatPrompt) -> StreamParser:
        """Return a parser of the model's turn, fed with what of the turn is in the prompt."""
        parser = self.format.parser(request.offered, thinking=prompt.thinking)
        for token in prompt.begun:
            parser.feed(token, self._model.engine.vocab.piece(token))
        return parser

    def prompt(self, request: ChatRequest) -> ChatPrompt:
        """Return the tokens of a chat, open for the model's turn. ApiError if it cannot fit or cannot be continued."""
        # Each message is tokenized on its own, and its markup has at least one token.
        texts = ["".join(each.parts) if each.answer is None else each.answer.text for each in request.messages]
        check_size(texts, self._model, more=len(texts))
        forced = request.choice is CallChoice.REQUIRED
        thinking = self._model.thinking if request.thinking is None else request.thinking
        # A call that is required begins at once.
        thinking = thinking and not forced
        system, messages = _split_system(request.messages)
        continued = messages[-1].answer if messages else None
        tokens = list(self.format.system(system, request.offered, thinking=thinking))
        for message in messages if continued is None else messages[:-1]:
            tokens += self._message(tokens, message, thinking=thinking)
        thinking = thinking and continued is None
        tokens += self.format.opening(thinking=thinking)
        begun = self._begun(request, continued, forced=forced)
        return ChatPrompt([*tokens, *begun], tuple(begun), thinking)

    def remember(self, prompt: ChatPrompt, answer: AssistantMessage, generated: Sequence[int]) -> None:
        """Remember the tokens of an answer."""
        opened = prompt.tokens[: len(prompt.tokens) - len(prompt.begun)]
        self._answers.remember(opened, answer, (*prompt.begun, *generated))

    def _message(self, before: Sequence[int], message: Message, *, thinking: bool) -> list[int]:
        if message.answer is not None:
            # A turn with a required call was opened differently from one that could think.
            for other in (thinking, not thinking):
                generated = self._answers.find([*before, *self.format.opening(thinking=other)], message.answer)
                if generated is not None:
                    message = Message(Role.ASSISTANT, answer=message.answer, trace=Trace(self._model.name, generated))
                    thinking = other
                    break
        return list(chain.from_iterable(self.format.parts(message, thinking=thinking)))

    def _begun(self, request: ChatRequest, continued: AssistantMessage | None, *, forced: bool) -> list[int]:
        """Return the beginning of the model's turn, where the request fixes it."""
        if forced:
            name = f"{request.only}{self._line_break}" if request.only else ""
            return self.format.encoder.encode_markup(f"{self._line_break}<tool_call>{name}")
        if continued is None:
            return []
        if continued.calls:
            raise ApiError(400, "The last message calls tools; send their results after it.", param="messages")
        text = continued.text.rstrip()
        return self.format.encoder.encode_text(self._line_break + text) if text else []


def _split_system(messages: Sequence[Message]) -> tuple[str | None, Sequence[Message]]:
    """Return the system prompt, None for the model's own, and the other messages.

    A system message after others is rendered like a user's.
    """
    count = next((index for index, each in enumerate(messages) if each.role is not Role.SYSTEM), len(messages))
    texts = ["".join(each.parts) for each in messages[:count]]
    return ("\n\n".join(texts) if texts else None), messages[count:]
