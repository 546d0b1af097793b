"""What a tool answers, and how a long answer is cut: to a limit, to the context that is left, and as the user wants it.

The whole of a cut answer lies in the user's cache folder, readable by the user alone, and is removed when the session
ends. What is left out is always said, and how to get it again, so that the model neither guesses nor is stuck.
"""

import json
import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.agent.kept_files import KeptFiles
from laguna_tui.base.messages import Place
from laguna_tui.base.units import plural

if TYPE_CHECKING:
    from laguna_tui.context.compression.spans import Document

# About 3,000 tokens of code: an answer that long already takes a good part of a small context.
RESULT_LIMIT_CHARS = 12_000
# The head of a result says more than its tail (paths and definitions come first).
_HEAD_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """A command that was waited for, and how it ended.

    Attributes:
        command: as it ran, after the user's corrections.
        exit_code: the shell's.
        pipe: exit codes of the commands in the last pipe; empty if the shell did not report them.
    """

    command: str
    exit_code: int
    pipe: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool has to say: for the model, and `whole` for the disk when the tool itself left lines out.

    `excerpt`: the part of a file that it shows, as it is in the file. `full_output`: the file that has all of it,
    where the tool has kept it already. `command`: the command that it ran to its end.
    """

    output: str
    whole: str | None = None
    excerpt: str = ""
    full_output: Path | None = None
    command: CommandEnd | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One answer. `output` is exactly what the model is given; `full_output` names a file with all of it, if cut.

    Of a tool that failed unexpectedly, that file has the traceback.
    `excerpt`: the part of a file that it shows, as it is in the file. `command`: the command that it ran to its end.
    `denied`: whether it did not run because the user, a rule or the mode did not allow it.
    """

    output: str
    ok: bool = True
    full_output: str | None = None
    excerpt: str = ""
    command: CommandEnd | None = None
    denied: bool = False


def failure(message: str) -> ToolResult:
    """An answer that says what went wrong and what to do."""
    return ToolResult(f"error: {message}", ok=False)


class ResultStore(KeptFiles):
    """Keeps the whole of results that were cut, until it is closed."""

    def result(self, answer: ToolAnswer) -> ToolResult:
        """The answer within the limit; what was left out, here or by the tool, is kept on disk."""
        shown = _head_and_tail(answer.output)
        whole = None if answer.full_output is None else str(answer.full_output)
        if whole is None and (answer.whole is not None or shown != answer.output):
            whole = self.keep(answer.whole or answer.output)
        return ToolResult(shown, full_output=whole, excerpt=answer.excerpt, command=answer.command)

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


# A result of fewer lines is its own summary.
_SHORTEST = 10
# Of a result that is shortened, this share of its tokens stays, as of a file.
_KEEP = 0.3
_TAIL_LINES = 4
# Where a command's answer has what it printed.
_OUTPUT = "stdout"
# What `read` writes before a line of a file.
_NUMBERED = re.compile(r"(\d+): ?")


def shortened(text: str, about: str, question: str, count: Callable[[str], int]) -> str:
    """The lines of a tool's answer that say most for a question, with a line in every gap.

    Args:
        text: the answer.
        about: what it is an answer to, such as `read src/cart.py`; a path at its end says which language it is.
        question: what the lines are chosen for.
        count: the tokens of a text.
    """
    from laguna_tui.context.shortening import shorten

    if (command := _command_result(text)) is not None:
        output = shortened(str(command[_OUTPUT]), about, question, count)
        return json.dumps({**command, _OUTPUT: output}, ensure_ascii=False)
    lines = text.splitlines()
    if len(lines) < _SHORTEST:
        return text
    numbers = [_NUMBERED.match(line) for line in lines]
    plain = [line[found.end() :] if found else line for line, found in zip(lines, numbers, strict=True)]
    body = "".join(f"{line}\n" for line in plain)
    part = shorten([(about.rpartition(" ")[2], body)], question, max(1, int(count(body) * _KEEP)), count).parts[0]
    kept = {line for _, start, length in part.copies for line in range(*_lines(part.document, start, length))}
    if not any(numbers):
        # Of what a command prints, the end says how it went.
        kept.update(range(len(lines) - _TAIL_LINES + 1, len(lines) + 1))
    shown: list[str] = []
    for number, line in enumerate(lines, 1):
        if number in kept:
            shown.append(line)
        elif not shown or not shown[-1].startswith(_GAP):
            shown.append(_gap(lines, numbers, number, kept))
    return "\n".join(shown)


def _command_result(text: str) -> dict[str, object] | None:
    """A command's answer taken apart, if the text is one."""
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get(_OUTPUT), str) else None


_GAP = "… left out to save room: "


def _lines(document: "Document", start: int, length: int) -> tuple[int, int]:
    """The lines that a span covers, from 1, the second one excluded."""
    first, last = document.lines(start, start + length)
    return first, last + 1


def _gap(lines: Sequence[str], numbers: "Sequence[re.Match[str] | None]", first: int, kept: Container[int]) -> str:
    """The line in the place of those from `first` to the next one that is kept."""
    last = next((number - 1 for number in range(first + 1, len(lines) + 1) if number in kept), len(lines))
    of_file = [found[1] for found in numbers[first - 1 : last] if found]
    if of_file:
        return f"{_GAP}lines {of_file[0]}-{of_file[-1]}; read them again if they matter"
    return f"{_GAP}{_counted(last - first + 1)}; call the tool again if they matter"


def places_of(text: str) -> tuple[Place, ...]:
    """What may be made of a tool's answer."""
    command = _command_result(text)
    if len((str(command[_OUTPUT]) if command else text).splitlines()) < _SHORTEST:
        return (Place.KEPT, Place.DROPPED)
    return (Place.KEPT, Place.SHORTENED, Place.DROPPED)


def _counted(lines: int) -> str:
    return f"{lines} {plural(lines, 'line')}"
