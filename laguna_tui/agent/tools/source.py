"""A file of the workspace as lines of text, if it is text at all."""

from laguna_tui.repo.names import shown
from laguna_tui.repo.text_files import decode, is_binary, split_lines
from laguna_tui.repo.workspace import READ_LIMIT_BYTES, UnreadableError, Workspace


def read_lines(workspace: Workspace, inside: str, limit: int = READ_LIMIT_BYTES) -> list[str]:
    """The lines of a located file, without newlines.

    Raises:
        UnreadableError: it cannot be read, is larger than `limit` bytes, or is binary.
    """
    data = workspace.read(inside, limit)
    if is_binary(data):
        raise UnreadableError(f"{shown(inside)} is a binary file; try another file")
    return split_lines(decode(data).text)
