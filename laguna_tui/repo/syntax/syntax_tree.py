"""A parsed file's definitions and references, read from its syntax tree.

tree-sitter counts bytes of UTF-8; everything that leaves this file counts characters.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from tree_sitter import Node

from laguna_tui.repo.syntax.grammars import Grammar
from laguna_tui.repo.syntax.import_paths import IMPORTS_PER_FILE, import_path
from laguna_tui.repo.syntax.languages import DefinitionKind
from laguna_tui.repo.syntax.outline import Definition
from laguna_tui.repo.syntax.symbols import Symbol

# Of more references in a file the most frequent are kept.
REFERENCES_PER_FILE = 400
# One and two letters are loop variables and type parameters.
MIN_REFERENCE_CHARS = 3
SIGNATURE_CHARS = 200
_NAME_CHARS = 120
_TYPE_ARGUMENTS = re.compile(r"<[^>]*>?>*")
# Most comments and attributes that are looked for before a definition.
_LEADING = 64
_WRAPPERS = frozenset(
    "decorated_definition export_statement template_declaration lexical_declaration variable_declaration"
    " type_declaration".split()
)
_DECORATED = frozenset({"decorated_definition"})
# Haskell's type is a node of its own; `@doc` and `@spec` are unary operators of Elixir.
_LEADERS = frozenset(
    "comment line_comment block_comment multiline_comment attribute_item haddock signature unary_operator".split()
)
# Haskell's and Ruby's bodies begin with the first definition; its comment is before them, or ends the imports.
_GROUPS = frozenset({"declarations", "body_statement", "imports"})
# Bodies without a field in their grammar.
_BODIES = frozenset(
    "do_block class_body enum_class_body function_body struct_declaration enum_declaration union_declaration"
    " declaration_list".split()
)
# Each equation of a Haskell function is a node of its own.
_EQUATIONS = frozenset({"function", "bind"})
# C and C++ declare a function in one place and define it in another.
_PROTOTYPES = frozenset({"declaration", "field_declaration"})
# Nodes of text that is not code; interpolated code in a string is a node of its own.
_TEXT = re.compile(r"comment|string|quoted|heredoc|haddock|regex|(?:^|_)text$")
_KINDS = {"function": DefinitionKind.FUNCTION, "type": DefinitionKind.TYPE, "variable": DefinitionKind.VARIABLE}


class _Found(NamedTuple):
    """A captured definition, `core`, and what wraps it; `kind` is None for a scope, which only names what is inside.

    `last` is the node that it ends with: the wrapping one, or the last equation of a Haskell function.
    """

    node: Node
    last: Node
    core: Node
    row: int
    name: str
    kind: DefinitionKind | None
    owner: str


class TreeContents(NamedTuple):
    """What is known of a file.

    Attributes:
        symbols: In their order.
        references: How often each name that is not defined here is referred to.
        imports: Imported paths.
        unparsed: Lines, from 1, that the grammar does not parse: syntax errors, and code that a macro gets.
    """

    symbols: tuple[Symbol, ...]
    references: dict[str, int]
    imports: tuple[str, ...]
    unparsed: frozenset[int]


def tree_contents(grammar: Grammar, text: str, limit_s: float) -> TreeContents:
    """Return what the index stores of a text's syntax tree."""
    source, root = _parsed(grammar, text, limit_s)
    symbols = _symbols(source, _in_order(grammar, source, root), _char_offsets(source, text))
    own = {symbol.name for symbol in symbols}
    references, imports = _references(grammar, source, root, own), _imports(grammar, source, root)
    return TreeContents(symbols, references, imports, _unparsed_lines(grammar, root))


def tree_outline(grammar: Grammar, text: str, limit_s: float) -> tuple[list[Definition], frozenset[int]]:
    """Return the definitions by line, in half the time of `tree_contents`, and the lines that are not parsed."""
    source, root = _parsed(grammar, text, limit_s)
    definitions = [
        Definition(found.name, found.kind, found.row + 1, _last_row(found.last) + 1, found.core.type in _PROTOTYPES)
        for found in _in_order(grammar, source, root)
        if found.kind is not None
    ]
    return definitions, _unparsed_lines(grammar, root)


def string_rows(grammar: Grammar, text: str, limit_s: float) -> frozenset[int]:
    """Return the rows that begin inside a string, without docstrings: strings that are statements."""
    _, root = _parsed(grammar, text, limit_s)
    rows: set[int] = set()
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if "string" not in node.type:
            nodes += node.children
        elif node.parent is None or node.parent.type != "expression_statement":
            rows.update(range(node.start_point.row + 1, node.end_point.row + 1))
    return frozenset(rows)


