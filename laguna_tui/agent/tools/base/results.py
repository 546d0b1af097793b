"""What a tool answers, and how a long result is cut: to a limit, to the context left, and as the user wants it.

The whole of a cut answer lies in the user's cache folder, readable by the user alone, and is removed when the session
ends. What is left out is always said, and how to get it again, so that the model neither guesses nor is stuck.
"""

import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from laguna_tui.base.messages import Place
from laguna_tui.base.paths import APP
from laguna_tui.base.units import plural

if TYPE_CHECKING:
    from laguna_tui.context.compression.spans import Document

# About 3,000 tokens of code, already a good part of a small context.
RESULT_LIMIT_CHARS = 12_000
# No session needs a kept result for longer.
_KEPT_S = 7 * 24 * 3600
# The head of a result is worth more than its tail (paths and definitions come first).
_HEAD_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """A command that ran to its end.

    Attributes:
        command: As it ran, after the user's corrections.
        exit_code: The shell's.
        pipe: Exit codes of the commands in the last pipe; empty if the shell did not report them.
    """

    command: str
    exit_code: int
    pipe: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call.

    Attributes:
        output: Exactly what the model is given.
        ok: Whether the tool worked.
        whole: The whole result, if the tool left lines out of `output`; only until it is on disk.
        full_output: The file with the whole result, if `output` is cut; with the traceback, if the tool failed
            unexpectedly.
        excerpt: The part of a file that it shows, as it is in the file.
        command: The command that it ran to its end.
        denied: Whether it did not run because the user, a rule or the mode did not allow it.
        shown: What the user is shown instead of `output`; empty for `output`.
    """

    output: str
    ok: bool = True
    whole: str | None = None
    full_output: str | None = None
    excerpt: str = ""
    command: CommandEnd | None = None
    denied: bool = False
    shown: str = ""


def failure(message: str, shown: str = "") -> ToolResult:
    """Return a result that says what went wrong and what to do; `shown` says it to the user."""
    return ToolResult(f"error: {message}", ok=False, shown=shown)


class ResultStore:
    """Keeps whole results on disk, readable by the user alone, until it is closed. Any thread."""

    def __init__(self, folder: Path | None = None) -> None:
        """folder: None for the cache folder."""
        self._folder = folder or platformdirs.user_cache_path(APP) / "results"
        self._paths: list[Path] = []

    def limited(self, result: ToolResult) -> ToolResult:
        """Return a result within the limit; the whole of one that was cut, here or by its tool, is kept."""
        shown, full = _head_and_tail(result.output), result.full_output
        if full is None and (result.whole is not None or shown != result.output):
            full = self.keep(result.whole or result.output)
        return replace(result, output=shown, whole=None, full_output=full)

    def keep(self, text: str) -> str | None:
        """Return the path of a new private file (mode 0600) with the text; None if it cannot be written."""
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self._paths:
                self._sweep()
            # mkstemp creates the file with mode 0600.
            descriptor, name = tempfile.mkstemp(prefix=f"{os.getpid()}-", suffix=".txt", dir=self._folder)
            self._paths.append(Path(name))
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode("utf-8", "backslashreplace"))
            return name
        return None

    def _sweep(self) -> None:
        """Remove what killed sessions left behind."""
        for path in self._folder.glob("*.txt"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _KEPT_S:
                    path.unlink()

    def close(self) -> None:
        """Remove the files."""
        while self._paths:
            self._paths.pop().unlink(missing_ok=True)


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


# Tokens left for an answer after a tool's result: a short paragraph.
ANSWER_ROOM = 128
_CUT = "… the rest does not fit in the context that is left"
_NO_ROOM = "error: the result does not fit in the context that is left; answer with what is known"
# Each try aims a little lower than the measured rate, because tokens are not spread evenly.
_CAUTION = 0.9
_TRIES = 4


def fitted(text: str, size: Callable[[str], int], room: int) -> str:
    """Return the text, or as many of its first lines as fit, with a line that says so.

    Args:
        text: A tool's answer.
        size: Tokens that a text takes in the transcript.
        room: Tokens there are, the answer's own room not counted.
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


# Results with fewer lines are not shortened.
_SHORTEST = 10
# Share of its tokens that a shortened result keeps, as a file does.
_KEEP = 0.3
_TAIL_LINES = 4
# The key of a command's output in its result.
_OUTPUT = "stdout"
# What `read` writes before a line of a file.
_NUMBERED = re.compile(r"(\d+): ?")


def shortened(text: str, about: str, question: str, count: Callable[[str], int]) -> str:
    """Return the lines of a result that say most for a question, with a line in every gap.

    Args:
        text: The answer.
        about: What it is an answer to, such as `read src/cart.py`; a path at its end says which language it is.
        question: What the lines are chosen for.
        count: The tokens of a text.
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
        # The end of a command's output says how it went.
        kept.update(range(len(lines) - _TAIL_LINES + 1, len(lines) + 1))
    shown: list[str] = []
    for number, line in enumerate(lines, 1):
        if number in kept:
            shown.append(line)
        elif not shown or not shown[-1].startswith(_GAP):
            shown.append(_gap(lines, numbers, number, kept))
    return "\n".join(shown)


def _command_result(text: str) -> dict[str, object] | None:
    """Return a command's result taken apart; None if the text is another one."""
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get(_OUTPUT), str) else None


_GAP = "… left out to save room: "


def _lines(document: "Document", start: int, length: int) -> tuple[int, int]:
    """Return the lines that a span covers, from 1, the second one excluded."""
    first, last = document.lines(start, start + length)
    return first, last + 1


def _gap(lines: Sequence[str], numbers: "Sequence[re.Match[str] | None]", first: int, kept: Container[int]) -> str:
    """Return the line in the place of those from `first` to the next one that is kept."""
    last = next((number - 1 for number in range(first + 1, len(lines) + 1) if number in kept), len(lines))
    of_file = [found[1] for found in numbers[first - 1 : last] if found]
    if of_file:
        return f"{_GAP}lines {of_file[0]}-{of_file[-1]}; read them again if they matter"
    return f"{_GAP}{_counted(last - first + 1)}; call the tool again if they matter"


def places_of(text: str) -> tuple[Place, ...]:
    """Return the places that a result may have in the prompt."""
    command = _command_result(text)
    if len((str(command[_OUTPUT]) if command else text).splitlines()) < _SHORTEST:
        return (Place.KEPT, Place.DROPPED)
    return (Place.KEPT, Place.SHORTENED, Place.DROPPED)


def _counted(lines: int) -> str:
    return f"{lines} {plural(lines, 'line')}"
