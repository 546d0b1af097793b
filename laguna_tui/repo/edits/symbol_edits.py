"""Replacing a whole definition by its name: found by the file's grammar, indented to its place.

A definition includes the decorators, attributes and comments right before it, as the index has it (`syntax_tree`).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.paths import escaped
from laguna_tui.base.spelling import nearest
from laguna_tui.base.units import either, some_of
from laguna_tui.repo.edits.edit_files import EditError, check_text, edited_file, find_file, read_editable
from laguna_tui.repo.edits.text_replacement import Replacement, line_break, replace_text, with_line_feeds
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.repo.syntax.analysis import analyse, multiline_strings
from laguna_tui.repo.syntax.symbols import Symbol

# Candidates that a message lists.
_NAMED = 8
_NAME_CHARS = 300
# A name as models write it: with a keyword, brackets or a line number.
_KEYWORD = re.compile(
    r"^(?:(?:pub|export|default|async|static|public|private|protected|abstract|final|const|unsafe)\s+)*"
    r"(?:def|class|func|function|fn|struct|interface|trait|impl|enum|type|mod|module|namespace|let|var|union)\s+"
)
_LINE = re.compile(r"[:@](?:line\s*)?(\d{1,9})$")
_BRACKETS = re.compile(r"\([^()]*\)\s*$")
_SEPARATORS = re.compile(r"::|[#/]|->")
_HEAD = re.compile(r"\s*(?:#|//|/\*|\*|@|--)")
_CLOSING = re.compile(r"[)\]}]|end\b")
_CLOSING_SIGN = re.compile(r"[;,]\s*\Z")
_LEFT_OUT = (
    "The comments, decorators or attributes right before {name} were replaced with it, and new has none; edit the file"
    " if they should stay."
)


@dataclass(frozen=True, slots=True)
class _DefinitionRange:
    """Where a definition is: its text is `text[start:stop]`, and `blanks` come before it on its line."""

    text: str
    start: int
    stop: int
    blanks: str


def propose_symbol(
    workspace: Workspace,
    path: str,
    symbol: str,
    new: str,
    should_stop: Callable[[], bool] = lambda: False,
    unreadable: Callable[[str], str] = lambda path: "",
) -> ChangeProposal:
    """Propose to replace a whole definition in a file; nothing is written.

    Args:
        path: a file's path, or the end of exactly one file's path.
        symbol: a definition's name; `Class.method`, or `name:line`, tells it from others of its name.
        new: all of the new definition; it is indented like the old one.
        should_stop: polled while a path is searched for among all files.
        unreadable: returns why a file's text may not be shown, and so not be changed; empty where it may.

    Raises:
        WorkspaceError: the file cannot be used, or has no such definition, or several.
    """
    _check(symbol, new)
    inside = find_file(workspace, path, should_stop)
    if why := unreadable(inside):
        raise EditError(why)
    data, file = read_editable(workspace, inside)
    # The index counts lines by their line feeds.
    symbols = analyse(inside, file.text if "\n" in file.text else file.text.replace("\r", "\n")).symbols
    if not symbols:
        raise EditError(f"no definitions are known in {escaped(inside)}; call edit with old and new text")
    found = _chosen(inside, symbols, symbol)
    _check_alone(inside, symbols, found)
    place = _place(file.text, found)
    made = _fitted(inside, place, new)
    change = Replacement(place.start, place.stop, made)
    after = replace_text(file.text, [change])
    if after == file.text:
        raise EditError(f"new is what {found.qualified} is already, so nothing would change")
    old = place.text[place.start : place.stop]
    left_out = _HEAD.match(old) and not _HEAD.match(new)
    notes = [_LEFT_OUT.format(name=found.name)] if left_out else []
    return edited_file(workspace, inside, data, file, after, notes=notes)


def _check(symbol: str, new: str) -> None:
    if not new.strip():
        raise EditError("new is empty; call edit to remove a definition")
    check_text("new", new)
    if len(symbol) > _NAME_CHARS:
        raise EditError("symbol is no name; call again with the name of a definition")


def _chosen(inside: str, symbols: Sequence[Symbol], wanted: str) -> Symbol:
    name, line = _parted(wanted)
    fitting = [each for each in symbols if f".{each.qualified}".endswith(f".{name}")]
    if line:
        around = [each for each in fitting if each.line <= line <= each.end]
        fitting = [each for each in fitting if each.line == line] or around[-1:]
    whole = [each for each in fitting if each.qualified == name]
    # A complete name is meant even if it is the end of a longer one.
    fitting = whole if len(whole) == 1 else fitting
    if len(fitting) == 1:
        return fitting[0]
    if len({(each.qualified, each.line) for each in fitting}) < len(fitting):
        raise EditError(
            f"{escaped(wanted)} is {len(fitting)} definitions in {escaped(inside)}, some of them in one line; call edit"
            " with old and new text"
        )
    if fitting:
        places = some_of([f"{each.qualified}:{each.line}" for each in fitting], _NAMED)
        raise EditError(
            f"{escaped(wanted)} is {len(fitting)} definitions in {escaped(inside)}; call again with one of them:"
            f" {places}"
        )
    names = {each.qualified: each.line for each in symbols}
    near = nearest(name, names, 3) or [one for one in names if one.rpartition(".")[2] == name.rpartition(".")[2]][:3]
    advice = f"the nearest is {either([f'{one}:{names[one]}' for one in near], 3)}" if near else "read it first"
    raise EditError(f"there is no definition {escaped(wanted)} in {escaped(inside)}; {advice}")


def _parted(wanted: str) -> tuple[str, int]:
    """Return a name with "." between its parts, and the line that it begins in, or 0."""
    name = _KEYWORD.sub("", wanted.strip())
    line = _LINE.search(name)
    name = _LINE.sub("", name).strip()
    name = _BRACKETS.sub("", name)
    name = _SEPARATORS.sub(".", name.replace("(*", "").replace(")", "").replace("(", ""))
    return name.strip(" .:*&{"), int(line[1]) if line else 0


def _check_alone(inside: str, symbols: Sequence[Symbol], found: Symbol) -> None:
    """Refuse a definition that another one shares its text with, such as `a` of `const a = 1, b = 2`."""
    for other in symbols:
        if other.qualified != found.qualified and (other.start, other.stop) == (found.start, found.stop):
            raise EditError(
                f"{found.qualified} is defined together with {other.qualified} in {escaped(inside)}; call edit with old"
                " and new text"
            )


def _place(text: str, symbol: Symbol) -> _DefinitionRange:
    whole = text[symbol.start : symbol.stop]
    start = symbol.start + len(whole) - len(whole.lstrip())
    begin = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    line = text[begin:start]
    return _DefinitionRange(
        text, start, symbol.start + len(whole.rstrip()), line[: len(line) - len(line.lstrip(" \t"))]
    )


def _fitted(inside: str, place: _DefinitionRange, new: str) -> str:
    """Return the new text as it is written: indented, with the file's line breaks, and without a doubled sign."""
    old = with_line_feeds(place.text[place.start : place.stop])
    lines = with_line_feeds(new).strip("\n").rstrip().split("\n")
    lines = _in_style(lines, place.blanks + old)
    kept = multiline_strings(inside, "\n".join(lines))
    made = "\n".join(_indented(lines, place.blanks, old, kept))
    following = place.text[place.stop : place.stop + 1]
    sign = _CLOSING_SIGN.search(made)
    if sign and sign.group().strip() == following:
        made = made[: sign.start()]
    return made.replace("\n", line_break(place.text, place.start))


