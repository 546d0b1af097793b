"""What a tool answers, and how a long answer is cut: to a limit, to the context that is left, and as the user wants it.

The whole of a cut answer lies in the user's cache folder, readable by the user alone, and is removed when the session
ends. What is left out is always said, and how to get it again, so that the model neither guesses nor is stuck.
"""

from collections.abc import Callable
from dataclasses import dataclass

from laguna_tui.agent.kept_files import KeptFiles
from laguna_tui.base.units import plural
from laguna_tui.context.blocks import Place

# About 3,000 tokens of code: an answer that long already takes a good part of a small context.
RESULT_LIMIT_CHARS = 12_000
# The head of a result says more than its tail (paths and definitions come first).
_HEAD_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool has to say: for the model, and `whole` for the disk when the tool itself left lines out.

    `excerpt`: the part of a file that it shows, as it stands in the file.
    """

    output: str
    whole: str | None = None
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One answer. `output` is exactly what the model is given; `full_output` names a file with all of it, if cut.

    Of a tool that failed unexpectedly, that file has the traceback.
    `excerpt`: the part of a file that it shows, as it stands in the file.
    """

    output: str
    ok: bool = True
    full_output: str | None = None
    excerpt: str = ""


def failure(message: str) -> ToolResult:
    """An answer that says what went wrong and what to do."""
    return ToolResult(f"error: {message}", ok=False)


class ResultStore(KeptFiles):
    """Keeps the whole of results that were cut, until it is closed."""

    def result(self, answer: Answer) -> ToolResult:
        """The answer within the limit; what was left out, here or by the tool, is kept on disk."""
        shown = _head_and_tail(answer.output)
        if answer.whole is None and shown == answer.output:
            return ToolResult(shown, excerpt=answer.excerpt)
        whole = self.keep(answer.whole or answer.output)
        return ToolResult(shown, full_output=whole, excerpt=answer.excerpt)

    def keep(self, text: str) -> str | None:
        """The path of a new private file (mode 0600) with the text, or None when the disk refuses."""
        kept = self.keep_bytes(text.encode("utf-8", "backslashreplace"))
        return None if kept is None else str(kept)


def _head_and_tail(text: str) -> str:
    if len(text) <= RESULT_LIMIT_CHARS:
        return text
    head = text[: int(RESULT_LIMIT_CHARS * _HEAD_SHARE)]
    tail = text[len(head) - RESULT_LIMIT_CHARS :]
    # Whole lines on both sides, unless a single line fills everything.
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    left_out = len(text) - len(head) - len(tail)
    return f"{head.rstrip()}\n… {left_out:,} characters left out here …\n{tail}"


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


_DROPPED = "… {lines} left out by the user; call the tool again if they are needed"
_BETWEEN = "… {lines} left out by the user here; call the tool again if they are needed"
# Of a result that is shortened, this share of the lines stays: definitions come first in what tools answer.
_HEAD, _TAIL = 0.2, 0.1
# Fewer lines than this are their own summary.
_SHORTEST = 10


def in_place(text: str, place: Place) -> str:
    """What the model reads of a tool's answer `text`; KEPT is the answer itself."""
    lines = text.splitlines()
    match place:
        case Place.KEPT:
            return text
        case Place.DROPPED:
            return _DROPPED.format(lines=_count_lines(len(lines)))
        case Place.SHORTENED:
            head, tail = int(len(lines) * _HEAD), int(len(lines) * _TAIL)
            between = _BETWEEN.format(lines=_count_lines(len(lines) - head - tail))
            return "\n".join([*lines[:head], between, *lines[len(lines) - tail :]])


def places_of(text: str) -> tuple[Place, ...]:
    """What the user may make of a tool's answer."""
    if len(text.splitlines()) < _SHORTEST:
        return (Place.KEPT, Place.DROPPED)
    return (Place.KEPT, Place.SHORTENED, Place.DROPPED)


def _count_lines(lines: int) -> str:
    return f"{lines} {plural(lines, 'line')}"
