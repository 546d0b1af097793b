"""One file's definitions, units and references: from its grammar, else from line patterns, else in plain pieces.

A pure function of path and text. Syntax errors cost what they cover, never the file; a file that a grammar cannot parse
in time is known up to where the time ended.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence

from laguna_tui.repo.files.text_files import line_starts, split_lines
from laguna_tui.repo.syntax.chunking import make_units
from laguna_tui.repo.syntax.grammars import Grammar, grammar
from laguna_tui.repo.syntax.language_patterns import language_of
from laguna_tui.repo.syntax.languages import DefinitionKind
from laguna_tui.repo.syntax.outline import Outline, line_outline
from laguna_tui.repo.syntax.symbols import Symbol, Syntax
from laguna_tui.repo.syntax.syntax_tree import places_in_code, string_rows, tree_contents, tree_outline
from laguna_tui.repo.syntax.tag_queries import language_name

# A megabyte of ordinary code takes half a second; a file made to be slow must not delay the others.
PARSE_LIMIT_S = 2.0
# Longer files are generated or data. They are searched as plain text.
PARSE_LIMIT_CHARS = 1024 * 1024
SIGNATURE_CHARS = 200
# Error recovery takes the square of the brackets that are never closed: ten thousand of them take minutes.
_MAX_DEPTH = 300
# Occurs in C++ headers and never in C.
_CPP_ONLY = re.compile(
    r"^[ \t]*(?:template\s*<|namespace\b[^;]*\{|class\s+\w[^;()]*[{:]|(?:public|private|protected)\s*:|using\s+\w)"
    r"|\bstd::|\bconstexpr\b|^\s*#\s*include\s*<[a-z_]+>",
    re.MULTILINE,
)
_BRACKET = re.compile(r"[()\[\]{}]")


def analyse(path: str, text: str, limit_s: float = PARSE_LIMIT_S, *, guess: bool = False) -> Syntax:
    """Return the structure of a file's text; offsets are into exactly this text.

    Args:
        path: Its suffix names the language.
        text: All of the file.
        limit_s: What a grammar cannot parse in this time is left out.
        guess: Use the line patterns on lines that the grammar does not parse. Such a definition ends where its
            indentation does: precise enough to find it, not to edit it.
    """
    parser = grammar_for(path, text)
    if parser:
        found = tree_contents(parser, text, limit_s)
        symbols = _with_guessed(found.symbols, path, text, found.unparsed) if guess else found.symbols
        return Syntax(parser.name, True, symbols, make_units(path, text, symbols), found.references, found.imports)
    language = language_of(path)
    symbols = _outlined(path, text) if language and len(text) <= PARSE_LIMIT_CHARS else ()
    return Syntax(language.name if language else "", False, symbols, make_units(path, text, symbols), {})


def file_outline(path: str, lines: Sequence[str], limit_s: float = PARSE_LIMIT_S) -> Outline:
    """Return the definitions of a file by their lines, from its grammar or from line patterns, as `analyse` has them.

    What a syntax error or a macro hides from the grammar is looked for with the line patterns, because a file that is
    being worked on often has an error.

    Args:
        path: its suffix names the language.
        lines: all of the file, without newlines.
        limit_s: what a grammar cannot parse in this time is left out; with 0 there are only the line patterns.
    """
    text = "\n".join(lines)
    parser = grammar_for(path, text) if limit_s else None
    if parser is None:
        return line_outline(path, lines)
    found, unparsed = tree_outline(parser, text, limit_s)
    if unparsed:
        known = {definition.line for definition in found}
        found += [one for one in line_outline(path, lines).definitions if one.line in unparsed - known]
    return Outline(tuple(sorted(found, key=lambda definition: definition.line)))


def multiline_strings(path: str, text: str) -> frozenset[int]:
    """Return the lines of a text, from 0, that begin inside a string, not a docstring; empty without a grammar."""
    parser = grammar_for(path, text)
    return string_rows(parser, text, PARSE_LIMIT_S) if parser else frozenset()


def lines_with_name(path: str, lines: Sequence[str], name: str, limit_s: float = PARSE_LIMIT_S) -> frozenset[int]:
    """Return the lines, from 1, that contain a name as code: as a whole word, and not in a comment or string.

    None of a file of no programming language. Places are told by the grammar, else (and with a `limit_s` of 0) by the
    language's line patterns; of a language that has none, all count.
    """
    text = "\n".join(lines)
    places = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)] if name else []
    if not places:
        return frozenset()
    language = language_of(path)
    parser = grammar_for(path, text) if limit_s else None
    if parser:
        places = places_in_code(parser, text, places, limit_s)
    elif language:
        opaque = [match.span() for match in language.opaque.finditer(text)]
        begins = [start for start, _ in opaque]
        places = [place for place in places if not (at := bisect_right(begins, place)) or opaque[at - 1][1] <= place]
    elif language_name(path) is None:
        return frozenset()
    newlines = [match.start() for match in re.finditer("\n", text)]
    return frozenset(bisect_right(newlines, place) + 1 for place in places)


def grammar_for(path: str, text: str) -> Grammar | None:
    """Return the grammar for a text; None for a language without one, and for a text that would take too long."""
    name = language_name(path)
    if name == "c" and path.lower().endswith(".h") and _CPP_ONLY.search(text):
        name = "cpp"
    return grammar(name) if name and len(text) <= PARSE_LIMIT_CHARS and not _too_deep(text) else None


def _too_deep(text: str) -> bool:
    """Return whether more brackets are open at once than in any file that was not made to be slow."""
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth += 1 if bracket in "([{" else -1
        if depth > _MAX_DEPTH:
            return True
    return False


def _with_guessed(symbols: tuple[Symbol, ...], path: str, text: str, unparsed: frozenset[int]) -> tuple[Symbol, ...]:
    """Return the symbols, and those of the line patterns on lines that were not parsed."""
    if not unparsed or language_of(path) is None:
        return symbols
    known = {symbol.line for symbol in symbols}
    guessed = [symbol for symbol in _outlined(path, text) if symbol.line in unparsed - known]
    return tuple(sorted((*symbols, *guessed), key=lambda symbol: (symbol.start, -symbol.stop)))


def _outlined(path: str, text: str) -> tuple[Symbol, ...]:
    """Return the definitions that the line patterns find, as symbols."""
    lines = split_lines(text)
    begins = [*line_starts(text), len(text)]
    symbols: list[Symbol] = []
    around: list[Symbol] = []
    for found in line_outline(path, lines).definitions:
        while around and around[-1].end < found.line:
            around.pop()
        start, stop = begins[found.line - 1], begins[found.end]
        body = begins[found.line] if found.end > found.line else stop
        outer = [symbol.name for symbol in around if symbol.kind is not DefinitionKind.VARIABLE]
        qualified = ".".join((*outer, found.name))
        head = " ".join(lines[found.line - 1].split())[:SIGNATURE_CHARS]
        symbol = Symbol(found.name, qualified, found.kind, start, stop, body, found.line, found.end, head)
        symbols.append(symbol)
        around.append(symbol)
    return tuple(symbols)
