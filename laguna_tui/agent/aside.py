"""Text that the model writes outside the conversation: a summary, a commit message."""

from collections.abc import Callable, Generator

from laguna_engine.chat.transcript import Role
from laguna_engine.config import Request
from laguna_engine.events import Prefill
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.generation import AgentOptions, Generation
from laguna_tui.agent.message_step import Backend, MessageStep, Step
from laguna_tui.agent.prompt import system_prompt
from laguna_tui.backends.base import Message, MessageBackend
from laguna_tui.base.events import AgentEvent, Rate


def written_aside(
    engine: Backend,
    conversation: Conversation,
    options: AgentOptions,
    instruction: str,
    limit: int,
    cancelled: Callable[[], bool],
) -> Generator[AgentEvent, None, str]:
    """Have the model write something after the conversation so far.

    Args:
        instruction: what it is asked; it is not added to the conversation.
        limit: tokens of the answer.
        cancelled: ends the writing.

    Returns:
        What it wrote; empty if there is no room, or the model does not write such texts.

    Raises:
        EngineError: while iterating, when the engine fails.
    """
    if not conversation.profile.writes_asides:
        return ""
    tokens, parser = conversation.summary_prompt(instruction)
    if len(tokens) + limit > engine.n_ctx:
        return ""
    request = Request(
        tokens,
        sampling=options.sampling,
        stop_tokens=conversation.stop_tokens,
        max_tokens=limit,
        drafting=options.drafting,
    )
    step: Step
    if isinstance(engine, MessageBackend):
        step = MessageStep(engine, conversation, Message(Role.USER, instruction), limit)
    else:
        step = Generation(engine, parser, conversation.piece)
    for event in step.run(request, cancelled):
        if isinstance(event, Prefill | Rate):
            yield event
    return step.record(request).answer.text.strip()


def commit_message(
    engine: Backend,
    conversation: Conversation,
    options: AgentOptions,
    material: str,
    limit: int,
    cancelled: Callable[[], bool],
) -> str:
    """Have the model write a commit message; arguments as for `written_aside`.

    material: what is committed, and how; truncated if it does not fit.
    """
    instruction = system_prompt("commit")
    room = engine.n_ctx - len(conversation.tokens) - limit - 2 * conversation.count(instruction)
    while material and conversation.count(material) > room:
        material = material[: len(material) * 3 // 4]
    writing = written_aside(engine, conversation, options, f"{instruction}\n\n{material}", limit, cancelled)
    while True:
        try:
            next(writing)
        except StopIteration as stop:
            message: str = stop.value
            return message
