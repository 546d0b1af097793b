"""The transcript of one chat and the only code that adds to it: every piece is rendered once and never touched again.

What was sent to the engine therefore stays a prefix of what is sent next, and its KV cache stays good.
"""

from collections.abc import Sequence

from laguna_engine.chat.messages import ToolSpec
from laguna_engine.chat.template import Family, Renderer
from laguna_engine.chat.toolcalls import StreamParser
from laguna_engine.chat.transcript import Role, TokenView, Transcript
from laguna_engine.chat.vocabulary import SafeEncoder, Tokenizer
from laguna_tui.agent.files import FilesRead
from laguna_tui.agent.retold import Heard, Said, told


class Conversation:
    """A growing transcript in the model's own format; `files` is what was read on the way."""

    def __init__(
        self, vocabulary: Tokenizer, family: Family, *, thinking: bool, prompt: str, tools: Sequence[ToolSpec]
    ) -> None:
        self.transcript = Transcript()
        self._family = family
        self._tools = tools
        self._thinking = thinking
        self._heard: list[Said | Heard] = []
        self.use_vocabulary(vocabulary)
        self.files = FilesRead()
        self.stop_tokens = self._renderer.stop_tokens
        self.transcript.append(Role.SYSTEM, self._renderer.system(prompt, tools), "system prompt and tools")

    def use_vocabulary(self, vocabulary: Tokenizer) -> None:
        """Go on with this vocabulary, which is that of the same model opened again."""
        self._vocabulary = vocabulary
        encoder = SafeEncoder(vocabulary)
        self._renderer = Renderer(encoder, self._family, self._thinking)
        self._markers = encoder.markers

    @property
    def tokens(self) -> TokenView:
        """Everything so far."""
        return self.transcript.tokens

    @property
    def started(self) -> bool:
        """Whether the user has said anything."""
        return len(self.transcript.blocks) > 1

    def with_message(self, text: str) -> list[int]:
        """The tokens the engine would be given for a message, which is not added yet."""
        return [*self.tokens, *self._renderer.user(text), *self._renderer.generation_prompt()]

    def add_message(self, text: str, label: str = "message") -> None:
        """Add the user's words."""
        self.transcript.append(Role.USER, self._renderer.user(text), label)
        self._heard.append(Said(Role.USER, label, text))

    def result_size(self, text: str) -> int:
        """How many tokens a tool's answer and the opening of the next turn take."""
        return len(self._renderer.tool_response(text)) + len(self._renderer.generation_prompt())

    def add_result(self, text: str, label: str) -> None:
        """Add what a tool answered."""
        self.transcript.append(Role.TOOL, self._renderer.tool_response(text), label)
        self._heard.append(Said(Role.TOOL, label, text))

    def open_turn(self) -> StreamParser:
        """Open the assistant's turn; returns the parser for what it will say."""
        self.transcript.append(Role.ASSISTANT, self._renderer.generation_prompt(), "answer")
        return StreamParser(self._tools, in_reasoning=self._thinking, markers=self._markers)

    def close_turn(self, generated: Sequence[int]) -> None:
        """Add what the model said and whatever its turn needs to be whole."""
        self.transcript.extend([*generated, *self._renderer.close_assistant(generated)])
        self._heard.append(Heard("answer", tuple(generated)))

    def said(self) -> tuple[Said, ...]:
        """Everything said so far, for another model; needs the vocabulary, so ask before the engine is closed."""
        return told(self._heard, self._vocabulary, self._markers, self._tools, thinking=self._thinking)

    def retell(self, said: Sequence[Said]) -> None:
        """Add what was said to another model, written as this one writes it."""
        for each in said:
            if each.answer is None:
                (self.add_result if each.role is Role.TOOL else self.add_message)(each.text, each.label)
                continue
            self.transcript.append(Role.ASSISTANT, self._renderer.assistant(each.answer), each.label)
            self._heard.append(each)
