"""Constraints on a tool call while a model writes it: files that exist, and text that is in them.

Called on the engine's thread, between two tokens, so files are read up to a limit. Nothing is known of a file that may
not be shown to the model, so that a constraint gives away none of it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from laguna_engine.chat.call_constraint import Choices, Excerpt
from laguna_tui.agent.tools.base.tool import Value
from laguna_tui.repo.files.text_files import decode, is_binary
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError

if TYPE_CHECKING:
    from laguna_tui.context.codebase import Codebase

# Preparing more would be noticeable: 0.3 s at this size.
LIMIT_BYTES = 256 << 10


class CallRules:
    """A `ValueRules` for one folder."""

    def __init__(
        self,
        values: Mapping[str, Mapping[str, Value]],
        workspace: Workspace,
        codebase: "Codebase | None",
        readable: Callable[[str], str],
    ) -> None:
        """Take a folder.

        Args:
            values: Of each tool, what the values of its arguments are.
            workspace: The folder.
            codebase: Knows its files; None allows any path.
            readable: Why a located path may not be shown to the model; empty if it may be.
        """
        self._values = values
        self._workspace = workspace
        self._codebase = codebase
        self._readable = readable
        self._paths: Sequence[str] = ()
        self._choices: Choices | None = None

    def rule(self, tool: str, key: str, given: Mapping[str, str]) -> Choices | Excerpt | None:
        match self._values.get(tool, {}).get(key):
            case Value.FILE:
                return self._files()
            case Value.EXCERPT:
                document = self._document(given.get("path", ""))
                return None if document is None else Excerpt.of(document, once=given.get("all") != "true")
            case None:
                return None

    def _files(self) -> Choices | None:
        paths = self._codebase.paths() if self._codebase is not None else ()
        if paths is not self._paths:
            self._paths, self._choices = paths, Choices.of(paths)
        return self._choices

    def _document(self, path: str) -> str | None:
        """Return the text of a file; None if nothing can be copied from it."""
        try:
            inside = self._workspace.locate(path)
            if not path or self._readable(inside):
                return None
            data = self._workspace.read(inside, LIMIT_BYTES)
        except (WorkspaceError, OSError):
            # The call's result says what is wrong.
            return None
        if is_binary(data) or not data.strip():
            return None
        return decode(data).text