def places_in_code(grammar: Grammar, text: str, places: Sequence[int], limit_s: float) -> list[int]:
    """Return those of some ascending offsets that are in code, not in a comment or string."""
    _, root = _parsed(grammar, text, limit_s)
    found: list[int] = []
    at = offset = 0
    for place in places:
        offset += len(text[at:place].encode("utf-8", errors="replace"))
        at = place
        node = root.descendant_for_byte_range(offset, offset + 1)
        if node is not None and not _TEXT.search(node.type):
            found.append(place)
    return found


def _unparsed_lines(grammar: Grammar, root: Node) -> frozenset[int]:
    lines: set[int] = set()
    if grammar.unparsed:
        for node in grammar.captured(grammar.unparsed, root):
            # A macro's first line is code around it, or one that the grammar knows.
            lines.update(range(node.start_point.row + 2, _last_row(node) + 2))
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.is_error:
            lines.update(range(node.start_point.row + 1, _last_row(node) + 2))
        elif node.has_error:
            nodes += node.children
    return frozenset(lines)


# `places_in_code` and `tree_outline` are called for the same text in turn.
@lru_cache(maxsize=1)
def _parsed(grammar: Grammar, text: str, limit_s: float) -> tuple[bytes, Node]:
    # A lone surrogate is one character; so is the "?" that takes its place.
    source = text.encode("utf-8", errors="replace")
    return source, grammar.parse(source, limit_s).root_node


def _in_order(grammar: Grammar, source: bytes, root: Node) -> list[_Found]:
    ordered: list[_Found] = []
    for found in sorted(
        _definitions(grammar, source, root), key=lambda found: (found.node.start_byte, -found.node.end_byte)
    ):
        before = ordered[-1] if ordered else None
        follows = before and before.name == found.name and found.node.prev_named_sibling == before.last
        if before and follows and found.core.type in _EQUATIONS:
            ordered[-1] = before._replace(last=found.node)
        else:
            ordered.append(found)
    return ordered


def _definitions(grammar: Grammar, source: bytes, root: Node) -> Iterator[_Found]:
    seen: set[int] = set()
    for captured in sorted(_with_order(grammar, source, root), key=lambda pair: pair[0]):
        node, name, kind, owner = captured[1]
        if name.start_byte not in seen:
            seen.add(name.start_byte)
            last, scopes = _name_of(source, name)
            if last:
                whole, around = _whole(node), ".".join(filter(None, (owner, scopes)))
                yield _Found(whole, whole, node, name.start_point.row, last, kind, around)


def _with_order(
    grammar: Grammar, source: bytes, root: Node
) -> Iterator[tuple[int, tuple[Node, Node, DefinitionKind | None, str]]]:
    """Yield captured definitions; functions before types before variables where one name node was captured twice."""
    for captured in grammar.matches(grammar.definitions, root):
        names = captured.get("name")
        if not names:
            continue
        owner = _plain(source, captured["owner"][0]) if "owner" in captured else ""
        for order, (key, kind) in enumerate((*_KINDS.items(), ("scope", None))):
            if key in captured:
                yield order, (captured[key][0], names[0], kind, owner)


def _name_of(source: bytes, node: Node) -> tuple[str, str]:
    """Return the defined name and the scopes before it; C wraps the name in declarators."""
    while (inner := node.child_by_field_name("declarator")) is not None:
        node = inner
    if node.type == "reference_declarator" and node.named_children:
        return _name_of(source, node.named_children[-1])
    plain = _plain(source, node)
    scopes, _, last = plain.rpartition(".")
    return last, scopes


def _plain(source: bytes, node: Node) -> str:
    """Return a name as text: without pointers, quotes and type arguments, its parts joined by "."."""
    text = _text(source, node)
    bare = text if "operator" in text else _TYPE_ARGUMENTS.sub("", text)
    return "".join(bare.split()).replace("::", ".").replace(":", ".").strip("*&\"'`#()[].")[:_NAME_CHARS]


def _whole(node: Node) -> Node:
    """Return the node with what wraps it: decorators, export, template parameters."""
    while node.parent is not None and node.parent.type in _WRAPPERS and node.parent.named_child_count <= _LEADING:
        node = node.parent
    return node


