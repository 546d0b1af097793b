"""What `.editorconfig` says about the encoding of a file: editorconfig.org, `charset`.

The files are read from the workspace's folder down to the file's own, and may be anybody's.
"""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from laguna_engine.files import read_small_file
from laguna_tui.base.path_globs import glob_matches
from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.repo.files.text_files import TextFile
from laguna_tui.repo.files.workspace import Workspace

_NAME = ".editorconfig"
_LIMIT_BYTES = 64 * 1024
# A section with more alternatives, or a longer name, is taken for one that does not match.
_ALTERNATIVES = 64
_SECTION_CHARS = 500
_BRACES = re.compile(r"\{([^{}]*)\}|\[([^]!/-]+)\]")
_NEW_FILES = {
    "utf-8-bom": ("utf-8", codecs.BOM_UTF8),
    "utf-16le": ("utf-16-le", codecs.BOM_UTF16_LE),
    "utf-16be": ("utf-16-be", codecs.BOM_UTF16_BE),
}
"""Encoding and byte order mark by charset."""


def with_charset(workspace: Workspace, inside: str, file: TextFile) -> TextFile:
    """Return a file in the encoding that `.editorconfig` names, where the file itself does not show one.

    Args:
        workspace: Its folder.
        inside: Its located path; it need not exist yet.
        file: Its text.
    """
    if file.bom or file.declared or not (file.guessed or file.text.isascii()):
        return file
    charset = _charset(workspace, inside)
    if charset == "latin1":
        # A guess may be Windows-1252, which has the same letters and more.
        return replace(file, encoding=file.encoding if file.guessed else "latin-1", guessed=False)
    if not file.text and charset in _NEW_FILES:
        encoding, bom = _NEW_FILES[charset]
        return replace(file, encoding=encoding, bom=bom)
    return file


def _charset(workspace: Workspace, inside: str) -> str:
    """Return the charset of a file; empty where none is set. The nearest file, and its last section, win."""
    folders = inside.split("/")[:-1]
    with RootFolder(workspace.root, workspace.identity) as tree:
        for depth in range(len(folders), -1, -1):
            below = "/".join(inside.split("/")[depth:])
            text = _read(tree, "/".join(folders[:depth]))
            if found := [value for section, value in _charsets(text) if _matches(section, below)]:
                return found[-1]
            if re.search(r"(?im)\A(?:[^\[]*\n)?\s*root\s*=\s*true\s*$", text):
                break
    return ""


def _read(tree: RootFolder, folder: str) -> str:
    with suppress(OSError, ValueError):
        return read_small_file(_NAME, _LIMIT_BYTES, dir_fd=tree.folder(folder), follow=False).decode("utf-8-sig")
    return ""


def _charsets(text: str) -> Iterator[tuple[str, str]]:
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif section and (found := re.fullmatch(r"(?i)charset\s*[=:]\s*(\S+)", line)):
            yield section, found[1].lower()


def _matches(section: str, path: str) -> bool:
    glob = section.removeprefix("/") if "/" in section else f"**/{section}"
    # `**` may end or begin a name.
    globs = [re.sub(r"\*\*(?=[^/])", "**/*", glob)] if len(glob) <= _SECTION_CHARS else []
    while any(map(_BRACES.search, globs)) and len(globs) <= _ALTERNATIVES:
        globs = [each for glob in globs for each in _without_first_braces(glob)]
    return len(globs) <= _ALTERNATIVES and any(glob_matches(each, path) for each in globs)


def _without_first_braces(glob: str) -> list[str]:
    found = _BRACES.search(glob)
    if found is None:
        return [glob]
    choices = found[1].split(",") if found[1] is not None else list(found[2])
    return [f"{glob[: found.start()]}{each}{glob[found.end() :]}" for each in choices]
