"""Calls whose callees are known, found in a package's own source: what a compressor must keep to be of use.

A function calls others of its package. Each callee is resolved as Python would (the module's names, its imports, the
class and its bases), never by its bare name alone; what cannot be resolved is left out. One callee is masked: its name
becomes `____` wherever the function has it. A constructor stands for the class's `__init__`; a class without one
counts when it is short. Lines count from 1, both ends included.
"""

import ast
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

MASK = "____"
# Longer functions are no question that somebody would ask at once; shorter ones say nothing.
_MIN_LINES, _MAX_LINES = 5, 80
_MAX_CLASS_LINES = 40
_MAX_REEXPORTS = 5
_TEST = re.compile(r"(^|/)(tests?|docs?|examples?|tools?|scripts?|_vendor|benchmarks?)(/|_)|(^|/)(setup|conftest)\.py$")

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


class Place(NamedTuple):
    """A definition: its lines with decorators, and the last line of its head."""

    path: str
    name: str
    first: int
    head: int
    last: int


@dataclass(frozen=True)
class Call:
    """A function with a masked callee.

    Attributes:
        name: the function's qualified name. sentence: its docstring's first, or nothing.
        masked: what the masked name stands for. seen: the other callees.
        text: of the whole file, with the mask in the function. first, last: the function's lines.
    """

    path: str
    name: str
    sentence: str
    text: str
    first: int
    last: int
    masked: Place
    seen: tuple[Place, ...]

    @property
    def code(self) -> str:
        """Return the function, masked."""
        return "\n".join(self.text.split("\n")[self.first - 1 : self.last])


