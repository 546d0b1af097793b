"""Cutting a tool's answer to the room that is left in the context, so that one big file does not end a conversation."""

from collections.abc import Callable

# What must be left for an answer behind a tool's result, in tokens: a short paragraph.
ANSWER_ROOM = 128
_CUT = "… the rest does not fit in the context that is left"
_NO_ROOM = "error: the result does not fit in the context that is left; answer with what is known"
# Each try aims a little lower than the measured rate says, because tokens are not spread evenly.
_CAUTION = 0.9
_TRIES = 4


def fitted(text: str, size: Callable[[str], int], room: int) -> str:
    """The text, or as many of its first lines as take at most `room` tokens with a line that says so.

    Args:
        text: a tool's answer.
        size: tokens that a text takes in the transcript.
        room: tokens there are, the answer's own room not counted.
    """
    shown = text
    for _ in range(_TRIES):
        needed = size(shown)
        if needed <= room:
            return shown
        kept = text[: int(len(shown) * room / needed * _CAUTION)] if room > 0 else ""
        if "\n" not in kept:
            break
        shown = f"{kept[: kept.rfind(chr(10))]}\n{_CUT}"
    return _NO_ROOM
