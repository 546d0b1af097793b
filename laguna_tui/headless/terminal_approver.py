"""Asks for permission on a plain terminal: shows the request on stderr, and reads the answer from the keyboard."""

import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TextIO

from laguna_engine.native.child import run_on_terminal
from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.external_editor import EditorError, edit_text
from laguna_tui.base.permission_request import (
    Approver,
    CallProposal,
    CommandProposal,
    Decision,
    PermissionAnswer,
    PermissionRequest,
    Proposal,
)
from laguna_tui.base.review_text import ReviewLine, content_line, head_and_tail, review_line, review_lines
from laguna_tui.base.text import sanitize_line
from laguna_tui.base.text_diff import unified
from laguna_tui.base.units import plural

_POLL_S = 0.1
"""How often a Ctrl-C is checked for while waiting for input."""
_READ_BYTES = 4096
_TERMINAL = "/dev/tty"
_QUESTION = "{what}? [y]es, [N]o, no with a [m]essage{more}: "
_SHOW = ", [s]how all"
_EDIT, _NETWORK, _ALWAYS = ", [e]dit", ", yes [w]ith network", ", [a]lways in this folder: {rule}"
_HUNKS = ", [h]unk by hunk"
_HUNK = "Accept hunk {number} of {count}? [y]es, [N]o, [a]ll the rest, [d]ecline the rest: "
_HUNK_ANSWERS = {"y": True, "yes": True, "a": True, "all": True, "": False, "n": False, "no": False, "d": False}
_REST = ("a", "all", "d")
_MESSAGE = "Message to the model: "
_HIDDEN = "[{count:,} {rows} not shown]"
_ROWS = 15
"""Rows of a command that are shown at once: with the rest of the question they fit on a small terminal."""
_COLUMNS, _NARROWEST = 80, 10
"""Width of a terminal that does not report it, and the least for which lines are folded."""
_UNEDITED = "Nothing was changed in the editor, so here is the question again."
_ANSWERS = {
    "": Decision.NO,
    **dict.fromkeys(("n", "no"), Decision.NO),
    **dict.fromkeys(("y", "yes"), Decision.YES),
    **dict.fromkeys(("a", "always"), Decision.ALWAYS),
    **dict.fromkeys(("w", "with network"), Decision.YES_WITH_NETWORK),
}


def terminal_approver() -> Approver | None:
    """Return the approver of this process; None without a terminal to show the question on and to read from.

    If stdin is a pipe, the answer is read from the terminal of the process.
    """
    if not sys.stderr.isatty():
        return None
    if sys.stdin.isatty():
        return TerminalApprover(sys.stdin.fileno(), sys.stderr)
    try:
        return TerminalApprover(os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY), sys.stderr)
    except OSError:
        return None


def request_lines(request: PermissionRequest, rows: Sequence[str]) -> Iterator[str]:
    """Yield a request and the reason for asking, as sanitized lines.

    Args:
        request: What permission is asked for.
        rows: Its `text_rows`, or their head and tail.
    """
    match request.proposal:
        case CommandProposal(_, folder, timeout_s, background):
            what = "DESTRUCTIVE command" if request.destructive else "command"
            yield f"{what} in {review_line(str(folder))}, {_how_long(timeout_s, background)}:"
        case CallProposal(summary, action=action):
            yield review_line(action or f"call of {summary}")
        case change:
            yield from change_lines(change)
    yield from rows
    warnings = (f"WARNING: {sentence}" for sentence in (request.destructive, request.unusual) if sentence)
    yield from (review_line(sentence) for sentence in (*warnings, request.sandbox, request.why) if sentence)


def text_rows(proposal: Proposal, columns: int) -> list[str]:
    """Return a command or the arguments of a call as rows of at most `columns`; notes are not indented."""
    match proposal:
        case CommandProposal(command=command):
            lines = review_lines(command)
        case CallProposal(details=details):
            lines = [ReviewLine(review_line(line)) for line in details]
        case _:
            return []
    width = max(_NARROWEST, columns - 2)
    return [row for line in lines for row in ([line.text] if line.is_note else _folded(line.text, width))]


def _folded(line: str, width: int) -> list[str]:
    return [f"  {line[at : at + width]}" for at in range(0, len(line), width)] or [""]


def _shortened(rows: Sequence[str]) -> list[str]:
    """Return head and tail of the rows, with the number of rows between them."""
    head, hidden, tail = head_and_tail(rows, _ROWS)
    return [*head, *([_HIDDEN.format(count=hidden, rows=plural(hidden, "row"))] if hidden else []), *tail]


def _how_long(timeout_s: float, background: bool) -> str:
    return "in the background" if background else f"for at most {timeout_s:,.0f} s"


def change_lines(proposal: ChangeProposal) -> Iterator[str]:
    """Yield the diff of a change as sanitized lines."""
    path = review_line(proposal.path)
    match proposal.kind:
        case ChangeKind.EDIT:
            yield f"edit of {path} in {proposal.counted}:"
        case ChangeKind.MOVE:
            yield f"move of {path} to {review_line(proposal.target)}"
        case _:
            yield f"{proposal.kind.value} of {path}:"
    yield from (f"  {content_line(line)}" for line in proposal.diff)
    if proposal.warning:
        yield sanitize_line(proposal.warning)