class Module:
    """One file: its definitions by qualified name, and what its names were imported from."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.tree = ast.parse(text)
        self.definitions = dict(_definitions(self.tree, ""))
        self.imports: dict[str, tuple[str, str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                source = self._absolute(node)
                self.imports |= {alias.asname or alias.name: (source, alias.name) for alias in node.names}
            elif isinstance(node, ast.Import):
                self.imports |= {alias.asname: (alias.name, "") for alias in node.names if alias.asname}

    def _absolute(self, node: ast.ImportFrom) -> str:
        """Return the dotted name of the module that a `from` imports from."""
        if not node.level:
            return node.module or ""
        inside = self.path.removesuffix(".py").removesuffix("/__init__").split("/")
        up = node.level - self.path.endswith("/__init__.py")
        return ".".join([*inside[: len(inside) - up], *([node.module] if node.module else [])])


class Package:
    """The modules of a package, and who calls whom in it."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._modules: dict[str, Module] = {}
        for path, text in files.items():
            try:
                self._modules[path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = Module(path, text)
            except (SyntaxError, ValueError):
                continue

    def calls(self, seed: int) -> list[Call]:
        """Return one masked call of every function that has callees elsewhere, in the order of the files."""
        rng = random.Random(seed)
        found = []
        for module in self._modules.values():
            if not _TEST.search(module.path):
                for name, node in module.definitions.items():
                    if isinstance(node, Function) and _MIN_LINES <= _lines(node) <= _MAX_LINES:
                        found += self._call(module, name, node, rng)
        return found

    def _call(self, module: Module, name: str, node: Function, rng: random.Random) -> list[Call]:
        callees = dict(self._callees(module, name, node))
        callees = {spoken: place for spoken, place in callees.items() if not _inside(place, module.path, node)}
        if not callees:
            return []
        spoken = rng.choice(sorted(callees))
        masked = callees[spoken]
        first, last = _first(node), node.end_lineno or node.lineno
        lines = module.text.split("\n")
        lines[first - 1 : last] = [re.sub(rf"\b{spoken}\b", MASK, line) for line in lines[first - 1 : last]]
        text = "\n".join(lines)
        if f" {MASK}" in f" {lines[node.lineno - 1].split('(')[0]}":
            return []  # it calls another of its own name, as overriding methods do
        sentence = " ".join(re.split(r"(?<=[.!?])\s|\n\s*\n", (ast.get_docstring(node) or "").strip())[0].split())
        seen = tuple(sorted(set(callees.values()) - {masked}))
        return [Call(module.path, name, sentence, text, first, last, masked, seen)]

    def _callees(self, module: Module, name: str, node: Function) -> Iterator[tuple[str, Place]]:
        """Yield the name of each callee as it stands in the call, and where it is."""
        own = {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}
        own |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        scope = name.rpartition(".")[0]
        for call in (inner for statement in node.body for inner in ast.walk(statement)):
            if not isinstance(call, ast.Call):
                continue
            match call.func:
                case ast.Name(id=spoken) if spoken not in own:
                    place = self._named(module, spoken)
                case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=spoken) if scope:
                    place = self._method(module, scope, spoken, set())
                case ast.Attribute(value=ast.Name(id=holder), attr=spoken) if holder not in own:
                    place = self._attribute(module, holder, spoken)
                case _:
                    continue
            if place:
                yield spoken, place

    def _attribute(self, module: Module, holder: str, name: str) -> Place | None:
        """`holder.name`, where the holder is an imported module."""
        source, inner = module.imports.get(holder, ("", ""))
        target = self._modules.get(f"{source}.{inner}".rstrip("."))
        return self._named(target, name) if target else None

    def _named(self, module: Module, name: str, depth: int = 0) -> Place | None:
        """Return what a name of a module stands for, through its imports."""
        found = self._found(module, name, depth)
        return _place(*found) if found else None

    def _found(self, module: Module, name: str, depth: int = 0) -> tuple[Module, str] | None:
        if name in module.definitions:
            return module, name
        source, inner = module.imports.get(name, ("", ""))
        target = self._modules.get(source)
        return self._found(target, inner, depth + 1) if target and inner and depth < _MAX_REEXPORTS else None

    def _method(self, module: Module, scope: str, name: str, tried: set[str]) -> Place | None:
        """`self.name` in a class, looked for in the class and then in its bases, in their order."""
        if f"{scope}.{name}" in module.definitions:
            return _place(module, f"{scope}.{name}")
        node = module.definitions.get(scope)
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            found = self._found(module, base.id) if isinstance(base, ast.Name) else None
            key = f"{found[0].path}:{found[1]}" if found else ""
            if found and key not in tried:
                tried.add(key)
                if place := self._method(*found, name, tried):
                    return place
        return None


def _definitions(node: ast.Module | ast.ClassDef, scope: str) -> Iterator[tuple[str, Definition]]:
    """Functions and classes that lie in no function; of several with one name (overloads, branches) none is sure."""
    found: dict[str, list[Definition]] = {}
    for child in node.body:
        if isinstance(child, Definition):
            found.setdefault(child.name, []).append(child)
    for name, children in found.items():
        if len(children) == 1:
            yield f"{scope}.{name}".lstrip("."), children[0]
            if isinstance(children[0], ast.ClassDef):
                yield from _definitions(children[0], f"{scope}.{name}".lstrip("."))


def _place(module: Module, name: str) -> Place | None:
    """Return where the definition stands; a class's is its `__init__`, or all of a short one."""
    node = module.definitions[name]
    if isinstance(node, ast.ClassDef):
        if f"{name}.__init__" in module.definitions:
            return _place(module, f"{name}.__init__")
        if _lines(node) > _MAX_CLASS_LINES:
            return None
    head = max(node.lineno, node.body[0].lineno - 1)
    return Place(module.path, name, _first(node), head, node.end_lineno or node.lineno)


def _first(node: Definition) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _lines(node: Definition) -> int:
    return (node.end_lineno or node.lineno) - _first(node) + 1


def _inside(place: Place, path: str, node: Function) -> bool:
    """Return whether a definition overlaps the function, as it does when a function calls itself."""
    return place.path == path and place.first <= (node.end_lineno or node.lineno) and place.last >= _first(node)
