"""The user's own editor on a plain terminal, for what they edit before they allow it."""

import os
import re
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path

from laguna_engine.native.child import find_program, run_on_terminal

_VARIABLES = ("VISUAL", "EDITOR")
# Where neither is set.
_EDITORS = ("editor", "nano", "vi")
# A file's ending tells an editor its language; its name is whatever a model wrote.
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,10}\Z")

_NO_EDITOR = "there is no editor; set EDITOR to one, such as: export EDITOR=nano"
_NOT_STARTED = "the editor {editor} cannot be started; set EDITOR to one that is installed"
_FAILED = "the editor {editor} ended with exit code {code}, so nothing is taken from it"
_UNREADABLE = "what the editor saved cannot be read as UTF-8 text, so nothing is taken from it"


class EditorError(Exception):
    """There is no edited text; the message is a sentence for the user."""


def edit_text(text: str, name: str, terminal: int, environment: Mapping[str, str] = os.environ) -> str:
    """Have the user edit a text; returns it as it was saved.

    It lies in a private file, in a folder of its own: the editor obeys no file of the project.

    Args:
        text: it may have any newlines.
        name: of the file that it belongs to; only its ending is used.
        terminal: descriptor of the terminal that the editor has for itself.
        environment: where the editor is named.

    Raises:
        EditorError: there is no editor, or it ended without a text.
    """
    editor = next(filter(None, map(environment.get, _VARIABLES)), "") or next(filter(find_program, _EDITORS), "")
    if not editor:
        raise EditorError(_NO_EDITOR)
    ending = _ENDING.search(name)
    with tempfile.TemporaryDirectory(prefix="laguna-tui-edit-") as folder:
        # mkstemp: readable by the user alone.
        descriptor, path = tempfile.mkstemp(suffix=ending.group() if ending else ".txt", dir=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", errors="surrogateescape"))
        _run(editor, path, terminal, folder)
        try:
            return Path(path).read_bytes().decode()
        except (OSError, ValueError) as error:
            raise EditorError(_UNREADABLE) from error


def _run(editor: str, path: str, terminal: int, folder: str) -> None:
    try:
        code = run_on_terminal([*shlex.split(editor), path], terminal, folder)
    except (OSError, ValueError) as error:
        raise EditorError(_NOT_STARTED.format(editor=editor)) from error
    if code != 0:
        raise EditorError(_FAILED.format(editor=editor, code=code))