def _question(request: PermissionRequest, hidden: bool) -> str:
    match request.proposal:
        case CommandProposal():
            what = "Run this command"
        case CallProposal(action=action):
            what = "Do this" if action else "Make this call"
        case change:
            what = f"Make this {change.kind.value}"
    more = _SHOW if hidden else ""
    more += _EDIT if _editable(request) is not None else ""
    more += _HUNKS if request.has_hunks else ""
    more += _NETWORK if _takes_network(request) else ""
    more += _ALWAYS.format(rule=sanitize_line(request.rule)) if request.rule else ""
    return _QUESTION.format(what=what, more=more)


def _takes_network(request: PermissionRequest) -> bool:
    return request.network and isinstance(request.proposal, CommandProposal)


@dataclass(frozen=True, slots=True)
class _Editable:
    """What the user may edit of a request. name: Of the file that it is edited in."""

    text: str
    name: str


def _editable(request: PermissionRequest) -> _Editable | None:
    match request.proposal:
        case CommandProposal(command):
            return _Editable(f"{command}\n", "command.sh")
        case ChangeProposal(kind=ChangeKind.EDIT | ChangeKind.CREATE) as change:
            return _Editable(change.after, PurePosixPath(change.path).name)
        case _:
            return None


class TerminalApprover:
    """Asks on a terminal until the answer is valid. End of input means no."""

    def __init__(self, keys: int, log: TextIO) -> None:
        """keys: Descriptor of the terminal. log: Where the question is written."""
        self._keys = keys
        self._log = log

    def __call__(self, request: PermissionRequest, cancelled: Callable[[], bool]) -> PermissionAnswer:
        """Return the user's answer; NO once cancelled."""
        rows = text_rows(request.proposal, self._columns())
        shown = _shortened(rows)
        self._write(request, shown)
        # Input typed before the question appeared does not answer it.
        with suppress(termios.error):
            termios.tcflush(self._keys, termios.TCIFLUSH)
        hidden = len(shown) < len(rows)
        while True:
            line = self._line(_question(request, hidden), cancelled)
            if hidden and line is not None and line.lower() in ("s", "show"):
                self._write(request, rows)
                hidden = False
                continue
            answer = PermissionAnswer(Decision.NO) if line is None else self._answer(request, line, cancelled)
            if answer is not None:
                return answer

    def _write(self, request: PermissionRequest, rows: Sequence[str]) -> None:
        self._log.write("\n" + "".join(f"{line}\n" for line in request_lines(request, rows)))

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._keys).columns or _COLUMNS
        except OSError:
            return _COLUMNS

    def _answer(self, request: PermissionRequest, line: str, cancelled: Callable[[], bool]) -> PermissionAnswer | None:
        """Return the answer in a line; None if it is none, to ask again."""
        word, _, rest = line.partition(" ")
        if word.lower() in ("m", "message"):
            message = rest.strip() or self._line(_MESSAGE, cancelled)
            return PermissionAnswer(Decision.NO, message=message or "")
        if line.lower() in ("e", "edit"):
            return self._edited(request)
        if line.lower() in ("h", "hunks") and isinstance(request.proposal, ChangeProposal) and request.has_hunks:
            return self._by_hunk(request.proposal, cancelled)
        decision = _ANSWERS.get(line.lower())
        possible = {Decision.ALWAYS: bool(request.rule), Decision.YES_WITH_NETWORK: _takes_network(request)}
        return PermissionAnswer(decision) if decision is not None and possible.get(decision, True) else None

    def _by_hunk(self, change: ChangeProposal, cancelled: Callable[[], bool]) -> PermissionAnswer:
        """Ask about each hunk; the end of input declines all of them."""
        accepted: list[int] = []
        rest: bool | None = None
        for index, hunk in enumerate(change.hunks):
            if rest is None:
                self._log.write("".join(f"  {content_line(line)}\n" for line in unified((hunk,))))
            answer = rest
            while answer is None:
                line = self._line(_HUNK.format(number=index + 1, count=len(change.hunks)), cancelled)
                if line is None:
                    return PermissionAnswer(Decision.NO)
                answer = _HUNK_ANSWERS.get(line.lower())
                rest = answer if line.lower() in _REST else None
            accepted += [index] if answer else []
        return PermissionAnswer.of_hunks(accepted, len(change.hunks))

    def _edited(self, request: PermissionRequest) -> PermissionAnswer | None:
        """Return a yes to the text as the user edits it; None if it was not changed, or cannot be edited."""
        proposed = _editable(request)
        if proposed is None:
            return None
        unedited: tuple[str, ...]
        try:
            with _interrupts_left_to_the_editor():
                text = edit_text(
                    proposed.text, proposed.name, lambda words, folder: run_on_terminal(words, self._keys, folder)
                )
        except EditorError as error:
            self._log.write(f"{sanitize_line(str(error))}\n")
            return None
        if isinstance(request.proposal, CommandProposal):
            text, unedited = text.strip(), ("", request.proposal.command.strip())
        else:
            unedited = (proposed.text,)
        if text in unedited:
            self._log.write(f"{_UNEDITED}\n")
            return None
        return PermissionAnswer(Decision.YES, edited=text)

    def _line(self, question: str, cancelled: Callable[[], bool]) -> str | None:
        """Return what is typed before Enter, stripped; None at the end of input, or when the turn is stopped."""
        self._log.write(question)
        self._log.flush()
        while not cancelled():
            if select.select([self._keys], [], [], _POLL_S)[0]:
                typed = os.read(self._keys, _READ_BYTES)
                if not typed:
                    break
                return typed.decode(errors="replace").strip()
        self._log.write("\n")
        return None


@contextmanager
def _interrupts_left_to_the_editor() -> Iterator[None]:
    """Ignore Ctrl-C, which is meant for the editor and must not stop the turn."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Not SIG_IGN: the editor would inherit it.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
