"""What was said in a conversation, apart from how a model's template writes it: so that another model can read it.

Tokens mean something else to another model, so a conversation is taken apart with the old vocabulary, and rendered
again with the new one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from laguna_engine.chat.messages import AssistantMessage, ToolCall, ToolSpec
from laguna_engine.chat.parsed import CallFinished, Malformed, Reasoning, Text
from laguna_engine.chat.toolcalls import StreamParser
from laguna_engine.chat.transcript import Role
from laguna_engine.chat.vocabulary import Tokenizer


@dataclass(frozen=True, slots=True)
class Said:
    """One message. text: the user's or a tool's. answer: the model's, None for others."""

    role: Role
    label: str
    text: str = ""
    answer: AssistantMessage | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """What the model said, as it is kept while the conversation runs: its tokens."""

    label: str
    tokens: Sequence[int]


def told(
    heard: Sequence[Said | Heard],
    vocabulary: Tokenizer,
    markers: Mapping[int, str],
    tools: Sequence[ToolSpec],
    *,
    thinking: bool,
) -> tuple[Said, ...]:
    """The messages, with the model's taken apart. vocabulary, markers, thinking: what they were generated with."""

    def said(each: Said | Heard) -> Said:
        if isinstance(each, Said):
            return each
        parser = StreamParser(tools, in_reasoning=thinking, markers=markers)
        return Said(Role.ASSISTANT, each.label, answer=_message(each.tokens, vocabulary, parser))

    return tuple(map(said, heard))


def _message(tokens: Sequence[int], vocabulary: Tokenizer, parser: StreamParser) -> AssistantMessage:
    events = [event for token in tokens for event in parser.feed(token, vocabulary.piece(token))]
    text, reasoning, calls = "", "", list[ToolCall]()
    for event in (*events, *parser.finish()):
        match event:
            case Reasoning(part):
                reasoning += part
            case Text(part) | Malformed(raw=part):
                text += part
            case CallFinished(call):
                calls.append(call)
            case _:
                pass
    return AssistantMessage(text, reasoning, tuple(calls))