def _indented(lines: Sequence[str], blanks: str, old: str, kept: frozenset[int]) -> list[str]:
    """Return the lines with the place's blanks before each but the first, which follows them already.

    kept: lines, from 0, that begin inside of a string and stay as they are.
    """
    own = _blanks(lines[0])
    if not own and _first_alone(lines, blanks, old):
        return [lines[0], *lines[1:]]
    made = [lines[0][len(own) :]]
    for number, line in enumerate(lines[1:], 1):
        if number in kept or not line.strip():
            made.append(line)
        elif line.startswith(own):
            made.append(blanks + line[len(own) :])
        else:
            made.append(blanks + line.lstrip(" \t"))
    return made


def _first_alone(lines: Sequence[str], blanks: str, old: str) -> bool:
    """Return whether only the first line lacks the place's indentation, because it was copied from its name on."""
    rest = [line for line in lines[1:] if line.strip()]
    if not blanks or not rest or not all(line.startswith(blanks) for line in rest):
        return False
    if _CLOSING.match(rest[-1].strip()):
        return _blanks(rest[-1]) == blanks
    inner = [line for line in old.split("\n")[1:] if line.strip()]
    least = min(map(_blanks, rest), key=len)
    return bool(inner) and least == min(map(_blanks, inner), key=len)


def _in_style(lines: Sequence[str], old: str) -> list[str]:
    """Return the lines indented by tabs or blanks as the old text is; unchanged where it has both or neither."""
    used = {_blanks(line)[:1] for line in old.split("\n")} - {""}
    if used == {"\t"}:
        unit, before, after = _unit(lines), " ", "\t"
    elif used == {" "}:
        unit, before, after = _unit(old.split("\n")), "\t", " "
    else:
        return list(lines)

    def styled(line: str) -> str:
        blanks = _blanks(line)
        if not unit or blanks != before * len(blanks):
            return line
        count = len(blanks) // unit if before == " " else len(blanks) * unit
        return after * count + line[len(blanks) :]

    return list(map(styled, lines))


def _unit(lines: Sequence[str]) -> int:
    """Return the number of blanks per level of indentation; 0 where it is unknown."""
    widths = {len(_blanks(line)) for line in lines if line.strip() and not _blanks(line).strip(" ")} - {0}
    unit = gcd(*widths)
    return unit if unit > 1 else 0


def _blanks(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
