"""Renders the chats of clients as tokens, so that a conversation continues from what is in the KV cache.

A client sends the whole conversation with every request, and the model's own words come back as text: as other tokens
than were generated, and often without the reasoning. So the tokens of an answer are remembered by its prompt, and used
again when a client sends the answer back.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain

import numpy as np

from laguna_engine.chat.answer_constraint import SchemaAnswer
from laguna_engine.chat.call_constraint import ToolCalls
from laguna_engine.chat.chat_template import TemplateFailed
from laguna_engine.chat.known_markup import LAGUNA_TURN
from laguna_engine.chat.messages import AssistantMessage, Role
from laguna_engine.chat.template import Family, to_json
from laguna_engine.constrain.base import ConstraintSpec, Continued
from laguna_engine.errors import RequestError
from laguna_tui.backends.base import Message, Prompt
from laguna_tui.backends.local.answer import TurnParser
from laguna_tui.backends.local.backend import template_format
from laguna_tui.backends.local.laguna_format import LagunaFormat
from laguna_tui.backends.local.template_format import TemplateFormat
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
        key: Identifies the conversation before the answer.
    """

    tokens: list[int]
    begun: tuple[int, ...]
    thinking: bool
    key: bytes


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
    """The tokens of recent answers of one model, by the conversation before the answer and its text."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[bytes, tuple[int, ...]] = OrderedDict()

    def remember(self, before: bytes, answer: AssistantMessage, tokens: Sequence[int]) -> None:
        """Remember the tokens of an answer to a conversation."""
        key = _key(before, answer)
        self._tokens[key] = tuple(tokens)
        self._tokens.move_to_end(key)
        if len(self._tokens) > _REMEMBERED:
            self._tokens.popitem(last=False)

    def find(self, before: bytes, answer: AssistantMessage) -> tuple[int, ...] | None:
        """Return the tokens of this answer to this conversation; None if it is not remembered."""
        return self._tokens.get(_key(before, answer))


def _key(before: bytes, answer: AssistantMessage) -> bytes:
    # Without the reasoning: most clients do not send it back.
    calls = [[call.name, call.arguments] for call in answer.calls]
    text = to_json([answer.text.strip(), calls]).encode("utf-8", "replace")
    return blake2b(before + text, digest_size=16).digest()


def _key_of_tokens(tokens: Sequence[int]) -> bytes:
    return np.asarray(tokens, np.int32).tobytes()


class ChatPrompts(ABC):
    """Renders chats for one open model.

    Attributes:
        stop_tokens: What ends the model's turn.
        turn: What encloses parts of its turns.
        forced: The same of a turn that has to begin with a call.
    """

    turn = LAGUNA_TURN
    forced = LAGUNA_TURN

    def __init__(self, model: SharedModel, stop_tokens: frozenset[int], markers: Mapping[int, str]) -> None:
        self.stop_tokens = stop_tokens
        self._markers = markers
        self._answers = AnswerTokens()
        self._model = model

    def parser(self, request: ChatRequest, prompt: ChatPrompt) -> TurnParser:
        """Return a parser of the model's turn, fed with what of the turn is in the prompt."""
        parser = self._parser(request, prompt)
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
        return self._prompt(request, _continued(request), forced=forced, thinking=thinking and not forced)

    def text(self, prompt: ChatPrompt) -> str:
        """Return a chat as the text that the model reads."""
        piece = self._model.engine.vocab.piece
        return b"".join(map(piece, prompt.tokens)).decode("utf-8", "replace")

    @abstractmethod
    def _parser(self, request: ChatRequest, prompt: ChatPrompt) -> TurnParser:
        """Return a parser of the model's turn."""

    @abstractmethod
    def _prompt(
        self, request: ChatRequest, continued: AssistantMessage | None, *, forced: bool, thinking: bool
    ) -> ChatPrompt:
        """Return the tokens of a chat that fits. continued: The turn that it ends with; None if it ends otherwise."""

    def constraints(self, request: ChatRequest, prompt: ChatPrompt) -> tuple[ConstraintSpec, ...]:
        """Return the constraints of the answer. ApiError for a schema that cannot be enforced.

        The schema of the answer does not hold a call that the prompt has begun.
        """
        forced = request.choice is CallChoice.REQUIRED
        turn = self.forced if forced else self.turn
        try:
            calls = ToolCalls.strict(request.offered, turn)
        except RequestError as error:
            raise ApiError(400, str(error), param="tools") from error
        if calls is None and forced and turn is not LAGUNA_TURN:
            # Other models begin one and write something else.
            calls = ToolCalls(request.offered, markup=turn)
        begun = len(prompt.begun) if forced else 0
        held: tuple[ConstraintSpec, ...] = () if calls is None else (Continued(calls, begun) if begun else calls,)
        if request.schema is None or prompt.begun:
            return held
        try:
            schema = SchemaAnswer.checked(
                request.schema, calls=bool(request.offered), markup=self.turn, thinks=prompt.thinking
            )
        except RequestError as error:
            raise ApiError(400, str(error), param=request.schema_place) from error
        return (schema, *held)

    def marker(self, token: int) -> str | None:
        """Return the text of a token that is never part of an answer; None for other tokens."""
        return self._markers.get(token)

    def remember(self, prompt: ChatPrompt, answer: AssistantMessage, generated: Sequence[int]) -> None:
        """Remember the tokens of an answer."""
        self._answers.remember(prompt.key, answer, (*prompt.begun, *generated))


