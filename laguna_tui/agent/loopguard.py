"""Notices a model that makes the same tool call again and again within one turn."""

import json
from collections import Counter

from laguna_engine.chat.messages import ToolCall

# Twice can be an honest second look; the answer to a third would be the same again.
SAME_CALLS_ALLOWED = 2


class LoopGuard:
    """Counts the calls of one turn."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def objection(self, call: ToolCall) -> str | None:
        """A sentence for the model when this call was made often enough, else None; counts the call."""
        key = json.dumps([call.name, call.arguments], sort_keys=True)
        self._seen[key] += 1
        if self._seen[key] <= SAME_CALLS_ALLOWED:
            return None
        return (
            f"this same call was made {SAME_CALLS_ALLOWED} times already and its answer is above;"
            " use it, try something else, or answer the user"
        )
