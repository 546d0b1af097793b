"""Text files that the user names on the command line."""

from pathlib import Path

from laguna_engine.files import read_small_file
from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize_line


def read_named_text(option: str, path: Path, limit: int, remedy: str, *, errors: str = "strict") -> str:
    """Return the text of a regular file in UTF-8, with line feeds at the ends of lines.

    Args:
        option: The option that names it.
        path: The file; `~` is the home folder.
        limit: Its largest size in bytes.
        remedy: What the user can do if the file is refused, a clause.
        errors: How to handle bytes that are not UTF-8, as of `bytes.decode`.

    Raises:
        UserError: It cannot be read, is not a regular file, is too large, or is not UTF-8.
    """
    try:
        return read_small_file(path.expanduser(), limit).decode("utf-8-sig", errors).replace("\r\n", "\n")
    except UnicodeDecodeError:
        why = "it is not text in UTF-8"
    except OSError as error:
        why = error.strerror or str(error)
    except (ValueError, RuntimeError) as error:  # a NUL in the path, or no home folder
        why = str(error)
    raise UserError(f"{option} {sanitize_line(str(path))}: {why}; {remedy}")
