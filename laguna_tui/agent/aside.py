"""What a model answers to an instruction that does not stay in the conversation: a summary, a commit's message."""

from collections.abc import Callable, Generator

from laguna_engine.config import Request
from laguna_engine.events import Prefill
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.generation import AgentOptions, Generation, TokenEngine
from laguna_tui.base.events import AgentEvent, Rate


def written_aside(
    engine: TokenEngine,
    conversation: Conversation,
    options: AgentOptions,
    instruction: str,
    limit: int,
    cancelled: Callable[[], bool],
) -> Generator[AgentEvent, None, str]:
    """Have the model write something behind all that was said; returns it, empty where there is no room for it.

    Args:
        instruction: what it is asked; it is not added to the conversation.
        limit: tokens of the answer.
        cancelled: ends the writing.

    Raises:
        EngineError: while iterating, when the engine fails.
    """
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
    step = Generation(engine, parser, conversation.piece)
    for event in step.run(request, cancelled):
        if isinstance(event, Prefill | Rate):
            yield event
    return step.record(request).answer.text.strip()
