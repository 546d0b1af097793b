"""How easily one finds one's way in the code: its modules, who imports them, and what stands outside a contract."""

import ast
import io
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = {"laguna_engine": ROOT / "engine/laguna_engine", "laguna_tui": ROOT / "laguna_tui"}

THIN_LINES = 40
"""A shorter module with a single importer is usually a part of that importer."""

LONG_LINES = 400

TOP = {
    "laguna_engine": {
        *("engine", "loader", "worker", "stream", "generation", "detokenizer", "parity", "sequence"),
        *("checkpoints", "config", "events", "errors", "files"),
    },
    "laguna_tui": {"__main__", "supervise", "compose"},
}
"""The modules that may stand at a package's top; all others belong into a folder."""

COUNTERPARTS = {"laguna_tui.cli", "laguna_tui.agent.tools.nano", "laguna_tui.agent.tools.full"}
"""Folders whose modules are called like what they stand for: a command's subject, or the same tool of other models."""

BASE = "base"
"""What everything in a folder builds on is called so everywhere."""


@dataclass(frozen=True)
class Module:
    """A module of the packages.

    Attributes:
        name: dotted.
        lines: all of them.
        code: lines without docstrings, comments, imports and blank ones.
        functions: how many it defines, methods included.
        classes: names of those it defines at its top.
        late_imports: import statements inside functions.
        imports: the modules of the packages that it imports, inside functions and for types too.
        is_program: it can be started with `python -m`.
    """

    name: str
    lines: int
    code: int
    functions: int
    classes: tuple[str, ...]
    late_imports: int
    imports: frozenset[str]
    is_package: bool
    is_program: bool

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]


class Structure:
    """The modules of both packages and the imports between them, also those inside functions and for types."""

    def __init__(self) -> None:
        paths = {_dotted(package, path, top): path for package, top in PACKAGES.items() for path in top.rglob("*.py")}
        self._all = {name: _read(name, path, paths.keys()) for name, path in sorted(paths.items())}
        self.modules = {name: module for name, module in self._all.items() if not module.is_package}

    @cached_property
    def importers(self) -> dict[str, set[str]]:
        """The modules that import each module."""
        found: dict[str, set[str]] = {name: set() for name in self.modules}
        for module in self._all.values():
            for name in module.imports & found.keys():
                found[name].add(module.name)
        return found

    @property
    def repeated_classes(self) -> list[str]:
        """Names of classes that several modules define."""
        counted = Counter(name for module in self._all.values() for name in module.classes)
        return sorted(name for name, count in counted.items() if count > 1)

    def total(self, figure: str, package: str = "") -> int:
        """Return the sum of a figure of the modules (`code`, `functions`, …), of both packages without one named."""
        return sum(getattr(each, figure) for each in self._all.values() if package in ("", each.package))

    @property
    def thin(self) -> list[str]:
        """Modules under `THIN_LINES` with one importer; a program that is started with -m is none of them."""
        few = [m for m in self.modules.values() if m.lines < THIN_LINES and len(self.importers[m.name]) == 1]
        return [module.name for module in few if not module.is_program]

    @property
    def single(self) -> list[str]:
        """Modules with one importer."""
        return [name for name, importers in self.importers.items() if len(importers) == 1]

    @property
    def long(self) -> list[str]:
        """Modules over `LONG_LINES`."""
        return [module.name for module in self.modules.values() if module.lines > LONG_LINES]

    @property
    def loose(self) -> list[str]:
        """Modules at a package's top that belong into a folder."""
        return [n for n, m in self.modules.items() if n.count(".") == 1 and n.split(".")[1] not in TOP[m.package]]

    @property
    def namesakes(self) -> list[str]:
        """Modules of one package with the same name and different subjects."""
        groups: dict[tuple[str, str], list[str]] = {}
        for name, module in self.modules.items():
            folder, _, last = name.rpartition(".")
            if folder not in COUNTERPARTS and last != BASE:
                groups.setdefault((module.package, last), []).append(name)
        return [" ".join(names) for names in groups.values() if len(names) > 1]

    def layers(self, package: str) -> list[str]:
        """The modules and folders at a package's top that its import contract names, from the top down."""
        mine = [each for each in _contracts() if package in each.get("containers", [])]
        return [name.strip() for each in mine for layer in each["layers"] for name in layer.split("|")]

    @property
    def uncontracted(self) -> list[str]:
        """Modules that no layer of an import contract names."""
        named = {f"{package}.{name}" for package in PACKAGES for name in self.layers(package)}
        return [n for n in self.modules if ".".join(n.split(".")[:2]) not in named]

    @property
    def cycles(self) -> list[list[str]]:
        """Circles of imports, between modules and between the parts of each folder."""
        found = _circles({name: set(module.imports) & self._all.keys() for name, module in self._all.items()})
        for folder in (module.name for module in self._all.values() if module.is_package):
            found += [circle for circle in _circles(self._siblings(folder)) if circle not in found]
        return found

    def _siblings(self, folder: str) -> dict[str, set[str]]:
        """What the parts of a folder import of each other."""
        graph: dict[str, set[str]] = {}
        inside = folder + "."
        cut = folder.count(".") + 2
        for module in self._all.values():
            if module.name.startswith(inside):
                own = ".".join(module.name.split(".")[:cut])
                others = {".".join(name.split(".")[:cut]) for name in module.imports if name.startswith(inside)}
                graph.setdefault(own, set()).update(others - {own})
        return graph


def _contracts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    return [each for each in found if each["type"] == "layers"]


def _dotted(package: str, path: Path, top: Path) -> str:
    parts = path.relative_to(top).with_suffix("").parts
    return ".".join([package, *(parts[:-1] if parts[-1] == "__init__" else parts)])


def _read(name: str, path: Path, names: Set[str]) -> Module:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {each if each in names else node.module for each in whole}
    return Module(
        name,
        source.count("\n"),
        _code_lines(source, nodes),
        len(functions),
        tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef)),
        len({id(inner) for each in functions for inner in ast.walk(each) if isinstance(inner, _IMPORTS)}),
        frozenset(found & names - {name}),
        path.name == "__init__.py",
        "__name__ ==" in source,
    )


_IMPORTS = (ast.Import, ast.ImportFrom)
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def _code_lines(source: str, nodes: Iterable[ast.AST]) -> int:
    """Count the lines that hold more than a docstring, a comment or an import. Texts below a name are docstrings."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in nodes:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if (text or isinstance(node, _IMPORTS)) and isinstance(node, ast.stmt):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def _circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected parts of more than one node (Tarjan)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            circle = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(circle) > 1:
                found.append(sorted(circle))

    for node in graph:
        if node not in order:
            visit(node)
    return found
