"""Opens the user's editor, to edit a message, or a command or a change before it is allowed."""

import os
import re
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from laguna_engine.native.child import find_program

_VARIABLES = ("VISUAL", "EDITOR")
_EDITORS = ("editor", "nano", "vi")
"""Tried in this order if neither variable is set."""
_RETURN_AT_ONCE = ("code", "codium", "cursor", "subl", "windsurf", "zed")
"""Editors with a window of their own, which end only when the file is closed if they get `--wait`."""
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,10}\Z")
"""The ending of a file tells an editor the language; the rest of its name may be anything a model wrote."""

_NO_EDITOR = "no editor was found; set one, for example: export EDITOR=nano"
_NOT_STARTED = "the editor {editor} cannot be started; set EDITOR to an installed one"
_FAILED = "the editor {editor} exited with code {code}, so the edit was dropped"
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
    editor = next(filter(None, map(environment.get, _VARIABLES)), "") or next(filter(find_program, _EDITORS), "")
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


def _run(editor: str, path: str, run: RunEditor, folder: str) -> None:
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