def chat_prompts(model: SharedModel) -> ChatPrompts:
    """Return what renders chats for a model: in Laguna's format, or by the template in the model's file."""
    return TemplatePrompts(model) if model.family is None else LagunaPrompts(model, model.family)


class LagunaPrompts(ChatPrompts):
    """Renders chats in Laguna's format."""

    def __init__(self, model: SharedModel, family: Family) -> None:
        self._format = LagunaFormat(model.engine.vocab, family, model.name)
        super().__init__(model, self._format.stop_tokens, self._format.encoder.markers)
        self._line_break = "" if family is Family.S_2_1 else "\n"

    def _parser(self, request: ChatRequest, prompt: ChatPrompt) -> TurnParser:
        return self._format.parser(request.offered, thinking=prompt.thinking)

    def _prompt(
        self, request: ChatRequest, continued: AssistantMessage | None, *, forced: bool, thinking: bool
    ) -> ChatPrompt:
        system, messages = _split_system(request.messages)
        tokens = list(self._format.system(system, request.offered, thinking=thinking))
        for message in messages if continued is None else messages[:-1]:
            tokens += self._message(tokens, message, thinking=thinking)
        thinking = thinking and continued is None
        tokens += self._format.opening(thinking=thinking)
        begun = self._begun(request, continued, forced=forced)
        return ChatPrompt([*tokens, *begun], tuple(begun), thinking, _key_of_tokens(tokens))

    def _message(self, before: Sequence[int], message: Message, *, thinking: bool) -> list[int]:
        if message.answer is not None:
            # A turn with a required call was opened differently from one that could think.
            for other in (thinking, not thinking):
                generated = self._answers.find(
                    _key_of_tokens([*before, *self._format.opening(thinking=other)]), message.answer
                )
                if generated is not None:
                    message = Message(Role.ASSISTANT, answer=message.answer, trace=Trace(self._model.name, generated))
                    thinking = other
                    break
        return list(chain.from_iterable(self._format.parts(message, thinking=thinking)))

    def _begun(self, request: ChatRequest, continued: AssistantMessage | None, *, forced: bool) -> list[int]:
        """Return the beginning of the model's turn, where the request fixes it."""
        if forced:
            name = f"{request.only}{self._line_break}" if request.only else ""
            return self._format.encoder.encode_markup(f"{self._line_break}<tool_call>{name}")
        if continued is None:
            return []
        text = _begun_text(continued)
        return self._format.encoder.encode_text(self._line_break + text) if text else []


