"""Syntax errors of a file's text: from the running interpreter for Python, from the grammars of other languages.

Nothing is executed. A text that is too long or too slow to parse has no errors here.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from laguna_tui.repo.files.text_files import split_lines
from laguna_tui.repo.syntax.analysis import grammar_for
from laguna_tui.repo.syntax.python_syntax import LIMIT_CHARS, SUFFIXES, syntax_fault

# Parsing a file twice must not be noticeable after each change.
PARSE_LIMIT_S = 0.5
# An early error causes others after it, so more say nothing new.
MAX_ERRORS = 5
_TEXT_CHARS = 120
_WARNING = "After this change the file has a syntax error: {error}."


class SyntaxFault(NamedTuple):
    """One error: its line from 1, what is wrong, and the line's text, stripped and cut."""

    line: int
    message: str
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


def syntax_errors(path: str, text: str) -> list[SyntaxFault]:
    """Return the first syntax errors of a text, by line.

    Args:
        path: its suffix names the language; a text in an unknown one has no errors.
    """
    if path.endswith(SUFFIXES):
        fault = syntax_fault(text) if len(text) <= LIMIT_CHARS else None
        found = [fault] if fault else []
    else:
        found = list(_by_grammar(path, text))
    lines = split_lines(text) if found else []
    return [SyntaxFault(line, message, _line(lines, line)) for line, message in found]


def new_syntax_errors(path: str, before: str, after: str) -> list[SyntaxFault]:
    """Return the errors of a changed text that the text before lacks, compared by message and not by line."""
    found = syntax_errors(path, after)
    known = Counter(fault[1:] for fault in syntax_errors(path, before)) if found and before else Counter()
    new = []
    for fault in found:
        if known[fault[1:]] > 0:
            known[fault[1:]] -= 1
        else:
            new.append(fault)
    return new


def syntax_warning(path: str, before: str, after: str) -> str:
    """Return a sentence for the user about the first new syntax error; empty if there is none."""
    new = new_syntax_errors(path, before, after)
    return _WARNING.format(error=new[0]) if new else ""


def _by_grammar(path: str, text: str) -> Iterator[tuple[int, str]]:
    grammar = grammar_for(path, text)
    if grammar is None:
        return
    source = text.encode("utf-8", errors="replace")
    root = grammar.parse(source, PARSE_LIMIT_S).root_node
    # A parse that ran out of time ends early, which is not an error of the file.
    if not root.has_error or root.end_byte < len(source.rstrip()):
        return
    nodes, count = [root], 0
    while nodes and count < MAX_ERRORS:
        node = nodes.pop()
        if node.is_missing or node.is_error:
            count += 1
            yield node.start_point.row + 1, f"{node.type} is missing" if node.is_missing else "syntax error"
        elif node.has_error:
            nodes += reversed(node.children)


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1].strip()[:_TEXT_CHARS] if 0 < number <= len(lines) else ""
