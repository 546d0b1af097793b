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


class Conversation:
    """A growing transcript in the model's own format; `files` is what was read on the way."""

    def __init__(
        self, vocabulary: Tokenizer, family: Family, *, thinking: bool, prompt: str, tools: Sequence[ToolSpec]
    ) -> None:
        self.transcript = Transcript()
        self._family = family
        self._tools = tools
        self._thinking = thinking
        self.use_vocabulary(vocabulary)
        self.files = FilesRead()
        self.stop_tokens = self._renderer.stop_tokens
        self.transcript.append(Role.SYSTEM, self._renderer.system(prompt, tools), "system prompt and tools")

    def use_vocabulary(self, vocabulary: Tokenizer) -> None:
        """Go on with this vocabulary, which is that of the same model opened again."""
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

    def result_size(self, text: str) -> int:
        """How many tokens a tool's answer and the opening of the next turn take."""
        return len(self._renderer.tool_response(text)) + len(self._renderer.generation_prompt())

    def add_result(self, text: str, label: str) -> None:
        """Add what a tool answered."""
        self.transcript.append(Role.TOOL, self._renderer.tool_response(text), label)

    def open_turn(self) -> StreamParser:
        """Open the assistant's turn; returns the parser for what it will say."""
        self.transcript.append(Role.ASSISTANT, self._renderer.generation_prompt(), "answer")
        return StreamParser(self._tools, in_reasoning=self._thinking, markers=self._markers)

    def close_turn(self, generated: Sequence[int]) -> None:
        """Add what the model said and whatever its turn needs to be whole."""
        self.transcript.extend([*generated, *self._renderer.close_assistant(generated)])
