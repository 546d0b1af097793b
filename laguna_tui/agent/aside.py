"""Text that the model writes outside the conversation: a summary, a commit message."""

from collections.abc import Callable, Generator
from contextlib import closing

from laguna_engine.events import Prefill
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.options import AgentOptions
from laguna_tui.agent.prompt import system_prompt
from laguna_tui.backends.base import Options
from laguna_tui.base.events import AgentEvent, Rate
from laguna_tui.base.messages import ChatMessage


def written_aside(
    conversation: Conversation, options: AgentOptions, instruction: str, limit: int, cancelled: Callable[[], bool]
) -> Generator[AgentEvent, None, str]:
    """Have the model write something after the conversation so far.

    Args:
        conversation: The conversation; nothing is added to it.
        options: The conversation's.
        instruction: What it is asked.
        limit: Token limit of the answer.
        cancelled: Ends the writing.

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
            if isinstance(event, Prefill | Rate):
                yield event
    said = answer.message.answer
    return "" if said is None else said.text.strip()


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
