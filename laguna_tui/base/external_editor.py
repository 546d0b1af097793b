"""The user's editor: for a message, for a command or a change before it is allowed, and for a file at a line."""

import os
import re
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from laguna_tui.base.errors import UserError

NO_EDITOR = "none"
"""The value of the setting `editor` that opens files in the app's own viewer."""
_VARIABLES = ("VISUAL", "EDITOR")
_EDITORS = ("editor", "nano", "vi")
"""Tried in this order if neither variable is set."""
_CODES = ("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf")
_SUBLIMES = ("subl", "sublime_text", "zed", "zeditor")
_RETURN_AT_ONCE = (*_CODES, *_SUBLIMES)
"""Editors with a window of their own, which end only when the file is closed if they get `--wait`."""
_PATH, _LINE = "{path}", "{line}"
_PLUS = (f"+{_LINE}", _PATH)
_COLON = (f"{_PATH}:{_LINE}",)
_GOTO = ("--goto", f"{_PATH}:{_LINE}")
_ARGUMENTS = {
    **dict.fromkeys(("vi", "vim", "nvim", "view", "gvim", "mvim", "kak", "micro", "joe"), _PLUS),
    **dict.fromkeys(("emacs", "emacsclient", "mg", "nano", "pico"), _PLUS),
    **dict.fromkeys(("hx", "helix", *_SUBLIMES), _COLON),
    **dict.fromkeys(_CODES, _GOTO),
}
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,10}\Z")
"""The ending of a file tells an editor the language; the rest of its name may be anything a model wrote."""

_NO_EDITOR = "no editor was found; set one, for example: export EDITOR=nano"
_NOT_STARTED = "the editor {editor} cannot be started; set EDITOR to an installed one"
_FAILED = "the editor {editor} exited with code {code}, so the edit was dropped"
_UNUSABLE = "The editor {editor!r} cannot be used: {reason}. Correct {where}."
_UNREADABLE = "the saved file is not UTF-8 text, so the edit was dropped"


class EditorError(Exception):
    """The text could not be edited; the message is a sentence for the user."""


RunEditor = Callable[[Sequence[str], str], int]
"""Runs a command on the terminal in a folder until it ends, and returns its exit code; OSError if it cannot start."""


def edit_text(text: str, name: str, run: RunEditor, environment: Mapping[str, str] = os.environ) -> str:
    """Let the user edit a text; returns it as it was saved.

    It is in a private file, in its own folder, so that the editor reads no settings from the project.

    Args:
        text: With any kind of newlines.
        name: Of the file that it belongs to; only the ending is used.
        run: Runs the editor.
        environment: Names the editor.

    Raises:
        EditorError: There is no editor, or it failed.
    """
    # Imported late: the first screen needs no native code.
    from laguna_engine.native.child import find_program

    editor = _named_editor(environment) or next(filter(find_program, _EDITORS), "")
    if not editor:
        raise EditorError(_NO_EDITOR)
    ending = _ENDING.search(name)
    with tempfile.TemporaryDirectory(prefix="laguna-tui-edit-") as folder:
        # mkstemp: readable by the user only.
        descriptor, path = tempfile.mkstemp(suffix=ending.group() if ending else ".txt", dir=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", errors="surrogateescape"))
        _run(editor, path, run, folder)
        try:
            return Path(path).read_bytes().decode()
        except (OSError, ValueError) as error:
            raise EditorError(_UNREADABLE) from error


def _named_editor(environment: Mapping[str, str]) -> str:
    return next(filter(None, map(environment.get, _VARIABLES)), "")


def _run(editor: str, path: str, run: RunEditor, folder: str) -> None:
    from laguna_engine.native.child import find_program

    try:
        words = shlex.split(editor)
        if not words or not find_program(words[0]):
            raise EditorError(_NOT_STARTED.format(editor=editor))
        if Path(words[0]).name in _RETURN_AT_ONCE and len(words) == 1:
            words.append("--wait")
        code = run([*words, path], folder)
    except (OSError, ValueError) as error:
        raise EditorError(_NOT_STARTED.format(editor=editor)) from error
    if code != 0:
        raise EditorError(_FAILED.format(editor=editor, code=code))


@dataclass(frozen=True, slots=True)
class EditorCommand:
    """A program and its arguments.

    Attributes:
        words: the program first.
        has_window: whether it has a window of its own, and needs no terminal.
    """

    words: Sequence[str]
    has_window: bool


def editor_command(
    path: Path, line: int, setting: str | None, environment: Mapping[str, str] = os.environ
) -> EditorCommand | None:
    """Return the command that opens a file at a line, from 1; None if there is no editor.

    Args:
        path: absolute, so that no editor can take it for an option.
        line: 1 for the beginning.
        setting: a command, with {path} and {line} unless its syntax is known; None for that of the environment.
        environment: names the editor in VISUAL or EDITOR.

    Raises:
        UserError: the command has no words, or quotes that do not end.
    """
    editor = setting or _named_editor(environment)
    if not editor or editor == NO_EDITOR:
        return None
    try:
        words = shlex.split(editor)
        name = Path(words[0]).name
    except (ValueError, IndexError) as error:
        reason = str(error).lower() if isinstance(error, ValueError) else "it is empty"
        where = "editor in config.toml" if setting else "VISUAL or EDITOR"
        raise UserError(_UNUSABLE.format(editor=editor, reason=reason, where=where)) from error
    if not any(_PATH in word for word in words):
        words += _ARGUMENTS.get(name, (_PATH,))
    filled = [words[0], *(word.replace(_LINE, str(line)).replace(_PATH, str(path)) for word in words[1:])]
    return EditorCommand(filled, name in (*_RETURN_AT_ONCE, "gvim", "mvim"))
