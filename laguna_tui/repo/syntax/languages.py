"""Kinds of definitions, and which files are code, by suffix. Compiles no pattern (`language_patterns`)."""

from enum import Enum


class DefinitionKind(Enum):
    """What a name is defined as."""

    FUNCTION = "function"
    TYPE = "type"
    VARIABLE = "variable"


SUFFIXES = {
    "python": ".py .pyi .pyw",
    "javascript": ".js .jsx .mjs .cjs .ts .tsx .mts .cts .vue .svelte",
    "go": ".go",
    "rust": ".rs",
    "java": ".java .kt .kts .cs .scala .swift .dart .groovy",
    "c": ".c .h .cc .cpp .cxx .hh .hpp .hxx .cu .cuh .m .mm .inl .ino",
    "php": ".php",
    "ruby": ".rb .rake .gemspec",
    "shell": ".sh .bash .zsh .ksh",
    "lua": ".lua",
}
"""Suffixes of the languages with line patterns; some of languages that look alike stand with them."""
_CODE = frozenset(" ".join(SUFFIXES.values()).split())


def language_suffix(path: str) -> str:
    """Return the suffix of a path in lower case, with its dot; empty when there is none."""
    dot = path.rfind(".")
    return path[dot:].lower() if dot > path.rfind("/") else ""


def is_code(path: str) -> bool:
    """Return whether a path's suffix is that of a programming language with line patterns."""
    return language_suffix(path) in _CODE
