"""Ends a turn in which the app was killed: what was generated becomes the answer of a stopped turn."""

from collections.abc import Sequence

from laguna_engine.chat.messages import Role
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.turn import NOT_RUN, NOT_RUN_LABEL
from laguna_tui.base.messages import ChatMessage, Trace

ENDED_WITHIN = "error: laguna-tui ended while the tool ran; look at what it did before you go on"


def end_interrupted(conversation: Conversation, trace: Trace | None, running: int) -> None:
    """Complete a conversation whose last turn did not end.

    Args:
        conversation: As it was last recorded.
        trace: What the model had generated of what is not in the conversation yet; None for nothing.
        running: How many of the calls without a result had begun.
    """
    if trace is not None:
        conversation.record(conversation.backend.recovered(conversation.prompt(), trace))
    for number in range(_unanswered(conversation.items())):
        conversation.add_result(ENDED_WITHIN if number < running else NOT_RUN, NOT_RUN_LABEL)
    conversation.forget_old_turns()


def _unanswered(said: Sequence[ChatMessage]) -> int:
    """How many calls at the end have no result."""
    for back, each in enumerate(reversed(said)):
        if each.role is Role.ASSISTANT:
            return len(each.written_calls) - back
    return 0
