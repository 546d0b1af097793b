"""Whether a text is Python, as the interpreter that runs this reads it. Nothing of it is run."""

import ast
import warnings

_SUFFIXES = (".py", ".pyi")
# Longer files are data; reading a megabyte of code takes a second.
_LIMIT_CHARS = 1024 * 1024


def can_be_checked(path: str, text: str) -> bool:
    """Whether the file is called like Python and short enough, and its text is Python."""
    return path.endswith(_SUFFIXES) and len(text) <= _LIMIT_CHARS and not fault(text)


def fault(text: str) -> str:
    """Why a text is no Python, as `invalid syntax in line 3`; empty if it is."""
    try:
        with warnings.catch_warnings():
            # They would be written over the screen.
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return f"{error.msg} in line {error.lineno}" if error.lineno else str(error.msg)
    except (ValueError, RecursionError, MemoryError) as error:
        # A NUL, or brackets nested deeper than the parser goes.
        return str(error) or "it is nested too deeply"
    return ""
