"""Laguna's chat format: messages as tokens and tokens as events. Deals in token ids and never in the engine."""

from weakref import WeakKeyDictionary

from laguna_engine.chat.encoding import SafeEncoder, Tokenizer
from laguna_engine.chat.known_markup import LAGUNA_TURN
from laguna_engine.chat.messages import Role, ToolSpec
from laguna_engine.chat.parser import StreamParser
from laguna_engine.chat.template import Family, Renderer
from laguna_engine.constrain.base import ConstraintSpec
from laguna_tui.backends.base import Message, Options, Prompt
from laguna_tui.backends.local.answer_constraints import AnswerConstraints
from laguna_tui.base.messages import Trace

Parts = tuple[list[int], ...]
"""Tokens of a message's parts."""


class LagunaFormat:
    """Renders prompts for one model. Any thread.

    Attributes:
        encoder: Text to tokens; no text becomes markup.
        stop_tokens: What ends the model's turn.
        writes_calls: Whether the model can call tools.
        turn: What encloses parts of its turns.
    """

    writes_calls = True
    turn = LAGUNA_TURN

    def __init__(self, vocabulary: Tokenizer, family: Family, model: str) -> None:
        """Take a model.

        Args:
            vocabulary: The model's.
            family: The template it was trained on.
            model: Identifies it; a trace of another model is rendered from its text.

        Raises:
            ModelFileError: The vocabulary has no token that ends a turn.
        """
        self.encoder = encoder = SafeEncoder(vocabulary)
        self._renderers = {thinking: Renderer(encoder, family, thinking) for thinking in (False, True)}
        self._openings: dict[bool, list[int]] = {}
        self._model = model
        self._known = {thinking: WeakKeyDictionary[Message, Parts]() for thinking in (False, True)}
        self._constraints = AnswerConstraints(LAGUNA_TURN)
        self._system: tuple[tuple[str | None, tuple[ToolSpec, ...], bool], list[int]] | None = None
        self.stop_tokens = self._renderers[False].stop_tokens
        self.warning = self.rewrites = ""

    def render(self, prompt: Prompt) -> list[Parts]:
        """Return the tokens of the system prompt with the tools, then of each message."""
        system = self.system(prompt.system, prompt.tools, thinking=prompt.thinking)
        return [(system,), *(self.parts(each, thinking=prompt.thinking) for each in prompt.messages)]

    def system(self, prompt: str | None, tools: tuple[ToolSpec, ...], *, thinking: bool) -> list[int]:
        """Return the tokens of a system prompt with the tools. prompt: None for the model's own."""
        key = prompt, tools, thinking
        known = self._system
        if known is None or known[0] != key:
            known = key, self._renderers[thinking].system(prompt, tools)
            self._system = known
        return known[1]

    def parts(self, message: Message, *, thinking: bool) -> Parts:
        """Return the tokens of a message."""
        known = self._known[thinking]
        parts = known.get(message)
        if parts is None:
            known[message] = parts = self._rendered(message, self._renderers[thinking])
        return parts

    def opening_after(self, prompt: Prompt) -> list[int]:
        """Return the tokens that open the model's turn after a prompt."""
        return self.opening(thinking=prompt.thinking)

    def parser_after(self, prompt: Prompt) -> StreamParser:
        """Return a parser of the model's turn after a prompt."""
        return self.parser(prompt.tools, thinking=prompt.thinking)

    def opening(self, *, thinking: bool) -> list[int]:
        """Return the tokens that open the model's turn."""
        # Kept for the previews of a prompt, which must not tokenize anything again. Not tokenized before it is needed:
        # the server makes a format on the thread that answers everybody.
        tokens = self._openings.get(thinking)
        if tokens is None:
            tokens = self._openings[thinking] = self._renderers[thinking].generation_prompt()
        return tokens

    def parser(self, tools: tuple[ToolSpec, ...], *, thinking: bool) -> StreamParser:
        """Return a parser of the model's output in its turn."""
        return StreamParser(tools, in_reasoning=thinking, markers=self.encoder.markers)

    def constraints(self, prompt: Prompt, options: Options) -> tuple[ConstraintSpec, ...]:
        """Return the constraints that the options put on an answer."""
        return self._constraints.of(prompt, options)

    def _rendered(self, message: Message, renderer: Renderer) -> Parts:
        if message.trace is not None and message.trace.model == self._model:
            return ([*renderer.generation_prompt(), *_answered(message.trace, renderer)],)
        if message.answer is not None:
            return (renderer.assistant(message.answer),)
        if message.role is Role.TOOL:
            return (renderer.tool_response("".join(message.parts)),)
        return tuple(renderer.user_parts(message.parts))


def _answered(trace: Trace, renderer: Renderer) -> list[int]:
    """Return what the model wrote, completed to a whole turn."""
    kept = renderer.kept(trace.tokens)
    return [*kept, *renderer.close_assistant(kept)]
