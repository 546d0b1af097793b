"""What the scorer is trained and measured on: the definitions of packages, their docstrings, constants and calls.

Deals in source text, read with `ast`; knows nothing of tokens or models. A unit is what prompt compression keeps or
drops as a whole: a function, a method, the head of a class, or a run of other statements.
"""

from __future__ import annotations

import ast
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

CUTS = (400, 600, 600, 900, 1600)  # characters of a text in training, mostly short for speed
MOST_LINES = 40  # a longer definition is cut by the app as well
LEAST_CHARACTERS, MOST_CHARACTERS = 24, 2400
PACKAGE_CHARACTERS = 1_000_000  # read of each package, so that no large one outweighs the rest
CONSTANT = re.compile(r"^[ ]*([A-Za-z_]{3,40})(?:: [\w\[\]., |]+)? = ([\w.\"'/:%+-]{1,40})$", re.MULTILINE)
RETURN = re.compile(r"^[ ]+return (\S.{2,60})$", re.MULTILINE)
SENTENCE = re.compile(r"[A-Z][^.\n`:>|]{24,140}(?=[.\n]|$)")
DEFINITION = re.compile(r"^[ ]*(?:async )?(?:def|class) ", re.MULTILINE)


@dataclass(slots=True)
class Unit:
    """One piece of code; `bare` is its text without the docstring whose first sentence is `doc` ("" without one)."""

    name: str
    text: str
    doc: str = ""
    bare: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a definition of the same package: the lines before it, and the unit that it stands in."""

    before: str
    name: str
    after: str
    caller: int
    callee: int


@dataclass(slots=True)
class Package:
    """Units in the order of their files, where each file begins, and the calls between units."""

    name: str
    units: list[Unit] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    @property
    def described(self) -> list[int]:
        """Units with a docstring that says something."""
        return [index for index, unit in enumerate(self.units) if unit.doc]


def without_docstring(node: ast.AST, lines: list[str], first: int, last: int) -> tuple[str, str]:
    """The first sentence of a definition's docstring and the definition's text without it; ("", "") without one."""
    document = ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    sentence = SENTENCE.match(document) if document else None
    if sentence is None:
        return "", ""
    held = node.body[0]  # type: ignore[attr-defined]
    rest = lines[first : held.lineno - 1] + lines[held.end_lineno : last]
    return sentence[0], "".join(rest)


def pieces(tree: ast.Module, lines: list[str]) -> Iterator[tuple[str, int, int, ast.AST | None]]:
    """Name, first line (from 0), last (excluded) and node of every unit of a file; no node for other statements."""

    def inside(
        body: list[ast.stmt], first: int, last: int, owner: str
    ) -> Iterator[tuple[str, int, int, ast.AST | None]]:
        start = first
        for node in body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            top = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
            if start < top:
                yield owner, start, top, None
            start = node.end_lineno or top + 1
            if isinstance(node, ast.ClassDef) and start - top > MOST_LINES // 2:
                yield from inside(node.body, top, start, node.name)
            else:
                yield node.name, top, start, node
        if start < last:
            yield owner, start, last, None

    return inside(tree.body, 0, len(lines), "")


def units_of(source: str) -> Iterator[tuple[Unit, int, int]]:
    """The units of one file with their lines; nothing for a file that does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = source.splitlines(keepends=True)
    for name, first, last, node in pieces(tree, lines):
        text = "".join(lines[first:last])
        if LEAST_CHARACTERS < len(text.strip()) <= MOST_CHARACTERS and last - first <= 2 * MOST_LINES:
            doc, bare = without_docstring(node, lines, first, last) if node else ("", "")
            yield Unit(name, text.strip("\n") + "\n", doc, bare.strip("\n") + "\n"), first, last


def shortened(text: str, most: int) -> str:
    """Whole lines of a text, up to so many characters."""
    return text if len(text) <= most else text[:most].rpartition("\n")[0] + "\n"


def read_package(folder: Path, rng: random.Random, *, cut: bool) -> Package:
    """Read a package's files in a random order, up to PACKAGE_CHARACTERS. cut: shorten long units."""
    package, size = Package(folder.name), 0
    paths = sorted(folder.rglob("*.py"))
    rng.shuffle(paths)
    for path in paths:
        try:
            source = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a test file of some other encoding: no loss
        if len(source) > PACKAGE_CHARACTERS // 4 or "/test" in str(path.relative_to(folder)):
            continue
        found = [unit for unit, _, _ in units_of(source)]
        for unit in found if cut else ():
            most = rng.choice(CUTS)
            unit.text, unit.bare = shortened(unit.text, most), shortened(unit.bare, most)
        if found:
            package.starts.append(len(package.units))
            package.units += found
            size += len(source)
        if size > PACKAGE_CHARACTERS:
            break
    package.calls = list(calls(package.units))
    return package


def calls(units: list[Unit], context: int = 4) -> Iterator[Call]:
    """The first call, in every unit, of each definition whose name only one unit bears."""
    named = defaultdict(list)
    for index, unit in enumerate(units):
        if DEFINITION.match(unit.text) and len(unit.name) > 5 and not unit.name.startswith("__"):
            named[unit.name].append(index)
    only = {name: found[0] for name, found in named.items() if len(found) == 1}
    for index, unit in enumerate(units):
        lines = unit.text.split("\n")
        seen = {unit.name}
        for number, line in enumerate(lines):
            for match in re.finditer(r"\b(\w+)\(", line):
                name = match[1]
                if name not in only or name in seen or DEFINITION.match(line):
                    continue
                seen.add(name)
                before = "\n".join([*lines[max(0, number - context) : number], line[: match.start()]])
                after = "\n".join([line[match.end(1) :], *lines[number + 1 : number + 3]])
                yield Call(before, name, after, index, only[name])


def words_of(packages: Iterable[Package], least: int = 30) -> list[str]:
    """Lower-case words that identifiers of the packages are made of, often enough."""
    counts: dict[str, int] = defaultdict(int)
    for package in packages:
        for unit in package.units:
            for word in re.findall(r"(?<![A-Za-z])[a-z]{3,10}(?=_)|(?<=_)[a-z]{3,10}(?![a-z])", unit.text):
                counts[word] += 1
    return sorted(word for word, count in counts.items() if count >= least)