class TemplatePrompts(ChatPrompts):
    """Renders chats by the template in the model's file."""

    def __init__(self, model: SharedModel) -> None:
        self._format = template_format(model.engine, model.name)
        self.turn, self.forced = self._format.turn, self._format.calling.turn
        super().__init__(model, self._format.stop_tokens, self._format.markers)

    def _parser(self, request: ChatRequest, prompt: ChatPrompt) -> TurnParser:
        forced = request.choice is CallChoice.REQUIRED
        return self._format_of(forced=forced).parser_after(self._shown(request, prompt.thinking))

    def _prompt(
        self, request: ChatRequest, continued: AssistantMessage | None, *, forced: bool, thinking: bool
    ) -> ChatPrompt:
        shown, template = self._shown(request, thinking), self._format_of(forced=forced)
        text = "" if continued is None else _begun_text(continued)
        begun = self._model.engine.vocab.tokenize(text, special=False) if text else []
        try:
            if forced:
                begun = template.call_opening(shown, request.only)
            opened = chain.from_iterable(chain.from_iterable(template.render(shown)))
            tokens = [*opened, *template.opening_after(shown), *begun]
        except TemplateFailed as error:
            raise ApiError(500, str(error)) from error
        return ChatPrompt(tokens, tuple(begun), thinking, self._keys(request)[-1])

    def _format_of(self, *, forced: bool) -> TemplateFormat:
        """Return the format of an answer. forced: Whether it is a call, also of a model that otherwise only chats."""
        return self._format.calling if forced else self._format

    def _shown(self, request: ChatRequest, thinking: bool) -> Prompt:
        """Return a chat for the template, its answers with the tokens that were generated."""
        system, messages = _split_system(request.messages)
        if _continued(request) is not None:
            messages = messages[:-1]
        keys = self._keys(request)
        traced = [self._traced(message, key) for message, key in zip(messages, keys, strict=False)]
        return Prompt(system or "", request.offered, tuple(traced), thinking)

    def _traced(self, message: Message, key: bytes) -> Message:
        tokens = None if message.answer is None else self._answers.find(key, message.answer)
        return message if tokens is None else replace(message, trace=Trace(self._model.name, tokens))

    def _keys(self, request: ChatRequest) -> list[bytes]:
        """Return what identifies the conversation before each message, and before the answer."""
        system, messages = _split_system(request.messages)
        tools = [tool.as_openai() for tool in request.offered]
        digest = blake2b(to_json([system, tools]).encode("utf-8", "replace"), digest_size=16).digest()
        keys = [digest]
        for message in messages[:-1] if _continued(request) is not None else messages:
            answer = message.answer or AssistantMessage("".join(message.parts))
            keys.append(_key(keys[-1] + message.role.value.encode(), answer))
        return keys


def _continued(request: ChatRequest) -> AssistantMessage | None:
    """Return the model's turn that a chat ends with, which the answer continues; None if it ends otherwise."""
    return request.messages[-1].answer if request.messages else None


def _begun_text(continued: AssistantMessage) -> str:
    """Return the text of a turn to be continued; ApiError if it cannot be."""
    if continued.calls:
        raise ApiError(400, "The last message calls tools; send their results after it.", param="messages")
    return continued.text.rstrip()


def _split_system(messages: Sequence[Message]) -> tuple[str | None, Sequence[Message]]:
    """Return the system prompt, None for the model's own, and the other messages.

    A system message after others is rendered like a user's.
    """
    count = next((index for index, each in enumerate(messages) if each.role is not Role.SYSTEM), len(messages))
    texts = ["".join(each.parts) for each in messages[:count]]
    return ("\n\n".join(texts) if texts else None), messages[count:]
