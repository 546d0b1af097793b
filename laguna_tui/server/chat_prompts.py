"""Messages as the tokens of the model's template, so that a conversation continues from what is in the KV cache.

A client sends the whole conversation with every request, and the model's own words come back as text: other tokens than
those that were generated, and often without their reasoning. So what was generated is remembered by its prompt, and
where a client sends it back its very tokens are used.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from laguna_engine.chat.encoding import SafeEncoder
from laguna_engine.chat.messages import AssistantMessage
from laguna_engine.chat.parser import StreamParser
from laguna_engine.chat.template import Family, Renderer, to_json
from laguna_tui.server.api_error import ApiError, context_exceeded
from laguna_tui.server.chat_request import CallChoice, ChatRequest, Said, Speaker
from laguna_tui.session.shared_model import SharedModel

_REMEMBERED = 2048
"""Answers, of a few kilobytes each."""


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """A chat as tokens.

    Attributes:
        tokens: up to where the model speaks.
        before: what of the model's turn they contain already, as tokens, for the parser.
        thinking: whether the turn begins in its reasoning.
    """

    tokens: list[int]
    before: tuple[int, ...]
    thinking: bool


def check_size(texts: Sequence[str], model: SharedModel, more: int = 0) -> None:
    """Refuse what cannot fit, without tokenizing it: a text has at least one token for each longest piece.

    Args:
        texts: each is tokenized on its own.
        model: whose context and vocabulary count.
        more: tokens beside the texts.

    Raises:
        ApiError: the texts have more tokens than the context holds.
    """
    engine = model.engine
    least = sum(len(text) // engine.vocab.longest_piece for text in texts) + more
    if least > engine.n_ctx:
        raise context_exceeded(least, engine.n_ctx, at_least=True)


class AnswersSaid:
    """The tokens of answers, by the prompt that they answer and by what they say. Of one model."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[bytes, tuple[int, ...]] = OrderedDict()

    def remember(self, prompt: Sequence[int], answer: AssistantMessage, tokens: Sequence[int]) -> None:
        """`tokens` said `answer` behind `prompt`, whose last ones open the turn."""
        key = _key(prompt, answer)
        self._tokens[key] = tuple(tokens)
        self._tokens.move_to_end(key)
        if len(self._tokens) > _REMEMBERED:
            self._tokens.popitem(last=False)

    def find(self, prompt: Sequence[int], answer: AssistantMessage) -> tuple[int, ...] | None:
        """The tokens that said this behind this prompt; None if nobody remembers."""
        return self._tokens.get(_key(prompt, answer))


def _key(prompt: Sequence[int], answer: AssistantMessage) -> bytes:
    # The reasoning is left out: most clients do not send it back.
    calls = [[call.name, call.arguments] for call in answer.calls]
    said = to_json([answer.text.strip(), calls]).encode("utf-8", "replace")
    return blake2b(np.asarray(prompt, np.int32).tobytes() + said, digest_size=16).digest()


class ChatPrompts:
    """Writes chats for one open model.

    Attributes:
        encoder: text to tokens, in which nothing becomes markup.
        answers: what was said.
    """

    def __init__(self, model: SharedModel) -> None:
        self.encoder = SafeEncoder(model.engine.vocab)
        self.answers = AnswersSaid()
        self._model = model
        self._renderers = {thinking: Renderer(self.encoder, model.family, thinking) for thinking in (False, True)}

    @property
    def stop_tokens(self) -> frozenset[int]:
        """What ends the model's turn."""
        return self._renderers[False].stop_tokens

    def parser(self, request: ChatRequest, prompt: ChatPrompt) -> StreamParser:
        """A parser for the model's turn, which has heard the part of it that is in the prompt."""
        parser = StreamParser(request.offered, in_reasoning=prompt.thinking, markers=self.encoder.markers)
        for token in prompt.before:
            parser.feed(token, self.piece(token))
        return parser

    def piece(self, token: int) -> bytes:
        """The bytes of a token."""
        return self._model.engine.vocab.piece(token)

    def prompt(self, request: ChatRequest) -> ChatPrompt:
        """The tokens of a chat, open for the model's turn. ApiError for one that cannot fit or be continued."""
        # Each message is tokenized on its own, and its markup makes at least one token more.
        texts = [each.answer.text if each.speaker is Speaker.ASSISTANT else each.text for each in request.said]
        check_size(texts, self._model, more=len(texts))
        forced = request.choice is CallChoice.REQUIRED
        thinking = self._model.thinking if request.thinking is None else request.thinking
        # A call that has to be made begins at once.
        thinking = thinking and not forced
        renderer = self._renderers[thinking]
        head, rest = _split_system(request.said)
        tokens = renderer.system(head, request.offered)
        last = rest[-1] if rest else None
        continued = last if last is not None and last.speaker is Speaker.ASSISTANT else None
        for said in rest[: len(rest) - (continued is not None)]:
            self._add(tokens, renderer, said)
        if continued is not None:
            renderer, thinking = self._renderers[False], False
        tokens += renderer.generation_prompt()
        before = self._begun(request, continued, forced=forced)
        return ChatPrompt([*tokens, *before], tuple(before), thinking)

    def remember(self, prompt: ChatPrompt, answer: AssistantMessage, generated: Sequence[int]) -> None:
        """The model said this."""
        cut = len(prompt.tokens) - len(prompt.before)
        self.answers.remember(prompt.tokens[:cut], answer, (*prompt.before, *generated))

    def _add(self, tokens: list[int], renderer: Renderer, said: Said) -> None:
        match said.speaker:
            case Speaker.ASSISTANT:
                self._add_answer(tokens, renderer, said.answer)
            case Speaker.TOOL:
                tokens += renderer.tool_response(said.text)
            case _:
                tokens += renderer.user(said.text)

    def _add_answer(self, tokens: list[int], renderer: Renderer, answer: AssistantMessage) -> None:
        # An answer of a turn that was forced has another opening than one that could think.
        for other in (renderer, *(each for each in self._renderers.values() if each is not renderer)):
            opening = other.generation_prompt()
            generated = self.answers.find([*tokens, *opening], answer)
            if generated is not None:
                kept = other.kept(generated)
                tokens += [*opening, *kept, *other.close_assistant(kept)]
                return
        tokens += renderer.assistant(answer)

    def _begun(self, request: ChatRequest, continued: Said | None, *, forced: bool) -> list[int]:
        """How the model's turn begins, where that is fixed."""
        if forced:
            line = "" if self._model.family is Family.S_2_1 else "\n"
            name = f"{request.only}{line}" if request.only else ""
            return self.encoder.encode_markup(f"{line}<tool_call>{name}")
        if continued is None:
            return []
        if continued.answer.calls:
            raise ApiError(400, "The last message calls tools; send their results behind it.", param="messages")
        text = continued.answer.text.rstrip()
        line = "" if self._model.family is Family.S_2_1 else "\n"
        return self.encoder.encode_text(line + text) if text else []


def _split_system(said: Sequence[Said]) -> tuple[str | None, Sequence[Said]]:
    """The system prompt, None for the model's own, and the other messages; one in the middle is read as a user's."""
    count = next((index for index, each in enumerate(said) if each.speaker is not Speaker.SYSTEM), len(said))
    texts = [each.text for each in said[:count]]
    return ("\n\n".join(texts) if texts else None), said[count:]