def _symbols(source: bytes, definitions: Sequence[_Found], offset: Callable[[int], int]) -> tuple[Symbol, ...]:
    symbols: list[Symbol] = []
    around: list[tuple[int, str]] = []
    for found in definitions:
        while around and around[-1][0] <= found.node.start_byte:
            around.pop()
        outer = [name for _, name in around]
        qualified = ".".join((*outer, *filter(None, [found.owner]), found.name))
        if found.kind is not DefinitionKind.VARIABLE:
            around.append((found.last.end_byte, ".".join(filter(None, (found.owner, found.name)))))
        if found.kind is not None:
            symbols.append(_symbol(source, found, qualified, offset))
    return tuple(symbols)


def _symbol(source: bytes, found: _Found, qualified: str, offset: Callable[[int], int]) -> Symbol:
    first = _leading(found.node)
    body = _body(found.node)
    begin = found.core if found.node.type in _DECORATED else found.node
    head = source[begin.start_byte : body.start_byte if body else found.node.end_byte][: SIGNATURE_CHARS * 4]
    signature = " ".join(head.decode("utf-8", errors="replace").split())[:SIGNATURE_CHARS].rstrip(" {:=")
    stop = offset(found.last.end_byte)
    return Symbol(
        found.name,
        qualified,
        found.kind or DefinitionKind.VARIABLE,
        offset(first.start_byte),
        stop,
        offset(body.start_byte) if body else stop,
        found.row + 1,
        _last_row(found.last) + 1,
        signature,
    )


def _last_row(node: Node) -> int:
    """Return the row of a node's last character; some nodes end at the start of the row after their newline."""
    end = node.end_point
    return max(end.row - (end.column == 0), node.start_point.row)


def _body(node: Node) -> Node | None:
    """Return the node at which a definition's inside begins, also in what wraps it."""
    for _ in range(4):
        body = node.child_by_field_name("body") or next((one for one in node.children if one.type in _BODIES), None)
        if body is not None:
            return body
        inner = [child for child in node.named_children if child.type not in _LEADERS and child.type != "decorator"]
        value = node.child_by_field_name("value") or node.child_by_field_name("definition")
        if value is None and not inner:
            return None
        node = value or inner[-1]
    return None


def _leading(node: Node) -> Node:
    """Return the first of the comments and attributes that are on the lines right before a definition."""
    first = node
    for _ in range(_LEADING):
        before = _before(first)
        if before is None or before.type not in _LEADERS or _last_row(before) + 1 < first.start_point.row:
            break
        earlier = _before(before)
        if earlier is not None and earlier.end_point.row == before.start_point.row and earlier.end_point.column:
            break  # it ends the line of other code
        first = before
    return first


def _before(node: Node) -> Node | None:
    """Return the node before a node, also before the first of a body that begins after its comment."""
    if node.prev_sibling is None and node.parent is not None and node.parent.type in _GROUPS:
        node = node.parent
    before = node.prev_sibling
    if before is not None and before.type in _GROUPS and before.children:
        return before.children[-1]
    return before


def _references(grammar: Grammar, source: bytes, root: Node, own: set[str]) -> dict[str, int]:
    nodes = grammar.captured(grammar.references, root)
    counted = Counter(_text(source, node) for node in nodes)
    outside = {
        name: count
        for name, count in counted.most_common()
        if name not in own and MIN_REFERENCE_CHARS <= len(name) <= _NAME_CHARS
    }
    return dict(list(outside.items())[:REFERENCES_PER_FILE])


def _imports(grammar: Grammar, source: bytes, root: Node) -> tuple[str, ...]:
    if grammar.imports is None:
        return ()
    nodes = grammar.captured(grammar.imports, root, "import")
    paths = (import_path(grammar.name, _text(source, node)) for node in nodes)
    return tuple(dict.fromkeys(filter(None, paths)))[:IMPORTS_PER_FILE]


def _char_offsets(source: bytes, text: str) -> Callable[[int], int]:
    """Return a function from UTF-8 offsets to characters: in steps, so that a large file is decoded once."""
    if len(source) == len(text):
        return lambda offset: offset
    step = 4096
    marks = [0]
    for index in range(0, len(text) - step, step):
        marks.append(marks[-1] + len(text[index : index + step].encode("utf-8", errors="replace")))

    def offset(position: int) -> int:
        mark = bisect_right(marks, position) - 1
        return mark * step + len(source[marks[mark] : position].decode("utf-8", errors="replace"))

    return offset


def _text(source: bytes, node: Node) -> str:
    """Return a node's text; `node.text` would ask for the source in pieces again, which may have ended since."""
    return source[node.start_byte : node.end_byte].decode("utf-8", errors="replace")
