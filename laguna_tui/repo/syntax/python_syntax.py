"""Checks of Python source by the running interpreter's parser. None of it is executed."""

import ast
import warnings
from itertools import takewhile

SUFFIXES = (".py", ".pyi")
# Longer files are data; parsing a megabyte of code takes a second.
LIMIT_CHARS = 1024 * 1024


def can_be_checked(path: str, text: str) -> bool:
    """Return whether the file has a Python suffix, is short enough, and is valid Python."""
    return path.endswith(SUFFIXES) and len(text) <= LIMIT_CHARS and not syntax_error(text)


def syntax_error(text: str) -> str:
    """Return the syntax error of a text, as `invalid syntax in line 3`; empty if it is valid."""
    fault = syntax_fault(text)
    if fault is None:
        return ""
    line, message = fault
    return f"{message} in line {line}" if line else message


def syntax_fault(text: str) -> tuple[int, str] | None:
    """Return the line (0 for none) of a text's syntax error and what is wrong; None if it is valid."""
    try:
        with warnings.catch_warnings():
            # Warnings would be written over the screen.
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return error.lineno or 0, str(error.msg)
    except (ValueError, RecursionError, MemoryError) as error:
        # A NUL, or brackets nested deeper than the parser supports.
        return 0, str(error) or "it is nested too deeply"
    return None


def documented(before: str, after: str) -> str:
    """Return the name of the one definition that gained a docstring; empty if anything else changed.

    Lines may only be added: every old line must still be there, unchanged.
    """
    old, new = before.splitlines(), after.splitlines()
    kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    if len(new) <= len(old) or old[kept:] != new[len(new) - len(old) + kept :]:
        return ""
    was, now = _parsed(before), _parsed(after)
    if was is None or now is None:
        return ""
    pairs = zip(_definitions(was), _definitions(now), strict=False)
    added = [pair for pair in pairs if ast.get_docstring(pair[1]) is not None and ast.get_docstring(pair[0]) is None]
    if len(added) != 1:
        return ""
    name = added[0][1].name
    del added[0][1].body[0]
    return name if ast.dump(was) == ast.dump(now) else ""


def has_docstring(text: str, name: str) -> bool:
    """Return whether a definition of this name exists, and each of them has a docstring."""
    tree = _parsed(text)
    named = [node for node in _definitions(tree) if node.name == name] if tree is not None else []
    return bool(named) and all(ast.get_docstring(node) is not None for node in named)


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _definitions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]
