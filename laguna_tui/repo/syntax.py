"""One file's definitions, units and references: by its grammar, else by line patterns, else in plain pieces.

A pure function of path and text. Syntax errors cost what they cover, never the file; what a grammar cannot parse in
time is known up to where the time ended.
"""

import re

from laguna_tui.repo.chunking import make_units
from laguna_tui.repo.grammars import grammar, language_name
from laguna_tui.repo.language_patterns import Kind, language_of
from laguna_tui.repo.outline import outline
from laguna_tui.repo.symbols import Symbol, Syntax
from laguna_tui.repo.syntax_tree import tree_contents
from laguna_tui.repo.text_files import split_lines

# A megabyte of ordinary code takes half a second; a file made to be slow must not hold up the others.
PARSE_LIMIT_S = 2.0
# Longer files are generated or data. They are searched as plain text.
PARSE_LIMIT_CHARS = 1024 * 1024
SIGNATURE_CHARS = 200
# Error recovery takes the square of the brackets that are never closed: ten thousand of them take minutes.
_MAX_DEPTH = 300
_BRACKET = re.compile(r"[()\[\]{}]")


def analyse(path: str, text: str, limit_s: float = PARSE_LIMIT_S) -> Syntax:
    """The structure of a file's text; offsets are into exactly this text."""
    name = language_name(path)
    short = len(text) <= PARSE_LIMIT_CHARS
    parsed = grammar(name) if name and short and not _too_deep(text) else None
    if name and parsed:
        symbols, references = tree_contents(parsed, text, limit_s)
        return Syntax(name, True, symbols, make_units(path, text, symbols), references)
    language = language_of(path)
    symbols = _outlined(path, text) if language and short else ()
    return Syntax(language.name if language else "", False, symbols, make_units(path, text, symbols), {})


def _too_deep(text: str) -> bool:
    """Whether brackets stay open in a number that only a file has that was made to be slow."""
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth += 1 if bracket in "([{" else -1
        if depth > _MAX_DEPTH:
            return True
    return False


def _outlined(path: str, text: str) -> tuple[Symbol, ...]:
    """What the line patterns say, as symbols."""
    lines = split_lines(text)
    begins = _line_starts(text, len(lines))
    symbols: list[Symbol] = []
    around: list[Symbol] = []
    for found in outline(path, lines).definitions:
        while around and around[-1].end < found.line:
            around.pop()
        start, stop = begins[found.line - 1], begins[found.end]
        body = begins[found.line] if found.end > found.line else stop
        outer = [symbol.name for symbol in around if symbol.kind is not Kind.VARIABLE]
        qualified = ".".join((*outer, found.name))
        head = " ".join(lines[found.line - 1].split())[:SIGNATURE_CHARS]
        symbol = Symbol(found.name, qualified, found.kind, start, stop, body, found.line, found.end, head)
        symbols.append(symbol)
        around.append(symbol)
    return tuple(symbols)


def _line_starts(text: str, count: int) -> list[int]:
    """Where each line begins, and where the last one ends."""
    newline = "\n" if "\n" in text else "\r"
    starts = [0]
    for _ in range(count):
        at = text.find(newline, starts[-1])
        starts.append(len(text) if at < 0 else at + 1)
    return starts
