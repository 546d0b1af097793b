"""Ends a turn in which the app was killed: what was generated becomes the answer of a stopped turn."""

from collections.abc import Sequence

from laguna_engine.chat.messages import ParserEvent
from laguna_engine.chat.transcript import Role
from laguna_engine.config import GREEDY
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.rendering import GenerationRecord, assistant_message, calls_of
from laguna_tui.agent.turn import NOT_RUN, NOT_RUN_LABEL
from laguna_tui.base.messages import ChatMessage

ENDED_WITHIN = "error: laguna-tui ended while the tool ran; look at what it did before you go on"


def end_interrupted(conversation: Conversation, tokens: Sequence[int], running: int) -> None:
    """Complete a conversation whose last turn did not end.

    Args:
        conversation: as it was last recorded.
        tokens: what the model had generated of what is not in the conversation yet.
        running: how many of the calls that are not answered had begun.
    """
    if tokens:
        _record(conversation, tokens)
    unanswered = _unanswered(conversation.state.said)
    for number in range(unanswered):
        conversation.add_result(ENDED_WITHIN if number < running else NOT_RUN, NOT_RUN_LABEL)
    conversation.forget_old_turns()


def _record(conversation: Conversation, tokens: Sequence[int]) -> None:
    """Add what was generated, as a generation stopped there would."""
    prompt = conversation.tokens
    parser = conversation.open_turn()()
    heard: list[ParserEvent] = []
    for token in tokens:
        heard += parser.feed(token, conversation.piece(token))
    heard += parser.finish()
    answer, calls = assistant_message(heard), tuple(calls_of(heard))
    conversation.record(GenerationRecord(prompt, tuple(tokens), GREEDY, answer, calls))
    # It cannot be made again: nobody knows what it was drawn with.
    conversation.last = None


def _unanswered(said: Sequence[ChatMessage]) -> int:
    """How many calls at the end have no result."""
    for back, each in enumerate(reversed(said)):
        if each.role is Role.ASSISTANT:
            return len(each.written_calls) - back
    return 0
