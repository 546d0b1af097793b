"""Text that the model writes outside the conversation: a summary, a commit message, the answer to a side question."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing

from laguna_engine.events import Prefill
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.options import AgentOptions
from laguna_tui.agent.prompt import system_prompt
from laguna_tui.backends.base import Options
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import AgentEvent, Rate, TextDelta
from laguna_tui.base.messages import ChatMessage

_SIDE_TOKENS = 4096
"""Token limit of the answer to a side question, which is to be brief."""
NO_ASIDES = "This model answers no side questions, because it is too small to. Choose a larger one: /model"
NO_ROOM = "There is no room in the context for a side question. Make room: /compact"
ONLY_CALLS = "The model wanted to call a tool, which it cannot in a side question. Send it as a message."


def written_aside(
    conversation: Conversation,
    options: AgentOptions,
    instruction: str,
    limit: int,
    cancelled: Callable[[], bool],
    shown: tuple[type[AgentEvent], ...] = (Prefill, Rate),
) -> Generator[AgentEvent, None, str]:
    """Have the model write something after the conversation so far.

    Args:
        conversation: The conversation; nothing is added to it.
        options: The conversation's.
        instruction: What it is asked.
        limit: Token limit of the answer.
        cancelled: Ends the writing.
        shown: The events to yield.

    Returns:
        What it wrote; empty if there is no room, or the model does not write such texts.

    Raises:
        EngineError: While iterating, when the engine fails.
    """
    if not conversation.profile.writes_asides:
        return ""
    prompt = conversation.prompt(ChatMessage.asked(instruction))
    if conversation.backend.cost(prompt).total + limit > conversation.backend.n_ctx:
        return ""
    wanted = Options(options.sampling, max_tokens=limit, drafting=options.drafting, aside=True)
    with closing(conversation.backend.generate(prompt, wanted)) as answer:
        for event in answer:
            if cancelled():
                answer.cancel()
            if isinstance(event, shown):
                yield event
    said = answer.message.answer
    return "" if said is None else said.text.strip()


def side_answer(
    conversation: Conversation, options: AgentOptions, question: str, cancelled: Callable[[], bool]
) -> Iterator[AgentEvent]:
    """Answer a side question; yield the progress and the text. Arguments as for `written_aside`.

    Raises:
        EngineError: While iterating, when the engine fails.
        UserError: While iterating: the model cannot answer it; says why.
    """
    if not conversation.profile.writes_asides:
        raise UserError(NO_ASIDES)
    asked = ChatMessage.asked(f"{system_prompt('aside')}\n\n{question}")
    room = conversation.backend.n_ctx - conversation.cost(asked).total
    if room <= 0:
        raise UserError(NO_ROOM)
    shown = (Prefill, Rate, TextDelta)
    text = yield from written_aside(conversation, options, asked.text, min(room, _SIDE_TOKENS), cancelled, shown)
    if not text and not cancelled():
        raise UserError(ONLY_CALLS)


def commit_message(
    conversation: Conversation, options: AgentOptions, material: str, limit: int, cancelled: Callable[[], bool]
) -> str:
    """Have the model write a commit message; arguments as for `written_aside`.

    material: What is committed, and how; truncated if it does not fit.
    """
    instruction = system_prompt("commit")
    room = conversation.backend.n_ctx - conversation.size - limit - 2 * conversation.count(instruction)
    while material and conversation.count(material) > room:
        material = material[: len(material) * 3 // 4]
    writing = written_aside(conversation, options, f"{instruction}\n\n{material}", limit, cancelled)
    while True:
        try:
            next(writing)
        except StopIteration as stop:
            message: str = stop.value
            return message
