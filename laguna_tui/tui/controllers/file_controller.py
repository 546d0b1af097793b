"""Opens files that the transcript names: in the user's editor, else in the viewer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.external_editor import editor_command
from laguna_tui.base.terminal import run_in_foreground
from laguna_tui.base.text import sanitize
from laguna_tui.repo.files.text_files import decode, is_binary
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.modal import notify
from laguna_tui.tui.transcript.entries import FilePlace
from laguna_tui.tui.transcript.file_links import KnownFiles
from laguna_tui.tui.user_programs import start_detached

if TYPE_CHECKING:
    from laguna_tui.repo.files.workspace import Workspace

# More is not source, and the viewer shows fewer lines.
READ_BYTES = 4_000_000
GONE = "{path} is not a file of this folder now, so it was not opened."
BINARY = "{path} is not text. Set $EDITOR to a program that opens it."
NO_PROGRAM = "The editor “{program}” was not found. Set $EDITOR, or editor in config.toml, to an installed one."
FAILED = "{program} exited with code {code}."


@dataclass(frozen=True, slots=True)
class _File:
    inside: str
    path: Path


class FileController(Controller):
    """Opens files of the folder."""

    def __init__(self, app: ChatApp, leave_screen: Callable[[Callable[[], None]], None]) -> None:
        """leave_screen: gives the terminal to another program while a function runs."""
        self._app, self._leave_screen = app, leave_screen
        self._workspace: Workspace | None = None
        app.transcript.files = self.known = KnownFiles(lambda path: self._locate(path) is not None)

    def idle(self) -> None:
        """Underline paths of files that the turn has created."""
        self.known.forget_missing()
        self._app.transcript.redraw()

    def open(self, place: FilePlace) -> None:
        """Open a file at a line."""
        self._app.run_worker(self._open(place), group="open", exclusive=True)

    async def _open(self, place: FilePlace) -> None:
        file = await asyncio.to_thread(self._locate, place.path)
        if file is None:
            notify(self._app, GONE.format(path=place.path), "warning")
            return
        try:
            command = editor_command(file.path, max(1, place.line), self._app.settings.editor)
        except UserError as error:
            notify(self._app, str(error), "warning")
            return
        if command is None:
            await self._view(file, place.line)
            return
        # Imported late, as the files of the folder are: the first screen needs neither.
        from laguna_engine.native.child import find_program

        name, *arguments = command.words
        program = find_program(name) if "/" not in name else name
        if program is None:
            notify(self._app, NO_PROGRAM.format(program=name), "warning")
            return
        folder = self._app.session.folder.path
        words, codes = (program, *arguments), list[int]()
        if command.has_window:
            codes.append(await asyncio.to_thread(start_detached, words, folder))
        else:
            self._leave_screen(lambda: codes.append(run_in_foreground(words, folder)))
        if any(codes):
            notify(self._app, FAILED.format(program=name, code=codes[0]), "warning")

    async def _view(self, file: _File, line: int) -> None:
        # Few sessions show a file.
        from laguna_tui.tui.file_screen import FileScreen, file_lines

        try:
            text, is_whole = await asyncio.to_thread(self._read, file)
            lines, all_shown = await asyncio.to_thread(file_lines, text, file.inside)
        except UserError as error:
            notify(self._app, str(error), "warning")
        else:
            self._app.push_screen(FileScreen(file.inside, lines, line, is_whole=is_whole and all_shown))

    def _read(self, file: _File) -> tuple[str, bool]:
        """Return the beginning of a file, sanitised, and whether that is all of it; UserError if it cannot be shown."""
        from laguna_tui.repo.files.workspace import WorkspaceError

        assert self._workspace is not None, "the file was located in it"
        try:
            data, size = self._workspace.read_beginning(file.inside, READ_BYTES)
        except WorkspaceError as error:
            raise UserError(GONE.format(path=file.inside)) from error
        if is_binary(data):
            raise UserError(BINARY.format(path=file.inside))
        return sanitize(decode(data).text.replace("\r\n", "\n")), size <= READ_BYTES

    def _locate(self, path: str) -> _File | None:
        """Return the file that a path leads to; None if it is no regular file of the folder. May wait for a disk."""
        from laguna_tui.repo.files.workspace import Workspace, WorkspaceError

        try:
            if self._workspace is None:
                self._workspace = Workspace(self._app.session.folder.path)
            inside = self._workspace.locate(path)
            real = self._workspace.root / inside
            # Another link in its place is not followed any more.
            return _File(inside, real) if inside.isprintable() and real.is_file() else None
        except (WorkspaceError, OSError, ValueError):
            return None
