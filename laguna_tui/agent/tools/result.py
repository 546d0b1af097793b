"""What a tool answers, and how a long answer is cut: its head and its tail go to the model, all of it to disk.

The file lies in the user's cache folder, readable by the user alone, and is removed when the session ends.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from laguna_tui.events import EditDone, EditProposed
from laguna_tui.settings import APP

# About 3,000 tokens of code: an answer that long already takes a good part of a small context.
RESULT_LIMIT_CHARS = 12_000
# The head of a result says more than its tail (paths and definitions come first).
_HEAD_SHARE = 0.7
# No session needs a result for longer.
_KEPT_S = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool has to say: for the model, and `whole` for the disk when the tool itself left lines out.

    `excerpt`: the part of a file that it shows, as it stands in the file.
    """

    output: str
    whole: str | None = None
    excerpt: str = ""


Steps = Generator[EditProposed | EditDone, None, Answer]
"""A tool that tells what it does before it answers."""


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


class ResultStore:
    """Keeps the whole of results that were cut, until it is closed."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or platformdirs.user_cache_path(APP) / "results"
        self._paths: list[Path] = []

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

    def keep_bytes(self, data: bytes) -> Path | None:
        """The path of a new private file (mode 0600) with these bytes, or None when the disk refuses."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._sweep()
            # mkstemp creates the file with mode 0600.
            descriptor, name = tempfile.mkstemp(prefix=f"{os.getpid()}-", suffix=".txt", dir=self._folder)
            self._paths.append(Path(name))
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            return Path(name)
        return None

    def _sweep(self) -> None:
        """Remove what sessions that were killed left behind, once a session."""
        if self._paths:
            return
        for path in self._folder.glob("*.txt"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _KEPT_S:
                    path.unlink()

    def close(self) -> None:
        """Remove what was kept."""
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
