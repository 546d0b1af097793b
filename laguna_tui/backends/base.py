"""What a model behind messages is asked, and what it says: values, and the protocol of who answers.

Beside it stands the agent's `TokenEngine`, which continues tokens: the KV cache, snapshots, drafts and what they cost
exist only there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from laguna_engine.chat.encoding import Tokenizer
from laguna_engine.chat.messages import AssistantMessage, CallFinished, Malformed, Reasoning, Text, ToolSpec
from laguna_engine.chat.transcript import Role
from laguna_engine.events import FinishReason
from laguna_engine.sequence import Preview


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Attributes:
        role: whose it is. A tool's answers the first call before it that has no answer yet.
        text: the user's or a tool's.
        answer: the model's; None for others.
    """

    role: Role
    text: str = ""
    answer: AssistantMessage | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One generation.

    Attributes:
        system: the system prompt.
        messages: the conversation, oldest first.
        tools: what may be called, in the order in which the model is told of them.
        max_tokens: of the generation; None for what the endpoint allows.
        thinking: whether the model thinks first; None as the endpoint has it.
    """

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    max_tokens: int | None = None
    thinking: bool | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them.

    Attributes:
        prompt: of the prompt.
        generated: of the answer, thinking and calls included.
        cached: of the prompt, those that were not computed again; None where it does not say.
    """

    prompt: int
    generated: int
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The last event of every generation. usage: None where the endpoint does not count."""

    reason: FinishReason
    usage: Usage | None = None


ChatEvent = Reasoning | Text | CallFinished | Malformed | Answered


@runtime_checkable
class MessageBackend(Protocol):
    """Answers messages.

    Attributes:
        n_ctx: tokens of context, as far as it is known.
    """

    n_ctx: int

    @property
    def vocab(self) -> Tokenizer:
        """Estimates tokens, to plan what has room; the endpoint's own are never seen."""
        ...

    def chat(self, request: ChatRequest) -> Iterator[ChatEvent]:
        """One generation, ending with `Answered`; iterate to make it go on, drop it to cancel.

        Raises:
            EngineError: while iterating; what came before it is part of the answer.
        """
        ...

    def cancel(self) -> None:
        """End the running generation soon; harmless when none runs. Any thread."""
        ...

    def preview(self, tokens: Sequence[int]) -> Preview:
        """Whether a prompt has room, by estimated tokens; nothing is known of the endpoint's cache."""
        ...
